//! Bounds of the notices that no other part of the console shares, with their units and reasons.

/// Seconds for which a press on "Later" keeps a request quiet: long enough to finish a thought, short against most deadlines.
pub const LATER_S: i64 = 600;
/// Hour of the local day at which a pause until tomorrow ends: when work begins, not at midnight.
pub const TOMORROW_HOUR: i8 = 8;
/// Characters of a sentence made of arguments: what the usual servers draw without folding it.
pub const HEADLINE_CHARS: usize = 140;
/// Seconds that the notification service may take for one call before it counts as absent: it answers in milliseconds.
pub const SERVICE_ANSWER_S: u64 = 5;
/// Seconds between two looks at the clock while something is due later: a clock that was set is noticed by then.
pub const LOOK_AGAIN_S: u64 = 30;
