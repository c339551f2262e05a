//! Recoveries that run, as everybody here is told of them: who, which key, when, and how it is stopped.

use serde::Serialize;
use vidimus_core::chain::AnnouncedRecovery;
use vidimus_core::ids::Name;

use crate::console::Console;
use crate::desktops;
use crate::mirror::Mirror;
use crate::strings;
use crate::text::literal::one_line;
use crate::text::time;

/// A recovery that runs, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "Recovery"))]
pub struct RecoveryText {
    /// Its digest, which tells it from others.
    pub recovery: String,
    pub text: String,
    pub key_text: String,
    /// What the person here can do.
    pub advice: String,
}

/// All that run, the one that takes effect first before the others.
pub fn of(console: &Console) -> Vec<RecoveryText> {
    let Some(chain) = console.read(Mirror::chain) else { return Vec::new() };
    let now_ms = console.now_ms();
    let advice = if console.standing().is_some_and(|standing| desktops::is_admin(&standing.person)) {
        strings::OBJECT_IF_UNKNOWN.to_owned()
    } else {
        strings::ask_to_object(&other_admins(console))
    };
    let mut running: Vec<_> = chain.waiting().iter().collect();
    running.sort_by_key(|(_, announced)| announced.announced_at);
    let words = |announced: &AnnouncedRecovery| {
        let roles: Vec<&str> = announced.admission.roles.iter().map(Name::as_str).collect();
        let when = time::day_and_time(announced.effective_at.as_ms(), now_ms, &console.zone);
        strings::recovery_runs(&one_line(&announced.admission.name), &roles.join(", "), &when)
    };
    running
        .into_iter()
        .map(|(recovery, announced)| RecoveryText {
            recovery: recovery.to_string(),
            text: words(announced),
            key_text: strings::recovery_key(&strings::hash_groups(&announced.admission.approval_key.digest().to_string())),
            advice: advice.clone(),
        })
        .collect()
}

/// The administrators besides the person here, by name.
pub fn other_admins(console: &Console) -> Vec<String> {
    let me = console.membership().map(|membership| membership.person);
    let roster = console.read(Mirror::roster).flatten();
    let admins = roster.iter().flat_map(|roster| &roster.persons).filter(|person| desktops::is_admin(person) && Some(person.person) != me);
    admins.map(|person| one_line(&person.name)).collect()
}
