//! Requests that were read before: a list asks for the same ones again and again, and bytes that do not change are not parsed again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::CARDS_KEPT;
use crate::mirror::{Mirror, MirrorFault, RequestRow};
use crate::review::card::Card;
use crate::tables::Tables;

/// The cards that were asked for last.
#[derive(Default)]
pub struct Cards {
    read: Mutex<Read>,
}

#[derive(Default)]
struct Read {
    kept: BTreeMap<String, (u64, Arc<Card>)>,
    asked: u64,
}

impl Cards {
    /// The card of a request as the mirror has it now.
    pub fn of(&self, mirror: &Mirror, tables: &Tables, listed: RequestRow) -> Result<Arc<Card>, MirrorFault> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.asked += 1;
        let asked = read.asked;
        if let Some((last, card)) = read.kept.get_mut(&listed.request)
            && card.listed == listed
        {
            *last = asked;
            return Ok(Arc::clone(card));
        }
        let card = Arc::new(Card::of(mirror, tables, listed)?);
        read.kept.insert(card.listed.request.clone(), (asked, Arc::clone(&card)));
        read.forget();
        Ok(card)
    }
}

impl Read {
    /// Half of what is kept goes at a time, so that looking for what is oldest costs little for each card.
    fn forget(&mut self) {
        if self.kept.len() <= CARDS_KEPT {
            return;
        }
        let mut asked: Vec<u64> = self.kept.values().map(|(asked, _)| *asked).collect();
        asked.sort_unstable();
        let oldest = asked[asked.len() / 2];
        self.kept.retain(|_, (asked, _)| *asked >= oldest);
    }
}
