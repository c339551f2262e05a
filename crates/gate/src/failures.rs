//! Counts failed authentications and challenges, bounded in time and memory.
//!
//! A good credential always passes: one who guesses cannot lock out another. What is limited is what failures cost.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use vidimus_core::time::Timestamp;

use crate::http::places::network;
use crate::limits::{CHALLENGES_PER_WINDOW_MAX, FAILURE_ADDRESSES_MAX, FAILURE_WINDOW_S, FAILURES_PER_WINDOW_MAX};

#[derive(Clone, Copy)]
struct Window {
    ends_at: Timestamp,
    counted: u32,
}

/// What each address has used up in its present window. None stands for all the addresses that no longer fit.
type Windows = Mutex<HashMap<Option<IpAddr>, Window>>;

/// The failures of each address in its present window, and the challenges that it got.
#[derive(Default)]
pub struct Failures {
    windows: Windows,
    challenges: Windows,
}

impl Failures {
    /// Counts one failure; false when the address has used up its window.
    pub fn count(&self, address: IpAddr, now: Timestamp) -> bool {
        count(&self.windows, address, now).1 <= FAILURES_PER_WINDOW_MAX
    }

    /// Counts one challenge; false when the address has used up its window. Addresses that no longer fit are not limited: filling
    /// the count with addresses must keep nobody from a session.
    pub fn count_challenge(&self, address: IpAddr, now: Timestamp) -> bool {
        let (fits, counted) = count(&self.challenges, address, now);
        !fits || counted <= CHALLENGES_PER_WINDOW_MAX
    }
}

/// Counts one more; whether the address has a count of its own, and what it is.
fn count(windows: &Windows, address: IpAddr, now: Timestamp) -> (bool, u32) {
    let address = network(address);
    let mut windows = windows.lock().unwrap_or_else(PoisonError::into_inner);
    let fits = windows.contains_key(&Some(address)) || windows.len() < FAILURE_ADDRESSES_MAX || {
        windows.retain(|_, window| window.ends_at > now);
        windows.len() < FAILURE_ADDRESSES_MAX
    };
    let fresh = Window { ends_at: now.plus_s(FAILURE_WINDOW_S), counted: 0 };
    let window = windows.entry(fits.then_some(address)).or_insert(fresh);
    if window.ends_at <= now {
        *window = fresh;
    }
    window.counted = window.counted.saturating_add(1);
    (fits, window.counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_limited_until_its_window_ends() {
        let failures = Failures::default();
        let now = Timestamp::MIN;
        let address: IpAddr = "192.0.2.1".parse().expect("an address");
        for _ in 0..FAILURES_PER_WINDOW_MAX {
            assert!(failures.count(address, now));
        }
        assert!(!failures.count(address, now));
        assert!(failures.count("192.0.2.2".parse().expect("an address"), now));
        assert!(failures.count(address, now.plus_s(FAILURE_WINDOW_S)));
    }

    #[test]
    fn a_host_with_a_network_of_addresses_is_one() {
        let failures = Failures::default();
        let address = |last: u32| format!("2001:db8:1:2::{last:x}").parse::<IpAddr>().expect("an address");
        for last in 0..FAILURES_PER_WINDOW_MAX {
            assert!(failures.count(address(last), Timestamp::MIN));
        }
        assert!(!failures.count(address(FAILURES_PER_WINDOW_MAX), Timestamp::MIN));
        assert!(failures.count("2001:db8:1:3::1".parse().expect("an address"), Timestamp::MIN));
        let mapped = |last: u8| format!("::ffff:192.0.2.{last}").parse::<IpAddr>().expect("an address");
        assert!((0..FAILURES_PER_WINDOW_MAX).all(|_| failures.count(mapped(1), Timestamp::MIN)));
        assert!(!failures.count("192.0.2.1".parse().expect("an address"), Timestamp::MIN), "the same host in its other spelling");
        assert!(failures.count(mapped(2), Timestamp::MIN));
    }

    #[test]
    fn addresses_beyond_the_limit_share_one_count() {
        let failures = Failures::default();
        for number in 0..u32::try_from(FAILURE_ADDRESSES_MAX).expect("small") {
            assert!(failures.count(IpAddr::from(number.to_be_bytes()), Timestamp::MIN));
        }
        let others = (0..FAILURES_PER_WINDOW_MAX + 1).map(|number| IpAddr::from((0xff00_0000 + number).to_be_bytes()));
        let passed = others.filter(|address| failures.count(*address, Timestamp::MIN)).count();
        assert_eq!(passed, usize::try_from(FAILURES_PER_WINDOW_MAX).expect("small"));
        assert!(failures.windows.lock().expect("unpoisoned").len() <= FAILURE_ADDRESSES_MAX + 1);
    }
}
