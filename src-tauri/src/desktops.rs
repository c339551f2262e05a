//! The desktops of the people in the roster, as the verified log tells them: their keys, since when, last used, in which state.

use vidimus_core::bytes::Digest;
use vidimus_core::roster::{ADMIN, KeyUse, Person, Roster, RosterKey};
use vidimus_core::time::Timestamp;

use crate::limits::{KEY_LIFE_S, KEY_ROTATION_NOTICE_S};
use crate::mirror::{Mirror, MirrorFault};

/// Where the keys of a desktop stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DesktopState {
    Active,
    /// To be renewed by this time; it is past where nobody did.
    RotationDue(Timestamp),
    /// Neither key counts, since the later of the two.
    Stopped(Timestamp),
}

/// The two keys that came together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desktop {
    pub label: String,
    pub approval: Digest,
    pub device: Digest,
    pub state: DesktopState,
    pub since: Option<Timestamp>,
    pub last_used: Option<Timestamp>,
}

/// The desktops of a person, in the order in which they came.
pub fn of(person: &Person, mirror: &Mirror, now_ms: i64) -> Result<Vec<Desktop>, MirrorFault> {
    let mut desktops = Vec::new();
    for pair in person.keys.chunks(2) {
        let key = |key_use| pair.iter().find(|key| key.key_use == key_use);
        let (Some(approval), Some(device)) = (key(KeyUse::Approval), key(KeyUse::Device)) else { continue };
        let since = mirror.key_times(&approval.key.digest())?.since;
        desktops.push(Desktop {
            label: approval.label.clone(),
            approval: approval.key.digest(),
            device: device.key.digest(),
            state: state(approval, device, since, now_ms),
            since,
            last_used: mirror.key_times(&device.key.digest())?.last,
        });
    }
    Ok(desktops)
}

fn state(approval: &RosterKey, device: &RosterKey, since: Option<Timestamp>, now_ms: i64) -> DesktopState {
    match (approval.stopped_at, device.stopped_at) {
        (Some(one), Some(other)) => DesktopState::Stopped(one.max(other)),
        // A desktop with one key left can sign nothing that counts, or say nothing: it is stopped as a whole.
        (Some(at), None) | (None, Some(at)) => DesktopState::Stopped(at),
        (None, None) => match since.and_then(|since| renewal_due(since, now_ms)) {
            Some(until) => DesktopState::RotationDue(until),
            None => DesktopState::Active,
        },
    }
}

/// By when a key is to be renewed, once that is near.
pub fn renewal_due(since: Timestamp, now_ms: i64) -> Option<Timestamp> {
    let until = since.plus_s(KEY_LIFE_S);
    let near = until.as_ms().saturating_sub(i64::try_from(KEY_ROTATION_NOTICE_S * 1000).unwrap_or(0));
    (now_ms >= near).then_some(until)
}

/// Whether a person may stop other people's keys and object to a recovery.
pub fn is_admin(person: &Person) -> bool {
    person.roles.iter().any(|role| role.as_str() == ADMIN)
}

/// The keys of a desktop that still count: what a stop of it names.
pub fn countable(desktop: &Desktop, roster: &Roster) -> Vec<Digest> {
    let counts = |key: &Digest| roster.key(key).is_some_and(|holder| holder.key.stopped_at.is_none());
    let mut keys: Vec<Digest> = [desktop.approval, desktop.device].into_iter().filter(counts).collect();
    keys.sort();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_to_be_renewed_two_weeks_before_its_year_is_over() {
        let since = Timestamp::MIN.plus_s(1_000);
        let until = since.plus_s(KEY_LIFE_S);
        let near = until.as_ms() - 14 * 24 * 3600 * 1000;
        assert_eq!(renewal_due(since, near - 1), None);
        assert_eq!(renewal_due(since, near), Some(until));
        assert_eq!(renewal_due(since, until.as_ms() + 1), Some(until), "nobody did");
    }
}
