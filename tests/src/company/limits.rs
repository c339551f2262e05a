//! Every bound of the fixture company, with its unit and its reason.

/// Runs kept at once. A run is made by naming it, so a caller that names a new one each time must meet an end.
pub const RUNS_MAX: usize = 1_000;

/// Bytes in a run's name. It stands in URLs and headers.
pub const RUN_NAME_BYTES_MAX: usize = 64;

/// Bytes in a request body: the gate's own limit for arguments, so that nothing it may send is refused for size here.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// Calls remembered in one run, oldest dropped first. Effects are never dropped.
pub const CALLS_KEPT_MAX: usize = 20_000;

/// Milliseconds that a behaviour may delay an answer, or keep the company away: a test that asks for more is mistaken.
pub const DELAY_MS_MAX: u64 = 120_000;

/// Milliseconds that the company stays away after dying, unless the behaviour says otherwise.
pub const AWAY_MS_DEFAULT: u64 = 300;

/// Bytes of the `huge` answer: above the gate's limit of 1 MiB for a result.
pub const HUGE_ANSWER_BYTES: usize = 2 * 1024 * 1024;

/// Hits in one answer to a search.
pub const HITS_MAX: usize = 50;

/// Highest amount of one payment, in minor units.
pub const AMOUNT_MINOR_MAX: u64 = 10_000_000_000;

/// Characters in a mail's body.
pub const MAIL_BODY_CHARACTERS_MAX: usize = 20_000;

/// Characters in any other free text: a reason, a subject, a ticket's text.
pub const TEXT_CHARACTERS_MAX: usize = 2_000;

/// Connections that may wait to be accepted.
pub const BACKLOG: u32 = 1_024;
