//! What may be frozen is what an approver can be shown: the nodes of a call are bounded before anybody is asked.

use vidimus_core::code::Code;
use vidimus_core::frozen::{Draft, FrozenRequest};
use vidimus_core::json::Json;
use vidimus_core::limits::RENDERED_BYTES_MAX;
use vidimus_core::render::{frozen_shown_sha256, render, rendered_bytes, shown_sha256};
use vidimus_core::table::Table;

use crate::house::{draft, name, roster_of};

const COMPANY: &str = include_str!("../../../../tests/src/company/effects.toml");

fn with(args: Json) -> Draft {
    Draft { args, ..draft(&roster_of(&[(1, &["admin"])], None)) }
}

fn named(name: String, values: usize) -> Json {
    Json::Object(vec![("meta".to_owned(), Json::Object(vec![(name, Json::Array(vec![Json::from(0_u32); values]))]))])
}

/// Each value has its whole path: a call of the largest size would be shown as a gigabyte of them.
#[test]
fn a_long_name_above_many_values_is_not_frozen() {
    let refused = FrozenRequest::freeze(with(named("k".repeat(120_000), 9_900))).expect_err("a gigabyte of paths");
    assert_eq!((refused.code, refused.path.as_deref()), (Code::JsonTooLarge, Some("/args")));
    // The bound is exact, and read bytes are held to it like made ones.
    let bytes = |name: usize| rendered_bytes(&named("k".repeat(name), 9));
    let longest = (RENDERED_BYTES_MAX - bytes(0)) / (bytes(1) - bytes(0));
    FrozenRequest::freeze(with(named("k".repeat(longest), 9))).expect("within the bound");
    let beyond = FrozenRequest::freeze(with(named("k".repeat(longest + 1), 9))).expect_err("beyond the bound");
    assert_eq!(beyond.code, Code::JsonTooLarge);
}

#[test]
fn a_digest_taken_node_by_node_is_the_digest_of_all_of_them() {
    let table = Table::parse(&COMPANY.replace("{{company}}", "http://127.0.0.1:1")).expect("the company's table");
    let row = table.row(&name("refund")).expect("a row");
    let texts = [r#"{}"#, r#"{"invoice":"842"}"#, r#"{"z":[1,{"a":null}],"amount_minor":15,"currency":"EUR","a/b":"\u0001 é"}"#];
    for text in texts {
        let args = vidimus_core::json::parse(text.as_bytes(), &vidimus_core::json::Limits::MONEY).expect(text);
        let frozen = FrozenRequest::freeze(with(args.clone())).expect(text);
        let whole = shown_sha256(&name("refund"), &render(&args, row).expect("nodes")).expect("a digest");
        assert_eq!(frozen_shown_sha256(&frozen, row).expect("a digest"), whole, "{text}");
    }
}
