//! Signed envelopes: one payload, its type, one signature.
//!
//! Owns the envelope's bytes; knows nothing of what a payload means. A payload can be read only after verification,
//! through the type that verification makes.
//!
//! *Source*: DSSE 1.0.2, protocol and envelope, narrowed to exactly one signature and one spelling of base64.

use crate::bytes::{Digest, base64_decode, base64_encode};
use crate::code::{Code, Refusal};
use crate::json::{Fields, Json, Limits, NumberRule, parse};
use crate::limits::{ENVELOPE_BYTES_MAX, NAME_BYTES_MAX};
use crate::sign::{PublicKey, SecretKey, Signature};

/// An envelope is an object with an array with an object: four values of our own and their containers.
const LIMITS: Limits = Limits { bytes: ENVELOPE_BYTES_MAX, depth: 3, nodes: 7, numbers: NumberRule::Exact };

/// The bytes that a signature covers: type and payload, each with its length, so that neither can run into the other.
///
/// *Source*: DSSE 1.0.2 protocol, PAE.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// An envelope that nobody has verified yet. Its payload cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    payload_type: String,
    payload: Vec<u8>,
    key_digest: Digest,
    signature: Signature,
}

/// A payload whose signature was verified for an expected type and an expected key. Only [`Envelope::verify`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedPayload {
    payload: Vec<u8>,
    key: PublicKey,
}

impl VerifiedPayload {
    /// The signed bytes.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The key that signed them.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }
}

impl Envelope {
    /// Signs a payload.
    pub fn sign(payload_type: &str, payload: &[u8], key: &SecretKey) -> Envelope {
        Envelope {
            payload_type: payload_type.to_owned(),
            payload: payload.to_vec(),
            key_digest: key.public().digest(),
            signature: key.sign(&pae(payload_type, payload)),
        }
    }

    /// Reads an envelope from JSON, canonical or not.
    ///
    /// *Errors*: `envelope_malformed` for anything but exactly `payload`, `payloadType` and one signature of `keyid` and
    /// `sig`; a `json_…` or `field_…` code where the document itself is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Envelope, Refusal> {
        Envelope::from_json(&parse(bytes, &LIMITS)?)
    }

    /// Reads an envelope from a tree.
    ///
    /// *Errors*: as [`Envelope::parse`].
    pub fn from_json(json: &Json) -> Result<Envelope, Refusal> {
        let fields = Fields::exactly(json, &["payload", "payloadType", "signatures"])?;
        let signatures = fields.objects("signatures", &["keyid", "sig"])?;
        let [signature] = signatures.as_slice() else {
            let message = format!("an envelope has `{}` signatures; send one envelope for each", signatures.len());
            return Err(Refusal::new(Code::EnvelopeMalformed, message).at(fields.path_of("signatures")));
        };
        let payload_type = fields.string("payloadType")?;
        if payload_type.is_empty() || payload_type.len() > NAME_BYTES_MAX || !payload_type.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("a payload type is not 1 to {NAME_BYTES_MAX} visible ASCII characters; name a type of this version");
            return Err(Refusal::new(Code::EnvelopeMalformed, message).at(fields.path_of("payloadType")));
        }
        Ok(Envelope {
            payload_type: payload_type.to_owned(),
            payload: base64_decode(fields.string("payload")?).map_err(|refusal| refusal.at(fields.path_of("payload")))?,
            key_digest: signature.digest("keyid")?,
            signature: signature.parsed("sig")?,
        })
    }

    /// The envelope as a document.
    pub fn to_json(&self) -> Json {
        let signature = Json::object([("keyid", self.key_digest.into()), ("sig", self.signature.to_base64().into())]);
        Json::object([
            ("payload", base64_encode(&self.payload).into()),
            ("payloadType", self.payload_type.as_str().into()),
            ("signatures", vec![signature].into()),
        ])
    }

    /// The type that the envelope claims: enough to choose a reader, never to trust.
    pub fn payload_type(&self) -> &str {
        &self.payload_type
    }

    /// The digest of the key that the envelope claims: enough to look a key up, never to trust.
    pub fn key_digest(&self) -> Digest {
        self.key_digest
    }

    /// The signature.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The payload before its signature was checked: to find the key that must check it, and for nothing else.
    pub fn danger_unverified_payload(&self) -> &[u8] {
        &self.payload
    }

    /// Opens the envelope for this type and this key.
    ///
    /// *Errors*: `envelope_type_wrong`, `envelope_key_wrong`, `signature_invalid`.
    pub fn verify(self, payload_type: &str, key: &PublicKey) -> Result<VerifiedPayload, Refusal> {
        if self.payload_type != payload_type {
            let message = format!("the envelope holds a `{}` where `{payload_type}` belongs; send that statement", self.payload_type);
            return Err(Refusal::new(Code::EnvelopeTypeWrong, message).at("/payloadType"));
        }
        if self.key_digest != key.digest() {
            let message = format!("the envelope names the key `{}`, not the signer's; sign with the enrolled key", self.key_digest);
            return Err(Refusal::new(Code::EnvelopeKeyWrong, message).at("/signatures/0/keyid"));
        }
        key.verify(&pae(&self.payload_type, &self.payload), &self.signature).map_err(|refusal| refusal.at("/signatures/0/sig"))?;
        Ok(VerifiedPayload { payload: self.payload, key: *key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "application/vnd.vidimus.test.v1+json";

    fn signed() -> (Envelope, PublicKey) {
        let key = SecretKey::from_seed(&[1; 32]);
        (Envelope::sign(TYPE, b"{}", &key), key.public())
    }

    #[test]
    fn an_envelope_comes_back_from_its_bytes_and_opens() {
        let (envelope, key) = signed();
        let bytes = envelope.to_json().canonical().expect("canonical form");
        let read = Envelope::parse(&bytes).expect("our own envelope");
        assert_eq!(read, envelope);
        let verified = read.verify(TYPE, &key).expect("signed by this key");
        assert_eq!((verified.payload(), verified.key()), (b"{}".as_slice(), &key));
    }

    #[test]
    fn another_type_key_payload_or_signature_does_not_open() {
        let (envelope, key) = signed();
        let other = SecretKey::from_seed(&[2; 32]).public();
        let mut named_other = envelope.clone();
        named_other.key_digest = other.digest();
        let mut changed = envelope.clone();
        changed.payload = b"{ }".to_vec();
        let mut moved = envelope.clone();
        moved.payload_type = format!("{TYPE} 2 ");
        let cases = [
            (envelope.clone().verify("another/type", &key), Code::EnvelopeTypeWrong),
            (envelope.clone().verify(TYPE, &other), Code::EnvelopeKeyWrong),
            (named_other.verify(TYPE, &other), Code::SignatureInvalid),
            (changed.verify(TYPE, &key), Code::SignatureInvalid),
            (moved.verify(&format!("{TYPE} 2 "), &key), Code::SignatureInvalid),
        ];
        for (refused, code) in cases {
            assert_eq!(refused.expect_err(code.as_str()).code, code);
        }
    }

    #[test]
    fn a_payload_type_is_as_long_as_a_name() {
        let of = |length: usize| {
            let text =
                Envelope::sign(&"t".repeat(length), b"{}", &SecretKey::from_seed(&[1; 32])).to_json().canonical().expect("canonical");
            Envelope::parse(&text).map(|envelope| envelope.payload_type().len()).map_err(|refusal| refusal.code)
        };
        assert_eq!(of(0), Err(Code::EnvelopeMalformed));
        assert_eq!((of(1), of(NAME_BYTES_MAX)), (Ok(1), Ok(NAME_BYTES_MAX)));
        assert_eq!(of(NAME_BYTES_MAX + 1), Err(Code::EnvelopeMalformed));
    }

    #[test]
    fn other_shapes_are_refused() {
        let (envelope, _) = signed();
        let text = String::from_utf8(envelope.to_json().canonical().expect("canonical form")).expect("UTF-8");
        let signature = text[text.find("[{").expect("signatures") + 1..text.len() - 2].to_owned();
        let keyid = envelope.key_digest().to_string();
        let sig = envelope.signature().to_base64();
        let cases = [
            (text.replace(&signature, ""), Code::EnvelopeMalformed),
            (text.replace(&signature, &format!("{signature},{signature}")), Code::JsonTooManyNodes),
            (text.replace("\"e30=\"", "\"e30\""), Code::Base64Malformed),
            (text.replace("\"e30=\"", "\"e31=\""), Code::Base64Malformed),
            (text.replace(&sig, &sig[4..]), Code::SignatureMalformed),
            (text.replace(&keyid, &keyid.to_uppercase()), Code::DigestMalformed),
            (text.replace(TYPE, ""), Code::EnvelopeMalformed),
            (text.replace(TYPE, "a b"), Code::EnvelopeMalformed),
            (text.replace("\"payload\"", "\"Payload\""), Code::FieldMissing),
            (text.replacen('{', "{\"payload\":\"e30=\",", 1), Code::JsonDuplicateKey),
            (text.replacen('{', "{\"x\":0,", 1), Code::JsonTooManyNodes),
        ];
        for (changed, code) in cases {
            assert_eq!(Envelope::parse(changed.as_bytes()).expect_err(&changed).code, code, "{changed}");
        }
    }
}
