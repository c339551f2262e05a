//! A call, from the agent to its answer. The first function is the whole rule; what it calls is beside it.

mod answers;
mod presence;
mod read;
mod waiting;
mod write;

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vidimus_api::call::{CallAnswer, CallRequest, RetryRule, ToolDescription};
use vidimus_api::problem::{Fault, Problem};
use vidimus_core::code::{Code, Refusal};
use vidimus_core::ids::{CallId, Effect, Name};
use vidimus_core::json::Json;
use vidimus_core::limits::NAME_BYTES_MAX;
use vidimus_core::route::{Route, RouteRefusal, route};
use vidimus_core::standing::Standing;
use vidimus_core::table::{self, Row, SchemaFault, Table};
use vidimus_store::{AgentIdentity, CallReceived, FreezeCall, FreezeOutcome, StoreError};

use crate::clock;
use crate::entropy::{self, NoEntropy};
use crate::gate::Gate;
use crate::http::Rejection;
use crate::limits::{READ_KEPT_BYTES, ROUTED_AT_ONCE_MAX};
use crate::refusals;
use crate::seams::{Seam, pass};

pub use presence::Told;

/// What became of a call before anybody waits for it.
pub enum Begun {
    /// It was answered at once.
    Answered(Box<CallAnswer>),
    /// It is in the store.
    Stored {
        /// Under this id.
        call: CallId,
        /// It had been sent before.
        joined: bool,
        /// Sent again it does not happen again.
        once: bool,
        /// Nobody is known to have been told its id: whether this answer reaches its connection has to be said.
        untold: bool,
    },
}

impl Gate {
    /// Takes a call.
    ///
    /// ```text
    /// no row, or not on this agent's list → refuse
    /// arguments not valid under the row's schema → schema error back to the model
    /// read  → execute, return, record the query and the hit count
    /// write → state before, execute, state after, one record
    /// money → freeze, hash, create the request, route to the row's role, pause
    /// ```
    ///
    /// *Errors*: the refusal, which is on record.
    pub async fn propose(self: Arc<Gate>, agent: AgentIdentity, call: CallRequest) -> Result<Begun, CallFault> {
        let table = self.table().await?.ok_or_else(no_table)?;
        if let Some(gone) = self.store.unanswered_for(&agent).await? {
            return Err(self.refuse(&agent, &table, &call, RouteRefusal::Refused(gone)).await);
        }
        if !self.is_routed_at_once(&table, &call) {
            return self.propose_long(table, agent, call).await;
        }
        let routed = route(&table, &agent.agent, &call.tool, call.args.get().as_bytes());
        self.carry_on(&table, &agent, &call, routed).await
    }

    async fn carry_on(
        self: &Arc<Gate>,
        table: &Table,
        agent: &AgentIdentity,
        call: &CallRequest,
        routed: Result<Route<'_>, RouteRefusal>,
    ) -> Result<Begun, CallFault> {
        match routed {
            Err(refusal) => Err(self.refuse(agent, table, call, refusal).await),
            Ok(Route::Read(row, args)) => Ok(Begun::Answered(Box::new(self.read(agent, row, &args, call).await?))),
            Ok(Route::Write(row, args)) => self.write(table, agent, row, &args, call).await,
            Ok(Route::Money(row, args)) => self.pause(table, agent, row, &args, call).await,
        }
    }

    /// Whether routing a call keeps nobody waiting: what its schema can ask about as many values as its arguments can hold is little.
    fn is_routed_at_once(&self, table: &Table, call: &CallRequest) -> bool {
        // A value takes a byte and what parts it from the next one.
        let values_max = call.args.get().len() / 2 + 1;
        let row = Name::parse(&call.tool).ok().and_then(|tool| table.row(&tool));
        row.is_none_or(|row| row.schema.comparisons(values_max) <= ROUTED_AT_ONCE_MAX)
    }

    /// Takes a call whose routing may take long: apart from everybody else, one at a time.
    async fn propose_long(self: &Arc<Gate>, table: Arc<Table>, agent: AgentIdentity, call: CallRequest) -> Result<Begun, CallFault> {
        let turn = self.long_routes.acquire().await.map_err(CallFault::failed)?;
        let (rows, name, tool, args) = (Arc::clone(&table), agent.agent.clone(), call.tool.clone(), call.args.get().to_owned());
        let judged = tokio::task::spawn_blocking(move || {
            route(&rows, &name, &tool, args.as_bytes()).map(|routed| match routed {
                Route::Read(row, args) | Route::Write(row, args) | Route::Money(row, args) => (row.tool.clone(), args),
            })
        });
        let judged = judged.await.map_err(CallFault::failed)?;
        drop(turn);
        let routed = judged.and_then(|(tool, args)| {
            let row = table.row(&tool).ok_or_else(|| Refusal::new(Code::ToolUnknown, "the tool has no row any more").at("/tool"))?;
            Ok(match row.effect {
                Effect::Read => Route::Read(row, args),
                Effect::Write => Route::Write(row, args),
                Effect::Money => Route::Money(row, args),
            })
        });
        self.carry_on(&table, &agent, &call, routed).await
    }

    /// Money: freezes the call, which from then on waits for people.
    async fn pause(&self, table: &Table, agent: &AgentIdentity, row: &Row, args: &Json, call: &CallRequest) -> Result<Begun, CallFault> {
        let received = self.received(agent, row, call)?;
        let (call, on_record) = (received.call, received.refusal_on_record);
        // Without them the call can only join an earlier one.
        let referents = self.referents(table, row, args).await.ok();
        let freeze = FreezeCall {
            request: entropy::request_id(clock::now())?,
            salt: entropy::salt()?,
            row_sha256: row.digest(),
            args: args.clone(),
            referents,
            received,
        };
        pass(Seam::BeforeFreeze);
        match self.store.freeze_call(self.moment()?, freeze).await? {
            FreezeOutcome::Created { .. } => {
                pass(Seam::AfterFreeze);
                Ok(Begun::Stored { call, joined: false, once: true, untold: true })
            }
            FreezeOutcome::Joined(joined) => Ok(Begun::Stored { call: joined.call, joined: true, once: true, untold: joined.untold }),
            FreezeOutcome::Refused(refusal) => Err(self.refused_by_store(agent, on_record, refusal)),
        }
    }

    /// What is said about a call that was begun, after waiting at most `wait` for its end. Whoever waits may go away: nothing
    /// hangs on it.
    ///
    /// *Errors*: those of the store.
    pub async fn answer(&self, agent: &AgentIdentity, begun: Begun, wait: Duration) -> Result<CallAnswer, CallFault> {
        let (call, joined, once) = match begun {
            Begun::Answered(answer) => return Ok(*answer),
            Begun::Stored { call, joined, once, .. } => (call, joined, once),
        };
        let answer = self.outcome(agent, call, wait).await?.ok_or_else(vanished)?;
        let words = if once { answer.words } else { format!("{}; it had no call_key, so sent again it happens again", answer.words) };
        Ok(CallAnswer { stored: joined && answer.status.standing() == Standing::Answered, words, ..answer })
    }

    /// Counts what a call has left on the disk, of which so much was taken before it was looked at.
    pub fn settle(&self, agent: &AgentIdentity, taken: u64, begun: &Result<Begun, CallFault>) {
        let left = match begun {
            // Its text is in no record. A read whose provider failed is on record as well; other refusals have their own bound.
            Ok(Begun::Answered(_)) | Err(_) => READ_KEPT_BYTES,
            Ok(Begun::Stored { joined: true, .. }) => 0,
            Ok(Begun::Stored { joined: false, .. }) => taken,
        };
        let now = Instant::now();
        self.kept_bytes.give_back(&agent.agent, taken, now);
        self.kept_bytes.charge(&agent.agent, left, now);
    }

    /// Records why a call does not go on, and says it.
    async fn refuse(&self, agent: &AgentIdentity, table: &Table, call: &CallRequest, refusal: RouteRefusal) -> CallFault {
        let owner = Name::parse(&call.tool).ok().and_then(|tool| table.row(&tool)).map(|row| row.owner.clone());
        let (refusal, problem) = match refusal {
            RouteRefusal::Refused(refusal) => {
                let problem = Problem::of(&refusal);
                (refusal, problem)
            }
            RouteRefusal::Arguments(faults) => arguments_invalid(faults),
        };
        // No tool has a longer name: what is beyond would only fill the log.
        let tool: String = call.tool.chars().take(NAME_BYTES_MAX).collect();
        match self.record_refusal(Some(agent.agent.clone()), &tool, refusal, owner.into_iter().collect()).await {
            Ok(()) => CallFault::Refused(Box::new(problem)),
            Err(failure) => CallFault::Refused(Box::new(failure.into_problem())),
        }
    }

    /// The call as the store keeps it, under a fresh id.
    fn received(&self, agent: &AgentIdentity, row: &Row, call: &CallRequest) -> Result<CallReceived, CallFault> {
        Ok(CallReceived {
            call: entropy::call_id(clock::now())?,
            agent: agent.agent.clone(),
            run: call.run,
            call_key: call.call_key.clone(),
            tool: row.tool.clone(),
            says: call.says.clone(),
            refusal_on_record: self.refusals.has_room(&agent.agent, Instant::now()),
        })
    }

    /// What an agent is told that the store refused; counted where it has no record.
    fn refused_by_store(&self, agent: &AgentIdentity, on_record: bool, refusal: Refusal) -> CallFault {
        if on_record {
            self.refusals.take(&agent.agent, Instant::now());
            return refusal.into();
        }
        self.refusals.count(&agent.agent, Instant::now());
        refusals::limited().into()
    }

    /// Puts a refusal on record that came after the routing and before anything was stored.
    async fn recorded(&self, agent: &AgentIdentity, row: &Row, fault: CallFault) -> CallFault {
        let CallFault::Refused(problem) = &fault else { return fault };
        let Some(code) = problem.known_code() else { return fault };
        let refusal = Refusal { code, message: problem.detail.clone(), path: problem.path.clone() };
        match self.record_refusal(Some(agent.agent.clone()), row.tool.as_str(), refusal, vec![row.owner.clone()]).await {
            Ok(()) => fault,
            Err(failure) => failure.into(),
        }
    }

    /// The tools that an agent may use.
    ///
    /// *Errors*: those of the store.
    pub async fn tools(&self, agent: &AgentIdentity) -> Result<Vec<ToolDescription>, CallFault> {
        let Some(table) = self.table().await? else { return Ok(Vec::new()) };
        let Some(list) = table.agent(&agent.agent) else { return Ok(Vec::new()) };
        list.tools.iter().filter_map(|tool| table.row(tool)).map(describe).collect()
    }
}

fn describe(row: &Row) -> Result<ToolDescription, CallFault> {
    let schema = String::from_utf8(row.schema.json().canonical()?).map_err(CallFault::failed)?;
    let rule = row.retry_rule();
    Ok(ToolDescription {
        tool: row.tool.to_string(),
        effect: row.effect,
        reversibility: row.reversibility,
        retry: match rule {
            table::RetryRule::Repeat => RetryRule::Repeat,
            table::RetryRule::SameKey => RetryRule::SameKey,
            table::RetryRule::Ask => RetryRule::Ask,
            table::RetryRule::Never => RetryRule::Never,
        },
        retry_words: rule.words().to_owned(),
        schema: vidimus_api::raw_json(schema).map_err(CallFault::failed)?,
    })
}

/// The schema's verdict, so that a model can correct itself.
fn arguments_invalid(faults: Vec<SchemaFault>) -> (Refusal, Problem) {
    let errors: Vec<Fault> = faults
        .into_iter()
        .map(|fault| Fault { path: format!("/args{}", fault.path), message: fault.message, line: None, rule: None })
        .collect();
    let path = errors.first().map_or_else(|| "/args".to_owned(), |fault| fault.path.clone());
    let refusal =
        Refusal::new(Code::ArgumentsInvalid, "the arguments are not valid under the tool's schema; correct what `errors` names").at(path);
    let problem = Problem { errors, ..Problem::of(&refusal) };
    (refusal, problem)
}

fn no_table() -> CallFault {
    Refusal::new(Code::ToolUnknown, "no effect table is in force, so no tool runs; the first admin has to enrol and sign it")
        .at("/tool")
        .into()
}

fn vanished() -> CallFault {
    CallFault::failed(StoreError::Corrupt("a call that cannot be read back".to_owned()))
}

/// Why a call has no answer of its own.
#[derive(Debug)]
pub enum CallFault {
    /// A rule is broken, or a provider is.
    Refused(Box<Problem>),
    /// The gate failed.
    Failed(Box<dyn Error + Send + Sync>),
}

impl CallFault {
    fn failed(error: impl Error + Send + Sync + 'static) -> CallFault {
        CallFault::Failed(Box::new(error))
    }
}

impl From<Refusal> for CallFault {
    fn from(refusal: Refusal) -> CallFault {
        CallFault::Refused(Box::new(Problem::of(&refusal)))
    }
}

impl From<StoreError> for CallFault {
    fn from(error: StoreError) -> CallFault {
        CallFault::failed(error)
    }
}

impl From<NoEntropy> for CallFault {
    fn from(error: NoEntropy) -> CallFault {
        CallFault::failed(error)
    }
}

impl From<Rejection> for CallFault {
    fn from(rejection: Rejection) -> CallFault {
        CallFault::Refused(Box::new(rejection.into_problem()))
    }
}
