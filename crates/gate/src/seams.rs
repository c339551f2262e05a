//! Points where a crash must do no harm. Compiled in with the feature `seams` only, for the demo and the tests: the
//! variable `VIDIMUS_SEAM` names the one at which the process ends as if it were killed.

/// A point where the process may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seam {
    /// The token's row is durable; nobody has used it.
    AfterMint,
    /// The token is redeemed; nothing has been sent.
    AfterRedeem,
    /// The last moment before the request is sent.
    BeforeSend,
    /// The provider has answered; the answer has not been looked at.
    AfterAnswer,
    /// The answer is understood; nothing of it is stored.
    BeforeRecord,
    /// The answer is stored; nobody has been told.
    AfterRecord,
    /// A write's intent is durable; nothing has been sent.
    AfterIntent,
}

impl Seam {
    /// The seam as the variable names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Seam::AfterMint => "after_mint",
            Seam::AfterRedeem => "after_redeem",
            Seam::BeforeSend => "before_send",
            Seam::AfterAnswer => "after_answer",
            Seam::BeforeRecord => "before_record",
            Seam::AfterRecord => "after_record",
            Seam::AfterIntent => "after_intent",
        }
    }
}

/// Ends the process here when this seam is the one that is named.
#[cfg(feature = "seams")]
pub fn pass(seam: Seam) {
    if std::env::var("VIDIMUS_SEAM").is_ok_and(|named| named == seam.as_str()) {
        // Not through the panic machinery: nothing may be flushed or answered.
        std::process::abort();
    }
}

/// Nothing, in a build without the feature.
#[cfg(not(feature = "seams"))]
pub fn pass(_seam: Seam) {}

/// Keeps a minted token in the file that `VIDIMUS_SEAM_TOKENS` names, so that it can be presented again.
#[cfg(feature = "seams")]
pub fn keep_token(token: &str) {
    use std::io::Write as _;
    if let Some(path) = std::env::var_os("VIDIMUS_SEAM_TOKENS") {
        let kept = std::fs::OpenOptions::new().create(true).append(true).open(path).and_then(|mut file| writeln!(file, "{token}"));
        if let Err(error) = kept {
            tracing::error!(%error, "a token could not be kept for the test");
        }
    }
}

/// Nothing, in a build without the feature.
#[cfg(not(feature = "seams"))]
pub fn keep_token(_token: &str) {}
