//! The Vidimus console: shows an approver what an agent asks for, and signs the answer.
//!
//! Everything but `shell` and `tray` is plain Rust that knows no window system and is tested without one.

pub mod answer;
pub mod args;
pub mod autostart;
pub mod cards;
pub mod clock;
pub mod console;
pub mod desk;
pub mod desktops;
pub mod enrolment;
pub mod errors;
pub mod frame;
pub mod html;
pub mod inbox;
pub mod key_acts;
pub mod keys;
pub mod limits;
pub mod link;
pub mod mirror;
pub mod notify;
pub mod profile;
pub mod propose;
pub mod random;
pub mod recoveries;
pub mod review;
pub mod rotation;
pub mod screen_lock;
pub mod seams;
pub mod settings;
pub mod sheets;
pub mod shell;
pub mod signing;
pub mod strings;
pub mod tables;
#[cfg(test)]
mod testing;
pub mod text;
pub mod tray;
pub mod trusted;
pub mod waiting;
mod wire;
