//! Keys that do not enrol.

use vidimus_api::enrolment::{Offer, OfferRequest};
use vidimus_api::invite::{Invite, code_sha256};
use vidimus_core::bytes::{Digest, base64_encode, base64url_encode};
use vidimus_core::ids::Environment;
use vidimus_core::operation::OperationState;
use vidimus_core::record::RecordType;
use vidimus_core::roster::KeyUse;
use vidimus_core::sign::SecretKey;
use vidimus_core::statement::{ENROLMENT_TYPE, Enrolment};
use vidimus_tests::approver::{enrolment, raw};

use crate::ROLE;
use crate::faults::log::Log;
use crate::faults::wire::envelope_body;
use crate::faults::{House, problem_of, until};
use crate::signed::{payload_of, small_order};

/// A key for which anyone can sign, one key for two uses, a key that is somebody's already, a key that is not there: none of
/// them enrols, and the invite is still good afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_enrols_only_with_its_own_proof_and_for_one_person() {
    let house = House::open().await;
    let line = house.home.invite("Bert Beispiel", &[ROLE]).expect("an invite");
    let spare = house.home.invite("Cara Pretend", &[ROLE]).expect("an invite");
    let mut log = Log::follow(&house).await;
    let invite: Invite = line.parse().expect("an invite");
    let offer = house.admin.gate.offer(&OfferRequest { code: invite.code }).await.expect("an offer");
    let [approval, device, stranger] = [20, 21, 22].map(|seed| SecretKey::from_seed(&[seed; 32]));
    let good = enrolment(&invite, &offer, "desktop", &approval, &device).expect("statements");
    let proof = |key_use, key: &SecretKey, signer: &SecretKey, change: fn(&mut Enrolment)| {
        let mut statement = statement_of(&invite, &offer, key_use, key);
        change(&mut statement);
        raw(&statement.sign(signer).expect("signed")).expect("an envelope")
    };
    let weak = weak_proof(&statement_of(&invite, &offer, KeyUse::Approval, &approval));
    let other_code: Invite = spare.parse().expect("an invite");
    let other_offer = house.admin.gate.offer(&OfferRequest { code: other_code.code }).await.expect("an offer");
    let other_proof =
        raw(&statement_of(&other_code, &other_offer, KeyUse::Approval, &approval).sign(&approval).expect("signed")).expect("an envelope");
    let same = |_: &mut Enrolment| {};
    let cases = [
        ("a key of low order", vidimus_api::raw_json(weak).expect("JSON"), good.device.clone(), "key_weak"),
        ("a key that is not there", proof(KeyUse::Approval, &approval, &stranger, same), good.device.clone(), "envelope_key_wrong"),
        ("one proof for both keys", good.approval.clone(), good.approval.clone(), "enrolment_wrong"),
        ("the proofs the other way round", good.device.clone(), good.approval.clone(), "enrolment_wrong"),
        ("one key for two uses", good.approval.clone(), proof(KeyUse::Device, &approval, &approval, same), "roster_change_invalid"),
        (
            "the admin's key",
            proof(KeyUse::Approval, &house.admin.approval, &house.admin.approval, same),
            good.device.clone(),
            "roster_change_invalid",
        ),
        (
            "the admin's device key",
            good.approval.clone(),
            proof(KeyUse::Device, &house.admin.device, &house.admin.device, same),
            "roster_change_invalid",
        ),
        ("another invite's proof", other_proof, good.device.clone(), "enrolment_wrong"),
        (
            "another name",
            proof(KeyUse::Approval, &approval, &approval, |s| s.name = "Ada Example".to_owned()),
            good.device.clone(),
            "enrolment_wrong",
        ),
        (
            "the live environment",
            proof(KeyUse::Approval, &approval, &approval, |s| s.environment = Environment::Live),
            good.device.clone(),
            "environment_wrong",
        ),
    ];
    for (what, approval, device, code) in &cases {
        let mut body = good.clone();
        (body.approval, body.device) = (approval.clone(), device.clone());
        let problem = problem_of(house.admin.gate.enrol(&body).await);
        assert_eq!(problem.code, *code, "{what}: {}", problem.detail);
    }
    let found = log.codes(RecordType::EnrolmentRefused, cases.len()).await;
    assert_eq!(found, cases.iter().map(|(_, _, _, code)| *code).collect::<Vec<_>>());
    assert_eq!(log.of(RecordType::RequestCreated).count(), 0, "no admission was asked for");
    // None of them used the invite up.
    let answer = house.admin.gate.enrol(&good).await.expect("enrolled");
    let request = answer.request.expect("an admission to sign");
    house.admin.approve(request, "admin").await.expect("it counts");
    until("the admission", || async { (house.operation(request).await == Some(OperationState::Succeeded)).then_some(()) }).await;
    assert_eq!(problem_of(house.admin.gate.enrol(&good).await).code, "invite_invalid");
    assert_eq!(log.rest(&house).await.into_iter().map(|refused| refused.code).collect::<Vec<_>>(), ["invite_invalid"]);
}

fn statement_of(invite: &Invite, offer: &Offer, key_use: KeyUse, key: &SecretKey) -> Enrolment {
    Enrolment {
        gate: offer.gate,
        environment: offer.environment,
        invite_sha256: Some(code_sha256(&invite.code)),
        key_use,
        key: key.public(),
        person: offer.person,
        name: offer.name.clone(),
        label: "desktop".to_owned(),
        issued_at: offer.now,
    }
}

/// The same statement for the neutral element, with the signature that a lax reader accepts for every message.
fn weak_proof(statement: &Enrolment) -> String {
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let signed = statement.sign(&SecretKey::from_seed(&[20; 32])).expect("signed");
    let payload = payload_of(&signed).replace(&statement.key.to_string(), &base64url_encode(neutral));
    let body = envelope_body(&base64_encode(payload), ENROLMENT_TYPE, &Digest::of(&neutral).to_string(), &base64_encode(small_order()[0]));
    body.strip_prefix(r#"{"envelope":"#).and_then(|body| body.strip_suffix('}')).expect("an envelope").to_owned()
}
