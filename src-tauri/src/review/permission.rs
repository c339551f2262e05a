//! Whether the person here may decide, in which role, and in words why not.

use vidimus_core::code::Code;
use vidimus_core::decision::may_decide;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::Name;

use crate::console::Standing;
use crate::errors::Told;
use crate::strings;

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
