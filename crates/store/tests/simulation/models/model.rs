//! The model: what DESIGN.md, section 5, promises about one request, in plain numbers.

use std::collections::BTreeSet;

use vidimus_core::decision::DecisionKind;
use vidimus_core::operation::Answer;

use super::{Command, Outcome, Tool};

const LEASE_MS: u64 = 30_000;
const TOKEN_MS: u64 = 10_000;
/// Approvals of one person on one request, and how often they give it more time.
const APPROVALS: usize = 4;
const MORE_TIME: usize = 32;

/// How an attempt that may have acted is followed up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Safe {
    /// Again, so often and so long after the first.
    Again { attempts: u32, within_ms: u64 },
    /// By asking.
    Ask { after_ms: u64 },
    /// By a person.
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Good { until: u64 },
    Used,
    Dead,
}

/// What the operation is doing, if there is one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Nothing,
    Waits,
    Runs { until: u64 },
    InDoubt { look_at: u64 },
    Ended(&'static str),
}

pub struct Model {
    quorum: usize,
    delay_ms: u64,
    more_ms: u64,
    last_ms: u64,
    safe: Safe,
    now: u64,
    waits_until: u64,
    request: &'static str,
    approved_by: BTreeSet<usize>,
    /// Every approval and every addition of time, whoever made it.
    made: Vec<(usize, DecisionKind)>,
    doing: Doing,
    /// When the delay after the quorum is over.
    mint_at: u64,
    attempt: u32,
    first_at: Option<u64>,
    tokens: Vec<Token>,
}

impl Model {
    pub fn begin(tool: Tool) -> Model {
        let (quorum, delay_ms, more_ms, last_ms, safe) = match tool {
            Tool::Refund => (1, 0, 300_000, 750_000, Safe::Again { attempts: 3, within_ms: 390_000 }),
            Tool::Cancel => (1, 0, 300_000, 300_000, Safe::Ask { after_ms: 60_000 }),
            Tool::Wire => (2, 30_000, 500_000, 500_000, Safe::Never),
        };
        Model {
            quorum,
            delay_ms,
            more_ms,
            last_ms,
            safe,
            now: 0,
            waits_until: more_ms,
            request: "pending",
            approved_by: BTreeSet::new(),
            made: Vec::new(),
            doing: Doing::Nothing,
            mint_at: 0,
            attempt: 0,
            first_at: None,
            tokens: Vec::new(),
        }
    }

    pub fn stands(&self) -> String {
        let operation = match self.doing {
            Doing::Nothing => "none",
            Doing::Waits => "reserved",
            Doing::Runs { .. } => "executing",
            Doing::InDoubt { .. } => "unknown",
            Doing::Ended(state) => state,
        };
        format!("{} {operation} {}", self.request, self.attempt)
    }

    pub fn apply(&mut self, command: Command) -> Outcome {
        match command {
            Command::Decide(who, kind) => self.decide(who, kind),
            Command::Withdraw => self.withdraw(),
            Command::Sweep => self.sweep(),
            Command::Mint => self.mint(),
            Command::Redeem(back) => self.redeem(back),
            Command::Answer(back, answer) => self.answer(back, answer),
            Command::Renew(back) => self.renew(back),
            Command::StatusFound => self.status(true),
            Command::StatusNotFound => self.status(false),
            Command::Restart => self.restart(),
            Command::Wait(ms) => {
                self.now += ms;
                "waited".to_owned()
            }
        }
    }

    /// Why nothing can be decided about a request that is over.
    fn over(&self) -> Option<&'static str> {
        match self.request {
            "pending" | "approved" => None,
            "consumed" | "denied" => Some("request_already_decided"),
            "expired" => Some("request_expired"),
            "withdrawn" => Some("request_withdrawn"),
            _ => Some("request_revoked"),
        }
    }

    fn decide(&mut self, who: usize, kind: DecisionKind) -> Outcome {
        if let Some(code) = self.over() {
            return format!("no challenge: {code}");
        }
        let refused = |code: &str| format!("refused: {code}");
        let waits = self.request == "pending";
        let wrong_now = match kind {
            DecisionKind::Approve | DecisionKind::Deny | DecisionKind::Retract => (!waits).then_some("request_already_decided"),
            DecisionKind::MoreTime => (!waits).then_some("request_not_pending"),
            DecisionKind::Revoke => waits.then_some("request_not_approved"),
        };
        if let Some(code) = wrong_now {
            return refused(code);
        }
        if self.now >= self.waits_until {
            return refused("request_expired");
        }
        match kind {
            DecisionKind::Approve if self.approved_by.contains(&who) => return refused("already_approved"),
            DecisionKind::Retract if !self.approved_by.contains(&who) => return refused("approval_missing"),
            DecisionKind::Approve if self.times(who, kind) >= APPROVALS => return refused("decisions_limit_reached"),
            DecisionKind::MoreTime if self.times(who, kind) >= MORE_TIME => return refused("decisions_limit_reached"),
            DecisionKind::Approve => {
                let reached = self.approved_by.len() + 1 >= self.quorum;
                if reached && self.now + self.delay_ms >= self.waits_until {
                    return refused("request_expired");
                }
                self.approved_by.insert(who);
                if reached {
                    self.request = "approved";
                    (self.doing, self.mint_at) = (Doing::Waits, self.now + self.delay_ms);
                }
            }
            DecisionKind::Retract => drop(self.approved_by.remove(&who)),
            DecisionKind::Deny => self.end("denied"),
            DecisionKind::Revoke => self.end("revoked"),
            DecisionKind::MoreTime => self.waits_until = (self.waits_until + self.more_ms).min(self.last_ms),
        }
        self.made.push((who, kind));
        format!("recorded: {}", self.request)
    }

    fn times(&self, who: usize, kind: DecisionKind) -> usize {
        self.made.iter().filter(|made| **made == (who, kind)).count()
    }

    /// A request ends before anything ran, and what was reserved for it with it.
    fn end(&mut self, state: &'static str) {
        self.request = state;
        if let Doing::Waits = self.doing {
            self.stop("not_started");
        }
    }

    fn stop(&mut self, state: &'static str) {
        self.doing = Doing::Ended(state);
        self.kill();
    }

    fn kill(&mut self) {
        for token in &mut self.tokens {
            if let Token::Good { .. } = token {
                *token = Token::Dead;
            }
        }
    }

    /// The attempt at work may have acted.
    fn doubt(&mut self) {
        let after_ms = match self.safe {
            Safe::Again { .. } => 2_000 * u64::from(self.attempt),
            Safe::Ask { after_ms } => after_ms,
            Safe::Never => 0,
        };
        self.doing = Doing::InDoubt { look_at: self.now + after_ms };
        self.kill();
    }

    fn withdraw(&mut self) -> Outcome {
        match self.over() {
            Some(code) => format!("refused: {code}"),
            None if self.request == "approved" => "refused: request_not_pending".to_owned(),
            None => {
                self.end("withdrawn");
                "withdrawn".to_owned()
            }
        }
    }

    fn may_try_again(&self) -> bool {
        match self.safe {
            Safe::Again { attempts, within_ms } => self.attempt < attempts && self.first_at.is_some_and(|at| self.now < at + within_ms),
            Safe::Ask { .. } | Safe::Never => false,
        }
    }

    fn sweep(&mut self) -> Outcome {
        if matches!(self.request, "pending" | "approved") && self.now >= self.waits_until {
            self.end("expired");
        }
        if let Doing::Runs { until } = self.doing
            && self.now >= until
        {
            self.doubt();
        }
        if let Doing::InDoubt { look_at } = self.doing
            && self.now >= look_at
            && !self.may_try_again()
            && !matches!(self.safe, Safe::Ask { .. })
        {
            self.stop("needs_reconciliation");
        }
        let live = self.tokens.iter().any(|token| matches!(token, Token::Good { until } if *until > self.now));
        let (mint, ask) = match self.doing {
            Doing::Waits => (self.now >= self.mint_at && !live, false),
            Doing::InDoubt { look_at } if self.now >= look_at => match self.safe {
                Safe::Again { .. } => (!live, false),
                Safe::Ask { .. } => (false, true),
                Safe::Never => (false, false),
            },
            Doing::Nothing | Doing::Runs { .. } | Doing::InDoubt { .. } | Doing::Ended(_) => (false, false),
        };
        format!("to mint: {mint}, to ask: {ask}")
    }

    fn mint(&mut self) -> Outcome {
        match self.doing {
            Doing::Nothing => return "nothing to mint".to_owned(),
            Doing::Waits if self.now < self.mint_at => return "not due".to_owned(),
            Doing::Waits if self.now >= self.waits_until => {
                self.end("expired");
                return "refused: request_expired".to_owned();
            }
            Doing::Waits => {}
            Doing::InDoubt { .. } if self.may_try_again() => {}
            // What was stopped before anything ran is refused for what stopped it.
            Doing::Ended("not_started") => return format!("refused: {}", self.over().expect("what ended")),
            Doing::InDoubt { .. } | Doing::Runs { .. } | Doing::Ended(_) => return "refused: operation_state_wrong".to_owned(),
        }
        self.kill();
        self.tokens.push(Token::Good { until: self.now + TOKEN_MS });
        format!("minted for attempt {}", self.attempt + 1)
    }

    fn redeem(&mut self, back: usize) -> Outcome {
        let Some(index) = self.tokens.len().checked_sub(back + 1) else { return "no token".to_owned() };
        match self.tokens[index] {
            Token::Used => return "refused: token_already_redeemed".to_owned(),
            Token::Dead => return "refused: token_unknown".to_owned(),
            Token::Good { until } if self.now >= until => return "refused: token_expired".to_owned(),
            Token::Good { .. } => {}
        }
        if self.request == "approved" && self.now >= self.waits_until {
            self.end("expired");
            return "refused: request_expired".to_owned();
        }
        let mut until = self.now + LEASE_MS;
        // A further attempt ends while the provider is sure to know what an earlier one did.
        if let (Safe::Again { within_ms, .. }, Some(first_at)) = (self.safe, self.first_at) {
            if self.now >= first_at + within_ms {
                return "refused: operation_key_expired".to_owned();
            }
            until = until.min(first_at + within_ms);
        }
        self.tokens[index] = Token::Used;
        self.request = "consumed";
        self.attempt += 1;
        self.first_at.get_or_insert(self.now);
        self.doing = Doing::Runs { until };
        format!("redeemed for attempt {}", self.attempt)
    }

    fn answer(&mut self, back: u32, answer: Answer) -> Outcome {
        if self.doing == Doing::Nothing {
            return "no operation".to_owned();
        }
        let current = back == 0 && self.attempt > 0;
        if !(current && matches!(self.doing, Doing::Runs { .. })) {
            return "evidence".to_owned();
        }
        match answer {
            Answer::Done => self.stop("succeeded"),
            // Only a first attempt can tell that nothing happened.
            Answer::NothingSent | Answer::NoEffect if self.attempt == 1 => self.stop("failed"),
            Answer::NothingSent | Answer::NoEffect | Answer::Unclear => self.doubt(),
        }
        "applied".to_owned()
    }

    fn renew(&mut self, back: u32) -> Outcome {
        match &mut self.doing {
            Doing::Nothing => "no operation".to_owned(),
            Doing::Runs { until } if back == 0 && *until > self.now => {
                *until = self.now + LEASE_MS;
                "renewed".to_owned()
            }
            Doing::Runs { .. } | Doing::Waits | Doing::InDoubt { .. } | Doing::Ended(_) => "lost".to_owned(),
        }
    }

    fn status(&mut self, found: bool) -> Outcome {
        match self.doing {
            Doing::Nothing => return "no operation".to_owned(),
            Doing::InDoubt { .. } => self.stop(if found { "succeeded" } else { "needs_reconciliation" }),
            Doing::Waits | Doing::Runs { .. } | Doing::Ended(_) => return "evidence".to_owned(),
        }
        "applied".to_owned()
    }

    fn restart(&mut self) -> Outcome {
        let in_doubt = matches!(self.doing, Doing::Runs { .. });
        if in_doubt {
            self.doubt();
        }
        format!("{} in doubt", u32::from(in_doubt))
    }
}
