//! The words of a request: its arguments, its identity, what it is compared with, and what is to be checked.

use crate::review::compare::Basis;
use crate::text::money::grouped;

texts! {
    NOT_GIVEN = "(not given)";
    EMPTY_TEXT = "(empty)";
    HIDDEN_BY_SCHEMA = "hidden by the tool's schema";
    EMPTY_OBJECT = "(empty object)";
    EMPTY_LIST = "(empty list)";
    RIGHT_TO_LEFT = "right-to-left text";
    ARGUMENTS = "Arguments";
    NO_ARGUMENTS = "This call has no arguments.";
    NOT_RENDERED = "The values cannot be shown one by one. The bytes as they came are under Raw bytes and Hex.";
    VIEWS = "Views of the arguments";
    VIEW_RENDERED = "Rendered";
    VIEW_RAW = "Raw bytes";
    VIEW_HEX = "Hex";
    PAGES = "Pages";
    MINOR_UNITS = "minor units, by the effect table; decimal places by ISO 4217";
    LETTERS_IN_ORDER = "in the order in which they stand:";
    NO_AMOUNT = "The effect table reads this as money, and no amount can be read from it: it is no whole number of minor units of an active currency.";
    CHECKSUM_RIGHT = "check digits right";
    CHECKSUM_WRONG = "check digits WRONG";
    NOT_AN_IBAN = "not an IBAN, so there are no check digits to test";
    CHECKS = "Checks";
    KNOWN = "known:";
    HERE = "here:";
    FRICTION_RAISED = "more care: an equal effect happened before, or a person said that it did not";
    COMPARED = "Compared with";
    NO_DIFFERENCE = "Every value is the same.";
    ADDED = "added";
    REMOVED = "removed";
    CHANGED = "changed";
    AGENT_SAYS = "The agent says (written by the agent, not checked)";
    STANDS_FOR = "What it stands for (read when asked, and again before it runs)";
    WHO_WHERE_WHEN = "Who, where, when";
    FACT_REQUEST = "Request";
    FACT_OPERATION = "Operation (idempotency key)";
    FACT_TOOL = "Tool";
    FACT_AGENT = "Agent";
    FACT_OWNER = "Answers for the agent";
    FACT_BEHALF = "On behalf of";
    FACT_PROPOSER = "Proposed by";
    FACT_UPSTREAM = "Tool server";
    FACT_NEEDS = "Needs";
    FACT_RUN = "Run";
    FACT_ROW = "Rule (row digest)";
    FACT_ROW_OWNER = "Rule owned by";
    FACT_UNDO = "Undoing means";
    FACT_ASKED = "Requested";
    FACT_UNTIL = "Waits until";
    NOBODY_NAMED = "nobody named";
    NO_AGENT = "proposed by a person";
    LIST_GONE = "This list is no longer kept. It is opened again.";
    NO_UNDO = "There is no undo.";
    NO_UNDO_TOOL = "There is no undo for this tool.";
    IDENTITY = "Identity: SHA-256 of the exact bytes, computed on this computer";
    NO_BYTES = "no bytes";
    GATE_SAYS_SAME = "Gate says the same: yes";
    SAVE_EVIDENCE = "Save evidence";
    SAVE_BYTES = "Save the bytes";
    HOW_TO_CHECK = "To check with another program: save the bytes and run sha256sum on the file. It prints the 64 digits above, without the spaces.";
    HISTORY = "History";
    HISTORY_ASKED = "requested";
    NO_TIME_LEFT = "No time left";
}

pub fn sentence_from(paths: &[String]) -> String {
    format!("This sentence is made by the effect table from {}.", paths.join(", "))
}

pub fn no_template_title(tool: &str, count: usize) -> String {
    format!("{tool}: read all {count} arguments")
}

pub fn no_template(count: &str) -> String {
    format!("no summary template - open to read all {count} arguments")
}

pub fn call_of(tool: &str) -> String {
    format!("the call of {tool}")
}

pub fn checks(count: usize) -> String {
    if count == 1 { "1 check to read".to_owned() } else { format!("{count} checks to read") }
}

pub fn time_left(left: &str) -> String {
    format!("{left} left")
}

pub fn expires_at(at: &str) -> String {
    format!("expires {at}; then it is not executed")
}

pub fn expires_in(left: &str) -> String {
    format!("expires in {left}")
}

pub fn approvals(needed: u32, given: u64) -> String {
    match needed {
        1 => "needs 1 approval".to_owned(),
        _ => format!("needs {needed} approvals ({given} given)"),
    }
}

pub fn approvals_short(needed: u32, given: u64) -> String {
    format!("{given} of {needed}")
}

pub fn values_shown(shown: &str, count: &str, hidden: &str) -> String {
    format!("{shown} of {count} values shown, {hidden} hidden")
}

pub fn seen(seen: usize, count: usize) -> String {
    format!("seen {seen} of {count}")
}

pub fn page_of(page: usize, pages: usize) -> String {
    format!("page {page} of {pages} ")
}

pub fn block_of(number: usize, of: usize) -> String {
    format!("block {number} of {of}")
}

pub fn members(count: u32) -> String {
    if count == 1 { "1 member".to_owned() } else { format!("{count} members") }
}

pub fn elements(count: u32) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

pub fn lines(count: usize) -> String {
    format!("{count} lines, one value")
}

pub fn characters(count: &str) -> String {
    format!("{count} characters")
}

pub fn hidden_value(characters: &str, fingerprint: &str) -> String {
    format!("{characters} characters; another value would have another fingerprint than {fingerprint}")
}

pub fn need(quorum: u32, role: &str) -> String {
    if quorum == 1 { format!("1 person with the role {role}") } else { format!("{quorum} different persons with the role {role}") }
}

pub fn nothing_to_compare(tool: &str, size: &str, hidden: u64) -> String {
    format!("First request of this kind that you may see: no approved {tool} in {size} records{}.", but_hidden(hidden))
}

pub fn compared_with(at: &str, request: &str, basis: Basis) -> String {
    let basis = match basis {
        Basis::Payee => "same tool, same payee",
        Basis::Agent => "same tool, same agent",
        Basis::Tool => "same tool, another agent",
    };
    format!("last approved: {basis}, {at}, {request}")
}

/// `3.56 x` of a number of hundredths.
pub fn times(hundredths: u128) -> String {
    format!("{}.{:02} x", grouped(&(hundredths / 100).to_string()), hundredths % 100)
}

pub fn fingerprint(groups: &str) -> String {
    format!("= fingerprint {groups}")
}

pub fn same_values(paths: &[String]) -> String {
    if paths.len() == 1 {
        format!("1 value the same: {}", paths.join(", "))
    } else {
        format!("{} values the same: {}", paths.len(), paths.join(", "))
    }
}

/// 64 hexadecimal digits in eight groups.
pub fn hash_groups(digest: &str) -> String {
    let characters: Vec<char> = digest.chars().collect();
    characters.chunks(8).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join(" ")
}

pub fn gate_says_other(digest: &str) -> String {
    format!("Gate says the same: NO. It names {digest}")
}

pub fn bytes_and_place(bytes: &str, position: &str, size: &str) -> String {
    format!(
        "Bytes: {bytes}. Canonical form: RFC 8785. Record {position} of the log, proven to the signed head of {size} records verified here."
    )
}

pub fn history_decision(decision: &str, who: &str, role: &str) -> String {
    let done = match decision {
        "approve" => "approved",
        "deny" => "denied",
        "retract" => "approval taken back",
        "revoke" => "stopped after approval",
        "more_time" => "more time given",
        other => other,
    };
    format!("{done} by {who} as {role}")
}

// Checks.
texts! {
    FLAG_HIDDEN = "contains hidden characters";
    FLAG_DISGUISED = "look-alike characters";
    FLAG_MIXED = "mixed scripts";
    FLAG_CHECKSUM = "check digits wrong";
    FLAG_UNLABELLED = "unlabelled arguments";
    FLAG_ALIKE = "look-alike";
    FLAG_NEW = "new payee";
    FLAG_ACCOUNT = "account changed";
    FLAG_REPEATED = "same amount again";
    FLAG_DOUBT = "earlier outcome unknown";
    FLAG_EARLIER = "asked for before";
    FLAG_FAULT = "cannot be approved";
}

pub fn warn_hidden(paths: &[String]) -> String {
    format!("Characters that cannot be seen or that change how text is read stand in: {}. They are drawn as chips.", paths.join(", "))
}

pub fn warn_disguised(paths: &[String]) -> String {
    format!("Characters that could be taken for others stand in: {}. They are drawn as chips with their code point.", paths.join(", "))
}

pub fn warn_mixed(name: &str) -> String {
    format!("A word in {name} mixes alphabets. The letters that do not belong are drawn as chips with their code point.")
}

pub fn warn_checksum(name: &str) -> String {
    format!("The check digits of {name} are wrong for an IBAN.")
}

pub fn warn_unlabelled(paths: &[String]) -> String {
    format!("The effect table has no label for: {}. They are shown by their own names.", paths.join(", "))
}

pub fn warn_earlier(requests: &[String]) -> String {
    format!("An equal business effect was asked for before: {}.", requests.join(", "))
}

pub fn warn_keys(paths: &[String]) -> String {
    format!("These argument names look alike and are different: {}.", paths.join(", "))
}

pub fn warn_alike_inside(one: &str, other: &str) -> String {
    format!("{one} and {other} look alike and are different.")
}

pub fn warn_looks_known(name: &str, known: &str, times: u64, difference: &str) -> String {
    let approved = if times == 1 { "approved once".to_owned() } else { format!("approved {times} times") };
    format!("{name} looks like \"{known}\" ({approved}) and is not the same: {difference}.")
}

pub fn first_difference(number: usize, known: Option<char>, here: Option<char>) -> String {
    let point = |character: Option<char>| character.map_or_else(|| "the end".to_owned(), crate::text::characters::code_point);
    format!("character {number} is {} here and {} there", point(here), point(known))
}

pub fn warn_new(name: &str, records: u64, hidden: u64) -> String {
    format!(
        "First payment to this account: no approved request names this {name} in the {records} records verified here{}.",
        but_hidden(hidden)
    )
}

/// What the roles of this person keep from a finding.
pub fn but_hidden(hidden: u64) -> String {
    match hidden {
        0 => String::new(),
        1 => " (1 request is hidden from your roles)".to_owned(),
        _ => format!(" ({hidden} requests are hidden from your roles)"),
    }
}

pub fn warn_account_changed(name: &str, payee: &str, at: &str, request: &str) -> String {
    format!("The account of {name} \"{payee}\" is not the one of its last approved request ({request}, {at}).")
}

pub fn warn_repeated(times: usize, days: u32, at: &str, request: &str, state: &str) -> String {
    let often = if times == 1 { "once".to_owned() } else { format!("{times} times") };
    format!("The same amount to the same payee was asked for {often} in the {days} days before: last {at}, {request}, {state}.")
}

/// How an earlier request stands, in two words.
pub fn stands(state: &str) -> &'static str {
    match state {
        "pending" => "which still waits",
        "approved" => "which is approved",
        _ => "which was approved and sent",
    }
}

pub fn warn_in_doubt(requests: &[String]) -> String {
    format!("What became of an earlier payment to this payee is not known: {}. Paying again may pay twice.", requests.join(", "))
}
