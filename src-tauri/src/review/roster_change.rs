//! What a change of the roster does, old beside new, from the verified roster and the frozen arguments. The arguments themselves
//! stand below, every one of them.

use vidimus_core::decision::ROSTER_CHANGE;
use vidimus_core::ids::Name;
use vidimus_core::roster::{Person, RosterChange};

use super::card::Card;
use super::sections::{header, inner, person_name};
use crate::console::Console;
use crate::html::{Element, Tag, el};
use crate::mirror::Mirror;
use crate::sheets::parts::{fact, fingerprint};
use crate::strings;

/// The block, for a change of the roster; none for anything else.
pub fn section(console: &Console, card: &Card) -> Option<Element> {
    let members = card.frozen.as_ref()?.members();
    if members.tool.as_str() != ROSTER_CHANGE {
        return None;
    }
    let change = RosterChange::parse(&members.args).ok()?;
    let roster = console.read(Mirror::roster).flatten();
    let before = roster.as_ref().and_then(|roster| roster.person(change.person())).cloned();
    let after = roster.as_ref().and_then(|roster| RosterChange::next_roster(&members.args, roster).ok());
    let person = after.as_ref().and_then(|after| after.person(change.person())).cloned();
    let list = el(Tag::Dl).class("facts").attr("data-part", "roster-change");
    let list = fact(list, strings::FACT_CHANGE, words_of(&change));
    let name = members.args.member("name").and_then(vidimus_core::json::Json::as_str).unwrap_or_default();
    let list = fact(list, strings::FACT_PERSON, name);
    let list = fact(list, strings::FACT_ROLES_BEFORE, &roles(before.as_ref()));
    let list = fact(list, strings::FACT_ROLES_AFTER, &roles(person.as_ref()));
    let list = fact(list, strings::FACT_KEYS_BEFORE, &labels(before.as_ref()));
    let list = match members.proposer {
        Some(proposer) if before.is_some() || proposer != *change.person() => {
            fact(list, strings::FACT_ASKED_BY, &person_name(console, &proposer))
        }
        Some(_) | None => list,
    };
    let mut block = inner().child(list);
    for (name, key) in new_keys(&change) {
        block = block.child(fingerprint(name, &key));
    }
    if roster.is_some() && after.is_none() && matches!(card.listed.state.as_str(), "pending" | "approved") {
        block = block.child(el(Tag::P).class("message bad").text(strings::OTHER_ROSTER));
    }
    Some(el(Tag::Section).class("block").child(header(strings::ROSTER_CHANGES)).child(block))
}

const fn words_of(change: &RosterChange) -> &'static str {
    match change {
        RosterChange::Admit(_) => strings::CHANGE_ADMIT,
        RosterChange::AddKeys(_) => strings::CHANGE_ADD_KEYS,
        RosterChange::SetRoles { .. } => strings::CHANGE_SET_ROLES,
        RosterChange::Remove { .. } => strings::CHANGE_REMOVE,
    }
}

fn roles(person: Option<&Person>) -> String {
    person.map_or_else(|| strings::STATE_NONE.to_owned(), |person| person.roles.iter().map(Name::as_str).collect::<Vec<_>>().join(", "))
}

/// The computers whose keys count.
fn labels(person: Option<&Person>) -> String {
    let mut labels: Vec<&str> = Vec::new();
    for key in person.iter().flat_map(|person| &person.keys).filter(|key| key.stopped_at.is_none()) {
        if labels.last() != Some(&key.label.as_str()) {
            labels.push(&key.label);
        }
    }
    if labels.is_empty() { strings::STATE_NONE.to_owned() } else { labels.join(", ") }
}

fn new_keys(change: &RosterChange) -> Vec<(&'static str, String)> {
    let two = |approval: String, device: String| vec![(strings::NEW_APPROVAL_KEY, approval), (strings::NEW_DEVICE_KEY, device)];
    match change {
        RosterChange::Admit(admission) => two(admission.approval_key.digest().to_string(), admission.device_key.digest().to_string()),
        RosterChange::AddKeys(keys) => two(keys.approval_key.digest().to_string(), keys.device_key.digest().to_string()),
        RosterChange::SetRoles { .. } | RosterChange::Remove { .. } => Vec::new(),
    }
}
