//! Whether the person here may decide, in which role, and in words why not.

use vidimus_core::code::Code;
use vidimus_core::decision::may_decide;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::Name;

use crate::console::Standing;
use crate::errors::Told;
use crate::strings;
use crate::text::literal::one_line;

/// The role in which the person approves: of those in which they may, one that still lacks somebody. `given` are the roles of the
/// approvals that stand; an approval in a role that has enough would count for nothing.
pub fn role_to_approve(frozen: &FrozenRequest, escalated: bool, standing: &Standing, given: &[String]) -> Result<Name, Told> {
    for need in &frozen.members().needs {
        let roles: Vec<&Name> = std::iter::once(&need.role).chain(need.escalate_to.as_ref().filter(|_| escalated)).collect();
        let counted = given.iter().filter(|given| roles.iter().any(|role| role.as_str() == given.as_str())).count();
        if counted >= need.quorum as usize {
            continue;
        }
        let mine = roles.into_iter().find(|role| may_decide(&standing.person.person, role, frozen, escalated, &standing.roster).is_ok());
        if let Some(role) = mine {
            return Ok(role.clone());
        }
    }
    role_of(frozen, escalated, standing)
}

/// Who else may decide it, by name. `given` are the ids of those who approved already.
pub fn who_can(frozen: &FrozenRequest, escalated: bool, standing: &Standing, given: &[String]) -> Vec<String> {
    let others = standing.roster.persons.iter().filter(|person| person.person != standing.person.person);
    let open = others.filter(|person| !given.contains(&person.person.to_string()));
    let roster = &standing.roster;
    let may = open.filter(|person| {
        let mut held = person.roles.iter();
        held.any(|role| may_decide(&person.person, role, frozen, escalated, roster).is_ok())
    });
    may.map(|person| one_line(&person.name)).collect()
}

/// The role in which the person decides, or why they cannot.
///
/// `escalated`: it waited so long that the roles it is passed on to decide too.
pub fn role_of(frozen: &FrozenRequest, escalated: bool, standing: &Standing) -> Result<Name, Told> {
    let mut refusal = None;
    let needs = &frozen.members().needs;
    let passed_on = needs.iter().filter(|_| escalated).filter_map(|need| need.escalate_to.as_ref());
    for role in needs.iter().map(|need| &need.role).chain(passed_on) {
        match may_decide(&standing.person.person, role, frozen, escalated, &standing.roster) {
            Ok(_) => return Ok(role.clone()),
            // That a request is one's own weighs more than a role one lacks besides.
            Err(found) if found.code == Code::SelfApproval => refusal = Some(found),
            Err(found) => refusal = refusal.or(Some(found)),
        }
    }
    let needed: Vec<&str> = frozen.members().needs.iter().map(|need| need.role.as_str()).collect();
    let held: Vec<&str> = standing.person.roles.iter().map(Name::as_str).collect();
    Err(match refusal.map(|refusal| refusal.code) {
        Some(Code::SelfApproval) => Told::new("E-DEC-3", strings::OWN_REQUEST),
        _ => Told::new("E-DEC-2", strings::role_missing(&needed.join(", "), &held.join(", "))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Log, name};
    use vidimus_core::table::Need;

    #[test]
    fn an_approval_is_given_in_a_role_that_lacks_one() {
        let log = Log::founded(&["billing-approver"]);
        let standing = Standing { roster: log.roster.clone(), person: log.roster.persons[0].clone() };
        let frozen = log.freeze("refund", r#"{"invoice":"invoice_842","amount_minor":4200,"currency":"EUR","reason":"charged twice"}"#);
        let need = |role: &str| Need { role: name(role), quorum: 1, escalate_to: None };
        let needs = vec![need("billing-approver"), need("admin")];
        let frozen = FrozenRequest::freeze(vidimus_core::frozen::Draft { needs, ..frozen.members().clone() }).unwrap();
        let role = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|role| (*role).to_owned()).collect();
            role_to_approve(&frozen, false, &standing, &given).unwrap().to_string()
        };
        assert_eq!(role(&[]), "billing-approver");
        assert_eq!(role(&["billing-approver"]), "admin");
        assert_eq!(role(&["admin"]), "billing-approver");
        assert_eq!(role(&["admin", "billing-approver"]), "billing-approver", "the gate says that it has enough");
    }
}
