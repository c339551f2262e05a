//! Real processes under torture: killed and stopped at every point of a money call's life, for each way in which a row makes
//! a repeated attempt safe. What counts is the provider's count.

mod administrator;
mod crashes;
mod cuts;
#[path = "../faults/mod.rs"]
mod faults;
mod kills;
mod pauses;

use vidimus_api::call::{CallAnswer, CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_core::decision::{DecisionKind, DecisionStatement};
use vidimus_tests::company::Tool;

use faults::{House, call, request_of, until};

/// A money tool, and how its row makes a repeated attempt safe.
#[derive(Clone, Copy)]
struct Subject {
    idempotency: &'static str,
    tool: Tool,
    agent: &'static str,
    role: &'static str,
}

const KEY: Subject = Subject { idempotency: "key", tool: Tool::Refund, agent: "billing", role: "billing-approver" };
const STATUS: Subject = Subject { idempotency: "status", tool: Tool::CancelSubscription, agent: "billing", role: "billing-approver" };
const NONE: Subject = Subject { idempotency: "none", tool: Tool::SendEmail, agent: "support", role: "support-lead" };

impl Subject {
    /// Canonical arguments of a business effect of its own.
    fn args(self, number: usize) -> String {
        match self.tool {
            Tool::Refund => format!(r#"{{"amount_minor":1500,"currency":"EUR","invoice":"invoice_{number}","reason":"torn"}}"#),
            Tool::CancelSubscription => format!(r#"{{"effective":"2026-12-31","reason":"closed","subscription":"sub_{number}"}}"#),
            _ => format!(r#"{{"body":"It ships on Monday.","subject":"Order {number}","to":"bert@example.org"}}"#),
        }
    }

    fn call(self, number: usize) -> CallRequest {
        call(self.tool.name(), &self.args(number), &format!("{}-{number}", self.idempotency))
    }

    /// The provider's count of one business effect.
    async fn count(self, house: &House, number: usize) -> usize {
        let args = self.args(number);
        house.inspector.effects(self.tool).await.expect("effects").iter().filter(|effect| effect.args == args).count()
    }

    /// How often the provider was sent something for this tool.
    async fn sent(self, house: &House) -> usize {
        house.inspector.calls().await.expect("calls").iter().filter(|call| call.tool == self.tool).count()
    }
}

/// What an operation ends as: what its agent is told, the attempt that is of, the provider's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End<'a> {
    status: &'a str,
    attempt: u32,
    effects: usize,
}

/// A table of points and, for each idempotency, an [`End`].
struct Points(&'static str);

impl Points {
    fn of(&self, subject: Subject) -> impl Iterator<Item = (&'static str, End<'static>)> {
        let column = ["key", "status", "none"].iter().position(|name| *name == subject.idempotency).expect("a column");
        self.0.lines().filter(|line| !line.trim().is_empty()).map(move |line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(words.len(), 10, "{line}");
            let [status, attempt, effects] = words[1 + 3 * column..4 + 3 * column] else { panic!("{line}") };
            let number = |text: &str| text.parse().unwrap_or_else(|error| panic!("{error} in {line}"));
            (words[0], End { status, attempt: number(attempt), effects: number(effects) as usize })
        })
    }
}

/// A gate with an effect table in which the world settles in a second.
async fn open() -> House {
    let house = House::open_with(|table| table.replace("settle_s = 5", "settle_s = 1"), &[]).await;
    house.order(SHORT);
    house
}

/// Tokens that are over soon, so that the next start does not wait for one that nobody has.
const SHORT: &[&str] = &["token_ttl_s 1"];

/// The short settings and one more order.
fn and(order: &str) -> Vec<&str> {
    [SHORT, &[order]].concat()
}

/// A decision that can be handed in again, byte for byte.
async fn approval(house: &House, answer: &CallAnswer, role: &str) -> DecisionStatement {
    house.admin.statement(request_of(answer), DecisionKind::Approve, role).await.expect("a statement")
}

/// Waits until nothing changes any more without a person.
async fn ended(agent: &AgentClient, answer: &CallAnswer) -> CallAnswer {
    until("an end", || async {
        let told = agent.outcome(&answer.call, 5).await.expect("an answer");
        told.status.has_ended().then_some(told)
    })
    .await
}

/// What an agent was told in the end, beside the provider's count.
fn end_of<'a>(told: &CallAnswer, effects: usize) -> End<'a> {
    End { status: told.status.as_str(), attempt: told.attempt.unwrap_or_default(), effects }
}

/// Waits until the provider has counted this many of one business effect.
async fn counted(house: &House, subject: Subject, number: usize, effects: usize) {
    until("the provider's count", || async { (subject.count(house, number).await == effects).then_some(()) }).await;
}

/// Whether a status says that money moved exactly once.
fn moved(status: CallStatus) -> bool {
    matches!(status, CallStatus::Executed)
}
