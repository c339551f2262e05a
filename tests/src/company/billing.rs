//! Billing: invoices, subscriptions, payees, and the payments made. It protects nobody from paying twice: what keeps
//! a refund single is the idempotency key, which `ledger` keeps, and whoever approves.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::Answer;
use super::arguments::{self, CancelSubscription, IssueCredit, Refund, WireTransfer};
use super::desk::{Customer, Done};

/// Invoices and subscriptions exist for the numbers below this one, so that a test can have as many as it needs.
const NUMBERED_MAX: u64 = 100_000;

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Invoice {
    pub invoice: String,
    pub customer: String,
    pub amount_minor: u64,
    pub currency: String,
    pub article: String,
    pub issued: String,
    pub refunds: Vec<RefundMade>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RefundMade {
    pub refund: String,
    pub amount_minor: u64,
    pub currency: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Subscription {
    pub subscription: String,
    pub customer: String,
    pub plan: String,
    pub amount_minor: u64,
    pub currency: String,
    /// The day on which it ends, once cancelled.
    pub ends: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Payee {
    pub payee: String,
    pub name: String,
    pub iban: String,
    pub bic: String,
}

/// What billing knows. Only what differs from the numbered defaults is stored.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Billing {
    pub invoices: BTreeMap<String, Invoice>,
    pub subscriptions: BTreeMap<String, Subscription>,
    pub payees: BTreeMap<String, Payee>,
    pub wires: Vec<Value>,
}

impl Billing {
    pub fn invoice(&self, id: &str) -> Answer {
        let invoice = self.invoices.get(id).cloned().or_else(|| numbered_invoice(id));
        invoice.map_or_else(|| Answer::absent("invoice", id), |invoice| Answer::ok(&json!(invoice)))
    }

    pub fn subscription(&self, id: &str) -> Answer {
        let subscription = self.subscriptions.get(id).cloned().or_else(|| numbered_subscription(id));
        subscription.map_or_else(|| Answer::absent("subscription", id), |found| Answer::ok(&json!(found)))
    }

    pub fn payee(&self, id: &str) -> Answer {
        self.payees.get(id).map_or_else(|| Answer::absent("payee", id), |payee| Answer::ok(&json!(payee)))
    }

    pub fn refund(&mut self, sequence: u64, body: &[u8]) -> Result<Done, Answer> {
        let arguments: Refund = arguments::read(body)?;
        let id = &arguments.invoice;
        let Some(mut invoice) = self.invoices.get(id).cloned().or_else(|| numbered_invoice(id)) else {
            return Err(Answer::absent("invoice", id));
        };
        if invoice.currency != arguments.currency {
            return Err(Answer::invalid(&format!("`{id}` is in {}, not in `{}`", invoice.currency, arguments.currency)));
        }
        let refund = format!("refund_{sequence}");
        invoice.refunds.push(RefundMade {
            refund: refund.clone(),
            amount_minor: arguments.amount_minor,
            currency: arguments.currency.clone(),
        });
        let document = json!({
            "id": refund, "invoice": id, "amount_minor": arguments.amount_minor, "currency": arguments.currency, "status": "refunded",
        });
        self.invoices.insert(id.clone(), invoice);
        Ok(document.into())
    }

    pub fn cancel(&mut self, sequence: u64, body: &[u8]) -> Result<Done, Answer> {
        let arguments: CancelSubscription = arguments::read(body)?;
        let id = &arguments.subscription;
        let Some(mut subscription) = self.subscriptions.get(id).cloned().or_else(|| numbered_subscription(id)) else {
            return Err(Answer::absent("subscription", id));
        };
        subscription.ends = Some(arguments.effective.clone());
        self.subscriptions.insert(id.clone(), subscription);
        let cancellation = format!("cancellation_{sequence}");
        Ok(json!({ "id": cancellation, "subscription": id, "ends": arguments.effective, "status": "cancelled" }).into())
    }

    pub fn wire(&mut self, sequence: u64, body: &[u8]) -> Result<Done, Answer> {
        let arguments: WireTransfer = arguments::read(body)?;
        let Some(payee) = self.payees.get(&arguments.payee) else {
            return Err(Answer::absent("payee", &arguments.payee));
        };
        let wire = json!({
            "id": format!("wire_{sequence}"), "payee": payee.payee, "iban": payee.iban, "amount_minor": arguments.amount_minor,
            "currency": arguments.currency, "reference": arguments.reference, "status": "booked",
        });
        self.wires.push(wire.clone());
        Ok(wire.into())
    }

    /// Credits a customer's balance, which the customer system keeps.
    pub fn credit(&self, sequence: u64, customers: &mut BTreeMap<String, Customer>, body: &[u8]) -> Result<Done, Answer> {
        let arguments: IssueCredit = arguments::read(body)?;
        let Some(customer) = customers.get_mut(&arguments.customer) else {
            return Err(Answer::absent("customer", &arguments.customer));
        };
        let balance = customer.credit_minor.entry(arguments.currency.clone()).or_default();
        *balance = balance.saturating_add(arguments.amount_minor);
        Ok(json!({
            "id": format!("credit_{sequence}"), "customer": arguments.customer, "amount_minor": arguments.amount_minor,
            "currency": arguments.currency, "balance_minor": *balance, "status": "credited",
        })
        .into())
    }
}

fn number(id: &str, prefix: &str) -> Option<u64> {
    let digits = id.strip_prefix(prefix)?;
    let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| plain && *number < NUMBERED_MAX)
}

fn numbered_invoice(id: &str) -> Option<Invoice> {
    let number = number(id, "invoice_")?;
    Some(Invoice {
        invoice: id.to_owned(),
        customer: "customer_ada".to_owned(),
        amount_minor: 10_000 + number,
        currency: "EUR".to_owned(),
        article: "Imaginary Widget".to_owned(),
        issued: "2026-10-01".to_owned(),
        refunds: Vec::new(),
    })
}

fn numbered_subscription(id: &str) -> Option<Subscription> {
    let number = number(id, "sub_")?;
    Some(Subscription {
        subscription: id.to_owned(),
        customer: "customer_ada".to_owned(),
        plan: "Pretend Plan Basic".to_owned(),
        amount_minor: 1_000 + number,
        currency: "EUR".to_owned(),
        ends: None,
    })
}
