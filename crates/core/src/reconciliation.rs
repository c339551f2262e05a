//! The answer of people to an outcome that nobody else can tell: what is signed (`statement`), and the rule that says whether it
//! counts. Knows no store, no clock and no screen.

mod statement;

use crate::bytes::Digest;
use crate::code::{Code, Refusal};
use crate::decision::{self, arrives_in_time};
use crate::dsse::Envelope;
use crate::frozen::{ChainLink, FrozenRequest, Need};
use crate::ids::{Name, PersonId};
use crate::json::Json;
use crate::operation::{self, Operation, OperationInput, OperationKey, OperationState};
use crate::roster::{KeyUse, Roster};
use crate::statement::same_gate;
use crate::table::{Format, Row};
use crate::time::Timestamp;

pub use statement::{Answer, RECONCILIATION_TYPE, ReconciliationStatement};

/// A reconciliation whose signature an enrolled approval key made. Only [`verify`] makes one; whether it counts is [`judge`]'s.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifiedReconciliation {
    statement: ReconciliationStatement,
    envelope: Envelope,
}

impl VerifiedReconciliation {
    /// What was signed.
    pub const fn statement(&self) -> &ReconciliationStatement {
        &self.statement
    }

    /// The envelope, for the record.
    pub const fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// SHA-256 of the signed payload: how receipts name the answer.
    pub fn digest(&self) -> Digest {
        Digest::of(self.envelope.danger_unverified_payload())
    }

    /// The answer as it is counted.
    pub fn given(&self) -> GivenAnswer {
        let statement = &self.statement;
        GivenAnswer {
            approver: statement.approver,
            role: statement.role.clone(),
            key_sha256: statement.key_sha256,
            answer: statement.answer,
            amount_minor: statement.amount_minor,
            signed: true,
        }
    }
}

/// Checks the signature against the roster: the key is an approval key, is not stopped, and belongs to the person named.
///
/// *Errors*: `key_unknown`, `key_stopped`, `key_use_wrong`, `approver_wrong`, `gate_wrong`, `environment_wrong`,
/// `signature_invalid`, and those of a strict document.
pub fn verify(envelope: &Envelope, roster: &Roster) -> Result<VerifiedReconciliation, Refusal> {
    let statement = ReconciliationStatement::parse(envelope.danger_unverified_payload())?;
    let holder = roster.active_key(&statement.key_sha256, KeyUse::Approval)?;
    envelope.clone().verify(RECONCILIATION_TYPE, &holder.key.key)?;
    if holder.person.person != statement.approver {
        return Err(refuse(
            Code::ApproverWrong,
            "/approver",
            "the key belongs to another person than the statement names; sign as its holder",
        ));
    }
    same_gate(&statement.gate, statement.environment, roster)?;
    Ok(VerifiedReconciliation { statement, envelope: envelope.clone() })
}

/// What an operation was made for: who is asked, and who may not answer.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// An approved request.
    Request {
        /// What was approved.
        frozen: &'a FrozenRequest,
        /// It was passed on: whoever could decide it then answers for it too.
        escalated: bool,
    },
    /// A write, which nobody approved.
    Write {
        /// The role of those who own the system behind the tool.
        owner: &'a Name,
        /// The agent, and the ones that sent it.
        agents: &'a [ChainLink],
    },
}

impl Subject<'_> {
    /// The roles that are asked, and how many persons of each.
    pub fn needs(&self) -> Vec<Need> {
        match self {
            Subject::Request { frozen, .. } => frozen.members().needs.clone(),
            Subject::Write { owner, .. } => vec![Need { role: (*owner).clone(), quorum: 1, escalate_to: None }],
        }
    }

    /// Whether the request was passed on.
    pub const fn escalated(&self) -> bool {
        match self {
            Subject::Request { escalated, .. } => *escalated,
            Subject::Write { .. } => false,
        }
    }

    /// Whether this person may answer in this role.
    ///
    /// *Errors*: `role_not_needed`, `role_not_held`, `self_approval`, `approver_wrong`.
    pub fn eligible(&self, approver: &PersonId, role: &Name, roster: &Roster) -> Result<(), Refusal> {
        let (owner, agents) = match self {
            Subject::Request { frozen, escalated } => {
                return decision::may_decide(approver, role, frozen, *escalated, roster).map(|_| ());
            }
            Subject::Write { owner, agents } => (owner, agents),
        };
        if *role != **owner {
            let message = format!("the operation does not wait for the role `{role}`; its owner `{owner}` must answer");
            return Err(refuse(Code::RoleNotNeeded, "/role", message));
        }
        let person = roster.person(approver).ok_or_else(|| refuse(Code::ApproverWrong, "/approver", "the person is not in the roster"))?;
        if !person.roles.contains(role) {
            return Err(refuse(Code::RoleNotHeld, "/role", format!("the person does not hold the role `{role}`; a holder must answer")));
        }
        if agents.iter().any(|link| link.owner == Some(*approver)) {
            let message = "the write comes from an agent of this person; somebody else must answer";
            return Err(refuse(Code::SelfApproval, "/approver", message));
        }
        Ok(())
    }

    /// Whether the statement is on these frozen bytes.
    ///
    /// *Errors*: `request_wrong`, `bytes_differ`.
    pub fn same_bytes(&self, statement: &ReconciliationStatement) -> Result<(), Refusal> {
        let (request, request_sha256) = match self {
            Subject::Request { frozen, .. } => (Some(frozen.members().request), Some(frozen.request_sha256())),
            Subject::Write { .. } => (None, None),
        };
        if statement.request != request {
            return Err(refuse(Code::RequestWrong, "/request", "the answer names another request than the operation was made for"));
        }
        if statement.request_sha256 != request_sha256 {
            return Err(refuse(Code::BytesDiffer, "/request_sha256", "the answer is on other bytes than the gate sent; report it"));
        }
        Ok(())
    }
}

/// A challenge that the gate issued for one operation and one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperationChallenge {
    /// The operation it is for.
    pub operation: OperationKey,
    /// The key it was given to.
    pub key_sha256: Digest,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// Whether an answer used it.
    pub used: bool,
}

/// An answer on record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GivenAnswer {
    /// Who gave it.
    pub approver: PersonId,
    /// In which role.
    pub role: Name,
    /// With which key.
    pub key_sha256: Digest,
    /// What it says.
    pub answer: Answer,
    /// How much happened, where a part did.
    pub amount_minor: Option<u64>,
    /// The key that it names belongs to this person, is not stopped, and made the signature. One that is not signed counts for
    /// nothing, but takes the place of what the same person said before.
    pub signed: bool,
}

/// The answers to this operation among those on record, in the order of the log: what [`judge`] and [`tally`] are given, by
/// whoever asks them. None is left out for its key: which of a person's answers is the newest one does not depend on
/// which of their keys stand today.
///
/// *Errors*: those of a strict document.
pub fn given_on_record<'a>(
    envelopes: impl IntoIterator<Item = &'a Envelope>,
    operation: &OperationKey,
    subject: &Subject<'_>,
    roster: &Roster,
) -> Result<Vec<GivenAnswer>, Refusal> {
    let mut answers = Vec::new();
    for envelope in envelopes {
        let statement = ReconciliationStatement::parse(envelope.danger_unverified_payload())?;
        // An answer to something else is none to this.
        if statement.operation != *operation || subject.same_bytes(&statement).is_err() {
            continue;
        }
        let signed = verify(envelope, roster).is_ok();
        let ReconciliationStatement { approver, role, key_sha256, answer, amount_minor, .. } = statement;
        answers.push(GivenAnswer { approver, role, key_sha256, answer, amount_minor, signed });
    }
    Ok(answers)
}

/// Everything that the rule looks at, read in the transaction that records the answer.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// The operation.
    pub operation: OperationKey,
    /// What it was made for.
    pub subject: Subject<'a>,
    /// Where it stands.
    pub now_at: Operation,
    /// From when on it can be said that nothing happened: no attempt can still arrive, and the world has settled.
    pub settles_at: Timestamp,
    /// The frozen amount in minor units, where the row has one.
    pub amount_minor: Option<u64>,
    /// Digest of the nodes, rendered by the gate; none for a write.
    pub shown_sha256: Option<Digest>,
    /// Today's roster.
    pub roster: &'a Roster,
    /// The challenge that the statement names, if the gate issued it.
    pub challenge: Option<OperationChallenge>,
    /// Answers on record, in the order of the log.
    pub answers: &'a [GivenAnswer],
    /// The store's time.
    pub now: Timestamp,
}

/// What an answer does, once it counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// The input for the operation's state; none while more persons are needed.
    pub input: Option<OperationInput>,
    /// The state that follows.
    pub state: OperationState,
    /// How far the answer reaches.
    pub tally: Tally,
}

/// The rule: the statement's time, the operation's state, its bytes, the roster, the challenge, then who answers and what.
///
/// *Errors*: one code for each broken rule, in that order of precedence.
pub fn judge(verified: &VerifiedReconciliation, case: &Case<'_>) -> Result<Judgement, Refusal> {
    let statement = verified.statement();
    arrives_in_time(statement.issued_at, statement.expires_at, case.now)?;
    in_this_state(statement.answer, case.now_at)?;
    this_operation(statement, case)?;
    if statement.roster_sha256 != case.roster.digest()? {
        return Err(refuse(Code::RosterStale, "/roster_sha256", "the roster has changed since this was signed; look again and sign anew"));
    }
    this_challenge(statement, case)?;
    case.subject.eligible(&statement.approver, &statement.role, case.roster)?;
    this_part(statement, case.amount_minor)?;
    if statement.answer == Answer::NotHappened && case.now < case.settles_at {
        let message = format!("an attempt may still arrive; that it did not happen can be said from {} on", case.settles_at);
        return Err(refuse(Code::ReconciliationTooEarly, "/answer", message));
    }
    let mut answers = case.answers.to_vec();
    answers.push(verified.given());
    let tally = tally(&case.subject, &answers, case.roster);
    let input = statement.answer.input().filter(|_| tally.reached);
    let state = match input {
        Some(input) => operation::apply(case.now_at, input)?.state,
        None => case.now_at.state,
    };
    Ok(Judgement { input, state, tally })
}

/// How far the newest answer reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Distinct persons whose standing answer is the newest one, as far as they are needed.
    pub given: u32,
    /// Distinct persons needed.
    pub needed: u32,
    /// All needs are met by the same answer.
    pub reached: bool,
    /// Persons contradict each other about what happened.
    pub conflict: bool,
}

/// Counts answers in the order of the log: the newest one of each person stands, if its key and role still do. Where they do not,
/// nothing of that person does: what they said before, they have taken back.
pub fn tally(subject: &Subject<'_>, answers: &[GivenAnswer], roster: &Roster) -> Tally {
    let needs = subject.needs();
    let needed = needs.iter().map(|need| need.quorum).sum();
    let counted = |given: &&GivenAnswer| given.answer != Answer::Note;
    let Some(newest) = answers.last().filter(counted) else { return Tally { given: 0, needed, reached: false, conflict: false } };
    let mut standing: Vec<&GivenAnswer> = Vec::new();
    for given in answers.iter().filter(counted) {
        standing.retain(|earlier| earlier.approver != given.approver);
        standing.push(given);
    }
    standing.retain(|given| still_stands(subject, given, roster));
    let what = |given: &GivenAnswer| (given.answer, given.amount_minor);
    let conflict = standing.iter().any(|one| {
        let differs = |other: &&GivenAnswer| other.answer.input().is_some() && what(one) != what(other);
        one.answer.input().is_some() && standing.iter().any(differs)
    });
    let equal = standing.iter().filter(|one| what(one) == what(newest)).map(|one| (one.approver, &one.role));
    let quorum = decision::count(&needs, subject.escalated(), &equal.collect::<Vec<_>>());
    Tally { given: quorum.given, needed, reached: quorum.reached && newest.answer.input().is_some(), conflict }
}

fn still_stands(subject: &Subject<'_>, given: &GivenAnswer, roster: &Roster) -> bool {
    let holder = roster.active_key(&given.key_sha256, KeyUse::Approval);
    given.signed
        && holder.is_ok_and(|holder| holder.person.person == given.approver)
        && subject.eligible(&given.approver, &given.role, roster).is_ok()
}

/// The amount that a call moves, in minor units: the first money field of its row that the arguments hold.
pub fn amount_minor(row: &Row, args: &Json) -> Option<u64> {
    let amount = row.fields.iter().filter(|field| matches!(field.format, Format::Money { .. })).find_map(|field| field.path.find(args))?;
    amount.as_number()?.canonical().ok()?.parse().ok()
}

fn in_this_state(answer: Answer, now_at: Operation) -> Result<(), Refusal> {
    let open = now_at.state == OperationState::NeedsReconciliation;
    let fits = match answer {
        Answer::Happened | Answer::Partly | Answer::NotHappened | Answer::StillUnknown => open,
        Answer::Note => now_at.state.is_final(),
    };
    if fits {
        return Ok(());
    }
    let message = format!("the operation is `{}`, which takes no answer `{answer}`; read where it stands", now_at.state);
    Err(refuse(Code::OperationStateWrong, "/answer", message))
}

fn this_operation(statement: &ReconciliationStatement, case: &Case<'_>) -> Result<(), Refusal> {
    if statement.operation != case.operation {
        return Err(refuse(Code::OperationWrong, "/operation", "the answer is on another operation; sign for this one"));
    }
    if statement.attempt != case.now_at.attempt {
        let message = format!("the operation is at attempt {}; look again and sign anew", case.now_at.attempt);
        return Err(refuse(Code::OperationWrong, "/attempt", message));
    }
    case.subject.same_bytes(statement)?;
    if statement.shown_sha256 != case.shown_sha256 {
        let message = "the console showed something else than the gate renders; compare their versions";
        return Err(refuse(Code::ShownDiffers, "/shown_sha256", message));
    }
    if statement.gate_key_sha256 != case.roster.log_key.digest() {
        let message = "the answer pins another key than this gate's; call an administrator";
        return Err(refuse(Code::GateWrong, "/gate_key_sha256", message));
    }
    Ok(())
}

fn this_challenge(statement: &ReconciliationStatement, case: &Case<'_>) -> Result<(), Refusal> {
    let invalid = |message| Err(refuse(Code::ChallengeInvalid, "/challenge", message));
    let Some(challenge) = case.challenge else { return invalid("this gate issued no such challenge; ask for one and sign anew") };
    let same = challenge.operation == statement.operation
        && challenge.key_sha256 == statement.key_sha256
        && challenge.issued_at == statement.issued_at;
    if !same {
        return invalid("the challenge was issued for another operation, key or time; ask for one and sign anew");
    }
    if challenge.used {
        return Err(refuse(Code::ChallengeReplayed, "/challenge", "the challenge was used by another answer; ask for one and sign anew"));
    }
    Ok(())
}

/// A part is more than nothing and less than the whole; nothing else has an amount.
fn this_part(statement: &ReconciliationStatement, whole: Option<u64>) -> Result<(), Refusal> {
    let fits = match (statement.answer, statement.amount_minor, whole) {
        (Answer::Partly, Some(part), Some(whole)) => part > 0 && part < whole,
        (Answer::Partly, None, None) => true,
        (Answer::Partly, Some(_), None) | (Answer::Partly, None, Some(_)) => false,
        (Answer::Happened | Answer::NotHappened | Answer::StillUnknown | Answer::Note, part, _) => part.is_none(),
    };
    if fits {
        return Ok(());
    }
    let message = "the part that happened is missing, or is not between nothing and the whole; give it in minor units, and for a part only";
    Err(refuse(Code::AmountInvalid, "/amount_minor", message))
}

fn refuse(code: Code, path: &str, message: impl Into<String>) -> Refusal {
    Refusal::new(code, message).at(path)
}
