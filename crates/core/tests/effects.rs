//! The effect table: that of the fixture company, and each rule with a table that breaks it.
//!
//! The exact words stand in `effects/faults.txt`; `VIDIMUS_BLESS=1` writes them anew, for a person to read.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use vidimus_core::ids::{Effect, Name};
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::table::{RetryRule, Rule, Table, TableFault};

const COMPANY: &str = include_str!("../../../tests/src/company/effects.toml");

/// A small table without fault or warning, which the cases break one thing at a time.
const GOOD: &str = include_str!("effects/good.toml");

fn load(text: &str) -> Table {
    Table::parse(text).unwrap_or_else(|faults| panic!("{}", listed(&faults)))
}

fn company() -> Table {
    load(&COMPANY.replace("{{company}}", "http://127.0.0.1:1"))
}

fn listed(faults: &[TableFault]) -> String {
    faults.iter().map(|fault| format!("  {fault}\n")).collect()
}

fn name(text: &str) -> Name {
    Name::parse(text).expect(text)
}

fn args(text: &str) -> Json {
    parse(text.as_bytes(), &Limits::MONEY).expect(text)
}

#[test]
fn the_company_loads_without_warnings() {
    let table = company();
    assert_eq!(listed(table.warnings()), "");
    let own = table.row(&name("gate.roster.change")).expect("the gate's own row");
    assert_eq!((own.effect, own.owner.as_str(), own.request_ttl_s), (Effect::Money, "admin", 7 * 24 * 3600));
    let rules = [
        ("search", RetryRule::Repeat),
        ("create_ticket", RetryRule::Never),
        ("refund", RetryRule::SameKey),
        ("cancel_subscription", RetryRule::Ask),
        ("wire_transfer", RetryRule::Never),
    ];
    for (tool, rule) in rules {
        assert_eq!(table.row(&name(tool)).expect(tool).retry_rule(), rule, "`{tool}`");
    }
}

/// A second money row with the credential of the first, of another owner; and the list that stood in its place.
const PAYOUT: &str = r#"[[row]]
tool = "payout"
effect = "money"
reversibility = "irreversible"
owner = "treasury"
needs = [{ role = "treasury", quorum = 2 }]
idempotency = "none"
summary = "Pay {invoice}"
business = ["invoice"]
salient = ["invoice"]
fields = []
schema = '''{"type": "object", "additionalProperties": false, "required": ["invoice"], "properties": {"invoice": {"type": "string"}}}'''
[row.executor]
kind = "http"
method = "POST"
url = "https://billing.example/payouts"
credential = "env:VIDIMUS_CREDENTIAL_BILLING"

[[agent]]"#;

/// A name for the case, and what is replaced by what in the good table.
type Case = (&'static str, &'static [(&'static str, &'static str)]);

const CASES: &[Case] = &[
    ("no TOML", &[("effect = \"money\"", "effect = money")]),
    ("a string that is not closed", &[("summary = \"Refund", "summary = \"\nRefund")]),
    ("a key twice", &[("v = 1", "v = 1\nv = 1")]),
    ("no version", &[("v = 1", "")]),
    ("another version", &[("v = 1", "v = 2")]),
    ("a version of another type", &[("v = 1", "v = \"1\"")]),
    ("an unknown key of the table", &[("v = 1", "v = 1\ndefault = \"allow\"")]),
    ("an unknown key of a row", &[("delay_s = 0", "delays = 0")]),
    ("an unknown key of a need", &[("quorum = 1", "quorum = 1, keys = 2")]),
    ("a limit of a run alone", &[("delay_s = 0", "caps = { calls_per_run = 3 }")]),
    ("a limit of nothing", &[("delay_s = 0", "caps = {}")]),
    ("no calls at all", &[("delay_s = 0", "caps = { calls_per_hour = 0 }")]),
    ("a limit that is none", &[("delay_s = 0", "caps = { calls_per_hour = 3, calls_per_day = 3 }")]),
    (
        "amounts without a limit, a path, a currency that exists",
        &[("delay_s = 0", "caps = { amounts = { amount = \"amount\", per_call = { EURO = 1 }, per_run = {} } }")],
    ),
    (
        "another amount than the first one, and one that may be absent",
        &[
            ("delay_s = 0", "caps = { amounts = { amount = \"tip_minor\", currency = \"currency\", per_day = { EUR = 100000 } } }"),
            (
                "\"amount_minor\": {\"type\": \"integer\"}",
                "\"amount_minor\": {\"type\": \"integer\"}, \"tip_minor\": {\"type\": \"integer\"}",
            ),
        ],
    ),
    ("caps of a write", &[("state = ", "caps = { calls_per_hour = 3 }\nstate = ")]),
    (
        "a row without tool, effect and owner",
        &[("tool = \"refund\"\neffect = \"money\"", ""), ("owner = \"billing-approver\"\nneeds", "needs")],
    ),
    (
        "a row without executor",
        &[(
            "[row.executor]\nkind = \"http\"\nmethod = \"POST\"\nurl = \"https://billing.example/refunds\"\nidempotency_header = \"Idempotency-Key\"\ncredential = \"env:VIDIMUS_CREDENTIAL_BILLING\"",
            "",
        )],
    ),
    (
        "an effect that is none, and another fault of the row",
        &[("effect = \"money\"", "effect = \"Money\""), ("delay_s = 0", "delay_s = -1")],
    ),
    ("a name with a space", &[("tool = \"refund\"", "tool = \"refund \"")]),
    ("a name of the gate", &[("tool = \"refund\"", "tool = \"gate.refund\""), ("\"refund\"]", "\"gate.refund\"]")]),
    ("a read that asks a person", &[("hits = \"/count\"", "needs = [{ role = \"admin\", quorum = 1 }]\nreversibility = \"reversible\"")]),
    ("a write that asks a person", &[("state = ", "needs = [{ role = \"admin\", quorum = 1 }]\nstate = ")]),
    (
        "money with a state",
        &[("delay_s = 0", "state = { tool = \"get_invoice\", args = { invoice = \"{invoice}\" } }\nlog_full_body = true")],
    ),
    (
        "money without anything that it needs",
        &[
            ("reversibility = \"compensable\"\nundo = \"charge the card again\"\n", ""),
            ("needs = [{ role = \"billing-approver\", quorum = 1 }]\n", ""),
            ("idempotency = \"key\"\nkey_valid_s = 3600\n", ""),
            ("summary = \"Refund {amount_minor:money(currency)} for {invoice}\"\n", ""),
            ("business = [\"invoice\", \"amount_minor\", \"currency\"]\n", ""),
            ("fields = [{ path = \"amount_minor\", label = \"Amount\", format = \"money\", currency = \"currency\" }]\n", ""),
        ],
    ),
    (
        "money without schema",
        &[(
            "schema = '''{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"invoice\", \"amount_minor\"",
            "receipt = '''/{\"required\": [\"invoice\", \"amount_minor\"",
        )],
    ),
    (
        "empty lists",
        &[
            ("needs = [{ role = \"billing-approver\", quorum = 1 }]", "needs = []"),
            ("business = [\"invoice\", \"amount_minor\", \"currency\"]", "business = []"),
        ],
    ),
    ("nobody has to approve", &[("quorum = 1", "quorum = 0")]),
    ("a negative quorum", &[("quorum = 1", "quorum = -1")]),
    ("a role twice", &[("quorum = 1 }", "quorum = 1 }, { role = \"billing-approver\", quorum = 1 }")]),
    ("decided by everyone", &[("role = \"billing-approver\"", "role = \"everyone\"")]),
    ("escalated to everyone", &[("quorum = 1 }", "quorum = 1, escalate_to = \"everyone\" }")]),
    ("owned by everyone", &[("owner = \"billing-approver\"", "owner = \"everyone\"")]),
    ("no undo", &[("undo = \"charge the card again\"\n", "")]),
    ("an undo of what cannot be undone", &[("reversibility = \"compensable\"", "reversibility = \"irreversible\"")]),
    ("words that are none", &[("undo = \"charge the card again\"", "undo = \" \"")]),
    ("less time later", &[("request_ttl_s = 1800", "request_ttl_s = 1800\nrequest_ttl_max_s = 60")]),
    ("a delay without end", &[("delay_s = 0", "delay_s = 1800")]),
    ("a life without end", &[("request_ttl_s = 1800", "request_ttl_s = 99999999999")]),
    (
        "nothing to ask for",
        &[
            ("reversibility = \"compensable\"\nundo = \"charge the card again\"", "reversibility = \"irreversible\""),
            ("salient = [\"amount_minor\"]", ""),
        ],
    ),
    ("nothing to ask for, a warning", &[("salient = [\"amount_minor\"]", "")]),
    ("a write without evidence", &[("state = { tool = \"get_invoice\", args = { invoice = \"{invoice}\" } }", "")]),
    ("a write with too much evidence", &[("state = ", "receipt = \"/id\"\nstate = ")]),
    ("an irreversible write", &[("reversibility = \"reversible\"\nundo = \"open it again\"", "reversibility = \"irreversible\"")]),
    (
        "an irreversible write, admitted",
        &[("reversibility = \"reversible\"\nundo = \"open it again\"", "reversibility = \"irreversible\"\nlog_full_body = true")],
    ),
    ("a receipt that is no pointer", &[("hits = \"/count\"", "hits = \"count\"")]),
    ("a template that is not closed", &[("for {invoice}\"", "for {invoice\"")]),
    ("a place that was not filled in", &[("https://billing.example/refunds", "{{company}}/refunds")]),
    ("a sentence about what is not there", &[("for {invoice}\"", "for {order}\"")]),
    ("a business part that is not there", &[("business = [\"invoice\"", "business = [\"order\"")]),
    ("a business part twice", &[("business = [\"invoice\"", "business = [\"invoice\", \"invoice\"")]),
    (
        "a business part that is a list",
        &[("\"invoice\": {\"type\": \"string\"}, \"amount_minor\"", "\"invoice\": {\"type\": \"array\"}, \"amount_minor\"")],
    ),
    (
        "a business part that may be absent",
        &[("\"required\": [\"invoice\", \"amount_minor\", \"currency\"]", "\"required\": [\"invoice\", \"amount_minor\"]")],
    ),
    ("a path that is none", &[("salient = [\"amount_minor\"]", "salient = [\"amount minor\"]")]),
    ("money as a float", &[("\"amount_minor\": {\"type\": \"integer\"}", "\"amount_minor\": {\"type\": \"number\"}")]),
    ("money as text", &[("\"amount_minor\": {\"type\": \"integer\"}", "\"amount_minor\": {\"type\": \"string\"}")]),
    (
        "money as an integer or a float",
        &[("\"amount_minor\": {\"type\": \"integer\"}", "\"amount_minor\": {\"type\": [\"integer\", \"number\"]}")],
    ),
    ("an amount without a currency", &[(", currency = \"currency\" }", " }")]),
    ("a format that is none", &[("format = \"money\"", "format = \"euro\"")]),
    (
        "a schema that is no JSON",
        &[(
            "'''{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"invoice\", \"amount_minor\"",
            "'''{\"type\": object, \"required\": [\"invoice\", \"amount_minor\"",
        )],
    ),
    (
        "a schema that is none",
        &[("\"invoice\": {\"type\": \"string\"}, \"amount_minor\"", "\"invoice\": {\"type\": \"text\"}, \"amount_minor\"")],
    ),
    (
        "a schema that looks outside",
        &[("\"invoice\": {\"type\": \"string\"}, \"amount_minor\"", "\"invoice\": {\"$ref\": \"file:///etc/passwd\"}, \"amount_minor\"")],
    ),
    (
        "a schema of a list",
        &[(
            "'''{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"invoice\", \"amount_minor\"",
            "'''{\"type\": \"array\", \"additionalProperties\": false, \"required\": [\"invoice\", \"amount_minor\"",
        )],
    ),
    (
        "a schema that is open",
        &[(
            "\"additionalProperties\": false, \"required\": [\"invoice\", \"amount_minor\"",
            "\"required\": [\"invoice\", \"amount_minor\"",
        )],
    ),
    (
        "a schema that is open below, with a float",
        &[(
            "\"currency\": {\"type\": \"string\"}",
            "\"currency\": {\"type\": \"string\"}, \"line\": {\"type\": \"object\", \"properties\": {\"price\": {\"type\": \"number\"}}}",
        )],
    ),
    ("idempotency that is none", &[("idempotency = \"key\"", "idempotency = \"yes\"")]),
    ("a key without header", &[("idempotency_header = \"Idempotency-Key\"\n", "")]),
    ("a key that is forgotten before an attempt ends", &[("key_valid_s = 3600", "key_valid_s = 10")]),
    ("a header that is taken", &[("idempotency_header = \"Idempotency-Key\"", "idempotency_header = \"Authorization\"")]),
    ("a status without a read", &[("idempotency = \"key\"\nkey_valid_s = 3600", "idempotency = \"status\"")]),
    (
        "a status that asks for everything",
        &[(
            "idempotency = \"key\"\nkey_valid_s = 3600",
            "idempotency = \"status\"\nstatus = { url = \"https://billing.example/operations\", found = \"/result\", matches = [{ at = \"/key\", is = \"{operation}\" }] }",
        )],
    ),
    (
        "a status that compares nothing",
        &[(
            "idempotency = \"key\"\nkey_valid_s = 3600",
            "idempotency = \"status\"\nstatus = { url = \"https://billing.example/operations/{operation}\", found = \"/result\", matches = [] }",
        )],
    ),
    (
        "a status that compares what is not ours",
        &[(
            "idempotency = \"key\"\nkey_valid_s = 3600",
            "idempotency = \"status\"\nstatus = { url = \"https://billing.example/operations/{operation}\", found = \"/result\", matches = [{ at = \"/state\", is = \"done\" }, { at = \"/sum\", is = \"{amount_minor}\" }, { at = \"/who\", is = \"{args.customer}\" }] }",
        )],
    ),
    (
        "a status that compares constants alone",
        &[(
            "idempotency = \"key\"\nkey_valid_s = 3600",
            "idempotency = \"status\"\nstatus = { url = \"https://billing.example/operations/{operation}\", found = \"/result\", matches = [{ at = \"/state\", is = \"done\" }] }",
        )],
    ),
    ("a key that nobody keeps", &[("idempotency = \"key\"", "idempotency = \"none\"")]),
    ("a conflict that proves nothing", &[("delay_s = 0", "no_effect_statuses = [400, 409, 500]")]),
    ("a URL that the agent chooses", &[("https://billing.example/refunds", "https://billing.example/refunds/{invoice}")]),
    ("a URL with a password", &[("https://billing.example/refunds", "https://me:secret@billing.example/refunds")]),
    ("a URL in the clear", &[("https://billing.example/refunds", "http://billing.example/refunds")]),
    ("a read by POST", &[("method = \"GET\"", "method = \"POST\"")]),
    (
        "money by GET",
        &[("method = \"POST\"\nurl = \"https://billing.example/refunds\"", "method = \"GET\"\nurl = \"https://billing.example/refunds\"")],
    ),
    ("a method that is none", &[("method = \"GET\"", "method = \"get\"")]),
    ("an argument that is never sent", &[("/invoices/{invoice}", "/invoices/all")]),
    ("a secret in the file", &[("credential = \"env:VIDIMUS_CREDENTIAL_BILLING\"", "credential = \"sk_live_12345\"")]),
    ("a variable that is not for rows", &[("credential = \"env:VIDIMUS_CREDENTIAL_BILLING\"", "credential = \"env:PATH\"")]),
    ("a variable of no name", &[("credential = \"env:VIDIMUS_CREDENTIAL_BILLING\"", "credential = \"env:VIDIMUS_CREDENTIAL_\"")]),
    ("a file by its path", &[("credential = \"env:VIDIMUS_CREDENTIAL_BILLING\"", "credential = \"file:/srv/vidimus/keys/log.key\"")]),
    ("a file above the folder", &[("credential = \"env:VIDIMUS_CREDENTIAL_BILLING\"", "credential = \"file:..\"")]),
    ("a file that is hidden", &[("credential = \"env:VIDIMUS_CREDENTIAL_BILLING\"", "credential = \"file:.netrc\"")]),
    (
        "a write with the credential that pays",
        &[(
            "url = \"https://billing.example/invoices/{invoice}/close\"",
            "url = \"https://billing.example/invoices/{invoice}/close\"\ncredential = \"env:VIDIMUS_CREDENTIAL_BILLING\"",
        )],
    ),
    ("a payment of another owner with the same credential", &[("[[agent]]", PAYOUT)]),
    (
        "an executor that is none",
        &[(
            "kind = \"http\"\nmethod = \"POST\"\nurl = \"https://billing.example/refunds\"",
            "kind = \"shell\"\nurl = \"https://billing.example/refunds\"",
        )],
    ),
    (
        "an executor of the gate",
        &[("kind = \"http\"\nmethod = \"GET\"\nurl = \"https://billing.example/invoices/{invoice}\"", "kind = \"gate\"")],
    ),
    ("a key of another executor", &[("kind = \"http\"\nmethod = \"GET\"", "kind = \"http\"\nupstream = \"crm\"\nmethod = \"GET\"")]),
    (
        "a server without a name",
        &[("kind = \"http\"\nmethod = \"GET\"\nurl = \"https://billing.example/invoices/{invoice}\"", "kind = \"mcp\"")],
    ),
    (
        "a fact that is no read",
        &[("facts = [{ label = \"Invoice\", tool = \"get_invoice\"", "facts = [{ label = \"Invoice\", tool = \"close_invoice\"")],
    ),
    ("a state that has no row", &[("state = { tool = \"get_invoice\"", "state = { tool = \"get_order\"")]),
    ("a fact with a list", &[("args = { invoice = \"{invoice}\" } }]", "args = { invoice = [1] } }]")]),
    ("nobody is passed on to in time", &[("request_ttl_s = 1800", "request_ttl_s = 1800\nescalate_after_s = 1800")]),
    ("an escalation without its time", &[("quorum = 1 }]\nrequest_ttl_s", "quorum = 1, escalate_to = \"treasury\" }]\nrequest_ttl_s")]),
    (
        "a referent that is no read",
        &[(
            "args = { invoice = \"{invoice}\" } }]\nschema",
            "args = { invoice = \"{invoice}\" } }]\nreferents = [{ arg = \"invoice\", read = { tool = \"close_invoice\", args = { invoice = \"{invoice}\" } }, value = \"/id\" }]\nschema",
        )],
    ),
    (
        "a referent without a row",
        &[(
            "args = { invoice = \"{invoice}\" } }]\nschema",
            "args = { invoice = \"{invoice}\" } }]\nreferents = [{ arg = \"invoice\", read = { tool = \"get_order\", args = { invoice = \"{invoice}\" } }, value = \"/id\" }]\nschema",
        )],
    ),
    (
        "a referent of no argument",
        &[(
            "args = { invoice = \"{invoice}\" } }]\nschema",
            "args = { invoice = \"{invoice}\" } }]\nreferents = [{ arg = \"payee\", read = { tool = \"get_invoice\", args = { invoice = \"{payee}\" } }, value = \"/id\" }]\nschema",
        )],
    ),
    (
        "a referent that points nowhere",
        &[(
            "args = { invoice = \"{invoice}\" } }]\nschema",
            "args = { invoice = \"{invoice}\" } }]\nreferents = [{ arg = \"invoice\", read = { tool = \"get_invoice\", args = { invoice = \"{invoice}\" } }, value = \"id\" }]\nschema",
        )],
    ),
    (
        "a referent without its read",
        &[(
            "args = { invoice = \"{invoice}\" } }]\nschema",
            "args = { invoice = \"{invoice}\" } }]\nreferents = [{ arg = \"invoice\", value = \"/id\" }]\nschema",
        )],
    ),
    (
        "a referent twice",
        &[(
            "args = { invoice = \"{invoice}\" } }]\nschema",
            "args = { invoice = \"{invoice}\" } }]\nreferents = [{ arg = \"invoice\", read = { tool = \"get_invoice\" }, value = \"/id\" }, { arg = \"invoice\", read = { tool = \"get_invoice\" }, value = \"/customer\" }]\nschema",
        )],
    ),
    ("a referent of a write", &[("receipt = \"/id\"", "receipt = \"/id\"\nreferents = []")]),
    (
        "a label that is too low",
        &[
            ("touches = [\"invoice:{invoice}\"]", "triggers = [\"archive\"]"),
            ("receipt = \"/id\"", "receipt = \"/id\"\ntriggers = [\"refund\"]"),
        ],
    ),
    ("a trigger that has no row", &[("touches = [\"invoice:{invoice}\"]", "triggers = [\"workflow\"]")]),
    ("a row twice", &[("tool = \"close_invoice\"", "tool = \"get_invoice\"")]),
    ("a name in another case", &[("tool = \"close_invoice\"", "tool = \"Get-Invoice\"")]),
    ("a name that looks alike", &[("tool = \"close_invoice\"", "tool = \"get_lnvoice\"")]),
    ("a name that reads or makes", &[("tool = \"close_invoice\"", "tool = \"get_or_create_invoice\"")]),
    ("a name for two things", &[("tool = \"refund\"", "tool = \"refund_and_mail\""), ("\"refund\"]", "\"refund_and_mail\"]")]),
    ("a write that sounds like a read", &[("tool = \"close_invoice\"", "tool = \"crm.get_contact\"")]),
    (
        "a read that sounds like a write",
        &[
            ("tool = \"get_invoice\"\neffect", "tool = \"sync_invoice\"\neffect"),
            ("tool = \"get_invoice\", args", "tool = \"sync_invoice\", args"),
            ("[\"get_invoice\"", "[\"sync_invoice\""),
            ("state = { tool = \"get_invoice\"", "state = { tool = \"sync_invoice\""),
        ],
    ),
    ("an agent with a tool without row", &[("\"refund\"]", "\"refund\", \"run_shell\"]")]),
    ("an agent with a tool of the gate", &[("\"refund\"]", "\"refund\", \"gate.roster.change\"]")]),
    ("an agent with a tool twice", &[("\"refund\"]", "\"refund\", \"refund\"]")]),
    ("an agent twice", &[("[[agent]]", "[[agent]]\nagent = \"billing\"\ntools = []\n\n[[agent]]")]),
    ("an agent without a list", &[("tools = [\"get_invoice\", \"refund\"]", "")]),
    ("a host that is a pattern", &[("callback_hosts = []", "callback_hosts = [\"*.example\"]")]),
];

/// Many faults of one file are told together.
const MANY: Case = (
    "three rows with faults of their own",
    &[
        ("hits = \"/count\"", "hits = 1"),
        ("quorum = 1", "quorum = 0"),
        ("reversibility = \"reversible\"", "reversibility = \"yes\""),
        ("callback_hosts = []", "callbacks = []"),
    ],
);

fn broken(case: &Case) -> String {
    case.1.iter().fold(GOOD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "`{}`: the good table has no `{from}`", case.0);
        text.replacen(from, to, 1)
    })
}

fn outcome(text: &str) -> (bool, Vec<TableFault>) {
    match Table::parse(text) {
        Ok(table) => (true, table.warnings().to_vec()),
        Err(faults) => (false, faults),
    }
}

#[test]
fn each_rule_is_told_with_its_line_its_key_and_its_words() {
    assert_eq!(listed(load(GOOD).warnings()), "");
    let mut told = String::new();
    let mut rules = BTreeSet::new();
    for case in CASES.iter().chain([&MANY]) {
        let text = broken(case);
        let (loaded, faults) = outcome(&text);
        assert!(!faults.is_empty(), "`{}`: nothing was told", case.0);
        writeln!(told, "{} ({})", case.0, if loaded { "loads, with warnings" } else { "does not load" }).expect("a string");
        for fault in &faults {
            let line = text.lines().nth(fault.line - 1).unwrap_or_default();
            writeln!(told, "  {fault}\n    | {line}").expect("a string");
            rules.insert(fault.rule);
        }
    }
    let rest = rules_of_large_tables();
    let untold: Vec<&Rule> = Rule::ALL.iter().filter(|rule| !rules.contains(rule) && !rest.contains(rule)).collect();
    assert_eq!(untold, Vec::<&Rule>::new(), "rules that no case breaks");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/effects/faults.txt");
    if std::env::var_os("VIDIMUS_BLESS").is_some() {
        std::fs::write(&golden, &told).expect("the words are written");
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    for (line, (is, due)) in told.lines().zip(expected.lines()).enumerate() {
        assert_eq!(is, due, "line {} of effects/faults.txt", line + 1);
    }
    assert_eq!(told.lines().count(), expected.lines().count());
}

fn rules_of_large_tables() -> Vec<Rule> {
    let large = format!("{GOOD}\n# {}", "x".repeat(16 * 1024 * 1024));
    let many = format!("v = 1\n{}", "[[row]]\n".repeat(10_001));
    [large, many].iter().flat_map(|text| outcome(text).1).map(|fault| fault.rule).collect()
}

/// The page for owners is written by hand, and says what the code does.
#[test]
fn the_page_names_every_rule_every_retry_and_every_member() {
    let page = include_str!("../../../docs/effects.md");
    for rule in Rule::ALL {
        assert!(page.contains(&format!("| `{rule}` |")), "`{rule}` is not on the page");
    }
    for rule in RetryRule::ALL {
        assert!(page.contains(&format!("| `{}` | {} |", rule.as_str(), rule.words())), "`{}` is not on the page", rule.as_str());
    }
    let table = load(GOOD);
    let digests = page.split("## Digests").nth(1).expect("the section on digests");
    for (member, _) in table.row(&name("refund")).expect("a row").canonical().as_object().expect("an object") {
        assert!(digests.contains(&format!("`{member}`")), "`{member}` is not on the page");
    }
}

#[test]
fn the_chain_of_triggers_is_shown() {
    let case = CASES.iter().find(|case| case.0 == "a label that is too low").expect("the case");
    let (_, faults) = outcome(&broken(case));
    let chain = "`close_invoice` (write) → `archive` (write) → `refund` (money)";
    assert!(faults.iter().any(|fault| fault.rule == Rule::LabelTooLow && fault.message.contains(chain)), "{}", listed(&faults));
    // Cycles end, and a chain that is labelled as its end loads.
    let cycle = GOOD.replace("salient = [", "triggers = [\"close_invoice\", \"refund\"]\nsalient = [");
    assert!(outcome(&cycle).0);
}

#[test]
fn a_digest_follows_meaning_and_not_spelling() {
    let good = load(GOOD);
    let commented = GOOD.replace("v = 1", "# a comment\nv   =   1").replace("[\"get_invoice\", \"refund\"]", "[ 'refund', 'get_invoice' ]");
    assert_eq!(load(&commented).digest(), good.digest());
    let refund = |table: &Table| table.row(&name("refund")).expect("a row").digest();
    let changes = [
        ("quorum = 1", "quorum = 2"),
        ("undo = \"charge the card again\"", "undo = \"charge it again\""),
        ("https://billing.example/refunds", "https://billing.example/refund"),
        ("\"amount_minor\": {\"type\": \"integer\"}", "\"amount_minor\": {\"type\": \"integer\", \"minimum\": 0}"),
        ("label = \"Amount\"", "label = \"Sum\""),
        ("credential = \"env:VIDIMUS_CREDENTIAL_BILLING\"", "credential = \"env:VIDIMUS_CREDENTIAL_OTHER\""),
        ("delay_s = 0", "delay_s = 1"),
        ("salient = [\"amount_minor\"]", "salient = [\"amount_minor\", \"invoice\"]"),
        ("delay_s = 0", "referents = [{ arg = \"invoice\", read = { tool = \"get_invoice\" }, value = \"/id\" }]"),
        ("delay_s = 0", "referents = [{ arg = \"invoice\", read = { tool = \"get_invoice\" }, value = \"/customer\" }]"),
    ];
    let mut digests = BTreeSet::from([refund(&good)]);
    for (from, to) in changes {
        let changed = load(&GOOD.replacen(from, to, 1));
        assert!(digests.insert(refund(&changed)), "`{to}` leaves the row's digest");
        assert_ne!(changed.digest(), good.digest(), "`{to}` leaves the table's digest");
    }
    let listed = load(&GOOD.replace("\"refund\"]", "\"refund\", \"close_invoice\"]"));
    assert_eq!(refund(&listed), refund(&good));
    assert_ne!(listed.digest(), good.digest());
}

#[test]
fn amounts_are_judged_with_their_currency() {
    let table = load(GOOD);
    let row = table.row(&name("refund")).expect("a row");
    assert_eq!(row.validate(&args(r#"{"invoice":"842","amount_minor":1500,"currency":"JPY"}"#)), Ok(()));
    let cases = [
        (r#"{"invoice":"842","amount_minor":1500,"currency":"eur"}"#, "/currency"),
        (r#"{"invoice":"842","amount_minor":1500,"currency":"XXX"}"#, "/currency"),
        (r#"{"invoice":"842","amount_minor":1500,"currency":"DEM"}"#, "/currency"),
        (r#"{"invoice":"842","amount_minor":1e22,"currency":"EUR"}"#, "/amount_minor"),
        (r#"{"invoice":"842","amount_minor":15.5,"currency":"EUR"}"#, "/amount_minor"),
    ];
    for (arguments, path) in cases {
        let faults = row.validate(&args(arguments)).expect_err(arguments);
        assert_eq!(faults.iter().map(|fault| fault.path.as_str()).collect::<Vec<_>>(), [path], "{arguments}");
    }
}

#[test]
fn names_compare_by_byte() {
    let table = load(GOOD);
    for other in ["Refund", "refund.", "refund_", "REFUND"] {
        assert!(table.row(&name(other)).is_none(), "`{other}`");
    }
    assert!(table.agent(&name("Billing")).is_none());
    let agent = table.agent(&name("billing")).expect("a list");
    assert!(agent.may_call(&name("refund")) && !agent.may_call(&name("close_invoice")));
}

#[test]
fn facts_and_states_take_arguments_as_they_are() {
    let table = load(GOOD);
    let fact = &table.row(&name("refund")).expect("a row").facts[0];
    assert_eq!(fact.read.arguments(&args(r#"{"invoice":"{currency}"}"#)), args(r#"{"invoice":"{currency}"}"#));
    assert_eq!(fact.read.arguments(&args("{}")), args("{}"));
}

#[test]
fn any_text_is_a_table_or_a_list_of_faults() {
    bolero::check!().with_type::<String>().with_test_time(std::time::Duration::from_secs(2)).for_each(|text| {
        let lines = text.lines().count() + 1;
        for candidate in [text.clone(), format!("v = 1\n[[row]]\n{text}"), GOOD.replace("delay_s = 0", text)] {
            if let Err(faults) = Table::parse(&candidate) {
                assert!(!faults.is_empty());
                assert!(faults.iter().all(|fault| (1..=lines + GOOD.lines().count() + 3).contains(&fault.line)));
            }
        }
    });
}
