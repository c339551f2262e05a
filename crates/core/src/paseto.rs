//! PASETO v4.public: signed tokens with a footer and an implicit assertion.
//!
//! Owns the token's bytes; the claims of an execution token are elsewhere.
//!
//! *Source*: paseto-standard/paseto-spec, Version 4 Sign and Verify; Common, PAE and strict base64url.

use crate::bytes::{base64url_decode, base64url_encode};
use crate::code::{Code, Refusal};
use crate::limits::TOKEN_BYTES_MAX;
use crate::sign::{PublicKey, SecretKey, Signature};

const HEADER: &str = "v4.public.";
const SIGNATURE_BYTES: usize = 64;

/// Pre-authentication encoding: the count of the pieces, then each with its length, so that no two lists encode alike.
///
/// *Source*: paseto-spec, Common, PAE.
pub fn pae(pieces: &[&[u8]]) -> Vec<u8> {
    // The specification clears the top bit for languages without unsigned integers; no length in memory has it set.
    let length = |count: usize| (count as u64 & i64::MAX as u64).to_le_bytes();
    let mut encoded = length(pieces.len()).to_vec();
    for piece in pieces {
        encoded.extend_from_slice(&length(piece.len()));
        encoded.extend_from_slice(piece);
    }
    encoded
}

/// A token whose signature was verified. Only [`verify`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedToken {
    payload: Vec<u8>,
    footer: Vec<u8>,
}

impl VerifiedToken {
    /// The signed claims.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The signed footer; empty where the token has none.
    pub fn footer(&self) -> &[u8] {
        &self.footer
    }
}

/// Signs a token. The implicit assertion is signed and not carried: the verifier must bring the same.
pub fn sign(key: &SecretKey, payload: &[u8], footer: &[u8], implicit: &[u8]) -> String {
    let signature = key.sign(&pae(&[HEADER.as_bytes(), payload, footer, implicit]));
    let body = base64url_encode([payload, signature.as_bytes()].concat());
    if footer.is_empty() { format!("{HEADER}{body}") } else { format!("{HEADER}{body}.{}", base64url_encode(footer)) }
}

/// Verifies a token for this key and this implicit assertion.
///
/// *Errors*: `token_malformed`, `signature_invalid`.
pub fn verify(token: &str, key: &PublicKey, implicit: &[u8]) -> Result<VerifiedToken, Refusal> {
    let Parts { payload, signature, footer } = split(token)?;
    key.verify(&pae(&[HEADER.as_bytes(), &payload, &footer, implicit]), &signature)?;
    Ok(VerifiedToken { payload, footer })
}

/// The footer before the signature was checked: to find the key that must check it, and for nothing else.
///
/// *Errors*: `token_malformed`.
pub fn danger_unverified_footer(token: &str) -> Result<Vec<u8>, Refusal> {
    split(token).map(|parts| parts.footer)
}

struct Parts {
    payload: Vec<u8>,
    signature: Signature,
    footer: Vec<u8>,
}

fn split(token: &str) -> Result<Parts, Refusal> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(malformed(&format!("is longer than `{TOKEN_BYTES_MAX}` bytes")));
    }
    let rest = token.strip_prefix(HEADER).ok_or_else(|| malformed("does not begin with `v4.public.`"))?;
    let (body, footer) = match rest.split_once('.') {
        None => (rest, None),
        // One spelling each: a token without a footer has no second dot.
        Some((_, "")) => return Err(malformed("ends with a dot")),
        Some((body, footer)) => (body, Some(footer)),
    };
    let decode = |text: &str| base64url_decode(text).map_err(|_| malformed("is not unpadded base64url"));
    let mut payload = decode(body)?;
    let footer = footer.map(decode).transpose()?.unwrap_or_default();
    let signature_at = payload.len().checked_sub(SIGNATURE_BYTES).ok_or_else(|| malformed("is too short for a signature"))?;
    let signature: [u8; SIGNATURE_BYTES] =
        payload.split_off(signature_at).try_into().map_err(|_| malformed("is too short for a signature"))?;
    Ok(Parts { payload, signature: Signature::from_bytes(signature), footer })
}

fn malformed(what: &str) -> Refusal {
    Refusal::new(Code::TokenMalformed, format!("the token {what}; ask the gate for a new one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_verifies_with_its_own_assertion_only() {
        let key = SecretKey::from_seed(&[3; 32]);
        for footer in [b"".as_slice(), b"{\"kid\":\"x\"}"] {
            let token = sign(&key, b"{}", footer, b"implicit");
            let verified = verify(&token, &key.public(), b"implicit").expect("our own token");
            assert_eq!((verified.payload(), verified.footer()), (b"{}".as_slice(), footer));
            assert_eq!(danger_unverified_footer(&token).as_deref(), Ok(footer));
            let refused =
                [verify(&token, &key.public(), b"Implicit"), verify(&token, &SecretKey::from_seed(&[4; 32]).public(), b"implicit")];
            for refusal in refused {
                assert_eq!(refusal.expect_err("another assertion or key").code, Code::SignatureInvalid);
            }
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        let key = SecretKey::from_seed(&[3; 32]);
        let token = sign(&key, b"{}", b"", b"");
        let body = token.strip_prefix(HEADER).expect("our header");
        let cases = [
            format!("{token}."),
            format!("{token}.."),
            format!("{token}.e30.e30"),
            format!("{token}="),
            format!("{token}\n"),
            format!(" {token}"),
            token.replace("v4", "v3"),
            token.replace("public", "local"),
            token.to_uppercase(),
            format!("{HEADER}{}", base64url_encode([0; 63])),
            HEADER.to_owned(),
            "v4.public".to_owned(),
            String::new(),
            format!("{HEADER}{}", "A".repeat(TOKEN_BYTES_MAX)),
            format!("{token}.e31"),
        ];
        for text in cases {
            assert_eq!(verify(&text, &key.public(), b"").expect_err(&text).code, Code::TokenMalformed, "`{text}`");
        }
        assert_eq!(body.len(), 88);
    }

    #[test]
    fn pieces_cannot_run_into_each_other() {
        assert_eq!(pae(&[]), [0; 8]);
        assert_eq!(pae(&[b"test"]), b"\x01\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0test");
        assert_ne!(pae(&[b"ab", b"c"]), pae(&[b"a", b"bc"]));
    }
}
