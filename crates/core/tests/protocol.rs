//! The worked vectors of `docs/protocol.md`, each made by another implementation than ours.

use vidimus_core::bytes::{Digest, Salt, tagged};
use vidimus_core::checkpoint;
use vidimus_core::ids::{CallId, Name, RequestId, RunId};
use vidimus_core::json::{Fields, Json, Limits, parse};
use vidimus_core::operation::{OperationKey, WriteCaller};
use vidimus_core::token;
use vidimus_core::tree::{leaf_hash, root_of};

/// The lines of every block of this name; a name without a block fails.
fn vectors(name: &str) -> Vec<Json> {
    let text = include_str!("../../../docs/protocol.md");
    let opening = format!("```vectors {name}\n");
    let lines: Vec<Json> = text
        .split(&opening)
        .skip(1)
        .flat_map(|rest| rest.split("\n```").next().unwrap_or_default().lines())
        .map(|line| parse(line.as_bytes(), &Limits::MONEY).expect(line))
        .collect();
    assert!(!lines.is_empty(), "no vectors `{name}`");
    lines
}

fn text<'a>(vector: &'a Json, name: &str) -> &'a str {
    vector.member(name).and_then(Json::as_str).unwrap_or_else(|| panic!("no text `{name}` in {vector:?}"))
}

fn code(vector: &Json) -> Option<&str> {
    vector.member("code").and_then(Json::as_str)
}

#[test]
fn canonical() {
    for vector in vectors("canonical") {
        let input = text(&vector, "in");
        match (code(&vector), parse(input.as_bytes(), &Limits::MONEY)) {
            (None, found) => {
                let canonical = found.expect(input).canonical().expect(input);
                assert_eq!(String::from_utf8(canonical).expect("text"), text(&vector, "out"));
            }
            (Some(code), found) => assert_eq!(found.expect_err(input).code.as_str(), code, "{input}"),
        }
    }
}

#[test]
fn digest() {
    for vector in vectors("digest") {
        let salt: Salt = text(&vector, "salt").parse().expect("a salt");
        let found = tagged(text(&vector, "tag"), [salt.as_bytes(), text(&vector, "text").as_bytes()]);
        assert_eq!(found.to_string(), text(&vector, "sha256"));
    }
}

#[test]
fn execution_token() {
    for vector in vectors("token") {
        let name = text(&vector, "name");
        let key = text(&vector, "key").parse().expect("a key");
        let tool = Name::parse(text(&vector, "tool")).expect("a tool");
        let args: Digest = text(&vector, "args_sha256").parse().expect("a digest");
        let now = text(&vector, "now").parse().expect("a time");
        let found = token::verify(text(&vector, "token"), &key, text(&vector, "audience"), &tool, &args, now);
        match code(&vector) {
            None => {
                let found = found.expect(name);
                assert_eq!(found.claims().operation.to_string(), text(&vector, "operation"));
                assert_eq!(
                    vector.member("attempt").and_then(Json::as_number).and_then(|n| n.as_u64()),
                    Some(u64::from(found.claims().attempt))
                );
            }
            Some(code) => assert_eq!(found.expect_err(name).code.as_str(), code, "{name}"),
        }
    }
}

#[test]
fn operation() {
    for vector in vectors("operation") {
        let parts = Fields::exactly(&vector, &["array", "key"]).and_then(|fields| fields.strings("array")).expect("an array of strings");
        let name = |text: &str| Name::parse(text).expect("a name");
        let found = match parts.as_slice() {
            ["money", tool, request, args] => {
                let request: RequestId = request.parse().expect("a request");
                OperationKey::money(&name(tool), &request, &args.parse().expect("a digest"))
            }
            ["write", agent, tool, call_key] => {
                OperationKey::write(&name(agent), &name(tool), &WriteCaller::CallKey((*call_key).to_owned()))
            }
            ["write", agent, tool, run, call] => {
                let (run, call): (RunId, CallId) = (run.parse().expect("a run"), call.parse().expect("a call"));
                OperationKey::write(&name(agent), &name(tool), &WriteCaller::Call(run, call))
            }
            other => panic!("no operation: {other:?}"),
        };
        assert_eq!(found.to_string(), text(&vector, "key"));
    }
}

#[test]
fn tree() {
    for vector in vectors("tree") {
        let fields = Fields::exactly(&vector, &["leaves", "root"]).expect("two members");
        let leaves: Vec<Digest> = fields.strings("leaves").expect("strings").iter().map(|leaf| leaf_hash(leaf.as_bytes())).collect();
        assert_eq!(root_of(&leaves), fields.digest("root").expect("a digest"));
    }
}

#[test]
fn signed_checkpoint() {
    for vector in vectors("checkpoint") {
        let name = text(&vector, "name");
        let key = text(&vector, "key").parse().expect("a key");
        let found = checkpoint::parse_verify(text(&vector, "note"), text(&vector, "origin"), &key);
        match code(&vector) {
            None => {
                let found = found.expect(name);
                assert_eq!(found.checkpoint().root().to_string(), text(&vector, "root"));
                assert_eq!(vector.member("size").and_then(Json::as_number).and_then(|n| n.as_u64()), Some(found.checkpoint().size()));
            }
            Some(code) => assert_eq!(found.expect_err(name).code.as_str(), code, "{name}"),
        }
    }
}
