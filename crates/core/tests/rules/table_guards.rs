//! Who is asked before a row that protects them changes: whoever its money asks, and an admin for where calls go.

use vidimus_core::table::{Rule, Table, TableChange};

const HEAD: &str = "v = 1\n";

const READ: &str = r#"[[row]]
tool = "find_note"
effect = "read"
owner = "support"
[row.executor]
kind = "http"
method = "GET"
url = "http://127.0.0.1:1/notes"
"#;

const WRITE: &str = r#"[[row]]
tool = "tag"
effect = "write"
reversibility = "reversible"
undo = "set the earlier tag"
owner = "support"
receipt = "/id"
idempotency = "none"
schema = '''{"type": "object", "additionalProperties": false, "required": ["note"], "properties": {"note": {"type": "string"}}}'''
[row.executor]
kind = "http"
method = "POST"
url = "http://127.0.0.1:1/tags"
idempotency_header = "Idempotency-Key"
"#;

/// A payment whose owner is not asked for it.
const MONEY: &str = r#"[[row]]
tool = "payout"
effect = "money"
reversibility = "compensable"
undo = "ask for it back"
owner = "support"
needs = [{ role = "payer", quorum = 2 }, { role = "treasury", quorum = 1 }]
request_ttl_s = 1800
delay_s = 60
idempotency = "key"
key_valid_s = 3600
attempts_max = 3
summary = "Pay {note}"
business = ["note"]
salient = ["note"]
fields = [{ path = "note", label = "Note", format = "text" }]
schema = '''{"type": "object", "additionalProperties": false, "required": ["note"], "properties": {"note": {"type": "string"}}}'''
[row.executor]
kind = "http"
method = "POST"
url = "http://127.0.0.1:1/payouts"
idempotency_header = "Idempotency-Key"
credential = "env:VIDIMUS_CREDENTIAL_BANK"
"#;

fn table(rows: &[&str]) -> Table {
    Table::parse(&format!("{HEAD}{}", rows.concat())).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// Who is asked for the change from these rows to those.
fn asked(previous: &[&str], next: &[&str]) -> Vec<(String, u32)> {
    let change = TableChange::between(&table(previous), &table(next)).expect("a change");
    change.needs().iter().map(|need| (need.role.to_string(), need.quorum)).collect()
}

fn needs(of: &[(&str, u32)]) -> Vec<(String, u32)> {
    of.iter().map(|(role, quorum)| ((*role).to_owned(), *quorum)).collect()
}

/// The payment as a write under the same name, with what it needs.
fn as_a_write() -> String {
    WRITE.replace("tool = \"tag\"", "tool = \"payout\"").replace("/tags", "/payouts")
}

#[test]
fn whatever_changes_about_a_payment_is_asked_of_those_whom_it_asks() {
    let guarded = needs(&[("support", 2), ("payer", 2), ("treasury", 1)]);
    let by_admin = needs(&[("support", 2), ("payer", 2), ("treasury", 1), ("admin", 1)]);
    let cases = [
        ("fewer persons", "quorum = 2", "quorum = 1", &guarded),
        ("another role", "role = \"payer\"", "role = \"support\"", &guarded),
        ("no delay", "delay_s = 60", "delay_s = 0", &guarded),
        ("another label", "label = \"Note\"", "label = \"Nothing\"", &guarded),
        ("another sentence", "summary = \"Pay", "summary = \"Look at", &guarded),
        ("what cannot be undone said to be undone", "undo = \"ask for it back\"", "undo = \"nothing to do\"", &guarded),
        ("easier to read than it is", "reversibility = \"compensable\"", "reversibility = \"reversible\"", &guarded),
        ("more attempts", "attempts_max = 3", "attempts_max = 5", &guarded),
        (
            "attempts that nothing makes safe",
            "idempotency = \"key\"\nkey_valid_s = 3600\nattempts_max = 3",
            "idempotency = \"none\"",
            &guarded,
        ),
        ("another address", "http://127.0.0.1:1/payouts", "http://127.0.0.1:2/payouts", &by_admin),
        ("another path", "/payouts", "/gifts", &by_admin),
        ("another credential", "_BANK", "_OTHER", &by_admin),
        ("another owner", "owner = \"support\"", "owner = \"payer\"", &by_admin),
        (
            "a question to another address, with the credential",
            "idempotency = \"key\"\nkey_valid_s = 3600\nattempts_max = 3",
            "idempotency = \"status\"\nstatus = { url = \"http://127.0.0.1:3/{operation}\", found = \"/id\", matches = [{ at = \"/p\", is = \"{payload_sha256}\" }] }",
            &by_admin,
        ),
    ];
    for (case, from, to, expected) in cases {
        let next = MONEY.replacen(from, to, 1);
        assert_ne!(next, MONEY, "{case}");
        assert_eq!(asked(&[READ, WRITE, MONEY], &[READ, WRITE, &next]), *expected, "{case}");
    }
    assert_eq!(asked(&[READ, MONEY], &[READ, &as_a_write()]), by_admin, "a write of the same name");
    assert_eq!(asked(&[READ, MONEY], &[READ]), by_admin, "no row at all");
    // Back: what was a write asked nobody, and asks more from now on.
    assert_eq!(asked(&[READ, &as_a_write()], &[READ, MONEY]), needs(&[("support", 2), ("admin", 1)]), "the other way");
}

#[test]
fn an_admin_is_asked_where_calls_go_with_which_credential_and_what_they_count_as() {
    let owner = needs(&[("support", 1)]);
    let admin = needs(&[("support", 1), ("admin", 1)]);
    let credential = "idempotency_header = \"Idempotency-Key\"\ncredential = \"env:VIDIMUS_CREDENTIAL_TAGS\"";
    for (case, from, to, expected) in [
        ("words", "set the earlier tag", "set the tag before", &owner),
        ("another address", "127.0.0.1:1", "127.0.0.1:2", &admin),
        ("another path", "/tags", "/payouts", &admin),
        ("another method", "\"POST\"", "\"PUT\"", &admin),
        ("a credential", "idempotency_header = \"Idempotency-Key\"", credential, &admin),
        (
            "a read",
            "effect = \"write\"\nreversibility = \"reversible\"\nundo = \"set the earlier tag\"\nowner = \"support\"\nreceipt = \"/id\"\nidempotency = \"none\"",
            "effect = \"read\"\nowner = \"support\"",
            &admin,
        ),
    ] {
        let mut next = WRITE.replacen(from, to, 1);
        if case == "a read" {
            next = next
                .replace("\"POST\"", "\"GET\"")
                .replace("/tags", "/tags?note={note}")
                .replace("idempotency_header = \"Idempotency-Key\"\n", "");
        }
        assert_ne!(next, WRITE, "{case}");
        assert_eq!(asked(&[READ, WRITE], &[READ, &next]), *expected, "{case}");
    }
}

#[test]
fn what_another_owners_tool_answers_is_theirs_to_give_out() {
    let salary = READ.replace("find_note", "find_salary").replace("owner = \"support\"", "owner = \"hr\"").replace("/notes", "/salaries");
    let reads = |tool: &str| WRITE.replace("receipt = \"/id\"", &format!("state = {{ tool = \"{tool}\" }}"));
    let rows = [READ, &salary, WRITE];
    assert_eq!(asked(&rows, &[READ, &salary, &reads("find_note")]), needs(&[("support", 1)]), "their own");
    assert_eq!(asked(&rows, &[READ, &salary, &reads("find_salary")]), needs(&[("support", 1), ("hr", 1)]), "a state");
    let fact = MONEY.replace("fields = [", "facts = [{ label = \"Salary\", tool = \"find_salary\" }]\nfields = [");
    let guarded = needs(&[("support", 2), ("payer", 2), ("treasury", 1), ("hr", 1)]);
    assert_eq!(asked(&[READ, &salary, MONEY], &[READ, &salary, &fact]), guarded, "a fact");
    assert_eq!(
        asked(&[&salary], &[&salary, &reads("find_salary")]),
        needs(&[("support", 1), ("hr", 1), ("admin", 1)]),
        "a new row that reads it"
    );
    // Once it was given out, other words in the row are its owner's.
    let words = reads("find_salary").replace("set the earlier tag", "set the tag before");
    assert_eq!(asked(&[&salary, &reads("find_salary")], &[&salary, &words]), needs(&[("support", 1)]), "words");
}

#[test]
fn a_credential_that_pays_stands_in_money_rows_of_one_owner_alone() {
    let with = |row: &str| format!("{row}credential = \"env:VIDIMUS_CREDENTIAL_BANK\"\n");
    let second = MONEY.replace("tool = \"payout\"", "tool = \"gift\"");
    let faults = |rows: &[&str]| -> Vec<(String, Rule)> {
        let found = Table::parse(&format!("{HEAD}{}", rows.concat())).err().unwrap_or_default();
        found.into_iter().map(|fault| (fault.key, fault.rule)).collect()
    };
    let at = |row: usize| vec![(format!("row[{row}].executor.credential"), Rule::CredentialShared)];
    assert_eq!(faults(&[&with(WRITE), MONEY]), at(0), "a write");
    assert_eq!(faults(&[MONEY, &with(READ)]), at(1), "a read");
    assert_eq!(faults(&[MONEY, &second.replace("owner = \"support\"", "owner = \"sales\"")]), at(1), "another owner's payment");
    assert_eq!(faults(&[MONEY, &second]), [], "another payment of the owner");
    assert_eq!(faults(&[&with(READ), &with(WRITE)]), [], "what does not pay");
    assert_eq!(faults(&[&with(WRITE), &MONEY.replace("_BANK", "_TRANSFERS")]), [], "one of its own");
}
