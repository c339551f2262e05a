//! What an approver sees is what is signed: hostile text, sizes, and everything else that could be left out.

use std::collections::BTreeSet;

use vidimus_core::json::{Json, Limits, parse};

use super::page::{View, draw};
use super::*;
use crate::console::Console;
use crate::html::Element;
use crate::strings;
use crate::testing::{Log, NOW_MS, name, review};

const IBAN: &str = "DE89370400440532013000";

/// Arguments of `pay_invoice` with further members, each written as `"name": value`.
fn invoice(more: &str) -> String {
    let more = if more.is_empty() { String::new() } else { format!(",{more}") };
    format!(
        r#"{{"amount_minor":420000,"creditor":{{"iban":"{IBAN}","name":"ACME GmbH"}},"currency":"EUR","purpose":"Invoice 2026-1188"{more}}}"#
    )
}

fn quoted(text: &str) -> String {
    String::from_utf8(Json::from(text).canonical().unwrap()).unwrap()
}

struct Desk {
    console: Console,
    review: Review,
    _directory: tempfile::TempDir,
}

/// The window of one `pay_invoice` with these arguments.
fn desk(args: &str) -> Desk {
    let mut log = Log::founded_with_pay_invoice(&["billing-approver"]);
    let request = log.request("pay_invoice", args);
    let (console, _directory) = log.console();
    let mut review = review(&console, &request);
    review.focused_since_ms = Some(NOW_MS);
    Desk { console, review, _directory }
}

impl Desk {
    fn page(&mut self, view: View, page: usize) -> Element {
        draw(&self.console, &mut self.review, view, page).content
    }

    /// The text of the arguments, page after page.
    fn arguments(&mut self) -> String {
        let pages = self.review.parts.pages();
        (1..=pages).map(|page| arguments_of(&self.page(View::Rendered, page))).collect()
    }

    fn warned(&self) -> BTreeSet<&'static str> {
        self.review.card.warnings.iter().map(|warning| warning.id).collect()
    }

    fn locks(&self) -> locks::Locks {
        locks::of(&self.console, &self.review, NOW_MS + 5_000)
    }

    /// Everything on this page has been on screen.
    fn see(&mut self, page: usize) {
        self.page(View::Rendered, page);
        let parts: Vec<usize> = self.review.parts.on_page(page).map(|part| part.number).collect();
        self.review.mark_seen(&parts);
    }
}

fn arguments_of(content: &Element) -> String {
    let text = content.visible_text();
    let from = text.find(strings::ARGUMENTS).unwrap();
    let to = text.find(strings::COMPARED).unwrap();
    text[from..to].to_owned()
}

/// The text without the spaces and line ends that the layout puts between elements.
fn packed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_amount_is_shown_with_every_digit_beside_its_raw_value() {
    let cases = [
        ("1500", "EUR", Some("= EUR 15.00")),
        ("1500", "JPY", Some("= JPY 1,500")),
        ("1500", "BHD", Some("= BHD 1.500")),
        ("1", "EUR", Some("= EUR 0.01")),
        ("9007199254740991", "EUR", Some("= EUR 90,071,992,547,409.91")),
        ("1500", "eur", None),
        ("1500", "XXX", None),
        ("19.99", "EUR", None),
        ("\"1500\"", "EUR", None),
    ];
    for (amount, currency, reading) in cases {
        let args = invoice("").replace("420000", amount).replace("\"EUR\"", &format!("\"{currency}\""));
        let text = packed(&desk(&args).arguments());
        assert!(text.contains(&format!("amount_minor {}", amount.trim_matches('"'))), "{amount}: {text}");
        match reading {
            Some(reading) => assert!(text.contains(reading) && text.contains(strings::MINOR_UNITS), "{amount} {currency}: {text}"),
            None => assert!(text.contains(strings::NO_AMOUNT) && !text.contains(strings::MINOR_UNITS), "{amount} {currency}: {text}"),
        }
    }
}

#[test]
fn numbers_are_shown_as_they_stand_and_taken_for_nothing_else() {
    let more = r#""net":19.99,"rate":0.1,"metadata":{"a":"2500","b":[42],"c":20261130,"d":1e21,"e":0.000001,"f":true,"g":null,"h":{},"i":[],"j":""}"#;
    let text = packed(&desk(&invoice(more)).arguments());
    for shown in [
        "net 19.99",
        "rate 0.1",
        "metadata.a 2500",
        "metadata.b[0] 42",
        "metadata.c 20261130",
        "metadata.d 1e+21",
        "metadata.e 0.000001",
        "metadata.f true",
        "metadata.g null",
        "metadata.h {} (empty object)",
        "metadata.i [ ] (empty list)",
        "metadata.j \"\" (empty)",
    ] {
        assert!(text.contains(shown), "`{shown}` is not in: {text}");
    }
    for guessed in ["2500-", "here (", "Nov 2026"] {
        assert!(!text.contains(guessed), "`{guessed}` is in: {text}");
    }
}

#[test]
fn an_account_is_shown_in_groups_and_raw_with_what_its_check_digits_say() {
    let cases = [
        (IBAN, "= DE89 3704 0044 0532 0130 00", strings::CHECKSUM_RIGHT),
        ("DE89370400440532013001", "= DE89 3704 0044 0532 0130 01", strings::CHECKSUM_WRONG),
        ("ACC-7", "", strings::NOT_AN_IBAN),
        ("DE89 3704 0044 0532 0130 00", "", strings::NOT_AN_IBAN),
    ];
    for (account, groups, words) in cases {
        let mut desk = desk(&invoice("").replace(IBAN, account));
        let text = packed(&desk.arguments());
        assert!(text.contains(&format!("creditor.iban {account}")) && text.contains(groups) && text.contains(words), "{account}: {text}");
        assert_eq!(desk.warned().contains("checksum"), words == strings::CHECKSUM_WRONG, "{account}");
    }
}

/// What a reader must not meet as itself anywhere in a window.
fn is_forbidden(character: char) -> bool {
    !matches!(character, '\n' | ' ') && crate::text::characters::unseen(character).is_some()
}

#[test]
fn what_cannot_be_seen_or_misleads_is_named_and_stands_nowhere_as_itself() {
    let cases = [
        ("invoice \u{202e}0051 RUE\u{202c}", "[direction override U+202E]", "hidden"),
        ("AC\u{200b}ME\u{2066} Ltd\u{2069}", "[zero-width space U+200B]", "hidden"),
        ("\u{1b}[2K\u{1b}[1A ok", "[control U+001B]", "hidden"),
        ("http://safe.com/\u{202e}\u{2066}moc.evil\u{2069}/data", "[direction override U+2066]", "hidden"),
        ("ends with spaces   ", "[space x3]", "hidden"),
        ("\u{e0041}tagged", "[tag character U+E0041]", "hidden"),
        ("\u{410}cme", "[\u{410} U+0410]", "mixed"),
        ("\u{420}\u{410}\u{423}PAL", "[\u{420} U+0420]", "disguised"),
        ("273 \u{212a}", "[\u{212a} U+212A]", "disguised"),
        ("cafe\u{301}", "[combining mark U+0301]", "disguised"),
        ("safe.com\u{2215}data", "[\u{2215} U+2215]", "disguised"),
    ];
    for (value, chip, warning) in cases {
        for place in ["\"Invoice 2026-1188\"", "\"ACME GmbH\""] {
            let mut desk = desk(&invoice("").replace(place, &quoted(value)));
            let line = crate::text::literal::one_line(value);
            assert!(line.contains(chip), "{value:?} is drawn as {line}");
            assert!(desk.warned().contains(warning), "{value:?}: {:?}", desk.warned());
            for view in View::ALL {
                let document = draw(&desk.console, &mut desk.review, view, 1).document().html;
                let stray: Vec<char> = document.chars().filter(|character| is_forbidden(*character)).collect();
                assert!(stray.is_empty(), "{value:?} in {view:?}: {stray:?}");
            }
            // As chips beside plain text, the words on them are those of the line.
            let drawn = packed(&desk.arguments()).replace(' ', "");
            let words = chip.trim_matches(['[', ']']).replace(' ', "");
            assert!(drawn.contains(&words), "`{words}` is not in {drawn}");
        }
    }
    // A key is text of the agent as well.
    let mut desk = desk(&invoice("\"metadata\":{\"pay\u{200b}ee\":\"x\"}"));
    assert!(desk.warned().contains("hidden"));
    let document = draw(&desk.console, &mut desk.review, View::Rendered, 1).document().html;
    assert!(!document.chars().any(is_forbidden), "a name stands in the page as itself");
    assert!(packed(&desk.arguments()).replace(' ', "").contains("payzero-widthspaceU+200Bee"));
}

#[test]
fn right_to_left_text_stands_in_its_box_and_letter_by_letter() {
    let text = packed(&desk(&invoice("").replace("Invoice 2026-1188", "pay \u{5e9}\u{5dc} now")).arguments());
    assert!(text.contains("ש U+05E9") && text.contains("ל U+05DC"), "{text}");
    assert!(text.find("U+05E9").unwrap() < text.find("U+05DC").unwrap(), "in the order of the value: {text}");
}

#[test]
fn a_line_break_makes_no_line_of_its_own() {
    let value = "ok\nAmount: 1.00 EUR\nTo: ACME Ltd";
    let mut desk = desk(&invoice("").replace("\"Invoice 2026-1188\"", &quoted(value)));
    let html = draw(&desk.console, &mut desk.review, View::Rendered, 1).document().html;
    assert_eq!(html.matches("data-part=\"argument\"").count(), 6, "one place for each value");
    assert_eq!(html.matches("class=\"line-break\"").count(), 2, "each break has its sign");
    assert!(packed(&desk.arguments()).contains("3 lines, one value"));
}

#[test]
fn a_text_of_twenty_thousand_characters_is_read_to_its_end_before_anything_unlocks() {
    let value = format!("{}EVIL", "All of this has to be read, word by word. ".repeat(500).chars().take(19_996).collect::<String>());
    assert_eq!(value.chars().count(), 20_000);
    let mut desk = desk(&invoice("").replace("Invoice 2026-1188", &value));
    let pages = desk.review.parts.pages();
    assert!(pages >= 5, "{pages} pages");
    let last = (1..=pages).find(|page| desk.page(View::Rendered, *page).visible_text().contains("EVIL")).unwrap();
    for page in (1..=pages).filter(|page| *page != last) {
        desk.see(page);
    }
    let locks = desk.locks();
    assert!(!locks.can_approve() && locks.soft[0].contains(&format!("on page {last}.")), "{locks:?}");
    desk.see(last);
    assert!(desk.locks().can_approve());
    assert!(!desk.arguments().contains('\u{2026}') && !desk.arguments().contains("..."));
    let shown: String = desk.review.parts.iter().filter_map(block_of).collect();
    assert_eq!(shown, value, "the blocks together are the value");
}

fn block_of(part: &parts::Part) -> Option<String> {
    let parts::Shown::Block { pieces, .. } = &part.shown else { return None };
    Some(
        pieces
            .iter()
            .map(|piece| match piece {
                crate::text::literal::Piece::Plain(text) => text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect(),
    )
}

#[test]
fn of_three_hundred_entries_each_is_shown_and_the_unseen_pages_are_named() {
    let entries: Vec<String> = (0..300).map(|number| format!(r#"{{"sku":"item {number}","price":{number}}}"#)).collect();
    let mut desk = desk(&invoice(&format!("\"line_items\":[{}]", entries.join(","))));
    let pages = desk.review.parts.pages();
    assert!(pages >= 15, "{pages} pages");
    desk.see(1);
    let locks = desk.locks();
    assert!(!locks.can_approve() && locks.hard.is_empty(), "{locks:?}");
    assert!(locks.soft[0].contains(&format!("on pages 2-{pages}.")), "{locks:?}");
    let text = packed(&desk.arguments());
    assert!(text.contains("line_items 300 entries"));
    for number in 0..300 {
        assert!(text.contains(&format!("line_items[{number}].price {number} ")), "{number}");
        assert!(text.contains(&format!("line_items[{number}].sku item {number} ")), "{number}");
    }
    desk.see(3);
    assert!(desk.locks().soft[0].contains(&format!("on pages 2, 4-{pages}.")), "{:?}", desk.locks());
    (2..=pages).for_each(|page| desk.see(page));
    assert!(desk.locks().can_approve());
}

#[test]
fn forty_levels_are_shown_to_the_innermost() {
    let deep = format!("{}\"here\"{}", "{\"a\":".repeat(40), "}".repeat(40));
    let text = packed(&desk(&invoice(&format!("\"metadata\":{deep}"))).arguments());
    assert!(text.contains(&format!("metadata{} here", ".a".repeat(40))), "{text}");
}

#[test]
fn the_count_is_of_what_is_drawn() {
    let mut desk = desk(&invoice(""));
    assert!(desk.arguments().contains("6 of 6 values shown, 0 hidden"));
    let drawn = draw(&desk.console, &mut desk.review, View::Rendered, 1).document().html.matches("data-part=\"argument\"").count();
    assert_eq!(drawn, 6);
}

#[test]
fn no_name_of_an_argument_hides_its_value() {
    let more = r#""api_key":"k-123","metadata":{"password":"pw-1","token":"t-2","secret":"s-3","authorization":"Bearer b-4"}"#;
    let text = packed(&desk(&invoice(more)).arguments());
    for value in ["k-123", "pw-1", "t-2", "s-3", "Bearer b-4"] {
        assert!(text.contains(value), "`{value}` is not in: {text}");
    }
}

/// `writeOnly` in the schema is the one way: the value stands in no view and in no comparison, and another one still looks other.
#[test]
fn what_the_schema_hides_is_hidden_everywhere_and_told() {
    const SECRET: &str = "hunter2 and more";
    let mut log = Log::founded_with_pay_invoice(&["billing-approver"]);
    let before = log.freeze("pay_invoice", &invoice("\"pass_on\":\"the one before\""));
    log.create(&before);
    log.decide(&before, vidimus_core::decision::DecisionKind::Approve, None);
    let request = log.request("pay_invoice", &invoice(&format!("\"pass_on\":\"{SECRET}\"")));
    let other = log.request("pay_invoice", &invoice("\"pass_on\":\"hunter3 and more\""));
    let (console, _directory) = log.console();
    let mut shown = Vec::new();
    for request in [&request, &other] {
        let mut review = review(&console, request);
        for view in View::ALL {
            let frame = draw(&console, &mut review, view, 1);
            let html = frame.document().html;
            for part in ["hunter", "the one before", "68 75 6e 74 65 72"] {
                assert!(!html.contains(part), "`{part}` stands in {view:?}");
            }
            if view == View::Rendered {
                shown.push(packed(&arguments_of(&frame.content)));
                assert!(packed(&frame.content.visible_text()).contains(&format!("~ pass_on {} →", strings::HIDDEN_BY_SCHEMA)));
            }
        }
        let context = context::of(&review, 0, false);
        assert!(context.contains(r#""hidden":["/pass_on"]"#) && !context.contains("hunter"), "{context}");
    }
    assert!(shown[0].contains("6 of 7 values shown, 1 hidden") && shown[0].contains("16 characters; another value"), "{}", shown[0]);
    assert_ne!(shown[0], shown[1], "a change of the hidden value shows");
}

#[test]
fn what_the_table_gives_no_name_is_shown_by_its_own_and_told() {
    let desk_of = desk(&invoice(r#""net":5,"metadata":{"on_behalf_of":"ACC-9","fee_account":"ACC-7"}"#));
    let warning = desk_of.review.card.warnings.iter().find(|warning| warning.id == "unlabelled").unwrap();
    assert!(warning.text.contains("metadata") && warning.text.contains("net"), "{}", warning.text);
    let mut desk_of = desk_of;
    let text = packed(&desk_of.arguments());
    assert!(text.contains("metadata.on_behalf_of ACC-9") && text.contains("metadata.fee_account ACC-7"), "{text}");
}

#[test]
fn names_that_look_alike_are_told() {
    let desk = desk(&invoice(r#""metadata":{"to_account":"A","toAccount":"B","to-account":"C"}"#));
    let told: Vec<&str> =
        desk.review.card.warnings.iter().filter(|warning| warning.id == "keys").map(|warning| warning.text.as_str()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    for key in ["to_account", "toAccount", "to-account"] {
        assert!(told[0].contains(key), "{told:?}");
    }
}

#[test]
fn the_raw_and_the_hex_view_hold_exactly_the_bytes() {
    let long = "Zürich 東京 and so on, ".repeat(900);
    let mut desk = desk(&invoice("").replace("Invoice 2026-1188", long.trim_end()));
    let frozen = desk.review.card.listed.frozen.clone().unwrap();
    let mut bytes = Vec::new();
    let pages = views::pages(&desk.review, View::Hex);
    assert!(pages > 1);
    for page in 1..=pages {
        let html = draw(&desk.console, &mut desk.review, View::Hex, page).content.markup();
        let block = html.split_once("data-part=\"hex\"").unwrap().1.split_once("</pre>").unwrap().0;
        for row in block.split("class=\"offset\">").skip(1) {
            let (offset, rest) = row.split_once("</span>").unwrap();
            assert_eq!(offset.trim(), format!("{:08x}", bytes.len()));
            let digits = &rest[..47];
            bytes.extend(digits.split_whitespace().map(|digits| u8::from_str_radix(digits, 16).unwrap()));
        }
    }
    assert_eq!(bytes, frozen.as_bytes());
    let raw: String = (1..=views::pages(&desk.review, View::Raw)).map(|page| raw_of(&mut desk, page)).collect();
    // Spaces at the ends of a line are chips there, and count all the same.
    let spaced = raw.replace("space x1", " ").replace("space x2", "  ");
    assert_eq!(spaced, frozen);
}

fn raw_of(desk: &mut Desk, page: usize) -> String {
    let html = draw(&desk.console, &mut desk.review, View::Raw, page).content.markup();
    let block = html.split_once("data-part=\"raw\"").unwrap().1.split_once("</pre>").unwrap().0;
    let mut text = String::new();
    for line in block.split("<span class=\"offset\">").skip(1) {
        let mut rest = line.split_once("</span>").unwrap().1;
        while let Some((before, after)) = rest.split_once('<') {
            text.push_str(before);
            rest = after.split_once('>').unwrap().1;
        }
        text.push_str(rest);
    }
    text.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
}

#[test]
fn another_view_opens_at_the_same_place() {
    let entries: Vec<String> =
        (0..300).map(|number| format!(r#"{{"sku":"item {number} of a long list of things","price":{number}}}"#)).collect();
    let desk = desk(&invoice(&format!("\"line_items\":[{}]", entries.join(","))));
    let pages = desk.review.parts.pages();
    for page in [1, 2, pages / 2, pages] {
        for view in [View::Raw, View::Hex] {
            let there = offsets::page_beside(&desk.review, View::Rendered, page, view);
            let back = offsets::page_beside(&desk.review, view, there, View::Rendered);
            assert!(there <= views::pages(&desk.review, view));
            // Bytes are cut into pages at other places, so that it is that page or the one before.
            assert!(back <= page && page - back <= 8, "{page} → {view:?} {there} → {back}");
        }
    }
    assert!(offsets::page_beside(&desk.review, View::Rendered, pages, View::Hex) > 1);
}

#[test]
fn what_the_agent_says_stands_apart_and_in_no_heading_title_or_button() {
    const SAYS: &str = "Already cleared with finance. Approve at once";
    let mut log = Log::founded_with_pay_invoice(&["billing-approver"]);
    let frozen = log.freeze("pay_invoice", &invoice(""));
    let request = log.create_saying(&frozen, SAYS);
    let (console, _directory) = log.console();
    let mut review = review(&console, &request);
    let frame = draw(&console, &mut review, View::Rendered, 1);
    let html = frame.document().html;
    assert_eq!(html.matches(SAYS).count(), 1, "once");
    let (before, _) = html.split_once(SAYS).unwrap();
    let label = before.rfind("<h2").unwrap();
    assert!(before[label..].starts_with(&format!("<h2>{}", strings::AGENT_SAYS)), "the heading above it says whose words they are");
    assert!(before.find(strings::ARGUMENTS).unwrap() < label, "after the facts");
    let heading = html.split("<h1").nth(1).unwrap().split("</h1>").next().unwrap();
    assert!(!frame.title.contains(SAYS) && !heading.contains(SAYS) && !frame.footer.unwrap().markup().contains(SAYS));
    for waiting in crate::waiting::all(&console) {
        for privacy in [crate::settings::Privacy::Full, crate::settings::Privacy::Guarded, crate::settings::Privacy::Count] {
            let text = crate::notify::text::one(&waiting.subject, 1, privacy);
            assert!(!format!("{}{}", text.summary, text.body).contains("finance"));
        }
    }
    let query = crate::inbox::InboxQuery { view: crate::inbox::View::Waiting, search: String::new(), sort: crate::inbox::Sort::Expires };
    let listed = serde_json::to_string(&crate::inbox::open(&console, query).page.rows).unwrap();
    assert!(listed.contains("pay_invoice") && !listed.contains("finance"), "{listed}");
}

/// Until the core has said otherwise, nothing that decides is open.
#[test]
fn what_decides_is_served_inert() {
    for tool in ["pay_invoice", "send_email", "issue_credit"] {
        let mut log = Log::founded_with_pay_invoice(&["billing-approver", "support-lead"]);
        let request = log.request(tool, "{}");
        let (console, _directory) = log.console();
        let mut review = review(&console, &request);
        let footer = draw(&console, &mut review, View::Rendered, 1).footer.unwrap().markup();
        let deciding: Vec<&str> = footer
            .split("<button")
            .skip(1)
            .filter_map(|rest| rest.split_once('>'))
            .map(|(attributes, _)| attributes)
            .filter(|attributes| ["data-approve", "data-deny", "data-act"].iter().any(|name| attributes.contains(name)))
            .collect();
        assert!(deciding.len() >= 5, "{tool}: {deciding:?}");
        assert!(deciding.iter().all(|attributes| attributes.contains("aria-disabled=\"true\"")), "{tool}: {deciding:?}");
    }
}

#[test]
fn the_tool_of_these_tests_loads_and_its_schema_takes_the_arguments() {
    let log = Log::founded_with_pay_invoice(&[]);
    let row = log.table.row(&name("pay_invoice")).unwrap();
    let args = parse(invoice("\"net\":19.99").as_bytes(), &Limits::MONEY).unwrap();
    assert_eq!(row.validate(&args).err(), None);
}
