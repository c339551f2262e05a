//! Who holds the listener's connections, and whose goes when there is no room.
//!
//! A connection belongs to a stranger until a credential on it was found good. Strangers can take no place away from those who
//! have one: whoever comes when all are taken gets the place of the stranger who has been here longest without a word
//! of proof, at the address that holds most. What agents hold together, and what one agent or one person holds, is bounded,
//! so that neither can take them all.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use vidimus_core::ids::{Name, PersonId};

use crate::limits::{
    CONNECTIONS_AGENTS_MAX, CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, CONNECTIONS_PER_AGENT_MAX, CONNECTIONS_PER_PERSON_MAX,
};

/// Who has proven to be at the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// Nobody.
    Stranger,
    /// An agent, by its credential.
    Agent(Name),
    /// A person, by a session.
    Person(PersonId),
}

/// One open connection.
struct Place {
    /// None where a proxy stands in between, whose address says nothing.
    address: Option<IpAddr>,
    holder: Holder,
    /// Requests on it that are not answered yet.
    busy: u32,
    /// When it was last used, on the count of all uses.
    used: u64,
    cut: CancellationToken,
}

/// Every open connection, by the order in which they came.
#[derive(Default)]
struct Open {
    places: BTreeMap<u64, Place>,
    uses: u64,
}

/// The places of the listener.
#[derive(Default)]
pub struct Places {
    open: Mutex<Open>,
    made_room: AtomicU64,
    turned_away: AtomicU64,
    stalled: AtomicU64,
}

/// What is counted of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Held by strangers, agents, people.
    pub held: [u64; 3],
    /// Ended so that another got in.
    pub made_room: u64,
    /// Not let in.
    pub turned_away: u64,
    /// Ended because their other end did not read.
    pub stalled: u64,
}

/// A place that is held. Dropped, it is free.
pub struct Connection {
    places: Arc<Places>,
    id: u64,
    cut: CancellationToken,
}

/// A request under way on a connection.
pub struct UnderWay(Arc<Connection>);

impl Places {
    /// A place for a connection that has just come; none when nobody has to go for it.
    pub fn enter(self: &Arc<Places>, address: Option<IpAddr>) -> Option<Arc<Connection>> {
        let address = address.map(network);
        let mut open = self.open();
        if let Some(address) = address {
            let of_address = |place: &Place| place.address == Some(address);
            if open.count(of_address) >= CONNECTIONS_PER_ADDRESS_MAX && !self.make_room(&mut open, of_address) {
                return None;
            }
        }
        if open.places.len() >= CONNECTIONS_MAX && !self.make_room(&mut open, |_| true) {
            return None;
        }
        let id = open.next_use();
        let cut = CancellationToken::new();
        open.places.insert(id, Place { address, holder: Holder::Stranger, busy: 0, used: id, cut: cut.clone() });
        Some(Arc::new(Connection { places: Arc::clone(self), id, cut }))
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends one of these connections, whoever is missed least; false when each is at work for somebody who is known.
    fn make_room(&self, open: &mut Open, among: impl Fn(&Place) -> bool) -> bool {
        let found = open.oldest_stranger(&among).or_else(|| open.longest_idle(&among));
        let Some(id) = found else {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            return false;
        };
        if let Some(place) = open.places.remove(&id) {
            place.cut.cancel();
        }
        self.made_room.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Counts a connection whose other end did not read what it had asked for.
    pub fn count_stalled(&self) {
        self.stalled.fetch_add(1, Ordering::Relaxed);
    }

    /// What there is to count.
    pub fn tally(&self) -> Tally {
        let open = self.open();
        let mut held = [0; 3];
        for place in open.places.values() {
            held[match place.holder {
                Holder::Stranger => 0,
                Holder::Agent(_) => 1,
                Holder::Person(_) => 2,
            }] += 1;
        }
        drop(open);
        let counted = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Tally { held, made_room: counted(&self.made_room), turned_away: counted(&self.turned_away), stalled: counted(&self.stalled) }
    }
}

impl Open {
    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    fn count(&self, of: impl Fn(&Place) -> bool) -> usize {
        self.places.values().filter(|place| of(place)).count()
    }

    /// The stranger who came first, of the address that has most of them.
    fn oldest_stranger(&self, among: impl Fn(&Place) -> bool) -> Option<u64> {
        let mut of_address: HashMap<Option<IpAddr>, (usize, u64)> = HashMap::new();
        for (id, place) in self.places.iter().filter(|(_, place)| place.holder == Holder::Stranger && among(place)) {
            of_address.entry(place.address).or_insert((0, *id)).0 += 1;
        }
        of_address.into_values().max_by_key(|(count, oldest)| (*count, std::cmp::Reverse(*oldest))).map(|(_, oldest)| oldest)
    }

    /// The one that is in use by nobody for longest; people's last.
    fn longest_idle(&self, among: impl Fn(&Place) -> bool) -> Option<u64> {
        let idle = self.places.iter().filter(|(_, place)| place.busy == 0 && among(place));
        idle.min_by_key(|(_, place)| (matches!(place.holder, Holder::Person(_)), place.used)).map(|(id, _)| *id)
    }
}

impl Connection {
    /// Notes who has proven to be there; false when this one, or all agents together, have as many connections at work as
    /// they may. Their idle ones go first.
    pub fn prove(&self, holder: &Holder) -> bool {
        let mut open = self.places.open();
        match open.places.get(&self.id) {
            // It was ended meanwhile; its answer reaches nobody.
            None => return true,
            Some(place) if place.holder == *holder => return true,
            Some(_) => {}
        }
        let own = |place: &Place| place.holder == *holder;
        let agents = |place: &Place| matches!(place.holder, Holder::Agent(_));
        let fits = match holder {
            Holder::Stranger => true,
            Holder::Agent(_) => {
                (open.count(own) < CONNECTIONS_PER_AGENT_MAX || self.places.end_idle(&mut open, own))
                    && (open.count(agents) < CONNECTIONS_AGENTS_MAX || self.places.end_idle(&mut open, agents))
            }
            Holder::Person(_) => open.count(own) < CONNECTIONS_PER_PERSON_MAX || self.places.end_idle(&mut open, own),
        };
        if fits && let Some(place) = open.places.get_mut(&self.id) {
            place.holder = holder.clone();
        }
        fits
    }

    /// Whether nobody has proven to be there.
    pub fn is_strangers(&self) -> bool {
        self.places.open().places.get(&self.id).is_none_or(|place| place.holder == Holder::Stranger)
    }

    /// A request has come on it.
    pub fn begin(self: &Arc<Connection>) -> UnderWay {
        self.places.change(self.id, |place| place.busy += 1);
        UnderWay(Arc::clone(self))
    }

    /// Returns once somebody else needs its place.
    pub async fn cut(&self) {
        self.cut.cancelled().await;
    }
}

impl Places {
    /// Ends the connection of these that nobody uses for longest; false when all are at work.
    fn end_idle(&self, open: &mut Open, among: impl Fn(&Place) -> bool) -> bool {
        let Some(place) = open.longest_idle(among).and_then(|id| open.places.remove(&id)) else { return false };
        place.cut.cancel();
        self.made_room.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn change(&self, id: u64, change: impl FnOnce(&mut Place)) {
        let mut open = self.open();
        let used = open.next_use();
        if let Some(place) = open.places.get_mut(&id) {
            place.used = used;
            change(place);
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.places.change(self.0.id, |place| place.busy = place.busy.saturating_sub(1));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.places.open().places.remove(&self.id);
    }
}

/// What counts as one address: of IPv6 the network, since one host has as many addresses in it as it likes.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !(u128::MAX >> 64))),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    fn agent(name: &str) -> Holder {
        Holder::Agent(Name::parse(name).expect("a name"))
    }

    fn person(number: u8) -> Holder {
        Holder::Person(PersonId::from_random([number; 16]))
    }

    fn is_cut(connection: &Connection) -> bool {
        connection.cut.is_cancelled()
    }

    #[test]
    fn one_address_takes_its_part_and_then_its_own_oldest_goes() {
        let places = Arc::new(Places::default());
        let other = places.enter(address(2)).expect("room");
        let held: Vec<_> = (0..CONNECTIONS_PER_ADDRESS_MAX).map(|_| places.enter(address(1)).expect("room")).collect();
        let newest = places.enter(address(1)).expect("the oldest makes room");
        assert!(is_cut(&held[0]) && !is_cut(&held[1]) && !is_cut(&newest) && !is_cut(&other));
        assert_eq!(places.tally().held[0], u64::try_from(CONNECTIONS_PER_ADDRESS_MAX + 1).expect("small"));
        drop(held);
        assert_eq!(places.tally().held[0], 2);
    }

    #[test]
    fn strangers_make_room_for_each_other_and_never_take_a_place_that_is_at_work() {
        let places = Arc::new(Places::default());
        let known = places.enter(address(9)).expect("room");
        assert!(known.prove(&person(1)));
        let at_work = known.begin();
        let few = places.enter(address(8)).expect("room");
        let many: Vec<_> = (0..2 * CONNECTIONS_MAX).map(|_| places.enter(None).expect("room")).collect();
        assert!(!is_cut(&known), "a person's");
        assert!(!is_cut(&few), "the address with most strangers loses one");
        assert!(is_cut(&many[0]) && !is_cut(many.last().expect("some")));
        assert_eq!(places.tally().held.iter().sum::<u64>(), u64::try_from(CONNECTIONS_MAX).expect("small"));
        drop(at_work);
    }

    #[test]
    fn one_agent_all_agents_and_one_person_are_bounded_and_lose_what_is_idle_first() {
        for (holder, max) in [(agent("billing"), CONNECTIONS_PER_AGENT_MAX), (person(1), CONNECTIONS_PER_PERSON_MAX)] {
            let places = Arc::new(Places::default());
            let held: Vec<_> = (0..max).map(|_| places.enter(None).expect("room")).collect();
            assert!(held.iter().all(|connection| connection.prove(&holder)));
            let working: Vec<_> = held[1..].iter().map(Connection::begin).collect();
            let next = places.enter(None).expect("room");
            assert!(next.prove(&holder), "the idle one goes");
            assert!(is_cut(&held[0]));
            let busy = next.begin();
            assert!(!places.enter(None).expect("room").prove(&holder), "all are at work");
            drop((working, busy));
        }
        let places = Arc::new(Places::default());
        let mut held = Vec::new();
        for number in 0..CONNECTIONS_AGENTS_MAX {
            let connection = places.enter(None).expect("room");
            assert!(connection.prove(&agent(&format!("agent{}", number / CONNECTIONS_PER_AGENT_MAX))));
            held.push((connection.begin(), connection));
        }
        let next = places.enter(None).expect("room");
        assert!(!next.prove(&agent("another")), "all agents together");
        assert!(next.prove(&person(1)), "people have places of their own");
    }

    #[test]
    fn when_everybody_is_known_and_at_work_nobody_else_comes_in() {
        let places = Arc::new(Places::default());
        let mut held = Vec::new();
        for number in 0..CONNECTIONS_MAX {
            let connection = places.enter(None).expect("room");
            let number = u8::try_from(number / CONNECTIONS_PER_PERSON_MAX).expect("small");
            assert!(connection.prove(&person(number)));
            held.push((connection.begin(), connection));
        }
        assert!(places.enter(None).is_none());
        assert_eq!(places.tally().turned_away, 1);
        held.pop();
        assert!(places.enter(None).is_some());
    }

    #[test]
    fn of_an_ipv6_address_the_network_counts() {
        let one: IpAddr = "2001:db8:1:2:3:4:5:6".parse().expect("an address");
        let same: IpAddr = "2001:db8:1:2::1".parse().expect("an address");
        let other: IpAddr = "2001:db8:1:3::1".parse().expect("an address");
        assert_eq!(network(one), network(same));
        assert_ne!(network(one), network(other));
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().expect("an address");
        assert_eq!(network(mapped), IpAddr::from([192, 0, 2, 1]));
    }
}
