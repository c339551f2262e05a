//! Every bound of the store, with its unit and its reason. Bounds of the domain are in `vidimus_core::limits`.

/// The longest time after which people are told again. *Unit*: seconds. A day; `serve` takes no longer one.
pub const PAGE_REPEAT_S_MAX: u64 = 86_400;
/// How often a page counts as sent. More was never sent: at one a second, years.
pub const PAGE_COUNT_MAX: u32 = 100_000_000;

/// A record's body, as a start reads it. *Unit*: bytes. Four texts of a mebibyte, each byte of which JSON may spell with six.
pub const BODY_BYTES_MAX: usize = 24 * 1024 * 1024;
/// Values in it: one object of texts.
pub const BODY_NODES_MAX: usize = 32;

/// Use cases that wait for the writer. *Unit*: use cases. Beyond it, callers wait to be queued: back pressure, no loss.
pub const QUEUE_MAX: usize = 1024;

/// Use cases in one commit. *Unit*: use cases. Bounds how long the first of a batch waits for the last.
pub const BATCH_MAX: usize = 256;

/// Pages of the database that the writing connection keeps. *Unit*: KiB. Keys are digests, so each use case touches pages all over the
/// indices: with SQLite's 2 MiB a call reads more of them from the file with every request ever made. Not more either: whenever
/// a page of an index was split, SQLite looks through all pages that it keeps as it commits.
pub const WRITER_CACHE_KIB: i64 = 16 * 1024;

/// Pages in the log file after which they are moved into the database. *Unit*: pages of 4 KiB. A page that changes with every
/// commit is moved once in so many instead of once in a thousand; the file and what a start reads stay at some 16 MiB.
pub const LOG_FILE_PAGES: i64 = 4_000;

/// Pages that one reading connection keeps. *Unit*: KiB.
pub const READER_CACHE_KIB: i64 = 8 * 1024;

/// Connections that only read. *Unit*: connections. More than the cores of a small machine help nobody.
pub const READERS_MAX: usize = 4;

/// How long a statement, and the writer, wait for a lock. *Unit*: milliseconds. A reader meets a log reset, the writer somebody else's
/// transaction; leases of 30 s must outlast it.
pub const BUSY_TIMEOUT_MS: u64 = 5_000;

/// Between two attempts of the writer at a lock that somebody else has. *Unit*: milliseconds.
pub const BUSY_PAUSE_MS: u64 = 5;

/// How long a use case that goes along with others waits for them. *Unit*: milliseconds. Then it has a commit of its own.
pub const ALONG_MS: u64 = 5;

/// How long the mark that an agent was told its call's id waits for others to go along with. *Unit*: milliseconds. A gate
/// that dies before takes the agent for gone, which its next question sets right. Where calls follow each other the mark costs no
/// commit of its own; where they do not, one is soon made, and nobody waits for it.
pub const TOLD_ALONG_MS: u64 = 25;

/// Use cases that wait to go along. *Unit*: use cases. Beyond it they do not wait.
pub const ALONG_MAX: usize = 64;

/// Statements kept prepared for each connection. *Unit*: statements. All of the store's fit.
pub const STATEMENTS_MAX: usize = 256;

/// Records that one read of the log returns. *Unit*: records. With bodies of the largest size, still a bounded answer.
pub const RECORDS_PER_READ_MAX: usize = 1_000;

/// Records that are read without handing the reading to another thread. *Unit*: records. A few rows, one after the other.
pub const RECORDS_PER_LOOK_MAX: usize = 16;

/// Body bytes after which one read of the log ends early. *Unit*: bytes.
pub const RECORD_BYTES_PER_READ_MAX: usize = 8 * 1024 * 1024;

/// Requests that one listing returns. *Unit*: requests. An inbox of more is not worked through by hand.
pub const REQUESTS_PER_READ_MAX: usize = 500;

/// Requests that one listing looks through for those that its reader may see and asked for. *Unit*: requests.
pub const REQUESTS_LOOKED_AT_MAX: u32 = 5_000;

/// Proposals of one person that wait at once. *Unit*: requests. Beyond it nobody reads what is proposed.
pub const PROPOSALS_WAITING_MAX: u32 = 20;

/// Approvals of one person on one request, the retracted ones included. *Unit*: decisions. Who changes their mind a fourth time
/// leaves it to others; a no is never bounded. Whoever decides after them reads all of them, alone in the writer.
pub const APPROVALS_PER_PERSON_MAX: usize = 4;

/// How often one person gives one request more time. *Unit*: decisions. A day in steps of an hour, and some more.
pub const MORE_TIME_PER_PERSON_MAX: usize = 32;

/// Answers and notes of one person about one operation within [`ANSWERS_S`]. *Unit*: answers. Somebody who looks every two hours,
/// day and night.
pub const ANSWERS_PER_PERSON_MAX: usize = 12;

/// *Unit*: seconds; a day. An operation can be in doubt for longer than any number of answers, so they are counted by the day.
pub const ANSWERS_S: u64 = 24 * 3600;

/// What else stood on the screen of a decision. *Unit*: bytes. A console sends some hundreds.
pub const CONTEXT_BYTES_MAX: usize = 64 * 1024;

/// Persons who have signed over a head that is not of this log, after which nothing with an effect begins. *Unit*: persons. One alone may
/// have invented it.
pub const FOREIGN_HEAD_PERSONS: usize = 2;

/// Time that nobody saw pass, from which on it is on record. *Unit*: milliseconds. A start in good order takes less.
pub const SKIPPED_MS_MIN: u64 = 1_000;

/// Rows that one sweep moves, of each kind. *Unit*: rows. The next sweep takes the rest.
pub const SWEEP_ROWS_MAX: usize = 200;

/// The life of an invite at most. *Unit*: seconds; seven days.
pub const INVITE_TTL_S_MAX: u64 = 7 * 24 * 3600;

/// The life of a session. *Unit*: seconds; twelve hours, a working day.
pub const SESSION_TTL_S: u64 = 12 * 3600;

/// The life of a session challenge. *Unit*: seconds. A desktop signs at once.
pub const SESSION_CHALLENGE_TTL_S: u64 = 60;

/// Sessions of one key at a time. *Unit*: sessions. A desktop needs one; a further one ends the oldest.
pub const SESSIONS_PER_KEY_MAX: u32 = 8;

/// Unused challenges for answers kept for one key. *Unit*: challenges. Older ones are dropped: only its holder asks for them.
pub const CHALLENGES_PER_KEY_MAX: u64 = 32;

/// Frozen requests that are kept as they were read. *Unit*: requests; up to twice as many are held. As many as are decided at a time.
pub const FROZEN_KEPT_MAX: usize = 64;

/// The largest of them. *Unit*: bytes. Larger ones are rare, and would hold memory for nothing.
pub const FROZEN_KEPT_BYTES_MAX: usize = 16 * 1024;

/// Leaves, and verified decisions, that are kept as they were read. *Unit*: texts; up to twice as many are held. More than
/// the decisions of one batch ask for, their agents' records included.
pub const TEXTS_KEPT_MAX: usize = 128;

/// The largest of them. *Unit*: bytes. Larger ones are rare, and would hold memory for nothing.
pub const TEXT_KEPT_BYTES_MAX: usize = 8 * 1024;

/// The life of a lease at most. *Unit*: seconds. The default is the caller's; it renews while it works.
pub const LEASE_S_MAX: u64 = 300;

/// How long a finished call in the same run is joined without a call key. *Unit*: seconds; 24 hours.
pub const JOIN_S: u64 = 24 * 3600;

/// How long an earlier equal business effect is named on a new request. *Unit*: seconds; 90 days.
pub const EARLIER_S: u64 = 90 * 24 * 3600;

/// How long an equal business effect that somebody denied or revoked is named on a new request: whoever is asked anew learns that a
/// colleague said no. *Unit*: seconds; a day.
pub const REFUSED_EARLIER_S: u64 = 24 * 3600;

/// Earlier equal business effects named on a request. *Unit*: requests; the newest ones.
pub const EARLIER_MAX: usize = 8;

/// The caller's own operation key. *Unit*: characters.
pub const CALL_KEY_CHARS_MIN: usize = 16;

/// The caller's own operation key. *Unit*: characters.
pub const CALL_KEY_CHARS_MAX: usize = 128;

/// The agent's own words. *Unit*: characters. Shown as words, never as facts.
pub const SAYS_CHARS_MAX: usize = 4_000;

/// An agent's parents. *Unit*: agents. A longer chain is a loop or a mistake.
pub const CHAIN_MAX: usize = 8;

/// A person's name and a key's label. *Unit*: characters; one line of a window.
pub const LABEL_CHARS_MAX: usize = 100;

/// How long an unknown outcome with a key waits for its next attempt, times the attempts made. *Unit*: seconds.
pub const RETRY_AFTER_S: u64 = 2;

/// How long an agent that is gone without having had its call's id may come back. *Unit*: seconds; a restart of it and a retry.
pub const ORPHAN_S: u64 = 900;

/// Pages that one round sends. *Unit*: pages. The next round takes the rest.
pub const PAGES_PER_ROUND_MAX: u32 = 50;

/// What can have become of a tool's timeout when its row is gone. *Unit*: seconds. The longest that any row may name.
pub const TIMEOUT_S_UNKNOWN: u64 = vidimus_core::limits::EXECUTOR_TIMEOUT_S_MAX;

/// Earlier calls with an equal payload that are looked at. *Unit*: calls; the newest ones.
pub const JOIN_CANDIDATES_MAX: u32 = 50;

/// Effect tables kept parsed. *Unit*: tables. The one in force, and those around a change of it.
pub const PARSED_TABLES_MAX: usize = 4;
