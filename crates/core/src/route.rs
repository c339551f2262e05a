//! Where a call goes. Owns the one decision at call time: no row or not listed, refuse; else what the row's label says.

use crate::code::{Code, Refusal};
use crate::ids::{Effect, Name};
use crate::json::{Json, Limits, parse};
use crate::table::{Row, SchemaFault, Table};

/// A call that may go on, by its row's label.
#[derive(Debug)]
pub enum Route<'a> {
    /// Execute, return, record the query and the hit count.
    Read(&'a Row, Json),
    /// State before, execute, state after, one record.
    Write(&'a Row, Json),
    /// Freeze, hash, create the request, route to the row's role, pause.
    Money(&'a Row, Json),
}

/// Why a call does not go on.
#[derive(Debug)]
pub enum RouteRefusal {
    /// A rule is broken.
    Refused(Refusal),
    /// The arguments are not valid under the row's schema: sent back, so that a model can correct itself.
    Arguments(Vec<SchemaFault>),
}

impl From<Refusal> for RouteRefusal {
    fn from(refusal: Refusal) -> RouteRefusal {
        RouteRefusal::Refused(refusal)
    }
}

/// Routes a call. The tool's name is compared by byte: no trimming, no case folding.
///
/// *Errors*: `tool_unknown`, `tool_not_listed`, the codes of a strict document under the label's limits, or the faults
/// under the row's schema.
pub fn route<'a>(table: &'a Table, agent: &Name, tool: &str, args: &[u8]) -> Result<Route<'a>, RouteRefusal> {
    let unknown = || {
        Refusal::new(Code::ToolUnknown, "the tool has no row in the effect table, so it does not run; ask its owner for a row").at("/tool")
    };
    let tool = Name::parse(tool).map_err(|_| unknown())?;
    let row = table.row(&tool).ok_or_else(unknown)?;
    let listed = table.agent(agent).is_some_and(|agent| agent.may_call(&tool));
    if !listed {
        let message = format!("the tool is not on the list of the agent `{agent}`; use a tool that `GET /v1/tools` names");
        return Err(Refusal::new(Code::ToolNotListed, message).at("/tool").into());
    }
    let limits = match row.effect {
        Effect::Read | Effect::Write => &Limits::CALL,
        Effect::Money => &Limits::MONEY,
    };
    let args = parse(args, limits).map_err(|refusal| refusal.under("/args"))?;
    if args.as_object().is_none() {
        return Err(Refusal::new(Code::ArgumentsInvalid, "the arguments are not an object; name each of them").at("/args").into());
    }
    row.validate(&args).map_err(RouteRefusal::Arguments)?;
    Ok(match row.effect {
        Effect::Read => Route::Read(row, args),
        Effect::Write => Route::Write(row, args),
        Effect::Money => Route::Money(row, args),
    })
}
