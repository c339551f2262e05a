//! The whole page of a review window.

use crate::console::Console;
use crate::html::{Element, Tag, el};
use crate::review::sections;
use crate::review::state::{self, TopLine, top_line};
use crate::review::{Review, panels, roster_change, table_change, views};
use crate::strings;
use crate::trusted::page::{Frame, WindowKind};

/// How the arguments are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum View {
    #[default]
    Rendered,
    Raw,
    Hex,
}

impl View {
    pub const ALL: [Self; 3] = [Self::Rendered, Self::Raw, Self::Hex];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rendered => "rendered",
            Self::Raw => "raw",
            Self::Hex => "hex",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Rendered => strings::VIEW_RENDERED,
            Self::Raw => strings::VIEW_RAW,
            Self::Hex => strings::VIEW_HEX,
        }
    }

    /// The view and page of a query such as `view=hex&page=2`. Anything else is the first page.
    pub fn of_query(query: &str) -> (Self, usize) {
        let (mut view, mut page) = (Self::default(), 1);
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("view", name)) => view = Self::ALL.into_iter().find(|view| view.as_str() == name).unwrap_or_default(),
                Some(("page", number)) => page = number.parse().unwrap_or(1),
                _ => {}
            }
        }
        (view, page)
    }
}

/// Draws one page, and notes that its parts were served.
pub fn draw(console: &Console, review: &mut Review, view: View, page: usize) -> Frame {
    let pages = views::pages(review, view);
    let page = page.clamp(1, pages);
    if view == View::Rendered {
        review.served_pages.insert(page);
    }
    let review = &*review;
    let card = &review.card;
    let comparison = console.read(|mirror| crate::review::compare::with_last(card, mirror)).flatten();
    let mut column = el(Tag::Div).class("column").child(sections::lead(card));
    if page == 1 {
        column = column.optional(sections::warnings(review, view == View::Rendered));
    }
    let column = column
        .optional(if page == 1 { table_change::section(card) } else { None })
        .optional(if page == 1 { roster_change::section(console, card) } else { None })
        .child(views::arguments(review, view, page, pages, &console.zone, console.now_ms()))
        .optional(sections::referents(card))
        .child(sections::compared(console, card, comparison.as_ref()))
        .optional(sections::says(review, view == View::Rendered && page == 1))
        .child(sections::facts(console, card))
        .child(sections::identity(review))
        .child(sections::history(console, card));
    // The page stands as it will stand: nothing moves when its script first asks.
    let state = state::of(console, review, console.now_ms());
    let first = |name: &str| state.text(name).map(ToOwned::to_owned);
    let hash = card.local_sha256().unwrap_or_default();
    let environment = card.frozen.as_ref().map(|frozen| frozen.members().environment.as_str());
    Frame {
        kind: WindowKind::Review,
        title: strings::review_title(environment, console.automated),
        theme: console.theme_mark(),
        nonce: review.nonce.clone(),
        version: state.content_version.clone(),
        data: vec![("friction", card.friction().as_str().to_owned()), ("hash", hash), ("request", card.listed.request.clone())],
        top: top(console, environment),
        content: column.filled("data-live", &first),
        footer: Some(panels::decision(review, &sections::others(console, card)).filled("data-live", &first)),
    }
}

/// The bar with the environment, the gate, the clock and the key.
pub fn top(console: &Console, environment: Option<&str>) -> Element {
    let TopLine { gate, clock, key } = top_line(console);
    let word = |name: &'static str, part: &'static str, label: &'static str, text: String| {
        el(Tag::Span).attr("data-part", part).text(format!("{label} ")).child(el(Tag::B).attr("data-live", name).text(text))
    };
    let mut bar = el(Tag::Header).class("top").attr("data-part", "top");
    if let Some(environment) = environment {
        let class = if environment == "live" { "chip live" } else { "chip test" };
        bar = bar.child(el(Tag::Span).class(class).attr("data-part", "environment").text(environment.to_uppercase()));
    }
    if console.automated {
        bar = bar.child(el(Tag::Span).class("chip automated").attr("data-part", "automated").text(strings::AUTOMATED));
    }
    bar.child(word("gate", "gate", strings::TOP_GATE, gate)).child(word("clock", "clock", strings::TOP_CLOCK, clock)).child(word(
        "key",
        "key",
        strings::TOP_KEY,
        key,
    ))
}
