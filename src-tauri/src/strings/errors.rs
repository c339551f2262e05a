//! What went wrong, by the stable ids of errors, and the gate's refusals by their codes.

use super::{LAST_ADMIN, RECOVERY_OVER, ROSTER_CHANGE_INVALID};

texts! {
    GATE_UNREACHABLE = "The gate was not reached. The request is still waiting. Nothing was executed.";
    GATE_UNREADABLE = "The gate's answer could not be read. Nothing was executed because of this.";
    IDENTITY_CHANGED = "The gate's identity is not the one you confirmed. Everything is locked. Call your administrator before going on.";
    HEAD_UNSIGNED = "A head of the log came that the gate you confirmed did not sign. Everything is locked until a good one comes. The evidence is kept. Call your administrator.";
    ROSTER_NOT_PINNED = "The people this gate lists are not the ones shown when you enrolled. Approving is locked. Call your administrator.";
    NOT_DELIVERED = "Your decision did not reach the gate. The request is still waiting. Nothing was executed.";
    NOT_CONFIRMED = "Your decision was sent but is not confirmed yet. Do not decide again; the log will tell.";
    BYTES_DIFFER = "The details shown do not match what the gate would run. Do not approve. Denying works.";
    BYTES_MISSING = "The gate sent a request without its full contents. It cannot be approved from here.";
    NOT_CANONICAL = "The contents are not in the required exact form, so they could mean two things. Approving is locked.";
    NO_ROW = "This tool has no valid row in the effect table that the request was made under. Nothing can be approved.";
    NO_SUCH_REQUEST = "That does not name a request here.";
    ROSTER_MOVES = "The roster has just changed. Look again and press once more.";
    OWN_APPROVAL = "You gave an approval already. A different person must give the next.";
    OWN_REQUEST = "You cannot decide what you or your own agent asked for, nor what brings you a role or leaves you the only administrator.";
    RECEIPT_BAD = "The gate's receipt could not be verified. Treat the result as unknown and call your administrator.";
    MIRROR_UNWRITABLE = "The local copy of the audit log cannot be written. Nothing can be approved until it can; denying works.";
    PIN_WAIT_UNWRITABLE = "The wait after a wrong PIN cannot be kept on this disk, so no PIN is tried. Nothing was signed.";
    KEY_NO_SERVICE = "No system keyring is running, so your key cannot be stored or used safely. Start one (GNOME Keyring, KWallet or another Secret Service), then start this console again.";
    KEY_LOCKED = "Your keyring is locked. Unlock it to sign.";
    KEY_DISMISSED = "You closed the unlock window. Nothing was signed or sent.";
    KEY_MISSING = "Your signing key is not in the keyring any more. Nothing was signed. Enrol again by a new invitation.";
    KEY_FOREIGN = "The keyring holds something else under the name of your key. Nothing was signed, and it was not replaced.";
    KEY_PRESENT = "The keyring holds a key for this gate already. It was not replaced.";
    KEY_STOPPED = "Your key was stopped. You can read but not decide.";
    KEY_REMOVED = "You were taken off the people of this gate. You can read what is here but not decide, and nothing new comes.";
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
        "key_removed" => KEY_REMOVED,
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

/// Who can bring a person or a key back.
pub fn ask_admins(names: &[String]) -> String {
    match names {
        [] => "Ask an administrator.".to_owned(),
        names => format!("Ask an administrator: {}.", names.join(", ")),
    }
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

pub fn approved_already(who: &str, at: &str) -> String {
    format!("{who} approved this at {at}.")
}

/// After who approved it.
pub fn sent_after(approved: &str) -> String {
    format!("{approved} It has been sent.")
}

pub fn denied_by(who: &str, at: &str) -> String {
    format!("{who} denied this at {at}. It was not executed.")
}

pub fn revoked_by(who: &str, at: &str) -> String {
    format!("{who} stopped this at {at}, after approval. It was not executed.")
}

pub fn withdrawn_at(at: &str) -> String {
    format!("The agent withdrew this request at {at}. Nothing will happen.")
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
