//! What a run remembers of its callers: each call, each effect with the bytes that caused it, each idempotency key.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::answer::Answer;
use super::limits::CALLS_KEPT_MAX;
use super::tool::Tool;

/// What the caller showed as a credential. The value itself is never kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Credential {
    Accepted,
    Wrong,
    Missing,
}

/// A request that arrived, whatever became of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReceivedCall {
    pub sequence: u64,
    pub tool: Tool,
    /// Path and query as received, without the `/runs/NAME` before it.
    pub target: String,
    pub credential: Credential,
    /// The `Idempotency-Key`, if one came.
    pub key: Option<String>,
    /// Names of the headers, lower case: a test can see that nothing of the agent's was passed on.
    pub headers: Vec<String>,
    /// SHA-256 of the body.
    pub body_sha256: String,
}

/// A change in the world, which cannot be forgotten.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Effect {
    pub sequence: u64,
    pub key: Option<String>,
    /// The body as received, byte for byte. Bodies that are not UTF-8 never have an effect.
    pub args: String,
    pub args_sha256: String,
}

/// The first answer to a key, and the bytes that it answered.
#[derive(Clone, Debug)]
struct Keyed {
    tool: Tool,
    payload_sha256: String,
    answer: Answer,
}

/// What a key that was seen before means for a new call.
#[derive(PartialEq, Eq, Debug)]
pub enum Known {
    New,
    Same(Answer),
    OtherPayload,
}

/// Calls, effects and keys of one run.
#[derive(Default)]
pub struct Ledger {
    sequence: u64,
    calls: VecDeque<ReceivedCall>,
    effects: BTreeMap<Tool, Vec<Effect>>,
    keys: BTreeMap<String, Keyed>,
}

impl Ledger {
    /// The next number of this run; calls and effects share one series, so that their order can be read off.
    pub fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Remembers a call and gives it its number.
    pub fn receive(&mut self, mut call: ReceivedCall) -> u64 {
        call.sequence = self.next();
        if self.calls.len() == CALLS_KEPT_MAX {
            self.calls.pop_front();
        }
        let sequence = call.sequence;
        self.calls.push_back(call);
        sequence
    }

    /// Counts an effect under a number taken from `next`.
    pub fn effect(&mut self, sequence: u64, tool: Tool, key: Option<&str>, args: &str) {
        let effect = Effect { sequence, key: key.map(str::to_owned), args: args.to_owned(), args_sha256: sha256_hex(args.as_bytes()) };
        self.effects.entry(tool).or_default().push(effect);
    }

    /// Looks a key up for a call that is about to act. A key belongs to one tool and one payload.
    pub fn known(&self, tool: Tool, key: &str, body: &[u8]) -> Known {
        match self.keys.get(key) {
            None => Known::New,
            Some(keyed) if keyed.tool == tool && keyed.payload_sha256 == sha256_hex(body) => Known::Same(keyed.answer.clone()),
            Some(_) => Known::OtherPayload,
        }
    }

    /// Keeps the first answer to a key.
    pub fn keep(&mut self, tool: Tool, key: &str, body: &[u8], answer: &Answer) {
        let keyed = Keyed { tool, payload_sha256: sha256_hex(body), answer: answer.clone() };
        self.keys.entry(key.to_owned()).or_insert(keyed);
    }

    /// The tool, payload digest and answer under a key.
    pub fn operation(&self, key: &str) -> Option<(Tool, &str, &Answer)> {
        self.keys.get(key).map(|keyed| (keyed.tool, keyed.payload_sha256.as_str(), &keyed.answer))
    }

    /// Forgets the keys of one tool, as a provider does when their time is over.
    pub fn forget_keys(&mut self, tool: Tool) {
        self.keys.retain(|_, keyed| keyed.tool != tool);
    }

    pub fn calls(&self) -> impl Iterator<Item = &ReceivedCall> {
        self.calls.iter()
    }

    pub fn effects(&self, tool: Tool) -> &[Effect] {
        self.effects.get(&tool).map_or(&[], Vec::as_slice)
    }
}

/// Lower-case hexadecimal SHA-256.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
