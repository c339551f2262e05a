//! Notifications: what a popup says, when one is shown, and the desktop service that shows it.
//!
//! [`plan`] decides as a pure state machine, [`text`] writes, [`server`] speaks to the desktop, [`Notices`] runs the three on a
//! thread of its own. Nothing here can decide a request: all that comes back is which request or list to open.

mod limits;
mod run;

pub mod plan;
pub mod server;
pub mod strings;
pub mod text;

pub use run::{Event, Notices, Service};
