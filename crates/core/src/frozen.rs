//! The frozen request: the exact bytes that an approver sees, signs and an executor runs. Owns its members, its digests
//! and the strict reader; knows neither the row's rules nor who may decide.

use std::collections::BTreeSet;

use crate::bytes::{Digest, Salt, tagged};
use crate::code::{Code, Refusal};
use crate::ids::{CallId, Effect, Environment, GateId, Name, PersonId, RequestId, Reversibility, RunId};
use crate::json::{Fields, Json, Limits, parse_canonical};
use crate::limits::RENDERED_BYTES_MAX;
use crate::render::rendered_bytes;
pub use crate::table::Need;
use crate::time::Timestamp;

/// An agent in the chain of a call: itself first, then the ones that sent it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainLink {
    /// The agent.
    pub agent: Name,
    /// The person who answers for it.
    pub owner: Option<PersonId>,
}

impl ChainLink {
    /// As it stands in frozen bytes, and in the record of a write.
    pub fn to_json(&self) -> Json {
        Json::object([("agent", self.agent.as_str().into()), ("owner", self.owner.map(|owner| owner.to_string()).into())])
    }

    /// Reads what [`ChainLink::to_json`] makes, and nothing else.
    ///
    /// *Errors*: those of a strict document.
    pub fn from_json(json: &Json) -> Result<ChainLink, Refusal> {
        ChainLink::of_fields(&Fields::exactly(json, CHAIN_LINK)?)
    }

    fn of_fields(fields: &Fields<'_>) -> Result<ChainLink, Refusal> {
        Ok(ChainLink { agent: fields.parsed("agent")?, owner: fields.optional_parsed("owner")? })
    }
}

const CHAIN_LINK: &[&str] = &["agent", "owner"];

/// The members of a frozen request, all but its version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Draft {
    /// The gate that holds the call.
    pub gate: GateId,
    /// Its environment.
    pub environment: Environment,
    /// The approval request.
    pub request: RequestId,
    /// The call that asked.
    pub call: CallId,
    /// The run it belongs to.
    pub run: RunId,
    /// Who asked, and who sent them.
    pub agents: Vec<ChainLink>,
    /// For whom, from the agent's credential; never from a body.
    pub on_behalf_of: Option<String>,
    /// The person who proposed it; for the gate's own tools.
    pub proposer: Option<PersonId>,
    /// The MCP server.
    pub upstream: Option<Name>,
    /// The tool.
    pub tool: Name,
    /// Digest of the MCP server's definition of the tool.
    pub definition_sha256: Option<Digest>,
    /// Digest of the tool's row.
    pub row_sha256: Digest,
    /// Digest of the whole table.
    pub table_sha256: Digest,
    /// What the tool can do.
    pub effect: Effect,
    /// How far it can be taken back.
    pub reversibility: Reversibility,
    /// The care that approving takes: the reversibility, or irreversible after an equal business effect.
    pub friction: Reversibility,
    /// Who must approve.
    pub needs: Vec<Need>,
    /// Digest of the business effect.
    pub business_sha256: Digest,
    /// What the arguments name, resolved.
    pub referents: Json,
    /// Earlier requests with the same business effect.
    pub earlier: Vec<RequestId>,
    /// Keeps the arguments' digest from being guessed back.
    pub salt: Salt,
    /// When the call was frozen.
    pub created_at: Timestamp,
    /// Until when it waits, if nobody asks for more time.
    pub expires_at: Timestamp,
    /// The last moment, whatever is asked.
    pub expires_max_at: Timestamp,
    /// The arguments.
    pub args: Json,
}

const MEMBERS: &[&str] = &[
    "v",
    "gate",
    "environment",
    "request",
    "call",
    "run",
    "agents",
    "on_behalf_of",
    "proposer",
    "upstream",
    "tool",
    "definition_sha256",
    "row_sha256",
    "table_sha256",
    "effect",
    "reversibility",
    "friction",
    "needs",
    "business_sha256",
    "referents",
    "earlier",
    "salt",
    "created_at",
    "expires_at",
    "expires_max_at",
    "args",
];

/// A request whose bytes are fixed.
///
/// *Invariant*: `bytes` are the canonical form of the members, so the digests are the request's identity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrozenRequest {
    draft: Draft,
    bytes: Vec<u8>,
    args: Vec<u8>,
}

/// Digest of arguments under a salt: SHA-256("vidimus.args.v1" ‖ 0 ‖ salt ‖ canonical arguments).
pub fn args_sha256(salt: &Salt, canonical_args: &[u8]) -> Digest {
    tagged("vidimus.args.v1", [salt.as_bytes(), canonical_args])
}

/// Digest of a business effect: the tool and the parts that make two calls the same deed.
pub fn business_sha256(tool: &Name, parts: Vec<Json>) -> Result<Digest, Refusal> {
    let canonical = Json::Array(vec![tool.as_str().into(), Json::Array(parts)]).canonical()?;
    Ok(tagged("vidimus.business.v1", [&canonical]))
}

impl FrozenRequest {
    /// Freezes a draft.
    ///
    /// *Errors*: `frozen_malformed` for members that contradict each other, `json_too_large` for arguments that nobody could be
    /// shown, `json_number_inexact` for arguments without an exact canonical form.
    pub fn freeze(draft: Draft) -> Result<FrozenRequest, Refusal> {
        let contradiction = |path: &str, message: &str| Err(Refusal::new(Code::FrozenMalformed, message).at(path));
        if draft.created_at >= draft.expires_at || draft.expires_at > draft.expires_max_at {
            return contradiction("/expires_at", "the times are out of order; a request waits after it was made");
        }
        if draft.friction < draft.reversibility {
            return contradiction("/friction", "the friction is below the reversibility; it can only be raised");
        }
        let roles: BTreeSet<&Name> = draft.needs.iter().map(|need| &need.role).collect();
        if draft.needs.is_empty() || roles.len() != draft.needs.len() || draft.needs.iter().any(|need| need.quorum == 0) {
            return contradiction("/needs", "a request needs one person or more, each role named once");
        }
        if draft.args.as_object().is_none() {
            return contradiction("/args", "the arguments are not an object; name each of them");
        }
        let rendered = rendered_bytes(&draft.args);
        if rendered > RENDERED_BYTES_MAX {
            let message =
                format!("the arguments with their names would be `{rendered}` bytes to show; shorten the names or send less at once");
            return Err(Refusal::new(Code::JsonTooLarge, message).at("/args"));
        }
        let args = draft.args.canonical()?;
        let bytes = to_json(&draft).canonical()?;
        Ok(FrozenRequest { draft, bytes, args })
    }

    /// Reads a frozen request from its bytes.
    ///
    /// *Errors*: `not_canonical` and the other codes of a strict document, `frozen_malformed`.
    pub fn parse(bytes: &[u8]) -> Result<FrozenRequest, Refusal> {
        let json = parse_canonical(bytes, &Limits::FROZEN)?;
        FrozenRequest::freeze(from_json(&json)?)
    }

    /// The members.
    pub const fn members(&self) -> &Draft {
        &self.draft
    }

    /// The frozen bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The canonical bytes of the arguments: what the executor sends.
    pub fn canonical_args(&self) -> &[u8] {
        &self.args
    }

    /// SHA-256 of the frozen bytes.
    pub fn request_sha256(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    /// Salted digest of the arguments.
    pub fn args_sha256(&self) -> Digest {
        args_sha256(&self.draft.salt, &self.args)
    }
}

fn to_json(draft: &Draft) -> Json {
    let agents: Vec<Json> = draft.agents.iter().map(ChainLink::to_json).collect();
    let needs: Vec<Json> = draft.needs.iter().map(Need::to_json).collect();
    let earlier: Vec<Json> = draft.earlier.iter().map(|request| request.to_string().into()).collect();
    Json::object([
        ("v", 1_u32.into()),
        ("gate", draft.gate.to_string().into()),
        ("environment", draft.environment.as_str().into()),
        ("request", draft.request.to_string().into()),
        ("call", draft.call.to_string().into()),
        ("run", draft.run.to_string().into()),
        ("agents", agents.into()),
        ("on_behalf_of", draft.on_behalf_of.clone().into()),
        ("proposer", draft.proposer.map(|person| person.to_string()).into()),
        ("upstream", draft.upstream.as_ref().map(|name| name.as_str()).into()),
        ("tool", draft.tool.as_str().into()),
        ("definition_sha256", draft.definition_sha256.map(|digest| digest.to_string()).into()),
        ("row_sha256", draft.row_sha256.to_string().into()),
        ("table_sha256", draft.table_sha256.to_string().into()),
        ("effect", draft.effect.as_str().into()),
        ("reversibility", draft.reversibility.as_str().into()),
        ("friction", draft.friction.as_str().into()),
        ("needs", needs.into()),
        ("business_sha256", draft.business_sha256.to_string().into()),
        ("referents", draft.referents.clone()),
        ("earlier", earlier.into()),
        ("salt", draft.salt.to_string().into()),
        ("created_at", draft.created_at.to_string().into()),
        ("expires_at", draft.expires_at.to_string().into()),
        ("expires_max_at", draft.expires_max_at.to_string().into()),
        ("args", draft.args.clone()),
    ])
}

fn from_json(json: &Json) -> Result<Draft, Refusal> {
    let fields = Fields::exactly(json, MEMBERS)?;
    fields.version(1)?;
    let malformed = |path: &str| {
        Refusal::new(Code::FieldMalformed, "a value has another form than the protocol says; ask for the right bytes").at(path)
    };
    let object = |name: &str| -> Result<Json, Refusal> {
        let value = fields.value(name)?;
        if value.as_object().is_some() { Ok(value.clone()) } else { Err(malformed(&fields.path_of(name))) }
    };
    let agents = fields.objects("agents", CHAIN_LINK)?;
    let agents = agents.iter().map(ChainLink::of_fields);
    let needs = fields.objects("needs", &["role", "quorum", "escalate_to"])?;
    let needs = needs.iter().map(|need| {
        let quorum = u32::try_from(need.integer("quorum")?).map_err(|_| malformed(&need.path_of("quorum")))?;
        Ok(Need { role: need.parsed("role")?, quorum, escalate_to: need.optional_parsed("escalate_to")? })
    });
    let earlier = fields.strings("earlier")?;
    let earlier = earlier.iter().map(|request| request.parse().map_err(|refusal: Refusal| refusal.at("/earlier")));
    Ok(Draft {
        gate: fields.parsed("gate")?,
        environment: fields.parsed("environment")?,
        request: fields.parsed("request")?,
        call: fields.parsed("call")?,
        run: fields.parsed("run")?,
        agents: agents.collect::<Result<_, Refusal>>()?,
        on_behalf_of: fields.optional_string("on_behalf_of")?.map(str::to_owned),
        proposer: fields.optional_parsed("proposer")?,
        upstream: fields.optional_parsed("upstream")?,
        tool: fields.parsed("tool")?,
        definition_sha256: fields.optional_parsed("definition_sha256")?,
        row_sha256: fields.parsed("row_sha256")?,
        table_sha256: fields.parsed("table_sha256")?,
        effect: fields.parsed("effect")?,
        reversibility: fields.parsed("reversibility")?,
        friction: fields.parsed("friction")?,
        needs: needs.collect::<Result<_, Refusal>>()?,
        business_sha256: fields.parsed("business_sha256")?,
        referents: object("referents")?,
        earlier: earlier.collect::<Result<_, Refusal>>()?,
        salt: fields.parsed("salt")?,
        created_at: fields.parsed("created_at")?,
        expires_at: fields.parsed("expires_at")?,
        expires_max_at: fields.parsed("expires_max_at")?,
        args: object("args")?,
    })
}
