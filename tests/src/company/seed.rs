//! What a fresh run holds. People and firms are invented; the accounts are the documented examples of their countries'
//! account formats, which pass the checksum and belong to nobody.

use std::collections::BTreeMap;

use super::billing::{Billing, Invoice, Payee, Subscription};
use super::desk::{Customer, Desk, Intake, Order, Ticket, TicketStatus};

/// Customers, orders and the three tickets of the support queue.
pub fn desk() -> Desk {
    let customers = [
        customer("customer_ada", "Ada Example", "ada@example.com", "customer"),
        customer("customer_bert", "Bert Beispiel", "bert@example.org", "customer"),
        customer("customer_fixtures", "Fictional Fixtures GmbH", "office@fixtures.example", "customer"),
    ];
    let tickets = [refund_ticket(), question_ticket(), cancellation_ticket()];
    Desk {
        tickets: tickets.map(|ticket| (ticket.ticket.clone(), ticket)).into(),
        customers: customers.map(|customer| (customer.customer.clone(), customer)).into(),
        orders: vec![
            order("order_88213", "customer_ada", "Imaginary Kettle", 8_990, "invoice_842"),
            order("order_88240", "customer_ada", "Imaginary Teapot", 2_450, "invoice_851"),
            order("order_88307", "customer_fixtures", "Box of Placeholders", 119_000, "invoice_860"),
        ],
        users: ["user_one".to_owned()].into(),
    }
}

/// Invoices, subscriptions and payees.
pub fn billing() -> Billing {
    let invoices = [
        invoice("invoice_842", "customer_ada", 8_990, "EUR", "Imaginary Kettle"),
        invoice("invoice_851", "customer_ada", 2_450, "EUR", "Imaginary Teapot"),
        invoice("invoice_860", "customer_fixtures", 119_000, "EUR", "Box of Placeholders"),
        invoice("invoice_jpy", "customer_bert", 1_500, "JPY", "Imaginary Fan"),
        invoice("invoice_bhd", "customer_bert", 1_500, "BHD", "Imaginary Lamp"),
        invoice("invoice_usd", "customer_bert", 4_200, "USD", "Imaginary Chair"),
    ];
    let subscription = Subscription {
        subscription: "sub_77".to_owned(),
        customer: "customer_fixtures".to_owned(),
        plan: "Pretend Plan Plus".to_owned(),
        amount_minor: 4_900,
        currency: "EUR".to_owned(),
        ends: None,
    };
    let payees = [
        payee("payee_fixtures", "Fictional Fixtures GmbH", "DE89370400440532013000", "COBADEFFXXX"),
        payee("payee_makebelieve", "Make-Believe Supplies Ltd", "GB82WEST12345698765432", "WESTGB22XXX"),
        payee("payee_invente", "Société Inventée SARL", "FR1420041010050500013M02606", "PSSTFRPPXXX"),
    ];
    Billing {
        invoices: invoices.map(|invoice| (invoice.invoice.clone(), invoice)).into(),
        subscriptions: [(subscription.subscription.clone(), subscription)].into(),
        payees: payees.map(|payee| (payee.payee.clone(), payee)).into(),
        wires: Vec::new(),
    }
}

fn refund_ticket() -> Ticket {
    Ticket {
        ticket: "ticket_1".to_owned(),
        queue: "support".to_owned(),
        customer: "customer_ada".to_owned(),
        subject: "Kettle arrived broken".to_owned(),
        body: "The kettle from order 88213 arrived with a crack. Please send the money back.".to_owned(),
        status: TicketStatus::Open,
        tags: vec!["damaged".to_owned()],
        resolution: None,
        intake: Some(Intake::Refund { invoice: "invoice_842".to_owned(), amount_minor: 8_990, currency: "EUR".to_owned() }),
    }
}

fn question_ticket() -> Ticket {
    Ticket {
        ticket: "ticket_2".to_owned(),
        queue: "support".to_owned(),
        customer: "customer_bert".to_owned(),
        subject: "When does the fan ship?".to_owned(),
        body: "I ordered a fan two weeks ago and have heard nothing. Could somebody write to me?".to_owned(),
        status: TicketStatus::Open,
        tags: vec!["delivery".to_owned()],
        resolution: None,
        intake: Some(Intake::Question { reply_to: "bert@example.org".to_owned() }),
    }
}

fn cancellation_ticket() -> Ticket {
    Ticket {
        ticket: "ticket_3".to_owned(),
        queue: "support".to_owned(),
        customer: "customer_fixtures".to_owned(),
        subject: "Cancel our plan".to_owned(),
        body: "We have closed the office. Please cancel subscription 77 at the end of the year.".to_owned(),
        status: TicketStatus::Open,
        tags: vec!["cancellation".to_owned()],
        resolution: None,
        intake: Some(Intake::Cancellation { subscription: "sub_77".to_owned(), effective: "2026-12-31".to_owned() }),
    }
}

fn customer(id: &str, name: &str, email: &str, status: &str) -> Customer {
    Customer {
        customer: id.to_owned(),
        name: name.to_owned(),
        email: email.to_owned(),
        status: status.to_owned(),
        credit_minor: BTreeMap::new(),
    }
}

fn order(id: &str, customer: &str, article: &str, amount_minor: u64, invoice: &str) -> Order {
    Order {
        order: id.to_owned(),
        customer: customer.to_owned(),
        article: article.to_owned(),
        amount_minor,
        currency: "EUR".to_owned(),
        invoice: invoice.to_owned(),
    }
}

fn invoice(id: &str, customer: &str, amount_minor: u64, currency: &str, article: &str) -> Invoice {
    Invoice {
        invoice: id.to_owned(),
        customer: customer.to_owned(),
        amount_minor,
        currency: currency.to_owned(),
        article: article.to_owned(),
        issued: "2026-11-02".to_owned(),
        refunds: Vec::new(),
    }
}

fn payee(id: &str, name: &str, iban: &str, bic: &str) -> Payee {
    Payee { payee: id.to_owned(), name: name.to_owned(), iban: iban.to_owned(), bic: bic.to_owned() }
}
