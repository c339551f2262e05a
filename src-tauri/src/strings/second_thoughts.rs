//! The words of what can be done about a request besides approving and denying it.

texts! {
    FLAG_ORPHANED = "agent gone";
    FLAG_ESCALATED = "waited too long: passed on";
    MORE_TIME = "More time";
    GIVE_MORE_TIME = "Give more time";
    MORE_TIME_ENDED = "It no longer waits.";
    WITHDRAW_MINE = "Withdraw mine";
    WITHDRAW_HEADING = "Withdraw your approval";
    WITHDRAW_WORDS = "Your approval no longer counts. The request keeps waiting; you or somebody else may still approve or deny it.";
    STOP_IT = "Stop it";
    STOP_HEADING = "Stop it before it runs";
    STOP_WORDS = "Final. It will not be executed. The agent is told that a person stopped it; a changed call is a new request.";
    NOT_TO_WITHDRAW = "There is no approval of yours that can still be withdrawn.";
    NOT_TO_STOP = "There is nothing left to stop here.";
    RUNS_NOW = "Approved. It is being sent now.";
    REASONS_LATER = "What they gave as their reason is shown after you gave yours.";
    KEPT_EXPIRED = "It expired while you were deciding. It was not executed. Your reason is kept here to copy. (E-EXP-2)";
    KEPT = "What you typed is kept here to copy.";
    COPY_TYPED = "Copy what you typed";
}

pub fn waiting_for_another(given: u64, needed: u32, until: &str) -> String {
    let person = if given == 1 { "a second person" } else { "another person" };
    format!("{given} of {needed}. Waiting for {person} until {until}.")
}

pub fn runs_in(left: &str) -> String {
    format!("Approved. It runs in {left} unless somebody stops it.")
}

pub fn more_time_until(until: &str, last: &str) -> String {
    format!("It will wait until {until}. The last moment that can be given is {last}.")
}

pub fn no_more_time(last: &str) -> String {
    format!("More time is not possible: the last moment is {last}. It cannot be extended.")
}

pub fn closing(left: &str, until: &str) -> String {
    format!("{left} left. E gives more time, until {until}.")
}

pub fn orphaned(until: &str) -> String {
    format!(
        "The agent stopped waiting and was never told about this request. It can be approved when the agent asks again; otherwise it ends, at the latest at {until}."
    )
}

pub fn recorded_retracted(position: &str, at: &str) -> String {
    format!("Your approval is withdrawn and that is recorded.  #{position}  {at}")
}

pub fn recorded_revoked(position: &str, at: &str) -> String {
    format!("Stopped and recorded. It will not be executed.  #{position}  {at}")
}

pub fn recorded_more_time(position: &str, at: &str) -> String {
    format!("More time is given and recorded.  #{position}  {at}")
}

pub fn reason_of_another(who: &str, reason: &str) -> String {
    format!("{who}'s reason: {reason}")
}
