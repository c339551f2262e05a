//! The rules between rows: names, what sets off what, and who may call it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::fault::{Report, Rule};
use super::parse::{ReadAgent, ReadRow, ReadTable};
use super::row::{Credential, Executor};
use crate::ids::{Effect, Name};

/// The prefix of the gate's own tools.
pub(super) const RESERVED_PREFIX: &str = "gate.";

/// First words of names that promise to change nothing.
const SAYS_READ: &[&str] = &["get", "list", "search", "find", "fetch", "read", "show", "lookup", "query"];

/// First words of names that promise to change something.
const SAYS_WRITE: &[&str] = &[
    "create", "update", "delete", "close", "send", "set", "cancel", "upsert", "add", "remove", "write", "post", "pay", "refund", "wire",
    "transfer", "issue", "sync",
];

/// Words that make something.
const MAKES: &[&str] = &["create", "insert", "add", "make", "update", "upsert", "set"];

/// Checks the table as a whole.
pub(super) fn check_table(table: &ReadTable, report: &mut Report) {
    let by_tool: BTreeMap<&Name, &ReadRow> = table.rows.iter().map(|row| (&row.declared.tool, row)).collect();
    for row in &table.rows {
        check_name(row, report);
        check_reads(row, &by_tool, &table.unreadable, report);
        check_triggers(row, table, &by_tool, report);
    }
    check_look_alikes(table, report);
    check_credentials(table, report);
    check_agents(table, report);
}

fn words_of(tool: &Name) -> Vec<String> {
    tool.as_str().to_ascii_lowercase().split(['_', '-', '.']).map(str::to_owned).collect()
}

fn check_name(row: &ReadRow, report: &mut Report) {
    let (tool, effect, place) = (&row.declared.tool, row.declared.effect, row.at("tool"));
    let words = words_of(tool);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.windows(2).any(|pair| pair[0] == "or" && MAKES.contains(&pair[1])) {
        let message = format!("`{tool}` reads or makes, so that no label is true of it; split it into two tools");
        report.fault(&place, Rule::ToolMixesEffects, message);
    }
    if words.iter().skip(1).rev().skip(1).any(|word| *word == "and") {
        report.fault(&place, Rule::ToolDoesTwoThings, format!("`{tool}` does two things under one approval; split it into two tools"));
    }
    // The last words of a dotted name are the tool's own: `crm.get_contact`.
    let own = tool.as_str().rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let first = own.split(['_', '-']).next().unwrap_or_default();
    if effect != Effect::Read && SAYS_READ.contains(&first) {
        report.warn(
            &place,
            Rule::NameSaysRead,
            format!("`{tool}` sounds like a read and is labelled `{effect}`; rename it, so that nobody takes it for one"),
        );
    }
    if effect == Effect::Read && SAYS_WRITE.contains(&first) {
        report.warn(
            &place,
            Rule::NameSaysWrite,
            format!("`{tool}` sounds like a change and is labelled `read`; mend the label or the name"),
        );
    }
}

/// Facts, referents and states are reads that the gate makes by itself: nobody is asked, so they must be reads by their label.
fn check_reads(row: &ReadRow, by_tool: &BTreeMap<&Name, &ReadRow>, unreadable: &[Name], report: &mut Report) {
    let facts = row.declared.facts.iter().enumerate().map(|(index, fact)| (format!("{}[{index}].tool", row.at("facts")), &fact.read.tool));
    let referents = row.declared.referents.iter().enumerate();
    let referents = referents.map(|(index, referent)| (format!("{}[{index}].read.tool", row.at("referents")), &referent.read.tool));
    for (place, tool) in facts.chain(referents).chain(row.declared.state.iter().map(|state| (row.at("state.tool"), &state.tool))) {
        match by_tool.get(tool).map(|row| row.declared.effect) {
            Some(Effect::Read) => {}
            Some(effect @ (Effect::Write | Effect::Money)) => {
                report.fault(
                    &place,
                    Rule::ToolNotRead,
                    format!("`{tool}` is labelled `{effect}`, and this is asked without a person; name a read"),
                );
            }
            None if unreadable.contains(tool) => {}
            None => report.fault(&place, Rule::ToolUnknown, format!("`{tool}` has no row; add one or mend the name")),
        }
    }
}

/// Walks whatever the row sets off, to the end, and compares the greatest harm with the row's own label.
fn check_triggers(row: &ReadRow, table: &ReadTable, by_tool: &BTreeMap<&Name, &ReadRow>, report: &mut Report) {
    for (index, tool) in row.declared.triggers.iter().enumerate() {
        if !by_tool.contains_key(tool) && !table.unreadable.contains(tool) {
            let place = format!("{}[{index}]", row.at("triggers"));
            report.fault(
                &place,
                Rule::ToolUnknown,
                format!("`{tool}` has no row, so that nobody knows what it does; add one or mend the name"),
            );
        }
    }
    // Breadth first, so that the chain in the message is a shortest one.
    let mut reached_from: BTreeMap<&Name, &ReadRow> = BTreeMap::new();
    let mut waiting: VecDeque<&ReadRow> = VecDeque::from([row]);
    let mut worst = row;
    while let Some(reached) = waiting.pop_front() {
        if reached.declared.effect > worst.declared.effect {
            worst = reached;
        }
        for next in reached.declared.triggers.iter().filter_map(|tool| by_tool.get(tool).copied()) {
            let tool = &next.declared.tool;
            if *tool != row.declared.tool && !reached_from.contains_key(tool) {
                reached_from.insert(tool, reached);
                waiting.push_back(next);
            }
        }
    }
    let harm = worst.declared.effect;
    if harm > row.declared.effect {
        let chain = std::iter::successors(Some(worst), |row| reached_from.get(&row.declared.tool).copied());
        let mut shown: Vec<String> = chain.map(|row| format!("`{}` ({})", row.declared.tool, row.declared.effect)).collect();
        shown.reverse();
        let words = format!("the label is lower than what the tool sets off: {}; label it `{harm}`", shown.join(" → "));
        report.fault(&row.at("effect"), Rule::LabelTooLow, words);
    }
}

/// The name without case and separators: what a hurried reader keeps of it.
fn folded(tool: &Name) -> String {
    words_of(tool).concat()
}

/// The folded name with the letters and digits that look alike made one.
fn skeleton(tool: &Name) -> String {
    folded(tool).replace('0', "o").replace(['1', 'i'], "l").replace("rn", "m").replace("vv", "w")
}

fn check_look_alikes(table: &ReadTable, report: &mut Report) {
    let mut by_name: BTreeMap<&Name, &ReadRow> = BTreeMap::new();
    let mut by_folded: BTreeMap<String, &ReadRow> = BTreeMap::new();
    let mut by_skeleton: BTreeMap<String, &ReadRow> = BTreeMap::new();
    for row in &table.rows {
        let (tool, place) = (&row.declared.tool, row.at("tool"));
        if let Some(other) = by_name.insert(tool, row) {
            report.fault(&place, Rule::ToolDuplicate, format!("`{tool}` has a row already, `{}`; one tool has one row", other.path));
        } else if let Some(other) = by_folded.insert(folded(tool), row) {
            let words = format!("`{tool}` and `{}` differ in case or separators only; rename one", other.declared.tool);
            report.fault(&place, Rule::ToolLookAlike, words);
        } else if let Some(other) = by_skeleton.insert(skeleton(tool), row) {
            report.warn(&place, Rule::ToolLookAlike, format!("`{tool}` and `{}` look alike; rename one", other.declared.tool));
        }
    }
}

/// What pays is found in the money rows of one owner only: in any other row it would pay without those being asked whom the
/// money rows name.
fn check_credentials(table: &ReadTable, report: &mut Report) {
    let named: Vec<(&Credential, &ReadRow)> =
        table.rows.iter().filter_map(|row| credential_of(&row.declared.executor).map(|credential| (credential, row))).collect();
    let mut paying: BTreeMap<&Credential, &ReadRow> = BTreeMap::new();
    for (credential, row) in named.iter().filter(|(_, row)| row.declared.effect == Effect::Money) {
        paying.entry(credential).or_insert(row);
    }
    for (credential, row) in named {
        let Some(payer) = paying.get(credential) else { continue };
        let (tool, paid_by) = (&row.declared.tool, &payer.declared.tool);
        let words = if row.declared.effect != Effect::Money {
            format!(
                "`{tool}` is labelled `{}` and has the credential that pays in `{paid_by}`; give it one of its own",
                row.declared.effect
            )
        } else if row.declared.owner != payer.declared.owner {
            format!("`{tool}` has another owner than `{paid_by}` and the same credential; give it one of its own")
        } else {
            continue;
        };
        report.fault(&row.at("executor.credential"), Rule::CredentialShared, words);
    }
}

fn credential_of(executor: &Executor) -> Option<&Credential> {
    match executor {
        Executor::Http(http) => http.credential.as_ref(),
        Executor::Mcp { .. } | Executor::Remote { .. } | Executor::Gate => None,
    }
}

fn check_agents(table: &ReadTable, report: &mut Report) {
    let tools: BTreeSet<&Name> = table.rows.iter().map(|row| &row.declared.tool).chain(&table.unreadable).collect();
    let mut agents: BTreeSet<&Name> = BTreeSet::new();
    for ReadAgent { path, agent, listed } in &table.agents {
        if !agents.insert(&agent.agent) {
            report.fault(
                &format!("{path}.agent"),
                Rule::AgentDuplicate,
                format!("`{}` has a list already; an agent has one list", agent.agent),
            );
        }
        for (index, tool) in listed.iter().enumerate() {
            let place = format!("{path}.tools[{index}]");
            if tool.as_str().starts_with(RESERVED_PREFIX) {
                report.fault(&place, Rule::ToolReserved, format!("`{tool}` is a tool of the gate itself, proposed by persons; remove it"));
            } else if !tools.contains(tool) {
                report.fault(
                    &place,
                    Rule::ToolUnknown,
                    format!("`{tool}` has no row, so that it would never run; add one or mend the name"),
                );
            }
        }
    }
}
