//! Changes of the effect table: what differs, who decides it, and that nothing but the proposed text is reached.

use proptest::prelude::*;
use vidimus_core::bytes::{Digest, Nonce};
use vidimus_core::code::Code;
use vidimus_core::decision::{CheckpointRef, DecisionKind, DecisionStatement, approved_table, proposed_table};
use vidimus_core::dsse::Envelope;
use vidimus_core::frozen::{Draft, FrozenRequest};
use vidimus_core::ids::Environment;
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::reconciliation::amount_minor;
use vidimus_core::roster::Roster;
use vidimus_core::table::{ChangeKind, Need, TABLE_CHANGE, Table, TableChange, next_table};

use crate::house::{admission, at, draft, name, person, roster_of, secret};

const COMPANY: &str = include_str!("../../../../tests/src/company/effects.toml");

fn text() -> String {
    COMPANY.replace("{{company}}", "http://127.0.0.1:1")
}

fn load(text: &str) -> Table {
    Table::parse(text).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// Replaces `from` by `to` in the row or list of this tool or agent.
fn edit(text: &str, of: &str, from: &str, to: &str) -> String {
    let start = [format!("tool = \"{of}\"\n"), format!("agent = \"{of}\"\n")].iter().find_map(|key| text.find(key.as_str())).expect(of);
    let found = text[start..].find(from).unwrap_or_else(|| panic!("`{from}` in `{of}`")) + start;
    format!("{}{to}{}", &text[..found], &text[found + from.len()..])
}

/// The text without the row of this tool.
fn without(text: &str, tool: &str) -> String {
    let key = text.find(&format!("tool = \"{tool}\"\n")).expect(tool);
    let start = text[..key].rfind("[[row]]").expect("a row");
    let end = ["[[row]]", "[[agent]]"].iter().filter_map(|next| text[key..].find(next)).min().expect("an end") + key;
    format!("{}{}", &text[..start], &text[end..])
}

/// The text with one more row, a copy of this tool's under another name.
fn with_copy(text: &str, tool: &str, copy: &str) -> String {
    let key = text.find(&format!("tool = \"{tool}\"\n")).expect(tool);
    let end = ["[[row]]", "[[agent]]"].iter().filter_map(|next| text[key..].find(next)).min().expect("an end") + key;
    let row = text[key..end].replace(&format!("tool = \"{tool}\"\n"), &format!("tool = \"{copy}\"\n"));
    format!("{}[[row]]\n{row}{}", &text[..end], &text[end..])
}

fn change(next: &str) -> Result<TableChange, Code> {
    TableChange::between(&load(&text()), &load(next)).map_err(|refusal| refusal.code)
}

fn needed(change: &TableChange) -> Vec<(String, u32)> {
    change.needs().iter().map(|need| (need.role.to_string(), need.quorum)).collect()
}

/// A name for the case, the next text, the owner and the needs that follow.
type NeedsCase<'a> = (&'a str, String, &'a str, &'a [(&'a str, u32)]);

#[test]
fn the_amount_of_a_call_is_its_first_money_field() {
    let table = load(&text());
    let row = table.row(&name("refund")).expect("a row");
    let of = |args: &str| amount_minor(row, &parse(args.as_bytes(), &Limits::MONEY).expect("arguments"));
    assert_eq!(of(r#"{"amount_minor":1500,"currency":"EUR","invoice":"invoice_842"}"#), Some(1500));
    for none in [r#"{"currency":"EUR"}"#, r#"{"amount_minor":"1500"}"#, r#"{"amount_minor":-1}"#, r#"{"amount_minor":1.5}"#] {
        assert_eq!(of(none), None, "{none}");
    }
}

#[test]
fn the_needs_follow_from_what_differs() {
    let text = text();
    let cases: Vec<NeedsCase<'_>> = vec![
        ("a member", edit(&text, "refund", "quorum = 1", "quorum = 2"), "billing-approver", &[("billing-approver", 2)]),
        ("the quorum that was", edit(&text, "wire_transfer", "quorum = 2", "quorum = 1"), "treasury", &[("treasury", 2)]),
        (
            "a row without needs",
            edit(&text, "create_ticket", "undo = \"close", "undo = \"perhaps close"),
            "support-lead",
            &[("support-lead", 1)],
        ),
        ("another address", edit(&text, "get_payee", "127.0.0.1:1/", "127.0.0.1:2/"), "treasury", &[("treasury", 1), ("admin", 1)]),
        (
            "rows of one owner",
            edit(&edit(&text, "refund", "quorum = 1", "quorum = 3"), "issue_credit", "quorum = 1", "quorum = 2"),
            "billing-approver",
            &[("billing-approver", 3)],
        ),
        (
            "another owner",
            edit(&edit(&text, "refund", "owner = \"billing-approver\"", "owner = \"treasury\""), "refund", "_BILLING", "_TREASURY"),
            "billing-approver",
            &[("billing-approver", 1), ("admin", 1)],
        ),
        ("a new row", with_copy(&text, "wire_transfer", "wire_salary"), "treasury", &[("treasury", 2), ("admin", 1)]),
        (
            "a row and its place on a list removed",
            without(&edit(&text, "billing", ", \"issue_credit\"", ""), "issue_credit"),
            "billing-approver",
            &[("billing-approver", 1), ("admin", 1)],
        ),
        (
            "caps",
            edit(&text, "refund", "idempotency = ", "caps = { calls_per_hour = 3 }\nidempotency = "),
            "billing-approver",
            &[("billing-approver", 1), ("admin", 1)],
        ),
        ("a list alone", edit(&text, "treasury", "pending_max = 20", "pending_max = 21"), "admin", &[("admin", 1)]),
        (
            "a row and a list",
            edit(&edit(&text, "refund", "quorum = 1", "quorum = 2"), "billing", "\"refund\", ", ""),
            "billing-approver",
            &[("billing-approver", 2), ("admin", 1)],
        ),
        (
            "a write that nobody is asked about",
            edit(
                &edit(
                    &text,
                    "update_ticket_tags",
                    "reversibility = \"reversible\"\n",
                    "reversibility = \"irreversible\"\nlog_full_body = true\n",
                ),
                "update_ticket_tags",
                "undo = ",
                "# undo = ",
            ),
            "support-lead",
            &[("support-lead", 1), ("admin", 1)],
        ),
    ];
    for (case, next, owner, expected) in cases {
        let change = change(&next).expect(case);
        assert_eq!(change.owner.as_str(), owner, "{case}");
        let expected: Vec<(String, u32)> = expected.iter().map(|(role, quorum)| ((*role).to_owned(), *quorum)).collect();
        assert_eq!(needed(&change), expected, "{case}");
    }
}

#[test]
fn an_owner_who_is_admin_is_asked_once() {
    let owned = text().replace("owner = \"treasury\"", "owner = \"admin\"");
    let next = edit(&edit(&owned, "treasury", "pending_max = 20", "pending_max = 1"), "wire_transfer", "delay_s = 60", "delay_s = 61");
    let change = TableChange::between(&load(&owned), &load(&next)).expect("a change");
    assert_eq!(needed(&change), [("admin".to_owned(), 2), ("treasury".to_owned(), 2)]);
}

#[test]
fn nothing_and_several_owners_are_refused() {
    assert_eq!(change(&format!("# a comment is no change\n{}", text())), Err(Code::TableUnchanged));
    let both = edit(&edit(&text(), "refund", "quorum = 1", "quorum = 2"), "wire_transfer", "delay_s = 60", "delay_s = 61");
    let refusal = TableChange::between(&load(&text()), &load(&both)).expect_err("two owners");
    assert_eq!(refusal.code, Code::TableChangeOwners);
    for named in ["billing-approver", "refund", "treasury", "wire_transfer"] {
        assert!(refusal.message.contains(named), "{}", refusal.message);
    }
}

#[test]
fn the_arguments_hold_exactly_what_differs() {
    let change = change(&edit(&text(), "wire_transfer", "delay_s = 60", "delay_s = 30")).expect("a change");
    let rows = change.to_args().member("rows").cloned().expect("rows").canonical().expect("canonical");
    assert_eq!(
        String::from_utf8_lossy(&rows),
        r#"[{"change":"changed","members":[{"from":60,"member":"delay_s","to":30}],"tool":"wire_transfer"}]"#
    );
    let row = load(&text()).row(&name(TABLE_CHANGE)).cloned().expect("the gate's own row");
    assert_eq!(row.validate(&change.to_args()), Ok(()));
}

#[test]
fn arguments_lead_nowhere_else() {
    let (previous, next) = (load(&text()), edit(&text(), "wire_transfer", "delay_s = 60", "delay_s = 30"));
    let args = change(&next).expect("a change").to_args();
    let reached = |args: &Json, previous: &Table, text: &str| {
        next_table(args, previous, text).map(|(table, _)| table.digest()).map_err(|refusal| refusal.code)
    };
    assert_eq!(reached(&args, &previous, &next), Ok(load(&next).digest()));
    assert_eq!(reached(&args, &load(&next), &next), Err(Code::TableStale), "another version before");
    let looser = edit(&next, "wire_transfer", "quorum = 2", "quorum = 1");
    assert_eq!(reached(&args, &previous, &looser), Err(Code::TableChangeInvalid), "another text");
    assert_eq!(reached(&args, &previous, "v = 1\n[["), Err(Code::TableChangeInvalid), "no table");
    assert_eq!(reached(&args, &previous, &text()), Err(Code::TableChangeInvalid), "the same table");
    // The digest of the looser table under the members of the harmless one: what a person saw is not what would come.
    let swapped = Json::Object(
        args.as_object()
            .expect("an object")
            .iter()
            .map(|(member, value)| (member.clone(), if member == "next_sha256" { load(&looser).digest().into() } else { value.clone() }))
            .collect(),
    );
    assert_eq!(reached(&swapped, &previous, &looser), Err(Code::TableChangeInvalid), "a digest that the members do not lead to");
}

#[test]
fn a_change_is_no_longer_than_a_person_reads() {
    let mut next = text();
    for index in 0..400 {
        next = with_copy(&next, "refund", &format!("refund_at_shop_{index}"));
    }
    let change = change(&next).expect("a change");
    let code = change.bounded_args().expect_err("too much at once").code;
    assert!(matches!(code, Code::JsonTooLarge | Code::JsonTooManyNodes), "{code}");
}

/// Edits that load alone and together, each on its own place.
const EDITS: &[(&str, &str, &str)] = &[
    ("refund", "quorum = 1", "quorum = 2"),
    ("refund", "request_ttl_s = 1800", "request_ttl_s = 900"),
    ("refund", "summary = \"", "summary = \"Please: "),
    ("issue_credit", "quorum = 1", "quorum = 4"),
    ("cancel_subscription", "undo = \"", "undo = \"perhaps "),
    ("get_invoice", "127.0.0.1:1/", "127.0.0.1:2/"),
    ("billing", "pending_max = 20", "pending_max = 3"),
    ("support", "callback_hosts = []", "callback_hosts = [\"support.example\"]"),
    ("research", "\"search\", ", ""),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Applied to the canonical rows before, the members of a change give the canonical rows after: what an approver reads is
    /// the whole difference.
    #[test]
    fn members_applied_to_what_was_give_what_will_be(picked in prop::collection::vec(any::<bool>(), EDITS.len()), back in any::<bool>(), copies in 0_usize..3) {
        let mut next = text();
        for (_, (of, from, to)) in picked.iter().zip(EDITS).filter(|(picked, _)| **picked) {
            next = edit(&next, of, from, to);
        }
        for copy in 0..copies {
            next = with_copy(&next, "refund", &format!("refund_of_branch_{copy}"));
        }
        let (mut previous, mut next) = (text(), next);
        if back {
            std::mem::swap(&mut previous, &mut next);
        }
        let (before, after) = (load(&previous), load(&next));
        let Ok(change) = TableChange::between(&before, &after) else {
            prop_assert_eq!(before.digest(), after.digest());
            return Ok(());
        };
        prop_assert_eq!(applied(&change, &before), after.canonical().canonical().expect("canonical"));
        let args = parse(&change.to_args().canonical().expect("canonical"), &Limits::FROZEN).expect("arguments");
        let (reached, again) = next_table(&args, &before, &next).expect("the change leads there");
        prop_assert_eq!(reached.digest(), after.digest());
        prop_assert_eq!(again.needs(), change.needs());
        prop_assert!(change.needs().iter().all(|need| need.quorum >= 1));
    }
}

/// A table's canonical form, computed from the one before and the members of the change alone.
fn applied(change: &TableChange, before: &Table) -> Vec<u8> {
    let rows = entries(before.canonical(), "rows", "tool", &change.rows);
    let agents = entries(before.canonical(), "agents", "agent", &change.agents);
    Json::object([("v", 1_u32.into()), ("rows", rows), ("agents", agents)]).canonical().expect("canonical")
}

fn entries(table: &Json, list: &str, key: &str, changes: &[vidimus_core::table::EntryChange]) -> Json {
    let mut entries: Vec<(String, Vec<(String, Json)>)> = table
        .member(list)
        .and_then(Json::as_array)
        .expect(list)
        .iter()
        .map(|entry| (entry.member(key).and_then(Json::as_str).expect(key).to_owned(), entry.as_object().expect("an object").to_vec()))
        .collect();
    for entry in changes {
        let name = entry.name.to_string();
        match entry.change {
            ChangeKind::Removed => entries.retain(|(known, _)| *known != name),
            ChangeKind::Added => {
                // A new row has every member of a row, null where it says nothing.
                let blank = entries[0].1.iter().map(|(member, _)| (member.clone(), Json::Null)).collect();
                entries.push((name.clone(), blank));
            }
            ChangeKind::Changed => {}
        }
        if let Some((_, members)) = entries.iter_mut().find(|(known, _)| *known == name) {
            for change in &entry.members {
                let member = members.iter_mut().find(|(member, _)| *member == change.member).expect("a member of a row");
                assert_eq!(member.1.canonical().expect("canonical"), change.from.canonical().expect("canonical"));
                member.1 = change.to.clone();
            }
        }
    }
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    Json::Array(entries.into_iter().map(|(_, members)| Json::Object(members)).collect())
}

/// Persons: 1 admin, 2 and 3 treasury, 4 admin and treasury.
fn roster() -> Roster {
    roster_of(&[(1, &["admin"]), (2, &["treasury"]), (3, &["treasury"]), (4, &["admin", "treasury"])], None)
}

fn frozen(roster: &Roster, previous: &Table, args: Json, needs: &[Need], proposer: u8) -> FrozenRequest {
    let row = previous.row(&name(TABLE_CHANGE)).expect("the gate's own row");
    FrozenRequest::freeze(Draft {
        agents: Vec::new(),
        proposer: Some(person(proposer)),
        tool: row.tool.clone(),
        row_sha256: row.digest(),
        table_sha256: previous.digest(),
        needs: needs.to_vec(),
        args,
        ..draft(roster)
    })
    .expect("frozen")
}

fn approve(frozen: &FrozenRequest, roster: &Roster, signer: u8, role: &str) -> Envelope {
    let members = frozen.members();
    DecisionStatement {
        gate: roster.gate,
        gate_key_sha256: roster.log_key.digest(),
        environment: Environment::Test,
        request: members.request,
        request_sha256: frozen.request_sha256(),
        args_sha256: frozen.args_sha256(),
        tool: members.tool.clone(),
        decision: DecisionKind::Approve,
        approver: person(signer),
        key_sha256: secret(signer).public().digest(),
        role: name(role),
        row_sha256: members.row_sha256,
        roster_sha256: roster.digest().expect("digest"),
        shown_sha256: Digest::of(b"shown"),
        context_sha256: None,
        challenge: Nonce::from_bytes([signer; 32]),
        checkpoint: CheckpointRef { size: 12, root: Digest::of(b"root") },
        reason_sha256: None,
        app_version: "0.1.0".to_owned(),
        issued_at: at(1_000),
        expires_at: at(301_000),
    }
    .sign(&secret(signer))
    .expect("signed")
}

/// A name for the case, who signs in which role, and the refusal.
type SignersCase<'a> = (&'a str, &'a [(u8, &'a str)], Code);

#[test]
fn only_what_the_right_people_signed_leads_to_the_next_table() {
    let (roster, previous) = (roster(), load(&text()));
    let next = with_copy(&text(), "wire_transfer", "wire_salary");
    let change = change(&next).expect("a change");
    let asked = frozen(&roster, &previous, change.to_args(), change.needs(), 4);
    let signed = |signers: &[(u8, &str)]| -> Vec<Envelope> {
        signers.iter().map(|(signer, role)| approve(&asked, &roster, *signer, role)).collect()
    };
    let reached = |envelopes: &[Envelope]| {
        approved_table(&asked, envelopes, &roster, &previous, &next).map(|table| table.digest()).map_err(|refusal| refusal.code)
    };
    assert_eq!(reached(&signed(&[(2, "treasury"), (3, "treasury"), (1, "admin")])), Ok(load(&next).digest()));
    let cases: &[SignersCase<'_>] = &[
        ("nobody", &[], Code::QuorumMissing),
        ("the owner's role alone", &[(2, "treasury"), (3, "treasury")], Code::QuorumMissing),
        ("one person of the owner's role", &[(2, "treasury"), (1, "admin")], Code::QuorumMissing),
        ("one person twice", &[(2, "treasury"), (2, "treasury"), (1, "admin")], Code::QuorumMissing),
        ("the proposer", &[(2, "treasury"), (4, "treasury"), (1, "admin")], Code::SelfApproval),
        ("the proposer as admin, who is not the only one", &[(2, "treasury"), (3, "treasury"), (4, "admin")], Code::SelfApproval),
        ("a role that is not held", &[(2, "treasury"), (3, "treasury"), (2, "admin")], Code::RoleNotHeld),
    ];
    for (case, signers, code) in cases {
        assert_eq!(reached(&signed(signers)), Err(*code), "{case}");
    }
    // A gate that asks fewer than the change needs gets nothing by it.
    let fewer = frozen(&roster, &previous, change.to_args(), &change.needs()[1..], 4);
    let envelopes = [approve(&fewer, &roster, 1, "admin")];
    let refusal = approved_table(&fewer, &envelopes, &roster, &previous, &next).expect_err("fewer were asked");
    assert_eq!((refusal.code, refusal.path.as_deref()), (Code::TableChangeInvalid, Some("/needs")));
    assert_eq!(proposed_table(&fewer, &previous, &next).expect_err("fewer are asked").code, Code::TableChangeInvalid);
}

#[test]
fn the_only_admin_decides_on_their_own_lists_and_on_nothing_else_of_theirs() {
    let roster = Roster::genesis(Environment::Test, secret(90).public(), secret(91).public(), None, &admission(1, &["admin", "treasury"]))
        .expect("genesis");
    let roster = roster
        .with_admission(&admission(2, &["treasury"]))
        .and_then(|roster| roster.with_admission(&admission(3, &["treasury"])))
        .expect("admitted");
    let previous = load(&text());
    let lists = edit(&text(), "treasury", "pending_max = 20", "pending_max = 21");
    let own = change(&lists).expect("a change");
    let asked = frozen(&roster, &previous, own.to_args(), own.needs(), 1);
    assert!(approved_table(&asked, &[approve(&asked, &roster, 1, "admin")], &roster, &previous, &lists).is_ok());

    let rows = edit(&text(), "wire_transfer", "delay_s = 60", "delay_s = 0");
    let loosened = change(&rows).expect("a change");
    let asked = frozen(&roster, &previous, loosened.to_args(), loosened.needs(), 1);
    let envelopes = [approve(&asked, &roster, 1, "treasury"), approve(&asked, &roster, 2, "treasury")];
    let refusal = approved_table(&asked, &envelopes, &roster, &previous, &rows).expect_err("their own proposal");
    assert_eq!(refusal.code, Code::SelfApproval);
}
