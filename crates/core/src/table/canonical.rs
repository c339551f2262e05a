//! The canonical objects of rows and lists: what is hashed, and so what an owner signs. Every member stands there, `null`
//! where there is none.

use super::row::{Agent, Credential, Declaration, Executor, Fact, Field, Format, Given, Idempotency, Need, Referent, ToolRead};
use crate::caps::{Amounts, Caps};
use crate::code::Refusal;
use crate::ids::{Effect, Name, Reversibility};
use crate::json::Json;
use crate::template::{ArgPath, Template};

impl Agent {
    /// The object that stands in a table.
    pub(super) fn to_json(&self) -> Json {
        Json::object([
            ("agent", self.agent.as_str().into()),
            ("tools", names(&self.tools)),
            ("callback_hosts", Json::array(&self.callback_hosts)),
            ("pending_max", self.pending_max.into()),
        ])
    }
}

impl Declaration {
    /// The object whose canonical form is hashed: every member, `null` where there is none.
    pub(super) fn to_json(&self) -> Result<Json, Refusal> {
        let money = self.effect == Effect::Money;
        let waiting = |seconds: u64| if money { Json::integer(seconds) } else { Ok(Json::Null) };
        let (key_valid_s, attempts_max, status) = match &self.idempotency {
            Idempotency::Key { key_valid_s, attempts_max } => (Json::integer(*key_valid_s)?, (*attempts_max).into(), Json::Null),
            Idempotency::Status(read) => (Json::Null, Json::Null, read.to_json()),
            Idempotency::None => (Json::Null, Json::Null, Json::Null),
        };
        let members = [
            ("v", Json::from(1_u32)),
            ("tool", self.tool.as_str().into()),
            ("effect", self.effect.as_str().into()),
            ("reversibility", self.reversibility.map(Reversibility::as_str).into()),
            ("undo", self.undo.clone().into()),
            ("owner", self.owner.as_str().into()),
            ("needs", Json::Array(self.needs.iter().map(Need::to_json).collect())),
            ("request_ttl_s", waiting(self.request_ttl_s)?),
            ("request_ttl_max_s", waiting(self.request_ttl_max_s)?),
            ("delay_s", waiting(self.delay_s)?),
            ("escalate_after_s", self.escalate_after_s.map(Json::integer).transpose()?.into()),
            ("caps", self.caps.as_ref().map(caps).transpose()?.into()),
            ("idempotency", self.idempotency.as_str().into()),
            ("key_valid_s", key_valid_s),
            ("attempts_max", attempts_max),
            ("settle_s", Json::integer(self.settle_s)?),
            ("status", status),
            ("no_effect_statuses", Json::array(self.no_effect_statuses.iter().map(|status| u32::from(*status)))),
            ("summary", self.summary.as_ref().map(Template::source).into()),
            ("business", paths(&self.business)),
            ("salient", paths(&self.salient)),
            ("touches", Json::array(self.touches.iter().map(Template::source))),
            ("triggers", names(&self.triggers)),
            ("fields", Json::Array(self.fields.iter().map(Field::to_json).collect())),
            ("facts", Json::Array(self.facts.iter().map(Fact::to_json).collect())),
            ("referents", Json::Array(self.referents.iter().map(Referent::to_json).collect())),
            ("state", self.state.as_ref().map(ToolRead::to_json).into()),
            ("receipt", self.receipt.clone().into()),
            ("log_full_body", self.log_full_body.into()),
            ("hits", self.hits.clone().into()),
            ("schema", self.schema.json().clone()),
            ("definition_sha256", self.definition_sha256.into()),
            ("executor", self.executor.to_json()?),
        ];
        Ok(Json::object(members))
    }
}

impl Need {
    /// The object that stands in a row and in a frozen request.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("role", self.role.as_str().into()),
            ("quorum", self.quorum.into()),
            ("escalate_to", self.escalate_to.as_ref().map(Name::as_str).into()),
        ])
    }
}

impl Field {
    fn to_json(&self) -> Json {
        let currency = match &self.format {
            Format::Money { currency } => Some(currency.to_string()),
            Format::Text | Format::Account | Format::Date => None,
        };
        Json::object([
            ("path", self.path.to_string().into()),
            ("label", (&self.label).into()),
            ("format", self.format.as_str().into()),
            ("currency", currency.into()),
        ])
    }
}

impl ToolRead {
    fn to_json(&self) -> Json {
        let args = self.args.iter().map(|(name, given)| {
            // A constant stands in an array, so that the constant "{x}" and the template "{x}" differ.
            let value = match given {
                Given::Template(template) => template.source().into(),
                Given::Constant(value) => Json::Array(vec![value.clone()]),
            };
            (name.clone(), value)
        });
        Json::object([("tool", self.tool.as_str().into()), ("args", Json::Object(args.collect()))])
    }
}

impl Fact {
    fn to_json(&self) -> Json {
        Json::object([("label", (&self.label).into()), ("read", self.read.to_json())])
    }
}

impl Referent {
    fn to_json(&self) -> Json {
        Json::object([("arg", self.arg.to_string().into()), ("read", self.read.to_json()), ("value", (&self.value).into())])
    }
}

impl Executor {
    fn to_json(&self) -> Result<Json, Refusal> {
        let (name, timeout_s, http) = match self {
            Executor::Http(http) => (None, Some(http.timeout_s), Some(http)),
            Executor::Mcp { upstream, timeout_s } => (Some(upstream), Some(*timeout_s), None),
            Executor::Remote { executor, timeout_s } => (Some(executor), Some(*timeout_s), None),
            Executor::Gate => (None, None, None),
        };
        Ok(Json::object([
            ("kind", self.as_str().into()),
            ("name", name.map(Name::as_str).into()),
            ("method", http.map(|http| http.method.as_str()).into()),
            ("url", http.map(|http| http.url.source()).into()),
            ("idempotency_header", http.and_then(|http| http.idempotency_header.clone()).into()),
            ("credential", http.and_then(|http| http.credential.as_ref()).map(Credential::to_string).into()),
            ("timeout_s", timeout_s.map(Json::integer).transpose()?.into()),
        ]))
    }
}

fn caps(caps: &Caps) -> Result<Json, Refusal> {
    let count = |count: Option<u64>| count.map(Json::integer).transpose();
    let amounts = caps.amounts.as_ref().map(|amounts| {
        Ok::<_, Refusal>(Json::object([
            ("amount", amounts.amount.to_string().into()),
            ("currency", amounts.currency.to_string().into()),
            ("per_call", by_currency(amounts.per_call.as_ref())?),
            ("per_run", by_currency(amounts.per_run.as_ref())?),
            ("per_day", by_currency(amounts.per_day.as_ref())?),
        ]))
    });
    Ok(Json::object([
        ("calls_per_run", count(caps.calls_per_run)?.into()),
        ("calls_per_hour", count(caps.calls_per_hour)?.into()),
        ("amounts", amounts.transpose()?.into()),
    ]))
}

fn by_currency(amounts: Option<&Amounts>) -> Result<Json, Refusal> {
    let Some(amounts) = amounts else { return Ok(Json::Null) };
    let members = amounts.iter().map(|(currency, amount)| Ok((currency.clone(), Json::integer(*amount)?)));
    Ok(Json::Object(members.collect::<Result<_, Refusal>>()?))
}

fn names(names: &[Name]) -> Json {
    Json::array(names.iter().map(Name::as_str))
}

fn paths(paths: &[ArgPath]) -> Json {
    Json::array(paths.iter().map(ArgPath::to_string))
}
