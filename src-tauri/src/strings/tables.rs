//! What is said about a change of the effect table.

texts! {
    TABLE_CHANGES = "What changes";
    LOOSENED = "LOOSENED";
    FLAG_LOOSENED = "loosened";
    CHANGE_NONE = "none";
    CHANGE_NOBODY = "nobody";
    CHANGE_YES = "yes";
    CHANGE_NO = "no";
    CHANGE_ROW_OF = "Row of";
    CHANGE_LIST_OF = "List of the agent";
}

/// How many rows and lists differ.
pub fn change_counted(rows: usize, lists: usize) -> String {
    let some = |count: usize, one: &str, many: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {many}") };
    let counted = match (rows, lists) {
        (rows, 0) => some(rows, "row", "rows"),
        (0, lists) => some(lists, "agent's list", "agents' lists"),
        (rows, lists) => format!("{} and {}", some(rows, "row", "rows"), some(lists, "agent's list", "agents' lists")),
    };
    format!("{counted}; everything else stays as it is. Requests that wait on these rows become stale.")
}

/// What happens to a row or a list.
pub fn change_word(change: &str) -> &'static str {
    match change {
        "added" => "is new",
        "removed" => "goes",
        _ => "changes",
    }
}

pub fn change_with(names: &str) -> String {
    format!("with {names}")
}

pub fn change_without(names: &str) -> String {
    format!("without {names}")
}

/// One member of an object that differs.
pub fn change_member(name: &str, value: &str) -> String {
    format!("{name}: {value}")
}

pub fn change_need(quorum: u64, role: &str, escalate_to: Option<&str>) -> String {
    match escalate_to {
        None => format!("{quorum} × {role}"),
        Some(other) => format!("{quorum} × {role}, passed on to {other}"),
    }
}

pub fn change_seconds(seconds: u64) -> String {
    match seconds {
        0 => "0 s".to_owned(),
        seconds if seconds % 86_400 == 0 => format!("{seconds} s ({} d)", seconds / 86_400),
        seconds if seconds % 3_600 == 0 => format!("{seconds} s ({} h)", seconds / 3_600),
        seconds if seconds % 60 == 0 => format!("{seconds} s ({} min)", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// A check: what in a row became looser.
pub fn loosened_in(name: &str, members: &[&str]) -> String {
    format!("Loosened for {name}: {}.", members.join("; ").to_lowercase())
}

/// A member of a row or a list, in words.
pub fn member_label(member: &str) -> &str {
    match member {
        "agent" => "Agent",
        "attempts_max" => "Attempts at most",
        "business" => "What makes two calls the same deed",
        "callback_hosts" => "Where it may be called back",
        "caps" => "Limits",
        "definition_sha256" => "Confirmed definition",
        "delay_s" => "Rest between approval and run",
        "effect" => "What it does to the world",
        "escalate_after_s" => "When it is passed on",
        "executor" => "What carries it out",
        "facts" => "Facts read for the approver",
        "fields" => "Labels of arguments",
        "hits" => "Where the count of hits is",
        "idempotency" => "What makes a repeat safe",
        "key_valid_s" => "How long the provider keeps the key",
        "log_full_body" => "Runs unasked, whole body on record",
        "needs" => "Who must approve",
        "no_effect_statuses" => "Answers that mean nothing happened",
        "owner" => "Owner",
        "pending_max" => "Requests that may wait at once",
        "receipt" => "Where the receipt is",
        "referents" => "What arguments refer to",
        "request_ttl_max_s" => "How long a request waits at most",
        "request_ttl_s" => "How long a request waits",
        "reversibility" => "How far it can be taken back",
        "salient" => "What the approver is asked for",
        "schema" => "Arguments it takes",
        "settle_s" => "Time until the outside world has settled",
        "state" => "Read before and after",
        "status" => "How the provider is asked",
        "summary" => "Sentence of the request",
        "tool" => "Tool",
        "tools" => "Tools it may use",
        "touches" => "What it touches",
        "triggers" => "What it sets off",
        "undo" => "How it is taken back",
        "v" => "Version of the row",
        other => other,
    }
}
