//! Signed notes: a text and the lines that sign it.
//!
//! Owns the note's format and its keys' names; knows nothing of what a text says.
//!
//! *Source*: C2SP signed-note, with Ed25519 keys only.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::bytes::{base64_decode, base64_encode, hex_decode, hex_encode};
use crate::code::{Code, Refusal};
use crate::limits::{CHECKPOINT_BYTES_MAX, CHECKPOINT_SIGNATURES_KEPT_MAX, CHECKPOINT_SIGNATURES_MAX, NAME_BYTES_MAX};
use crate::sign::{PublicKey, SecretKey, Signature};

const SIGNATURE_PREFIX: &str = "\u{2014} ";

/// What a key signs notes as. The kind goes into the key's hash, so that one kind cannot pass for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// The note's author: the signature covers the text.
    Author,
    /// A witness: the signature covers a time and the text.
    Witness,
}

impl KeyKind {
    const fn byte(self) -> u8 {
        match self {
            KeyKind::Author => 0x01,
            KeyKind::Witness => 0x04,
        }
    }
}

/// A name and the key that signs under it, written `NAME+HASH+KEY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    kind: KeyKind,
    key: PublicKey,
}

impl VerifierKey {
    /// The key of this name.
    ///
    /// *Errors*: `checkpoint_malformed` for a name that is empty, too long, or holds spaces, control characters or `+`.
    pub fn new(name: &str, kind: KeyKind, key: PublicKey) -> Result<VerifierKey, Refusal> {
        check_name(name)?;
        Ok(VerifierKey { name: name.to_owned(), kind, key })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Four bytes that tell keys of one name apart: a hint to find a key, no proof of anything.
    pub fn hash(&self) -> [u8; 4] {
        let named = Sha256::new().chain_update(&self.name).chain_update("\n").chain_update([self.kind.byte()]);
        let [a, b, c, d, ..]: [u8; 32] = named.chain_update(self.key.as_bytes()).finalize().into();
        [a, b, c, d]
    }

    fn made(&self, line: &SignatureLine) -> bool {
        line.name == self.name && line.key_hash == self.hash()
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = base64_encode([&[self.kind.byte()], self.key.as_bytes().as_slice()].concat());
        write!(f, "{}+{}+{key}", self.name, hex_encode(self.hash()))
    }
}

impl FromStr for VerifierKey {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<VerifierKey, Refusal> {
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(hash), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(malformed("a verifier key is not `NAME+HASH+KEY`"));
        };
        let bytes = base64_decode(key)?;
        let (kind, key): (KeyKind, &[u8]) = match bytes.split_first() {
            Some((0x01, key)) => (KeyKind::Author, key),
            Some((0x04, key)) => (KeyKind::Witness, key),
            _ => return Err(malformed("a verifier key is of an unknown kind")),
        };
        let key: &[u8; 32] = key.try_into().map_err(|_| malformed("a verifier key is not 32 bytes long"))?;
        let verifier = VerifierKey::new(name, kind, PublicKey::from_bytes(key)?)?;
        if hex_decode(hash).as_deref() != Some(&verifier.hash()) {
            return Err(malformed("a verifier key does not match its hash"));
        }
        Ok(verifier)
    }
}

/// One signature line. Nobody has verified it yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureLine {
    name: String,
    key_hash: [u8; 4],
    signature: Vec<u8>,
}

impl SignatureLine {
    /// The line of a signature that this key made.
    pub(crate) fn new(key: &VerifierKey, signature: Vec<u8>) -> SignatureLine {
        SignatureLine { name: key.name.clone(), key_hash: key.hash(), signature }
    }

    /// The name that the line claims.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The signature's bytes, in the form of its kind of key.
    pub fn signature(&self) -> &[u8] {
        &self.signature
    }
}

impl fmt::Display for SignatureLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signature = base64_encode([self.key_hash.as_slice(), &self.signature].concat());
        write!(f, "{SIGNATURE_PREFIX}{} {signature}", self.name)
    }
}

impl FromStr for SignatureLine {
    type Err = Refusal;

    fn from_str(line: &str) -> Result<SignatureLine, Refusal> {
        let rest = line.strip_prefix(SIGNATURE_PREFIX).ok_or_else(|| malformed("a signature line does not begin with a dash"))?;
        let (name, signature) = rest.split_once(' ').ok_or_else(|| malformed("a signature line is not a name and a signature"))?;
        check_name(name)?;
        let bytes = base64_decode(signature)?;
        let Some((key_hash, signature)) = bytes.split_first_chunk::<4>().filter(|(_, signature)| !signature.is_empty()) else {
            return Err(malformed("a signature line holds no signature"));
        };
        Ok(SignatureLine { name: name.to_owned(), key_hash: *key_hash, signature: signature.to_vec() })
    }
}

/// A text with signature lines. Its signatures are checked one key at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<SignatureLine>,
}

impl Note {
    /// Signs a text as its author.
    ///
    /// *Errors*: `checkpoint_malformed` for a text that no note can hold, or a name that no key can have.
    pub fn sign(text: &str, name: &str, key: &SecretKey) -> Result<Note, Refusal> {
        check_text(text)?;
        let author = VerifierKey::new(name, KeyKind::Author, key.public())?;
        let signature = key.sign(text.as_bytes());
        Ok(Note { text: text.to_owned(), signatures: vec![SignatureLine::new(&author, signature.as_bytes().to_vec())] })
    }

    /// Reads a note. Of its signature lines the first 64 are kept.
    ///
    /// *Errors*: `checkpoint_malformed`, also for more than 100 signature lines; `base64_malformed`.
    pub fn parse(bytes: &str) -> Result<Note, Refusal> {
        if bytes.len() > CHECKPOINT_BYTES_MAX {
            return Err(malformed("a note is too long"));
        }
        let (text, lines) = bytes.rsplit_once("\n\n").ok_or_else(|| malformed("a note has no blank line before its signatures"))?;
        let text = format!("{text}\n");
        check_text(&text)?;
        let lines = lines.strip_suffix('\n').ok_or_else(|| malformed("a note does not end its last line"))?;
        let mut signatures = Vec::new();
        for (index, line) in lines.split('\n').enumerate() {
            if index == CHECKPOINT_SIGNATURES_MAX {
                return Err(malformed("a note has too many signatures"));
            }
            let signature = line.parse()?;
            if index < CHECKPOINT_SIGNATURES_KEPT_MAX {
                signatures.push(signature);
            }
        }
        Ok(Note { text, signatures })
    }

    /// The text, its last newline included. Nobody has verified it yet.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The kept signature lines.
    pub fn signatures(&self) -> &[SignatureLine] {
        &self.signatures
    }

    /// Adds a line, unless the note has it.
    ///
    /// *Errors*: `checkpoint_malformed` where the note has as many as a reader keeps.
    pub fn add(&mut self, line: SignatureLine) -> Result<(), Refusal> {
        if self.signatures.contains(&line) {
            return Ok(());
        }
        if self.signatures.len() >= CHECKPOINT_SIGNATURES_KEPT_MAX {
            return Err(malformed("a note has no room for one more signature"));
        }
        self.signatures.push(line);
        Ok(())
    }

    /// Whether the author's key signed the text. Lines of unknown keys are ignored; a wrong one of this key is not, even
    /// beside a right one.
    ///
    /// *Errors*: `signature_invalid`.
    pub fn verify(&self, author: &VerifierKey) -> Result<(), Refusal> {
        let mut lines = self.lines_of(author)?;
        lines.try_for_each(|line| {
            let signature: &[u8; 64] = line.signature.as_slice().try_into().map_err(|_| unsigned(author))?;
            author.key.verify(self.text.as_bytes(), &Signature::from_bytes(*signature))
        })
    }

    /// The lines of this key: at least one.
    ///
    /// *Errors*: `signature_invalid` where there is none.
    pub(crate) fn lines_of(&self, key: &VerifierKey) -> Result<impl Iterator<Item = &SignatureLine>, Refusal> {
        let mut lines = self.signatures.iter().filter(|line| key.made(line)).peekable();
        if lines.peek().is_none() { Err(unsigned(key)) } else { Ok(lines) }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

fn check_name(name: &str) -> Result<(), Refusal> {
    let plain = |character: char| !character.is_whitespace() && !character.is_control() && character != '+';
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(plain) {
        return Err(malformed("a key's name is empty, too long, or holds a space or `+`"));
    }
    Ok(())
}

fn check_text(text: &str) -> Result<(), Refusal> {
    if !text.ends_with('\n') || text.chars().any(|character| character != '\n' && character.is_ascii_control()) {
        return Err(malformed("a note's text does not end its last line, or holds a control character"));
    }
    Ok(())
}

pub(crate) fn malformed(what: &str) -> Refusal {
    Refusal::new(Code::CheckpointMalformed, format!("{what}; fetch it again, and compare the versions of the two sides"))
}

pub(crate) fn unsigned(key: &VerifierKey) -> Refusal {
    Refusal::new(Code::SignatureInvalid, format!("the note is not signed by `{}`; fetch it again from that log", key.name))
}
