//! Points where a crash must do no harm, and bounds that a test may shorten. Compiled in with the feature `seams` only, for
//! the demo and the tests.
//!
//! The variable `VIDIMUS_SEAM` names a point at which the process ends as if it were killed. `VIDIMUS_SEAM_FILE` names a
//! file of orders, one a line, which is read again at every point, so that a test arms a gate that runs: `kill POINT`,
//! `stop POINT` (the whole process, until it is sent SIGCONT), `hold POINT` (the one worker that comes by first, until the
//! line is gone), and the settings below. A line is carried out once in a process.

/// A point where the process may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seam {
    /// A money call is routed; nothing of it is stored.
    BeforeFreeze,
    /// The request is durable; its agent has not been told.
    AfterFreeze,
    /// A decision has arrived; nothing of it is stored.
    BeforeDecide,
    /// The decision is durable; the person has not been told.
    AfterDecide,
    /// An approved operation is taken on; it has no token.
    BeforeMint,
    /// The token's row is durable; nobody has used it.
    AfterMint,
    /// The token is about to be redeemed.
    BeforeRedeem,
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
            Seam::BeforeFreeze => "before_freeze",
            Seam::AfterFreeze => "after_freeze",
            Seam::BeforeDecide => "before_decide",
            Seam::AfterDecide => "after_decide",
            Seam::BeforeMint => "before_mint",
            Seam::AfterMint => "after_mint",
            Seam::BeforeRedeem => "before_redeem",
            Seam::AfterRedeem => "after_redeem",
            Seam::BeforeSend => "before_send",
            Seam::AfterAnswer => "after_answer",
            Seam::BeforeRecord => "before_record",
            Seam::AfterRecord => "after_record",
            Seam::AfterIntent => "after_intent",
        }
    }
}

/// What a test may make shorter, or move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// The lease of an execution; one that is shorter than the pause between renewals is never renewed. *Unit*: seconds.
    LeaseS,
    /// The life of an execution token. *Unit*: seconds.
    TokenTtlS,
    /// What is added to the system's clock. *Unit*: milliseconds.
    ClockMs,
    /// What has passed besides, by the system's clock and by the machine's own count alike. *Unit*: milliseconds.
    PassedMs,
    /// Where the gate's clock stands still. *Unit*: milliseconds since 1970.
    ClockAtMs,
}

impl Setting {
    /// The setting as the file names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Setting::LeaseS => "lease_s",
            Setting::TokenTtlS => "token_ttl_s",
            Setting::ClockMs => "clock_ms",
            Setting::PassedMs => "passed_ms",
            Setting::ClockAtMs => "clock_at_ms",
        }
    }
}

#[cfg(feature = "seams")]
mod orders {
    use std::collections::BTreeSet;
    use std::path::PathBuf;
    use std::sync::{LazyLock, Mutex, PoisonError};
    use std::time::{Duration, Instant};

    use rustix::process::{Signal, getpid, kill_process};

    use super::{Seam, Setting};

    static NAMED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("VIDIMUS_SEAM").ok());
    static FILE: LazyLock<Option<PathBuf>> = LazyLock::new(|| std::env::var_os("VIDIMUS_SEAM_FILE").map(PathBuf::from));
    /// Between two looks at the clock, only a process that was stopped has so much.
    const GAP: Duration = Duration::from_millis(300);

    static CARRIED_OUT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

    /// The lines of the file; none without one. A file that is being replaced reads as empty.
    fn lines() -> Vec<String> {
        let text = FILE.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(super) fn setting(setting: Setting) -> Option<i64> {
        FILE.as_ref()?;
        lines().iter().find_map(|line| line.strip_prefix(setting.as_str())?.strip_prefix(' ')?.trim().parse().ok())
    }

    pub(super) fn awaits(seam: Seam) -> bool {
        let named = |line: &String| line.split(' ').nth(1) == Some(seam.as_str());
        NAMED.as_deref() == Some(seam.as_str()) || (FILE.is_some() && lines().iter().any(named))
    }

    pub(super) fn pass(seam: Seam) {
        if NAMED.as_deref() == Some(seam.as_str()) {
            end();
        }
        if FILE.is_none() {
            return;
        }
        for line in lines() {
            let mut words = line.split(' ');
            let (Some(verb), Some(named)) = (words.next(), words.next()) else { continue };
            if named != seam.as_str() || !CARRIED_OUT.lock().unwrap_or_else(PoisonError::into_inner).insert(line.clone()) {
                continue;
            }
            match verb {
                "kill" => end(),
                "stop" => stop(),
                "hold" => hold(&line),
                _ => {}
            }
        }
    }

    /// Not through the panic machinery, and not through anything that flushes or answers.
    fn end() -> ! {
        let _ = kill_process(getpid(), Signal::KILL);
        std::process::abort()
    }

    /// Returns when the process goes on. Another thread may take the signal first, so this one looks for the gap.
    fn stop() {
        let _ = kill_process(getpid(), Signal::STOP);
        let asked = Instant::now();
        let mut last = asked;
        while last.elapsed() < GAP && asked.elapsed() < GAP * 20 {
            last = Instant::now();
            std::thread::yield_now();
        }
    }

    fn hold(line: &str) {
        // The other workers go on: what this one's thread had to do beside is done by another.
        tokio::task::block_in_place(|| {
            while lines().iter().any(|known| known == line) {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
    }
}

/// Carries out what is ordered for this point.
#[cfg(feature = "seams")]
pub fn pass(seam: Seam) {
    orders::pass(seam);
}

/// Nothing, in a build without the feature.
#[cfg(not(feature = "seams"))]
pub fn pass(_seam: Seam) {}

/// Whether a test waits at this point.
#[cfg(feature = "seams")]
pub fn awaits(seam: Seam) -> bool {
    orders::awaits(seam)
}

/// Never, in a build without the feature.
#[cfg(not(feature = "seams"))]
pub const fn awaits(_seam: Seam) -> bool {
    false
}

/// What a test has set; none where it has not.
#[cfg(feature = "seams")]
pub fn setting(setting: Setting) -> Option<i64> {
    orders::setting(setting)
}

/// Nothing, in a build without the feature.
#[cfg(not(feature = "seams"))]
pub const fn setting(_setting: Setting) -> Option<i64> {
    None
}

/// A bound in seconds, or what a test has made of it.
pub fn seconds(of: Setting, usual_s: u64) -> u64 {
    setting(of).and_then(|set| u64::try_from(set).ok()).unwrap_or(usual_s)
}

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
