//! What differs from the last approved request of the same kind.

use std::collections::BTreeMap;

use vidimus_core::frozen::FrozenRequest;
use vidimus_core::render::{self, Node};
use vidimus_core::table::Row;

use crate::mirror::{Mirror, MirrorFault, RequestRow};
use crate::review::card::Card;

/// One difference, each side as its whole literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    Added { path: String, here: String },
    Removed { path: String, there: String },
    Changed { path: String, there: String, here: String },
}

/// A comparison with one earlier request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    pub request: String,
    pub at_ms: i64,
    pub same_agent: bool,
    pub differences: Vec<Difference>,
    /// Values that are the same, by their paths.
    pub same: Vec<String>,
}

/// Compares with the last approved request of the same tool: of the same agent if there is one.
pub fn with_last(card: &Card, mirror: &Mirror) -> Result<Option<Comparison>, MirrorFault> {
    let (Some(row), Some(frozen)) = (&card.row, &card.frozen) else { return Ok(None) };
    let earlier = mirror.approved_before(row.tool.as_str(), card.listed.position)?;
    let agent = &card.listed.agent;
    let same_agent: Vec<&RequestRow> = earlier.iter().filter(|listed| listed.agent == *agent).collect();
    for listed in same_agent.into_iter().chain(&earlier) {
        let Some(text) = &listed.frozen else { continue };
        let Ok(there) = FrozenRequest::parse(text.as_bytes()) else { continue };
        return Ok(differences(row, frozen, &there).map(|(differences, same)| Comparison {
            request: listed.request.clone(),
            at_ms: listed.at_ms,
            same_agent: listed.agent == *agent,
            differences,
            same,
        }));
    }
    Ok(None)
}

fn differences(row: &Row, here: &FrozenRequest, there: &FrozenRequest) -> Option<(Vec<Difference>, Vec<String>)> {
    let here = literals(row, here)?;
    let mut there: BTreeMap<String, String> = literals(row, there)?.into_iter().collect();
    let (mut differences, mut same) = (Vec::new(), Vec::new());
    for (path, literal) in here {
        match there.remove(&path) {
            None => differences.push(Difference::Added { path, here: literal }),
            Some(before) if before == literal => same.push(path),
            Some(before) => differences.push(Difference::Changed { path, there: before, here: literal }),
        }
    }
    differences.extend(there.into_iter().map(|(path, there)| Difference::Removed { path, there }));
    Some((differences, same))
}

fn literals(row: &Row, frozen: &FrozenRequest) -> Option<Vec<(String, String)>> {
    let nodes = render::render(&frozen.members().args, row).ok()?;
    Some(nodes.iter().skip(1).filter(|node| node.count.is_none_or(|count| count == 0)).map(literal_of).collect())
}

fn literal_of(node: &Node) -> (String, String) {
    let path = node.path.split('/').skip(1).collect::<Vec<_>>().join(".");
    let literal = match node.kind {
        render::NodeKind::Object => "{}".to_owned(),
        render::NodeKind::Array => "[ ]".to_owned(),
        // Quoted, so that a text and a number of the same characters differ.
        render::NodeKind::String => format!("\"{}\"", node.literal),
        render::NodeKind::Number | render::NodeKind::True | render::NodeKind::False | render::NodeKind::Null => node.literal.clone(),
    };
    (path, literal)
}
