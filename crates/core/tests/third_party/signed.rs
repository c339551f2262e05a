//! Third-party vectors for signatures, envelopes and tokens.

use crate::vectors::{folder, typed};
use serde::Deserialize;
use vidimus_core::code::Code;
use vidimus_core::sign::{PublicKey, SecretKey, Signature};
use vidimus_core::{dsse, paseto};

/// Verifies as the product does: a wrong length is a refusal too.
fn verifies(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let (Ok(key), Ok(signature)) = (key.try_into(), signature.try_into()) else { return false };
    PublicKey::from_bytes(key).is_ok_and(|key| key.verify(message, &Signature::from_bytes(signature)).is_ok())
}

fn hex(text: &str) -> Vec<u8> {
    vidimus_core::bytes::hex_decode(text).expect(text)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WycheproofFile {
    number_of_tests: usize,
    test_groups: Vec<WycheproofGroup>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WycheproofGroup {
    public_key: WycheproofKey,
    tests: Vec<WycheproofTest>,
}

#[derive(Deserialize)]
struct WycheproofKey {
    pk: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WycheproofTest {
    tc_id: u32,
    comment: String,
    msg: String,
    sig: String,
    result: String,
}

#[test]
fn wycheproof_from_the_folder() {
    let Some(folder) = folder("wycheproof") else { return };
    let file: WycheproofFile = typed(&folder.join("ed25519_test.json"));
    let mut run = 0;
    for group in &file.test_groups {
        for test in &group.tests {
            let verified = verifies(&hex(&group.public_key.pk), &hex(&test.msg), &hex(&test.sig));
            assert_eq!(verified, test.result == "valid", "{}: {}", test.tc_id, test.comment);
            run += 1;
        }
    }
    assert_eq!(run, file.number_of_tests);
}

#[test]
fn wycheproof_from_the_crate() {
    use wycheproof::{TestResult, eddsa};
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).expect("the crate's own vectors");
    let mut run = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            let verified = verifies(&group.key.pk, &test.msg, &test.sig);
            assert_eq!(verified, test.result == TestResult::Valid, "{}: {}", test.tc_id, test.comment);
            run += 1;
        }
    }
    assert!(run > 80, "{run}");
}

#[derive(Deserialize)]
struct SpeccheckCase {
    message: String,
    pub_key: String,
    signature: String,
}

#[test]
fn ed25519_speccheck() {
    let Some(folder) = folder("ed25519-speccheck") else { return };
    let cases: Vec<SpeccheckCase> = typed(&folder.join("cases.json"));
    let accepted: Vec<usize> =
        (0..cases.len()).filter(|&at| verifies(&hex(&cases[at].pub_key), &hex(&cases[at].message), &hex(&cases[at].signature))).collect();
    // Case 3 has a key and a commitment of mixed order that satisfy the equation without cofactor; all strict verifiers
    // accept it. Low order (0 to 2), the cofactor's leniency (4, 5), great scalars (6, 7) and second spellings (8 to 11)
    // are refused.
    assert_eq!((cases.len(), accepted), (12, vec![3]));
    for case in &cases[..2] {
        let key: [u8; 32] = hex(&case.pub_key).try_into().expect("32 bytes");
        assert_eq!(PublicKey::from_bytes(&key).expect_err("low order").code, Code::KeyWeak);
    }
}

#[test]
fn the_universal_forgery_is_refused() {
    let mut neutral = [0; 64];
    neutral[0] = 1;
    assert!(!verifies(&neutral[..32], b"any message", &neutral));
}

#[derive(Deserialize)]
struct DsseVector {
    payload_type: String,
    body: String,
    pae: String,
    envelope: DsseEnvelope,
}

#[derive(Deserialize, serde::Serialize)]
struct DsseEnvelope {
    payload: String,
    #[serde(rename = "payloadType")]
    payload_type: String,
    signatures: Vec<DsseSignature>,
}

#[derive(Deserialize, serde::Serialize)]
struct DsseSignature {
    sig: String,
}

#[test]
fn dsse_protocol() {
    let Some(folder) = folder("dsse") else { return };
    let vector: DsseVector = typed(&folder.join("protocol-vector.json"));
    assert_eq!(dsse::pae(&vector.payload_type, vector.body.as_bytes()), vector.pae.as_bytes());
    // The official envelope names no key, which this version requires.
    let bytes = serde_json::to_vec(&vector.envelope).expect("an envelope");
    assert_eq!(dsse::Envelope::parse(&bytes).expect_err("no key is named").code, Code::FieldMissing);
}

#[derive(Deserialize)]
struct PasetoFile {
    tests: Vec<PasetoTest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct PasetoTest {
    name: String,
    expect_fail: bool,
    public_key: Option<String>,
    secret_key_seed: Option<String>,
    token: String,
    payload: Option<String>,
    footer: String,
    implicit_assertion: String,
}

#[test]
fn paseto_version_4() {
    let Some(folder) = folder("paseto") else { return };
    let file: PasetoFile = typed(&folder.join("v4.json"));
    let stranger = SecretKey::from_seed(&[1; 32]).public();
    let (mut verified, mut refused) = (0, 0);
    for test in &file.tests {
        let key =
            test.public_key.as_deref().map_or(stranger, |key| PublicKey::from_bytes(&hex(key).try_into().expect("32 bytes")).expect(key));
        let result = paseto::verify(&test.token, &key, test.implicit_assertion.as_bytes());
        let ours = test.token.starts_with("v4.public.") && !test.expect_fail;
        if !ours {
            // Tokens of another purpose are refused as such, the valid ones included.
            assert!(result.is_err(), "{}", test.name);
            refused += 1;
            continue;
        }
        let token = result.expect(&test.name);
        let payload = test.payload.as_deref().expect("a valid token has a payload");
        assert_eq!((token.payload(), token.footer()), (payload.as_bytes(), test.footer.as_bytes()), "{}", test.name);
        let seed = hex(test.secret_key_seed.as_deref().expect("a signed token has a seed")).try_into().expect("32 bytes");
        let secret = SecretKey::from_seed(&seed);
        assert_eq!(secret.public(), key, "{}", test.name);
        let signed = paseto::sign(&secret, payload.as_bytes(), test.footer.as_bytes(), test.implicit_assertion.as_bytes());
        assert_eq!(signed, test.token, "{}", test.name);
        verified += 1;
    }
    assert_eq!((verified, refused), (3, 14));
}
