//! The log streams that are open: a bounded number for each session and each person; one more ends the oldest.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;
use vidimus_core::bytes::Digest;
use vidimus_core::ids::PersonId;

use crate::limits::{STREAMS_PER_PERSON_MAX, STREAMS_PER_SESSION_MAX};

struct Reader {
    number: u64,
    session: Digest,
    person: PersonId,
    ends: CancellationToken,
}

/// The open streams, the oldest first.
#[derive(Default)]
struct Open {
    readers: Vec<Reader>,
    begun: u64,
}

/// The log streams of the face.
#[derive(Default)]
pub struct Streams(Mutex<Open>);

/// One open stream. Dropped, it is gone.
pub struct Reading {
    streams: Arc<Streams>,
    number: u64,
    ends: CancellationToken,
}

impl Streams {
    /// Begins a stream. A console that lost its line comes back before the gate has noticed, so the oldest goes, not the new one.
    pub fn begin(self: &Arc<Streams>, session: Digest, person: PersonId) -> Reading {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.end_oldest(STREAMS_PER_SESSION_MAX, |reader| reader.session == session);
        open.end_oldest(STREAMS_PER_PERSON_MAX, |reader| reader.person == person);
        open.begun += 1;
        let (number, ends) = (open.begun, CancellationToken::new());
        open.readers.push(Reader { number, session, person, ends: ends.clone() });
        Reading { streams: Arc::clone(self), number, ends }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).readers.len()
    }
}

impl Open {
    /// Leaves room for one more of these.
    fn end_oldest(&mut self, max: usize, of: impl Fn(&Reader) -> bool) {
        while self.readers.iter().filter(|reader| of(reader)).count() >= max {
            let Some(oldest) = self.readers.iter().position(&of) else { return };
            self.readers.remove(oldest).ends.cancel();
        }
    }
}

impl Reading {
    /// Whether a newer stream took its place.
    pub fn is_over(&self) -> bool {
        self.ends.is_cancelled()
    }

    /// Returns once a newer stream took its place.
    pub async fn ended(&self) {
        self.ends.cancelled().await;
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut open = self.streams.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.readers.retain(|reader| reader.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_than_a_session_or_a_person_may_have_ends_the_oldest() {
        let streams = Arc::new(Streams::default());
        let session = |number: u8| Digest::of(&[number]);
        let (cat, dan) = (PersonId::from_random([1; 16]), PersonId::from_random([2; 16]));
        let dans = streams.begin(session(100), dan);
        let of_session: Vec<_> = (0..STREAMS_PER_SESSION_MAX + 1).map(|_| streams.begin(session(0), cat)).collect();
        assert!(of_session[0].ends.is_cancelled() && !of_session[1].ends.is_cancelled());
        drop(of_session);
        assert_eq!(streams.count(), 1);
        let of_person: Vec<_> =
            (0..STREAMS_PER_PERSON_MAX + 1).map(|number| streams.begin(session(u8::try_from(number).expect("small")), cat)).collect();
        assert!(of_person[0].ends.is_cancelled() && !of_person[1].ends.is_cancelled());
        assert!(!dans.ends.is_cancelled(), "another person's stays");
        drop(of_person);
        assert_eq!(streams.count(), 1);
    }
}
