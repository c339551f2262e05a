//! Every bound of the daemon, with its unit and its reason. Those of documents are the core's, those of bodies the API's.

/// The line of a recovery key. *Unit*: bytes. The prefix and 43 characters, with room for what an editor adds.
pub const RECOVERY_LINE_BYTES_MAX: usize = 1024;

/// Connections at a time. *Unit*: connections. Each costs a file descriptor; the usual limit is 1,024.
pub const CONNECTIONS_MAX: usize = 768;

/// Connections of one address at a time, where no proxy stands in between. *Unit*: connections. Two thirds: an office or a host full
/// of agents may come from one address, and the rest is for all others.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 512;

/// Connections of all agents at a time. *Unit*: connections. Two thirds: however many agents there are, people are let in.
pub const CONNECTIONS_AGENTS_MAX: usize = 512;

/// Connections of one agent at a time. *Unit*: connections. Twice its long polls.
pub const CONNECTIONS_PER_AGENT_MAX: usize = 2 * WAITS_PER_AGENT_MAX;

/// Connections of one person at a time. *Unit*: connections. Each of eight desktops follows the log and asks one thing.
pub const CONNECTIONS_PER_PERSON_MAX: usize = 32;

/// Log streams of one session at a time. *Unit*: streams. A console needs one, and another while it comes back.
pub const STREAMS_PER_SESSION_MAX: usize = 2;

/// Log streams of one person at a time. *Unit*: streams. One for each of eight desktops.
pub const STREAMS_PER_PERSON_MAX: usize = 8;

/// Writing an answer without any progress. *Unit*: seconds. Ends clients that ask and do not read.
pub const WRITE_STALL_S_MAX: u64 = 10;

/// Strangers' requests without a body that are answered at a time. *Unit*: requests. The others wait in the order in which they came, and nobody
/// who is known waits behind them.
pub const STRANGERS_AT_ONCE_MAX: usize = 4;

/// What the system keeps of answers that one connection has not read. *Unit*: bytes; Linux doubles it. Left alone it grows to
/// megabytes for each, and as many pipelined requests are answered for nobody.
pub const SEND_BUFFER_BYTES: u32 = 64 * 1024;

/// Connections that wait to be accepted. *Unit*: connections. More than the gate has places.
pub const BACKLOG_MAX: u32 = 1024;

/// After a connection that could not be accepted. *Unit*: milliseconds.
pub const ACCEPT_PAUSE_MS: u64 = 50;

/// Reading a request's head. *Unit*: seconds. Ends clients that send a byte a minute.
pub const HEAD_READ_S_MAX: u64 = 10;

/// A request's head. *Unit*: bytes.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;

/// The lines of a request's head. *Unit*: headers.
pub const HEADERS_MAX: usize = 64;

/// Reading a request's body. *Unit*: seconds. Who holds a connection longer without a word of its own keeps out others.
pub const BODY_READ_S_MAX: u64 = 10;

/// A TLS handshake. *Unit*: seconds.
pub const HANDSHAKE_S_MAX: u64 = 10;

/// Finishing what is in flight at the end. *Unit*: seconds. Service managers kill after that.
pub const SHUTDOWN_S_MAX: u64 = 10;

/// Failed authentications of one address in one window. *Unit*: failures. Beyond it they leave no record.
pub const FAILURES_PER_WINDOW_MAX: u32 = 30;

/// The window of failed authentications. *Unit*: seconds.
pub const FAILURE_WINDOW_S: u64 = 60;

/// Addresses whose failures are counted. *Unit*: addresses. Beyond it all others share one count.
pub const FAILURE_ADDRESSES_MAX: usize = 4096;

/// Refusals of one agent that go on record one by one before they are counted only; of one person, before they leave no more records.
/// *Unit*: refusals. An agent that learns a schema
/// makes tens of mistakes; records are kept for ever.
pub const REFUSALS_BURST_MAX: u32 = 256;

/// After which one more refusal of an agent may go on record. *Unit*: seconds. An agent that is refused for a whole day leaves some
/// ten megabytes.
pub const REFUSAL_REFILL_S: u64 = 10;

/// Between two records of an agent's counted refusals. *Unit*: seconds. What a crash may forget of them.
pub const REFUSAL_REPORT_S: u64 = 60;

/// What a refusal's record quotes of its details and of its path. *Unit*: characters. A member's name may be as long as a call.
pub const REFUSAL_QUOTE_CHARS_MAX: usize = 1_000;

/// What the calls of one agent may leave on the disk at a stretch. *Unit*: bytes. Some hundred of the largest writes, or tens of
/// thousands of reads.
pub const AGENT_BYTES_BURST_MAX: u64 = 64 * 1024 * 1024;

/// What they may leave beyond that. *Unit*: bytes a second. Sixty reads a second for ever; an agent that goes wrong leaves
/// some eleven gigabytes a day and not a hundred an hour, so that an operator has days to notice.
pub const AGENT_BYTES_PER_S: u64 = 125_000;

/// The record of a read, with its part of the tree and of the indices. *Unit*: bytes.
pub const READ_KEPT_BYTES: u64 = 2 * 1024;

/// What a write leaves beside its texts: a call, an operation, two records. *Unit*: bytes.
pub const WRITE_KEPT_BYTES: u64 = 4 * 1024;

/// What a request leaves beside its texts that nobody decided about, because its agent took it back or went away. *Unit*: bytes.
pub const TAKEN_BACK_KEPT_BYTES: u64 = 8 * 1024;

/// Session challenges that one address gets in one window. *Unit*: challenges. They live a minute; an office behind one address
/// may open its consoles at once.
pub const CHALLENGES_PER_WINDOW_MAX: u32 = 256;

/// Between two looks at what is due. *Unit*: milliseconds.
pub const SWEEP_MS: u64 = 250;

/// Between two heartbeat records. *Unit*: seconds.
pub const HEARTBEAT_S: u64 = 60;

/// Calls that are looked at, read or sent at a time. *Unit*: calls. Each may have a connection to a provider, and goes on when its agent
/// hangs up. One that waits for people is at work no more.
pub const CALLS_AT_WORK_MAX: usize = 128;

/// Those of them of one agent. *Unit*: calls.
pub const CALLS_AT_WORK_PER_AGENT_MAX: usize = 32;

/// How long a call waits for others of its agent to be done. *Unit*: seconds.
pub const CALL_PLACE_S_MAX: u64 = 5;

/// Descriptors for files, sockets and the administration, besides those of connections. *Unit*: descriptors.
pub const DESCRIPTORS_OF_ITS_OWN: usize = 48;

/// Descriptors that the gate needs when every place is taken: with fewer, agents could keep people out. *Unit*: descriptors.
pub const DESCRIPTORS_MIN: usize =
    CONNECTIONS_MAX + CALLS_AT_WORK_MAX + EXECUTIONS_MAX + QUESTIONS_MAX + REPEATS_MAX + PAGES_AT_ONCE_MAX + DESCRIPTORS_OF_ITS_OWN;

/// Executions of what was approved at a time. *Unit*: executions.
pub const EXECUTIONS_MAX: usize = 32;

/// Those of them at one provider. *Unit*: executions. One that hangs for the whole of its timeout leaves places to all others.
pub const EXECUTIONS_PER_PROVIDER_MAX: usize = 24;

/// Questions about outcomes of payments at a time. *Unit*: exchanges.
pub const QUESTIONS_MAX: usize = 8;

/// Those of them at one provider. *Unit*: exchanges.
pub const QUESTIONS_PER_PROVIDER_MAX: usize = 6;

/// Writes sent again or asked about at a time. *Unit*: exchanges. Nobody waits for them as for a payment.
pub const REPEATS_MAX: usize = 8;

/// Those of them at one provider. *Unit*: exchanges.
pub const REPEATS_PER_PROVIDER_MAX: usize = 6;

/// The lease of an execution. *Unit*: seconds.
pub const LEASE_S: u64 = 30;

/// Between two renewals of a lease. *Unit*: seconds. Two may fail before it runs out.
pub const LEASE_RENEWAL_S: u64 = 10;

/// The life of an execution token. *Unit*: seconds. The in-gate executor redeems at once; after a crash between minting and
/// redeeming, this is how long the next start waits before it mints anew.
pub const TOKEN_TTL_S: u64 = 10;

/// What the arguments of a call may cost to judge where everybody is served. *Unit*: comparisons, as the schema counts them; some ten
/// milliseconds. Longer ones are judged aside, one at a time.
pub const ROUTED_AT_ONCE_MAX: usize = 200_000;

/// Attempts of a read. *Unit*: attempts.
pub const READ_ATTEMPTS_MAX: u32 = 3;

/// The pause before the second attempt of a read; doubled before each further one. *Unit*: milliseconds.
pub const READ_BACKOFF_MS: u64 = 100;

/// Waiters' second look, should a bell be missed. *Unit*: milliseconds.
pub const WAIT_LOOK_MS: u64 = 1000;

/// Long polls of one agent at a time. *Unit*: polls. Beyond it they are answered at once.
pub const WAITS_PER_AGENT_MAX: usize = 64;

/// Long polls of all agents at a time. *Unit*: polls. Half of the connections: however many agents wait, people are let in.
pub const WAITS_MAX: usize = CONNECTIONS_MAX / 2;

/// Records of one batch of the log stream. *Unit*: records.
pub const STREAM_BATCH_MAX: usize = 256;

/// Waiting for the checkpoint that covers a record that is already durable. *Unit*: seconds.
pub const CHECKPOINT_WAIT_S_MAX: u64 = 10;

/// Between two attempts to write a head after one that failed. *Unit*: milliseconds. A full disk is looked at often enough that
/// people wait for nothing once it has room, and seldom enough that it costs nothing.
pub const HEAD_RETRY_MS: u64 = 250;

/// How long records wait for a signed head before nothing with an effect begins any more. *Unit*: milliseconds. A head takes less
/// than one; only a disk that hangs takes this long.
pub const HEAD_LATE_MS_MAX: u64 = 2_000;

/// How long what may be sent waits for the head that covers its permission. *Unit*: seconds. Well within a lease; then nothing
/// is sent.
pub const HEAD_BEFORE_SEND_S_MAX: u64 = 5;

/// A line on the administration socket. *Unit*: bytes.
pub const ADMIN_LINE_BYTES_MAX: usize = 64 * 1024;

/// An exchange on the administration socket. *Unit*: seconds.
pub const ADMIN_S_MAX: u64 = 30;

/// Faults of a proposed table that one answer names. *Unit*: faults. More than an author mends before checking again.
pub const FAULTS_MAX: usize = 1_000;

/// An effect table file. *Unit*: bytes.
pub const TABLE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A credential in a file. *Unit*: bytes.
pub const CREDENTIAL_BYTES_MAX: usize = 16 * 1024;

/// Reaching a provider. *Unit*: seconds. Shorter than a lease.
pub const CONNECT_S_MAX: u64 = 5;

/// Reads that are answered and not yet on record. *Unit*: records. What a crash may lose.
pub const READS_AT_RISK_MAX: usize = 1000;

/// What a write's lease has beyond the time that its answer may take. *Unit*: seconds.
pub const WRITE_LEASE_MARGIN_S: u64 = 30;

/// How long a write's end waits for the reading of the state after it. *Unit*: seconds. Within the margin of the lease: a write that its
/// provider has answered is never in doubt because another tool hangs.
pub const STATE_AFTER_S_MAX: u64 = 10;

/// Before an operation that was refused an attempt is tried again. *Unit*: seconds. Each try leaves a record.
pub const REFUSED_REST_S: u64 = 10;

/// Between two looks at the pages that are due. *Unit*: milliseconds.
pub const PAGE_LOOK_MS: u64 = 500;

/// Pages under way at a time. *Unit*: pages. A receiver that hangs holds up this many.
pub const PAGES_AT_ONCE_MAX: usize = 8;

/// One attempt at a webhook. *Unit*: seconds.
pub const PAGE_S_MAX: u64 = 10;

/// Attempts at a webhook before the next repetition. *Unit*: attempts.
pub const PAGE_ATTEMPTS_MAX: u32 = 4;

/// The pause after the first attempt; doubled after each further one. *Unit*: milliseconds.
pub const PAGE_BACKOFF_MS: u64 = 500;

/// How long the page command may take. *Unit*: seconds. A mail that is not taken by then is sent again later.
pub const PAGE_COMMAND_S_MAX: u64 = 30;

/// Between two questions of people to a provider about the same operation. *Unit*: seconds. Each leaves a record.
pub const STATUS_ASK_REST_S: u64 = 2;

/// Operations whose last question is remembered. *Unit*: operations.
pub const STATUS_ASKS_MAX: usize = 1024;
