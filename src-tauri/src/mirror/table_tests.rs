//! Later versions of the effect table: believed only from the decisions that were signed.

use vidimus_api::log::RecordEvent;
use vidimus_core::decision::DecisionKind;
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::json::Json;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::sign::SecretKey;
use vidimus_core::table::{TABLE_CHANGE, Table, TableChange};

use super::*;
use crate::review::table_change;
use crate::testing::{Log, review};

/// The table of the log with another limit in one agent's list.
fn next_text(log: &Log) -> String {
    let text = vidimus_tests::company::effect_table("http://127.0.0.1:1").replacen("pending_max = 20", "pending_max = 40", 1);
    assert_ne!(Table::parse(&text).unwrap().digest(), log.table.digest());
    text
}

fn frozen_change(log: &Log, text: &str) -> FrozenRequest {
    let change = TableChange::between(&log.table, &Table::parse(text).unwrap()).unwrap();
    log.freeze(TABLE_CHANGE, &String::from_utf8(change.to_args().canonical().unwrap()).unwrap())
}

fn envelopes_of(record: &RecordEvent) -> Vec<Envelope> {
    AuditRecord::parse(record.leaf.as_bytes()).unwrap().envelopes
}

/// The record of a table with these envelopes, this text, and the frozen change.
fn append_table(log: &mut Log, text: &str, frozen: Option<&FrozenRequest>, envelopes: Vec<Envelope>) {
    let digest = Table::parse(text).unwrap().digest().to_string();
    let frozen_text = frozen.map(|frozen| String::from_utf8(frozen.bytes().to_vec()).unwrap());
    log.append(
        RecordType::TableChanged,
        &[("table_sha256", digest.into()), ("previous_sha256", log.table.digest().to_string().into())],
        frozen.map(|frozen| frozen.members().request),
        envelopes,
        Some(Json::object([("table", text.into()), ("frozen", frozen_text.into())])),
    );
}

#[test]
fn an_approved_table_is_in_force_and_what_was_frozen_before_keeps_its_row() {
    let mut log = Log::founded(&["billing-approver"]);
    let waiting = log.request("refund", r#"{"invoice":"invoice_842","amount_minor":4200,"currency":"EUR","reason":"charged twice"}"#);
    let text = next_text(&log);
    let frozen = frozen_change(&log, &text);
    log.create(&frozen);
    log.decide(&frozen, DecisionKind::Approve, None);
    let envelopes = envelopes_of(log.records.last().unwrap());
    append_table(&mut log, &text, Some(&frozen), envelopes);
    let (console, _directory) = log.console();
    let digest = Table::parse(&text).unwrap().digest();
    let in_force = console.read(|mirror| mirror.effect_table()).flatten().unwrap();
    assert_eq!(in_force, (digest.to_string(), text));
    assert!(review(&console, &waiting).card.row.is_some(), "the row of the table that it was frozen on");

    let review = review(&console, &frozen.members().request);
    let entries = table_change::of(&review.card).unwrap();
    assert_eq!((entries.len(), entries[0].is_agent, entries[0].change.as_str()), (1, true, "changed"));
    assert!(entries[0].members[0].loosened);
    assert!(review.card.warnings.iter().any(|warning| warning.id == "loosened"));
    // The arguments stand beside it one by one: each value of the change is one that must be seen.
    let shown = review.card.values.iter().filter(|value| value.node.path.starts_with("/agents/0/members/0")).count();
    assert_eq!(shown, 4, "the member, its name, from and to");
}

#[test]
fn a_table_that_was_not_approved_breaks_the_log() {
    let honest = || {
        let mut log = Log::founded(&["billing-approver"]);
        let text = next_text(&log);
        let frozen = frozen_change(&log, &text);
        log.create(&frozen);
        log.decide(&frozen, DecisionKind::Approve, None);
        let envelopes = envelopes_of(log.records.last().unwrap());
        (log, text, frozen, envelopes)
    };
    type Forge = fn(&mut Log, &str, &FrozenRequest, Vec<Envelope>);
    let forgeries: [(&str, Forge); 5] = [
        ("without approvals", |log, text, frozen, _| append_table(log, text, Some(frozen), Vec::new())),
        ("without the change", |log, text, _, envelopes| append_table(log, text, None, envelopes)),
        ("another table under the same approvals", |log, text, frozen, envelopes| {
            append_table(log, &text.replacen("quorum = 2", "quorum = 1", 1), Some(frozen), envelopes);
        }),
        ("the genesis again", |log, text, _, _| {
            let genesis = envelopes_of(&log.records[1]);
            append_table(log, text, None, genesis);
        }),
        ("the first table again", |log, _, frozen, envelopes| {
            let first = vidimus_tests::company::effect_table("http://127.0.0.1:1");
            append_table(log, &first, Some(frozen), envelopes);
        }),
    ];
    for (what, forge) in forgeries {
        let (mut log, text, frozen, envelopes) = honest();
        let mut mirror = log.mirror();
        forge(&mut log, &text, &frozen, envelopes);
        match log.settle(&mut mirror) {
            Err(MirrorFault::Broken { what: words, .. }) => assert!(words.contains("not the one that was approved"), "{what}: {words}"),
            other => panic!("{what}: {other:?}"),
        }
    }
    // Signed by somebody who is not in the roster.
    let (mut twin, _, frozen, _) = honest();
    twin.decide(&frozen, DecisionKind::Approve, Some(&SecretKey::from_seed(&[77; 32])));
    let forged = envelopes_of(twin.records.last().unwrap());
    let (mut log, text, frozen, _) = honest();
    let mut mirror = log.mirror();
    append_table(&mut log, &text, Some(&frozen), forged);
    assert!(matches!(log.settle(&mut mirror), Err(MirrorFault::Broken { .. })));
}
