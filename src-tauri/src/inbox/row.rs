//! One row of the inbox. Strings only.

use vidimus_core::render::NodeKind;

use super::{Flag, InboxRow, agent_of};
use crate::console::{Console, Standing};
use crate::errors::Told;
use crate::mirror::RequestRow;
use crate::review::card::Card;
use crate::strings;
use crate::text::money::grouped;
use crate::text::time;
use crate::wire::EffectWord;

/// The row of a request, and until when it waits where it does. Nothing where the log holds no such request for this person.
pub fn of(console: &Console, standing: Option<&Standing>, request: &str, now_ms: i64) -> Option<(InboxRow, Option<i64>)> {
    let card = console
        .read(|mirror| mirror.request(request)?.map(|listed| console.cards.of(mirror, &console.tables, listed)).transpose())
        .flatten()?;
    let listed = &card.listed;
    if listed.frozen.is_none() && listed.body_fault.is_none() {
        return None;
    }
    let eligible = match standing {
        Some(standing) => card.role_of(standing).map(|_| ()),
        None => Err(Told::new("E-KEY-6", strings::KEY_WAITING)),
    };
    let waits_until_ms = (listed.state == "pending").then_some(listed.waits_until_ms);
    Some((drawn(console, &card, &eligible, now_ms), waits_until_ms))
}

fn drawn(console: &Console, card: &Card, eligible: &Result<(), Told>, now_ms: i64) -> InboxRow {
    let listed = &card.listed;
    let members = card.frozen.as_ref().map(vidimus_core::frozen::FrozenRequest::members);
    let left_ms = listed.waits_until_ms - now_ms;
    let waiting = listed.state == "pending";
    let needed = members.map_or(1, |members| members.needs.iter().map(|need| need.quorum).sum::<u32>());
    let mut flags: Vec<Flag> = Vec::new();
    for warning in &card.warnings {
        if !flags.iter().any(|flag| flag.text == warning.flag) {
            flags.push(Flag { id: warning.id, text: warning.flag });
        }
    }
    if card.fault.is_some() {
        flags.insert(0, Flag { id: "fault", text: strings::FLAG_FAULT });
    }
    if waiting && listed.orphaned_at_ms.is_some() {
        flags.insert(0, Flag { id: "orphaned", text: strings::FLAG_ORPHANED });
    }
    if waiting && listed.escalated {
        flags.insert(0, Flag { id: "escalated", text: strings::FLAG_ESCALATED });
    }
    let tombstone_text = (!waiting).then(|| tombstone(console, listed));
    let mut row = InboxRow {
        request: listed.request.clone(),
        state: listed.state.clone(),
        effect: members.map_or(EffectWord::Money, |members| members.effect.into()),
        reversibility: card.friction().into(),
        headline: card.headline(),
        argument_count: grouped(
            &card.values.iter().filter(|value| !matches!(value.node.kind, NodeKind::Object | NodeKind::Array)).count().to_string(),
        ),
        tool: listed.tool.clone(),
        agent: agent_of(&listed.agent),
        on_behalf_of: members.and_then(|members| members.on_behalf_of.clone()),
        flags,
        expires_in_text: time::left(listed.waits_until_ms, now_ms),
        expires_soon: waiting && left_ms < 60_000,
        expires_at_text: time::day_and_time(listed.waits_until_ms, now_ms, &console.zone),
        received_at_text: time::day_and_time(listed.at_ms, now_ms, &console.zone),
        approvals_text: strings::approvals_short(needed, listed.given),
        eligible: eligible.is_ok(),
        not_eligible_text: eligible.as_ref().err().map(|told| told.text.clone()),
        tombstone_text,
        accessible_name: String::new(),
    };
    row.accessible_name = accessible_name(&row);
    row
}

fn tombstone(console: &Console, listed: &RequestRow) -> String {
    let decisions = console.read(|mirror| mirror.decisions(&listed.request)).unwrap_or_default();
    let by = decisions.last().and_then(|decision| {
        let roster = console.read(crate::mirror::Mirror::roster).flatten()?;
        let id = decision.approver.parse().ok()?;
        roster.person(&id).map(|person| person.name.clone())
    });
    let at = time::hour_minute(
        listed.ended_at_ms.or_else(|| decisions.last().map(|decision| decision.at_ms)).unwrap_or(listed.at_ms),
        &console.zone,
    );
    strings::tombstone(&listed.state, by.as_deref(), &at)
}

fn accessible_name(row: &InboxRow) -> String {
    let what = row.headline.clone().unwrap_or_else(|| strings::no_template(&row.argument_count));
    let flags: Vec<&str> = row.flags.iter().map(|flag| flag.text).collect();
    let state = row.tombstone_text.clone().unwrap_or_else(|| strings::expires_in(&row.expires_in_text));
    [row.reversibility.as_str(), row.effect.as_str(), &state, &what, &row.tool, &row.agent, &flags.join(", "), &row.approvals_text]
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(", ")
}
