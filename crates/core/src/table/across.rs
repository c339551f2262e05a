//! The rules between rows: names, what sets off what, and who may call it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::fault::{Report, Rule};
use super::parse::{ReadAgent, ReadRow, ReadTable};
use super::row::{Credential, Executor};
use crate::ids::{Effect, Name};
use crate::limits::CHAIN_SHOWN_MAX;

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
    let harms = [Effect::Money, Effect::Write].map(|effect| (effect, Harm::of(effect, table, &by_tool)));
    for row in &table.rows {
        check_name(row, report);
        check_reads(row, &by_tool, &table.unreadable, report);
        check_triggers(row, table, &by_tool, &harms, report);
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

/// A row on the way to a harm: the next row of a shortest chain to it, and its last one.
#[derive(Clone, Copy)]
struct Step<'t> {
    next: &'t ReadRow,
    last: &'t ReadRow,
}

/// Everything that sets off rows of one effect, by whatever chain.
struct Harm<'t> {
    steps: BTreeMap<&'t Name, Step<'t>>,
    /// Triggers that were looked at.
    #[cfg(test)]
    looked_at: usize,
}

impl<'t> Harm<'t> {
    /// Walks the triggers of the whole table backwards, once: each is looked at one time, whatever rows it serves.
    fn of(effect: Effect, table: &'t ReadTable, by_tool: &BTreeMap<&'t Name, &'t ReadRow>) -> Harm<'t> {
        let mut set_off_by: BTreeMap<&Name, Vec<&ReadRow>> = BTreeMap::new();
        for row in &table.rows {
            for tool in row.declared.triggers.iter().filter(|tool| by_tool.contains_key(tool)) {
                set_off_by.entry(tool).or_default().push(row);
            }
        }
        // Breadth first, so that the chain in the message is a shortest one.
        let mut waiting: VecDeque<(&ReadRow, &ReadRow)> =
            table.rows.iter().filter(|row| row.declared.effect == effect).map(|row| (row, row)).collect();
        let mut harm = Harm {
            steps: BTreeMap::new(),
            #[cfg(test)]
            looked_at: 0,
        };
        while let Some((next, last)) = waiting.pop_front() {
            for row in set_off_by.get(&next.declared.tool).into_iter().flatten() {
                #[cfg(test)]
                {
                    harm.looked_at += 1;
                }
                if row.declared.effect != effect && !harm.steps.contains_key(&row.declared.tool) {
                    harm.steps.insert(&row.declared.tool, Step { next, last });
                    waiting.push_back((row, last));
                }
            }
        }
        harm
    }

    /// The chain from a row to the harm: all of it, or its beginning and its end.
    fn chain(&self, row: &'t ReadRow) -> Vec<String> {
        let named = |row: &ReadRow| format!("`{}` ({})", row.declared.tool, row.declared.effect);
        let mut chain = vec![named(row)];
        let mut at = row;
        while let Some(step) = self.steps.get(&at.declared.tool) {
            if chain.len() + 1 >= CHAIN_SHOWN_MAX && !std::ptr::eq(step.next, step.last) {
                chain.extend(["…".to_owned(), named(step.last)]);
                break;
            }
            at = step.next;
            chain.push(named(at));
        }
        chain
    }
}

/// Compares the greatest harm that the row sets off with its own label.
fn check_triggers<'t>(
    row: &'t ReadRow,
    table: &ReadTable,
    by_tool: &BTreeMap<&Name, &ReadRow>,
    harms: &[(Effect, Harm<'t>)],
    report: &mut Report,
) {
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
    let reached = harms.iter().find(|(effect, harm)| *effect > row.declared.effect && harm.steps.contains_key(&row.declared.tool));
    if let Some((harm, by)) = reached {
        let words = format!("the label is lower than what the tool sets off: {}; label it `{harm}`", by.chain(row).join(" → "));
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

#[cfg(test)]
mod tests {
    use super::super::fault::Report;
    use super::super::parse::read_table;
    use super::*;

    fn ring(rows: usize, triggers: usize, last_effect: &str) -> String {
        let mut text = "v = 1\n".to_owned();
        for row in 0..rows {
            let effect = if row + 1 == rows { last_effect } else { "read" };
            let tools: Vec<String> = (1..=triggers).map(|step| format!("\"t{}\"", (row + step * 7 - 6) % rows)).collect();
            let kind = "{ kind = \"http\", method = \"GET\", url = \"http://127.0.0.1/\" }";
            text += &format!(
                "[[row]]\ntool = \"t{row}\"\neffect = \"{effect}\"\nowner = \"p\"\ntriggers = [{}]\nexecutor = {kind}\n",
                tools.join(", ")
            );
        }
        text
    }

    /// The triggers of one row are part of what every other row sets off: looked at once for each, they froze a gate for minutes.
    #[test]
    fn each_trigger_is_looked_at_once_for_the_whole_table() {
        let (rows, triggers) = (200, 10);
        let text = ring(rows, triggers, "money");
        let table = read_table(&text, &mut Report::new(&text));
        let by_tool: BTreeMap<&Name, &ReadRow> = table.rows.iter().map(|row| (&row.declared.tool, row)).collect();
        let harm = Harm::of(Effect::Money, &table, &by_tool);
        assert_eq!((table.rows.len(), harm.steps.len()), (rows, rows - 1), "all of them reach the last one");
        assert!(harm.looked_at <= rows * triggers, "{}", harm.looked_at);
    }

    #[test]
    fn a_long_chain_is_told_by_its_beginning_and_its_end() {
        let text = ring(40, 1, "money");
        let mut report = Report::new(&text);
        let table = read_table(&text, &mut report);
        check_table(&table, &mut report);
        let told: Vec<&str> =
            report.faults.iter().filter(|fault| fault.rule == Rule::LabelTooLow).map(|fault| fault.message.as_str()).collect();
        assert_eq!(told.len(), 39);
        assert!(told[0].contains("`t0` (read) → `t1` (read)") && told[0].contains("→ … → `t39` (money)"), "{}", told[0]);
        assert!(told[35].contains("`t35` (read) → `t36` (read) → `t37` (read) → `t38` (read) → `t39` (money);"), "{}", told[35]);
        assert!(told.iter().all(|words| words.len() < 400), "a chain is as long as the table");
    }
}
