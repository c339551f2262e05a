//! The domain of Vidimus, pure: no clock, no randomness, no files, no network.
#![warn(missing_docs)]

pub mod bytes;
pub mod caps;
pub mod chain;
pub mod challenge;
pub mod checkpoint;
pub mod code;
pub mod decision;
pub mod denial;
pub mod dsse;
pub mod evidence;
pub mod frozen;
pub mod ids;
pub mod json;
pub mod limits;
pub mod money;
pub mod note;
pub mod operation;
pub mod page;
pub mod paseto;
pub mod reconciliation;
pub mod record;
pub mod recovery;
pub mod render;
pub mod request;
pub mod roster;
pub mod route;
pub mod sign;
pub mod standing;
pub mod statement;
pub mod stop;
pub mod table;
pub mod template;
pub mod time;
pub mod token;
pub mod tree;
