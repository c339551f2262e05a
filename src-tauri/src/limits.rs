//! Every bound of the console, with its unit and its reason.

/// Seconds a keyring call may take: a locked keyring waits for a person at a system dialog.
pub const KEYRING_WAIT_S: u64 = 120;
/// Seconds without an answer after which the keyring counts as locked and waiting for its person.
pub const KEYRING_NOTICE_S: u64 = 3;
/// Milliseconds that the last page of an enrolment waits for the gate's first word about the key: longer than a session takes, and
/// no longer than a person takes for a hang.
pub const ENROLMENT_FOLLOWED_MS: u64 = 3_000;
/// Seconds that a key is used before it is to be renewed, docs/adr/0012: a year, so that a key that leaked unseen ends.
pub const KEY_LIFE_S: u64 = 365 * 24 * 3600;
/// Seconds before that end from which the console asks for new keys: two weeks, longer than a holiday of most.
pub const KEY_ROTATION_NOTICE_S: u64 = 14 * 24 * 3600;
/// Characters of the shortest PIN: six digits hold against the doubling waits below.
pub const PIN_CHARS_MIN: usize = 6;
/// Characters of the longest PIN: a bound for what is hashed.
pub const PIN_CHARS_MAX: usize = 128;
/// Seconds before the next try after the first wrong PIN; doubles with each further one.
pub const PIN_WAIT_FIRST_S: u64 = 10;
/// Seconds of the longest wait after a wrong PIN: an owner who returns is not locked out for days.
pub const PIN_WAIT_MAX_S: u64 = 3600;
/// Seconds for which one PIN entry serves, for anything that is not irreversible.
pub const PIN_SESSION_S: u64 = 900;
/// KiB of memory for argon2id: costs a guesser, and is affordable on a small desktop.
pub const ARGON_MEMORY_KIB: u32 = 65_536;
/// Passes of argon2id over that memory.
pub const ARGON_PASSES: u32 = 3;

/// Review windows open at a time: more than three are not read.
pub const REVIEW_WINDOWS_MAX: usize = 3;
/// Characters of one value on one page of the review window.
pub const VALUE_PAGE_CHARS: usize = 4_000;
/// Rows of sixteen bytes on one page of the hex view.
pub const HEX_ROWS_PER_PAGE: usize = 256;
/// Bytes on one page of the raw view.
pub const RAW_PAGE_BYTES: usize = 8_192;
/// Milliseconds a part must have been on screen before it counts as seen.
pub const SEEN_MS: u64 = 400;
/// Milliseconds after a change of content or of focus before approve controls work.
pub const ARM_MS: u64 = 800;
/// Milliseconds an irreversible approval is held.
pub const HOLD_MS: u64 = 1_500;
/// Milliseconds for which the first of two presses stays armed.
pub const TWO_PRESS_ARMED_MS: u64 = 10_000;
/// Characters of the shortest free-text reason.
pub const REASON_CHARS_MIN: usize = 15;
/// Characters of the longest reason or note.
pub const REASON_CHARS_MAX: usize = 2_000;
/// Seconds the approve panel waits after a wrong answer to the value question.
pub const WRONG_ANSWER_WAIT_S: u64 = 5;
/// Wrong answers to the value question before approving is paused.
pub const WRONG_ANSWERS_MAX: u32 = 2;
/// Seconds approving is paused after too many wrong answers.
pub const WRONG_ANSWERS_PAUSE_S: u64 = 120;
/// Combining marks after one base character before they are shown as chips.
pub const COMBINING_MARKS_MAX: usize = 3;

/// Seconds between two notifications that pop up: attention is a budget.
pub const POPUP_GAP_S: u64 = 60;
/// Seconds before expiry from which an unopened irreversible request may use critical urgency.
pub const CRITICAL_WITHIN_S: u64 = 300;
/// Characters of a name inside a notification, cut at a word.
pub const NOTIFICATION_NAME_CHARS: usize = 60;

/// Milliseconds before the first new connection attempt; doubles with each further one.
pub const RECONNECT_FIRST_MS: u64 = 250;
/// Seconds before a log whose copy cannot be written is read again: a disk is not freed within one.
pub const LOG_AGAIN_S: u64 = 5;
/// Milliseconds of the longest wait between connection attempts.
pub const RECONNECT_MAX_MS: u64 = 15_000;
/// Milliseconds by which the clock may differ from the gate's before it is said.
pub const CLOCK_SMALL_MS: i64 = 5_000;
/// Requests in one list of the inbox: more than a gate keeps waiting, and a bound for what was decided in years.
pub const INBOX_ROWS_MAX: usize = 20_000;
/// Rows that a window is told at a time: several screens of a large window.
pub const INBOX_PAGE_ROWS: usize = 100;
/// Milliseconds after which a list that nothing happened to says again that it is up to date.
pub const INBOX_WAIT_MS: u32 = 60_000;
/// Lists that are kept open: the one on screen and those whose answers are still under way.
pub const LISTS_KEPT: usize = 4;
/// Requests that are kept as they were read: those on screen, and the pages above and below.
pub const CARDS_KEPT: usize = 512;
/// Days within which the same payee and amount are told as a repetition: a month's bills come once.
pub const REPEAT_DAYS: u32 = 30;
/// Earlier approved requests that a comparison looks at.
pub const HISTORY_ROWS_MAX: usize = 50;
/// Characters of one part of a long text: few enough that a part is on screen whole.
pub const PART_CHARS: usize = 400;
/// Parts of the arguments on one page.
pub const PARTS_PER_PAGE: usize = 60;
/// Milliseconds before the end from which more time is offered in words.
pub const CLOSING_WITHIN_MS: i64 = 120_000;
/// Bytes of one attached file: a page or a picture that shows what happened.
pub const ATTACHMENT_BYTES_MAX: usize = 128 * 1024;
/// Operations in doubt that are listed: more than anybody can look into in a day.
pub const OUTCOMES_MAX: usize = 500;
/// Outcomes settled lately that the desk shows: a note is added soon, or looked for in the log.
pub const SETTLED_MAX: usize = 20;
/// Records about one operation that are shown: its attempts are few, its pages every quarter of an hour.
pub const OUTCOME_RECORDS_MAX: usize = 1_000;
/// Times one signed decision is sent before its outcome counts as unconfirmed.
pub const DECISION_TRIES_MAX: usize = 4;
/// Records that are held until a checkpoint covers them: a first copy of a large log comes in one batch.
pub const BATCH_RECORDS_MAX: usize = 1_000_000;
