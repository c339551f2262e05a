//! Whether enough distinct persons of a roster can meet the needs of a request, together: a person counts for one need only,
//! so counting each role by itself is not enough.

use std::collections::BTreeMap;

use crate::decision::may_decide;
use crate::frozen::{FrozenRequest, Need};
use crate::ids::PersonId;
use crate::roster::Roster;

/// A need that the persons of a roster cannot meet beside the other needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unmet<'a> {
    /// The need.
    pub need: &'a Need,
    /// Persons that are left for it at the most. *Invariant*: fewer than its quorum.
    pub able: u32,
}

/// The first need that cannot be met, in the order in which the request names them; none where distinct persons can meet all.
///
/// `escalated`: holders of a need's `escalate_to` count as well.
pub fn unmet<'a>(frozen: &'a FrozenRequest, escalated: bool, roster: &Roster) -> Option<Unmet<'a>> {
    let needs = &frozen.members().needs;
    let can = |person: &PersonId, need: &Need| {
        let next = need.escalate_to.as_ref().filter(|_| escalated);
        std::iter::once(&need.role).chain(next).any(|role| may_decide(person, role, frozen, escalated, roster).is_ok())
    };
    let able: Vec<Vec<PersonId>> = needs
        .iter()
        .map(|need| {
            let roles = std::iter::once(&need.role).chain(need.escalate_to.as_ref().filter(|_| escalated));
            let mut persons: Vec<PersonId> =
                roles.flat_map(|role| roster.eligible(role)).map(|person| person.person).filter(|person| can(person, need)).collect();
            persons.sort();
            persons.dedup();
            persons
        })
        .collect();
    let mut taken = Matching { able: &able, need_of: BTreeMap::new() };
    for (index, need) in needs.iter().enumerate() {
        for found in 0..need.quorum {
            if !taken.assign(index, &mut vec![false; needs.len()]) {
                return Some(Unmet { need, able: found });
            }
        }
    }
    None
}

/// Persons, each counted for one need, so far.
struct Matching<'a> {
    able: &'a [Vec<PersonId>],
    need_of: BTreeMap<PersonId, usize>,
}

impl Matching<'_> {
    /// Finds one more person for a need: a free one, or one whose need finds another.
    fn assign(&mut self, need: usize, tried: &mut [bool]) -> bool {
        if std::mem::replace(&mut tried[need], true) {
            return false;
        }
        let able = self.able;
        for person in &able[need] {
            let free = match self.need_of.get(person) {
                None => true,
                Some(held) if *held == need => false,
                Some(held) => {
                    let held = *held;
                    self.assign(held, tried)
                }
            };
            if free {
                self.need_of.insert(*person, need);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The persons that a need can have, and how many it needs.
    type Asked<'a> = (&'a [u8], u32);

    /// Needs, and the first of them that is not met with how many persons it can have.
    type Case<'a> = (&'a [Asked<'a>], Option<(usize, u32)>);

    #[test]
    fn persons_are_matched_and_not_counted() {
        let person = |number: u8| PersonId::from_random([number; 16]);
        let cases: &[Case<'_>] = &[
            (&[(&[1], 1)], None),
            (&[(&[1], 2)], Some((0, 1))),
            (&[(&[], 1)], Some((0, 0))),
            // One person cannot be both.
            (&[(&[1], 1), (&[1], 1)], Some((1, 0))),
            (&[(&[1, 2], 1), (&[1], 1)], None),
            (&[(&[1, 2], 1), (&[1, 2], 1)], None),
            (&[(&[1, 2], 2), (&[1, 2], 1)], Some((1, 0))),
            // Whoever was taken first makes room, along a chain.
            (&[(&[1, 2], 1), (&[2, 3], 1), (&[1, 3], 1)], None),
            (&[(&[1, 2], 1), (&[1, 3], 1), (&[1], 1)], None),
            (&[(&[1, 2, 3], 2), (&[1, 2], 1)], None),
            (&[(&[1, 2, 3], 2), (&[1, 2], 2)], Some((1, 1))),
            (&[(&[1, 2], 1), (&[1, 2], 1), (&[1, 2], 1)], Some((2, 0))),
        ];
        for (index, (needs, expected)) in cases.iter().enumerate() {
            let able: Vec<Vec<PersonId>> = needs.iter().map(|(persons, _)| persons.iter().copied().map(person).collect()).collect();
            let mut taken = Matching { able: &able, need_of: BTreeMap::new() };
            let mut found = None;
            'needs: for (need, (_, quorum)) in needs.iter().enumerate() {
                for given in 0..*quorum {
                    if !taken.assign(need, &mut vec![false; needs.len()]) {
                        found = Some((need, given));
                        break 'needs;
                    }
                }
            }
            assert_eq!(found, *expected, "case {index}");
        }
    }
}
