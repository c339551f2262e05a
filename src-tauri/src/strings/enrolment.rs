//! The words of the enrolment, and what the window for keys shares with it.

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
