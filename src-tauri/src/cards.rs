//! Requests that were read before: the inbox is asked every second, and bytes that do not change are not parsed again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::mirror::{Mirror, MirrorFault, RequestRow};
use crate::review::card::Card;
use crate::tables::Tables;

#[derive(Default)]
pub struct Cards {
    read: Mutex<BTreeMap<String, Arc<Card>>>,
}

impl Cards {
    /// The cards of these requests. What is not among them is forgotten.
    pub fn of(&self, mirror: &Mirror, tables: &Tables, listed: Vec<RequestRow>) -> Result<Vec<Arc<Card>>, MirrorFault> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = BTreeMap::new();
        let mut cards = Vec::with_capacity(listed.len());
        for row in listed {
            let known = read.remove(&row.request).filter(|card| card.listed == row);
            let card = match known {
                Some(card) => card,
                None => Arc::new(Card::of(mirror, tables, row)?),
            };
            kept.insert(card.listed.request.clone(), Arc::clone(&card));
            cards.push(card);
        }
        *read = kept;
        Ok(cards)
    }
}
