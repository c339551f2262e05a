//! A roster that becomes one admin's: nobody brings that about for themselves with the help of anybody.

use vidimus_core::code::Code;
use vidimus_core::decision::may_decide;
use vidimus_core::frozen::{Draft, FrozenRequest, Need};
use vidimus_core::roster::{Roster, RosterChange};

use crate::house::{at, draft, name, names, person, roster_of, secret};

fn removal(of: u8) -> RosterChange {
    RosterChange::Remove { person: person(of) }
}

fn demotion(of: u8) -> RosterChange {
    RosterChange::SetRoles { person: person(of), roles: names(&["billing-approver"]) }
}

fn decided(roster: &Roster, change: &RosterChange, proposer: u8, decider: u8) -> Result<bool, Code> {
    let frozen = FrozenRequest::freeze(Draft {
        agents: Vec::new(),
        proposer: Some(person(proposer)),
        tool: name("gate.roster.change"),
        needs: vec![Need { role: name("admin"), quorum: 1, escalate_to: None }],
        args: change.to_args(roster).expect("a change"),
        ..draft(roster)
    });
    may_decide(&person(decider), &name("admin"), &frozen.expect("frozen"), false, roster).map_err(|refusal| refusal.code)
}

/// A name for the case, the roster, the change, who proposes, who decides, and what is said.
type Case<'a> = (&'a str, &'a Roster, RosterChange, u8, u8, Result<bool, Code>);

#[test]
fn nobody_makes_themselves_the_only_admin() {
    let one = roster_of(&[(1, &["admin"]), (3, &["billing-approver"])], None);
    let two = roster_of(&[(1, &["admin", "billing-approver"]), (2, &["admin"]), (3, &["billing-approver"])], None);
    let three = roster_of(&[(1, &["admin"]), (2, &["admin"]), (3, &["billing-approver"]), (4, &["admin"])], None);
    let then_two = removal(4).next(&three).expect("a roster");
    let mut stopped = two.clone();
    for key in &mut stopped.persons.iter_mut().find(|known| known.person == person(1)).expect("an admin").keys {
        key.stopped_at = Some(at(1));
    }
    let mine = Err(Code::SelfApproval);
    let cases: &[Case<'_>] = &[
        ("somebody else proposes that the other admin goes", &two, removal(1), 3, 2, mine),
        ("or holds the role no more", &two, demotion(1), 3, 2, mine),
        ("the one who stays proposes it", &two, removal(1), 2, 2, mine),
        ("the last step of several", &then_two, removal(1), 3, 2, mine),
        ("the other admin's keys are stopped", &stopped, removal(1), 3, 2, mine),
        ("and the role goes", &stopped, demotion(1), 3, 2, mine),
        ("whoever goes asks for it", &two, removal(1), 1, 2, Ok(false)),
        ("or for another role", &two, demotion(1), 1, 2, Ok(false)),
        ("whoever goes consents", &two, removal(1), 3, 1, Ok(false)),
        ("whoever goes consents to what the other proposed", &two, demotion(1), 2, 1, Ok(false)),
        ("two admins stay", &three, removal(1), 3, 2, Ok(false)),
        ("somebody goes who is no admin", &two, removal(3), 1, 2, Ok(false)),
        ("the only admin was it before", &one, removal(3), 1, 1, Ok(true)),
        ("and of what others propose", &one, removal(3), 3, 1, Ok(false)),
    ];
    for (case, roster, change, proposer, decider, expected) in cases {
        assert_eq!(decided(roster, change, *proposer, *decider), *expected, "{case}");
    }
}

#[test]
fn who_came_by_the_recovery_key_is_not_left_alone_either() {
    let before = roster_of(&[(1, &["admin"]), (3, &["billing-approver"])], Some(crate::house::RECOVERY));
    let after = before.with_admission(&crate::house::admission(5, &["admin"])).expect("admitted");
    assert_eq!(decided(&after, &removal(1), 3, 5), Err(Code::SelfApproval));
    assert_eq!(decided(&after, &removal(5), 3, 1), Err(Code::SelfApproval), "nor is whoever was there before");
    assert!(after.active_key(&secret(1).public().digest(), vidimus_core::roster::KeyUse::Approval).is_ok());
}
