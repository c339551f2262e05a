//! What the verified copy of the log knows of whom a request names: each finding one sentence with a fact.
//!
//! It says what it looked at and what this person's roles keep from it, and never that something is safe.

use jiff::tz::TimeZone;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::json::Json;
use vidimus_core::render::{NodeKind, Reading};
use vidimus_core::table::{Format, Row};

use crate::limits::REPEAT_DAYS;
use crate::mirror::{Mirror, MirrorFault, Naming, stands_for};
use crate::review::card::{Card, Value};
use crate::review::warnings::Warning;
use crate::strings;
use crate::text::literal::one_line;
use crate::text::time;

/// A value of the request that names somebody, with what is known of it.
struct Named<'c> {
    value: &'c Value,
    text: &'c str,
    is_account: bool,
    stands_for: Option<String>,
    earlier: Vec<Naming>,
}

/// What is unusual about whom the request names.
pub fn of(card: &Card, mirror: &Mirror) -> Result<Vec<Warning>, MirrorFault> {
    let (Some(row), Some(frozen)) = (&card.row, &card.frozen) else { return Ok(Vec::new()) };
    let before = card.listed.position;
    let hidden = mirror.hidden_requests(before)?;
    let named = named(card, row, frozen, mirror)?;
    let mut found = Vec::new();
    for one in &named {
        let approved = one.earlier.iter().find(|earlier| earlier.state != "pending");
        match approved {
            Some(last) => found.extend(changed(one, last, &named)),
            None => found.extend(unknown_here(one, mirror, before, hidden)?),
        }
    }
    let payees: Vec<&Named<'_>> = payees(&named).collect();
    found.extend(repeated(card, &payees));
    found.extend(in_doubt(&payees, mirror)?);
    Ok(found)
}

/// Earlier requests of the same tool that named the same payee and were approved, newest first.
pub fn same_payee(card: &Card, mirror: &Mirror) -> Result<Vec<Naming>, MirrorFault> {
    let (Some(row), Some(frozen)) = (&card.row, &card.frozen) else { return Ok(Vec::new()) };
    let named = named(card, row, frozen, mirror)?;
    let mut of_all: Option<Vec<Naming>> = None;
    for one in payees(&named) {
        let also = |naming: &Naming| one.earlier.iter().any(|earlier| earlier.request == naming.request);
        of_all = Some(match of_all {
            None => one.earlier.clone(),
            Some(kept) => kept.into_iter().filter(also).collect(),
        });
    }
    let mut found = of_all.unwrap_or_default();
    found.retain(|naming| naming.state != "pending" && naming.tool == row.tool.as_str());
    Ok(found)
}

fn named<'c>(card: &'c Card, row: &Row, frozen: &FrozenRequest, mirror: &Mirror) -> Result<Vec<Named<'c>>, MirrorFault> {
    let mut found = Vec::new();
    for value in card.values.iter().filter(|value| value.node.kind == NodeKind::String && !value.node.literal.is_empty()) {
        let is_account = matches!(value.node.format, Some(Format::Account));
        if is_account || row.salient.iter().any(|path| path.pointer() == value.node.path) {
            let text = value.node.literal.as_str();
            let stands_for = stands_for(&frozen.members().referents, &value.node.path);
            found.push(Named { value, text, is_account, stands_for, earlier: mirror.named(text, card.listed.position)? });
        }
    }
    Ok(found)
}

/// Who is paid: the accounts, or where there are none whatever else names somebody.
fn payees<'n, 'c>(named: &'n [Named<'c>]) -> impl Iterator<Item = &'n Named<'c>> {
    let by_account = named.iter().any(|one| one.is_account);
    named.iter().filter(move |one| one.is_account || !by_account)
}

/// Never approved before: it looks like one that was, or it is new.
fn unknown_here(one: &Named<'_>, mirror: &Mirror, before: u64, hidden: u64) -> Result<Option<Warning>, MirrorFault> {
    if let Some(like) = mirror.named_alike(one.text, before)? {
        let times = mirror.times_approved(&like.value, before)?;
        let text = strings::warn_looks_known(&one.value.name(), &one_line(&like.value), times, &difference(&like.value, one.text));
        let compared = Some((like.value, one.text.to_owned()));
        return Ok(Some(Warning { id: "known", text, flag: strings::FLAG_ALIKE, compared }));
    }
    let text = strings::warn_new(&one.value.name(), mirror.size(), hidden);
    Ok(one.is_account.then_some(Warning { id: "new", text, flag: strings::FLAG_NEW, compared: None }))
}

/// Where two values that look alike differ first.
fn difference(known: &str, here: &str) -> String {
    let (mut known, mut here) = (known.chars(), here.chars());
    let mut number = 1;
    loop {
        match (known.next(), here.next()) {
            (Some(there), Some(here)) if there == here => number += 1,
            (there, here) => return strings::first_difference(number, there, here),
        }
    }
}

/// The payee was paid before, to another account.
fn changed(one: &Named<'_>, last: &Naming, named: &[Named<'_>]) -> Option<Warning> {
    let (before, now) = match (&last.stands_for, &one.stands_for) {
        (Some(before), Some(now)) if before != now => (before.clone(), now.clone()),
        (Some(_) | None, Some(_) | None) => {
            let account = named.iter().find(|other| other.is_account && !one.is_account)?;
            let there = FrozenRequest::parse(last.frozen.as_ref()?.as_bytes()).ok()?;
            let before = there.members().args.pointer(&account.value.node.path)?.as_str()?.to_owned();
            (before != account.text).then(|| (before, account.text.to_owned()))?
        }
    };
    let at = time::whole(last.at_ms, &TimeZone::UTC);
    let text = strings::warn_account_changed(&one.value.name(), &one_line(one.text), &at, &last.request);
    Some(Warning { id: "account", text, flag: strings::FLAG_ACCOUNT, compared: Some((before, now)) })
}

/// The same payee and the same amount not long ago.
fn repeated(card: &Card, payees: &[&Named<'_>]) -> Option<Warning> {
    let frozen = card.frozen.as_ref()?;
    let amounts: Vec<&Value> = card.values.iter().filter(|value| matches!(value.reading, Some(Reading::Money(_)))).collect();
    let since_ms = card.listed.at_ms - i64::from(REPEAT_DAYS) * 24 * 3_600_000;
    let first = payees.first().filter(|_| !amounts.is_empty())?;
    let same: Vec<&Naming> = first
        .earlier
        .iter()
        .filter(|earlier| earlier.at_ms >= since_ms)
        .filter(|earlier| payees.iter().all(|payee| payee.earlier.iter().any(|other| other.request == earlier.request)))
        .filter(|earlier| {
            let text = earlier.frozen.as_deref().unwrap_or_default();
            FrozenRequest::parse(text.as_bytes()).is_ok_and(|there| amounts.iter().all(|amount| same_amount(amount, frozen, &there)))
        })
        .collect();
    let last = same.first()?;
    let at = time::whole(last.at_ms, &TimeZone::UTC);
    let text = strings::warn_repeated(same.len(), REPEAT_DAYS, &at, &last.request, strings::stands(&last.state));
    Some(Warning { id: "repeated", text, flag: strings::FLAG_REPEATED, compared: None })
}

fn same_amount(amount: &Value, here: &FrozenRequest, there: &FrozenRequest) -> bool {
    let Some(Format::Money { currency }) = &amount.node.format else { return false };
    let path = &amount.node.path;
    let literal = |frozen: &FrozenRequest| frozen.members().args.pointer(path).and_then(|value| value.canonical().ok());
    let code = |frozen: &FrozenRequest| currency.find(&frozen.members().args).and_then(Json::as_str).map(ToOwned::to_owned);
    literal(there).is_some() && literal(here) == literal(there) && code(here) == code(there)
}

/// What became of an earlier payment to the payee is not known.
fn in_doubt(payees: &[&Named<'_>], mirror: &Mirror) -> Result<Option<Warning>, MirrorFault> {
    let mut unsettled: Vec<String> = Vec::new();
    for earlier in payees.iter().flat_map(|payee| &payee.earlier).filter(|earlier| earlier.state == "consumed") {
        let state = mirror.last_operation(&earlier.request)?;
        let open = state.as_deref().is_some_and(|state| matches!(state, "unknown" | "needs_reconciliation"));
        if open && !unsettled.contains(&earlier.request) {
            unsettled.push(earlier.request.clone());
        }
    }
    let text = strings::warn_in_doubt(&unsettled);
    Ok((!unsettled.is_empty()).then_some(Warning { id: "doubt", text, flag: strings::FLAG_DOUBT, compared: None }))
}
