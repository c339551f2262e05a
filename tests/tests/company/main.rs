//! The fixture company keeps its promises: credential, counts, keys, orders to misbehave, runs apart from each other.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent;
mod faults;
mod runs;
mod table;
mod tools;

use std::time::Duration;

use reqwest::{Client, Method, Response, StatusCode};
use serde_json::Value;
use vidimus_tests::company::{Company, Inspector, Options, Order, Tool};

const TOKEN: &str = "company-test-credential";
const REFUND: &str = r#"{"amount_minor":8990,"currency":"EUR","invoice":"invoice_842","reason":"broken"}"#;
const OTHER_REFUND: &str = r#"{"amount_minor":8991,"currency":"EUR","invoice":"invoice_842","reason":"broken"}"#;
const CANCELLATION: &str = r#"{"effective":"2026-12-31","reason":"office closed","subscription":"sub_77"}"#;
const WIRE: &str = r#"{"amount_minor":1500,"currency":"EUR","payee":"payee_fixtures","reference":"Rent November"}"#;

struct Fixture {
    company: Company,
    inspector: Inspector,
    client: Client,
}

impl Fixture {
    async fn open() -> Fixture {
        let company = Company::start(Options::new(TOKEN)).await.unwrap();
        let inspector = company.inspector().unwrap();
        Fixture { company, inspector, client: client() }
    }

    fn request(&self, method: Method, path: &str, body: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.company.url)).bearer_auth(TOKEN).body(body.to_owned())
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        read(self.request(Method::GET, path, "").send().await.unwrap()).await
    }

    async fn send(&self, method: Method, path: &str, body: &str) -> (StatusCode, Value) {
        read(self.request(method, path, body).send().await.unwrap()).await
    }

    async fn refund(&self, key: &str, body: &str) -> Result<Response, reqwest::Error> {
        self.request(Method::POST, "/billing/refunds", body).header("idempotency-key", key).send().await
    }

    async fn refunds(&self) -> usize {
        self.inspector.count(Tool::Refund).await.unwrap()
    }

    async fn order(&self, order: Order) {
        self.inspector.order(order).await.unwrap();
    }
}

/// A client that sends once and where it is told.
fn client() -> Client {
    Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .timeout(Duration::from_secs(20))
        .build()
        .unwrap()
}

async fn read(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let body = response.bytes().await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

/// Each change: method, address, body, and the tool whose count goes up.
const CHANGES: &[(Method, &str, &str, Tool)] = &[
    (Method::PUT, "/tickets/ticket_1/tags", r#"{"tags":["damaged","kettle"],"ticket":"ticket_1"}"#, Tool::UpdateTicketTags),
    (Method::POST, "/tickets", r#"{"body":"a","customer":"customer_ada","subject":"b"}"#, Tool::CreateTicket),
    (Method::POST, "/tickets/ticket_1/close", r#"{"resolution":"refunded","ticket":"ticket_1"}"#, Tool::CloseTicket),
    (
        Method::PUT,
        "/customers/customer_new",
        r#"{"customer":"customer_new","email":"new@example.com","name":"New Placeholder"}"#,
        Tool::UpsertCustomer,
    ),
    (Method::POST, "/crm/status", r#"{"customer":"customer_ada","status":"churned"}"#, Tool::CrmSetStatus),
    (Method::POST, "/workflows/contracts", r#"{"customer":"customer_ada"}"#, Tool::ContractWorkflow),
    (Method::POST, "/workflows/calls", r#"{"customer":"customer_ada"}"#, Tool::ScheduleCall),
    (Method::POST, "/mail/messages", r#"{"body":"a","subject":"b","to":"bert@example.org"}"#, Tool::SendEmail),
    (Method::POST, "/billing/refunds", REFUND, Tool::Refund),
    (Method::POST, "/billing/cancellations", CANCELLATION, Tool::CancelSubscription),
    (Method::POST, "/billing/wires", WIRE, Tool::WireTransfer),
    (
        Method::POST,
        "/billing/credits",
        r#"{"amount_minor":500,"currency":"EUR","customer":"customer_ada","reason":"sorry"}"#,
        Tool::IssueCredit,
    ),
];
