//! The requests that wait, kept in memory and brought up to date from what the log touched since; and the lists that somebody looks at.
//!
//! Asking again while nothing happened reads no request. It must not know how a row is drawn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use vidimus_core::bytes::Digest;
use vidimus_core::ids::GateId;

use super::summary::Summary;
use super::{InboxQuery, Sort, View};
use crate::console::{Console, Standing};
use crate::limits::{INBOX_ROWS_MAX, LISTS_KEPT};
use crate::mirror::{Mirror, MirrorFault};
use crate::tables::Tables;

/// What the index was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stand {
    gate: GateId,
    size: u64,
    /// By whose key it is known who looks.
    key: Option<Digest>,
}

/// Whose eyes it was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reader {
    gate: GateId,
    key: Option<Digest>,
    roster_version: Option<u32>,
}

/// How many there are of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub waiting: usize,
    pub mine: usize,
    pub decided: usize,
}

/// See the module.
#[derive(Default)]
pub struct Index {
    stand: Option<Stand>,
    reader: Option<Reader>,
    person: Option<String>,
    waiting: BTreeMap<Arc<str>, Arc<Summary>>,
    /// Those of requests that this person decided; made when a search asks for their words.
    decided: BTreeMap<Arc<str>, Arc<Summary>>,
    counts: Counts,
    /// Grows with every change of what waits.
    revision: u64,
    lists: VecDeque<List>,
    opened: u64,
}

/// The order that somebody looks at: it never changes.
pub struct List {
    pub id: u64,
    query: InboxQuery,
    pub requests: Vec<Arc<str>>,
    /// How many match, listed or not.
    pub total: usize,
    listed: BTreeSet<Arc<str>>,
    /// What matches now and is not listed, as of a revision.
    fresh: (u64, Fresh),
}

/// What came since a list was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fresh {
    pub count: usize,
    pub first_expires_ms: Option<i64>,
}

impl Index {
    /// Takes in what the log touched since the last time.
    pub fn bring_up_to_date(&mut self, console: &Console) {
        let key = console.membership().map(|membership| membership.approval_key.digest());
        let now = console.read(|mirror| Ok(Stand { gate: mirror.identity().gate, size: mirror.size(), key }));
        if now == self.stand && now.is_some() {
            return;
        }
        let Some(now) = now else {
            *self = Self { revision: self.revision + 1, opened: self.opened, ..Self::default() };
            return;
        };
        let standing = console.standing();
        let reader = Reader { gate: now.gate, key, roster_version: standing.as_ref().map(|standing| standing.roster.version) };
        // Who may decide is another question under another roster, and every request is asked it again.
        let since =
            self.stand.as_ref().filter(|stand| self.reader.as_ref() == Some(&reader) && stand.size <= now.size).map(|stand| stand.size);
        let taken = console.read(|mirror| self.take(mirror, &console.tables, standing.as_ref(), since));
        if let Some(size) = taken {
            self.stand = Some(Stand { size, ..now });
            self.reader = Some(reader);
        }
    }

    fn take(&mut self, mirror: &Mirror, tables: &Tables, standing: Option<&Standing>, since: Option<u64>) -> Result<u64, MirrorFault> {
        if since.is_none() {
            self.waiting.clear();
            self.decided.clear();
            self.person = standing.map(|standing| standing.person.person.to_string());
        }
        mirror.touched(since, |row| {
            let request: Arc<str> = Arc::from(row.request.as_str());
            self.decided.remove(&request);
            let waits = row.state == "pending";
            match if waits { Summary::of(mirror, tables, row, standing)? } else { None } {
                Some(summary) => self.waiting.insert(request, Arc::new(summary)),
                None => self.waiting.remove(&request),
            };
            Ok(())
        })?;
        self.counts = Counts {
            waiting: self.waiting.len(),
            mine: self.waiting.values().filter(|summary| summary.eligible.is_ok()).count(),
            decided: self.person.as_ref().map_or(Ok(0), |person| mirror.decided_count(person))?,
        };
        self.revision += 1;
        Ok(mirror.size())
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Everything that waits and that this person may see.
    pub fn waiting(&self) -> impl Iterator<Item = &Arc<Summary>> {
        self.waiting.values()
    }

    /// Those of them that this person can decide.
    pub fn decidable(&self) -> impl Iterator<Item = &Arc<Summary>> {
        self.waiting().filter(|summary| summary.eligible.is_ok())
    }

    pub fn is_decidable(&self, request: &str) -> bool {
        self.waiting.get(request).is_some_and(|summary| summary.eligible.is_ok())
    }

    /// Opens a list in the order of now.
    pub fn open(&mut self, console: &Console, query: InboxQuery) -> &mut List {
        let query = InboxQuery { search: query.search.to_lowercase(), ..query };
        let mut requests = match query.view {
            View::Waiting | View::Mine => self.matching(&query),
            View::Decided => self.decided_matching(console, &query),
        };
        let total = if query.view == View::Decided && query.search.is_empty() { self.counts.decided } else { requests.len() };
        requests.truncate(INBOX_ROWS_MAX);
        self.opened += 1;
        let listed = requests.iter().cloned().collect();
        let fresh = (self.revision, Fresh::default());
        self.lists.truncate(LISTS_KEPT - 1);
        self.lists.push_front(List { id: self.opened, query, requests, total, listed, fresh });
        &mut self.lists[0]
    }

    pub fn list(&self, id: u64) -> Option<&List> {
        self.lists.iter().find(|list| list.id == id)
    }

    /// What a list lacks by now.
    pub fn fresh(&mut self, id: u64) -> Option<Fresh> {
        let at = self.lists.iter().position(|list| list.id == id)?;
        let list = &self.lists[at];
        if list.query.view == View::Decided {
            let count = self.counts.decided.saturating_sub(list.total);
            return Some(Fresh { count: if list.query.search.is_empty() { count } else { 0 }, first_expires_ms: None });
        }
        if list.fresh.0 != self.revision {
            let mut fresh = Fresh::default();
            for summary in self.waiting.values().filter(|summary| is_in(summary, &list.query) && !list.listed.contains(&summary.request)) {
                fresh.count += 1;
                fresh.first_expires_ms =
                    Some(fresh.first_expires_ms.map_or(summary.waits_until_ms, |first| first.min(summary.waits_until_ms)));
            }
            self.lists[at].fresh = (self.revision, fresh);
        }
        Some(self.lists[at].fresh.1)
    }

    fn matching(&self, query: &InboxQuery) -> Vec<Arc<str>> {
        let mut found: Vec<&Arc<Summary>> = self.waiting.values().filter(|summary| is_in(summary, query)).collect();
        match query.sort {
            Sort::Expires => found.sort_by_key(|summary| (summary.waits_until_ms, summary.position)),
            Sort::Newest => found.sort_by_key(|summary| std::cmp::Reverse(summary.position)),
        }
        found.into_iter().map(|summary| Arc::clone(&summary.request)).collect()
    }

    fn decided_matching(&mut self, console: &Console, query: &InboxQuery) -> Vec<Arc<str>> {
        let Some(person) = &self.person else { return Vec::new() };
        let newest_first = query.sort == Sort::Newest;
        let found = console.read(|mirror| mirror.decided_by(person, newest_first)).unwrap_or_default();
        if query.search.is_empty() {
            return found.into_iter().map(Arc::from).collect();
        }
        let standing = console.standing();
        let known = &mut self.decided;
        let listed = console.read(|mirror| {
            let mut listed = Vec::new();
            for request in found {
                let request: Arc<str> = Arc::from(request);
                if !known.contains_key(&request)
                    && let Some(row) = mirror.request(&request)?
                    && let Some(summary) = Summary::of(mirror, &console.tables, row, standing.as_ref())?
                {
                    known.insert(Arc::clone(&request), Arc::new(summary));
                }
                if known.get(&request).is_some_and(|summary| summary.matches(&query.search)) {
                    listed.push(request);
                }
            }
            Ok(listed)
        });
        listed.unwrap_or_default()
    }
}

fn is_in(summary: &Summary, query: &InboxQuery) -> bool {
    (query.view == View::Waiting || summary.eligible.is_ok()) && summary.matches(&query.search)
}
