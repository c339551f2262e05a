//! Every sentence and word that the native side shows, in one place.
//!
//! Form of an error: what happened, what it means for this request, what to do.

use vidimus_api::request::DenialKind;

macro_rules! texts {
    ($($name:ident = $text:literal;)*) => { $(pub const $name: &str = $text;)* };
}

mod deciding;
mod keys;
mod reconcile;
mod tables;

pub use deciding::*;
pub use keys::*;
pub use reconcile::*;
pub use tables::*;

// The frame of every window.
texts! {
    AUTOMATED = "AUTOMATED";
    TOP_GATE = "Gate:";
    TOP_CLOCK = "Clock:";
    TOP_KEY = "Key:";
    GATE_NONE = "none";
    GATE_CONNECTING = "connecting";
    GATE_CONNECTED = "connected";
    GATE_REFUSED = "refused";
    GATE_CHANGED = "identity changed";
    CLOCK_OK = "ok";
    KEY_NONE = "none";
    WAITING = "waiting for confirmation";
    ACTIVE = "active";
    STOPPED = "stopped";
    UNUSABLE = "not usable";
    CORE_SILENT = "The console's core does not answer. Decisions are not possible until it does. (E-UI-2)";
    WORKING = "Working...";
    COPIED = "Copied.";
    CANCEL = "Cancel";
    CLOSE = "Close";
    COPY = "Copy";
}

pub fn gate_offline(since: &str) -> String {
    format!("offline since {since}")
}

pub fn key_state(label: &str, state: &str) -> String {
    format!("{label} ({state})")
}

pub fn clock_behind(seconds: i64) -> String {
    format!("{seconds} s behind")
}

pub fn clock_ahead(seconds: i64) -> String {
    format!("{seconds} s ahead")
}

pub fn window_title(environment: Option<&str>, waiting: usize, automated: bool) -> String {
    let mark = if automated { " - AUTOMATED" } else { "" };
    match environment {
        Some(environment) => format!("{} - {waiting} waiting - Vidimus{mark}", environment.to_uppercase()),
        None => format!("Vidimus{mark}"),
    }
}

/// Never a payee, an amount or the agent's words.
pub fn review_title(environment: Option<&str>, automated: bool) -> String {
    let mark = if automated { " - AUTOMATED" } else { "" };
    match environment {
        Some(environment) => format!("{} - Request - Vidimus{mark}", environment.to_uppercase()),
        None => format!("Request - Vidimus{mark}"),
    }
}

// The request.
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

// Deciding.
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
        let pages: Vec<String> = pages.iter().map(ToString::to_string).collect();
        format!("You have not seen {parts} of {count}, on page {}. Space goes there.", pages.join(", "))
    }
}

pub fn role_missing(needed: &str, held: &str) -> String {
    let held = if held.is_empty() { "none" } else { held };
    format!("You cannot decide this: it needs the role {needed}. You have: {held}.")
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

// Errors, by their stable ids.
texts! {
    GATE_UNREACHABLE = "The gate was not reached. The request is still waiting. Nothing was executed.";
    GATE_UNREADABLE = "The gate's answer could not be read. Nothing was executed because of this.";
    IDENTITY_CHANGED = "The gate's identity is not the one you confirmed. Everything is locked. Call your administrator before going on.";
    HEAD_UNSIGNED = "A head of the log came that the gate you confirmed did not sign. Everything is locked until a good one comes. The evidence is kept. Call your administrator.";
    ROSTER_NOT_PINNED = "The people this gate lists are not the ones shown when you enrolled. Approving is locked. Call your administrator.";
    NOT_CONFIRMED = "Your decision was sent but is not confirmed yet. Do not decide again; the log will tell.";
    BYTES_DIFFER = "The details shown do not match what the gate would run. Do not approve. Denying works.";
    BYTES_MISSING = "The gate sent a request without its full contents. It cannot be approved from here.";
    NOT_CANONICAL = "The contents are not in the required exact form, so they could mean two things. Approving is locked.";
    NO_ROW = "This tool has no valid row in the effect table that the request was made under. Nothing can be approved.";
    NO_SUCH_REQUEST = "That does not name a request here.";
    ROSTER_MOVES = "The roster has just changed. Look again and press once more.";
    OWN_APPROVAL = "You gave an approval already. A different person must give the next.";
    OWN_REQUEST = "You cannot decide a request that you or your own agent made.";
    RECEIPT_BAD = "The gate's receipt could not be verified. Treat the result as unknown and call your administrator.";
    MIRROR_UNWRITABLE = "The local copy of the audit log cannot be written. Nothing can be approved until it can; denying works.";
    PIN_WAIT_UNWRITABLE = "The wait after a wrong PIN cannot be kept on this disk, so no PIN is tried. Nothing was signed.";
    KEY_NO_SERVICE = "No system keyring is running, so your key cannot be stored or used safely. Start one (GNOME Keyring, KWallet or another Secret Service), then start this console again.";
    KEY_LOCKED = "Your keyring is locked. Unlock it to sign.";
    KEY_DISMISSED = "You closed the unlock window. Nothing was signed or sent.";
    KEY_MISSING = "Your signing key is not in the keyring any more. Nothing was signed. Enrol again by a new invitation.";
    KEY_FOREIGN = "The keyring holds something else under the name of your key. Nothing was signed, and it was not replaced.";
    KEY_PRESENT = "The keyring holds a key for this gate already. It was not replaced.";
    KEY_STOPPED = "Your key was stopped by an administrator. You can read but not decide.";
    KEY_WAITING = "Your key is waiting for an administrator's confirmation.";
    KEY_NOT_IN_ROSTER = "Your key is not among the people this gate lists. You can read but not decide.";
    NOT_ENROLLED = "This console is not enrolled at a gate.";
}

pub fn gate_address(url: &str) -> String {
    format!("{url} is not the address of a gate.")
}

pub fn gate_refused(detail: &str) -> String {
    format!("The gate refused: {detail}.")
}

/// The gate's refusals that a person meets, by their codes.
pub fn refusal(code: &str) -> Option<&'static str> {
    Some(match code {
        "request_already_decided" => "Somebody decided this already. Your decision was not used.",
        "already_approved" => OWN_APPROVAL,
        "role_not_held" | "role_not_needed" => "You cannot decide this: it needs a role that you do not have.",
        "self_approval" => OWN_REQUEST,
        "request_expired" => "It expired while you were deciding. It was not executed.",
        "request_withdrawn" => "The agent withdrew this request. Nothing will happen.",
        "request_stale" | "row_stale" => {
            "This request is no longer valid: its row, a role or what it refers to has changed. Nothing will run; the agent must ask again."
        }
        "roster_stale" => ROSTER_MOVES,
        "last_admin" => LAST_ADMIN,
        "recovery_not_waiting" | "recovery_vetoed" => RECOVERY_OVER,
        "roster_change_invalid" => ROSTER_CHANGE_INVALID,
        "request_orphaned" => {
            "The agent stopped waiting and was never told about this request. It can be approved when the agent asks again."
        }
        "bytes_differ" | "shown_differs" => BYTES_DIFFER,
        "key_stopped" => KEY_STOPPED,
        "key_unknown" => KEY_NOT_IN_ROSTER,
        "key_waiting" => KEY_WAITING,
        "invite_unknown" | "invite_used" => "This invitation is not valid any more: it was used, or never made here. Ask for another one.",
        "invite_expired" => "This invitation has expired. Ask for another one.",
        "challenge_replayed" | "challenge_invalid" | "decision_expired" => {
            "The gate did not accept the signature in time. Nothing was executed. Press again."
        }
        _ => return None,
    })
}

pub fn offline_since(since: &str) -> String {
    format!("No connection to the gate since {since}. Requests may be waiting that you cannot see. Nothing can be decided.")
}

pub fn duplicate_key(path: &str) -> String {
    format!("An argument appears twice (at {path}). Approving is locked.")
}

pub fn invalid_text(path: &str) -> String {
    format!("There are bytes that are not valid text (at {path}). Approving is locked.")
}

pub fn expired(at: &str) -> String {
    format!("Expired at {at}. It was not executed.")
}

pub fn ended(state: &str) -> &'static str {
    match state {
        "approved" => "This is approved already.",
        "consumed" => "This was approved and has been sent.",
        "denied" => "This was denied. It was not executed.",
        "expired" => "This expired. It was not executed.",
        "withdrawn" => "The agent withdrew this request. Nothing will happen.",
        "stale" => "This request is no longer valid: its row, a role or what it refers to has changed. Nothing will run.",
        "revoked" => "This was stopped after approval. It was not executed.",
        _ => "This request no longer exists here.",
    }
}

pub fn ended_id(state: &str) -> &'static str {
    match state {
        "approved" | "consumed" | "denied" | "revoked" => "E-DEC-1",
        "expired" => "E-EXP-1",
        "withdrawn" => "E-REQ-10",
        "stale" => "E-REQ-9",
        _ => "E-REQ-11",
    }
}

pub fn log_broken(position: u64) -> String {
    format!("The audit log does not verify at record {position}. Records after it cannot be trusted. Approving is locked.")
}

pub fn mirror_of_another(whose: &str) -> String {
    format!("The local copy of the audit log belongs to {whose}. Nothing can be approved.")
}

pub fn key_wrong_pin(wait: &str) -> String {
    format!("That PIN is wrong. Next try in {wait}.")
}

pub fn key_pin_wait(wait: &str) -> String {
    format!("A wrong PIN was given before. Next try in {wait}.")
}

// Enrolment and keys.
texts! {
    ENROLMENT = "Enrolment";
    STEP_INVITATION = "Invitation";
    STEP_PIN = "PIN and keys";
    STEP_CONFIRM = "Confirm";
    PASTE_INVITATION = "Paste the invitation";
    INVITATION_WORDS = "An administrator, or the first start of the gate, gave you one line that begins with vidimus-invite-. It names the gate and what you may do there. It serves once.";
    INVITE_FIELD = "Invitation";
    CONTINUE = "Continue";
    BACK = "Back";
    THE_GATE = "The gate of this invitation";
    GATE_FINGERPRINT = "Gate fingerprint (compare it with the one you were told)";
    FACT_ADDRESS = "Address";
    FACT_ENVIRONMENT = "Environment";
    FACT_YOU = "You are";
    FACT_ROLES = "Roles";
    FACT_FOUNDS = "This invitation";
    FOUNDS_WORDS = "makes you the first administrator; you also sign the first effect table";
    JOINS_WORDS = "proposes you; an administrator confirms";
    SECOND_DEVICE_WORDS = "adds this computer to your others; an administrator confirms";
    FACT_INVITE_ENDS = "Valid until";
    CHOOSE_PIN = "Choose a PIN";
    PIN_WORDS = "Your keys are made on this computer and kept in the system keyring. They never leave it. The PIN unlocks the one that signs decisions; it cannot be recovered.";
    LABEL_FIELD = "Name of this desktop";
    LABEL_WORDS = "Give this desktop a name of 1 to 64 characters.";
    PIN_FIELD = "PIN, at least 6 characters";
    PIN_AGAIN_FIELD = "The same PIN again";
    MAKE_KEYS = "Make my keys";
    PINS_DIFFER = "The two PINs differ. Type the same one twice.";
    PIN_TOO_SHORT = "The PIN is too short. Use at least 6 characters.";
    PIN_TOO_LONG = "The PIN is too long. Use at most 128 characters.";
    PIN_TOO_SIMPLE = "That PIN is a run or one repeated character. Choose another one.";
    YOUR_KEYS = "Your keys";
    APPROVAL_FINGERPRINT = "Key that signs decisions (under your PIN)";
    DEVICE_FINGERPRINT = "Key that signs sessions";
    HAND_IN = "Confirm";
    CONFIRM = "Confirm and enrol";
    DISCARD_KEYS = "Discard these keys";
    WAITING_FOR_ADMIN = "Waiting for an administrator";
    WAITING_WORDS = "Tell an administrator the fingerprints below. They confirm them in their own console. You may close this window; it goes on by itself.";
    ENROLLED = "You are enrolled";
    INVITE_OTHER_GATE = "The gate at this address is not the one that the invitation names. Nothing was made or sent. Call your administrator.";
    PROFILE_UNWRITABLE = "The enrolment cannot be kept on this disk. No key was left behind.";
    FACT_DESKTOP = "This desktop";
    FACT_STATE = "State";
    FACT_GATE = "Gate";
    FACT_KEYRING = "Kept in the keyring as";
    WHERE_THEY_COUNT = "Where they count";
    CHECK_KEYRING = "Check the keyring";
    KEYRING_ANSWERS = "The keyring answers and holds your key.";
}

pub fn sheet_title(name: &str, environment: Option<&str>, automated: bool) -> String {
    let mark = if automated { " - AUTOMATED" } else { "" };
    match environment {
        Some(environment) => format!("{} - {name} - Vidimus{mark}", environment.to_uppercase()),
        None => format!("{name} - Vidimus{mark}"),
    }
}

pub fn step_of(step: usize) -> String {
    format!("Step {step} of 3")
}

pub fn hand_in_words(url: &str) -> String {
    format!("Your keys are in the keyring. Now the gate at {url} is given their public halves, with your signature that they are yours.")
}

pub fn enrolled_words(name: &str, roles: &str) -> String {
    format!("{name}, your keys count with the roles {roles}. Requests that you may decide come to the inbox.")
}

pub fn invite_refused(message: &str) -> String {
    format!("This is no invitation that can be used: {message}.")
}

// Windows and the inbox.
texts! {
    TOO_MANY_WINDOWS = "Three requests are open already. Close one of them first.";
    WINDOW_FAILED = "The window could not be opened. Nothing was decided. The request is untouched.";
    SETTINGS_UNWRITABLE = "That could not be written to this disk.";
    AMBIGUOUS = "That could mean two amounts. Type it with both decimal places, such as 4200.00.";
    WRONG_VALUE = "That is not the value in this request. Look again; a different question follows.";
}

/// Said by a screen reader: how many, never what.
pub fn announcement(added: usize, waiting: usize) -> String {
    if added == 1 { format!("1 new request. {waiting} waiting.") } else { format!("{added} new requests. {waiting} waiting.") }
}

pub fn evidence_saved(file: &str) -> String {
    format!("Evidence saved to {file}")
}
