//! The words of approving and denying: panels, the value question, reasons, receipts.

use vidimus_api::request::DenialKind;

texts! {
    DECISION = "Decision";
    DENY = "Deny";
    START_APPROVING = "Start approving";
    APPROVE = "Approve";
    APPROVE_IRREVERSIBLE = "Approve: IRREVERSIBLE";
    YOU_APPROVE = "You approve: ";
    UNDO = "Undoing means: ";
    WHY_RIGHT = "Why is this right? (kept in the audit log, signed)";
    REASON_KIND_TICKET = "matches ticket";
    REASON_KIND_PERSON = "checked with";
    REASON_KIND_OTHER = "other";
    REASON_HELP_TICKET = "id of the ticket";
    REASON_HELP_PERSON = "person this was checked with";
    REASON_HELP_OTHER = "reason, at least 15 characters";
    REASON_LABEL = "2. Why is this right? At least 15 characters, kept in the audit log, signed";
    REASON_NONE = "Say why this is right: pick one of the three and fill it in.";
    REASON_TICKET = "Name the ticket this matches.";
    REASON_PERSON = "Name the person this was checked with.";
    REASON_SHORT = "The reason needs at least 15 characters that say something.";
    REASON_TOO_LONG = "The text is too long. At most 2,000 characters are kept.";
    PIN = "PIN";
    PIN_NEEDED = "Enter your PIN to sign.";
    PIN_NOT_NEEDED = "Your PIN of the last 15 minutes serves.";
    CONTROL_ENTER = "Ctrl+Enter";
    ANSWER = "Your answer";
    ANSWER_FIRST = "Answer the question first.";
    PICK_INSTEAD = "Cannot type? Pick the value instead";
    HOLD_AFTER_ANSWERS = "Hold to approve (answer 1 and 2 first)";
    HOLD_HELP = "Hold for 1.5 s, then let go on the button. Let go early or move away: nothing happens.";
    HOLD_MORE = "keep holding ...";
    HOLD_READY = "ready, let go";
    HELD_TOO_SHORT = "It was not held for 1.5 s. Nothing was signed or sent.";
    TWO_PRESSES = "Cannot hold? Use two presses instead";
    PRESS_AGAIN = "Press again after 1.5 s, within 10 s.";
    PRESS_LATER = "That was too soon. Press again.";
    PRESS_ANEW = "That press belonged to an earlier state of this page. Nothing was signed. Press again.";
    NO_PASTE = "Please type it; pasting skips the check.";
    WHY_DENY = "Why? (one key)";
    NOTE = "Note to the agent's owner (optional)";
    DENIAL_NONE = "Pick why: 1 to 6.";
    DENY_FINAL = "Final. A changed call is a new request, and its card will name this denial.";
    DISCARD_TYPED = "Discard what you typed?";
    DISCARD = "Discard";
    KEEP = "Keep";
    READY = "Everything has been on screen.";
    NOT_FOCUSED = "This window is not in front.";
    ARMING = "A moment ...";
    IN_FLIGHT = "Your decision is on its way. It counts once.";
    ALREADY_RECORDED = "Your decision is recorded.";
    NOT_OPEN = "This window is closed.";
    NEXT = "Next request";
}

pub fn denial_kind(kind: DenialKind) -> &'static str {
    match kind {
        DenialKind::WrongAmount => "wrong amount",
        DenialKind::WrongPayee => "wrong payee",
        DenialKind::NotExpected => "not expected",
        DenialKind::Duplicate => "duplicate",
        DenialKind::NeedsPerson => "needs a person",
        DenialKind::Other => "other",
    }
}

pub fn approve(act: &str) -> String {
    format!("Approve: {act}")
}

pub fn hold_to(act: &str) -> String {
    format!("Hold to approve: {act}")
}

pub fn ask_amount(name: &str) -> String {
    format!("Type the amount ({name}) exactly as you understand it:")
}

pub fn ask_tail(name: &str, characters: usize) -> String {
    format!("Type the last {characters} characters of \"{name}\":")
}

pub fn ask_whole(name: &str) -> String {
    format!("Type the value of \"{name}\" exactly as it stands in the request:")
}

pub fn answer_wait(left: &str) -> String {
    format!("That was not the value in this request. Look again; another question follows in {left}.")
}

pub fn answers_paused(left: &str) -> String {
    format!("Two answers were wrong. Approving this request is paused for {left}. Denying works.")
}

pub fn unseen(unseen: usize, count: usize, all_pages: usize, pages: &[usize]) -> String {
    let parts = if unseen == 1 { "1 part".to_owned() } else { format!("{unseen} parts") };
    if all_pages == 1 {
        format!("You have not seen {parts} of {count}. Space goes there.")
    } else {
        let word = if pages.len() == 1 { "page" } else { "pages" };
        format!("You have not seen {parts} of {count}, on {word} {}. Space goes there.", ranges(pages))
    }
}

/// `2-5, 7` of ascending numbers.
fn ranges(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == number => *to = number,
            Some(_) | None => ranges.push((number, number)),
        }
    }
    let words = ranges.into_iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") });
    words.collect::<Vec<_>>().join(", ")
}

pub fn role_missing(needed: &str, held: &str) -> String {
    let held = if held.is_empty() { "none" } else { held };
    format!("You cannot decide this: it needs the role {needed}. You have: {held}.")
}

/// After why a person cannot decide: whom to ask.
pub fn who_can(names: &[String]) -> String {
    match names {
        [] => "Nobody else holds what it takes now.".to_owned(),
        [one] => format!("{one} can."),
        [first @ .., last] => format!("{} or {last} can.", first.join(", ")),
    }
}

pub fn signing(at: &str) -> String {
    format!("Signing on this computer, {at}")
}

pub fn sent(at: &str) -> String {
    format!("Sent, {at}")
}

pub fn recorded_approved(position: &str, at: &str) -> String {
    format!("Approved and recorded.  #{position}  {at}")
}

pub fn recorded_denied(position: &str, at: &str) -> String {
    format!("Denied and recorded.  #{position}  {at}")
}

pub fn signed_by(label: &str) -> String {
    format!("Signed by your key {label}.")
}

pub fn receipt_proof(position: &str, size: &str) -> String {
    format!("Verified here: record {position} holds your signature and is in the signed log of {size} records.")
}

pub fn quorum(given: u32, needed: u32) -> String {
    if given < needed {
        format!("{given} of {needed} approvals. It does not run before the others are given.")
    } else {
        format!("{given} of {needed} approvals. It may run, once.")
    }
}

/// Who approved before, and that the next one is another person.
pub fn different_people(needed: u32) -> String {
    format!("Needs {needed} different people.")
}

pub fn approved_by(number: usize, who: &str, at: &str) -> String {
    format!("{number}. {who} approved {at}.")
}

pub fn receipt_hash(digest: &str) -> String {
    format!("Hash: {digest}")
}

pub fn operation(state: &str, at: &str, attempt: Option<u64>) -> String {
    let attempt = attempt.filter(|attempt| *attempt > 1).map(|attempt| format!(" (attempt {attempt})")).unwrap_or_default();
    let words = match state {
        "executing" => "Sent to the tool",
        "succeeded" => "Executed: the tool answered that it is done",
        "failed" => "Not executed: the tool refused it, nothing happened",
        "unknown" => "Approved and sent, but the result is not known. Do not send it again. It is in Reconcile (E-EXE-2)",
        "needs_reconciliation" => {
            "Approved and sent, but the result could not be established. Do not send it again. A person answers it in Reconcile (E-EXE-2)"
        }
        "partial" => "A person established that part of it happened",
        "not_happened" => "A person established that it did not happen",
        "not_started" => "Never sent; nothing happened",
        other => other,
    };
    format!("{at}  {words}{attempt}.")
}

pub fn tombstone(state: &str, by: Option<&str>, at: &str) -> String {
    let words = match state {
        "consumed" | "approved" => "approved",
        other => other,
    };
    match by.filter(|_| matches!(state, "approved" | "consumed" | "denied" | "revoked")) {
        Some(name) => format!("{words} by {name} {at}"),
        None => format!("{words} {at}"),
    }
}
