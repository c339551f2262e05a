//! What is typed about an outcome, and what is signed of it.

use jiff::civil::Time;
use jiff::{Timestamp as Instant, ToSpan as _};
use serde::Deserialize;
use vidimus_core::evidence::Evidence;
use vidimus_core::reconciliation::{Answer, amount_minor};
use vidimus_core::time::Timestamp;

use crate::answer::Answering;
use crate::console::Console;
use crate::desk;
use crate::review::card::Card;
use crate::strings;
use crate::text::money::{Typed, typed};

/// What the page hands over. Rust believes none of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Form {
    pub nonce: String,
    pub answer: String,
    pub reference: String,
    pub evidence: String,
    pub amount: String,
    pub look_again: String,
    pub pin: String,
    pub held_ms: u64,
    pub two_presses: bool,
}

/// An answer as it will be signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub answer: Answer,
    pub amount_minor: Option<u64>,
    pub evidence: Evidence,
}

/// Reads the form.
///
/// *Errors*: words about what is missing.
pub fn read(console: &Console, answering: &Answering, form: &Form, now_ms: i64) -> Result<Said, String> {
    let answer: Answer = form.answer.parse().map_err(|_| strings::PICK_ANSWER.to_owned())?;
    let card = answering.card();
    let amount_minor = match answer {
        Answer::Partly => part(card, &form.amount)?,
        Answer::Happened | Answer::NotHappened | Answer::StillUnknown | Answer::Note => None,
    };
    let look_again_at = match answer {
        Answer::StillUnknown => Some(next(console, &form.look_again, now_ms).ok_or_else(|| strings::TIME_WRONG.to_owned())?),
        Answer::Happened | Answer::Partly | Answer::NotHappened | Answer::Note => None,
    };
    let text = |typed: &str| (!typed.trim().is_empty()).then(|| typed.trim().to_owned());
    let evidence =
        Evidence { reference: text(&form.reference), evidence: text(&form.evidence), look_again_at, files: answering.files.clone() };
    let words = match answer {
        Answer::Happened => strings::EVIDENCE_OR_REFERENCE,
        Answer::StillUnknown => strings::TIME_WRONG,
        Answer::Partly | Answer::NotHappened | Answer::Note => strings::EVIDENCE_SHORT,
    };
    let now = Timestamp::from_ms(now_ms).map_err(|_| strings::TIME_WRONG.to_owned())?;
    evidence.suits(answer, now).map_err(|_| words.to_owned())?;
    evidence.to_text().and_then(|text| Evidence::parse(&text)).map_err(|_| strings::REASON_TOO_LONG.to_owned())?;
    Ok(Said { answer, amount_minor, evidence })
}

/// The amount that happened: more than nothing and less than the whole; none where the tool moves no amount.
fn part(card: &Card, typed_text: &str) -> Result<Option<u64>, String> {
    let Some((whole, currency)) = whole_of(card) else {
        return if typed_text.trim().is_empty() { Ok(None) } else { Err(strings::NO_PART_AMOUNT.to_owned()) };
    };
    let wrong = || strings::AMOUNT_WRONG.to_owned();
    match typed(typed_text, &currency) {
        Typed::Minor(minor) => {
            let minor: u64 = minor.parse().map_err(|_| wrong())?;
            if (1..whole).contains(&minor) { Ok(Some(minor)) } else { Err(wrong()) }
        }
        Typed::Ambiguous => Err(strings::AMBIGUOUS.to_owned()),
        Typed::NotAnAmount => Err(wrong()),
    }
}

/// The frozen amount and its currency, where the row has a money field.
pub fn whole_of(card: &Card) -> Option<(u64, String)> {
    let (row, frozen) = (card.row.as_ref()?, card.frozen.as_ref()?);
    Some((amount_minor(row, &frozen.members().args)?, desk::currency_of(card)?))
}

/// The next moment at which a clock here shows these hours and minutes.
fn next(console: &Console, text: &str, now_ms: i64) -> Option<Timestamp> {
    let (hour, minute) = text.trim().split_once(':')?;
    let time = Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()?;
    let now = Instant::from_millisecond(now_ms).ok()?.to_zoned_datetime(console.zone.clone());
    let today = now.date().to_datetime(time).to_zoned_datetime(console.zone.clone()).ok()?;
    let at = if today > now { today } else { today.checked_add(1.day()).ok()? };
    Timestamp::from_ms(at.timestamp().as_millisecond()).ok()
}
