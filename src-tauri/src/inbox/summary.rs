//! What is kept of each request that waits: enough to order, count, search and tell of it without reading its bytes again.

use std::sync::Arc;

use vidimus_core::ids::Reversibility;

use crate::console::Standing;
use crate::errors::Told;
use crate::mirror::{Mirror, MirrorFault, RequestRow};
use crate::notify::text::Matter;
use crate::review::card::Card;
use crate::strings;
use crate::tables::Tables;
use crate::waiting::matter_of;

/// A request as far as a list needs it. Its bytes stay in the mirror.
#[derive(Debug, Clone)]
pub struct Summary {
    pub request: Arc<str>,
    pub position: u64,
    pub at_ms: i64,
    pub waits_until_ms: i64,
    pub agent: String,
    pub headline: String,
    pub matter: Matter,
    pub friction: Reversibility,
    /// Whether the person here may decide, or why not.
    pub eligible: Result<(), Told>,
    pub decided_by_me: bool,
    /// Every word of it that a search may find, in small letters.
    words: String,
}

impl Summary {
    /// Nothing where it is another role's request: its arguments are not for this person.
    pub fn of(mirror: &Mirror, tables: &Tables, listed: RequestRow, standing: Option<&Standing>) -> Result<Option<Self>, MirrorFault> {
        if listed.frozen.is_none() && listed.body_fault.is_none() {
            return Ok(None);
        }
        let decided_by_me = match standing {
            Some(standing) => mirror.has_decided(&listed.request, &standing.person.person.to_string())?,
            None => false,
        };
        let card = Card::without_warnings(mirror, tables, listed)?;
        let eligible = match standing {
            Some(standing) => card.role_of(standing).map(|_| ()),
            None => Err(Told::new("E-KEY-6", strings::KEY_WAITING)),
        };
        let headline = card.headline().unwrap_or_else(|| strings::call_of(&card.listed.tool));
        Ok(Some(Self {
            words: words_of(&card, &headline),
            request: Arc::from(card.listed.request.as_str()),
            position: card.listed.position,
            at_ms: card.listed.at_ms,
            waits_until_ms: card.listed.waits_until_ms,
            agent: super::agent_of(&card.listed.agent),
            matter: matter_of(&card),
            friction: card.friction(),
            headline,
            eligible,
            decided_by_me,
        }))
    }

    /// Whether every word of a search, in small letters, is somewhere in it.
    pub fn matches(&self, search: &str) -> bool {
        search.split_whitespace().all(|word| self.words.contains(word))
    }
}

/// Amounts are found without their grouping too.
fn words_of(card: &Card, headline: &str) -> String {
    let listed = &card.listed;
    let effect = card.frozen.as_ref().map_or("money", |frozen| frozen.members().effect.as_str());
    let approvals = strings::approvals_short(card.needed(), listed.given);
    [
        listed.request.as_str(),
        &listed.tool,
        &listed.agent,
        headline,
        &headline.replace(',', ""),
        card.friction().as_str(),
        effect,
        &approvals,
    ]
    .join(" ")
    .to_lowercase()
}
