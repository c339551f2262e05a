//! The rule for answers to unknown outcomes, as tables: one valid case, and everything that makes it invalid.

use vidimus_core::bytes::{Digest, Nonce, Salt};
use vidimus_core::code::Code;
use vidimus_core::decision::CheckpointRef;
use vidimus_core::dsse::Envelope;
use vidimus_core::evidence::{Evidence, EvidenceFile, evidence_sha256};
use vidimus_core::frozen::{ChainLink, Draft, FrozenRequest, Need};
use vidimus_core::ids::{Environment, RequestId, Reversibility};
use vidimus_core::operation::{Operation, OperationInput, OperationKey, OperationState, WriteCaller};
use vidimus_core::reconciliation::{
    Answer, Case, GivenAnswer, Judgement, OperationChallenge, RECONCILIATION_TYPE, ReconciliationStatement, Subject, given_on_record,
    judge, tally, verify,
};
use vidimus_core::roster::Roster;
use vidimus_core::time::Timestamp;

use crate::house::{at, draft, name, person, roster_of, secret};

/// Persons 1, 2, 5 and 6 hold `treasury`, 3 too and answers for the agent, 4 holds `support`.
fn roster() -> Roster {
    let treasury: &[&str] = &["treasury"];
    roster_of(&[(1, &["admin", "treasury"]), (2, treasury), (3, treasury), (4, &["support"]), (5, treasury), (6, treasury)], None)
}

fn frozen(roster: &Roster, quorum: u32) -> FrozenRequest {
    FrozenRequest::freeze(Draft {
        tool: name("wire_transfer"),
        reversibility: Reversibility::Irreversible,
        friction: Reversibility::Irreversible,
        needs: vec![Need { role: name("treasury"), quorum, escalate_to: None }],
        ..draft(roster)
    })
    .expect("frozen")
}

struct World {
    roster: Roster,
    frozen: FrozenRequest,
    statement: ReconciliationStatement,
    signer: u8,
    now_at: Operation,
    settles_at: Timestamp,
    amount_minor: Option<u64>,
    challenge: Option<OperationChallenge>,
    answers: Vec<GivenAnswer>,
    escalated: bool,
    now: Timestamp,
}

fn world(quorum: u32) -> World {
    let roster = roster();
    let frozen = frozen(&roster, quorum);
    let operation = OperationKey::money(&name("wire_transfer"), &frozen.members().request, &frozen.args_sha256());
    let key_sha256 = secret(2).public().digest();
    let issued_at = at(100_000);
    let statement = ReconciliationStatement {
        gate: roster.gate,
        gate_key_sha256: roster.log_key.digest(),
        environment: Environment::Test,
        operation,
        request: Some(frozen.members().request),
        request_sha256: Some(frozen.request_sha256()),
        attempt: 1,
        answer: Answer::Happened,
        amount_minor: None,
        approver: person(2),
        key_sha256,
        role: name("treasury"),
        roster_sha256: roster.digest().expect("digest"),
        shown_sha256: Some(Digest::of(b"shown")),
        evidence_sha256: Digest::of(b"evidence"),
        challenge: Nonce::from_bytes([4; 32]),
        checkpoint: CheckpointRef { size: 7, root: Digest::of(b"root") },
        app_version: "0.1.0".to_owned(),
        issued_at,
        expires_at: issued_at.plus_s(300),
    };
    World {
        challenge: Some(OperationChallenge { operation, key_sha256, issued_at, used: false }),
        now_at: Operation { state: OperationState::NeedsReconciliation, attempt: 1 },
        settles_at: at(90_000),
        amount_minor: Some(1500),
        answers: Vec::new(),
        escalated: false,
        now: at(101_000),
        signer: 2,
        roster,
        frozen,
        statement,
    }
}

impl World {
    fn signed(&self) -> Envelope {
        self.statement.sign(&secret(self.signer)).expect("signed")
    }

    fn judged(&self) -> Result<Judgement, Code> {
        let verified = verify(&self.signed(), &self.roster).map_err(|refusal| refusal.code)?;
        let case = Case {
            operation: OperationKey::money(&name("wire_transfer"), &self.frozen.members().request, &self.frozen.args_sha256()),
            subject: Subject::Request { frozen: &self.frozen, escalated: self.escalated },
            now_at: self.now_at,
            settles_at: self.settles_at,
            amount_minor: self.amount_minor,
            shown_sha256: Some(Digest::of(b"shown")),
            roster: &self.roster,
            challenge: self.challenge,
            answers: &self.answers,
            now: self.now,
        };
        judge(&verified, &case).map_err(|refusal| refusal.code)
    }

    fn with(mut self, change: impl FnOnce(&mut World)) -> World {
        change(&mut self);
        self
    }
}

fn given(seed: u8, answer: Answer, amount_minor: Option<u64>) -> GivenAnswer {
    GivenAnswer {
        approver: person(seed),
        role: name("treasury"),
        key_sha256: secret(seed).public().digest(),
        answer,
        amount_minor,
        signed: true,
    }
}

#[test]
fn each_answer_leads_to_its_own_state() {
    let cases = [
        (Answer::Happened, None, Some(OperationInput::Happened), OperationState::Succeeded),
        (Answer::Partly, Some(1), Some(OperationInput::HappenedInPart), OperationState::Partial),
        (Answer::Partly, Some(1499), Some(OperationInput::HappenedInPart), OperationState::Partial),
        (Answer::NotHappened, None, Some(OperationInput::DidNotHappen), OperationState::NotHappened),
        (Answer::StillUnknown, None, None, OperationState::NeedsReconciliation),
    ];
    for (answer, amount_minor, input, state) in cases {
        let world = world(1).with(|world| (world.statement.answer, world.statement.amount_minor) = (answer, amount_minor));
        let judged = world.judged().unwrap_or_else(|code| panic!("{answer}: {code}"));
        assert_eq!((judged.input, judged.state), (input, state), "{answer}");
    }
    for state in OperationState::ALL.iter().filter(|state| state.is_final()) {
        let world = world(1).with(|world| (world.statement.answer, world.now_at.state) = (Answer::Note, *state));
        let judged = world.judged().expect("a note");
        assert_eq!((judged.input, judged.state), (None, *state), "a note never moves `{state}`");
    }
}

#[test]
fn every_broken_rule_has_its_code() {
    type Spoil = fn(&mut World);
    let cases: &[(&str, Spoil, Code)] = &[
        ("late", |w| w.now = w.statement.expires_at, Code::DecisionExpired),
        ("valid for 300.001 s", |w| w.statement.expires_at = w.statement.issued_at.plus_ms(300_001), Code::DecisionExpired),
        ("valid for no time", |w| w.statement.expires_at = w.statement.issued_at, Code::DecisionExpired),
        ("a note to what is open", |w| w.statement.answer = Answer::Note, Code::OperationStateWrong),
        ("another operation", |w| w.statement.operation = OperationKey::write(&name("a"), &name("t"), &caller()), Code::OperationWrong),
        ("an older attempt", |w| w.now_at.attempt = 2, Code::OperationWrong),
        ("another request", |w| w.statement.request = Some(RequestId::from_random([9; 16])), Code::RequestWrong),
        ("no request", |w| w.statement.request = None, Code::RequestWrong),
        ("other bytes", |w| w.statement.request_sha256 = Some(Digest::of(b"other")), Code::BytesDiffer),
        ("another screen", |w| w.statement.shown_sha256 = None, Code::ShownDiffers),
        ("another gate's key", |w| w.statement.gate_key_sha256 = Digest::of(b"other"), Code::GateWrong),
        ("another environment", |w| w.statement.environment = Environment::Live, Code::EnvironmentWrong),
        ("an older roster", |w| w.statement.roster_sha256 = Digest::of(b"other"), Code::RosterStale),
        ("no challenge", |w| w.challenge = None, Code::ChallengeInvalid),
        (
            "another key's challenge",
            |w| w.challenge = w.challenge.map(|c| OperationChallenge { key_sha256: Digest::of(b"k"), ..c }),
            Code::ChallengeInvalid,
        ),
        (
            "another operation's challenge",
            |w| {
                w.challenge =
                    w.challenge.map(|c| OperationChallenge { operation: OperationKey::write(&name("a"), &name("t"), &caller()), ..c })
            },
            Code::ChallengeInvalid,
        ),
        (
            "another time's challenge",
            |w| w.challenge = w.challenge.map(|c| OperationChallenge { issued_at: at(1), ..c }),
            Code::ChallengeInvalid,
        ),
        ("a used challenge", |w| w.challenge = w.challenge.map(|c| OperationChallenge { used: true, ..c }), Code::ChallengeReplayed),
        ("a role that is not asked", |w| w.statement.role = name("admin"), Code::RoleNotNeeded),
        ("a role that is not held", |w| sign_as(w, 4), Code::RoleNotHeld),
        ("the agent's owner", |w| sign_as(w, 3), Code::SelfApproval),
        ("another's key", |w| w.statement.approver = person(1), Code::ApproverWrong),
        ("a device key", |w| (w.signer, w.statement.key_sha256) = (102, secret(102).public().digest()), Code::KeyUseWrong),
        ("a forged signature", |w| w.signer = 1, Code::EnvelopeKeyWrong),
        ("a part without its amount", |w| w.statement.answer = Answer::Partly, Code::AmountInvalid),
        ("the whole as a part", |w| (w.statement.answer, w.statement.amount_minor) = (Answer::Partly, Some(1500)), Code::AmountInvalid),
        ("nothing as a part", |w| (w.statement.answer, w.statement.amount_minor) = (Answer::Partly, Some(0)), Code::AmountInvalid),
        ("an amount beside the whole", |w| w.statement.amount_minor = Some(700), Code::AmountInvalid),
        ("too early", |w| (w.statement.answer, w.settles_at) = (Answer::NotHappened, at(101_001)), Code::ReconciliationTooEarly),
    ];
    for (what, spoil, code) in cases {
        assert_eq!(world(1).with(spoil).judged().map(|judged| judged.state), Err(*code), "{what}");
    }
    for state in OperationState::ALL.iter().filter(|state| **state != OperationState::NeedsReconciliation) {
        for answer in [Answer::Happened, Answer::Partly, Answer::NotHappened, Answer::StillUnknown] {
            let world = world(1).with(|world| (world.now_at.state, world.statement.answer) = (*state, answer));
            assert_eq!(world.judged(), Err(Code::OperationStateWrong), "{state} {answer}");
        }
    }
    let exactly = world(1).with(|world| (world.statement.answer, world.settles_at) = (Answer::NotHappened, world.now));
    assert!(exactly.judged().is_ok(), "from the moment on that is named");
}

fn caller() -> WriteCaller {
    WriteCaller::CallKey("k".repeat(16))
}

fn sign_as(world: &mut World, seed: u8) {
    world.signer = seed;
    world.statement.approver = person(seed);
    world.statement.key_sha256 = secret(seed).public().digest();
    world.challenge = world.challenge.map(|challenge| OperationChallenge { key_sha256: world.statement.key_sha256, ..challenge });
}

#[test]
fn a_part_of_what_has_no_amount_has_none() {
    let whole = |part| {
        world(1).with(|world| (world.statement.answer, world.statement.amount_minor, world.amount_minor) = (Answer::Partly, part, None))
    };
    assert_eq!(whole(None).judged().expect("a part").state, OperationState::Partial);
    assert_eq!(whole(Some(1)).judged(), Err(Code::AmountInvalid));
}

#[test]
fn as_many_persons_as_the_row_says_give_the_same_answer() {
    use Answer::{Happened, NotHappened, Partly, StillUnknown};
    // Earlier answers, then what person 2 adds to `happened`: given, reached, conflict.
    let cases: &[(&[GivenAnswer], u32, bool, bool)] = &[
        (&[], 1, false, false),
        (&[given(1, Happened, None)], 2, true, false),
        (&[given(2, Happened, None)], 1, false, false),
        (&[given(1, NotHappened, None)], 1, false, true),
        (&[given(1, StillUnknown, None)], 1, false, false),
        (&[given(1, NotHappened, None), given(1, Happened, None)], 2, true, false),
        (&[given(1, Happened, None), given(1, StillUnknown, None)], 1, false, false),
        (&[given(1, NotHappened, None), given(5, Happened, None)], 2, true, true),
        (&[given(1, Partly, Some(1)), given(5, Partly, Some(2))], 1, false, true),
        // Who answers for the agent, and who holds another role, never counts.
        (&[given(3, Happened, None)], 1, false, false),
        (&[given(4, Happened, None)], 1, false, false),
        (&[given(3, NotHappened, None)], 1, false, false),
    ];
    for (index, (earlier, given, reached, conflict)) in cases.iter().enumerate() {
        let judged = world(2).with(|world| world.answers = earlier.to_vec()).judged().expect("counts");
        let tally = judged.tally;
        assert_eq!((tally.given, tally.needed, tally.reached, tally.conflict), (*given, 2, *reached, *conflict), "case {index}");
        assert_eq!(judged.input.is_some(), *reached, "case {index}");
    }
    let parts = [given(1, Partly, Some(700)), given(2, Partly, Some(700))];
    let world = world(2);
    assert!(
        tally(&Subject::Request { frozen: &world.frozen, escalated: false }, &parts, &world.roster).reached,
        "equal parts are one answer"
    );
}

/// What was passed on is decided by the next role too, and so is what became of it.
#[test]
fn whoever_may_decide_what_was_passed_on_answers_for_it() {
    let roster = roster();
    let mut draft = frozen(&roster, 2).members().clone();
    draft.needs[0].escalate_to = Some(name("support"));
    let frozen = FrozenRequest::freeze(draft).expect("frozen");
    let subject = |escalated| Subject::Request { frozen: &frozen, escalated };
    let may = |escalated, seed| subject(escalated).eligible(&person(seed), &name("support"), &roster).map_err(|refusal| refusal.code);
    assert_eq!(may(false, 4), Err(Code::RoleNotNeeded), "not before");
    assert_eq!(may(true, 4), Ok(()));
    assert_eq!(may(true, 5), Err(Code::RoleNotHeld));
    let of_next = |answer| GivenAnswer { role: name("support"), ..given(4, answer, None) };
    let cases = [
        (vec![given(1, Answer::Happened, None), of_next(Answer::Happened)], true, 2, true),
        (vec![of_next(Answer::Happened), given(1, Answer::Happened, None)], true, 2, true),
        (vec![given(1, Answer::Happened, None), of_next(Answer::Happened)], false, 1, false),
        (vec![given(1, Answer::NotHappened, None), of_next(Answer::Happened)], true, 1, false),
        (vec![of_next(Answer::Happened)], true, 1, false),
    ];
    for (index, (answers, escalated, given, reached)) in cases.iter().enumerate() {
        let tally = tally(&subject(*escalated), answers, &roster);
        assert_eq!((tally.given, tally.needed, tally.reached), (*given, 2, *reached), "case {index}");
    }
}

/// Who is asked in their own role stands in for another one only after the request was passed on.
#[test]
fn before_it_is_passed_on_a_second_answer_of_one_role_is_none_of_another() {
    let roster = roster_of(&[(1, &["admin", "treasury"]), (4, &["support"]), (5, &["support"])], None);
    let mut draft = frozen(&roster, 2).members().clone();
    draft.needs[0].escalate_to = Some(name("support"));
    draft.needs.push(Need { role: name("support"), quorum: 1, escalate_to: None });
    let frozen = FrozenRequest::freeze(draft).expect("frozen");
    let of_support = |seed| GivenAnswer { role: name("support"), ..given(seed, Answer::Happened, None) };
    let answers = [given(1, Answer::Happened, None), of_support(4), of_support(5)];
    for (escalated, given, reached) in [(false, 2, false), (true, 3, true)] {
        let tally = tally(&Subject::Request { frozen: &frozen, escalated }, &answers, &roster);
        assert_eq!((tally.given, tally.needed, tally.reached), (given, 3, reached), "{escalated}");
    }
}

#[test]
fn an_answer_whose_key_was_stopped_counts_no_more() {
    let mut world = world(2).with(|world| world.answers = vec![given(1, Answer::Happened, None)]);
    let first = world.roster.persons.iter_mut().find(|one| one.person == person(1)).expect("enrolled");
    first.keys[0].stopped_at = Some(at(100_500));
    world.statement.roster_sha256 = world.roster.digest().expect("digest");
    let tally = world.judged().expect("counts").tally;
    assert_eq!((tally.given, tally.reached), (1, false));
}

/// What a person said last is what they say, whichever of their keys stand: nobody brings back an older answer of their own by
/// stopping the key of the newer one.
#[test]
fn an_answer_whose_key_was_stopped_takes_the_older_one_of_the_same_person_with_it() {
    for said in [Answer::StillUnknown, Answer::NotHappened, Answer::Happened] {
        let world = world(2).with(|world| {
            let mut newer = given(1, said, None);
            newer.key_sha256 = secret(77).public().digest();
            world.answers = vec![given(1, Answer::Happened, None), newer];
        });
        let tally = world.judged().expect("counts").tally;
        assert_eq!((tally.given, tally.reached), (1, false), "{said}");
    }
}

/// The same, from the envelopes: none is left out, and only what was signed by a key that stands counts.
#[test]
fn what_is_on_record_is_given_as_it_was_signed() {
    let world = world(2);
    let subject = Subject::Request { frozen: &world.frozen, escalated: false };
    let operation = world.statement.operation;
    let by = |approver: u8, signer: u8, answer| {
        let key_sha256 = secret(signer).public().digest();
        let statement = ReconciliationStatement { approver: person(approver), key_sha256, answer, ..world.statement.clone() };
        statement.sign(&secret(signer)).expect("signed")
    };
    let foreign = ReconciliationStatement { request_sha256: Some(Digest::of(b"other")), ..world.statement.clone() };
    let envelopes = [
        by(1, 1, Answer::Happened),
        foreign.sign(&secret(2)).expect("signed"),
        by(1, 77, Answer::StillUnknown),
        by(2, 5, Answer::Happened),
        by(5, 5, Answer::Happened),
    ];
    let given = given_on_record(&envelopes, &operation, &subject, &world.roster).expect("statements");
    let told: Vec<_> = given.iter().map(|given| (given.approver, given.answer, given.signed)).collect();
    let expected = [
        (person(1), Answer::Happened, true),
        (person(1), Answer::StillUnknown, false),
        (person(2), Answer::Happened, false),
        (person(5), Answer::Happened, true),
    ];
    assert_eq!(told, expected);
    let tally = tally(&subject, &given, &world.roster);
    assert_eq!((tally.given, tally.reached), (1, false));
}

#[test]
fn a_write_is_answered_by_its_owner_alone() {
    let world = world(1);
    let agents = [ChainLink { agent: name("support"), owner: Some(person(1)) }];
    let (treasury, support) = (name("treasury"), name("support"));
    let subject = |owner| Subject::Write { owner, agents: &agents };
    let codes = [
        (subject(&treasury).eligible(&person(2), &treasury, &world.roster), None),
        (subject(&treasury).eligible(&person(1), &treasury, &world.roster), Some(Code::SelfApproval)),
        (subject(&support).eligible(&person(2), &treasury, &world.roster), Some(Code::RoleNotNeeded)),
        (subject(&support).eligible(&person(2), &support, &world.roster), Some(Code::RoleNotHeld)),
        (subject(&support).eligible(&person(77), &support, &world.roster), Some(Code::ApproverWrong)),
    ];
    for (found, code) in codes {
        assert_eq!(found.err().map(|refusal| refusal.code), code);
    }
    let named = subject(&treasury).same_bytes(&world.statement).expect_err("a request where there is none");
    assert_eq!(named.code, Code::RequestWrong);
}

#[test]
fn a_statement_reads_back_and_nothing_else_does() {
    let world = world(1);
    let envelope = world.signed();
    let payload = std::str::from_utf8(envelope.danger_unverified_payload()).expect("text");
    assert_eq!(ReconciliationStatement::parse(payload.as_bytes()), Ok(world.statement.clone()));
    let spoiled = [
        payload.replace("\"v\":1", "\"v\":2"),
        payload.replace("\"happened\"", "\"retry\""),
        payload.replace("\"attempt\":1", "\"attempt\":4294967296"),
        payload.replace("\"amount_minor\":null", "\"amount_minor\":1500"),
        payload.replace("\"amount_minor\":null", "\"amount_minor\":\"01\""),
        payload.replace("\"amount_minor\":null", "\"amount_minor\":\"-1\""),
        payload.replace("{\"amount_minor\":null,", "{"),
        payload.replace("{\"amount_minor\"", "{ \"amount_minor\""),
    ];
    for text in spoiled {
        assert_ne!(text, payload);
        assert!(ReconciliationStatement::parse(text.as_bytes()).is_err(), "{text}");
    }
    let foreign = Envelope::sign("application/vnd.vidimus.decision.v1+json", payload.as_bytes(), &secret(2));
    assert_eq!(verify(&foreign, &world.roster).expect_err("another type").code, Code::EnvelopeTypeWrong);
    let flipped = Envelope::sign(RECONCILIATION_TYPE, payload.replace("happened", "note").as_bytes(), &secret(9));
    assert_eq!(verify(&flipped, &world.roster).expect_err("another key").code, Code::EnvelopeKeyWrong);
}

#[test]
fn each_answer_needs_its_evidence() {
    let issued_at = at(100_000);
    let text = Some("the bank's statement of 30 November lists it".to_owned());
    let full = Evidence { evidence: text.clone(), ..Evidence::default() };
    let reference = Evidence { reference: Some("TX-2026-1".to_owned()), ..Evidence::default() };
    let later = |ms| Evidence { look_again_at: Some(issued_at.plus_ms(ms)), ..Evidence::default() };
    let month_ms = 30 * 24 * 3600 * 1000;
    let cases = [
        (Answer::Happened, full.clone(), true),
        (Answer::Happened, reference.clone(), true),
        (Answer::Happened, Evidence::default(), false),
        (Answer::Partly, full.clone(), true),
        (Answer::Partly, reference.clone(), false),
        (Answer::NotHappened, full.clone(), true),
        (Answer::NotHappened, reference, false),
        (Answer::NotHappened, Evidence { evidence: Some("a".repeat(40)), ..Evidence::default() }, false),
        (Answer::NotHappened, Evidence { evidence: Some("fourteen chars".to_owned()), ..Evidence::default() }, false),
        (Answer::NotHappened, Evidence { evidence: Some("fifteen  chars.".to_owned()), ..Evidence::default() }, true),
        (Answer::Note, full.clone(), true),
        (Answer::Note, Evidence::default(), false),
        (Answer::StillUnknown, later(1), true),
        (Answer::StillUnknown, later(month_ms), true),
        (Answer::StillUnknown, later(month_ms + 1), false),
        (Answer::StillUnknown, later(0), false),
        (Answer::StillUnknown, full.clone(), false),
        (Answer::Happened, Evidence { look_again_at: Some(issued_at.plus_s(1)), ..full }, false),
    ];
    for (index, (answer, evidence, suits)) in cases.into_iter().enumerate() {
        let found = evidence.suits(answer, issued_at).err().map(|refusal| refusal.code);
        assert_eq!(found, (!suits).then_some(Code::EvidenceInvalid), "case {index}: {answer}");
    }
}

#[test]
fn evidence_has_one_text_and_bounds() {
    let file = |name: &str| EvidenceFile { name: name.to_owned(), bytes: 12, sha256: Digest::of(b"file") };
    let evidence = Evidence {
        reference: Some("TX-2026-1".to_owned()),
        evidence: Some("seen in the bank's portal".to_owned()),
        look_again_at: None,
        files: vec![file("statement.pdf")],
    };
    let text = evidence.to_text().expect("text");
    assert_eq!(Evidence::parse(&text), Ok(evidence.clone()));
    assert_eq!(Evidence::parse(&format!(" {text}")).expect_err("a second spelling").code, Code::NotCanonical);
    let (one, other) = (Salt::from_bytes([1; 32]), Salt::from_bytes([2; 32]));
    assert_ne!(evidence_sha256(&one, &text), evidence_sha256(&other, &text));
    let refused = [
        Evidence { reference: Some(String::new()), ..evidence.clone() },
        Evidence { evidence: Some("e".repeat(2001)), ..evidence.clone() },
        Evidence { files: vec![file("statement.pdf"); 17], ..evidence.clone() },
        Evidence { files: vec![file("../statement.pdf")], ..evidence.clone() },
        Evidence { files: vec![file("fdp.\u{202e}tnemetats")], ..evidence.clone() },
        Evidence { files: vec![file("")], ..evidence.clone() },
    ];
    for (index, refused) in refused.into_iter().enumerate() {
        let text = refused.to_text().expect("text");
        assert_eq!(Evidence::parse(&text).expect_err("beyond a bound").code, Code::EvidenceInvalid, "case {index}");
    }
    let letters = Evidence {
        evidence: Some("\u{1f600}".repeat(2000)),
        reference: Some("\u{1}".repeat(2000)),
        files: vec![file(&"n".repeat(255)); 16],
        look_again_at: None,
    };
    assert_eq!(Evidence::parse(&letters.to_text().expect("text")), Ok(letters), "what is within the bounds is read");
}
