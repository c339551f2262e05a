//! What travels between the gate and the programs that talk to it: wire types, problem documents, the typed client.
//!
//! Owns the shape of every body and the status number of every code. It must not know SQL, a web framework, or a window
//! system. Documents that are hashed or signed travel as text and are read by `vidimus-core` alone.

#![warn(missing_docs)]

mod body;
pub mod call;
pub mod client;
pub mod enrolment;
pub mod invite;
pub mod limits;
pub mod log;
pub mod operation;
pub mod page;
pub mod problem;
pub mod request;
pub mod roster;
pub mod session;
pub mod table;

/// A JSON value that is passed on byte for byte, never through a dynamic value.
pub type RawJson = Box<serde_json::value::RawValue>;

/// The text as a value to pass on.
///
/// *Errors*: when the text is not one JSON document.
pub fn raw_json(text: String) -> Result<RawJson, serde_json::Error> {
    serde_json::value::RawValue::from_string(text)
}
