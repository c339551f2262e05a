//! A change of the effect table: what differs between two versions, who must decide it, and the version that it leads to.
//!
//! Owns the arguments of `gate.table.change`. Knows nothing of how a change was decided: that is the decision's.

use std::collections::{BTreeMap, BTreeSet};

use super::across::RESERVED_PREFIX;
use super::{Agent, Need, Row, Table};
use crate::bytes::Digest;
use crate::code::{Code, Refusal};
use crate::ids::{Name, words};
use crate::json::{Json, Limits, parse};
use crate::roster::ADMIN;

/// The tool by which the gate changes its effect table.
pub const TABLE_CHANGE: &str = "gate.table.change";

/// Members of a row that the owner alone does not change: who answers for it, what it counts as and how much it may do, and
/// where calls and questions about them go with which credential.
const ADMIN_MEMBERS: &[&str] = &["owner", "caps", "effect", "executor", "status"];

/// Members of a row that name other tools, which the gate then reads by itself.
const READING_MEMBERS: &[&str] = &["state", "facts", "referents"];

words!(
    /// What happens to a row or to an agent's list.
    ChangeKind {
        /// There was none.
        Added = "added",
        /// Some of its members differ.
        Changed = "changed",
        /// There is none any more.
        Removed = "removed",
    }
);

/// A member that differs, in the canonical values of the two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberChange {
    /// The member's name in the canonical row or list.
    pub member: String,
    /// Its value before; `null` where there was none.
    pub from: Json,
    /// Its value after; `null` where there is none.
    pub to: Json,
}

/// A row or a list that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryChange {
    /// The row's tool, or the list's agent.
    pub name: Name,
    /// What happens to it.
    pub change: ChangeKind,
    /// The members that differ, by name.
    pub members: Vec<MemberChange>,
}

/// What differs between two versions of the table.
///
/// *Invariant*: something differs, and the touched rows have one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableChange {
    /// The role that answers for the touched rows; `admin` where none is touched.
    pub owner: Name,
    /// Digest of the version before.
    pub previous_sha256: Digest,
    /// Digest of the version after.
    pub next_sha256: Digest,
    /// The rows that differ, by tool.
    pub rows: Vec<EntryChange>,
    /// The agents' lists that differ, by agent.
    pub agents: Vec<EntryChange>,
    needs: Vec<Need>,
}

impl TableChange {
    /// What differs between two versions, and who must decide it.
    ///
    /// *Errors*: `table_unchanged`, `table_change_owners` where rows of several owners differ.
    pub fn between(previous: &Table, next: &Table) -> Result<TableChange, Refusal> {
        if previous.digest() == next.digest() {
            return Err(Refusal::new(Code::TableUnchanged, "the table says what the one in force says; nothing is to be decided"));
        }
        let rows = entries(&row_objects(previous), &row_objects(next))?;
        let agents = entries(&agent_objects(previous), &agent_objects(next))?;
        let owner = one_owner(&rows, previous, next)?;
        let needs = needs(&owner, &rows, &agents, previous, next)?;
        Ok(TableChange { owner, previous_sha256: previous.digest(), next_sha256: next.digest(), rows, agents, needs })
    }

    /// Who must have approved: the owner's role with the highest quorum that a touched row has or had, whoever a touched row in
    /// force asks for each of its calls, and `admin` where more changes than the owner answers for.
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }

    /// The tools whose rows differ: what waits for them rests on a row that is no longer in force.
    pub fn tools(&self) -> impl Iterator<Item = &Name> {
        self.rows.iter().map(|row| &row.name)
    }

    /// The arguments of `gate.table.change`.
    pub fn to_args(&self) -> Json {
        Json::object([
            ("owner", self.owner.as_str().into()),
            ("previous_sha256", self.previous_sha256.into()),
            ("next_sha256", self.next_sha256.into()),
            ("rows", Json::Array(self.rows.iter().map(|row| row.to_json("tool")).collect())),
            ("agents", Json::Array(self.agents.iter().map(|agent| agent.to_json("agent")).collect())),
        ])
    }

    /// The arguments, bounded like those of every money call: each value is one that a person must see.
    ///
    /// *Errors*: `json_too_large`, `json_too_many_nodes`: the change is to be split.
    pub fn bounded_args(&self) -> Result<Json, Refusal> {
        let canonical = self.to_args().canonical()?;
        parse(&canonical, &Limits::MONEY).map_err(|refusal| {
            Refusal::new(refusal.code, "the change is more than a person reads at once; propose it in parts, some rows at a time")
        })
    }
}

impl EntryChange {
    fn to_json(&self, named: &str) -> Json {
        let members = self
            .members
            .iter()
            .map(|change| Json::object([("member", (&change.member).into()), ("from", change.from.clone()), ("to", change.to.clone())]));
        Json::object([
            (named, self.name.as_str().into()),
            ("change", self.change.as_str().into()),
            ("members", Json::Array(members.collect())),
        ])
    }

    fn touches(&self, member: &str) -> bool {
        self.members.iter().any(|change| change.member == member)
    }
}

/// The table that these arguments lead to, recomputed from `previous` and the proposed text: every value that a person saw
/// must be what the text says.
///
/// *Errors*: `table_stale` when the arguments were made for another version, `table_change_invalid` when the text does not
/// load or leads elsewhere.
pub fn next_table(args: &Json, previous: &Table, text: &str) -> Result<(Table, TableChange), Refusal> {
    let invalid = |message: &str| Refusal::new(Code::TableChangeInvalid, message);
    let named = args.member("previous_sha256").and_then(Json::as_str);
    if named != Some(previous.digest().to_string().as_str()) {
        return Err(Refusal::new(Code::TableStale, "the change was made for another version of the effect table; propose it again")
            .at("/previous_sha256"));
    }
    let next = Table::parse(text).map_err(|_| invalid("the text of the next table does not load; propose it again").at("/next_sha256"))?;
    let elsewhere = || invalid("the change does not lead to the table that it names; propose it again").at("/next_sha256");
    if args.member("next_sha256").and_then(Json::as_str) != Some(next.digest().to_string().as_str()) {
        return Err(elsewhere());
    }
    let change = TableChange::between(previous, &next)?;
    if change.to_args().canonical()? != args.canonical()? {
        return Err(elsewhere());
    }
    Ok((next, change))
}

/// Names with the canonical objects of what they name.
type Objects<'t> = BTreeMap<&'t Name, Json>;

fn row_objects(table: &Table) -> Objects<'_> {
    table.rows().map(|row| (&row.tool, row.canonical().clone())).collect()
}

fn agent_objects(table: &Table) -> Objects<'_> {
    table.agents().map(|agent| (&agent.agent, Agent::to_json(agent))).collect()
}

fn entries(previous: &Objects<'_>, next: &Objects<'_>) -> Result<Vec<EntryChange>, Refusal> {
    let names: BTreeSet<&Name> = previous.keys().chain(next.keys()).copied().collect();
    let mut changed = Vec::new();
    for name in names {
        let (from, to) = (previous.get(name), next.get(name));
        let change = match (from, to) {
            (None, _) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Removed,
            (Some(_), Some(_)) => ChangeKind::Changed,
        };
        let members = members(from, to)?;
        if !members.is_empty() {
            changed.push(EntryChange { name: name.clone(), change, members });
        }
    }
    Ok(changed)
}

/// The members that differ; of a row that comes or goes, all that say something.
fn members(from: Option<&Json>, to: Option<&Json>) -> Result<Vec<MemberChange>, Refusal> {
    let names = |json: Option<&Json>| -> Vec<String> {
        json.and_then(Json::as_object).unwrap_or_default().iter().map(|(name, _)| name.clone()).collect()
    };
    let all: BTreeSet<String> = names(from).into_iter().chain(names(to)).collect();
    let mut changed = Vec::new();
    for member in all {
        let value = |json: Option<&Json>| json.and_then(|json| json.member(&member)).cloned().unwrap_or(Json::Null);
        let (from, to) = (value(from), value(to));
        if from.canonical()? != to.canonical()? {
            changed.push(MemberChange { member, from, to });
        }
    }
    Ok(changed)
}

/// The one role that answers for what is touched: for a row that was there its owner until now, for a new one its owner.
fn one_owner(rows: &[EntryChange], previous: &Table, next: &Table) -> Result<Name, Refusal> {
    let mut owners: BTreeMap<&Name, Vec<&Name>> = BTreeMap::new();
    for row in rows {
        if let Some(known) = previous.row(&row.name).or_else(|| next.row(&row.name)) {
            owners.entry(&known.owner).or_default().push(&row.name);
        }
    }
    let mut distinct = owners.keys();
    match (distinct.next(), distinct.next()) {
        (None, _) => Name::parse(ADMIN),
        (Some(owner), None) => Ok((*owner).clone()),
        (Some(_), Some(_)) => {
            let listed: Vec<String> = owners.iter().map(|(owner, tools)| format!("`{owner}` ({})", joined(tools))).collect();
            Err(Refusal::new(
                Code::TableChangeOwners,
                format!("rows of several owners change: {}; propose the rows of each owner by themselves", listed.join(", ")),
            )
            .at("/rows"))
        }
    }
}

fn joined(tools: &[&Name]) -> String {
    tools.iter().map(|tool| tool.as_str()).collect::<Vec<_>>().join(", ")
}

fn needs(owner: &Name, rows: &[EntryChange], agents: &[EntryChange], previous: &Table, next: &Table) -> Result<Vec<Need>, Refusal> {
    let touched = rows.iter().flat_map(|row| previous.row(&row.name).into_iter().chain(next.row(&row.name)));
    let quorum = touched.flat_map(|row: &Row| &row.needs).map(|need| need.quorum).max().unwrap_or(1).max(1);
    let mut needs = Vec::new();
    ask(&mut needs, owner, quorum);
    // Whoever a row asks before money moves is who it protects: no change of it goes past them, so that nobody has to tell the
    // harmless ones from those that make it a write, ask fewer, or show it under another label.
    for need in rows.iter().filter_map(|row| previous.row(&row.name)).flat_map(|row| &row.needs) {
        ask(&mut needs, &need.role, need.quorum);
    }
    // What another owner's tool answers is theirs to give out, whoever reads it afterwards.
    for row in rows.iter().filter(|row| READING_MEMBERS.iter().any(|member| row.touches(member))).filter_map(|row| next.row(&row.name)) {
        for read in row.reads().filter_map(|read| previous.row(&read.tool).or_else(|| next.row(&read.tool))) {
            ask(&mut needs, &read.owner, 1);
        }
    }
    if !agents.is_empty() || rows.iter().any(|row| is_for_admin(row, next)) {
        ask(&mut needs, &Name::parse(ADMIN)?, 1);
    }
    Ok(needs)
}

/// Asks for so many persons of a role at least.
fn ask(needs: &mut Vec<Need>, role: &Name, quorum: u32) {
    match needs.iter_mut().find(|need| need.role == *role) {
        Some(asked) => asked.quorum = asked.quorum.max(quorum),
        None => needs.push(Need { role: role.clone(), quorum, escalate_to: None }),
    }
}

/// Whether a row's change is more than its owner alone answers for.
fn is_for_admin(row: &EntryChange, next: &Table) -> bool {
    // An irreversible write that nobody is asked about runs because the admin signed its row.
    let unasked = next.row(&row.name).is_some_and(|row| row.log_full_body);
    let whole = match row.change {
        ChangeKind::Added | ChangeKind::Removed => true,
        ChangeKind::Changed => ADMIN_MEMBERS.iter().any(|member| row.touches(member)),
    };
    whole || unasked || row.name.as_str().starts_with(RESERVED_PREFIX)
}
