//! The places of what is at work with providers, and of calls. Payments have places of their own, and no provider ever has all of them: whatever
//! an agent makes wait at one that hangs, a payment to another one begins at once.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;
use vidimus_core::code::{Code, Refusal};
use vidimus_core::table::{Executor, Row};

use crate::limits::{
    CALLS_AT_WORK_MAX, CALLS_AT_WORK_PER_AGENT_MAX, EXECUTIONS_MAX, EXECUTIONS_PER_PROVIDER_MAX, QUESTIONS_MAX, QUESTIONS_PER_PROVIDER_MAX,
    REPEATS_MAX, REPEATS_PER_PROVIDER_MAX,
};

/// All places.
pub struct Executions {
    /// Calls of agents, by the agent: what a call does goes on when its agent hangs up, so its connection's place does not bound it.
    pub calls: Places,
    /// What people approved.
    pub payments: Places,
    /// Questions about what became of payments.
    pub questions: Places,
    /// Writes that are sent again or asked about. Nobody approved them, so that agents can make any number of them.
    pub repeats: Places,
}

impl Default for Executions {
    fn default() -> Executions {
        Executions {
            calls: Places::of(CALLS_AT_WORK_MAX, CALLS_AT_WORK_PER_AGENT_MAX),
            payments: Places::of(EXECUTIONS_MAX, EXECUTIONS_PER_PROVIDER_MAX),
            questions: Places::of(QUESTIONS_MAX, QUESTIONS_PER_PROVIDER_MAX),
            repeats: Places::of(REPEATS_MAX, REPEATS_PER_PROVIDER_MAX),
        }
    }
}

/// A number of places, and how many of them one provider, or one agent, may have.
pub struct Places {
    taken: Arc<Mutex<HashMap<String, usize>>>,
    freed: Arc<Notify>,
    max: usize,
    of_one_max: usize,
}

impl Places {
    fn of(max: usize, of_one_max: usize) -> Places {
        Places { taken: Arc::default(), freed: Arc::default(), max, of_one_max }
    }

    /// Whether any provider could have a place.
    pub fn has_room(&self) -> bool {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).values().sum::<usize>() < self.max
    }

    /// A place at a provider, until it is dropped; none while all are taken, or all that this provider may have.
    pub fn take(&self, provider: &str) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let here = taken.get(provider).copied().unwrap_or(0);
        if here >= self.of_one_max || taken.values().sum::<usize>() >= self.max {
            return None;
        }
        taken.insert(provider.to_owned(), here + 1);
        Some(Place { taken: Arc::clone(&self.taken), freed: Arc::clone(&self.freed), provider: provider.to_owned() })
    }

    /// The same, waited for so long; whoever is dropped meanwhile waits no more.
    pub async fn wait_for(&self, provider: &str, within: Duration) -> Option<Place> {
        let waited_for = async {
            loop {
                let mut freed = pin!(self.freed.notified());
                // From here on no place is given back unnoticed.
                freed.as_mut().enable();
                if let Some(place) = self.take(provider) {
                    return place;
                }
                freed.await;
            }
        };
        timeout(within, waited_for).await.ok()
    }
}

/// One taken place. Its end wakes whoever waits for one.
pub struct Place {
    taken: Arc<Mutex<HashMap<String, usize>>>,
    freed: Arc<Notify>,
    provider: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(here) = taken.get_mut(&self.provider) {
            *here -= 1;
            if *here == 0 {
                taken.remove(&self.provider);
            }
        }
        drop(taken);
        self.freed.notify_waiters();
    }
}

/// What an agent is told that has as many calls at work as it may, or that came when all agents together have.
pub fn too_many() -> Refusal {
    let message =
        "too many calls are at work at once; this one was not looked at: wait for the answers of others and send it again, as it is";
    Refusal::new(Code::AgentRateLimited, message)
}

/// Whom a row's calls go to: scheme and host, whatever the tool. Rows that nothing is sent for share one name.
pub fn provider_of(row: &Row) -> String {
    match &row.executor {
        Executor::Http(http) => http.url.source().splitn(4, '/').take(3).collect::<Vec<_>>().join("/"),
        Executor::Gate | Executor::Mcp { .. } | Executor::Remote { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use vidimus_core::ids::Name;
    use vidimus_core::table::Table;

    use super::*;

    #[test]
    fn a_provider_that_hangs_leaves_places_for_every_other() {
        let executions = Executions::default();
        let hanging: Vec<Place> = std::iter::from_fn(|| executions.payments.take("https://slow.example")).collect();
        assert_eq!(hanging.len(), EXECUTIONS_PER_PROVIDER_MAX);
        assert!(executions.payments.has_room());
        let others: Vec<Place> = std::iter::from_fn(|| executions.payments.take("https://bank.example")).collect();
        assert_eq!(others.len(), EXECUTIONS_MAX - EXECUTIONS_PER_PROVIDER_MAX);
        assert!(!executions.payments.has_room());
        drop(hanging);
        assert!(executions.payments.take("https://slow.example").is_some(), "a place that is given back is free");
    }

    #[test]
    fn what_nobody_approved_takes_no_place_of_a_payment() {
        let executions = Executions::default();
        let repeats: Vec<Place> = (0..100).filter_map(|provider| executions.repeats.take(&format!("https://{provider}.example"))).collect();
        assert_eq!(repeats.len(), REPEATS_MAX);
        assert!(executions.payments.take("https://bank.example").is_some());
        assert!(executions.questions.take("https://bank.example").is_some());
    }

    #[test]
    fn tools_of_one_provider_share_its_places() {
        let row = |tool: &str, url: &str| {
            format!(
                "[[row]]\ntool = \"{tool}\"\neffect = \"read\"\nowner = \"p\"\nhits = \"/n\"\nexecutor = {{ kind = \"http\", method = \"GET\", url = \"{url}\" }}\n"
            )
        };
        let rows = [("a", "https://one.example:8443/x/y"), ("b", "https://one.example:8443/z"), ("c", "https://two.example/x")];
        let text = rows.iter().fold("v = 1\n".to_owned(), |text, (tool, url)| text + &row(tool, url));
        let table = Table::parse(&text).expect("a table");
        let provider = |tool: &str| provider_of(table.row(&Name::parse(tool).expect("a name")).expect("a row"));
        assert_eq!(provider("a"), "https://one.example:8443");
        assert_eq!((provider("a") == provider("b"), provider("a") == provider("c")), (true, false));
        assert_eq!(provider("gate.roster.change"), "");
    }
}
