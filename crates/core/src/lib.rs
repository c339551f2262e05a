//! The domain of Vidimus, pure: no clock, no randomness, no files, no network.
#![warn(missing_docs)]

pub mod bytes;
pub mod code;
pub mod json;
pub mod limits;
pub mod sign;
pub mod time;
