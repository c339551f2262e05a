//! The chain of rosters: each step and what forbids it, each statement and what makes it worthless, and a reader that walks
//! the log.

use vidimus_core::bytes::Digest;
use vidimus_core::chain::RosterChain;
use vidimus_core::code::Code;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::{Environment, GateId};
use vidimus_core::json::Json;
use vidimus_core::limits::{KEYS_ACTIVE_PER_PERSON_MAX, KEYS_PER_PERSON_MAX, RECOVERIES_WAITING_MAX, RECOVERY_DELAY_S, STOPPED_KEYS_MAX};
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::recovery::{Recovery, Veto, admission_from_json, admission_to_json};
use vidimus_core::roster::{KeyUse, NewKeys, Roster, RosterChange};
use vidimus_core::sign::SecretKey;
use vidimus_core::statement::Genesis;
use vidimus_core::stop::{Stop, stopped_roster};
use vidimus_core::time::Timestamp;

use crate::house::{RECOVERY, admission, at, names, person, roster_of, secret};

/// Seconds after the moment at which every case begins.
fn second(s: u64) -> Timestamp {
    at(0).plus_s(s)
}

fn key(seed: u8) -> Digest {
    secret(seed).public().digest()
}

fn new_keys(person_seed: u8, seed: u8) -> NewKeys {
    NewKeys {
        person: person(person_seed),
        approval_key: secret(seed).public(),
        device_key: secret(seed + 100).public(),
        label: format!("desktop-{seed}"),
    }
}

fn genesis() -> Roster {
    roster_of(&[(1, &["admin", "payer"])], Some(RECOVERY))
}

/// 1 is admin, 2 is not, 3 is admin.
fn three() -> Roster {
    roster_of(&[(1, &["admin", "payer"]), (2, &["payer"]), (3, &["admin"])], Some(RECOVERY))
}

#[test]
fn each_change_leads_to_one_version_that_says_what_it_says() {
    let before = three();
    let changes = [
        RosterChange::Admit(admission(4, &["payer"])),
        RosterChange::AddKeys(new_keys(2, 40)),
        RosterChange::SetRoles { person: person(2), roles: names(&["auditor", "payer"]) },
        RosterChange::Remove { person: person(2) },
    ];
    for change in changes {
        let args = change.to_args(&before).expect("arguments");
        assert_eq!(RosterChange::parse(&args), Ok(change.clone()));
        let next = RosterChange::next_roster(&args, &before).expect("a next version");
        assert_eq!((next.version, next.previous_sha256), (before.version + 1, Some(before.digest().expect("digest"))));
        assert_eq!(Roster::parse(&next.to_json().canonical().expect("canonical")), Ok(next.clone()));
        let code = |args: &Json, previous: &Roster| RosterChange::next_roster(args, previous).expect_err("refused").code;
        assert_eq!(code(&args, &next), Code::RosterStale, "made already: {:?}", change.kind());
        let Json::Object(members) = &args else { panic!("arguments are an object") };
        let edited = |member: &str, value: Json| {
            let members = members.iter().map(|(name, old)| (name.clone(), if name == member { value.clone() } else { old.clone() }));
            Json::Object(members.collect())
        };
        assert_eq!(code(&edited("next_sha256", Digest::of(b"x").into()), &before), Code::RosterChangeInvalid);
        assert_eq!(code(&edited("change", "promote".into()), &before), Code::RosterChangeInvalid);
        let named = code(&edited("name", "Somebody Else".into()), &before);
        assert_eq!(named, Code::RosterChangeInvalid, "another name: {:?}", change.kind());
        let with_more = Json::Object(members.iter().cloned().chain([("more".to_owned(), Json::Null)]).collect());
        assert_eq!(code(&with_more, &before), Code::FieldUnknown);
    }
}

#[test]
fn what_no_change_may_do() {
    let roster = three();
    let cases = [
        ("a person who is not there", RosterChange::SetRoles { person: person(9), roles: names(&["payer"]) }, Code::RosterChangeInvalid),
        ("the roles already held", RosterChange::SetRoles { person: person(2), roles: names(&["payer"]) }, Code::RosterChangeInvalid),
        ("no role at all", RosterChange::SetRoles { person: person(2), roles: names(&[]) }, Code::RosterChangeInvalid),
        ("everyone as a role", RosterChange::SetRoles { person: person(2), roles: names(&["everyone"]) }, Code::RosterChangeInvalid),
        ("a key of somebody", RosterChange::AddKeys(new_keys(2, 3)), Code::RosterChangeInvalid),
        ("a key of the gate", RosterChange::AddKeys(new_keys(2, 90)), Code::RosterChangeInvalid),
        ("the recovery key", RosterChange::AddKeys(new_keys(2, RECOVERY)), Code::RosterChangeInvalid),
        ("keys of nobody", RosterChange::AddKeys(new_keys(9, 40)), Code::RosterChangeInvalid),
        ("a person who is there", RosterChange::Admit(admission(2, &["payer"])), Code::RosterChangeInvalid),
    ];
    for (what, change, code) in cases {
        assert_eq!(change.next(&roster).expect_err(what).code, code, "{what}");
    }
}

#[test]
fn a_roster_keeps_an_admin_who_can_sign() {
    let sole = genesis().with_admission(&admission(2, &["payer"])).expect("admitted");
    let code = |roster: &Roster, change: &RosterChange| change.next(roster).map(|_| ()).map_err(|refusal| refusal.code);
    let removal = RosterChange::Remove { person: person(1) };
    let demotion = RosterChange::SetRoles { person: person(1), roles: names(&["payer"]) };
    assert_eq!(code(&sole, &removal), Err(Code::LastAdmin));
    assert_eq!(code(&sole, &demotion), Err(Code::LastAdmin));
    for stopped in [key(1), key(101)] {
        let refusal = sole.with_stopped(&person(1), &[stopped], second(0)).expect_err("the last admin's");
        assert_eq!(refusal.code, Code::LastAdmin, "an admin needs both keys");
    }
    let two_desktops = sole.with_keys(&new_keys(1, 40)).expect("a second desktop");
    let mut first_desktop = [key(1), key(101)];
    first_desktop.sort();
    let one_left = two_desktops.with_stopped(&person(1), &first_desktop, second(0)).expect("one desktop stays").expect("a version");
    assert!(one_left.is_sole_admin(&person(1)) && one_left.active_key(&key(1), KeyUse::Approval).is_err());
    assert_eq!(code(&three(), &removal), Ok(()), "another admin is left");
}

#[test]
fn a_person_has_so_many_keys_and_no_more() {
    let mut roster = three();
    let mut seed = 0;
    let mut added = 2;
    // Seeds of four bytes, since a life of keys is more than one byte counts.
    let mut fresh = || {
        seed += 1_u32;
        let mut bytes = [7; 32];
        bytes[..4].copy_from_slice(&seed.to_le_bytes());
        SecretKey::from_seed(&bytes).public()
    };
    loop {
        let keys = NewKeys { person: person(2), approval_key: fresh(), device_key: fresh(), label: "desktop".to_owned() };
        match roster.with_keys(&keys) {
            Ok(next) => {
                added += 2;
                assert!(added <= KEYS_PER_PERSON_MAX, "one desktop too many");
                roster = next;
            }
            Err(refusal) => {
                assert_eq!(refusal.code, Code::RosterChangeInvalid);
                let active: Vec<Digest> = roster.person(&person(2)).expect("there").keys.iter().map(|key| key.key.digest()).collect();
                let Ok(Some(next)) = roster.with_stopped(&person(2), &active, second(0)) else { break };
                assert_eq!(active.len() % KEYS_ACTIVE_PER_PERSON_MAX, 0, "refused before the bound");
                roster = next;
            }
        }
    }
    assert_eq!(added, KEYS_PER_PERSON_MAX);
}

fn stop_of(seeds: &[u8]) -> Stop {
    let roster = three();
    let mut keys: Vec<Digest> = seeds.iter().map(|seed| key(*seed)).collect();
    keys.sort();
    Stop { gate: roster.gate, environment: Environment::Test, person: person(2), keys, issued_at: second(0) }
}

#[test]
fn a_stop_is_signed_by_its_person_or_an_admin() {
    let roster = three();
    let code = |stop: &Stop, signer: u8| {
        stopped_roster(&stop.sign(&secret(signer)).expect("signed"), &roster, second(5)).map(|(_, next)| next.is_some()).map_err(|r| r.code)
    };
    let stop = stop_of(&[2, 102]);
    assert_eq!(code(&stop, 2), Ok(true), "the person's approval key");
    assert_eq!(code(&stop, 102), Ok(true), "the person's device key");
    assert_eq!(code(&stop, 1), Ok(true), "an admin's approval key");
    assert_eq!(code(&stop, 101), Err(Code::KeyUseWrong), "an admin's device key");
    assert_eq!(code(&stop, 50), Err(Code::KeyUnknown), "a key of nobody");
    let of_admin = Stop { person: person(1), keys: vec![key(1)], ..stop.clone() };
    assert_eq!(code(&of_admin, 2), Err(Code::RoleNotHeld), "another person who is not admin");
    let cases: [(&str, Stop, Code); 6] = [
        ("another gate", Stop { gate: GateId::of(&secret(80).public()), ..stop.clone() }, Code::GateWrong),
        ("the other environment", Stop { environment: Environment::Live, ..stop.clone() }, Code::EnvironmentWrong),
        ("a key of another person", Stop { keys: vec![key(3)], ..stop.clone() }, Code::KeyUnknown),
        ("no key", Stop { keys: Vec::new(), ..stop.clone() }, Code::FieldMalformed),
        ("one key twice", Stop { keys: vec![key(2), key(2)], ..stop.clone() }, Code::FieldMalformed),
        ("another person", Stop { person: person(9), ..stop.clone() }, Code::RoleNotHeld),
    ];
    for (what, stop, expected) in cases {
        assert_eq!(code(&stop, 2), Err(expected), "{what}");
    }
}

#[test]
fn a_stopped_key_stops_nothing_but_what_it_stopped() {
    let roster = three().with_keys(&new_keys(2, 40)).expect("a second desktop");
    let stop = stop_of(&[2, 102]);
    let envelope = stop.sign(&secret(2)).expect("signed");
    let (_, next) = stopped_roster(&envelope, &roster, second(5)).expect("counts");
    let next = next.expect("a version");
    assert_eq!(next.key(&key(2)).and_then(|holder| holder.key.stopped_at), Some(second(5)), "by the log's time, not the signer's");
    let (_, again) = stopped_roster(&envelope, &next, second(6)).expect("the same stop again");
    assert_eq!(again, None, "nothing changes twice");
    let other = stop_of(&[40]).sign(&secret(2)).expect("signed");
    assert_eq!(stopped_roster(&other, &next, second(6)).expect_err("stopped").code, Code::KeyStopped);
    // A stop of a key that is stopped beside one that is not leaves the first time standing.
    let both = stop_of(&[2, 40]).sign(&secret(140)).expect("signed");
    let last = stopped_roster(&both, &next, second(7)).expect("counts").1.expect("a version");
    let since = |seed| last.key(&key(seed)).and_then(|holder| holder.key.stopped_at);
    assert_eq!((since(2), since(40)), (Some(second(5)), Some(second(7))));
}

#[test]
fn a_stop_under_another_signature_is_worthless() {
    let roster = three();
    let good = stop_of(&[2]).sign(&secret(2)).expect("signed");
    let forged = String::from_utf8(good.to_json().canonical().expect("canonical")).expect("text");
    let other = stop_of(&[102]).sign(&secret(2)).expect("signed");
    let signature = |envelope: &Envelope| envelope.to_json().pointer("/signatures/0/sig").and_then(Json::as_str).map(str::to_owned);
    let forged = forged.replace(&signature(&good).expect("a signature"), &signature(&other).expect("a signature"));
    let forged = Envelope::parse(forged.as_bytes()).expect("an envelope");
    assert_eq!(stopped_roster(&forged, &roster, second(5)).expect_err("forged").code, Code::SignatureInvalid);
    let veto = Veto { gate: roster.gate, environment: Environment::Test, recovery_sha256: Digest::of(b"x"), issued_at: second(0) };
    let veto = veto.sign(&secret(1)).expect("signed");
    assert!(stopped_roster(&veto, &roster, second(5)).is_err(), "another type of statement");
}

/// A record as the log has it.
fn record(record_type: RecordType, s: u64, claims: Json, envelopes: Vec<Envelope>) -> AuditRecord {
    AuditRecord { record_type, at: second(s), request: None, operation: None, roles: Vec::new(), claims, envelopes, body_sha256: None }
}

fn changed(by: &str, roster: &Roster, s: u64, envelope: Envelope) -> AuditRecord {
    let claims =
        Json::object([("version", roster.version.into()), ("roster_sha256", roster.digest().expect("digest").into()), ("by", by.into())]);
    record(RecordType::RosterChanged, s, claims, vec![envelope])
}

fn first() -> AuditRecord {
    let roster = genesis();
    let genesis = Genesis { roster: roster.clone(), table_sha256: Digest::of(b"t"), invite_sha256: Digest::of(b"i"), issued_at: second(0) };
    changed("genesis", &roster, 0, genesis.sign(&secret(1)).expect("signed"))
}

fn begun() -> RosterChain {
    let mut chain = RosterChain::default();
    chain.changed(&first(), None).expect("genesis");
    chain
}

fn recovery(seed: u8) -> Recovery {
    Recovery { gate: genesis().gate, environment: Environment::Test, admission: admission(seed, &["admin"]), issued_at: second(0) }
}

fn announced(seed: u8, s: u64) -> AuditRecord {
    record(RecordType::RecoveryAnnounced, s, Json::object([]), vec![recovery(seed).sign(&secret(RECOVERY)).expect("signed")])
}

fn recovered(seed: u8, s: u64) -> AuditRecord {
    let next = genesis().with_admission(&admission(seed, &["admin"])).expect("admitted");
    changed("recovery", &next, s, recovery(seed).sign(&secret(RECOVERY)).expect("signed"))
}

fn vetoed(recovery_sha256: Digest, signer: u8) -> AuditRecord {
    let veto = Veto { gate: genesis().gate, environment: Environment::Test, recovery_sha256, issued_at: second(0) };
    record(RecordType::RecoveryVetoed, 10, Json::object([]), vec![veto.sign(&secret(signer)).expect("signed")])
}

/// Makes one thing wrong.
type Spoil = fn(&mut Roster);

#[test]
fn a_genesis_holds_a_first_version_with_one_admin() {
    let of = |spoil: Spoil| {
        let mut roster = genesis();
        spoil(&mut roster);
        let genesis = Genesis { roster, table_sha256: Digest::of(b"t"), invite_sha256: Digest::of(b"i"), issued_at: second(0) };
        Genesis::verify(&genesis.sign(&secret(1)).expect("signed")).map(|_| ()).map_err(|refusal| refusal.code)
    };
    assert_eq!(of(|_| {}), Ok(()));
    let spoiled: &[(&str, Spoil)] = &[
        ("a later version", |roster| roster.version = 2),
        ("a version before it", |roster| roster.previous_sha256 = Some(Digest::of(b"p"))),
        ("nobody who is admin", |roster| roster.persons[0].roles = names(&["payer"])),
        ("two persons", |roster| *roster = roster.with_admission(&admission(2, &["admin"])).expect("admitted")),
        ("three keys", |roster| {
            let more = roster.persons[0].keys[0].clone();
            roster.persons[0].keys.push(more);
        }),
    ];
    for (what, spoil) in spoiled {
        assert!(of(*spoil).is_err(), "{what}");
    }
    assert_eq!(of(|roster| roster.persons[0].roles = names(&["payer"])), Err(Code::GenesisMalformed));
}

#[test]
fn a_stop_names_as_many_keys_as_a_person_can_have_at_work() {
    let roster = three();
    let of = |count: usize| {
        let mut keys: Vec<Digest> = (0..count).map(|index| Digest::of(index.to_string().as_bytes())).collect();
        keys.sort();
        let stop = Stop { keys, ..stop_of(&[2]) };
        stopped_roster(&stop.sign(&secret(3)).expect("signed"), &roster, second(5)).map(|_| ()).map_err(|refusal| refusal.code)
    };
    assert_eq!((of(0), of(STOPPED_KEYS_MAX + 1)), (Err(Code::FieldMalformed), Err(Code::FieldMalformed)));
    assert_eq!(of(STOPPED_KEYS_MAX), Err(Code::KeyUnknown), "as many as that are read, and looked for");
}

#[test]
fn the_roles_of_an_admission_are_distinct_and_in_order() {
    let with = |roles: &[&str]| {
        let Json::Object(members) = admission_to_json(&admission(5, &["admin"])) else { panic!("an object") };
        let members = members.into_iter().map(|(name, value)| if name == "roles" { (name, roles.to_vec().into()) } else { (name, value) });
        admission_from_json(&Json::Object(members.collect())).map(|admission| admission.roles).map_err(|refusal| refusal.code)
    };
    assert_eq!(with(&["admin", "payer"]), Ok(names(&["admin", "payer"])));
    assert_eq!(with(&["payer", "admin"]), Err(Code::FieldMalformed), "out of order");
    assert_eq!(with(&["admin", "admin"]), Err(Code::FieldMalformed), "twice");
}

#[test]
fn a_recovery_takes_effect_a_day_after_everybody_was_told() {
    let mut chain = begun();
    let code = |chain: &mut RosterChain, record: &AuditRecord| chain.changed(record, None).expect_err("refused").code;
    assert_eq!(code(&mut chain, &recovered(5, RECOVERY_DELAY_S)), Code::RecoveryNotWaiting, "announced to nobody");
    chain.announced(&announced(5, 1)).expect("announced");
    assert_eq!(code(&mut chain, &recovered(5, RECOVERY_DELAY_S)), Code::RecoveryTooEarly, "a second before its time");
    chain.changed(&recovered(5, RECOVERY_DELAY_S + 1), None).expect("its time has come");
    assert!(chain.roster().is_some_and(|roster| roster.person(&person(5)).is_some()) && chain.waiting().is_empty());
}

#[test]
fn an_admin_objects_and_nobody_else() {
    let mut chain = begun();
    let recovery_sha256 = chain.announced(&announced(5, 1)).expect("announced");
    let code = |chain: &mut RosterChain, record: &AuditRecord| chain.vetoed(record).expect_err("refused").code;
    assert_eq!(code(&mut chain, &vetoed(recovery_sha256, 101)), Code::KeyUseWrong, "an admin's device key");
    assert_eq!(code(&mut chain, &vetoed(recovery_sha256, 50)), Code::KeyUnknown, "a stranger");
    assert_eq!(code(&mut chain, &vetoed(recovery_sha256, RECOVERY)), Code::KeyUnknown, "the recovery key itself");
    assert_eq!(code(&mut chain, &vetoed(Digest::of(b"x"), 1)), Code::RecoveryNotWaiting, "another recovery");
    assert_eq!(chain.vetoed(&vetoed(recovery_sha256, 1)), Ok(recovery_sha256));
    assert_eq!(code(&mut chain, &vetoed(recovery_sha256, 1)), Code::RecoveryNotWaiting, "objected already");
    let late = chain.changed(&recovered(5, RECOVERY_DELAY_S * 2), None).expect_err("vetoed").code;
    assert_eq!(late, Code::RecoveryNotWaiting);
    let again = chain.announced(&announced(5, 20)).expect_err("the same statement again").code;
    assert_eq!(again, Code::RecoveryVetoed, "a veto is for ever");
    let not_admin = three();
    let veto = Veto { gate: not_admin.gate, environment: Environment::Test, recovery_sha256, issued_at: second(0) };
    let by_payer = veto.sign(&secret(2)).expect("signed");
    assert_eq!(Veto::verify(&by_payer, &not_admin).expect_err("no admin").code, Code::RoleNotHeld);
    let elsewhere = Veto { environment: Environment::Live, ..veto.clone() }.sign(&secret(1)).expect("signed");
    assert_eq!(Veto::verify(&elsewhere, &not_admin).expect_err("elsewhere").code, Code::EnvironmentWrong);
    let foreign = Veto { gate: GateId::of(&secret(80).public()), ..veto }.sign(&secret(1)).expect("signed");
    assert_eq!(Veto::verify(&foreign, &not_admin).expect_err("foreign").code, Code::GateWrong);
}

#[test]
fn only_the_recovery_key_recovers() {
    let roster = genesis();
    let code = |recovery: &Recovery, signer: u8, roster: &Roster| {
        Recovery::verify(&recovery.sign(&secret(signer)).expect("signed"), roster).expect_err("refused").code
    };
    let good = recovery(5);
    assert_eq!(code(&good, 1, &roster), Code::EnvelopeKeyWrong, "an admin's key");
    assert_eq!(code(&good, 90, &roster), Code::EnvelopeKeyWrong, "the gate's own key");
    let without = Roster { recovery_key: None, ..roster.clone() };
    assert_eq!(code(&good, RECOVERY, &without), Code::KeyUnknown);
    let foreign = Recovery { gate: GateId::of(&secret(80).public()), ..good.clone() };
    assert_eq!(code(&foreign, RECOVERY, &roster), Code::GateWrong);
    let elsewhere = Recovery { environment: Environment::Live, ..good.clone() };
    assert_eq!(code(&elsewhere, RECOVERY, &roster), Code::EnvironmentWrong);
    let known = Recovery { admission: admission(1, &["admin"]), ..good };
    assert_eq!(code(&known, RECOVERY, &roster), Code::RosterChangeInvalid);
    let mut chain = begun();
    for seed in 0..RECOVERIES_WAITING_MAX {
        chain.announced(&announced(10 + u8::try_from(seed).expect("small"), 1)).expect("announced");
    }
    assert_eq!(chain.announced(&announced(60, 1)).expect_err("too many").code, Code::RosterChangeInvalid);
}

#[test]
fn a_reader_believes_no_version_that_its_signatures_do_not_lead_to() {
    let stop = Stop { gate: genesis().gate, environment: Environment::Test, person: person(1), keys: vec![key(1)], issued_at: second(0) };
    let two_desktops = genesis().with_keys(&new_keys(1, 40)).expect("a second desktop");
    let chain = RosterChain::resume(Some(two_desktops.clone()), begun().waiting().clone(), begun().ended().clone());
    let next = two_desktops.with_stopped(&person(1), &[key(1)], second(9)).expect("stopped").expect("a version");
    let good = changed("stop", &next, 9, stop.sign(&secret(101)).expect("signed"));
    assert!(chain.clone().changed(&good, None).is_ok());
    let code = |record: &AuditRecord| chain.clone().changed(record, None).expect_err("refused").code;
    assert_eq!(code(&changed("stop", &two_desktops, 9, good.envelopes[0].clone())), Code::RosterChangeInvalid, "another version");
    assert_eq!(code(&AuditRecord { at: second(10), ..good.clone() }), Code::RosterChangeInvalid, "another time than the version has");
    assert_eq!(code(&changed("recovery", &next, 9, good.envelopes[0].clone())), Code::FieldMissing, "a stop is no recovery");
    assert_eq!(code(&changed("change", &next, 9, good.envelopes[0].clone())), Code::FieldMalformed, "a stop is no change");
    assert_eq!(code(&changed("coup", &next, 9, good.envelopes[0].clone())), Code::FieldMalformed, "an unknown cause");
    assert_eq!(code(&AuditRecord { envelopes: Vec::new(), ..good.clone() }), Code::FieldMalformed, "signed by nobody");
    assert_eq!(code(&first()), Code::GenesisMalformed, "a second beginning");
    assert_eq!(RosterChain::default().changed(&good, None).expect_err("no beginning").code, Code::GenesisMalformed);
    let refused = |claims| record(RecordType::RecoveryRefused, 1, claims, Vec::new());
    let nothing = Json::object([("recovery_sha256", Digest::of(b"x").into())]);
    assert_eq!(chain.clone().refused(&refused(nothing)).expect_err("nothing waits").code, Code::RecoveryNotWaiting);
    let mut waiting = begun();
    let recovery_sha256 = waiting.announced(&announced(5, 1)).expect("announced");
    let named = Json::object([("recovery_sha256", recovery_sha256.into())]);
    assert_eq!(waiting.refused(&refused(named)), Ok(recovery_sha256));
    assert!(waiting.waiting().is_empty() && waiting.ended().contains(&recovery_sha256));
}
