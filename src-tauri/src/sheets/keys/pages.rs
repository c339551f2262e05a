//! The pages of the window for keys, drawn from the verified roster.

use vidimus_core::bytes::Digest;
use vidimus_core::ids::{Name, PersonId};
use vidimus_core::roster::{Person, Roster};

use super::super::parts::{act, fact, fingerprint, form, message, submit, text_field, title};
use super::{Page, Sheet, version};
use crate::console::Console;
use crate::desktops::{self, Desktop, DesktopState};
use crate::enrolment::Membership;
use crate::html::{Element, Tag, el};
use crate::mirror::Mirror;
use crate::review::page::top;
use crate::review::state::{renewal, top_line};
use crate::rotation::Rotation;
use crate::strings;
use crate::text::time;
use crate::trusted::page::{Frame, WindowKind};

pub fn draw(console: &Console, sheet: &Sheet) -> Frame {
    let membership = console.membership();
    let environment = membership.as_ref().map(|membership| membership.environment.as_str());
    let roster = console.read(Mirror::roster).flatten();
    let content = match (&membership, &sheet.page) {
        (None, _) => vec![
            title(strings::YOUR_KEYS),
            el(Tag::P).text(strings::NOT_ENROLLED),
            el(Tag::Div).class("row").child(act("check", "check", strings::CHECK_KEYRING)).child(act("close", "close", strings::CLOSE)),
        ],
        (Some(membership), Page::List) => list(console, membership, roster.as_ref(), &sheet.said),
        (Some(membership), Page::Stop { person, device }) => stop(console, membership, person, device),
        (Some(_), Page::Object(recovery)) => object(console, recovery),
        (Some(_), Page::NewKeys) => new_keys(),
        (Some(_), Page::Forget) => confirm(strings::FORGET_KEYS, strings::FORGET_WORDS, "forget", strings::FORGET_KEYS, None),
        (Some(_), Page::Roles(person)) => roles(roster.as_ref(), person),
        (Some(_), Page::Remove(person)) => {
            let name = roster.as_ref().and_then(|roster| roster.person(person)).map(|person| person.name.clone()).unwrap_or_default();
            let heading = format!("{}: {name}", strings::REMOVE_PERSON);
            confirm(heading, strings::REMOVE_WORDS, "remove", strings::PROPOSE, None)
        }
    };
    Frame {
        kind: WindowKind::Keys,
        title: strings::sheet_title(strings::YOUR_KEYS, environment, console.automated),
        theme: console.theme_mark(),
        nonce: sheet.nonce.clone(),
        version: version(console, sheet),
        data: Vec::new(),
        top: top(console, environment),
        content: el(Tag::Div).class("sheet").children(content).child(message()),
        footer: None,
    }
}

/// The keys of a desktop that still count, with its label.
pub fn desktop_of(console: &Console, person: &PersonId, device: &Digest) -> Option<(Vec<Digest>, String)> {
    let roster = console.read(Mirror::roster).flatten()?;
    let desktops = desktops_of(console, roster.person(person)?);
    let desktop = desktops.into_iter().find(|desktop| desktop.device == *device)?;
    Some((desktops::countable(&desktop, &roster), desktop.label))
}

fn desktops_of(console: &Console, person: &Person) -> Vec<Desktop> {
    let now_ms = console.now_ms();
    console.read(|mirror| desktops::of(person, mirror, now_ms)).unwrap_or_default()
}

fn list(console: &Console, membership: &Membership, roster: Option<&Roster>, said: &str) -> Vec<Element> {
    let me = roster.and_then(|roster| roster.person(&membership.person));
    let admin = me.is_some_and(desktops::is_admin);
    let mine = me.map(|person| desktops_of(console, person)).unwrap_or_default();
    let device = membership.device_key.digest();
    let mut content = vec![title(strings::YOUR_KEYS)];
    if !said.is_empty() {
        content.push(el(Tag::P).class("message good").attr("data-part", "said").attr("role", "status").text(said));
    }
    content.extend(recoveries(console, admin));
    content.push(this_computer(console, membership, mine.iter().find(|desktop| desktop.device == device)));
    let mut others = el(Tag::Div).class("inner");
    let mut any = false;
    for desktop in mine.iter().filter(|desktop| desktop.device != device) {
        others = others.child(desktop_block(console, &membership.person, desktop, true));
        any = true;
    }
    if !any {
        others = others.child(el(Tag::P).text(strings::NO_OTHERS)).child(copyable(strings::PERSON_ID, &membership.person.to_string()));
    }
    content.push(block(strings::YOUR_OTHERS, others).attr("data-part", "other-computers"));
    content.push(el(Tag::P).text(strings::LOST_WORDS));
    let people: Vec<&Person> =
        roster.iter().flat_map(|roster| &roster.persons).filter(|person| person.person != membership.person).collect();
    if !people.is_empty() {
        let mut inner = el(Tag::Div).class("inner");
        for person in people {
            inner = inner.child(person_block(console, person, admin));
        }
        content.push(block(strings::OTHER_PEOPLE, inner).attr("data-part", "other-people"));
    }
    content.push(
        el(Tag::Div)
            .class("row")
            .child(act("check", "check", strings::CHECK_KEYRING))
            .child(act("forget", "ask-forget", strings::FORGET_KEYS))
            .child(act("close", "close", strings::CLOSE)),
    );
    content
}

fn this_computer(console: &Console, membership: &Membership, desktop: Option<&Desktop>) -> Element {
    let list = el(Tag::Dl).class("facts");
    let list = fact(list, strings::FACT_DESKTOP, &membership.label);
    let list = fact(list, strings::FACT_YOU, &membership.name);
    let state = desktop.map_or_else(|| top_line(console).key, |desktop| state_words(console, desktop.state));
    let list = fact(list, strings::FACT_STATE, &state);
    let list = match desktop {
        Some(desktop) => times(console, list, desktop),
        None => list,
    };
    let list = fact(list, strings::FACT_ADDRESS, &membership.url);
    let list = fact(list, strings::FACT_GATE, &membership.gate.to_string());
    let list = fact(list, strings::FACT_KEYRING, console.keyring.service());
    let mut inner = el(Tag::Div)
        .class("inner")
        .child(list)
        .child(fingerprint(strings::APPROVAL_FINGERPRINT, &membership.approval_key.digest().to_string()))
        .child(fingerprint(strings::DEVICE_FINGERPRINT, &membership.device_key.digest().to_string()));
    if let Some(DesktopState::RotationDue(until)) = desktop.map(|desktop| desktop.state) {
        inner = inner.child(
            el(Tag::P).class("message bad").attr("data-part", "renewal").text(format!("{} (E-KEY-7)", renewal(console, until.as_ms()))),
        );
    }
    let mut row = el(Tag::Div).class("row");
    let rotating = Rotation::load(&console.profile).is_some();
    if rotating {
        let fault = console.shared().rotation_fault.clone();
        let (class, words) = fault.map_or(("", strings::ROTATING.to_owned()), |told| ("message bad", told.line()));
        inner = inner.child(el(Tag::P).class(class).attr("data-part", "rotating").text(words));
        row = row.child(act("give-up", "give-up", strings::GIVE_UP_NEW));
    }
    if let Some(desktop) = desktop.filter(|desktop| !matches!(desktop.state, DesktopState::Stopped(_))) {
        row = row.child(stop_button("stop-this", &membership.person, desktop));
        if !rotating {
            row = row.child(act("new-keys", "ask-new-keys", strings::NEW_KEYS));
        }
    }
    block(strings::THIS_COMPUTER, inner.child(row)).attr("data-part", "this-computer")
}

fn person_block(console: &Console, person: &Person, admin: bool) -> Element {
    let list = el(Tag::Dl).class("facts");
    let roles: Vec<&str> = person.roles.iter().map(Name::as_str).collect();
    let list = fact(list, strings::FACT_PERSON, &person.name);
    let list = fact(list, strings::FACT_ROLES, &roles.join(", "));
    let list = fact(list, strings::PERSON_ID, &person.person.to_string());
    let mut inner = el(Tag::Div).class("field").child(list);
    for desktop in desktops_of(console, person) {
        inner = inner.child(desktop_block(console, &person.person, &desktop, admin));
    }
    let ask = |id: &str, action: &str, words: &str| {
        el(Tag::Button)
            .attr("type", "button")
            .attr("id", format!("{id}-{}", person.person))
            .attr("data-action", format!("{action} {}", person.person))
            .text(words)
    };
    inner.child(el(Tag::Div).class("row").child(ask("roles", "ask-roles", strings::OTHER_ROLES)).child(ask(
        "remove",
        "ask-remove",
        strings::REMOVE_PERSON,
    )))
}

fn desktop_block(console: &Console, person: &PersonId, desktop: &Desktop, may_stop: bool) -> Element {
    let list = el(Tag::Dl).class("facts");
    let list = fact(list, strings::FACT_COMPUTER, &desktop.label);
    let list = fact(list, strings::FACT_STATE, &state_words(console, desktop.state));
    let list = times(console, list, desktop);
    let mut inner = el(Tag::Div).class("field").child(list).child(fingerprint(strings::DEVICE_FINGERPRINT, &desktop.device.to_string()));
    if may_stop && !matches!(desktop.state, DesktopState::Stopped(_)) {
        let id = format!("stop-{}", desktop.device);
        inner = inner.child(el(Tag::Div).class("row").child(stop_button(&id, person, desktop)));
    }
    inner
}

fn times(console: &Console, list: Element, desktop: &Desktop) -> Element {
    let said = |at: Option<vidimus_core::time::Timestamp>| {
        at.map_or_else(|| strings::NEVER.to_owned(), |at| time::whole(at.as_ms(), &console.zone))
    };
    let list = fact(list, strings::FACT_KEY_SINCE, &said(desktop.since));
    fact(list, strings::FACT_LAST_USED, &said(desktop.last_used))
}

fn state_words(console: &Console, state: DesktopState) -> String {
    match state {
        DesktopState::Active => strings::STATE_ACTIVE.to_owned(),
        DesktopState::RotationDue(until) => strings::state_renewal(&time::whole(until.as_ms(), &console.zone)),
        DesktopState::Stopped(since) => strings::state_stopped(&time::whole(since.as_ms(), &console.zone)),
    }
}

fn stop_button(id: &str, person: &PersonId, desktop: &Desktop) -> Element {
    el(Tag::Button)
        .attr("type", "button")
        .attr("id", id)
        .attr("data-action", format!("ask-stop {person} {}", desktop.device))
        .text(strings::STOP_THIS_KEY)
}

fn recoveries(console: &Console, admin: bool) -> Vec<Element> {
    let chain = console.read(Mirror::chain);
    let waiting = chain.iter().flat_map(|chain| chain.waiting().iter());
    let blocks = waiting.map(|(recovery, announced)| {
        let list = el(Tag::Dl).class("facts");
        let list = fact(list, strings::FACT_PERSON, &announced.admission.name);
        let roles: Vec<&str> = announced.admission.roles.iter().map(Name::as_str).collect();
        let list = fact(list, strings::FACT_ROLES, &roles.join(", "));
        let list = fact(list, strings::FACT_EFFECTIVE, &time::whole(announced.effective_at.as_ms(), &console.zone));
        let mut inner = el(Tag::Div)
            .class("inner")
            .child(el(Tag::P).text(strings::RECOVERY_WORDS))
            .child(list)
            .child(fingerprint(strings::APPROVAL_FINGERPRINT, &announced.admission.approval_key.digest().to_string()));
        if admin {
            let button = el(Tag::Button)
                .attr("type", "button")
                .attr("id", "ask-object")
                .attr("data-action", format!("ask-object {recovery}"))
                .text(strings::OBJECT);
            inner = inner.child(el(Tag::Div).class("row").child(button));
        }
        block(strings::RECOVERY, inner).attr("data-part", "recovery")
    });
    blocks.collect()
}

fn stop(console: &Console, membership: &Membership, person: &PersonId, device: &Digest) -> Vec<Element> {
    let (_, label) = desktop_of(console, person, device).unwrap_or_default();
    let roster = console.read(Mirror::roster).flatten();
    let name = roster.as_ref().and_then(|roster| roster.person(person)).map(|person| person.name.clone()).unwrap_or_default();
    let heading = strings::stop_heading(&label, &name);
    // Two computers may have one name: the key tells them apart.
    let key = fingerprint(strings::DEVICE_FINGERPRINT, &device.to_string());
    let (words, field) = if *person != membership.person {
        (strings::STOP_OTHER_WORDS, el(Tag::Div).class("field").child(key).child(pin_field()))
    } else if *device == membership.device_key.digest() {
        (strings::STOP_OWN_WORDS, key)
    } else {
        (strings::STOP_MINE_WORDS, key)
    };
    confirm(heading, words, "stop", strings::STOP_KEY_NOW, Some(field))
}

fn object(console: &Console, recovery: &Digest) -> Vec<Element> {
    let chain = console.read(Mirror::chain);
    let name = chain.as_ref().and_then(|chain| chain.waiting().get(recovery)).map(|announced| announced.admission.name.clone());
    let heading = format!("{}: {}", strings::OBJECT, name.unwrap_or_default());
    confirm(heading, strings::OBJECT_WORDS, "object", strings::OBJECT_NOW, Some(pin_field()))
}

fn new_keys() -> Vec<Element> {
    let pins = el(Tag::Div).class("pair").child(pin_field()).child(text_field("pin-again", strings::PIN_AGAIN_FIELD, "", "password"));
    confirm(strings::NEW_KEYS, strings::NEW_KEYS_WORDS, "new-keys", strings::NEW_KEYS, Some(pins))
}

fn roles(roster: Option<&Roster>, person: &PersonId) -> Vec<Element> {
    let person = roster.and_then(|roster| roster.person(person));
    let held: Vec<&str> = person.iter().flat_map(|person| &person.roles).map(Name::as_str).collect();
    let heading = format!("{}: {}", strings::OTHER_ROLES, person.map(|person| person.name.as_str()).unwrap_or_default());
    let field = text_field("roles", strings::ROLES_FIELD, &held.join(" "), "text");
    confirm(heading, strings::OTHER_ROLES_WORDS, "roles", strings::PROPOSE, Some(field))
}

fn pin_field() -> Element {
    text_field("pin", strings::PIN_FIELD, "", "password")
}

/// One act, said in words, with one press that does it and one that goes back.
fn confirm(
    heading: impl Into<String>,
    words: &'static str,
    action: &'static str,
    press: &'static str,
    field: Option<Element>,
) -> Vec<Element> {
    let row = el(Tag::Div).class("row").child(submit("confirm", press)).child(act("back", "back", strings::BACK));
    vec![title(heading), el(Tag::P).attr("data-part", "confirm-words").text(words), form(action).optional(field).child(row)]
}

fn block(heading: &'static str, inner: Element) -> Element {
    el(Tag::Section).class("block").child(el(Tag::Header).child(el(Tag::H2).text(heading))).child(inner)
}

fn copyable(name: &'static str, value: &str) -> Element {
    el(Tag::Div)
        .class("field")
        .child(el(Tag::Span).text(name))
        .child(el(Tag::Code).text(value))
        .child(el(Tag::Div).child(el(Tag::Button).attr("type", "button").attr("data-copy", value).text(strings::COPY)))
}
