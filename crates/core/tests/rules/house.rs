//! The people, keys and drafts that the rules are tried on.

use std::collections::BTreeSet;

use vidimus_core::bytes::{Digest, Salt};
use vidimus_core::frozen::{ChainLink, Draft, Need};
use vidimus_core::ids::{CallId, Effect, Environment, Name, PersonId, RequestId, Reversibility, RunId};
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::roster::{Admission, Roster};
use vidimus_core::sign::SecretKey;
use vidimus_core::time::Timestamp;

pub const ARGS: &str = r#"{"amount_minor":1500,"currency":"EUR","invoice":"invoice_842"}"#;

/// The gate's keys and the one that is kept offline.
pub const LOG: u8 = 90;
pub const TOKEN: u8 = 91;
pub const RECOVERY: u8 = 92;

pub fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

pub fn names(texts: &[&str]) -> BTreeSet<Name> {
    texts.iter().map(|text| name(text)).collect()
}

/// Milliseconds after the moment at which every case begins.
pub fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(1_796_040_000_000 + ms).expect("in range")
}

pub fn secret(seed: u8) -> SecretKey {
    SecretKey::from_seed(&[seed; 32])
}

pub fn person(seed: u8) -> PersonId {
    PersonId::from_random([seed; 16])
}

pub fn admission(seed: u8, roles: &[&str]) -> Admission {
    Admission {
        person: person(seed),
        name: format!("Approver {seed}"),
        roles: names(roles),
        approval_key: secret(seed).public(),
        device_key: secret(seed + 100).public(),
        label: format!("desktop-{seed}"),
    }
}

/// A roster of these persons: the first makes it, the others are admitted in turn.
pub fn roster_of(persons: &[(u8, &[&str])], recovery: Option<u8>) -> Roster {
    let recovery = recovery.map(|seed| secret(seed).public());
    let (first, others) = persons.split_first().expect("somebody");
    let genesis = Roster::genesis(Environment::Test, secret(LOG).public(), secret(TOKEN).public(), recovery, &admission(first.0, first.1));
    others
        .iter()
        .fold(genesis.expect("genesis"), |roster, (seed, roles)| roster.with_admission(&admission(*seed, roles)).expect("admitted"))
}

/// A refund by an agent of person 3 that one person of `billing-approver` decides, open for ten minutes.
pub fn draft(roster: &Roster) -> Draft {
    Draft {
        gate: roster.gate,
        environment: Environment::Test,
        request: RequestId::from_random([5; 16]),
        call: CallId::from_random([6; 16]),
        run: RunId::from_random([7; 16]),
        agents: vec![ChainLink { agent: name("billing"), owner: Some(person(3)) }],
        on_behalf_of: None,
        proposer: None,
        upstream: None,
        tool: name("refund"),
        definition_sha256: None,
        row_sha256: Digest::of(b"row"),
        table_sha256: Digest::of(b"table"),
        effect: Effect::Money,
        reversibility: Reversibility::Compensable,
        friction: Reversibility::Compensable,
        needs: vec![Need { role: name("billing-approver"), quorum: 1, escalate_to: None }],
        business_sha256: Digest::of(b"business"),
        referents: Json::Object(Vec::new()),
        earlier: Vec::new(),
        salt: Salt::from_bytes([8; 32]),
        created_at: at(0),
        expires_at: at(600_000),
        expires_max_at: at(1_200_000),
        args: parse(ARGS.as_bytes(), &Limits::MONEY).expect("arguments"),
    }
}
