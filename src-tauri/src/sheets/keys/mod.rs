//! The window for keys: this desktop's, one's other desktops, other people's; stops, new keys, objections, proposals.
//!
//! A step at a time, each on a page of its own. What counts is signed here and judged by the gate.

mod pages;

use std::sync::Arc;

use vidimus_api::roster::RosterProposal;
use vidimus_core::bytes::Digest;
use vidimus_core::ids::{Name, PersonId};
use vidimus_core::time::Timestamp;

use super::{Fields, Outcome};
use crate::clock;
use crate::console::Console;
use crate::enrolment::{Kept, Randomness};
use crate::errors::Told;
use crate::key_acts;
use crate::keys::{self, KeyError, Pin, PinFault};
use crate::mirror::Mirror;
use crate::random;
use crate::review::state::top_line;
use crate::rotation::{self, Rotation};
use crate::signing::Unlocking;
use crate::strings;

pub use pages::draw;

/// The window for keys while it is open.
#[derive(Default)]
pub struct Sheet {
    pub nonce: String,
    page: Page,
    busy: bool,
    /// What the page says while an act is under way.
    pub note: String,
    /// What the last act led to, said on the list.
    said: String,
}

/// Which page is open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Page {
    #[default]
    List,
    Stop {
        person: PersonId,
        device: Digest,
    },
    Object(Digest),
    NewKeys,
    Forget,
    Roles(PersonId),
    Remove(PersonId),
}

impl Sheet {
    pub fn new() -> Self {
        Self { nonce: random::page_nonce(), ..Self::default() }
    }

    /// Turns to the page that stops this computer's key, where it has one that counts.
    pub fn turn_to_stop(&mut self, console: &Console) {
        let Some(membership) = console.membership() else { return };
        let device = membership.device_key.digest();
        if pages::desktop_of(console, &membership.person, &device).is_some_and(|(keys, _)| !keys.is_empty()) {
            self.page = Page::Stop { person: membership.person, device };
            self.said.clear();
        }
    }
}

/// Holds the sheet while the window system keeps it.
pub trait Held: Send + Sync {
    fn with<T>(&self, act: impl FnOnce(&mut Sheet) -> T) -> Option<T>;
}

/// Changes when the page has to be drawn anew.
pub fn version(console: &Console, sheet: &Sheet) -> String {
    let rosters = console.read(Mirror::chain);
    let waiting = rosters.as_ref().map_or(0, |chain| chain.waiting().len());
    let version = rosters.as_ref().and_then(|chain| chain.roster().map(|roster| roster.version)).unwrap_or_default();
    let rotating = Rotation::load(&console.profile).is_some();
    let fault = console.shared().rotation_fault.as_ref().map_or("", |told| told.id);
    format!("{} {} {version} {waiting} {rotating} {fault} {:?}", top_line(console).key, console.membership().is_some(), sheet.page)
}

/// Does what a form or button asks. One act at a time.
pub async fn perform(console: &Arc<Console>, sheet: &impl Held, nonce: &str, action: &str, fields: Fields) -> Outcome {
    let begun = sheet.with(|sheet| {
        let free = sheet.nonce == nonce && !sheet.busy;
        sheet.busy |= free;
        sheet.note.clear();
        free
    });
    if begun != Some(true) {
        return Outcome::says(strings::PRESS_ANEW);
    }
    let result = act_on(console, sheet, action, fields).await;
    sheet.with(|sheet| sheet.busy = false);
    result.unwrap_or_else(|told| Outcome::says(told.line()))
}

async fn act_on(console: &Arc<Console>, sheet: &impl Held, action: &str, fields: Fields) -> Result<Outcome, Told> {
    let (act, subject) = action.split_once(' ').unwrap_or((action, ""));
    if let Some(page) = page_of(act, subject) {
        sheet.with(|sheet| {
            sheet.page = page;
            sheet.said.clear();
        });
        return Ok(Outcome::next_page());
    }
    match act {
        "close" => Ok(Outcome::close()),
        "check" => Ok(check(console).await),
        "stop" => stop(console, sheet, fields).await,
        "object" => object(console, sheet, fields).await,
        "new-keys" => new_keys(console, sheet, fields).await,
        "give-up" => {
            rotation::discard(console, &key_acts::member(console)?).await?;
            Ok(done(sheet, strings::GIVEN_UP))
        }
        "forget" => forget(console, sheet).await,
        "roles" | "remove" => propose(console, sheet, fields).await,
        _ => Ok(Outcome::says(strings::PRESS_ANEW)),
    }
}

/// The page that an act only turns to.
fn page_of(act: &str, subject: &str) -> Option<Page> {
    Some(match act {
        "back" => Page::List,
        "ask-stop" => {
            let (person, device) = subject.split_once(' ')?;
            Page::Stop { person: person.parse().ok()?, device: device.parse().ok()? }
        }
        "ask-object" => Page::Object(subject.parse().ok()?),
        "ask-new-keys" => Page::NewKeys,
        "ask-forget" => Page::Forget,
        "ask-roles" => Page::Roles(subject.parse().ok()?),
        "ask-remove" => Page::Remove(subject.parse().ok()?),
        _ => return None,
    })
}

/// Back to the list, which says what was done.
fn done(sheet: &impl Held, words: &str) -> Outcome {
    sheet.with(|sheet| {
        sheet.page = Page::List;
        words.clone_into(&mut sheet.said);
    });
    Outcome::next_page()
}

fn page(sheet: &impl Held) -> Page {
    sheet.with(|sheet| sheet.page.clone()).unwrap_or_default()
}

fn noted(sheet: &impl Held) -> impl Fn(String) {
    move |line| {
        sheet.with(|sheet| sheet.note = line);
    }
}

async fn stop(console: &Arc<Console>, sheet: &impl Held, fields: Fields) -> Result<Outcome, Told> {
    let Page::Stop { person, device } = page(sheet) else { return Ok(Outcome::says(strings::PRESS_ANEW)) };
    let keys = pages::desktop_of(console, &person, &device).map(|(keys, _)| keys).unwrap_or_default();
    if keys.is_empty() {
        return Ok(done(sheet, strings::STOPPED_NOW));
    }
    let unlocking = Unlocking { pin: Pin::typed(fields.pin), always_pin: false };
    key_acts::stop(console, person, keys, unlocking, noted(sheet)).await?;
    Ok(done(sheet, strings::STOPPED_NOW))
}

async fn object(console: &Arc<Console>, sheet: &impl Held, fields: Fields) -> Result<Outcome, Told> {
    let Page::Object(recovery) = page(sheet) else { return Ok(Outcome::says(strings::PRESS_ANEW)) };
    let unlocking = Unlocking { pin: Pin::typed(fields.pin), always_pin: false };
    key_acts::veto(console, recovery, unlocking, noted(sheet)).await?;
    Ok(done(sheet, strings::OBJECTED))
}

async fn new_keys(console: &Arc<Console>, sheet: &impl Held, fields: Fields) -> Result<Outcome, Told> {
    if fields.pin != fields.pin_again {
        return Ok(Outcome::says(strings::PINS_DIFFER));
    }
    let pin = match Pin::chosen(fields.pin) {
        Ok(pin) => pin,
        Err(PinFault::TooShort) => return Ok(Outcome::says(strings::PIN_TOO_SHORT)),
        Err(PinFault::TooLong) => return Ok(Outcome::says(strings::PIN_TOO_LONG)),
        Err(PinFault::TooSimple) => return Ok(Outcome::says(strings::PIN_TOO_SIMPLE)),
    };
    let membership = key_acts::member(console)?;
    let client = console.shared().client.clone().ok_or_else(|| Told::new("E-NET-1", strings::GATE_UNREACHABLE))?;
    let random = Randomness { approval: random::seed(), device: random::seed(), salt: random::bytes(), nonce: random::bytes() };
    let now = Timestamp::from_ms(console.now_ms()).unwrap_or(Timestamp::MIN);
    let (making, with) = (console.clone(), membership.clone());
    let note = noted(sheet);
    let locked = || note(Told::of_key(&KeyError::Locked, clock::now_ms()).line());
    let made = keys::asked(move || rotation::make(&making, &with, &pin, &random, now), locked).await;
    made.map_err(|error| Told::of_key(&error, clock::now_ms()))??;
    rotation::go_on(console, &membership, &client).await?;
    Ok(done(sheet, ""))
}

/// The keys leave this computer, so that an invitation can enrol it again.
async fn forget(console: &Arc<Console>, sheet: &impl Held) -> Result<Outcome, Told> {
    if page(sheet) != Page::Forget {
        return Ok(Outcome::says(strings::PRESS_ANEW));
    }
    let membership = key_acts::member(console)?;
    rotation::discard(console, &membership).await?;
    let (keyring, binding) = (console.keyring.clone(), membership.binding(&console.profile));
    let removed = tokio::task::spawn_blocking(move || keyring.remove(&binding)).await.unwrap_or(Err(KeyError::NoService));
    removed.map_err(|error| Told::of_key(&error, clock::now_ms()))?;
    Kept::discard(&console.profile).map_err(|_| Told::new("E-AUD-3", strings::PROFILE_UNWRITABLE))?;
    console.pin().end();
    console.set_kept(None);
    Ok(done(sheet, ""))
}

async fn propose(console: &Arc<Console>, sheet: &impl Held, fields: Fields) -> Result<Outcome, Told> {
    let proposal = match page(sheet) {
        Page::Roles(person) => {
            let roles: Result<Vec<Name>, _> = fields.roles.split([' ', ',']).filter(|word| !word.is_empty()).map(Name::parse).collect();
            let Ok(mut roles) = roles else { return Ok(Outcome::says(strings::OTHER_ROLES_WORDS)) };
            roles.sort();
            roles.dedup();
            RosterProposal::SetRoles { person, roles }
        }
        Page::Remove(person) => RosterProposal::Remove { person },
        Page::List | Page::Stop { .. } | Page::Object(_) | Page::NewKeys | Page::Forget => {
            return Ok(Outcome::says(strings::PRESS_ANEW));
        }
    };
    key_acts::propose(console, &proposal).await?;
    Ok(done(sheet, strings::PROPOSED))
}

async fn check(console: &Arc<Console>) -> Outcome {
    let keyring = console.keyring.clone();
    let binding = console.membership().map(|membership| membership.binding(&console.profile));
    let checked = tokio::task::spawn_blocking(move || match binding {
        Some(binding) => keyring.approval_key(&binding).map(|_| ()),
        None => keyring.check(),
    })
    .await;
    match checked {
        Ok(Ok(())) => Outcome::says(strings::KEYRING_ANSWERS),
        Ok(Err(error)) => Outcome::says(Told::of_key(&error, clock::now_ms()).line()),
        Err(_) => Outcome::says(strings::CORE_SILENT),
    }
}
