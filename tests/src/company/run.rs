//! One run: the three systems with their state, and the ledger of what was asked of them.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::answer::Answer;
use super::arguments;
use super::behaviour::{Behaviour, Keys, Order, Plan, StatusQuery};
use super::billing::Billing;
use super::desk::{Desk, Done};
use super::ledger::{Known, Ledger};
use super::mail::Mail;
use super::seed;
use super::tool::Tool;

/// What a call asks for, as received.
#[derive(Clone, Debug)]
pub struct Asked {
    pub tool: Tool,
    /// The argument in the address, or the one query value of a read that has one.
    pub subject: String,
    pub key: Option<String>,
    pub body: Vec<u8>,
}

/// An answer, and whether it is an earlier one again.
pub struct Answered {
    pub answer: Answer,
    pub replayed: bool,
}

/// The state that belongs to one run id.
pub struct Run {
    desk: Desk,
    mail: Mail,
    pub billing: Billing,
    pub ledger: Ledger,
    behaviours: BTreeMap<Tool, Behaviour>,
}

impl Run {
    /// A run as it is when nobody has called yet.
    pub fn seeded() -> Run {
        Run { desk: seed::desk(), mail: Mail::default(), billing: seed::billing(), ledger: Ledger::default(), behaviours: BTreeMap::new() }
    }

    /// Takes an order about a tool's behaviour.
    ///
    /// # Errors
    /// A clause that says what the order may hold.
    pub fn order(&mut self, order: &Order) -> Result<(), String> {
        self.behaviour(order.tool).take(order)
    }

    /// What the next call of a tool meets.
    pub fn plan(&mut self, tool: Tool) -> Plan {
        self.behaviour(tool).next()
    }

    fn behaviour(&mut self, tool: Tool) -> &mut Behaviour {
        self.behaviours.entry(tool).or_insert_with(|| Behaviour::usual(tool))
    }

    /// Acts on a call, or repeats the answer that its key has already had.
    pub fn act(&mut self, asked: &Asked) -> Answered {
        if let Some(key) = asked.key.as_deref()
            && self.behaviour(asked.tool).keys == Keys::Honour
        {
            match self.ledger.known(asked.tool, key, &asked.body) {
                Known::New => {}
                Known::Same(answer) => return Answered { answer, replayed: true },
                Known::OtherPayload => {
                    let message = "this key was used with another payload; a changed call needs a key of its own";
                    let answer = Answer::refused(StatusCode::UNPROCESSABLE_ENTITY, "key_reused", message);
                    return Answered { answer, replayed: false };
                }
            }
        }
        let answer = self.read(asked).unwrap_or_else(|| self.change(asked));
        Answered { answer, replayed: false }
    }

    /// The answer of a read, or `None` for a tool that changes something.
    fn read(&mut self, asked: &Asked) -> Option<Answer> {
        let subject = asked.subject.as_str();
        let answer = match asked.tool {
            Tool::Search => self.desk.search(subject),
            Tool::GetTicket => self.desk.ticket(subject),
            Tool::ListOrders => self.desk.orders(subject),
            Tool::GetCustomer => self.desk.customer(subject),
            Tool::GetInvoice => self.billing.invoice(subject),
            Tool::GetSubscription => self.billing.subscription(subject),
            Tool::GetPayee => self.billing.payee(subject),
            Tool::GetOperation => self.operation(subject),
            Tool::GetUser => self.user(subject),
            Tool::UpdateTicketTags
            | Tool::CreateTicket
            | Tool::CloseTicket
            | Tool::UpsertCustomer
            | Tool::CrmSetStatus
            | Tool::ContractWorkflow
            | Tool::ScheduleCall
            | Tool::SendEmail
            | Tool::Refund
            | Tool::CancelSubscription
            | Tool::WireTransfer
            | Tool::IssueCredit
            | Tool::Elsewhere => return None,
        };
        Some(answer)
    }

    fn user(&mut self, id: &str) -> Answer {
        if !arguments::is_id("user_", id) {
            return Answer::absent("user", id);
        }
        let (answer, made) = self.desk.user(id);
        if made {
            let sequence = self.ledger.next();
            self.ledger.effect(sequence, Tool::GetUser, None, id);
        }
        answer
    }

    /// Changes something, counts it, and keeps the answer under the call's key. A refusal is neither counted nor kept.
    fn change(&mut self, asked: &Asked) -> Answer {
        let Ok(args) = std::str::from_utf8(&asked.body) else {
            return Answer::invalid("the body must be UTF-8");
        };
        let sequence = self.ledger.next();
        let done = match self.effect(sequence, asked) {
            Ok(done) => done,
            Err(refusal) => return refusal,
        };
        let key = asked.key.as_deref();
        self.ledger.effect(sequence, asked.tool, key, args);
        for tool in done.set_off {
            let sequence = self.ledger.next();
            self.ledger.effect(sequence, *tool, key, args);
        }
        let answer = Answer::ok(&done.document);
        if let Some(key) = key {
            self.ledger.keep(asked.tool, key, &asked.body, &answer);
        }
        answer
    }

    fn effect(&mut self, sequence: u64, asked: &Asked) -> Result<Done, Answer> {
        let (subject, body) = (asked.subject.as_str(), asked.body.as_slice());
        match asked.tool {
            Tool::UpdateTicketTags => self.desk.update_ticket_tags(subject, body),
            Tool::CreateTicket => self.desk.create_ticket(body),
            Tool::CloseTicket => self.desk.close_ticket(subject, body),
            Tool::UpsertCustomer => self.desk.upsert_customer(subject, body),
            Tool::CrmSetStatus => self.desk.crm_set_status(body),
            Tool::ContractWorkflow | Tool::ScheduleCall => self.desk.start_workflow(sequence, body),
            Tool::SendEmail => self.mail.send(sequence, body),
            Tool::Refund => self.billing.refund(sequence, body),
            Tool::CancelSubscription => self.billing.cancel(sequence, body),
            Tool::WireTransfer => self.billing.wire(sequence, body),
            Tool::IssueCredit => self.billing.credit(sequence, &mut self.desk.customers, body),
            Tool::Elsewhere => Ok(json!({ "followed": true }).into()),
            Tool::Search
            | Tool::GetTicket
            | Tool::ListOrders
            | Tool::GetCustomer
            | Tool::GetInvoice
            | Tool::GetSubscription
            | Tool::GetPayee
            | Tool::GetOperation
            | Tool::GetUser => Err(Answer::refused(StatusCode::METHOD_NOT_ALLOWED, "not_a_change", "this tool only reads")),
        }
    }

    /// What became of an operation, by its key: only for tools whose status may be asked for.
    fn operation(&mut self, key: &str) -> Answer {
        let found = self.ledger.operation(key).map(|(tool, payload_sha256, answer)| {
            let result: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
            (tool, json!({ "operation": key, "tool": tool, "payload_sha256": payload_sha256, "result": result }))
        });
        match found {
            Some((tool, document)) if self.behaviour(tool).status == StatusQuery::Answer => Answer::ok(&document),
            Some(_) | None => Answer::absent("operation", key),
        }
    }

    /// Everything the three systems hold, for inspection.
    pub fn state(&self) -> Value {
        json!({ "desk": self.desk, "mail": self.mail, "billing": self.billing })
    }
}
