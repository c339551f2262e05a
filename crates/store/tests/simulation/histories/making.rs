//! The pieces that a history is made of by hand.

use std::rc::Rc;

use vidimus_core::bytes::{Digest, Nonce, Salt};
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement};
use vidimus_core::frozen::{ChainLink, Draft, FrozenRequest, business_sha256};
use vidimus_core::ids::{CallId, Environment, Name, PersonId, RequestId, RunId};
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::operation::OperationKey;
use vidimus_core::reconciliation::{Answer, ReconciliationStatement};
use vidimus_core::roster::{Person, Roster, RosterKey};
use vidimus_core::time::Timestamp;

use crate::house::{Approver, BEGINNING_MS, House, name};
use crate::provider::Message;
use crate::roster_seen::RosterSeen;
use crate::witness::{ApprovalSeen, OperationSeen, RequestSeen, ReservedSeen, Witness, WriteSeen};

pub const REFUND: (&str, &str) = ("refund", r#"{"amount_minor":1500,"currency":"EUR","invoice":"1"}"#);
pub const WIRE: (&str, &str) = ("wire", r#"{"account":"1","amount_minor":1500,"currency":"EUR"}"#);

pub fn at(seconds: u64) -> Timestamp {
    Timestamp::from_ms(BEGINNING_MS).expect("a time").plus_s(seconds)
}

/// Bea, who holds both roles and owns no agent.
pub fn bea(house: &House) -> &Rc<Approver> {
    &house.people[2]
}

pub fn frozen(house: &House, (tool, args): (&str, &str), change: impl FnOnce(&mut Draft)) -> FrozenRequest {
    let known = &house.tables[0];
    let row = known.table.row(&name(tool)).expect("a row");
    let mut draft = Draft {
        gate: house.gate(),
        environment: Environment::Test,
        request: RequestId::from_random([1; 16]),
        call: CallId::from_random([2; 16]),
        run: RunId::from_random([3; 16]),
        agents: vec![ChainLink { agent: name("billing"), owner: None }],
        on_behalf_of: None,
        proposer: None,
        upstream: None,
        tool: row.tool.clone(),
        definition_sha256: None,
        row_sha256: row.digest(),
        table_sha256: known.table.digest(),
        effect: row.effect,
        reversibility: row.reversibility.expect("money"),
        friction: row.reversibility.expect("money"),
        needs: row.needs.clone(),
        business_sha256: business_sha256(&row.tool, vec![args.into()]).expect("a digest"),
        referents: Json::object([]),
        earlier: Vec::new(),
        salt: Salt::from_bytes([4; 32]),
        created_at: at(0),
        expires_at: at(row.request_ttl_s),
        expires_max_at: at(row.request_ttl_max_s),
        args: parse(args.as_bytes(), &Limits::MONEY).expect("arguments"),
    };
    change(&mut draft);
    FrozenRequest::freeze(draft).expect("frozen")
}

pub fn request(house: &House, call: (&str, &str)) -> RequestSeen {
    RequestSeen::of(frozen(house, call, |_| {}), 50)
}

pub fn statement(house: &House, of: &Approver, seen: &RequestSeen, role: &str) -> DecisionStatement {
    house.statement(of, &seen.frozen, DecisionKind::Approve, role)
}

/// Somebody's approval counts, and it was signed as it should be.
pub fn approve(house: &House, seen: &mut RequestSeen, of: &Approver, role: &str) {
    let envelope = statement(house, of, seen, role).sign(&of.approval).expect("signed");
    seen.standing.insert(of.person, ApprovalSeen { role: role.to_owned(), key: of.approval.public().digest(), envelope });
}

pub fn operation_of(seen: &RequestSeen) -> OperationKey {
    let members = seen.frozen.members();
    OperationKey::money(&members.tool, &members.request, &seen.frozen.args_sha256())
}

/// A witness of one request and its operation.
pub fn witness(house: &House, seen: RequestSeen, change: impl FnOnce(&mut OperationSeen)) -> (Witness, OperationKey) {
    let (mut witness, operation, request) = (Witness::of(house), operation_of(&seen), seen.frozen.members().request);
    let mut known = OperationSeen { request: Some(request), ..OperationSeen::default() };
    change(&mut known);
    witness.requests.insert(request, seen);
    witness.operations.insert(operation, known);
    (witness, operation)
}

pub fn message(seen: &RequestSeen, attempt: u32) -> Message {
    Message {
        tool: seen.frozen.members().tool.to_string(),
        args: String::from_utf8(seen.frozen.canonical_args().to_vec()).expect("text"),
        operation: operation_of(seen),
        attempt,
        lease_until: at(30),
        looked_at: at(29),
    }
}

/// A write as it was intended at the beginning.
pub fn write_seen(house: &House, tool: &str) -> WriteSeen {
    WriteSeen {
        agent: "billing".to_owned(),
        tool: tool.to_owned(),
        args: r#"{"label":"1"}"#.to_owned(),
        row_sha256: house.tables[0].rows[&name(tool)],
        at: at(0),
        position: 50,
    }
}

pub fn reserved(tool: &str, amount: u64) -> ReservedSeen {
    ReservedSeen {
        operation: format!("{:064}", amount).parse().expect("a digest"),
        tool: tool.to_owned(),
        agent: "billing".to_owned(),
        run: "one".to_owned(),
        at: at(0),
        amount,
        counts: true,
    }
}

/// The roster that a gate would show, from what the log has.
pub fn roster_of(house: &House, seen: &RosterSeen) -> Roster {
    let person = |person: &PersonId| {
        let known = &seen.persons[person];
        let keys = seen.keys.values().filter(|key| key.person == *person).map(|key| RosterKey {
            key_use: key.key_use,
            key: key.key,
            label: "desk".to_owned(),
            stopped_at: key.stopped.then(|| at(0)),
        });
        let roles = known.roles.iter().map(|role| name(role)).collect();
        Person { person: *person, name: known.name.clone(), roles, keys: keys.collect() }
    };
    Roster {
        gate: house.gate(),
        environment: Environment::Test,
        version: u32::try_from(seen.version).expect("a version"),
        previous_sha256: None,
        log_key: house.log_key.public(),
        token_key: house.token_key.public(),
        recovery_key: seen.recovery_key,
        persons: seen.persons.keys().map(person).collect(),
    }
}

/// The roster of the house after somebody's approval key was stopped.
pub fn stopped(house: &House, of: &Approver) -> RosterSeen {
    let mut roster = house.roster.clone();
    roster.keys.get_mut(&of.approval.public().digest()).expect("a key").stopped = true;
    roster
}

pub fn answer_of(house: &House, of: &Approver, role: &str, operation: OperationKey) -> ReconciliationStatement {
    ReconciliationStatement {
        gate: house.gate(),
        gate_key_sha256: house.log_key.public().digest(),
        environment: Environment::Test,
        operation,
        request: None,
        request_sha256: None,
        attempt: 1,
        answer: Answer::Happened,
        amount_minor: None,
        approver: of.person,
        key_sha256: of.approval.public().digest(),
        role: name(role),
        roster_sha256: Digest::of(b"roster"),
        shown_sha256: None,
        evidence_sha256: Digest::of(b"evidence"),
        challenge: Nonce::from_bytes([0; 32]),
        checkpoint: CheckpointRef { size: 0, root: Digest::of(b"") },
        app_version: "simulated".to_owned(),
        issued_at: at(0),
        expires_at: at(60),
    }
}

pub fn rows_without(house: &House, tool: &str) -> std::collections::BTreeMap<Name, Digest> {
    let mut rows = house.tables[0].rows.clone();
    rows.insert(name(tool), Digest::of(b"another row"));
    rows
}
