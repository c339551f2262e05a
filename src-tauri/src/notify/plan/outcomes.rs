//! Outcomes in doubt: a class of their own, of normal urgency, one notification for all of them.
//!
//! The first pops at once, later ones as an update at most once in [`GAP_MS`]; each time that the gate tells people of one again
//! it pops again. It goes when the last of them is answered.

use std::collections::{BTreeMap, BTreeSet};

use vidimus_core::operation::OperationKey;

use super::settle::gap_is_over;
use super::{Command, GAP_MS, LATER_MS, Popup, Slot, Stay, Target, Text, Urgency};
use crate::notify::text::{self, Matter};
use crate::settings::Privacy;

/// An operation whose outcome waits for people, this one among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InDoubt {
    pub operation: OperationKey,
    pub matter: Matter,
    pub agent: String,
    pub headline: String,
    /// Since when nobody knows, as the person reads it: `14:27`.
    pub since: String,
    /// How often the gate told people of it.
    pub pages: u64,
}

/// How often people had been told of an operation when it was notified last.
pub type Told = BTreeMap<OperationKey, u64>;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Outcomes {
    in_doubt: BTreeMap<OperationKey, InDoubt>,
    /// Those that the notification on the screen counts.
    shown: BTreeSet<OperationKey>,
    popped_at_ms: Option<i64>,
    later_until_ms: Option<i64>,
}

impl Outcomes {
    pub(super) fn replace(&mut self, now: Vec<InDoubt>, told: &mut Told, privacy: Privacy, commands: &mut Vec<Command>) {
        self.in_doubt = now.into_iter().map(|in_doubt| (in_doubt.operation, in_doubt)).collect();
        told.retain(|operation, _| self.in_doubt.contains_key(operation));
        let before = self.shown.len();
        self.shown.retain(|operation| self.in_doubt.contains_key(operation));
        if self.shown.len() < before {
            match self.shown.is_empty() {
                true => commands.push(show(text::outcome_answered(), Urgency::Low, Stay::Transient)),
                false => self.show_again(privacy, commands),
            }
        }
    }

    pub(super) fn settle(&mut self, told: &mut Told, privacy: Privacy, now_ms: i64, commands: &mut Vec<Command>) {
        if !self.has_news(told) || !gap_is_over(self.popped_at_ms, now_ms) || self.later_until_ms.is_some_and(|until| until > now_ms) {
            return;
        }
        self.popped_at_ms = Some(now_ms);
        self.later_until_ms = None;
        for (operation, in_doubt) in &self.in_doubt {
            told.insert(*operation, in_doubt.pages);
        }
        self.shown = self.in_doubt.keys().copied().collect();
        if let Some(text) = self.text(privacy) {
            commands.push(show(text, Urgency::Normal, Stay::Listed));
        }
    }

    /// When something is due that waits for time to pass.
    pub(super) fn due_at_ms(&self, told: &Told) -> Option<i64> {
        let after_gap = self.popped_at_ms.map_or(i64::MIN, |at_ms| at_ms + GAP_MS);
        self.has_news(told).then(|| after_gap.max(self.later_until_ms.unwrap_or(i64::MIN)))
    }

    pub(super) fn put_off(&mut self, told: &mut Told, now_ms: i64) {
        for operation in std::mem::take(&mut self.shown) {
            told.remove(&operation);
        }
        self.later_until_ms = Some(now_ms + LATER_MS);
    }

    pub(super) fn gone(&mut self) {
        self.shown.clear();
    }

    /// What is on the screen may say more than is now allowed.
    pub(super) fn show_again(&self, privacy: Privacy, commands: &mut Vec<Command>) {
        if self.shown.is_empty() {
            return;
        }
        if let Some(text) = self.text(privacy) {
            commands.push(show(text, Urgency::Low, Stay::Listed));
        }
    }

    fn has_news(&self, told: &Told) -> bool {
        self.in_doubt.values().any(|in_doubt| told.get(&in_doubt.operation).is_none_or(|pages| *pages < in_doubt.pages))
    }

    fn text(&self, privacy: Privacy) -> Option<Text> {
        let mut shown = self.shown.iter().filter_map(|operation| self.in_doubt.get(operation));
        let first = shown.next()?;
        Some(match shown.count() {
            0 => text::one_in_doubt(first, privacy),
            others => text::several_in_doubt(others + 1, privacy),
        })
    }
}

fn show(text: Text, urgency: Urgency, stay: Stay) -> Command {
    Command::Show(Popup { slot: Slot::Outcome, text, urgency, stay, target: Target::Desk })
}

#[cfg(test)]
mod tests {
    use vidimus_core::bytes::Digest;

    use super::super::{Input, Notified, Plan};
    use super::*;

    fn in_doubt(number: u8, pages: u64) -> InDoubt {
        InDoubt {
            operation: Digest::of(&[number]).to_string().parse().unwrap(),
            matter: Matter::Payment,
            agent: "treasury".to_owned(),
            headline: "Wire EUR 4,200.00 to payee_acme".to_owned(),
            since: "14:27".to_owned(),
            pages,
        }
    }

    fn shown(commands: &[Command]) -> Vec<(String, Urgency, Stay)> {
        let of = |command: &Command| match command {
            Command::Show(popup) => {
                assert_eq!((popup.slot, popup.target), (Slot::Outcome, Target::Desk));
                Some((popup.text.summary.clone(), popup.urgency, popup.stay))
            }
            Command::Remember(_) | Command::Close(_) => None,
        };
        commands.iter().filter_map(of).collect()
    }

    #[test]
    fn the_first_pops_at_once_the_next_with_the_gap_and_each_page_again() {
        let mut plan = Plan::new(Notified::default(), Privacy::Guarded);
        let first = shown(&plan.apply(Input::Outcomes(vec![in_doubt(1, 1)]), 0));
        assert_eq!(first.len(), 1);
        assert!(first[0].0.starts_with("Outcome unknown: a payment"), "{first:?}");
        assert_eq!((first[0].1, first[0].2), (Urgency::Normal, Stay::Listed));
        assert_eq!(shown(&plan.apply(Input::Outcomes(vec![in_doubt(1, 1)]), 1)), []);

        let both = vec![in_doubt(1, 1), in_doubt(2, 1)];
        assert_eq!(shown(&plan.apply(Input::Outcomes(both.clone()), 2)), [], "no second popup within the gap");
        assert_eq!(plan.next_at_ms(2), Some(GAP_MS));
        assert_eq!(shown(&plan.apply(Input::Tick, GAP_MS))[0].0, "2 outcomes are unknown");

        let again = vec![in_doubt(1, 2), in_doubt(2, 1)];
        assert_eq!(shown(&plan.apply(Input::Outcomes(again), 3 * GAP_MS)).len(), 1, "people were told again");
    }

    #[test]
    fn it_is_replaced_when_answered_and_told_once_over_a_restart() {
        let mut plan = Plan::new(Notified::default(), Privacy::Full);
        plan.apply(Input::Outcomes(vec![in_doubt(1, 1), in_doubt(2, 1)]), 0);
        let one_left = shown(&plan.apply(Input::Outcomes(vec![in_doubt(2, 1)]), 1));
        assert_eq!((one_left.len(), one_left[0].1), (1, Urgency::Low));
        let mut restarted = Plan::new(plan.notified().clone(), Privacy::Full);
        assert_eq!(shown(&restarted.apply(Input::Outcomes(vec![in_doubt(2, 1)]), 2)), []);
        let none = shown(&plan.apply(Input::Outcomes(Vec::new()), 3));
        assert_eq!((none.len(), none[0].1, none[0].2), (1, Urgency::Low, Stay::Transient));
    }

    #[test]
    fn a_pause_and_later_keep_it_quiet_and_only_full_names_a_payee() {
        let mut plan = Plan::new(Notified::default(), Privacy::Guarded);
        plan.apply(Input::PauseUntil(1_000_000), 0);
        assert_eq!(shown(&plan.apply(Input::Outcomes(vec![in_doubt(1, 1)]), 1)), []);
        let resumed = plan.apply(Input::Resume, 2);
        assert_eq!(shown(&resumed).len(), 1);
        assert!(!format!("{resumed:?}").contains("payee_acme"));
        plan.apply(Input::Later(Slot::Outcome), 3);
        assert_eq!(shown(&plan.apply(Input::Tick, 3 + LATER_MS - 1)), []);
        assert_eq!(shown(&plan.apply(Input::Tick, 3 + LATER_MS)).len(), 1);
        let full = plan.apply(Input::Privacy(Privacy::Full), 4 + LATER_MS);
        assert!(format!("{full:?}").contains("payee_acme"));
    }
}
