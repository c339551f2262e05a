//! The words of the window for keys, and of changes of the roster in the review window.

texts! {
    THIS_COMPUTER = "This computer";
    YOUR_OTHERS = "Your other computers";
    OTHER_PEOPLE = "Other people";
    NO_OTHERS = "None. A second computer lets you stop this one when it is lost. Ask an administrator for an invitation for it, by this id:";
    PERSON_ID = "Your id";
    FACT_KEY_SINCE = "Keys since";
    FACT_LAST_USED = "Last used";
    FACT_COMPUTER = "Computer";
    NEVER = "never";
    STATE_ACTIVE = "active";
    ROTATING_STATE = "rotating, old valid until confirmed";
    RENEWAL_STATE = "active, rotation due";
    STATE_NONE = "none";
    STOP_THIS_KEY = "Stop this key now";
    STOP_KEY_NOW = "Stop it now";
    STOPPED_NOW = "Stopped. It counts for nothing any more.";
    STOP_OWN_WORDS = "It takes effect at once and cannot be undone: nothing that this computer signs counts any more, its sessions end, and open requests that it approved end too. No PIN is asked.";
    STOP_MINE_WORDS = "It takes effect at once and cannot be undone: nothing that the computer with the key below signs counts any more, its sessions end, and open requests that it approved end too. This computer is not touched. No PIN is asked.";
    STOP_OTHER_WORDS = "It takes effect at once and cannot be undone: nothing that the computer with the key below signs counts any more, its sessions end, and open requests that it approved end too. You sign as an administrator.";
    NEW_KEYS = "Make new keys";
    NEW_KEYS_WORDS = "New keys are made here beside the old ones. An administrator who is not you confirms them; the old keys count until then, and are stopped right after.";
    NEW_KEYS_REFUSED = "Your new keys were not confirmed. The old ones count on. Give the new ones up, and make others when an administrator is ready.";
    ROTATING = "New keys are made and wait for an administrator. Rotating: the old keys are valid until they are confirmed.";
    GIVE_UP_NEW = "Give the new keys up";
    GIVEN_UP = "The new keys are given up. The old ones count on.";
    FORGET_KEYS = "Remove the keys from this computer";
    FORGET_WORDS = "The keys of this computer are removed from its keyring; they cannot be recovered. Afterwards a new invitation enrols it again. Stop the keys first, or from another computer.";
    LOST_WORDS = "Lost or stolen? Stop the computer's key here, at once. A forgotten PIN cannot be recovered: stop the key, remove it, and enrol again.";
    RECOVERY = "Recovery announced";
    RECOVERY_WORDS = "The holder of the recovery key wants to admit this person. Unless an administrator objects, it takes effect by itself.";
    FACT_EFFECTIVE = "Takes effect";
    FACT_PERSON = "Person";
    OBJECT = "Object to it";
    OBJECT_NOW = "Sign the objection";
    OBJECT_WORDS = "The recovery never takes effect, whatever else happens. You sign as an administrator.";
    OBJECT_IF_UNKNOWN = "If you do not know of it, object in Keys before then.";
    OBJECTED = "Your objection is on record. The recovery never takes effect.";
    OTHER_ROLES = "Propose other roles";
    OTHER_ROLES_WORDS = "All roles held afterwards, with spaces between. An administrator who is not you decides.";
    ROLES_FIELD = "Roles";
    REMOVE_PERSON = "Propose removal";
    REMOVE_WORDS = "The person and their keys leave the roster. Open requests that they approved end. An administrator who is not you decides.";
    PROPOSE = "Propose";
    PROPOSED = "Proposed. It waits in the inbox of the administrators.";
    LAST_ADMIN = "No administrator would be left who can sign. Add another administrator, or a second computer, first.";
    RECOVERY_OVER = "This recovery no longer waits: somebody objected, or it has taken effect.";
    ROSTER_CHANGE_INVALID = "This change of the people cannot be made any more. Look at the list again.";
    ROSTER_CHANGES = "What changes among the people";
    FACT_CHANGE = "Change";
    FACT_ROLES_BEFORE = "Roles now";
    FACT_ROLES_AFTER = "Roles after it";
    FACT_KEYS_BEFORE = "Computers now";
    FACT_ASKED_BY = "Asked for by";
    CHANGE_ADMIT = "a new person comes in";
    CHANGE_ADD_KEYS = "one more computer of a person who is here";
    CHANGE_SET_ROLES = "other roles of a person who is here";
    CHANGE_REMOVE = "a person goes, with all keys";
    NEW_APPROVAL_KEY = "New key that signs decisions";
    NEW_DEVICE_KEY = "New key that signs sessions";
    OTHER_ROSTER = "This was proposed on another version of the people than the one in force; it can no longer take effect.";
}

/// What is announced, in one sentence.
pub fn recovery_runs(name: &str, roles: &str, when: &str) -> String {
    format!("A recovery runs: {name} comes in as {roles}, effective {when}, unless an administrator objects.")
}

pub fn recovery_key(groups: &str) -> String {
    format!("Key that would sign decisions: {groups}")
}

/// What somebody does who cannot object.
pub fn ask_to_object(names: &[String]) -> String {
    match names {
        [] => "Tell an administrator, who can object.".to_owned(),
        names => format!("Only an administrator can object. Tell one: {}.", names.join(", ")),
    }
}

pub fn stop_heading(label: &str, name: &str) -> String {
    format!("Stop the key of {label} ({name})?")
}

pub fn renewal_due(left: &str) -> String {
    format!("Your key is to be renewed within {left}. Make a new one now; it takes a minute.")
}

pub fn renewal_overdue(since: &str) -> String {
    format!("Your key was to be renewed by {since}. Make a new one now; it takes a minute.")
}

pub fn state_renewal(until: &str) -> String {
    format!("rotation due by {until}")
}

pub fn state_stopped(since: &str) -> String {
    format!("stopped {since}")
}
