//! The frame of every trusted window: one page, one style sheet, one script, both pinned by hash.
//!
//! Pure: pages are made here and served by `shell`.

pub mod literal;
pub mod page;

pub use page::{Document, Frame, WindowKind};
