//! The console's native side.
pub mod args;
pub mod clock;
pub mod html;
pub mod keys;
pub mod limits;
pub mod profile;
pub mod text;
