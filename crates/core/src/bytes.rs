//! Fixed-length values and their one spelling each: digests, salts, nonces.
//!
//! Owns hexadecimal and base64, strictly: one value has one text, so that comparing texts is comparing values.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

use crate::code::{Code, Refusal};

/// Writes bytes as base64url without padding.
///
/// *Source*: RFC 4648 section 5.
pub fn base64url_encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads base64url without padding.
///
/// *Errors*: `base64_malformed` for padding, other characters and non-zero trailing bits.
/// *Source*: RFC 4648 sections 3.5 and 5.
pub fn base64url_decode(text: &str) -> Result<Vec<u8>, Refusal> {
    URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| Refusal::new(Code::Base64Malformed, "a value is not unpadded base64url; encode it per RFC 4648 section 5"))
}

/// Writes bytes as base64 with padding.
///
/// *Source*: RFC 4648 section 4.
pub fn base64_encode(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// Reads base64 with padding.
///
/// *Errors*: `base64_malformed` for missing padding, other characters and non-zero trailing bits.
/// *Source*: RFC 4648 sections 3.5 and 4.
pub fn base64_decode(text: &str) -> Result<Vec<u8>, Refusal> {
    STANDARD.decode(text).map_err(|_| Refusal::new(Code::Base64Malformed, "a value is not padded base64; encode it per RFC 4648 section 4"))
}

/// Writes bytes as lowercase hexadecimal.
pub fn hex_encode(bytes: impl AsRef<[u8]>) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bytes = bytes.as_ref();
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Reads lowercase hexadecimal; `None` for anything else, uppercase included.
pub fn hex_decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(hex_byte).collect()
}

fn hex_byte([high, low]: &[u8; 2]) -> Option<u8> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    Some(digit(*high)? << 4 | digit(*low)?)
}

/// SHA-256 of `tag ‖ 0x00 ‖ parts`: one kind of digest can never stand for another.
///
/// *Invariant*: the parts run together, so all but the last must have a fixed length.
pub fn tagged<const N: usize>(tag: &str, parts: [&[u8]; N]) -> Digest {
    let mut hash = Sha256::new();
    hash.update(tag.as_bytes());
    hash.update([0]);
    for part in parts {
        hash.update(part);
    }
    Digest(hash.finalize().into())
}

/// Implements what the 32-byte values share, from their spelling.
macro_rules! thirty_two_bytes {
    ($name:ident, $encode:expr, $parse:expr) => {
        impl $name {
            /// The value of these bytes.
            pub const fn from_bytes(bytes: [u8; 32]) -> $name {
                $name(bytes)
            }

            /// The bytes.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&$encode(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self)
            }
        }

        impl FromStr for $name {
            type Err = Refusal;

            fn from_str(text: &str) -> Result<$name, Refusal> {
                $parse(text).map($name)
            }
        }

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        serde_as_text!($name);
    };
}

/// Implements serde for a type as the text of its `Display` and `FromStr`.
macro_rules! serde_as_text {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;

/// A SHA-256 digest, written as 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// 32 random bytes that keep a digest from being guessed back, written as base64url.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Salt([u8; 32]);

/// 32 random bytes that are used once, written as base64url.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce([u8; 32]);

thirty_two_bytes!(Digest, hex_encode, parse_digest);
thirty_two_bytes!(Salt, base64url_encode, parse_random);
thirty_two_bytes!(Nonce, base64url_encode, parse_random);

impl Digest {
    /// SHA-256 of the bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }
}

/// A SHA-256 that is fed piece by piece.
#[derive(Default)]
pub(crate) struct Hashing(Sha256);

impl Hashing {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

fn parse_digest(text: &str) -> Result<[u8; 32], Refusal> {
    let malformed = || Refusal::new(Code::DigestMalformed, "a digest is not 64 lowercase hexadecimal digits; write it as sha256sum does");
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let pairs: &[[u8; 2]; 32] = pairs.try_into().map_err(|_| malformed())?;
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = hex_byte(pair).ok_or_else(malformed)?;
    }
    if rest.is_empty() { Ok(bytes) } else { Err(malformed()) }
}

fn parse_random(text: &str) -> Result<[u8; 32], Refusal> {
    base64url_decode(text)?
        .try_into()
        .map_err(|_| Refusal::new(Code::Base64Malformed, "a value is not 32 bytes long; encode exactly 32 bytes as base64url"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_digest_has_one_spelling() {
        let digest = Digest::of(b"");
        assert_eq!(digest.to_string(), EMPTY);
        assert_eq!(EMPTY.parse(), Ok(digest));
        let refused = [
            EMPTY.to_uppercase(),
            EMPTY[1..].to_owned(),
            format!("{EMPTY}0"),
            format!("{EMPTY}00"),
            format!(" {}", &EMPTY[1..]),
            format!("g{}", &EMPTY[1..]),
            format!("é{}", &EMPTY[2..]),
            String::new(),
        ];
        for text in refused {
            let refusal = text.parse::<Digest>().expect_err(&text);
            assert_eq!(refusal.code, Code::DigestMalformed, "`{text}`");
        }
    }

    #[test]
    fn a_salt_has_one_spelling() {
        let text = base64url_encode([0xff; 32]);
        assert_eq!(text.parse(), Ok(Salt::from_bytes([0xff; 32])));
        assert_eq!(text.parse(), Ok(Nonce::from_bytes([0xff; 32])));
        let trailing_bits = format!("{}9", &text[..42]);
        for refused in [&trailing_bits, &format!("{text}="), &text[..42].to_owned(), &text.replace('_', "/"), &String::new()] {
            let refusal = refused.parse::<Salt>().expect_err(refused);
            assert_eq!(refusal.code, Code::Base64Malformed, "`{refused}`");
        }
    }

    #[test]
    fn padded_base64_refuses_what_is_not_canonical() {
        assert_eq!(base64_decode("aA=="), Ok(b"h".to_vec()));
        for refused in ["aA", "aA=", "aB==", "aA==\n", "a-==", "aA===", "===="] {
            assert!(base64_decode(refused).is_err(), "`{refused}`");
        }
    }

    #[test]
    fn a_tag_separates_domains() {
        let digest = tagged("vidimus.test.v1", [b"ab", b"c"]);
        assert_eq!(digest, Digest::of(b"vidimus.test.v1\0abc"));
        assert_ne!(digest, tagged("vidimus.test.v2", [b"ab", b"c"]));
    }

    #[test]
    fn serde_uses_the_one_spelling() {
        let digest = Digest::of(b"");
        let text = serde_json::to_string(&digest).expect("a digest is written");
        assert_eq!(text, format!("\"{EMPTY}\""));
        assert_eq!(serde_json::from_str::<Digest>(&text).expect("a digest is read"), digest);
        assert!(serde_json::from_str::<Digest>(&text.to_uppercase()).is_err());
    }
}
