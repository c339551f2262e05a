//! What is unusual about a request: checks, each a sentence with a fact. Never advice.

use std::collections::BTreeMap;

use vidimus_core::render::{NodeKind, Reading};

use crate::mirror::{Mirror, MirrorFault};
use crate::review::card::{Card, Value};
use crate::review::payee;
use crate::review::table_change;
use crate::strings;
use crate::text::literal::{Why, has};
use crate::text::looks;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub id: &'static str,
    pub text: String,
    /// A short form for the inbox.
    pub flag: &'static str,
    /// Two values to be compared with all characters visible: what is known, what stands here.
    pub compared: Option<(String, String)>,
}

/// Everything that is unusual about a request, by itself and against the verified log.
pub fn of(card: &Card, mirror: &Mirror) -> Result<Vec<Warning>, MirrorFault> {
    let mut found = of_request(card);
    found.extend(payee::of(card, mirror)?);
    Ok(found)
}

fn of_request(card: &Card) -> Vec<Warning> {
    let mut found = Vec::new();
    let plain = |id, text, flag| Warning { id, text, flag, compared: None };
    let hidden = drawn_with(card, Why::Unseen);
    if !hidden.is_empty() {
        found.push(plain("hidden", strings::warn_hidden(&hidden), strings::FLAG_HIDDEN));
    }
    let disguised = drawn_with(card, Why::PassesForAnother);
    if !disguised.is_empty() {
        found.push(plain("disguised", strings::warn_disguised(&disguised), strings::FLAG_DISGUISED));
    }
    for (value, text) in card.texts() {
        if looks::has_mixed_script(text) {
            found.push(plain("mixed", strings::warn_mixed(&value.name()), strings::FLAG_MIXED));
        }
        if matches!(&value.reading, Some(Reading::Account { checked: Some(false), .. })) {
            found.push(plain("checksum", strings::warn_checksum(&value.name()), strings::FLAG_CHECKSUM));
        }
    }
    let without: Vec<String> = unlabelled(card);
    if !without.is_empty() {
        found.push(plain("unlabelled", strings::warn_unlabelled(&without), strings::FLAG_UNLABELLED));
    }
    if let Some(entries) = table_change::of(card) {
        let looser = table_change::loosened(&entries);
        found.extend(looser.into_iter().map(|text| plain("loosened", text, strings::FLAG_LOOSENED)));
    }
    found.extend(alike_inside(card));
    if let Some(frozen) = &card.frozen
        && !frozen.members().earlier.is_empty()
    {
        let earlier: Vec<String> = frozen.members().earlier.iter().map(ToString::to_string).collect();
        found.push(plain("earlier", strings::warn_earlier(&earlier), strings::FLAG_EARLIER));
    }
    found
}

/// Where values or their names hold chips for this reason.
fn drawn_with(card: &Card, reason: Why) -> Vec<String> {
    let holds = |value: &&Value| {
        (value.node.kind == NodeKind::String && has(&value.node.literal, reason))
            || value.node.key.as_deref().is_some_and(|key| has(key, reason))
    };
    card.values.iter().filter(holds).map(Value::path_text).collect()
}

/// Arguments at the top that the row does not label.
fn unlabelled(card: &Card) -> Vec<String> {
    let labelled_inside =
        |path: &str| card.values.iter().any(|value| value.node.label.is_some() && value.node.path.starts_with(&format!("{path}/")));
    card.values
        .iter()
        .filter(|value| value.depth == 0 && value.node.label.is_none() && !labelled_inside(&value.node.path))
        .map(Value::path_text)
        .collect()
}

/// Keys or values of one request that look like one another.
fn alike_inside(card: &Card) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for value in card.values.iter().filter(|value| value.node.key.is_some()) {
        let path = value.path_text();
        let folded: String = looks::look_alike_key(&path).chars().filter(|c| c.is_alphanumeric() || matches!(c, '.' | '[' | ']')).collect();
        keys.entry(folded).or_default().push(path);
    }
    for alike in keys.values().filter(|paths| paths.len() > 1) {
        found.push(Warning { id: "keys", text: strings::warn_keys(alike), flag: strings::FLAG_ALIKE, compared: None });
    }
    // By what each looks like, computed once: a change of the effect table has thousands of texts.
    let mut texts: BTreeMap<String, Vec<(&Value, &str)>> = BTreeMap::new();
    for (value, text) in card.texts().filter(|(_, text)| !text.is_empty()) {
        let alike = texts.entry(looks::look_alike_key(text)).or_default();
        if alike.iter().all(|(_, known)| *known != text) {
            alike.push((value, text));
        }
    }
    for alike in texts.values() {
        for (at, (one, text)) in alike.iter().enumerate() {
            for (other, other_text) in &alike[at + 1..] {
                found.push(Warning {
                    id: "alike",
                    text: strings::warn_alike_inside(&one.name(), &other.name()),
                    flag: strings::FLAG_ALIKE,
                    compared: Some(((*text).to_owned(), (*other_text).to_owned())),
                });
            }
        }
    }
    found
}
