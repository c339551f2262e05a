//! The decision rule and the token rule, as tables: one valid case, and everything that makes it invalid.

use std::collections::BTreeSet;

use vidimus_core::bytes::{Digest, Nonce, Salt};
use vidimus_core::code::Code;
use vidimus_core::decision::{
    self, Approval, Case, CheckpointRef, DecisionKind, DecisionStatement, IssuedChallenge, Judgement, approval_on_record, judge, quorum,
    still_approved,
};
use vidimus_core::frozen::{self, ChainLink, Draft, FrozenRequest, Need};
use vidimus_core::ids::{Environment, GateId, RequestId};
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::limits::APP_VERSION_BYTES_MAX;
use vidimus_core::operation::OperationKey;
use vidimus_core::paseto;
use vidimus_core::request::{RequestInput, RequestState};
use vidimus_core::roster::{NewKeys, Roster, RosterChange};
use vidimus_core::sign::SecretKey;
use vidimus_core::time::Timestamp;
use vidimus_core::token::{self, TokenClaims};

use crate::house::{ARGS, admission, at, draft, name, names, person, roster_of, secret};

/// Persons: 1 admin and approver, 2 approver, 3 approver and treasury, 4 support lead.
fn roster() -> Roster {
    let billing = "billing-approver";
    roster_of(&[(1, &["admin", billing]), (2, &[billing]), (3, &[billing, "treasury"]), (4, &["support-lead"])], None)
}

struct World {
    roster: Roster,
    frozen: FrozenRequest,
    statement: DecisionStatement,
    signer: u8,
    state: RequestState,
    waits_until: Timestamp,
    orphaned: bool,
    escalated: bool,
    row_sha256: Option<Digest>,
    challenge: Option<IssuedChallenge>,
    approvals: Vec<Approval>,
    now: Timestamp,
}

fn world() -> World {
    let roster = roster();
    let frozen = FrozenRequest::freeze(draft(&roster)).expect("frozen");
    let statement = DecisionStatement {
        gate: roster.gate,
        gate_key_sha256: roster.log_key.digest(),
        environment: Environment::Test,
        request: frozen.members().request,
        request_sha256: frozen.request_sha256(),
        args_sha256: frozen.args_sha256(),
        tool: name("refund"),
        decision: DecisionKind::Approve,
        approver: person(2),
        key_sha256: secret(2).public().digest(),
        role: name("billing-approver"),
        row_sha256: Digest::of(b"row"),
        roster_sha256: roster.digest().expect("digest"),
        shown_sha256: Digest::of(b"shown"),
        context_sha256: None,
        challenge: Nonce::from_bytes([9; 32]),
        checkpoint: CheckpointRef { size: 12, root: Digest::of(b"root") },
        reason_sha256: None,
        app_version: "0.1.0".to_owned(),
        issued_at: at(1_000),
        expires_at: at(301_000),
    };
    let challenge =
        IssuedChallenge { request: statement.request, key_sha256: statement.key_sha256, issued_at: statement.issued_at, used: false };
    World {
        waits_until: frozen.members().expires_at,
        row_sha256: Some(frozen.members().row_sha256),
        challenge: Some(challenge),
        roster,
        frozen,
        statement,
        signer: 2,
        state: RequestState::Pending,
        orphaned: false,
        escalated: false,
        approvals: Vec::new(),
        now: at(2_000),
    }
}

impl World {
    fn outcome(&self) -> Result<Judgement, Code> {
        let envelope = self.statement.sign(&secret(self.signer)).expect("signed");
        let verified = decision::verify(&envelope, &self.roster).map_err(|refusal| refusal.code)?;
        let case = Case {
            frozen: &self.frozen,
            state: self.state,
            waits_until: self.waits_until,
            orphaned: self.orphaned,
            escalated: self.escalated,
            row_sha256: self.row_sha256,
            shown_sha256: Digest::of(b"shown"),
            roster: &self.roster,
            challenge: self.challenge,
            approvals: &self.approvals,
            now: self.now,
        };
        judge(&verified, &case).map_err(|refusal| refusal.code)
    }
}

fn approval(seed: u8, role: &str) -> Approval {
    Approval { approver: person(seed), role: name(role), key_sha256: secret(seed).public().digest() }
}

/// Makes one thing wrong.
type Spoil = fn(&mut World);

#[test]
fn the_consoles_version_is_short_and_printable() {
    let with = |version: String| {
        let mut world = world();
        world.statement.app_version = version;
        world.outcome().err()
    };
    assert_eq!(with("v".repeat(APP_VERSION_BYTES_MAX)), None, "as long as it may be");
    assert_eq!(with("v".repeat(APP_VERSION_BYTES_MAX + 1)), Some(Code::FieldMalformed), "one more");
    assert_eq!(with(" ~".to_owned()), None, "the ends of what is printable");
    for other in ["\n", "\u{7f}", "é", "\u{1f}"] {
        assert_eq!(with(other.to_owned()), Some(Code::FieldMalformed), "{other:?}");
    }
}

#[test]
fn a_valid_decision_counts() {
    let judgement = world().outcome().expect("counts");
    assert_eq!(judgement.input, RequestInput::Approve { quorum: true });
    assert_eq!((judgement.state, judgement.given, judgement.needed, judgement.sole_admin), (RequestState::Approved, 1, 1, false));
}

#[test]
fn each_broken_rule_has_its_own_code() {
    let cases: &[(&str, Spoil, Code)] = &[
        ("another gate", |w| w.statement.gate = GateId::of(&secret(50).public()), Code::GateWrong),
        ("another environment", |w| w.statement.environment = Environment::Live, Code::EnvironmentWrong),
        ("another gate key", |w| w.statement.gate_key_sha256 = Digest::of(b"x"), Code::GateWrong),
        ("another request", |w| w.statement.request = RequestId::from_random([55; 16]), Code::RequestWrong),
        ("changed bytes", |w| w.statement.request_sha256 = Digest::of(b"x"), Code::BytesDiffer),
        ("changed arguments", |w| w.statement.args_sha256 = Digest::of(b"x"), Code::BytesDiffer),
        ("another tool", |w| w.statement.tool = name("wire_transfer"), Code::ToolWrong),
        ("another row", |w| w.statement.row_sha256 = Digest::of(b"x"), Code::RowStale),
        ("a changed row", |w| w.row_sha256 = Some(Digest::of(b"x")), Code::RowStale),
        ("a removed row", |w| w.row_sha256 = None, Code::RowStale),
        ("another roster", |w| w.statement.roster_sha256 = Digest::of(b"x"), Code::RosterStale),
        ("another screen", |w| w.statement.shown_sha256 = Digest::of(b"x"), Code::ShownDiffers),
        ("no challenge", |w| w.challenge = None, Code::ChallengeInvalid),
        (
            "a challenge for another request",
            |w| {
                if let Some(c) = &mut w.challenge {
                    c.request = RequestId::from_random([55; 16])
                }
            },
            Code::ChallengeInvalid,
        ),
        (
            "a challenge for another key",
            |w| {
                if let Some(c) = &mut w.challenge {
                    c.key_sha256 = Digest::of(b"x")
                }
            },
            Code::ChallengeInvalid,
        ),
        (
            "a challenge of another time",
            |w| {
                if let Some(c) = &mut w.challenge {
                    c.issued_at = at(1_001)
                }
            },
            Code::ChallengeInvalid,
        ),
        (
            "a used challenge",
            |w| {
                if let Some(c) = &mut w.challenge {
                    c.used = true
                }
            },
            Code::ChallengeReplayed,
        ),
        ("a foreign key", |w| w.signer = 3, Code::EnvelopeKeyWrong),
        ("an unenrolled key", |w| w.statement.key_sha256 = secret(77).public().digest(), Code::KeyUnknown),
        (
            "a device key",
            |w| {
                w.signer = 102;
                w.statement.key_sha256 = secret(102).public().digest()
            },
            Code::KeyUseWrong,
        ),
        ("a stopped key", |w| stop(&mut w.roster, 2), Code::KeyStopped),
        ("another person's name", |w| w.statement.approver = person(1), Code::ApproverWrong),
        ("a role not asked for", |w| w.statement.role = name("treasury"), Code::RoleNotNeeded),
        ("a role not held", |w| sign_as(w, 4), Code::RoleNotHeld),
        ("the agent's owner", |w| sign_as(w, 3), Code::SelfApproval),
        ("arrived late", |w| w.now = at(301_000), Code::DecisionExpired),
        ("valid for too long", |w| w.statement.expires_at = at(301_001), Code::DecisionExpired),
        ("valid for no time", |w| w.statement.expires_at = w.statement.issued_at, Code::DecisionExpired),
        ("the request's last moment", |w| w.waits_until = w.now, Code::RequestExpired),
        ("a decided request", |w| w.state = RequestState::Approved, Code::RequestAlreadyDecided),
        ("a consumed request", |w| w.state = RequestState::Consumed, Code::RequestAlreadyDecided),
        ("a denied request", |w| w.state = RequestState::Denied, Code::RequestAlreadyDecided),
        ("an expired request", |w| w.state = RequestState::Expired, Code::RequestExpired),
        ("a withdrawn request", |w| w.state = RequestState::Withdrawn, Code::RequestWithdrawn),
        ("a stale request", |w| w.state = RequestState::Stale, Code::RequestStale),
        ("a revoked request", |w| w.state = RequestState::Revoked, Code::RequestRevoked),
        ("an orphaned request", |w| w.orphaned = true, Code::RequestOrphaned),
        ("a second approval", |w| w.approvals = vec![approval(2, "billing-approver")], Code::AlreadyApproved),
        ("nothing to retract", |w| w.statement.decision = DecisionKind::Retract, Code::ApprovalMissing),
        ("nothing to revoke", |w| w.statement.decision = DecisionKind::Revoke, Code::RequestNotApproved),
    ];
    for (what, spoil, code) in cases {
        let mut world = world();
        spoil(&mut world);
        assert_eq!(world.outcome().err(), Some(*code), "{what}");
    }
}

#[test]
fn who_takes_an_approval_back_counts_no_more_and_the_others_do() {
    let mut world = world();
    let mut draft = draft(&world.roster);
    draft.needs[0].quorum = 3;
    world.frozen = FrozenRequest::freeze(draft).expect("frozen");
    world.statement.request_sha256 = world.frozen.request_sha256();
    world.statement.args_sha256 = world.frozen.args_sha256();
    world.statement.decision = DecisionKind::Retract;
    let after = |world: &World| world.outcome().map(|judgement| (judgement.input, judgement.state, judgement.given, judgement.needed));
    world.approvals = vec![approval(2, "billing-approver")];
    assert_eq!(after(&world), Ok((RequestInput::Retract, RequestState::Pending, 0, 3)));
    world.approvals.push(approval(1, "billing-approver"));
    assert_eq!(after(&world), Ok((RequestInput::Retract, RequestState::Pending, 1, 3)));
}

fn stop(roster: &mut Roster, seed: u8) {
    let key = secret(seed).public();
    roster
        .persons
        .iter_mut()
        .flat_map(|person| &mut person.keys)
        .filter(|found| found.key == key)
        .for_each(|found| found.stopped_at = Some(at(1)));
}

/// Person `seed` signs, with a challenge of their own and the roster of today.
fn sign_as(world: &mut World, seed: u8) {
    world.signer = seed;
    world.statement.approver = person(seed);
    world.statement.key_sha256 = secret(seed).public().digest();
    if let Some(challenge) = &mut world.challenge {
        challenge.key_sha256 = world.statement.key_sha256;
    }
}

#[test]
fn nobody_in_the_requesters_chain_decides() {
    type Chain = fn(&mut Draft);
    let chains: [(&str, Chain); 4] = [
        ("owner of the agent", |d| d.agents[0].owner = Some(person(2))),
        ("owner of the agent that sent it", |d| d.agents.push(ChainLink { agent: name("boss"), owner: Some(person(2)) })),
        ("the person it is for", |d| d.on_behalf_of = Some(person(2).to_string())),
        ("the proposer", |d| d.proposer = Some(person(2))),
    ];
    for (what, chain) in chains {
        for decision in [DecisionKind::Approve, DecisionKind::Deny] {
            let mut world = world();
            let mut draft = draft(&world.roster);
            chain(&mut draft);
            world.frozen = FrozenRequest::freeze(draft).expect("frozen");
            world.statement.request_sha256 = world.frozen.request_sha256();
            world.statement.decision = decision;
            assert_eq!(world.outcome().err(), Some(Code::SelfApproval), "{what}");
        }
    }
}

#[test]
fn the_only_admin_may_decide_their_own_roster_change_and_no_other() {
    let first = admission(1, &["admin", "billing-approver"]);
    let sole = Roster::genesis(Environment::Test, secret(90).public(), secret(91).public(), None, &first).expect("genesis");
    let second = sole.with_admission(&admission(2, &["admin"])).expect("admitted");
    for (roster, tool, proposer, expected) in [
        (&sole, "gate.roster.change", 1, Ok(true)),
        (&sole, "gate.table.change", 1, Ok(true)),
        // What somebody else proposed is no exception, and none is claimed.
        (&sole, "gate.roster.change", 2, Ok(false)),
        (&second, "gate.roster.change", 1, Err(Code::SelfApproval)),
        (&second, "gate.roster.change", 2, Ok(false)),
        (&sole, "refund", 1, Err(Code::SelfApproval)),
    ] {
        let mut draft = draft(roster);
        draft.agents = Vec::new();
        draft.proposer = Some(person(proposer));
        draft.tool = name(tool);
        draft.needs = vec![Need { role: name("admin"), quorum: 1, escalate_to: None }];
        let frozen = FrozenRequest::freeze(draft).expect("frozen");
        let found = decision::may_decide(&person(1), &name("admin"), &frozen, false, roster).map_err(|refusal| refusal.code);
        assert_eq!(found, expected, "{tool}");
    }
}

#[test]
fn nobody_decides_on_what_they_gain_whoever_proposed_it() {
    let sole = roster_of(&[(1, &["admin"]), (3, &["billing-approver"])], None);
    let two = roster_of(&[(1, &["admin"]), (2, &["admin"]), (3, &["billing-approver"]), (4, &["admin"])], None);
    let keys = |seed: u8| NewKeys {
        person: person(1),
        approval_key: secret(seed).public(),
        device_key: secret(seed + 1).public(),
        label: "second".to_owned(),
    };
    let changes = [
        (RosterChange::SetRoles { person: person(1), roles: names(&["admin", "billing-approver"]) }, true),
        (RosterChange::SetRoles { person: person(1), roles: names(&["auditor"]) }, true),
        (RosterChange::SetRoles { person: person(1), roles: names(&["billing-approver"]) }, true),
        (RosterChange::AddKeys(keys(60)), true),
        (RosterChange::SetRoles { person: person(1), roles: BTreeSet::new() }, false),
        (RosterChange::Remove { person: person(1) }, false),
    ];
    for (change, gains) in changes {
        for (roster, decider, expected) in
            [(&two, 1, if gains { Err(Code::SelfApproval) } else { Ok(false) }), (&two, 2, Ok(false)), (&sole, 1, Ok(gains))]
        {
            // The only admin cannot remove themselves: no such change can be made.
            let Ok(args) = change.to_args(roster) else { continue };
            let mut draft = draft(roster);
            draft.agents = Vec::new();
            draft.proposer = Some(person(3));
            draft.tool = name("gate.roster.change");
            draft.needs = vec![Need { role: name("admin"), quorum: 1, escalate_to: None }];
            draft.args = args;
            let frozen = FrozenRequest::freeze(draft).expect("frozen");
            let found = decision::may_decide(&person(decider), &name("admin"), &frozen, false, roster).map_err(|refusal| refusal.code);
            assert_eq!(found, expected, "{:?} by {decider}", change.kind());
        }
    }
}

#[test]
fn an_admin_who_stops_all_others_does_not_become_the_only_one() {
    let mut roster = roster_of(&[(1, &["admin"]), (2, &["admin"])], None);
    stop(&mut roster, 1);
    let mut draft = draft(&roster);
    draft.agents = Vec::new();
    draft.proposer = Some(person(2));
    draft.tool = name("gate.roster.change");
    draft.needs = vec![Need { role: name("admin"), quorum: 1, escalate_to: None }];
    let of = |draft: Draft| {
        let frozen = FrozenRequest::freeze(draft).expect("frozen");
        decision::may_decide(&person(2), &name("admin"), &frozen, false, &roster).map_err(|refusal| refusal.code)
    };
    assert_eq!(of(draft.clone()), Err(Code::SelfApproval));
    draft.proposer = Some(person(1));
    assert_eq!(of(draft), Ok(false), "the one who was stopped comes back by keys of their own");
}

/// The frozen change that admits person `seed`, and the admin's approval of it.
fn approved_change(roster: &Roster, seed: u8, spoil: fn(&mut Draft)) -> (FrozenRequest, vidimus_core::dsse::Envelope) {
    let mut draft = draft(roster);
    draft.agents = Vec::new();
    draft.proposer = Some(person(seed));
    draft.tool = name("gate.roster.change");
    draft.needs = vec![Need { role: name("admin"), quorum: 1, escalate_to: None }];
    draft.args = RosterChange::Admit(admission(seed, &["billing-approver"])).to_args(roster).expect("a change");
    spoil(&mut draft);
    let frozen = FrozenRequest::freeze(draft).expect("frozen");
    let mut world = world();
    world.statement.tool = frozen.members().tool.clone();
    world.statement.request_sha256 = frozen.request_sha256();
    world.statement.args_sha256 = frozen.args_sha256();
    world.statement.role = frozen.members().needs[0].role.clone();
    sign_as(&mut world, 1);
    let envelope = world.statement.sign(&secret(1)).expect("signed");
    (frozen, envelope)
}

#[test]
fn an_approved_change_leads_to_one_roster_and_no_gate_can_make_it_another() {
    let before = roster();
    let (frozen, envelope) = approved_change(&before, 7, |_| {});
    let expected = before.with_admission(&admission(7, &["billing-approver"])).expect("admitted");
    let approval = std::slice::from_ref(&envelope);
    assert_eq!(decision::approved_roster(&frozen, approval, &before), Ok(expected.clone()));

    let (other, _) = approved_change(&before, 8, |_| {});
    let (by_role, by_role_envelope) = approved_change(&before, 7, |draft| draft.needs[0].role = name("billing-approver"));
    let (refund, refund_envelope) = approved_change(&before, 7, |draft| draft.tool = name("refund"));
    let code = |frozen: &FrozenRequest, envelopes: &[vidimus_core::dsse::Envelope], previous: &Roster| {
        decision::approved_roster(frozen, envelopes, previous).expect_err("refused").code
    };
    assert_eq!(code(&other, approval, &before), Code::BytesDiffer, "another admission under the same approval");
    assert_eq!(code(&by_role, &[by_role_envelope], &before), Code::ToolWrong, "decided in a role that is not admin");
    assert_eq!(code(&refund, &[refund_envelope], &before), Code::ToolWrong, "the approval of something else");
    let (foreign, foreign_envelope) = approved_change(&before, 7, |draft| draft.proposer = Some(person(2)));
    assert_eq!(code(&foreign, &[foreign_envelope], &before), Code::EnrolmentWrong, "keys that somebody else asks for");
    assert_eq!(code(&frozen, &[], &before), Code::QuorumMissing, "approved by nobody");
    assert_eq!(code(&frozen, approval, &expected), Code::RosterStale, "a change that was made already");
}

#[test]
fn a_quorum_counts_persons_each_for_one_need() {
    let mut draft = draft(&roster());
    draft.needs = vec![
        Need { role: name("billing-approver"), quorum: 2, escalate_to: None },
        Need { role: name("treasury"), quorum: 1, escalate_to: None },
    ];
    let frozen = FrozenRequest::freeze(draft).expect("frozen");
    let cases: &[(&[Approval], u32, bool)] = &[
        (&[], 0, false),
        (&[approval(1, "billing-approver"), approval(2, "billing-approver")], 2, false),
        (&[approval(1, "billing-approver"), approval(1, "billing-approver"), approval(3, "treasury")], 2, false),
        (&[approval(1, "billing-approver"), approval(3, "billing-approver"), approval(3, "treasury")], 2, false),
        (&[approval(1, "billing-approver"), approval(2, "billing-approver"), approval(3, "treasury")], 3, true),
    ];
    for (approvals, given, reached) in cases {
        let found = quorum(&frozen, false, approvals);
        assert_eq!((found.given, found.needed, found.reached), (*given, 3, *reached), "{approvals:?}");
    }
}

/// Approvals, and how many of them count before and after passing on, and whether they are enough.
type Counted<'a> = (&'a [Approval], (u32, bool), (u32, bool));

#[test]
fn once_passed_on_the_next_role_counts_where_the_first_falls_short() {
    let world = world();
    let mut draft = world.frozen.members().clone();
    draft.needs = vec![
        Need { role: name("billing-approver"), quorum: 2, escalate_to: Some(name("cfo")) },
        Need { role: name("cfo"), quorum: 1, escalate_to: None },
    ];
    let frozen = FrozenRequest::freeze(draft).expect("frozen");
    let cases: &[Counted<'_>] = &[
        (&[approval(1, "billing-approver"), approval(2, "billing-approver"), approval(3, "cfo")], (3, true), (3, true)),
        // The second holder of the next role stands in for the missing one of the first; the first is not counted twice.
        (&[approval(1, "billing-approver"), approval(3, "cfo"), approval(4, "cfo")], (2, false), (3, true)),
        // Where the role suffices, nobody stands in for it.
        (&[approval(1, "billing-approver"), approval(2, "billing-approver"), approval(3, "cfo"), approval(4, "cfo")], (3, true), (3, true)),
        (&[approval(1, "billing-approver"), approval(3, "cfo")], (2, false), (2, false)),
        (&[approval(1, "billing-approver"), approval(3, "cfo"), approval(3, "cfo")], (2, false), (2, false)),
        (&[approval(1, "auditor"), approval(3, "cfo"), approval(4, "cfo"), approval(5, "cfo")], (1, false), (3, true)),
    ];
    for (approvals, before, after) in cases {
        for (escalated, expected) in [(false, before), (true, after)] {
            let found = quorum(&frozen, escalated, approvals);
            assert_eq!((found.given, found.reached), *expected, "{escalated} {approvals:?}");
        }
    }
}

#[test]
fn the_next_role_decides_from_the_moment_of_passing_on_and_holds_as_long_as_the_record() {
    let mut world = world();
    let mut draft = world.frozen.members().clone();
    draft.needs[0].escalate_to = Some(name("treasury"));
    world.frozen = FrozenRequest::freeze(draft).expect("frozen");
    for person in &mut world.roster.persons {
        person.roles.insert(name("treasury"));
    }
    world.statement.request_sha256 = world.frozen.request_sha256();
    world.statement.args_sha256 = world.frozen.args_sha256();
    world.statement.roster_sha256 = world.roster.digest().expect("a digest");
    world.statement.role = name("treasury");
    assert_eq!(world.outcome().expect_err("too early"), Code::RoleNotNeeded);
    world.escalated = true;
    assert_eq!(world.outcome().expect("counts").state, RequestState::Approved);
    let approvals = [approval(2, "treasury")];
    assert_eq!(still_approved(&world.frozen, true, &approvals, &world.roster), Ok(()));
    let refused = still_approved(&world.frozen, false, &approvals, &world.roster).expect_err("never passed on");
    assert_eq!(refused.code, Code::RoleNotNeeded);
}

#[test]
fn an_approval_falls_with_its_key_and_its_role() {
    let world = world();
    let approvals = [approval(2, "billing-approver")];
    assert_eq!(still_approved(&world.frozen, false, &approvals, &world.roster), Ok(()));
    assert_eq!(still_approved(&world.frozen, false, &[], &world.roster).expect_err("none").code, Code::QuorumMissing);
    let mut stopped = world.roster.clone();
    stop(&mut stopped, 2);
    assert_eq!(still_approved(&world.frozen, false, &approvals, &stopped).expect_err("stopped").code, Code::KeyStopped);
    let mut demoted = world.roster.clone();
    demoted.persons.iter_mut().for_each(|person| person.roles = BTreeSet::from([name("auditor")]));
    assert_eq!(still_approved(&world.frozen, false, &approvals, &demoted).expect_err("demoted").code, Code::RoleNotHeld);
}

type Edit = fn(&mut World);

/// What a ledger may say after somebody wrote into it, and why nothing runs on it.
const EDITED: &[(&str, Edit, Code)] = &[
    ("a denial that counts as approval", |w| w.statement.decision = DecisionKind::Deny, Code::ApprovalMissing),
    ("an approval of another request", |w| w.statement.request = RequestId::from_random([1; 16]), Code::RequestWrong),
    ("an approval of another tool", |w| w.statement.tool = name("issue_credit"), Code::ToolWrong),
    ("an approval of other bytes", |w| w.statement.request_sha256 = Digest::of(b"x"), Code::BytesDiffer),
    ("an approval of other arguments", |w| w.statement.args_sha256 = Digest::of(b"x"), Code::BytesDiffer),
    ("an approval by another row", |w| w.statement.row_sha256 = Digest::of(b"x"), Code::RowStale),
    ("an approval that its key did not sign", |w| w.signer = 4, Code::EnvelopeKeyWrong),
    ("an approval in another's name", |w| w.statement.approver = person(3), Code::ApproverWrong),
    ("an approval by a key that was stopped since", |w| stop(&mut w.roster, 2), Code::KeyStopped),
];

#[test]
fn an_approval_on_record_is_what_was_signed_and_nothing_beside_it() {
    let read = |world: &World| {
        let envelope = world.statement.sign(&secret(world.signer)).expect("signed");
        approval_on_record(&envelope, &world.frozen, &world.roster).map_err(|refusal| refusal.code)
    };
    let (found, digest) = read(&world()).expect("a good approval");
    assert_eq!(found, approval(2, "billing-approver"));
    let signed = world().statement.sign(&secret(2)).expect("signed");
    assert_eq!(digest, Digest::of(signed.danger_unverified_payload()));
    for (what, edit, code) in EDITED {
        let mut world = world();
        edit(&mut world);
        assert_eq!(read(&world), Err(*code), "{what}");
    }
}

#[test]
fn a_retraction_takes_back_ones_own_approval_and_no_other() {
    let mut world = world();
    let mut draft = world.frozen.members().clone();
    draft.needs[0].quorum = 3;
    world.frozen = FrozenRequest::freeze(draft).expect("frozen");
    world.statement.request_sha256 = world.frozen.request_sha256();
    world.statement.decision = DecisionKind::Retract;
    world.approvals = vec![approval(1, "billing-approver"), approval(2, "billing-approver")];
    let judgement = world.outcome().expect("counts");
    assert_eq!((judgement.input, judgement.state), (RequestInput::Retract, RequestState::Pending));
    assert_eq!((judgement.given, judgement.needed), (1, 3));
    // More time and a denial change nobody's approval.
    world.statement.decision = DecisionKind::MoreTime;
    assert_eq!(world.outcome().expect("counts").given, 2);
}

#[test]
fn a_denial_ends_it_and_a_reason_has_one_digest() {
    let mut world = world();
    world.statement.decision = DecisionKind::Deny;
    assert_eq!(world.outcome().map(|judgement| judgement.state), Ok(RequestState::Denied));
    let salt = Salt::from_bytes([1; 32]);
    assert_ne!(decision::reason_sha256(&salt, "wrong payee"), decision::reason_sha256(&salt, "wrong payee "));
}

#[test]
fn frozen_bytes_read_back_and_nothing_else_does() {
    let frozen = FrozenRequest::freeze(draft(&roster())).expect("frozen");
    let again = FrozenRequest::parse(frozen.bytes()).expect("reads back");
    assert_eq!(again, frozen);
    assert_eq!(frozen.canonical_args(), ARGS.as_bytes());
    let text = String::from_utf8(frozen.bytes().to_vec()).expect("text");
    let changed = [
        text.replace("1500", "1501"),
        text.replace("\"v\":1", "\"v\":2"),
        text.replace("{\"agents\"", "{ \"agents\""),
        text.replace("\"quorum\":1", "\"quorum\":0"),
        text.replace("\"upstream\":null,", ""),
        text.replace("\"v\":1", "\"v\":1,\"w\":1"),
    ];
    for (index, text) in changed.iter().enumerate() {
        match FrozenRequest::parse(text.as_bytes()) {
            Ok(other) => assert!(other.request_sha256() != frozen.request_sha256() && index == 0, "{index}"),
            Err(refusal) => assert_ne!(index, 0, "{refusal}"),
        }
    }
    let one = frozen::args_sha256(&Salt::from_bytes([1; 32]), b"{}");
    assert_ne!(one, frozen::args_sha256(&Salt::from_bytes([2; 32]), b"{}"));
}

fn claims(world: &World) -> TokenClaims {
    TokenClaims {
        jti: Nonce::from_bytes([3; 32]),
        audience: world.roster.gate.to_string(),
        issued_at: at(3_000),
        expires_at: at(63_000),
        request: world.frozen.members().request,
        args_sha256: world.frozen.args_sha256(),
        tool: name("refund"),
        operation: OperationKey::money(&name("refund"), &world.frozen.members().request, &world.frozen.args_sha256()),
        attempt: 1,
        decisions: vec![Digest::of(b"decision")],
    }
}

#[test]
fn a_token_is_good_for_its_executor_tool_arguments_and_time_only() {
    let world = world();
    let claims = claims(&world);
    let minted = token::mint(&claims, &secret(91)).expect("minted");
    let key = secret(91).public();
    let check = |text: &str, key, audience: &str, tool: &str, args: &Digest, now| {
        token::verify(text, key, audience, &name(tool), args, now).map(|token| token.claims().clone()).map_err(|refusal| refusal.code)
    };
    let gate = claims.audience.clone();
    let args = claims.args_sha256;
    assert_eq!(check(&minted, &key, &gate, "refund", &args, at(62_999)), Ok(claims.clone()));
    let other = Digest::of(b"other");
    let other_key = secret(92).public();
    let mut flipped = minted.clone().into_bytes();
    flipped[40] ^= 1;
    let flipped = String::from_utf8(flipped).expect("text");
    let refused = [
        ("other arguments", check(&minted, &key, &gate, "refund", &other, at(4_000)), Code::SignatureInvalid),
        ("another executor", check(&minted, &key, "exe_other", "refund", &args, at(4_000)), Code::SignatureInvalid),
        ("another key", check(&minted, &other_key, &gate, "refund", &args, at(4_000)), Code::SignatureInvalid),
        ("another tool", check(&minted, &key, &gate, "wire_transfer", &args, at(4_000)), Code::ToolWrong),
        ("its last moment", check(&minted, &key, &gate, "refund", &args, at(63_000)), Code::TokenExpired),
        ("no token", check("", &key, &gate, "refund", &args, at(4_000)), Code::TokenMalformed),
    ];
    for (what, found, code) in refused {
        assert_eq!(found, Err(code), "{what}");
    }
    assert!(check(&flipped, &key, &gate, "refund", &args, at(4_000)).is_err());
    for spoiled in [
        TokenClaims { expires_at: claims.issued_at.plus_ms(300_001), ..claims.clone() },
        TokenClaims { expires_at: claims.issued_at, ..claims.clone() },
        TokenClaims { attempt: 0, ..claims.clone() },
        TokenClaims { decisions: Vec::new(), ..claims.clone() },
    ] {
        assert_eq!(token::mint(&spoiled, &secret(91)).expect_err("not minted").code, Code::TokenMalformed);
    }
}

#[test]
fn a_token_that_says_something_else_than_it_was_signed_for_is_refused() {
    let world = world();
    let claims = claims(&world);
    let (gate, args) = (claims.audience.as_str(), claims.args_sha256);
    let kid = secret(91).public().digest();
    let signed = |audience: &str, said: &Digest, kid: Digest, attempt: &str| {
        let payload = Json::object([
            ("jti", claims.jti.into()),
            ("aud", audience.into()),
            ("iat", claims.issued_at.into()),
            ("exp", claims.expires_at.into()),
            ("request", claims.request.to_string().into()),
            ("args_sha256", (*said).into()),
            ("tool", claims.tool.as_str().into()),
            ("operation", claims.operation.to_string().into()),
            ("attempt", parse(attempt.as_bytes(), &Limits::STATEMENT).expect("a number")),
            ("decisions", claims.decisions.clone().into()),
        ]);
        let footer = Json::object([("kid", kid.into())]);
        let implicit = paseto::pae(&[b"vidimus.token.v1", gate.as_bytes(), args.as_bytes()]);
        paseto::sign(&secret(91), &payload.canonical().expect("canonical"), &footer.canonical().expect("canonical"), &implicit)
    };
    let check = |text: &str| {
        let key = secret(91).public();
        token::verify(text, &key, gate, &name("refund"), &args, at(4_000)).map(|_| ()).map_err(|refusal| refusal.code)
    };
    assert_eq!(check(&signed(gate, &args, kid, "1")), Ok(()));
    assert_eq!(check(&signed("exe_other", &args, kid, "1")), Err(Code::SignatureInvalid));
    assert_eq!(check(&signed(gate, &Digest::of(b"other"), kid, "1")), Err(Code::SignatureInvalid));
    assert_eq!(check(&signed(gate, &args, Digest::of(b"another key"), "1")), Err(Code::TokenMalformed));
    assert_eq!(check(&signed(gate, &args, kid, "0")), Err(Code::TokenMalformed));
    assert_eq!(check(&signed(gate, &args, kid, "4294967297")), Err(Code::TokenMalformed));
}

#[test]
fn a_version_is_printable_ascii() {
    for version in ["0.1.0", "0.1.0-beta+7 (linux)", ""] {
        let statement = DecisionStatement { app_version: version.to_owned(), ..world().statement };
        let envelope = statement.sign(&SecretKey::from_seed(&[1; 32])).expect("signed");
        let bytes = envelope.danger_unverified_payload();
        assert_eq!(DecisionStatement::parse(bytes).expect("a statement").app_version, version);
    }
    for version in ["1\u{202e}0", "1\u{0}", "1\n", "\u{e9}"] {
        let statement = DecisionStatement { app_version: version.to_owned(), ..world().statement };
        let envelope = statement.sign(&SecretKey::from_seed(&[1; 32])).expect("signed");
        let bytes = envelope.danger_unverified_payload();
        let refused = DecisionStatement::parse(bytes).expect_err("not printable");
        assert_eq!((refused.code, refused.path.as_deref()), (Code::FieldMalformed, Some("/app_version")));
    }
}
