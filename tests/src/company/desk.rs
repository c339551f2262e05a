//! Tickets and customers: the system that the support team works in.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::Answer;
use super::arguments::{self, CloseTicket, CreateTicket, CrmSetStatus, StartWorkflow, UpdateTicketTags, UpsertCustomer};
use super::limits::HITS_MAX;
use super::tool::Tool;

/// What a customer asked for in the web form, as the form stored it: the part of a ticket a program can follow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Intake {
    Refund { invoice: String, amount_minor: u64, currency: String },
    Question { reply_to: String },
    Cancellation { subscription: String, effective: String },
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Ticket {
    pub ticket: String,
    pub queue: String,
    pub customer: String,
    pub subject: String,
    pub body: String,
    pub status: TicketStatus,
    pub tags: Vec<String>,
    pub resolution: Option<String>,
    pub intake: Option<Intake>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TicketStatus {
    Open,
    Closed,
}

impl TicketStatus {
    fn word(self) -> &'static str {
        match self {
            TicketStatus::Open => "open",
            TicketStatus::Closed => "closed",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Customer {
    pub customer: String,
    pub name: String,
    pub email: String,
    pub status: String,
    pub credit_minor: BTreeMap<String, u64>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Order {
    pub order: String,
    pub customer: String,
    pub article: String,
    pub amount_minor: u64,
    pub currency: String,
    pub invoice: String,
}

/// Tickets, customers, their orders, and the users that a lying read leaves behind.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Desk {
    pub tickets: BTreeMap<String, Ticket>,
    pub customers: BTreeMap<String, Customer>,
    pub orders: Vec<Order>,
    pub users: BTreeSet<String>,
}

/// What acting did: the document for the caller, and the other tools that it set off.
pub struct Done {
    pub document: Value,
    pub set_off: &'static [Tool],
}

impl From<Value> for Done {
    fn from(document: Value) -> Done {
        Done { document, set_off: &[] }
    }
}

impl Desk {
    /// Tickets in which every word of the query occurs, in any case: in subject, text, tags, queue, customer or status.
    pub fn search(&self, query: &str) -> Answer {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let found: Vec<&Ticket> = self.tickets.values().filter(|ticket| matches(ticket, &words)).collect();
        let hits: Vec<Value> = found
            .iter()
            .take(HITS_MAX)
            .map(|ticket| json!({ "ticket": ticket.ticket, "subject": ticket.subject, "customer": ticket.customer, "status": ticket.status }))
            .collect();
        Answer::ok(&json!({ "hits": hits, "count": found.len() }))
    }

    pub fn ticket(&self, id: &str) -> Answer {
        self.tickets.get(id).map_or_else(|| Answer::absent("ticket", id), |ticket| Answer::ok(&json!(ticket)))
    }

    pub fn customer(&self, id: &str) -> Answer {
        self.customers.get(id).map_or_else(|| Answer::absent("customer", id), |customer| Answer::ok(&json!(customer)))
    }

    pub fn orders(&self, customer: &str) -> Answer {
        let orders: Vec<&Order> = self.orders.iter().filter(|order| order.customer == customer).collect();
        Answer::ok(&json!({ "orders": orders, "count": orders.len() }))
    }

    pub fn update_ticket_tags(&mut self, id: &str, body: &[u8]) -> Result<Done, Answer> {
        let arguments: UpdateTicketTags = arguments::read(body)?;
        let ticket = addressed(&mut self.tickets, id, &arguments.ticket)?;
        ticket.tags = arguments.tags;
        Ok(json!(ticket).into())
    }

    pub fn create_ticket(&mut self, body: &[u8]) -> Result<Done, Answer> {
        let arguments: CreateTicket = arguments::read(body)?;
        let id = format!("ticket_{}", 100 + self.tickets.len());
        let ticket = Ticket {
            ticket: id.clone(),
            queue: "support".to_owned(),
            customer: arguments.customer,
            subject: arguments.subject,
            body: arguments.body,
            status: TicketStatus::Open,
            tags: Vec::new(),
            resolution: None,
            intake: None,
        };
        let document = json!({ "id": id, "ticket": ticket });
        self.tickets.insert(id, ticket);
        Ok(document.into())
    }

    pub fn close_ticket(&mut self, id: &str, body: &[u8]) -> Result<Done, Answer> {
        let arguments: CloseTicket = arguments::read(body)?;
        let ticket = addressed(&mut self.tickets, id, &arguments.ticket)?;
        ticket.status = TicketStatus::Closed;
        ticket.resolution = Some(arguments.resolution);
        Ok(json!(ticket).into())
    }

    pub fn upsert_customer(&mut self, id: &str, body: &[u8]) -> Result<Done, Answer> {
        let arguments: UpsertCustomer = arguments::read(body)?;
        if arguments.customer != id {
            return Err(mismatch(id, &arguments.customer));
        }
        let customer = self.customers.entry(id.to_owned()).or_insert_with(|| Customer {
            customer: id.to_owned(),
            name: String::new(),
            email: String::new(),
            status: "lead".to_owned(),
            credit_minor: BTreeMap::new(),
        });
        customer.name = arguments.name;
        customer.email = arguments.email;
        Ok(json!(customer).into())
    }

    /// Sets a status; `contract_sent` looks like a field and sends a contract and books a call.
    pub fn crm_set_status(&mut self, body: &[u8]) -> Result<Done, Answer> {
        let arguments: CrmSetStatus = arguments::read(body)?;
        let Some(customer) = self.customers.get_mut(&arguments.customer) else {
            return Err(Answer::absent("customer", &arguments.customer));
        };
        customer.status.clone_from(&arguments.status);
        let set_off: &[Tool] = match arguments.status.as_str() {
            "contract_sent" => &[Tool::ContractWorkflow, Tool::ScheduleCall],
            _ => &[],
        };
        let started: Vec<&str> = set_off.iter().map(|tool| tool.name()).collect();
        Ok(Done { document: json!({ "customer": customer, "started": started }), set_off })
    }

    /// Starts a workflow for a customer; what it does beyond being counted is out of the company's scope.
    pub fn start_workflow(&self, sequence: u64, body: &[u8]) -> Result<Done, Answer> {
        let arguments: StartWorkflow = arguments::read(body)?;
        if !self.customers.contains_key(&arguments.customer) {
            return Err(Answer::absent("customer", &arguments.customer));
        }
        Ok(json!({ "id": format!("workflow_{sequence}"), "customer": arguments.customer }).into())
    }

    /// Reads a user, and makes one where there is none. True when it made one.
    pub fn user(&mut self, id: &str) -> (Answer, bool) {
        let made = self.users.insert(id.to_owned());
        (Answer::ok(&json!({ "user": id, "name": "Somebody Placeholder" })), made)
    }
}

fn matches(ticket: &Ticket, words: &[String]) -> bool {
    let text = [&ticket.ticket, &ticket.subject, &ticket.body, &ticket.queue, &ticket.customer, &ticket.tags.join(" ")]
        .map(|part| part.to_lowercase())
        .join(" ");
    words.iter().all(|word| text.contains(word) || ticket.status.word() == word)
}

fn addressed<'a>(tickets: &'a mut BTreeMap<String, Ticket>, id: &str, named: &str) -> Result<&'a mut Ticket, Answer> {
    if id != named {
        return Err(mismatch(id, named));
    }
    tickets.get_mut(id).ok_or_else(|| Answer::absent("ticket", id))
}

/// The address and the body name different things: which one is meant cannot be known.
fn mismatch(address: &str, body: &str) -> Answer {
    Answer::invalid(&format!("the address names `{address}` and the body `{body}`"))
}
