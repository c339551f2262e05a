//! How text, numbers and times of a request are made readable without hiding anything of them.
//!
//! Pure: no files, no clock, no window.

pub mod characters;
pub mod disguise;
pub mod literal;
pub mod looks;
pub mod money;
pub mod time;
