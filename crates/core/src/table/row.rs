//! What a row says: its types, and the few things that follow from one of them alone.

use std::fmt;
use std::str::FromStr;

use super::schema::Schema;
use super::status::StatusRead;
use crate::bytes::Digest;
use crate::caps::Caps;
use crate::code::{Code, Refusal};
use crate::ids::{Effect, Name, Reversibility, words};
use crate::json::Json;
use crate::template::{ArgPath, Template};

/// Everything that a row declares.
///
/// *Invariant*: made by the loader only, which has checked each rule of `docs/protocol.md`; what does not belong to the
/// row's effect is empty.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Declaration {
    /// The tool that the row is for.
    pub tool: Name,
    /// What a call can do to the world, at the most.
    pub effect: Effect,
    /// How far that can be taken back. `None` for a read, and never else.
    pub reversibility: Option<Reversibility>,
    /// How it is taken back, in words. `None` where nothing does.
    pub undo: Option<String>,
    /// The role of those who own the system behind the tool.
    pub owner: Name,
    /// Who must have approved. Empty unless money.
    pub needs: Vec<Need>,
    /// How long a request waits. *Unit*: seconds.
    pub request_ttl_s: u64,
    /// How long a request waits at the most, with more time given. *Unit*: seconds.
    pub request_ttl_max_s: u64,
    /// How long a complete approval rests, revocable, before it is used. *Unit*: seconds.
    pub delay_s: u64,
    /// When a waiting request is passed on. *Unit*: seconds.
    pub escalate_after_s: Option<u64>,
    /// How often and how much. `None` where nothing limits it; never empty.
    pub caps: Option<Caps>,
    /// How a repeated attempt is made safe.
    pub idempotency: Idempotency,
    /// How long the outside world needs before its state says anything. *Unit*: seconds.
    pub settle_s: u64,
    /// Answers to a first attempt that mean that nothing happened. HTTP status numbers, sorted.
    pub no_effect_statuses: Vec<u16>,
    /// The sentence that an approver reads first. `Some` for money.
    pub summary: Option<Template>,
    /// The arguments that make up the business effect. At least one for money.
    pub business: Vec<ArgPath>,
    /// The arguments that an approver may be asked for.
    pub salient: Vec<ArgPath>,
    /// What a call touches: executions that share a key keep their order.
    pub touches: Vec<Template>,
    /// Tools that this one sets off.
    pub triggers: Vec<Name>,
    /// Labels and formats of arguments.
    pub fields: Vec<Field>,
    /// Reads that are made for the approver.
    pub facts: Vec<Fact>,
    /// What arguments name: read before anybody is asked, and again before anything runs.
    pub referents: Vec<Referent>,
    /// The read that captures the state before and after a write.
    pub state: Option<ToolRead>,
    /// JSON pointer to the receipt in a write's result.
    pub receipt: Option<String>,
    /// Whether the whole body of an irreversible write is recorded; without it, such a write does not load.
    pub log_full_body: bool,
    /// JSON pointer to the count of hits in a read's result.
    pub hits: Option<String>,
    /// What the arguments must look like.
    pub schema: Schema,
    /// The definition of an upstream's tool that the owner confirmed.
    pub definition_sha256: Option<Digest>,
    /// What carries the call out.
    pub executor: Executor,
}

impl Declaration {
    /// The reads that the gate makes for this row by itself, without a person's being asked: state, facts, referents.
    pub fn reads(&self) -> impl Iterator<Item = &ToolRead> {
        let facts = self.facts.iter().map(|fact| &fact.read);
        self.state.iter().chain(facts).chain(self.referents.iter().map(|referent| &referent.read))
    }
}

/// A role that must have approved, and by how many persons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The role.
    pub role: Name,
    /// How many distinct persons. At least one.
    pub quorum: u32,
    /// The role that a waiting request is passed on to.
    pub escalate_to: Option<Name>,
}

/// How a repeated attempt is made safe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Idempotency {
    /// The provider keeps the key and gives its first answer again.
    Key {
        /// How long the provider keeps it. *Unit*: seconds from the first attempt.
        key_valid_s: u64,
        /// How many attempts there may be.
        attempts_max: u32,
    },
    /// The provider can be asked whether it happened.
    Status(StatusRead),
    /// Nothing makes it safe: one attempt, ever.
    None,
}

impl Idempotency {
    /// The word in the table.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Idempotency::Key { .. } => "key",
            Idempotency::Status(_) => "status",
            Idempotency::None => "none",
        }
    }
}

/// How an argument is labelled and read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Which argument.
    pub path: ArgPath,
    /// Its name for people.
    pub label: String,
    /// How its value is read.
    pub format: Format,
}

/// How a value is read. The value itself is always shown beside the reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// As it is.
    Text,
    /// An integer of minor units.
    Money {
        /// The argument that holds the ISO 4217 code.
        currency: ArgPath,
    },
    /// An account number: in groups, with its check digits tested.
    Account,
    /// A date or a time.
    Date,
}

impl Format {
    /// The word in the table.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Money { .. } => "money",
            Format::Account => "account",
            Format::Date => "date",
        }
    }
}

/// A read with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRead {
    /// The tool, whose row is a read.
    pub tool: Name,
    /// Its arguments, sorted by name.
    pub args: Vec<(String, Given)>,
}

/// An argument of a read that the gate makes by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// Taken from the call's arguments. A template that is one place keeps the argument's type.
    Template(Template),
    /// Always the same.
    Constant(Json),
}

impl ToolRead {
    /// The arguments of the read for a call with these arguments. What the call did not give is left out.
    pub fn arguments(&self, args: &Json) -> Json {
        let given = self.args.iter().filter_map(|(name, given)| {
            let value = match given {
                Given::Template(template) => template.fill_json(args)?,
                Given::Constant(value) => value.clone(),
            };
            Some((name.clone(), value))
        });
        Json::Object(given.collect())
    }
}

/// A read that is made for the approver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is called on the screen.
    pub label: String,
    /// The read.
    pub read: ToolRead,
}

/// What an argument names: an alias, a number in a directory. A person approves what it stands for, not the name alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referent {
    /// The argument.
    pub arg: ArgPath,
    /// The read that says what it names.
    pub read: ToolRead,
    /// JSON pointer to it in the result.
    pub value: String,
}

words!(
    /// The method of a request. No other is sent.
    Method {
        /// Asks.
        Get = "GET",
        /// Does.
        Post = "POST",
        /// Sets.
        Put = "PUT",
    }
);

/// What carries a call out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executor {
    /// The gate, over HTTP.
    Http(HttpExecutor),
    /// The gate, through an MCP server.
    Mcp {
        /// The server's name in the gate's configuration.
        upstream: Name,
        /// How long an answer may take. *Unit*: seconds.
        timeout_s: u64,
    },
    /// A program of the tool's owner, which judges the decisions by itself.
    Remote {
        /// The executor's name in the roster.
        executor: Name,
        /// How long an answer may take. *Unit*: seconds.
        timeout_s: u64,
    },
    /// The gate itself: its own tools.
    Gate,
}

impl Executor {
    /// How long an answer may take. *Unit*: seconds. The gate itself answers in its own transaction.
    pub const fn timeout_s(&self) -> u64 {
        match self {
            Executor::Http(http) => http.timeout_s,
            Executor::Mcp { timeout_s, .. } | Executor::Remote { timeout_s, .. } => *timeout_s,
            Executor::Gate => 0,
        }
    }

    /// The word in the table.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Executor::Http(_) => "http",
            Executor::Mcp { .. } => "mcp",
            Executor::Remote { .. } => "remote",
            Executor::Gate => "gate",
        }
    }
}

/// How a call is sent over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpExecutor {
    /// The method.
    pub method: Method,
    /// The URL. Constant for money.
    pub url: Template,
    /// The header that carries the operation's key.
    pub idempotency_header: Option<String>,
    /// Where the credential is found. It is read at execution, and never frozen or logged.
    pub credential: Option<Credential>,
    /// How long an answer may take. *Unit*: seconds.
    pub timeout_s: u64,
}

/// What the name of every variable begins with that a row may name: of the gate's environment nothing else is given away.
pub const CREDENTIAL_VARIABLE_PREFIX: &str = "VIDIMUS_CREDENTIAL_";

/// Where a credential is found. A row names one, and whoever runs the gate decides which there are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credential {
    /// In this environment variable of the gate.
    ///
    /// *Invariant*: it begins with [`CREDENTIAL_VARIABLE_PREFIX`].
    Env(String),
    /// In the file of this name, in the gate's one folder of credentials.
    ///
    /// *Invariant*: a plain name, which leads nowhere else.
    File(String),
    /// In the keyring, under this name.
    Keyring(String),
}

impl FromStr for Credential {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Credential, Refusal> {
        // The text is not repeated: someone may have put the secret itself here.
        let malformed = |message: &str| Refusal::new(Code::FieldMalformed, message);
        match text.split_once(':') {
            Some(("env", name)) if is_variable(name) => Ok(Credential::Env(name.to_owned())),
            Some(("env", _)) => Err(malformed(&format!(
                "a credential's variable is not `{CREDENTIAL_VARIABLE_PREFIX}` and letters, digits or `_`; name it so, the gate gives no other away"
            ))),
            Some(("file", name)) if is_plain_file(name) => Ok(Credential::File(name.to_owned())),
            Some(("file", _)) => Err(malformed(
                "a credential's file is not a plain name; write the name alone, the file lies in the gate's folder of credentials",
            )),
            Some(("keyring", name)) if !name.is_empty() && !name.chars().any(char::is_control) => Ok(Credential::Keyring(name.to_owned())),
            _ => Err(malformed("a credential is not named by `env:`, `file:` or `keyring:`; write where it is found, never the secret")),
        }
    }
}

fn is_variable(name: &str) -> bool {
    let own = name.strip_prefix(CREDENTIAL_VARIABLE_PREFIX).unwrap_or_default();
    !own.is_empty() && own.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A name of one file: no separator, no step upwards, nothing hidden.
fn is_plain_file(name: &str) -> bool {
    !name.starts_with('.') && Name::parse(name).is_ok()
}

impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credential::Env(name) => write!(f, "env:{name}"),
            Credential::File(name) => write!(f, "file:{name}"),
            Credential::Keyring(name) => write!(f, "keyring:{name}"),
        }
    }
}

/// An agent's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The agent.
    pub agent: Name,
    /// The tools that it may call, sorted. All of them have rows.
    pub tools: Vec<Name>,
    /// The hosts that it may be called back at, sorted.
    pub callback_hosts: Vec<String>,
    /// How many of its requests may wait at once.
    pub pending_max: u32,
}

impl Agent {
    /// Whether the agent may call this tool.
    pub fn may_call(&self, tool: &Name) -> bool {
        self.tools.binary_search(tool).is_ok()
    }
}
