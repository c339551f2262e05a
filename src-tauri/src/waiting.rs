//! What waits, as the notices need it.

use vidimus_core::render::Reading;

use crate::console::Console;
use crate::inbox;
use crate::notify::plan::{Standing, Waiting};
use crate::notify::text::{Matter, Subject};
use crate::strings;
use crate::text::time;

/// Every request that waits, with how the person here stands to it.
pub fn all(console: &Console) -> Vec<Waiting> {
    let now_ms = console.now_ms();
    inbox::waiting(console)
        .into_iter()
        .filter_map(|(card, eligible, decided_by_me)| {
            let request = card.listed.request.parse().ok()?;
            let pays = card.values.iter().any(|value| matches!(value.reading, Some(Reading::Money(_))));
            let standing = match eligible {
                _ if decided_by_me => Standing::HasDecided,
                Ok(()) => Standing::CanDecide,
                Err(told) if told.id == "E-DEC-3" => Standing::Own,
                Err(_) => Standing::LacksRole,
            };
            Some(Waiting {
                request,
                subject: Subject {
                    matter: if pays { Matter::Payment } else { Matter::Action },
                    reversibility: card.friction(),
                    agent: inbox::agent_of(&card.listed.agent),
                    headline: card.headline().unwrap_or_else(|| strings::call_of(&card.listed.tool)),
                    expires: time::day_and_time(card.listed.waits_until_ms, now_ms, &console.zone),
                },
                expires_at_ms: card.listed.waits_until_ms,
                standing,
            })
        })
        .collect()
}
