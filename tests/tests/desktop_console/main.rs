//! The console end to end: the real windows, a real keyring, a real notification server, the real gate, the fixture company.
//!
//! One binary, its tests one after the other: windows of two tests at a time would wait for each other's drawing. What fails
//! leaves its pictures and logs in `target/desktop/NAME`.

mod admission;
mod approving;
mod assistive;
mod by_keys;
mod colleagues;
mod cut_decisions;
mod cut_keys;
mod cut_line;
mod denying;
mod exact;
mod first_frames;
mod hostile;
mod hostile_build;
mod inbox;
mod keyring_faults;
mod keys;
mod looks;
mod looks_of_people;
mod mutations;
mod nevers;
mod notices;
mod pressing;
mod proxy;
mod recovery;
mod removal;
mod restarts;
mod scene;
mod second_person;
mod second_start;
mod tables;
mod two_windows;
mod unknown_outcome;
mod windows;
mod writes_in_doubt;
