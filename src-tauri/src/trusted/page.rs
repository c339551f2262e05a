//! A whole page of a trusted window and the policy it is served under.

use sha2::{Digest as _, Sha256};
use vidimus_core::bytes::base64_encode;

use crate::html::{Element, Tag, el};
use crate::limits::{HOLD_MS, SEEN_MS, TWO_PRESS_ARMED_MS};
use crate::strings;

const STYLE: &str = include_str!("style.css");
/// One script each: what every window with arguments does, and what this one does.
const REVIEW_SCRIPT: &str = concat!("\"use strict\";\n(() => {\n", include_str!("common.js"), include_str!("review.js"), "})();\n");
const ANSWER_SCRIPT: &str = concat!("\"use strict\";\n(() => {\n", include_str!("common.js"), include_str!("answer.js"), "})();\n");
const SHEET_SCRIPT: &str = include_str!("sheet.js");

/// Which trusted window a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowKind {
    Review,
    Answer,
    Enrolment,
    Keys,
}

/// A page ready to be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub html: String,
    pub content_security_policy: String,
}

/// What stands around the content of a page.
#[derive(Debug, Clone)]
pub struct Frame {
    pub kind: WindowKind,
    pub title: String,
    /// `light`, `dark`, or nothing to follow the system.
    pub theme: Option<&'static str>,
    /// Sent back with each command of this page.
    pub nonce: String,
    /// Changes when the page has to be drawn anew.
    pub version: String,
    /// Data of the page's script besides the above.
    pub data: Vec<(&'static str, String)>,
    pub top: Element,
    pub content: Element,
    /// The docked row under the content.
    pub footer: Option<Element>,
}

impl Frame {
    /// The page and its policy.
    pub fn document(&self) -> Document {
        let script = match self.kind {
            WindowKind::Review => REVIEW_SCRIPT,
            WindowKind::Answer => ANSWER_SCRIPT,
            WindowKind::Enrolment | WindowKind::Keys => SHEET_SCRIPT,
        };
        let data: String = self.root_data().iter().map(|(name, value)| attribute(name, value)).collect();
        let body: String = self.body().iter().map(Element::markup).collect();
        let title = el(Tag::P).text(self.title.clone()).markup().replace("<p>", "<title>").replace("</p>", "</title>");
        let html = format!(
            "<!doctype html><html lang=\"en\"{data}><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             {title}<style>{STYLE}</style></head><body>{body}<script>{script}</script></body></html>"
        );
        let content_security_policy = format!(
            "default-src 'none'; script-src {}; style-src {}; connect-src ipc: http://ipc.localhost; form-action 'none'; \
             base-uri 'none'; frame-ancestors 'none'",
            source_of(script),
            source_of(STYLE),
        );
        Document { html, content_security_policy }
    }

    fn root_data(&self) -> Vec<(&'static str, String)> {
        let (act, state, seen) = match self.kind {
            WindowKind::Review => ("", "", "review_seen"),
            WindowKind::Answer => ("", "", "answer_seen"),
            WindowKind::Enrolment => ("enrolment_act", "enrolment_state", ""),
            WindowKind::Keys => ("keys_act", "keys_state", ""),
        };
        let mut data = vec![
            ("nonce", self.nonce.clone()),
            ("version", self.version.clone()),
            ("content-version", self.version.clone()),
            ("hold-ms", HOLD_MS.to_string()),
            ("seen-ms", SEEN_MS.to_string()),
            ("two-press-ms", TWO_PRESS_ARMED_MS.to_string()),
            ("act-command", act.to_owned()),
            ("state-command", state.to_owned()),
            ("seen-command", seen.to_owned()),
            ("silent", strings::CORE_SILENT.to_owned()),
            ("copied", strings::COPIED.to_owned()),
            ("working", strings::WORKING.to_owned()),
            ("no-paste", strings::NO_PASTE.to_owned()),
            ("hold-more", strings::HOLD_MORE.to_owned()),
            ("hold-ready", strings::HOLD_READY.to_owned()),
            ("press-again", strings::PRESS_AGAIN.to_owned()),
            ("press-later", strings::PRESS_LATER.to_owned()),
        ];
        data.extend(self.data.iter().cloned());
        if let Some(theme) = self.theme {
            data.push(("theme", theme.to_owned()));
        }
        data
    }

    fn body(&self) -> Vec<Element> {
        let mut body = vec![self.top.clone(), el(Tag::Main).attr("data-part", "main").attr("tabindex", "-1").child(self.content.clone())];
        body.push(self.footer.clone().unwrap_or_else(|| el(Tag::Div)));
        body.push(el(Tag::Div).class("status").attr("id", "log").attr("role", "log").attr("aria-live", "polite"));
        body
    }
}

fn attribute(name: &str, value: &str) -> String {
    // Written through an element, so that the value is escaped by the one writer of markup.
    let carrier = el(Tag::P).attr("data-value", value).markup();
    let quoted = carrier.trim_start_matches("<p data-value=").trim_end_matches("></p>");
    format!(" data-{name}={quoted}")
}

fn source_of(text: &str) -> String {
    format!("'sha256-{}'", base64_encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        Frame {
            kind: WindowKind::Review,
            title: "</title><script>1</script>".to_owned(),
            theme: Some("dark"),
            nonce: "\" onload=\"x".to_owned(),
            version: "1".to_owned(),
            data: vec![],
            top: el(Tag::Header),
            content: el(Tag::Div).text("</main><script>2</script>"),
            footer: None,
        }
    }

    #[test]
    fn only_the_pinned_script_is_in_the_page() {
        let document = frame().document();
        assert_eq!(document.html.matches("<script").count(), 1);
        assert_eq!(document.html.matches("</script").count(), 1);
        assert_eq!(document.html.matches("<style").count(), 1);
        assert!(document.html.contains("data-nonce=\"&quot; onload=&quot;x\""));
        assert!(document.html.contains("data-theme=\"dark\""));
        assert!(document.content_security_policy.starts_with("default-src 'none'; script-src 'sha256-"));
        assert!(!document.content_security_policy.contains("unsafe"));
    }

    /// Where the system puts its own colours in place of these, backgrounds go: what they said, an edge says.
    #[test]
    fn forced_colours_and_less_motion_are_answered() {
        let rule = |media: &str| STYLE.split_once(media).map(|(_, rest)| rest.split("@media").next().unwrap_or(rest)).unwrap_or_default();
        let forced = rule("@media (forced-colors: active)");
        for part in [".chip", ".notice", ".hidden-character", "CanvasText", "button[aria-disabled=\"true\"]", "GrayText"] {
            assert!(forced.contains(part), "`{part}` is not in: {forced}");
        }
        assert!(!STYLE.contains("forced-color-adjust: none"));
        assert!(rule("@media (prefers-reduced-motion: reduce)").contains(".hold progress { visibility: hidden; }"));
        assert!(!STYLE.contains("animation") && !STYLE.contains("transition"), "nothing moves by the style alone");
    }

    /// Nothing lies over anything else, least of all over what has the focus: all stands in the page's own flow.
    #[test]
    fn nothing_is_laid_over_the_page() {
        for over in ["position: fixed", "position: sticky", "z-index", "popover", "::backdrop"] {
            assert!(!STYLE.contains(over), "`{over}` would lie over something");
        }
        // The bar inside the button that is held, and what only a screen reader reads.
        assert_eq!(STYLE.matches("position: absolute").count(), 2);
        for over in ["showModal", "alert(", "confirm(", "prompt(", "showPopover"] {
            assert!(
                [REVIEW_SCRIPT, ANSWER_SCRIPT, SHEET_SCRIPT].iter().all(|script| !script.contains(over)),
                "`{over}` would lie over the page"
            );
        }
    }

    /// Nothing of an argument may be cut, folded or scrolled away in a box of its own: what cuts or scrolls is named here.
    #[test]
    fn the_style_cuts_nothing_and_scrolls_only_the_page() {
        for cuts in
            ["text-overflow", "ellipsis", "line-clamp", "…", "content-visibility", "overflow: clip", "zoom:", "-webkit-mask", "opacity: 0"]
        {
            assert!(!STYLE.contains(cuts), "`{cuts}` would hide a part");
        }
        let rules = STYLE.split('}').filter_map(|rule| rule.rsplit_once('{').map(|(selector, body)| (selector.trim(), body)));
        let mut scrolling: Vec<&str> = Vec::new();
        for (selector, body) in rules {
            let selector = selector.rsplit(['{', '\n']).next().unwrap_or(selector).trim();
            let declared = body.split(';').map(str::trim);
            for declaration in declared {
                let (name, value) = declaration.split_once(':').unwrap_or((declaration, ""));
                let cuts = ["overflow", "overflow-x", "overflow-y", "max-height"].contains(&name.trim())
                    && !["visible", "none"].contains(&value.trim());
                let gone = name.trim() == "display" && value.contains("none");
                if cuts || gone {
                    scrolling.push(selector);
                }
            }
        }
        scrolling.dedup();
        // The page itself, the docked row of the decision, what only a screen reader reads, the rows of the hex view, what is not there.
        assert_eq!(scrolling, ["[hidden]", ".out-of-sight", "main", "pre.hex", ".decision", ".decision .why p:empty"]);
    }

    #[test]
    fn scripts_and_style_stay_text_of_their_elements() {
        for part in [STYLE, REVIEW_SCRIPT, ANSWER_SCRIPT, SHEET_SCRIPT] {
            assert!(!part.contains("</"), "would end its element");
            assert!(!part.contains("innerHTML") && !part.contains("eval("));
        }
    }
}
