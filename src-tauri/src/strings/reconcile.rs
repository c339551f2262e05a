//! The words of the reconcile desk and of the window in which an outcome is answered.

use vidimus_core::reconciliation::Answer;

texts! {
    ANSWER_TITLE = "Answer an unknown outcome";
    CHIP_IN_DOUBT = "NEEDS RECONCILIATION";
    CHIP_TRYING = "outcome unknown";
    CHIP_SETTLED = "answered";
    WHAT_WE_KNOW = "What we know";
    WHAT_HAPPENED = "What happened?";
    EVIDENCE_SO_FAR = "Answers so far";
    REFERENCE = "Provider reference";
    HOW_KNOWN = "How do you know? At least 15 characters, kept in the audit log, signed";
    PART_AMOUNT = "Amount that happened";
    LOOK_AGAIN = "Look again at (today, or the next day if that time is over)";
    ATTACH = "Attach a file you looked at (at most 128 KiB)";
    ATTACH_WORDS = "Its name, size and SHA-256 are signed with your answer; a copy stays in this console's evidence folder.";
    NOTE_INSTEAD = "A note to what was answered";
    NOTE_WORDS = "A note corrects the record, never the state.";
    ANSWER_BY_HOLD = "Hold to sign";
    SIGN_ANSWER = "Sign this answer";
    START_ANSWERING = "Answer";
    OPEN_ORIGINAL = "Original request";
    PICK_ANSWER = "Pick what happened.";
    EVIDENCE_SHORT = "Say how you know: at least 15 characters that say something.";
    EVIDENCE_OR_REFERENCE = "Give the provider's reference, or say how you know.";
    AMOUNT_WRONG = "Type the amount that happened: more than nothing, less than the whole.";
    NO_PART_AMOUNT = "This tool has no amount; say in words what part happened.";
    TIME_WRONG = "Type when to look again, as hours and minutes such as 15:30.";
    FILE_TOO_LARGE = "That file has more than 128 KiB. Attach a smaller one, such as the page that shows it.";
    FILE_NAME_BAD = "That file's name cannot be shown. Rename it first.";
    FILES_TOO_MANY = "No more than 16 files are attached to an answer.";
    FILE_ATTACHED = "Attached.";
    FILE_UNWRITABLE = "The file could not be kept in this console's evidence folder. It was not attached.";
    STILL_TRYING = "The gate is still trying to find out by itself. There is nothing to answer yet.";
    NOTHING_IN_DOUBT = "This operation is not in doubt here.";
    ANSWERED_ALREADY = "You answered this. Another person of the role must answer too.";
    NOT_ASKABLE = "This tool's provider cannot be asked: its rule names no way.";
    TOO_MANY_ANSWERS = "Three outcomes are open already. Close one of them first.";
    OPEN_RECONCILE = "Open Reconcile";
    ANSWER_ALREADY_RECORDED = "Your answer is recorded.";
}

pub fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Happened => "It happened",
        Answer::Partly => "Part of it happened",
        Answer::NotHappened => "It did not happen",
        Answer::StillUnknown => "Still unknown",
        Answer::Note => "Note",
    }
}

/// What follows from an answer, and what it costs if it is wrong.
pub fn effect_of(answer: Answer) -> &'static str {
    match answer {
        Answer::Happened => {
            "\"It happened\" ends it as done: the agent is told so, and the same call gets this answer. If wrong, the effect never comes."
        }
        Answer::Partly => {
            "\"Part of it happened\" ends it with the amount you name. The agent is told so, and may ask for the rest. If wrong, too much or too little is sent."
        }
        Answer::NotHappened => "\"It did not happen\" lets the agent ask again. If wrong, it happens twice.",
        Answer::StillUnknown => "\"Still unknown\" changes nothing. It stays here, and people are told again at the time you name.",
        Answer::Note => "A note is kept with the answers and changes nothing.",
    }
}

pub fn in_doubt_since(at: &str, age: &str) -> String {
    format!("unknown since {at} ({age})")
}

pub fn settled_at(state: &str, at: &str) -> String {
    let words = match state {
        "succeeded" => "it happened",
        "partial" => "part of it happened",
        "not_happened" => "it did not happen",
        other => other,
    };
    format!("{words}, {at}")
}

pub fn attempt(number: u64) -> String {
    format!("attempt {number}")
}

pub fn owned_by(owner: &str) -> String {
    format!("owner: {owner}")
}

pub fn opened_by(who: &str, at: &str) -> String {
    format!("{who} looks at it since {at}")
}

pub fn answers_given(answer: &str, given: u32, needed: u32) -> String {
    format!("{given} of {needed} say: {answer}")
}

pub fn needs_people(needed: u32, roles: &str) -> String {
    if needed == 1 {
        format!("Needs 1 person with the role {roles}.")
    } else {
        format!("Needs {needed} different people with the role {roles}.")
    }
}

pub fn answered_conflict(who: &str, other: &str, at: &str) -> String {
    format!("{who} answered \"{other}\" at {at}. Yours says something else. A third person must look.")
}

pub fn conflicting() -> &'static str {
    "People answered differently. Nothing moves until enough of them say the same. A third person must look."
}

pub fn too_early(at: &str) -> String {
    format!("That it did not happen can be said from {at} on: until then an attempt may still arrive.")
}

pub fn recorded_answer(position: &str, at: &str) -> String {
    format!("Answered and recorded.  #{position}  {at}")
}

pub fn answer_lines(answer: &str) -> String {
    format!("Your answer: {answer}.")
}

pub fn answer_reached(state: &str) -> String {
    let words = match state {
        "succeeded" => "It counts as done.",
        "partial" => "It counts as done in part.",
        "not_happened" => "It counts as not done; the agent may ask again.",
        _ => "It stays in doubt.",
    };
    format!("Enough people said the same. {words}")
}

pub fn answer_counts(given: u32, needed: u32) -> String {
    format!("{given} of {needed} people said so. Waiting for another person.")
}

pub fn part_of(amount: &str, whole: &str) -> String {
    format!("{amount} of {whole}")
}

pub fn amount_in(currency: &str) -> String {
    format!("in {currency}")
}

pub fn file_line(name: &str, bytes: &str, digest: &str) -> String {
    format!("{name}, {bytes} bytes, SHA-256 {digest}")
}

pub fn provider_says(answer: &str, detail: &str) -> String {
    let words = match answer {
        "found" => "found it",
        "foreign" => "found something else under this key",
        "not_found" => "does not know it, which proves nothing",
        _ => "gave no clear answer",
    };
    if detail.is_empty() { format!("The provider {words}.") } else { format!("The provider {words}: {detail}.") }
}

pub fn settled_last(at: &str) -> String {
    format!("Last unknown outcome: {at}.")
}

pub fn in_doubt_title(environment: Option<&str>, automated: bool) -> String {
    let mark = if automated { " - AUTOMATED" } else { "" };
    match environment {
        Some(environment) => format!("{} - Unknown outcome - Vidimus{mark}", environment.to_uppercase()),
        None => format!("Unknown outcome - Vidimus{mark}"),
    }
}

// Lines of what we know.

pub fn known_asked(agent: &str) -> String {
    format!("requested by {agent}")
}

pub fn known_decision(words: &str, position: &str) -> String {
    format!("{words}, recorded #{position}")
}

pub fn known_sent(attempt: u64, operation: &str) -> String {
    format!("sent, attempt {attempt}, idempotency key {operation}")
}

pub fn known_state(state: &str, detail: &str) -> String {
    let words = match state {
        "unknown" => "no certain answer came",
        "needs_reconciliation" => "the gate gives up: only people can tell",
        "succeeded" => "it happened",
        "failed" => "it failed without an effect",
        "partial" => "part of it happened",
        "not_happened" => "it did not happen",
        "not_started" => "it was never sent",
        other => other,
    };
    if detail.is_empty() { words.to_owned() } else { format!("{words}: {detail}") }
}

pub fn known_evidence(source: &str, attempt: u64, answer: &str, detail: &str) -> String {
    let words = match source {
        "status" => "the provider was asked".to_owned(),
        _ => format!("a late answer of attempt {attempt} came"),
    };
    let mut line = if answer.is_empty() { words } else { format!("{words}: {answer}") };
    if !detail.is_empty() {
        line.push_str(&format!(" ({detail})"));
    }
    line
}

pub fn known_answer(who: &str, role: &str, answer: &str) -> String {
    format!("{who} as {role} answered: {answer}")
}

pub fn known_refused(code: &str) -> String {
    format!("an answer was refused ({code})")
}

pub fn known_page(channel: &str, outcome: &str) -> String {
    if outcome.is_empty() { format!("people were told ({channel})") } else { format!("people were told ({channel}: {outcome})") }
}

pub fn known_opened(who: &str) -> String {
    format!("{who} looks at it")
}

pub fn known_write(word: &str) -> String {
    match word {
        "write_intended" => "about to be sent".to_owned(),
        "write_executed" => "it happened".to_owned(),
        "write_failed" => "it failed without an effect".to_owned(),
        _ => "no certain answer came".to_owned(),
    }
}
