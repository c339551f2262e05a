//! The words of a request: its arguments, its identity, what it is compared with, and what is to be checked.

texts! {
    NOT_GIVEN = "(not given)";
    EMPTY_TEXT = "(empty)";
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
    NO_UNDO = "There is no undo.";
    NO_UNDO_TOOL = "There is no undo for this tool.";
    IDENTITY = "Identity: SHA-256 of the exact bytes, computed on this computer";
    NO_BYTES = "no bytes";
    GATE_SAYS_SAME = "Gate says the same: yes";
    SAVE_EVIDENCE = "Save evidence";
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

pub fn values_shown(count: &str) -> String {
    format!("{count} of {count} values shown, 0 hidden")
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

pub fn need(quorum: u32, role: &str) -> String {
    if quorum == 1 { format!("1 person with the role {role}") } else { format!("{quorum} different persons with the role {role}") }
}

pub fn nothing_to_compare(tool: &str, size: &str) -> String {
    format!("First request of this kind that you may see: no approved {tool} in {size} records.")
}

pub fn compared_with(at: &str, request: &str, same_agent: bool) -> String {
    let agent = if same_agent { "same tool, same agent" } else { "same tool, another agent" };
    format!("last approved: {agent}, {at}, {request}")
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
    FLAG_MIXED = "mixed scripts";
    FLAG_CHECKSUM = "check digits wrong";
    FLAG_UNLABELLED = "unlabelled arguments";
    FLAG_ALIKE = "look-alike";
    FLAG_NEW = "new payee";
    FLAG_EARLIER = "asked for before";
    FLAG_FAULT = "cannot be approved";
}

pub fn warn_hidden(paths: &[String]) -> String {
    format!("Characters that cannot be seen or that change how text is read stand in: {}. They are drawn as chips.", paths.join(", "))
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

pub fn warn_looks_known(name: &str) -> String {
    format!("{name} looks like one that was approved before, and is not the same.")
}

pub fn warn_new(name: &str, records: u64) -> String {
    format!("New: no earlier approved request of this tool names this {name} in the {records} records verified here.")
}
