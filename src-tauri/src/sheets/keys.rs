//! The keys of this desktop: what they are, where they count, whether the keyring has them.

use std::sync::Arc;

use super::parts::{act, fact, fingerprint, message, title};
use super::{Fields, Outcome};
use crate::clock;
use crate::console::Console;
use crate::errors::Told;
use crate::html::{Tag, el};
use crate::review::page::top;
use crate::review::state::top_line;
use crate::strings;
use crate::trusted::page::{Frame, WindowKind};

/// Changes when the page has to be drawn anew.
pub fn version(console: &Console) -> String {
    format!("{} {}", top_line(console).key, console.membership().is_some())
}

pub fn draw(console: &Console, nonce: &str) -> Frame {
    let membership = console.membership();
    let environment = membership.as_ref().map(|membership| membership.environment.as_str());
    let mut sheet = el(Tag::Div).class("sheet").child(title(strings::YOUR_KEYS));
    match &membership {
        None => sheet = sheet.child(el(Tag::P).text(strings::NOT_ENROLLED)),
        Some(membership) => {
            let list = el(Tag::Dl).class("facts");
            let list = fact(list, strings::FACT_DESKTOP, &membership.label);
            let list = fact(list, strings::FACT_YOU, &membership.name);
            let list = fact(list, strings::FACT_STATE, &top_line(console).key);
            let list = fact(list, strings::FACT_ADDRESS, &membership.url);
            let list = fact(list, strings::FACT_GATE, &membership.gate.to_string());
            let list = fact(list, strings::FACT_KEYRING, console.keyring.service());
            sheet = sheet.child(
                el(Tag::Section).class("block").child(el(Tag::Header).child(el(Tag::H2).text(strings::WHERE_THEY_COUNT))).child(
                    el(Tag::Div)
                        .class("inner")
                        .child(list)
                        .child(fingerprint(strings::APPROVAL_FINGERPRINT, &membership.approval_key.digest().to_string()))
                        .child(fingerprint(strings::DEVICE_FINGERPRINT, &membership.device_key.digest().to_string())),
                ),
            );
        }
    }
    let buttons =
        el(Tag::Div).class("row").child(act("check", "check", strings::CHECK_KEYRING)).child(act("close", "close", strings::CLOSE));
    Frame {
        kind: WindowKind::Keys,
        title: strings::sheet_title(strings::YOUR_KEYS, environment, console.automated),
        theme: console.theme_mark(),
        nonce: nonce.to_owned(),
        version: version(console),
        data: Vec::new(),
        top: top(console, environment),
        content: sheet.child(buttons).child(message()),
        footer: None,
    }
}

pub async fn perform(console: &Arc<Console>, nonce: &str, expected: &str, action: &str, _fields: Fields) -> Outcome {
    if nonce != expected {
        return Outcome::says(strings::PRESS_ANEW);
    }
    match action {
        "check" => {
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
        "close" => Outcome::close(),
        _ => Outcome::says(strings::PRESS_ANEW),
    }
}
