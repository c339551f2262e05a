//! The life of one request and its operation against a model that knows the promises and not the code: random commands, and
//! after each the same outcome, state and attempt on both sides.

mod model;
mod real;

use std::rc::Rc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use vidimus_core::decision::DecisionKind;
use vidimus_core::operation::Answer;

use crate::house::House;
use model::Model;
use real::Real;

/// Courses of an ordinary run, and of a long one.
const CASES: u32 = 400;
const CASES_LONG: u32 = 10_000;

/// What is done to a request or its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The first or the second person decides.
    Decide(usize, DecisionKind),
    Withdraw,
    Sweep,
    Mint,
    /// The token that was minted so many tokens ago is presented.
    Redeem(usize),
    /// An answer of the attempt so many attempts ago.
    Answer(u32, Answer),
    /// The lease of the attempt so many attempts ago is renewed.
    Renew(u32),
    StatusFound,
    StatusNotFound,
    Restart,
    /// *Unit*: milliseconds.
    Wait(u64),
}

/// What comes of a command, in words that both sides use.
pub type Outcome = String;

/// The tools, one for each kind of idempotency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Refund,
    Cancel,
    Wire,
}

fn command() -> impl Strategy<Value = Command> {
    let kinds = prop_oneof![
        6 => Just(DecisionKind::Approve),
        1 => Just(DecisionKind::Deny),
        2 => Just(DecisionKind::Retract),
        1 => Just(DecisionKind::Revoke),
        2 => Just(DecisionKind::MoreTime),
    ];
    let answers = prop_oneof![
        2 => Just(Answer::Done),
        1 => Just(Answer::NothingSent),
        1 => Just(Answer::NoEffect),
        3 => Just(Answer::Unclear),
    ];
    // Around the ends of leases, delays, retries, requests and keys, and at their very milliseconds.
    let waits = prop_oneof![
        3 => 0_u64..40_000,
        2 => (prop::sample::select(vec![2_000_u64, 4_000, 10_000, 30_000, 60_000, 300_000, 390_000, 400_000]), 0_u64..3)
            .prop_map(|(end, around)| end + around - 1),
        1 => 0_u64..400_000,
    ];
    prop_oneof![
        8 => (0_usize..2, kinds).prop_map(|(who, kind)| Command::Decide(who, kind)),
        1 => Just(Command::Withdraw),
        5 => Just(Command::Sweep),
        7 => Just(Command::Mint),
        8 => (0_usize..3).prop_map(|back| Command::Redeem(back / 2)),
        6 => (0_u32..4, answers).prop_map(|(back, answer)| Command::Answer(back / 3, answer)),
        2 => (0_u32..3).prop_map(|back| Command::Renew(back / 2)),
        1 => Just(Command::StatusFound),
        1 => Just(Command::StatusNotFound),
        2 => Just(Command::Restart),
        6 => waits.prop_map(Command::Wait),
    ]
}

#[test]
fn a_request_and_its_operation_live_as_the_model_says() {
    let house = Rc::new(House::build());
    let cases = if std::env::var_os("VIDIMUS_LONG").is_some() { CASES_LONG } else { CASES };
    let tools = prop::sample::select(vec![Tool::Refund, Tool::Cancel, Tool::Wire]);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let course = (tools, prop::collection::vec(command(), 1..50));
    let outcome = runner.run(&course, |(tool, commands)| {
        let mut real = Real::begin(&house, tool);
        let mut model = Model::begin(tool);
        for (step, command) in commands.iter().enumerate() {
            let (did, expected) = (real.apply(*command), model.apply(*command));
            prop_assert_eq!(did, expected, "step {} of {:?}", step, &commands[..=step]);
            prop_assert_eq!(real.stands(), model.stands(), "after step {} of {:?}", step, &commands[..=step]);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
