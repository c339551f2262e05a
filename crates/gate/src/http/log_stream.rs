//! The log as a stream: each record once, in order, each batch followed by a checkpoint that covers it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::Serialize;
use vidimus_api::limits::KEEP_ALIVE_S;
use vidimus_api::log::{CheckpointEvent, RecordEvent};
use vidimus_core::code::{Code, Refusal};
use vidimus_store::{LogRecord, Session};

use super::body::Query;
use super::places::{Connection, UnderWay};
use super::policy::SessionDigest;
use super::rejection::Rejection;
use super::streams::Reading;
use crate::checkpoints::Signed;
use crate::gate::Gate;
use crate::limits::STREAM_BATCH_MAX;

/// `GET /v1/log/stream`: from `from`, or after `Last-Event-ID`, which a reconnecting client sends by itself.
pub async fn stream(
    State(gate): State<Arc<Gate>>,
    Extension(SessionDigest(session)): Extension<SessionDigest>,
    Extension(person): Extension<Session>,
    connection: Option<Extension<Arc<Connection>>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Rejection> {
    let from: u64 = match headers.get("last-event-id") {
        Some(last) => {
            let last = last.to_str().ok().and_then(|last| last.parse::<u64>().ok());
            last.and_then(|last| last.checked_add(1))
                .ok_or_else(|| Refusal::new(Code::FieldMalformed, "`Last-Event-ID` is no position; leave it out and send `from`"))?
        }
        None => Query::of(&uri, &["from"])?.parsed("from")?.unwrap_or(0),
    };
    let follower = Follower {
        checkpoints: gate.checkpoints.follow(),
        reading: gate.streams.begin(session, person.person),
        _under_way: connection.map(|Extension(connection)| connection.begin()),
        gate,
        session,
        next: from,
        ready: Vec::new(),
    };
    let events = unfold(follower, |mut follower| async move {
        let event = follower.event().await?;
        Some((Ok(event), follower))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(KEEP_ALIVE_S))))
}

/// One reader of the log. It subscribes before it reads, and its position alone says what comes next: nothing is lost
/// between the backlog and what is new, and nothing comes twice.
struct Follower {
    gate: Arc<Gate>,
    checkpoints: tokio::sync::watch::Receiver<Arc<Signed>>,
    session: vidimus_core::bytes::Digest,
    reading: Reading,
    /// Its connection is at work as long as the stream is open.
    _under_way: Option<UnderWay>,
    next: u64,
    /// Events still to be sent, the next one last.
    ready: Vec<Event>,
}

impl Follower {
    /// The next event; none when the stream is over: the gate ends, the session has ended, a newer stream took its place, the store fails.
    async fn event(&mut self) -> Option<Event> {
        loop {
            if self.reading.is_over() {
                return None;
            }
            if let Some(event) = self.ready.pop() {
                return Some(event);
            }
            let signed = self.checkpoints.borrow_and_update().clone();
            if self.next < signed.size {
                self.read(&signed).await?;
            } else {
                tokio::select! {
                    () = self.gate.ending.cancelled() => return None,
                    () = self.reading.ended() => return None,
                    changed = self.checkpoints.changed() => changed.ok()?,
                }
            }
        }
    }

    /// Reads a bounded part of what the checkpoint covers; the checkpoint itself follows the last of it.
    async fn read(&mut self, signed: &Signed) -> Option<()> {
        // Asked each time: a stopped key or a lost role takes effect on a stream that is open.
        let session = self.gate.store.authenticate_session(crate::clock::now(), self.session).await.ok()??;
        let limit = usize::try_from(signed.size - self.next).unwrap_or(usize::MAX).min(STREAM_BATCH_MAX);
        let records = self.gate.store.records(self.next, limit, session.roles).await;
        let records = records.map_err(|error| crate::logging::failure("the log stream ends", &error)).ok()?;
        self.next = records.last()?.position + 1;
        let mut events: Vec<Event> = records.into_iter().map(record_event).collect::<Option<_>>()?;
        if self.next == signed.size {
            events.push(event("checkpoint", &CheckpointEvent { note: signed.note.clone() })?);
        }
        events.reverse();
        self.ready = events;
        Some(())
    }
}

fn record_event(record: LogRecord) -> Option<Event> {
    let LogRecord { position, leaf, salt, body } = record;
    Some(event("record", &RecordEvent { position, leaf, salt, body })?.id(position.to_string()))
}

fn event<T: Serialize>(name: &str, data: &T) -> Option<Event> {
    Some(Event::default().event(name).data(serde_json::to_string(data).ok()?))
}
