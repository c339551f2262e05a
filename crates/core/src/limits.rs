//! Every bound of the domain, with its unit and its reason.
//!
//! A bound that is not here does not exist: other modules refer to these names and add none of their own.

/// The arguments of one call. *Unit*: bytes as sent. Large enough for a letter, small enough to be read whole by an approver's window.
pub const ARGS_BYTES_MAX: usize = 256 * 1024;

/// Containers inside each other in a document from outside. *Unit*: levels. Bounds the stack of every reader and writer.
pub const JSON_DEPTH_MAX: usize = 64;

/// Containers inside each other in any tree, our own wrapping included. *Unit*: levels. A frozen request holds arguments
/// of the full depth inside its own members, so this is above [`JSON_DEPTH_MAX`]; still shallow for every stack.
pub const JSON_RECURSION_MAX: usize = 128;

/// Values in one document, containers included. *Unit*: values. Each can become a line that an approver must see.
pub const JSON_NODES_MAX: usize = 10_000;

/// The largest integer in our own documents, 2⁵³−1. Above it, an ECMAScript reader rounds (RFC 7493 section 2.2).
pub const JSON_INTEGER_MAX: u64 = (1 << 53) - 1;

/// A frozen request. *Unit*: bytes. Canonical form can be longer than the arguments as sent (`1e20` is written with 21 digits).
pub const FROZEN_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The nodes of one call's arguments, their paths, keys and strings together. *Unit*: bytes. Every decision is compared with them,
/// and every console draws them: eight times the longest call has room for any that a person could read.
pub const RENDERED_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The result of one execution that is kept. *Unit*: bytes.
pub const RESULT_BYTES_MAX: usize = 1024 * 1024;

/// One leaf of the log. *Unit*: bytes. The entry bundles of tlog-tiles carry a 16-bit length.
pub const LEAF_BYTES_MAX: usize = 65_535;

/// A name: of a tool, role, server, key. *Unit*: bytes of ASCII. Fits one line of a window.
pub const NAME_BYTES_MAX: usize = 128;

/// The life of an execution token. *Unit*: seconds. Bounds what a stolen token is worth.
pub const TOKEN_TTL_S_MAX: u64 = 300;

/// The life of a signed decision on its way to the gate. *Unit*: seconds. Bounds a replay from a delayed network.
pub const DECISION_TTL_S_MAX: u64 = 300;

/// A serialised execution token. *Unit*: bytes. Checked before anything is decoded.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// A DSSE envelope. *Unit*: bytes. Holds a statement of one leaf's size in base64, and its signature.
pub const ENVELOPE_BYTES_MAX: usize = 96 * 1024;

/// A checkpoint with its signatures. *Unit*: bytes. 100 signature lines of long key names, and extension lines.
pub const CHECKPOINT_BYTES_MAX: usize = 64 * 1024;

/// Signature lines of a checkpoint that are kept. *Unit*: lines.
pub const CHECKPOINT_SIGNATURES_KEPT_MAX: usize = 64;

/// Signature lines of a checkpoint that are read at all; one with more is refused. *Unit*: lines.
pub const CHECKPOINT_SIGNATURES_MAX: usize = 100;

/// Digests in a Merkle proof. *Unit*: digests. A consistency proof between trees of 2⁶⁴ leaves needs no more.
pub const PROOF_DIGESTS_MAX: usize = 65;

/// A person's or a desktop's name as others read it. *Unit*: characters. Fits one line of a window.
pub const DISPLAY_NAME_CHARS_MAX: usize = 80;

/// Persons in a roster. *Unit*: persons. Keeps a whole roster readable and its document small.
pub const PERSONS_MAX: usize = 1_000;

/// Keys of one person that count at a time. *Unit*: keys. Four desktops of two keys each: more is somebody else's.
pub const KEYS_ACTIVE_PER_PERSON_MAX: usize = 8;

/// Keys of one person in a roster, stopped ones included. *Unit*: keys. A stopped key stays, so that nobody else can bring it;
/// a rotation a year fills this in thirty years.
pub const KEYS_PER_PERSON_MAX: usize = 64;

/// Keys that one statement stops. *Unit*: keys. All that a person can have in use.
pub const STOPPED_KEYS_MAX: usize = KEYS_ACTIVE_PER_PERSON_MAX;

/// How long a recovery waits before it takes effect. *Unit*: seconds. A day: everybody has seen their console once.
pub const RECOVERY_DELAY_S: u64 = 24 * 3600;

/// Recoveries that wait at once. *Unit*: recoveries. One helps; a stolen recovery key must not fill the readers' memory.
pub const RECOVERIES_WAITING_MAX: usize = 16;

/// The version that a console names in a decision. *Unit*: bytes.
pub const APP_VERSION_BYTES_MAX: usize = 64;

/// The agent's own words beside a call. *Unit*: characters. Enough for a reason, not for a letter.
pub const SAYS_CHARS_MAX: usize = 4_000;

/// The reason of a decision. *Unit*: characters.
pub const REASON_CHARS_MAX: usize = 2_000;

/// A text of the evidence behind an answer. *Unit*: characters.
pub const EVIDENCE_CHARS_MAX: usize = 2_000;

/// How a person knows what happened. *Unit*: characters. Less than a short sentence says nothing that another could check.
pub const EVIDENCE_CHARS_MIN: usize = 15;

/// Files named behind one answer. *Unit*: files.
pub const EVIDENCE_FILES_MAX: usize = 16;

/// The name of such a file. *Unit*: characters. What common file systems allow.
pub const FILE_NAME_CHARS_MAX: usize = 255;

/// How far away the next look at an unknown outcome may be put. *Unit*: seconds. Thirty days: by then a statement of account has come.
pub const LOOK_AGAIN_S_MAX: u64 = 30 * 24 * 3600;

/// What an argument names, as it is read and frozen. *Unit*: bytes. An account, a name: one line of a window.
pub const REFERENT_BYTES_MAX: usize = 256;

/// A caller's own operation key. *Unit*: characters. Shorter ones collide by chance.
pub const CALL_KEY_CHARS_MIN: usize = 16;

/// A caller's own operation key. *Unit*: characters.
pub const CALL_KEY_CHARS_MAX: usize = 128;

/// The text of an effect table. *Unit*: bytes. Holds [`TABLE_ROWS_MAX`] rows with their schemas.
pub const TABLE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Rows of a table. *Unit*: rows. Beyond it nobody owns what the table says.
pub const TABLE_ROWS_MAX: usize = 10_000;

/// Entries of one list of a row. *Unit*: entries. Beyond it nobody reads what the row says, and rules compare each with each.
pub const ROW_LIST_MAX: usize = 256;

/// Tools that a fault names of a chain that one sets off. *Unit*: tools. A chain may be as long as the table.
pub const CHAIN_SHOWN_MAX: usize = 8;

/// A template of a row. *Unit*: bytes. A sentence or a URL.
pub const TEMPLATE_BYTES_MAX: usize = 2000;

/// Words of a row: a label, how to undo. *Unit*: bytes. A line or two on the screen.
pub const WORDS_BYTES_MAX: usize = 1000;

/// Faults of arguments that are told at once. *Unit*: faults. More than a model corrects in one go.
pub const SCHEMA_FAULTS_MAX: usize = 20;

/// The compiled form of one pattern in a schema. *Unit*: bytes. Bounds a pattern that repeats repetitions.
pub const SCHEMA_PATTERN_BYTES_MAX: usize = 1 << 20;

/// Subschemas that are looked at for one place in the arguments. *Unit*: subschemas. Bounds a schema of references.
pub const SCHEMA_REFERENCES_MAX: usize = 1000;

/// Subschemas that are asked about one value of the arguments, references followed. *Unit*: subschemas, and what they compare with. With
/// [`JSON_NODES_MAX`] values, a call is judged within seconds at the worst.
pub const SCHEMA_WORK_MAX: usize = 2_000;

/// Subschemas that are visited to learn that. *Unit*: visits. Bounds the reading of a table of many rows.
pub const SCHEMA_VISITS_MAX: usize = 20_000;

/// Comparisons that one judgement makes to name each fault of its own. *Unit*: comparisons, as [`SCHEMA_WORK_MAX`] times values. Beyond
/// it a fault is told, not where it is: telling takes memory for each of them, however few are told.
pub const SCHEMA_TOLD_MAX: usize = 200_000;

/// Persons of one role that a row may ask for. *Unit*: persons.
pub const QUORUM_MAX: u32 = 20;

/// How long a request waits. *Unit*: seconds. Thirty days: what nobody decided in a month, nobody wants.
pub const REQUEST_TTL_S_MAX: u64 = 30 * 24 * 3600;

/// How long a request waits where its row does not say. *Unit*: seconds.
pub const REQUEST_TTL_S_DEFAULT: u64 = 1800;

/// How long a provider keeps a key. *Unit*: seconds. A year; providers promise less.
pub const KEY_VALID_S_MAX: u64 = 365 * 24 * 3600;

/// How long a provider keeps a key where the row does not say. *Unit*: seconds. The shortest time that common providers promise.
pub const KEY_VALID_S_DEFAULT: u64 = 24 * 3600;

/// Calls that a cap may allow. *Unit*: calls. Above it a cap limits nothing that happens.
pub const CAP_CALLS_MAX: u64 = 1_000_000;

/// Attempts of one operation. *Unit*: attempts. Then a person looks.
pub const ATTEMPTS_MAX: u32 = 10;

/// Attempts of one operation where the row does not say. *Unit*: attempts.
pub const ATTEMPTS_DEFAULT: u32 = 3;

/// How long the outside world needs to settle. *Unit*: seconds. A week covers a bank holiday.
pub const SETTLE_S_MAX: u64 = 7 * 24 * 3600;

/// How long the outside world needs to settle where the row does not say. *Unit*: seconds.
pub const SETTLE_S_DEFAULT: u64 = 60;

/// How long a tool's answer may take. *Unit*: seconds. Leases are renewed meanwhile.
pub const EXECUTOR_TIMEOUT_S_MAX: u64 = 120;

/// How long a tool's answer may take where the row does not say. *Unit*: seconds.
pub const EXECUTOR_TIMEOUT_S_DEFAULT: u64 = 10;

/// Requests of one agent that wait at once. *Unit*: requests.
pub const AGENT_PENDING_MAX: u64 = 1000;

/// Requests of one agent that wait at once where its list does not say. *Unit*: requests. What a person can read in an hour.
pub const AGENT_PENDING_DEFAULT: u64 = 20;
