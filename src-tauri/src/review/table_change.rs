//! A change of the effect table, as old → new: each row and list, each member in words, what became looser marked.
//!
//! The arguments below hold the same values one by one; this says what they mean. It must not know where the change came from.

use std::collections::BTreeSet;

use vidimus_core::json::Json;
use vidimus_core::table::TABLE_CHANGE;

use crate::html::{Element, Tag, el};
use crate::review::card::Card;
use crate::review::sections::{header, inner};
use crate::strings;
use crate::trusted::literal;

/// A member that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name in the canonical row.
    pub name: String,
    pub from: String,
    pub to: String,
    /// The new value asks less of people than the old one, or lets more through.
    pub loosened: bool,
}

/// A row or a list that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub is_agent: bool,
    pub name: String,
    pub change: String,
    pub members: Vec<Member>,
}

/// What a request changes in the table; nothing for any other tool's request.
pub fn of(card: &Card) -> Option<Vec<Entry>> {
    let members = card.frozen.as_ref()?.members();
    (members.tool.as_str() == TABLE_CHANGE).then(|| entries(&members.args))
}

/// The entries of the arguments of a change.
pub fn entries(args: &Json) -> Vec<Entry> {
    let list = |list: &str, named: &str, is_agent: bool| -> Vec<Entry> {
        let entries = args.member(list).and_then(Json::as_array).unwrap_or_default();
        entries.iter().map(|entry| entry_of(entry, named, is_agent)).collect()
    };
    let mut all = list("rows", "tool", false);
    all.extend(list("agents", "agent", true));
    all
}

fn entry_of(entry: &Json, named: &str, is_agent: bool) -> Entry {
    let text = |name: &str| entry.member(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let change = text("change");
    let members = entry.member("members").and_then(Json::as_array).unwrap_or_default();
    let members = members.iter().map(|member| {
        let name = member.member("member").and_then(Json::as_str).unwrap_or_default().to_owned();
        let (from, to) = (member.member("from").unwrap_or(&Json::Null), member.member("to").unwrap_or(&Json::Null));
        let (from_text, to_text) = changed_words(&name, from, to);
        Member { loosened: change == "changed" && loosens(&name, from, to), name, from: from_text, to: to_text }
    });
    Entry { is_agent, name: text(named), members: members.collect(), change }
}

/// Whether the new value of a member asks less of people, or lets more through, than the old one.
pub fn loosens(member: &str, from: &Json, to: &Json) -> bool {
    let (less, more) = (|| number(to) < number(from), || number(to) > number(from));
    match member {
        "effect" => rank(&["read", "write", "money"], to) < rank(&["read", "write", "money"], from),
        "reversibility" => {
            let order = ["reversible", "compensable", "irreversible"];
            rank(&order, to) < rank(&order, from)
        }
        "needs" => needs_loosened(from, to),
        "request_ttl_s" | "request_ttl_max_s" | "key_valid_s" | "attempts_max" | "pending_max" => more(),
        "delay_s" | "settle_s" => less(),
        // Sooner, or at all: another role may decide.
        "escalate_after_s" => from.is_null() || (!to.is_null() && less()),
        "log_full_body" => to.as_bool() == Some(true),
        // Fewer arguments make two deeds the same; fewer are asked for.
        "business" | "salient" | "facts" | "triggers" | "fields" => !gone(from, to).is_empty(),
        "no_effect_statuses" | "tools" | "callback_hosts" => !gone(to, from).is_empty(),
        "caps" => caps_loosened(from, to),
        "executor" => redirected(from, to),
        // Where there was no question before, one more is only asked.
        "status" => !from.is_null() && (to.is_null() || redirected(from, to)),
        "state" | "receipt" | "hits" | "definition_sha256" => to.is_null(),
        _ => false,
    }
}

fn number(json: &Json) -> Option<u64> {
    json.as_number().and_then(vidimus_core::json::Number::as_u64)
}

fn rank(order: &[&str], json: &Json) -> Option<usize> {
    order.iter().position(|word| json.as_str() == Some(word))
}

/// The elements of a list that another one lacks, as text.
fn gone(from: &Json, to: &Json) -> Vec<String> {
    let texts = |json: &Json| -> BTreeSet<String> { json.as_array().unwrap_or_default().iter().map(plain).collect() };
    let kept = texts(to);
    texts(from).into_iter().filter(|text| !kept.contains(text)).collect()
}

fn needs_loosened(from: &Json, to: &Json) -> bool {
    let needs = |json: &Json| -> Vec<(String, u64, bool)> {
        let text = |need: &Json| need.member("role").and_then(Json::as_str).unwrap_or_default().to_owned();
        let quorum = |need: &Json| need.member("quorum").and_then(number).unwrap_or(0);
        let passed_on = |need: &Json| need.member("escalate_to").is_some_and(|role| !role.is_null());
        json.as_array().unwrap_or_default().iter().map(|need| (text(need), quorum(need), passed_on(need))).collect()
    };
    let (from, to) = (needs(from), needs(to));
    from.iter().any(|(role, quorum, passed_on)| {
        let same = to.iter().find(|(other, ..)| other == role);
        same.is_none_or(|(_, now, now_passed_on)| now < quorum || (*now_passed_on && !passed_on))
    })
}

/// A limit that is gone or higher than it was.
fn caps_loosened(from: &Json, to: &Json) -> bool {
    match (from, to) {
        (Json::Null, _) => false,
        (_, Json::Null) => true,
        (Json::Object(members), _) => members.iter().any(|(name, value)| caps_loosened(value, to.member(name).unwrap_or(&Json::Null))),
        (Json::Number(_), _) => number(to) > number(from),
        (Json::Bool(_) | Json::String(_) | Json::Array(_), _) => from != to,
    }
}

/// Something besides the time that an answer may take: calls, or questions about them, go elsewhere or with another credential.
fn redirected(from: &Json, to: &Json) -> bool {
    let rest = |json: &Json| -> Vec<(String, Option<Vec<u8>>)> {
        let Json::Object(members) = json else { return vec![(String::new(), json.canonical().ok())] };
        let members = members.iter().filter(|(name, _)| name.as_str() != "timeout_s");
        members.map(|(name, value)| (name.clone(), value.canonical().ok())).collect()
    };
    rest(from) != rest(to)
}

/// Both values in words; of two lists of texts only what comes and what goes.
fn changed_words(member: &str, from: &Json, to: &Json) -> (String, String) {
    let names = |json: &Json| json.as_array().is_some_and(|values| values.iter().all(|value| value.as_str().is_some()));
    if names(from) && names(to) {
        let listed = |texts: Vec<String>, word: fn(&str) -> String| if texts.is_empty() { String::new() } else { word(&texts.join(", ")) };
        return (listed(gone(from, to), strings::change_without), listed(gone(to, from), strings::change_with));
    }
    if let (Json::Object(before), Json::Object(after)) = (from, to) {
        return (members_apart(before, to), members_apart(after, from));
    }
    (words(member, from), words(member, to))
}

/// The members of an object that another one lacks or has otherwise: what differs, and not all the rest around it.
fn members_apart(members: &[(String, Json)], other: &Json) -> String {
    let apart = members.iter().filter(|(name, value)| other.member(name) != Some(value));
    let named: Vec<String> = apart.map(|(name, value)| strings::change_member(name, &plain(value))).collect();
    named.join("; ")
}

fn words(member: &str, value: &Json) -> String {
    if value.is_null() {
        return strings::CHANGE_NONE.to_owned();
    }
    if member == "needs" {
        let needs = value.as_array().unwrap_or_default().iter().map(|need| {
            let role = need.member("role").and_then(Json::as_str).unwrap_or_default();
            let quorum = need.member("quorum").and_then(number).unwrap_or(0);
            strings::change_need(quorum, role, need.member("escalate_to").and_then(Json::as_str))
        });
        let needs: Vec<String> = needs.collect();
        return if needs.is_empty() { strings::CHANGE_NOBODY.to_owned() } else { needs.join("; ") };
    }
    match value {
        Json::Bool(true) => strings::CHANGE_YES.to_owned(),
        Json::Bool(false) => strings::CHANGE_NO.to_owned(),
        Json::Number(_) if member.ends_with("_s") => strings::change_seconds(number(value).unwrap_or(0)),
        Json::Null | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => plain(value),
    }
}

/// A text as it is, anything else as canonical JSON.
fn plain(value: &Json) -> String {
    if let Some(text) = value.as_str() {
        return text.to_owned();
    }
    value.canonical().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// What became looser, one sentence for each row; nothing where nothing did.
pub fn loosened(entries: &[Entry]) -> Vec<String> {
    let sentence = |entry: &Entry| {
        let members: Vec<&str> =
            entry.members.iter().filter(|member| member.loosened).map(|member| strings::member_label(&member.name)).collect();
        (!members.is_empty()).then(|| strings::loosened_in(&entry.name, &members))
    };
    entries.iter().filter_map(sentence).collect()
}

/// The section of the review page.
pub fn section(card: &Card) -> Option<Element> {
    let entries = of(card)?;
    let mut body = inner().child(el(Tag::P).class("quiet").text(strings::change_counted(
        entries.iter().filter(|entry| !entry.is_agent).count(),
        entries.iter().filter(|entry| entry.is_agent).count(),
    )));
    for entry in &entries {
        body = body.child(drawn(entry));
    }
    Some(el(Tag::Section).class("block").attr("data-part", "table-change").child(header(strings::TABLE_CHANGES)).child(body))
}

fn drawn(entry: &Entry) -> Element {
    let kind = if entry.is_agent { strings::CHANGE_LIST_OF } else { strings::CHANGE_ROW_OF };
    // No heading: those are drawn in capitals, and a name is what it is byte by byte.
    let heading = el(Tag::P)
        .child(el(Tag::Strong).text(format!("{kind} ")))
        .child(el(Tag::Strong).class("mono").child(literal::inline(&entry.name)))
        .child(el(Tag::Strong).text(format!(" {}", strings::change_word(&entry.change))));
    let mut list = el(Tag::Ul).class("changes");
    for member in &entry.members {
        list = list.child(line(&entry.change, member));
    }
    el(Tag::Div)
        .attr("data-part", "changed-entry")
        .attr("data-name", entry.name.clone())
        .attr("data-change", entry.change.clone())
        .child(heading)
        .child(list)
}

fn line(change: &str, member: &Member) -> Element {
    let (sign, word) = match change {
        "added" => ("+", strings::ADDED),
        "removed" => ("−", strings::REMOVED),
        _ => ("~", strings::CHANGED),
    };
    let mut values = el(Tag::Div);
    if change != "added" && !member.from.is_empty() {
        values = values.child(el(Tag::Div).class("value old").child(literal::inline(&format!("{} →", member.from))));
    }
    if change != "removed" && !member.to.is_empty() {
        values = values.child(el(Tag::Div).class("value").child(literal::inline(&member.to)));
    }
    if member.loosened {
        values = values.child(el(Tag::Span).class("chip warn").attr("data-part", "loosened").text(strings::LOOSENED));
    }
    el(Tag::Li)
        .attr("data-member", member.name.clone())
        .child(el(Tag::B).attr("aria-label", word).text(sign))
        .child(el(Tag::Span).text(strings::member_label(&member.name)))
        .child(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        vidimus_core::json::parse(text.as_bytes(), &vidimus_core::json::Limits::MONEY).unwrap()
    }

    const HTTP: &str = r#"{"credential":"env:VIDIMUS_CREDENTIAL_SHOP","idempotency_header":"Idempotency-Key","kind":"http",
        "method":"POST","timeout_s":10,"url":"https://shop.example/refunds"}"#;
    const STATUS: &str = r#"{"credential":"env:VIDIMUS_CREDENTIAL_SHOP","url":"https://shop.example/refunds/{operation}"}"#;

    #[test]
    fn what_asks_less_of_people_is_marked() {
        let cases = [
            ("effect", r#""money""#, r#""write""#, true),
            ("effect", r#""write""#, r#""money""#, false),
            ("reversibility", r#""irreversible""#, r#""compensable""#, true),
            ("reversibility", r#""compensable""#, r#""irreversible""#, false),
            ("needs", r#"[{"role":"a","quorum":2,"escalate_to":null}]"#, r#"[{"role":"a","quorum":1,"escalate_to":null}]"#, true),
            ("needs", r#"[{"role":"a","quorum":1,"escalate_to":null}]"#, r#"[{"role":"a","quorum":1,"escalate_to":"b"}]"#, true),
            ("needs", r#"[{"role":"a","quorum":1,"escalate_to":null}]"#, r#"[{"role":"b","quorum":3,"escalate_to":null}]"#, true),
            (
                "needs",
                r#"[{"role":"a","quorum":1,"escalate_to":null}]"#,
                r#"[{"role":"a","quorum":1,"escalate_to":null},{"role":"b","quorum":1,"escalate_to":null}]"#,
                false,
            ),
            ("request_ttl_s", "60", "61", true),
            ("request_ttl_s", "61", "60", false),
            ("delay_s", "60", "0", true),
            ("delay_s", "0", "60", false),
            ("escalate_after_s", "null", "60", true),
            ("escalate_after_s", "60", "null", false),
            ("caps", r#"{"calls_per_run":3}"#, "null", true),
            ("caps", r#"{"amounts":{"per_day":{"EUR":100}}}"#, r#"{"amounts":{"per_day":{"EUR":101}}}"#, true),
            ("caps", r#"{"amounts":{"per_day":{"EUR":100}}}"#, r#"{"amounts":{"per_day":{"EUR":99,"USD":1}}}"#, false),
            ("caps", "null", r#"{"calls_per_run":3}"#, false),
            ("tools", r#"["a"]"#, r#"["a","b"]"#, true),
            ("tools", r#"["a","b"]"#, r#"["a"]"#, false),
            ("business", r#"["a","b"]"#, r#"["a"]"#, true),
            ("executor", HTTP, &HTTP.replace("shop.example", "shop-example.net"), true),
            ("executor", HTTP, &HTTP.replace("CREDENTIAL_SHOP", "CREDENTIAL_BANK"), true),
            ("executor", HTTP, r#"{"kind":"mcp","timeout_s":10,"upstream":"shop"}"#, true),
            ("executor", HTTP, &HTTP.replace("10", "20"), false),
            ("status", STATUS, "null", true),
            ("status", STATUS, &STATUS.replace("shop.example", "shop-example.net"), true),
            ("status", STATUS, &STATUS.replace("CREDENTIAL_SHOP", "CREDENTIAL_BANK"), true),
            ("status", "null", STATUS, false),
            ("undo", r#""x""#, r#""y""#, false),
            ("log_full_body", "false", "true", true),
        ];
        for (member, from, to, expected) in cases {
            assert_eq!(loosens(member, &json(from), &json(to)), expected, "{member}: {from} → {to}");
        }
    }

    #[test]
    fn values_are_in_words_and_lists_say_what_comes_and_goes() {
        let words_of = |member: &str, from: &str, to: &str| changed_words(member, &json(from), &json(to));
        let (from, to) = words_of("needs", r#"[{"role":"treasury","quorum":2,"escalate_to":null}]"#, "[]");
        assert_eq!((from.as_str(), to.as_str()), ("2 × treasury", "nobody"));
        let (from, to) = words_of("delay_s", "3600", "90");
        assert_eq!((from.as_str(), to.as_str()), ("3600 s (1 h)", "90 s"));
        let (from, to) = words_of("tools", r#"["refund","search"]"#, r#"["search","wire"]"#);
        assert_eq!((from.as_str(), to.as_str()), ("without refund", "with wire"));
        let (from, to) = words_of("executor", HTTP, &HTTP.replace("shop.example", "shop-example.net").replace("10", "20"));
        assert_eq!(from, "timeout_s: 10; url: https://shop.example/refunds");
        assert_eq!(to, "timeout_s: 20; url: https://shop-example.net/refunds");
        assert_eq!(words_of("caps", "null", r#"{"calls_per_run":3}"#).0, "none");
    }
}
