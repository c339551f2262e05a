//! What the black-box tests and the demo run Vidimus on: real processes, a real desktop, the fixture company.
pub mod approver;
pub mod company;
pub mod console;
pub mod desktop;
pub mod gate;
pub mod processes;
pub mod reconciling;
