//! Enrolment in three pages: the invitation, the PIN and the keys, the confirmation.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use vidimus_api::enrolment::Offer;
use vidimus_api::invite::{Invite, InviteKind};

use super::parts::{act, fact, fingerprint, form, message, submit, text_field, title};
use super::{Fields, Outcome};
use crate::clock;
use crate::console::{Change, Console, KeyState};
use crate::enrolment::{self, EnrolmentFault, Kept, Membership, Randomness};
use crate::errors::Told;
use crate::html::{Element, Tag, el};
use crate::keys::{self, KeyError, Pin, PinFault};
use crate::limits::ENROLMENT_FOLLOWED_MS;
use crate::random;
use crate::review::page::top;
use crate::strings;
use crate::text::time;
use crate::trusted::page::{Frame, WindowKind};

/// The enrolment window while it is open.
#[derive(Default)]
pub struct Sheet {
    pub nonce: String,
    /// What the invite's gate offers, once it was asked.
    offer: Option<(Invite, Offer)>,
    busy: bool,
    /// What the page says while an act is under way.
    pub note: String,
}

impl Sheet {
    pub fn new() -> Self {
        Self { nonce: random::page_nonce(), ..Self::default() }
    }
}

/// Which page is to be drawn; the page asks for it to know when to draw itself anew.
pub fn version(console: &Console, sheet: &Sheet) -> String {
    let shared = console.shared();
    let step = match &shared.kept {
        None | Some(Kept::Invited { .. } | Kept::Making { .. }) if sheet.offer.is_none() => "invitation",
        None | Some(Kept::Invited { .. } | Kept::Making { .. }) => "pin",
        Some(Kept::Made { .. }) => "made",
        Some(Kept::Waiting { .. }) => "waiting",
        Some(Kept::Active { .. }) => "active",
    };
    step.to_owned()
}

pub fn draw(console: &Console, sheet: &Sheet) -> Frame {
    let version = version(console, sheet);
    let kept = console.shared().kept.clone();
    let (step, content) = match (&kept, &sheet.offer) {
        (None | Some(Kept::Invited { .. } | Kept::Making { .. }), None) => (1, invitation(kept.as_ref())),
        (None | Some(Kept::Invited { .. } | Kept::Making { .. }), Some((invite, offer))) => (2, pin(console, invite, offer)),
        (Some(Kept::Made { membership, .. }), _) => (3, made(membership)),
        (Some(Kept::Waiting { membership, .. }), _) => (3, waiting(membership)),
        (Some(Kept::Active { membership }), _) => (3, active(membership)),
    };
    let environment = match (&sheet.offer, kept.as_ref().and_then(Kept::membership)) {
        (_, Some(membership)) => Some(membership.environment.as_str()),
        (Some((_, offer)), None) => Some(offer.environment.as_str()),
        (None, None) => None,
    };
    Frame {
        kind: WindowKind::Enrolment,
        title: strings::sheet_title(strings::ENROLMENT, environment, console.automated),
        theme: console.theme_mark(),
        nonce: sheet.nonce.clone(),
        version,
        data: Vec::new(),
        top: top(console, environment),
        content: el(Tag::Div).class("sheet").child(stepper(step)).children(content).child(message()),
        footer: None,
    }
}

fn stepper(step: usize) -> Element {
    let names = [strings::STEP_INVITATION, strings::STEP_PIN, strings::STEP_CONFIRM];
    let mut list = el(Tag::Ol).class("stepper").attr("aria-label", strings::step_of(step));
    for (name, number) in names.into_iter().zip(1..) {
        let mut item = el(Tag::Li).child(el(Tag::B).text(number.to_string())).text(name);
        if number == step {
            item = item.attr("aria-current", "step");
        }
        list = list.child(item);
    }
    list
}

fn invitation(kept: Option<&Kept>) -> Vec<Element> {
    let line = match kept {
        Some(Kept::Invited { invite } | Kept::Making { invite, .. }) => invite.as_str(),
        _ => "",
    };
    let field = el(Tag::Div)
        .class("field")
        .child(el(Tag::Label).attr("for", "invite").text(strings::INVITE_FIELD))
        .child(el(Tag::Textarea).attr("id", "invite").attr("name", "invite").attr("rows", "5").attr("spellcheck", "false").text(line));
    vec![
        title(strings::PASTE_INVITATION),
        el(Tag::P).text(strings::INVITATION_WORDS),
        form("read").child(field).child(el(Tag::Div).class("row").child(submit("continue", strings::CONTINUE))),
    ]
}

fn gate_facts(console: &Console, invite: &Invite, offer: &Offer) -> Element {
    let list = el(Tag::Dl).class("facts").attr("data-part", "gate");
    let list = fact(list, strings::FACT_ADDRESS, &invite.url);
    let list = fact(list, strings::FACT_ENVIRONMENT, &offer.environment.as_str().to_uppercase());
    let list = fact(list, strings::FACT_YOU, &offer.name);
    let list = fact(list, strings::FACT_ROLES, &offer.roles.join(", "));
    let list = match offer.kind {
        InviteKind::Genesis => fact(list, strings::FACT_FOUNDS, strings::FOUNDS_WORDS),
        InviteKind::Person => fact(list, strings::FACT_FOUNDS, strings::JOINS_WORDS),
        InviteKind::Device => fact(list, strings::FACT_FOUNDS, strings::SECOND_DEVICE_WORDS),
    };
    fact(list, strings::FACT_INVITE_ENDS, &time::whole(offer.expires_at.as_ms(), &console.zone))
}

fn pin(console: &Console, invite: &Invite, offer: &Offer) -> Vec<Element> {
    let digest = offer.log_key.digest().to_string();
    let gate = el(Tag::Section).class("block").child(el(Tag::Header).child(el(Tag::H2).text(strings::THE_GATE))).child(
        el(Tag::Div).class("inner").child(gate_facts(console, invite, offer)).child(fingerprint(strings::GATE_FINGERPRINT, &digest)),
    );
    let fields = form("keys")
        .child(text_field("label", strings::LABEL_FIELD, &suggested_label(), "text"))
        .child(el(Tag::Div).class("pair").child(text_field("pin", strings::PIN_FIELD, "", "password")).child(text_field(
            "pin-again",
            strings::PIN_AGAIN_FIELD,
            "",
            "password",
        )))
        .child(el(Tag::Div).class("row").child(submit("continue", strings::MAKE_KEYS)).child(act("back", "back", strings::BACK)));
    vec![title(strings::CHOOSE_PIN), gate, el(Tag::P).text(strings::PIN_WORDS), fields]
}

/// The name of this computer, as a first proposal.
fn suggested_label() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).take(32).collect();
    if plain.is_empty() { "desktop".to_owned() } else { plain }
}

fn keys_of(membership: &Membership) -> Element {
    el(Tag::Section).class("block").child(el(Tag::Header).child(el(Tag::H2).text(strings::YOUR_KEYS))).child(
        el(Tag::Div)
            .class("inner")
            .child(fingerprint(strings::APPROVAL_FINGERPRINT, &membership.approval_key.digest().to_string()))
            .child(fingerprint(strings::DEVICE_FINGERPRINT, &membership.device_key.digest().to_string())),
    )
}

fn made(membership: &Membership) -> Vec<Element> {
    vec![
        title(strings::HAND_IN),
        el(Tag::P).text(strings::hand_in_words(&membership.url)),
        keys_of(membership),
        form("confirm").child(el(Tag::Div).class("row").child(submit("confirm", strings::CONFIRM)).child(act(
            "discard",
            "discard",
            strings::DISCARD_KEYS,
        ))),
    ]
}

fn waiting(membership: &Membership) -> Vec<Element> {
    vec![
        title(strings::WAITING_FOR_ADMIN),
        el(Tag::P).attr("data-part", "enrolment-waiting").text(strings::WAITING_WORDS),
        keys_of(membership),
        el(Tag::Div).class("row").child(act("close", "close", strings::CLOSE)),
    ]
}

fn active(membership: &Membership) -> Vec<Element> {
    vec![
        title(strings::ENROLLED),
        el(Tag::P).attr("data-part", "enrolled").text(strings::enrolled_words(&membership.name, &membership.roles.join(", "))),
        keys_of(membership),
        el(Tag::Div).class("row").child(act("close", "close", strings::CLOSE)),
    ]
}

/// Holds the sheet while the window system keeps it.
pub trait Held: Send + Sync {
    fn with<T>(&self, act: impl FnOnce(&mut Sheet) -> T) -> Option<T>;
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
    result.unwrap_or_else(|fault| Outcome::says(told(&fault).line()))
}

async fn act_on(console: &Arc<Console>, sheet: &impl Held, action: &str, fields: Fields) -> Result<Outcome, EnrolmentFault> {
    match action {
        "read" => {
            let (invite, offer) = enrolment::look_up(&fields.invite).await?;
            clear_unfinished(console, sheet).await?;
            if console.membership().is_none() {
                let kept = Kept::Invited { invite: fields.invite };
                kept.save(&console.profile)?;
                console.shared().kept = Some(kept);
            }
            sheet.with(|sheet| sheet.offer = Some((invite, offer)));
            Ok(Outcome::next_page())
        }
        "back" => {
            sheet.with(|sheet| sheet.offer = None);
            Ok(Outcome::next_page())
        }
        "keys" => make_keys(console, sheet, fields).await,
        "confirm" => confirm(console).await,
        "discard" => discard(console, sheet).await,
        "close" => Ok(Outcome::close()),
        _ => Ok(Outcome::says(strings::PRESS_ANEW)),
    }
}

/// An earlier making of keys that was cut leaves nothing behind.
async fn clear_unfinished(console: &Arc<Console>, sheet: &impl Held) -> Result<(), EnrolmentFault> {
    let Some(Kept::Making { gate, device_key, .. }) = console.shared().kept.clone() else { return Ok(()) };
    let (profile, keyring) = (console.profile.clone(), console.keyring.clone());
    let locked = || {
        sheet.with(|sheet| sheet.note = Told::of_key(&KeyError::Locked, clock::now_ms()).line());
    };
    Ok(keys::asked(move || enrolment::clear_unfinished(&profile, &keyring, &gate, &device_key), locked).await?)
}

async fn make_keys(console: &Arc<Console>, sheet: &impl Held, fields: Fields) -> Result<Outcome, EnrolmentFault> {
    let Some((invite, offer)) = sheet.with(|sheet| sheet.offer.clone()).flatten() else { return Ok(Outcome::next_page()) };
    if fields.pin != fields.pin_again {
        return Ok(Outcome::says(strings::PINS_DIFFER));
    }
    let label = fields.label.trim().to_owned();
    if label.is_empty() || label.chars().count() > vidimus_api::limits::LABEL_CHARS_MAX {
        return Ok(Outcome::says(strings::LABEL_WORDS));
    }
    let pin = match Pin::chosen(fields.pin) {
        Ok(pin) => pin,
        Err(fault) => return Ok(Outcome::says(pin_words(fault))),
    };
    let random = Randomness { approval: random::seed(), device: random::seed(), salt: random::bytes(), nonce: random::bytes() };
    let (profile, keyring) = (console.profile.clone(), console.keyring.clone());
    let make = move || Ok(enrolment::make_keys(&profile, &keyring, &invite, &offer, &label, &pin, &random));
    let locked = || {
        sheet.with(|sheet| sheet.note = Told::of_key(&KeyError::Locked, clock::now_ms()).line());
    };
    let kept = keys::asked(make, locked).await.map_err(EnrolmentFault::Key)??;
    console.shared().kept = Some(kept);
    Ok(Outcome::next_page())
}

async fn confirm(console: &Arc<Console>) -> Result<Outcome, EnrolmentFault> {
    let Some(Kept::Made { membership, hand_in, .. }) = console.shared().kept.clone() else { return Ok(Outcome::next_page()) };
    let sent = Kept::Made { membership: membership.clone(), hand_in: hand_in.clone(), sent: true };
    sent.save(&console.profile)?;
    console.shared().kept = Some(sent);
    let kept = enrolment::send(&console.profile, &membership, &hand_in).await?;
    let changes = console.changes();
    console.set_kept(Some(kept));
    followed(console, changes).await;
    Ok(Outcome::next_page())
}

/// Waits for the first word of the gate about the key, so that the bar of the next page tells it. Without one it tells that too.
async fn followed(console: &Console, mut changes: broadcast::Receiver<Change>) {
    let told = async {
        while console.shared().key == KeyState::None {
            if let Err(broadcast::error::RecvError::Closed) = changes.recv().await {
                return;
            }
        }
    };
    // The page is drawn either way; it follows the gate by itself.
    let _ = tokio::time::timeout(Duration::from_millis(ENROLMENT_FOLLOWED_MS), told).await;
}

/// Keys that the gate never took are removed, so that another invitation can be used.
async fn discard(console: &Arc<Console>, sheet: &impl Held) -> Result<Outcome, EnrolmentFault> {
    let Some(Kept::Made { membership, .. }) = console.shared().kept.clone() else { return Ok(Outcome::next_page()) };
    let (keyring, binding) = (console.keyring.clone(), membership.binding(&console.profile));
    tokio::task::spawn_blocking(move || keyring.remove(&binding))
        .await
        .map_err(|_| EnrolmentFault::Key(crate::keys::KeyError::NoService))??;
    Kept::discard(&console.profile)?;
    sheet.with(|sheet| sheet.offer = None);
    console.set_kept(None);
    Ok(Outcome::next_page())
}

fn pin_words(fault: PinFault) -> &'static str {
    match fault {
        PinFault::TooShort => strings::PIN_TOO_SHORT,
        PinFault::TooLong => strings::PIN_TOO_LONG,
        PinFault::TooSimple => strings::PIN_TOO_SIMPLE,
    }
}

fn told(fault: &EnrolmentFault) -> Told {
    match fault {
        EnrolmentFault::Invite(refusal) => Told::new("E-LINK-1", strings::invite_refused(&refusal.message)),
        EnrolmentFault::OtherGate => Told::new("E-NET-4", strings::INVITE_OTHER_GATE),
        EnrolmentFault::Gate(error) => Told::of_gate(error),
        EnrolmentFault::Key(error) => Told::of_key(error, clock::now_ms()),
        EnrolmentFault::Unwritable(_) => Told::new("E-AUD-3", strings::PROFILE_UNWRITABLE),
    }
}
