//! The log stream, read: bytes to events, in order, from a position on.

use std::collections::VecDeque;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::Response;

use super::ClientError;
use crate::limits::STREAM_EVENT_BYTES_MAX;
use crate::log::{CheckpointEvent, LogEvent, RecordEvent};

/// Reads server-sent events out of bytes as they come, cut anywhere.
///
/// *Source*: WHATWG HTML, section 9.2. Lines end with LF or CRLF; events of other names are passed over.
#[derive(Default)]
pub struct StreamParser {
    line: Vec<u8>,
    event: String,
    data: String,
}

impl StreamParser {
    /// A parser at the beginning of a stream.
    pub fn new() -> StreamParser {
        StreamParser::default()
    }

    /// The events that end within these bytes.
    ///
    /// *Errors*: an event of the log that is not of its form, or longer than the limit. The stream is of no use then.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<LogEvent>, String> {
        let mut events = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len() + self.data.len() > STREAM_EVENT_BYTES_MAX {
                return Err(format!("an event is longer than {STREAM_EVENT_BYTES_MAX} bytes"));
            }
            if self.line.last() == Some(&b'\n') {
                let line = std::mem::take(&mut self.line);
                events.extend(self.end_line(&line)?);
            }
        }
        Ok(events)
    }

    fn end_line(&mut self, line: &[u8]) -> Result<Option<LogEvent>, String> {
        let line = std::str::from_utf8(line).map_err(|_| "a line is not UTF-8".to_owned())?;
        let line = line.trim_end_matches('\n').trim_end_matches('\r');
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // Comments keep the connection alive; the id repeats the position that the data holds.
            _ => {}
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Result<Option<LogEvent>, String> {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        let malformed = |error: serde_json::Error| format!("an event `{event}` is malformed: {error}");
        match event.as_str() {
            "record" => serde_json::from_str::<RecordEvent>(&data).map(|record| Some(LogEvent::Record(record))).map_err(malformed),
            "checkpoint" => serde_json::from_str::<CheckpointEvent>(&data).map(|note| Some(LogEvent::Checkpoint(note))).map_err(malformed),
            _ => Ok(None),
        }
    }
}

/// An open log stream.
pub struct LogStream {
    bytes: BoxStream<'static, reqwest::Result<Vec<u8>>>,
    parser: StreamParser,
    ready: VecDeque<LogEvent>,
    position_next: u64,
}

impl LogStream {
    pub(super) fn new(response: Response, from: u64) -> LogStream {
        let bytes = response.bytes_stream().map(|chunk| chunk.map(|bytes| bytes.to_vec())).boxed();
        LogStream { bytes, parser: StreamParser::new(), ready: VecDeque::new(), position_next: from }
    }

    /// The position of the record that comes next: where to go on after a lost connection.
    pub fn position_next(&self) -> u64 {
        self.position_next
    }

    /// The next event; none when the gate ended the stream.
    ///
    /// *Errors*: `Unreachable` when the connection was lost or silent too long, `Unreadable` when a record is missing or
    /// comes twice.
    pub async fn next(&mut self) -> Result<Option<LogEvent>, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.follow(&event)?;
                return Ok(Some(event));
            }
            match self.bytes.next().await {
                Some(chunk) => {
                    let chunk = chunk.map_err(ClientError::Unreachable)?;
                    self.ready.extend(self.parser.push(&chunk).map_err(unreadable)?);
                }
                None => return Ok(None),
            }
        }
    }

    fn follow(&mut self, event: &LogEvent) -> Result<(), ClientError> {
        if let LogEvent::Record(record) = event {
            if record.position != self.position_next {
                return Err(unreadable(format!("record {} came where {} was due", record.position, self.position_next)));
            }
            self.position_next += 1;
        }
        Ok(())
    }
}

fn unreadable(detail: String) -> ClientError {
    ClientError::Unreadable { status: 200, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": keep-alive\n\nevent: record\nid: 7\ndata: {\"position\":7,\"leaf\":\"{}\",\"salt\":null,\"body\":null}\n\n\
        event: checkpoint\r\ndata: {\"note\":\"gate\\n8\\n\"}\r\n\r\nevent: later\ndata: {}\n\n";

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let expected = [
            LogEvent::Record(RecordEvent { position: 7, leaf: "{}".to_owned(), salt: None, body: None }),
            LogEvent::Checkpoint(CheckpointEvent { note: "gate\n8\n".to_owned() }),
        ];
        for cut in 0..=STREAM.len() {
            let mut parser = StreamParser::new();
            let mut events = parser.push(&STREAM.as_bytes()[..cut]).expect("well-formed");
            events.extend(parser.push(&STREAM.as_bytes()[cut..]).expect("well-formed"));
            assert_eq!(events, expected, "cut at {cut}");
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut parser = StreamParser::new();
        let chunk = vec![b'x'; STREAM_EVENT_BYTES_MAX / 2 + 1];
        assert!(parser.push(&chunk).is_ok());
        assert!(parser.push(&chunk).is_err());
        assert!(StreamParser::new().push(b"event: record\ndata: {\"position\":1}\n\n").is_err());
    }
}
