//! Every bound of the wire, with its unit and its reason.

/// The body of a call: arguments of their full size, and the words around them. *Unit*: bytes.
pub const CALL_BODY_BYTES_MAX: usize = vidimus_core::limits::ARGS_BYTES_MAX + 64 * 1024;

/// The body of everything else that is sent to the gate: an envelope or three, and notes. *Unit*: bytes.
pub const BODY_BYTES_MAX: usize = 512 * 1024;

/// The body of a proposed table: its text, escaped. *Unit*: bytes. The record that brings it into force holds it beside the frozen
/// change, and consoles read bodies up to twice as long.
pub const TABLE_BODY_BYTES_MAX: usize = 1024 * 1024;

/// An answer of the gate. *Unit*: bytes. A frozen request as an escaped text is the longest.
pub const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// One event of the log stream. *Unit*: bytes. A leaf and a body, each escaped as a text.
pub const STREAM_EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What an agent says about its own call. *Unit*: characters. Enough for a paragraph; an approver reads it.
pub const SAYS_CHARS_MAX: usize = 4000;

/// A caller's own operation key. *Unit*: characters. Short ones are counters, which collide.
pub const CALL_KEY_CHARS_MIN: usize = 16;

/// A caller's own operation key. *Unit*: characters.
pub const CALL_KEY_CHARS_MAX: usize = 128;

/// The note of a denial. *Unit*: characters.
pub const NOTE_CHARS_MAX: usize = vidimus_core::limits::REASON_CHARS_MAX;

/// The reason of a decision. *Unit*: characters. A denial's kind and note, escaped.
pub const REASON_CHARS_MAX: usize = 16 * 1024;

/// What else stood on the screen of a decision. *Unit*: bytes.
pub const CONTEXT_BYTES_MAX: usize = 256 * 1024;

/// The evidence behind an answer to an unknown outcome. *Unit*: characters. Its texts and files at their limits, escaped.
pub const EVIDENCE_TEXT_CHARS_MAX: usize = 64 * 1024;

/// The label of a desktop's keys. *Unit*: characters.
pub const LABEL_CHARS_MAX: usize = 64;

/// How long one answer is held open. *Unit*: seconds. Below the idle limit of common proxies.
pub const WAIT_S_MAX: u64 = 60;

/// Between keep-alive comments of the log stream. *Unit*: seconds.
pub const KEEP_ALIVE_S: u64 = 15;

/// Silence after which a client gives up a stream. *Unit*: seconds. Three keep-alives.
pub const STREAM_SILENCE_S_MAX: u64 = 45;

/// Reaching the gate. *Unit*: seconds.
pub const CONNECT_S_MAX: u64 = 5;

/// A connection without a request. *Unit*: seconds. Below the gate's own limit, so that a request never meets a closing door.
pub const IDLE_S_MAX: u64 = 5;

/// One answer, beyond the time that it was asked to wait. *Unit*: seconds.
pub const ANSWER_S_MAX: u64 = 30;

/// The life of an invite. *Unit*: seconds. A week: the invited person may be away.
pub const INVITE_TTL_S: u64 = 7 * 24 * 3600;

/// An invite's text. *Unit*: bytes. Checked before anything is decoded.
pub const INVITE_BYTES_MAX: usize = 8 * 1024;
