//! The points at which the console can be cut, so that a test can cut it exactly there.
//!
//! Only in the build that says AUTOMATED. The variable `VIDIMUS_CONSOLE_SEAM` names the point at which the program ends itself, as
//! a power cut would.

/// A point of an act that changes something outside this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seam {
    /// The keys of an enrolment are in the keyring, and nothing in the profile says that they are whole.
    EnrolmentKeysStored,
    /// The gate has the keys, and its answer is not kept.
    EnrolmentSent,
    /// New keys are in the keyring, and nothing in the profile names them.
    RotationKeysStored,
    /// The new keys are kept, and not proposed.
    RotationKept,
    /// They are proposed, and that is not kept.
    RotationProposed,
    /// They were confirmed, and the old ones are in their place.
    RotationConfirmed,
    /// They are in the place of the old ones in the keyring, and the profile names the old ones.
    RotationPromoted,
    /// They are this desktop's, and the old ones are not stopped.
    RotationTaken,
    /// The old ones are stopped, and the rotation is still on file.
    RotationOldStopped,
    /// A decision is signed, and not sent.
    DecisionSigned,
    /// The gate has answered a decision, and nobody has looked at the answer.
    DecisionAnswered,
}

impl Seam {
    /// The point as the variable names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EnrolmentKeysStored => "enrolment_keys_stored",
            Self::EnrolmentSent => "enrolment_sent",
            Self::RotationKeysStored => "rotation_keys_stored",
            Self::RotationKept => "rotation_kept",
            Self::RotationProposed => "rotation_proposed",
            Self::RotationConfirmed => "rotation_confirmed",
            Self::RotationPromoted => "rotation_promoted",
            Self::RotationTaken => "rotation_taken",
            Self::RotationOldStopped => "rotation_old_stopped",
            Self::DecisionSigned => "decision_signed",
            Self::DecisionAnswered => "decision_answered",
        }
    }
}

/// Ends the program where this point is named.
#[cfg(feature = "automation")]
pub fn pass(seam: Seam) {
    use rustix::process::{Signal, getpid, kill_process};

    if std::env::var("VIDIMUS_CONSOLE_SEAM").is_ok_and(|named| named == seam.as_str()) {
        // Not through anything that flushes, answers or cleans up.
        let _ = kill_process(getpid(), Signal::KILL);
        std::process::abort();
    }
}

/// Nothing, in a build that people run.
#[cfg(not(feature = "automation"))]
pub const fn pass(seam: Seam) {
    let _ = seam.as_str();
}
