//! What differs from the last approved request of the same kind.

use std::collections::BTreeMap;

use vidimus_core::frozen::FrozenRequest;
use vidimus_core::render::{self, Node, NodeKind};
use vidimus_core::table::Row;

use crate::mirror::{Mirror, MirrorFault, RequestRow};
use crate::review::card::{Card, path_text};
use crate::review::payee;
use crate::strings;

/// One difference, each side as its whole literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    Added {
        path: String,
        here: String,
    },
    Removed {
        path: String,
        there: String,
    },
    Changed {
        path: String,
        there: String,
        here: String,
        /// How many times the earlier number it is, in hundredths.
        times: Option<u128>,
    },
}

/// What the compared request has in common with this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The same tool and the same payee.
    Payee,
    /// The same tool and the same agent.
    Agent,
    /// The same tool.
    Tool,
}

/// A comparison with one earlier request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    pub request: String,
    pub at_ms: i64,
    pub basis: Basis,
    pub differences: Vec<Difference>,
    /// Values that are the same, by their paths.
    pub same: Vec<String>,
}

/// Compares with the last approved request of the same tool and payee; without one, of the same agent; without one, of the tool.
pub fn with_last(card: &Card, mirror: &Mirror) -> Result<Option<Comparison>, MirrorFault> {
    let (Some(row), Some(frozen)) = (&card.row, &card.frozen) else { return Ok(None) };
    let to_payee = payee::same_payee(card, mirror)?;
    let earlier = mirror.approved_before(row.tool.as_str(), card.listed.position)?;
    let by_agent = |listed: &&RequestRow| listed.agent == card.listed.agent;
    let candidates = to_payee
        .iter()
        .map(|naming| (Basis::Payee, &naming.request, naming.at_ms, naming.frozen.as_deref()))
        .chain(earlier.iter().filter(by_agent).map(|listed| (Basis::Agent, &listed.request, listed.at_ms, listed.frozen.as_deref())))
        .chain(earlier.iter().map(|listed| (Basis::Tool, &listed.request, listed.at_ms, listed.frozen.as_deref())));
    for (basis, request, at_ms, text) in candidates {
        let Some(Ok(there)) = text.map(|text| FrozenRequest::parse(text.as_bytes())) else { continue };
        return Ok(differences(row, frozen, &there).map(|(differences, same)| Comparison {
            request: request.clone(),
            at_ms,
            basis,
            differences,
            same,
        }));
    }
    Ok(None)
}

fn differences(row: &Row, here: &FrozenRequest, there: &FrozenRequest) -> Option<(Vec<Difference>, Vec<String>)> {
    let here = literals(row, here)?;
    let mut there: BTreeMap<String, (NodeKind, String)> = literals(row, there)?.into_iter().collect();
    let (mut differences, mut same) = (Vec::new(), Vec::new());
    let shown = |path: &str, literal: String| if row.hides(path) { strings::HIDDEN_BY_SCHEMA.to_owned() } else { literal };
    for (path, (kind, here)) in here {
        match there.remove(&path) {
            None => differences.push(Difference::Added { path: path_text(&path), here: shown(&path, here) }),
            Some(before) if before == (kind, here.clone()) => same.push(path_text(&path)),
            Some((before_kind, there)) => {
                let numbers = kind == NodeKind::Number && before_kind == NodeKind::Number;
                let times = if numbers && !row.hides(&path) { times(&there, &here) } else { None };
                let (there, here) = (shown(&path, there), shown(&path, here));
                differences.push(Difference::Changed { path: path_text(&path), there, here, times });
            }
        }
    }
    differences
        .extend(there.into_iter().map(|(path, (_, there))| Difference::Removed { path: path_text(&path), there: shown(&path, there) }));
    Some((differences, same))
}

/// How many times one whole number is another, in hundredths and rounded down.
fn times(there: &str, here: &str) -> Option<u128> {
    let (there, here) = (there.parse::<u128>().ok()?, here.parse::<u128>().ok()?);
    here.checked_mul(100)?.checked_div(there)
}

fn literals(row: &Row, frozen: &FrozenRequest) -> Option<Vec<(String, (NodeKind, String))>> {
    let nodes = render::render(&frozen.members().args, row).ok()?;
    Some(nodes.iter().skip(1).filter(|node| node.count.is_none_or(|count| count == 0)).map(literal_of).collect())
}

fn literal_of(node: &Node) -> (String, (NodeKind, String)) {
    let literal = match node.kind {
        NodeKind::Object => "{}".to_owned(),
        NodeKind::Array => "[ ]".to_owned(),
        // Quoted, so that a text and a number of the same characters differ.
        NodeKind::String => format!("\"{}\"", node.literal),
        NodeKind::Number | NodeKind::True | NodeKind::False | NodeKind::Null => node.literal.clone(),
    };
    (node.path.clone(), (node.kind, literal))
}
