//! How much work a schema makes of one value of the arguments, at the most. References repeat what they refer to, so a short schema
//! can ask for more than anybody waits for: that is counted before the schema comes into force, not met when an agent calls.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::Json;
use crate::limits::{SCHEMA_VISITS_MAX, SCHEMA_WORK_MAX};

/// Why the work of a schema cannot be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unbounded {
    /// More than [`SCHEMA_WORK_MAX`] for one value, or endless.
    TooMuch,
    /// A reference that leads to no place in the schema by its spelling.
    Unfollowed(String),
}

/// A subschema, and how often it is asked about the same value.
type Asked<'s> = (&'s Json, usize);

/// The most subschemas that are asked about one value, references followed, each as often as it is asked.
///
/// Values of the arguments are visited once for each, so the work of a call is this times its values.
/// *Errors*: `TooMuch` beyond the bounds, `Unfollowed`.
pub(super) fn most_work(schema: &Json) -> Result<usize, Unbounded> {
    let mut walk = Walk { root: schema, anchors: BTreeMap::new(), visits: 0, known: BTreeSet::new(), waiting: Vec::new(), most: 0 };
    walk.find_anchors(schema);
    walk.wait(vec![(schema, 1)]);
    while let Some(asked) = walk.waiting.pop() {
        let here = walk.all_asked(asked)?;
        walk.inside(&here);
    }
    Ok(walk.most)
}

struct Walk<'s> {
    root: &'s Json,
    /// Every place that a reference can name by an anchor; a dynamic one may lead to any of that name.
    anchors: BTreeMap<&'s str, Vec<&'s Json>>,
    visits: usize,
    /// What was met already, by the addresses of the subschemas. Those of a recursive schema come again.
    known: BTreeSet<Vec<(usize, usize)>>,
    waiting: Vec<Vec<Asked<'s>>>,
    most: usize,
}

impl<'s> Walk<'s> {
    fn find_anchors(&mut self, node: &'s Json) {
        for (name, value) in node.as_object().unwrap_or_default() {
            if let (true, Some(anchor)) = (["$anchor", "$dynamicAnchor"].contains(&name.as_str()), value.as_str()) {
                self.anchors.entry(anchor).or_default().push(node);
            }
            self.find_anchors(value);
        }
        for value in node.as_array().unwrap_or_default() {
            self.find_anchors(value);
        }
    }

    fn targets(&self, reference: &str) -> Result<Vec<&'s Json>, Unbounded> {
        let place = reference.strip_prefix('#').unwrap_or(reference);
        let named = if place.is_empty() || place.starts_with('/') {
            self.root.pointer(place).into_iter().collect()
        } else {
            self.anchors.get(place).cloned().unwrap_or_default()
        };
        if named.is_empty() { Err(Unbounded::Unfollowed(reference.to_owned())) } else { Ok(named) }
    }

    /// Subschemas of one more place in the arguments, unless the same ones were met at another.
    fn wait(&mut self, asked: Vec<Asked<'s>>) {
        let mut asked: Vec<Asked<'s>> = asked.into_iter().filter(|(node, _)| node.as_object().is_some()).collect();
        asked.sort_by_key(|(node, times)| (std::ptr::from_ref(*node).addr(), *times));
        let key: Vec<(usize, usize)> = asked.iter().map(|(node, times)| (std::ptr::from_ref(*node).addr(), *times)).collect();
        if !asked.is_empty() && self.known.insert(key) {
            self.waiting.push(asked);
        }
    }

    /// Everything that is asked about the same value because these are.
    fn all_asked(&mut self, begin: Vec<Asked<'s>>) -> Result<Vec<Asked<'s>>, Unbounded> {
        let (mut all, mut next, mut work) = (begin, 0, 0_usize);
        while let Some((node, times)) = all.get(next).copied() {
            next += 1;
            self.visits += 1;
            work = work.saturating_add(times.saturating_mul(own_work(node)));
            if work > SCHEMA_WORK_MAX || self.visits > SCHEMA_VISITS_MAX {
                return Err(Unbounded::TooMuch);
            }
            let times = times.saturating_mul(times_inside(node));
            for (keyword, value) in node.as_object().unwrap_or_default() {
                match keyword.as_str() {
                    "allOf" | "anyOf" | "oneOf" => all.extend(value.as_array().unwrap_or_default().iter().map(|node| (node, times))),
                    "if" | "then" | "else" | "not" => all.push((value, times)),
                    "dependentSchemas" => all.extend(value.as_object().unwrap_or_default().iter().map(|(_, node)| (node, times))),
                    "$ref" | "$dynamicRef" => {
                        let targets = self.targets(value.as_str().unwrap_or_default())?;
                        all.extend(targets.into_iter().map(|node| (node, times)));
                    }
                    _ => {}
                }
            }
        }
        self.most = self.most.max(work);
        Ok(all)
    }

    /// What is asked about the values inside: of each name and of each index together with whatever is asked about all of them.
    fn inside(&mut self, here: &[Asked<'s>]) {
        let mut members: BTreeMap<&str, Vec<Asked<'s>>> = BTreeMap::new();
        let mut elements: BTreeMap<usize, Vec<Asked<'s>>> = BTreeMap::new();
        let (mut all_members, mut all_elements, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (node, times) in here {
            let times = times.saturating_mul(times_inside(node));
            for (keyword, value) in node.as_object().unwrap_or_default() {
                match keyword.as_str() {
                    "properties" => {
                        for (name, node) in value.as_object().unwrap_or_default() {
                            members.entry(name).or_default().push((node, times));
                        }
                    }
                    "patternProperties" => all_members.extend(value.as_object().unwrap_or_default().iter().map(|(_, node)| (node, times))),
                    "additionalProperties" | "unevaluatedProperties" => all_members.push((value, times)),
                    "prefixItems" => {
                        for (index, node) in value.as_array().unwrap_or_default().iter().enumerate() {
                            elements.entry(index).or_default().push((node, times));
                        }
                    }
                    "items" | "contains" | "unevaluatedItems" => all_elements.push((value, times)),
                    "propertyNames" => names.push((value, times)),
                    _ => {}
                }
            }
        }
        for asked in members.into_values() {
            self.wait(asked.into_iter().chain(all_members.iter().copied()).collect());
        }
        for asked in elements.into_values() {
            self.wait(asked.into_iter().chain(all_elements.iter().copied()).collect());
        }
        for asked in [all_members, all_elements, names] {
            self.wait(asked);
        }
    }
}

/// What a subschema itself compares a value with.
fn own_work(node: &Json) -> usize {
    let entries = |keyword: &str| {
        let value = node.member(keyword);
        value.map_or(0, |value| value.as_array().map_or_else(|| value.as_object().unwrap_or_default().len(), <[Json]>::len))
    };
    // A pattern or a format reads a text as a whole, and each pattern of a name reads the names.
    let texts = ["pattern", "format"].iter().filter(|keyword| node.member(keyword).is_some()).count();
    1 + entries("required")
        + entries("enum")
        + entries("dependentRequired")
        + entries("properties") / 4
        + 8 * (texts + entries("patternProperties"))
}

/// How often what is inside a subschema is asked for each time that it is: once more where it says what becomes of the rest, which
/// nobody knows before all else was asked.
fn times_inside(node: &Json) -> usize {
    if node.member("unevaluatedProperties").or_else(|| node.member("unevaluatedItems")).is_some() { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Limits, parse};

    fn work(text: &str) -> Result<usize, Unbounded> {
        most_work(&parse(text.as_bytes(), &Limits::MONEY).expect(text))
    }

    /// Levels that each refer to the next one twice.
    fn fan_out(levels: usize) -> String {
        let level = |level: usize| format!(r##""a{level}":{{"allOf":[{{"$ref":"#/$defs/a{0}"}},{{"$ref":"#/$defs/a{0}"}}]}},"##, level + 1);
        let defs: String = (0..levels).map(level).collect();
        format!(r##"{{"type":"object","allOf":[{{"$ref":"#/$defs/a0"}}],"$defs":{{{defs}"a{levels}":{{"type":"object"}}}}}}"##)
    }

    #[test]
    fn references_count_as_often_as_they_are_followed() {
        assert_eq!(work(r#"{"type":"object"}"#), Ok(1));
        // The root, its reference, and for each level twice as many of both kinds.
        assert_eq!(work(&fan_out(3)), Ok(31));
        assert_eq!(work(&fan_out(24)), Err(Unbounded::TooMuch));
        assert_eq!(work(&fan_out(63)), Err(Unbounded::TooMuch));
    }

    #[test]
    fn what_never_ends_is_too_much() {
        let endless = [
            r##"{"type":"object","$ref":"#"}"##,
            r##"{"type":"object","allOf":[{"$ref":"#"}]}"##,
            r##"{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
            r##"{"$dynamicAnchor":"m","allOf":[{"$dynamicRef":"#m"}]}"##,
            // Each level of the arguments is asked twice as often as the one around it.
            r##"{"properties":{"next":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}"##,
            r##"{"properties":{"next":{"$ref":"#"}},"unevaluatedProperties":false}"##,
            r##"{"items":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}"##,
        ];
        for text in endless {
            assert_eq!(work(text), Err(Unbounded::TooMuch), "{text}");
        }
    }

    #[test]
    fn what_people_write_is_little() {
        let tree = r##"{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#"}},"or":{"type":"array","items":{"$ref":"#"}},
            "is":{"oneOf":[{"type":"string"},{"type":"integer"}]}},"additionalProperties":false}"##;
        assert_eq!(work(tree), Ok(3));
        let list = r##"{"$ref":"#/$defs/list","$defs":{"list":{"type":"array","prefixItems":[{"$ref":"#entry"}],"items":{"$ref":"#entry"}},
            "entry":{"$anchor":"entry","required":["a","b"],"properties":{"a":{"enum":[1,2,3]},"b":{"type":"string"}}}}}"##;
        // At the first index both are asked: two references, and twice the entry with its two required names.
        assert_eq!(work(list), Ok(2 + 2 * 3));
        let long: Vec<String> = (0..300).map(|name| format!(r#""field{name}":{{"type":"string","maxLength":80}}"#)).collect();
        assert_eq!(work(&format!(r#"{{"properties":{{{}}}}}"#, long.join(","))), Ok(1 + 300 / 4));
    }

    #[test]
    fn comparisons_count_where_one_value_has_many() {
        let names: Vec<String> = (0..SCHEMA_WORK_MAX).map(|name| format!("\"n{name}\"")).collect();
        for keyword in ["required", "enum"] {
            assert_eq!(work(&format!(r#"{{"items":{{"{keyword}":[{}]}}}}"#, names.join(","))), Err(Unbounded::TooMuch), "{keyword}");
        }
    }

    #[test]
    fn a_reference_that_cannot_be_followed_is_named() {
        assert_eq!(work(r##"{"$ref":"#/%24defs/a","$defs":{"a":{}}}"##), Err(Unbounded::Unfollowed("#/%24defs/a".to_owned())));
        assert_eq!(work(r##"{"$ref":"#nowhere"}"##), Err(Unbounded::Unfollowed("#nowhere".to_owned())));
    }
}
