//! What waits, as the notices need it.

use vidimus_core::render::Reading;

use crate::console::Console;
use crate::desk;
use crate::inbox;
use crate::notify::plan::{InDoubt, Standing, Waiting};
use crate::notify::text::{Matter, Subject};
use crate::review::card::Card;
use crate::strings;
use crate::text::time;

/// Every outcome that waits for people, the one here among them.
pub fn in_doubt(console: &Console) -> Vec<InDoubt> {
    let now_ms = console.now_ms();
    let waits = |matter: &desk::Matter| matter.row.state == "needs_reconciliation" && matter.eligible(console).is_ok();
    desk::matters(console)
        .into_iter()
        .filter(waits)
        .filter_map(|matter| {
            Some(InDoubt {
                operation: matter.row.operation.parse().ok()?,
                matter: matter_of(&matter.card),
                agent: inbox::agent_of(&matter.row.agent),
                headline: matter.card.headline().unwrap_or_else(|| strings::call_of(&matter.row.tool)),
                since: time::day_and_time(matter.row.since_ms, now_ms, &console.zone),
                pages: matter.row.pages,
            })
        })
        .collect()
}

pub fn matter_of(card: &Card) -> Matter {
    let pays = card.values.iter().any(|value| matches!(value.reading, Some(Reading::Money(_))));
    if pays { Matter::Payment } else { Matter::Action }
}

/// Every request that waits, with how the person here stands to it.
pub fn all(console: &Console) -> Vec<Waiting> {
    let now_ms = console.now_ms();
    inbox::waiting(console)
        .into_iter()
        .filter_map(|summary| {
            let standing = match &summary.eligible {
                _ if summary.decided_by_me => Standing::HasDecided,
                Ok(()) => Standing::CanDecide,
                Err(told) if told.id == "E-DEC-3" => Standing::Own,
                Err(_) => Standing::LacksRole,
            };
            Some(Waiting {
                request: summary.request.parse().ok()?,
                subject: Subject {
                    matter: summary.matter,
                    reversibility: summary.friction,
                    agent: summary.agent.clone(),
                    headline: summary.headline.clone(),
                    expires: time::day_and_time(summary.waits_until_ms, now_ms, &console.zone),
                },
                expires_at_ms: summary.waits_until_ms,
                standing,
            })
        })
        .collect()
}
