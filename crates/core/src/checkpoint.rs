//! Checkpoints: a log's signed word on how many records it has and what they hash to, and the witnesses' word that they
//! saw it.
//!
//! *Source*: C2SP tlog-checkpoint and tlog-cosignature, narrowed to SHA-256 roots.

use crate::bytes::{Digest, base64_decode, base64_encode};
use crate::code::{Code, Refusal};
use crate::limits::JSON_INTEGER_MAX;
use crate::note::{KeyKind, Note, SignatureLine, VerifierKey, malformed, unsigned};
use crate::sign::{PublicKey, SecretKey, Signature};
use crate::time::Timestamp;

/// What a log says about itself: who it is, its size, its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    origin: String,
    size: u64,
    root: Digest,
}

impl Checkpoint {
    /// The statement of the log of this origin.
    ///
    /// *Errors*: `checkpoint_malformed` for an origin that is not one line, or a size above 2⁵³−1.
    pub fn new(origin: &str, size: u64, root: Digest) -> Result<Checkpoint, Refusal> {
        if origin.is_empty() || origin.chars().any(char::is_control) {
            return Err(malformed("a checkpoint's origin is not one line of text"));
        }
        if size > JSON_INTEGER_MAX {
            return Err(malformed("a checkpoint's size is above 2^53-1"));
        }
        Ok(Checkpoint { origin: origin.to_owned(), size, root })
    }

    /// The log.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The number of records.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root of their tree.
    pub fn root(&self) -> &Digest {
        &self.root
    }

    /// The three lines that are signed.
    pub fn body(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, base64_encode(self.root))
    }

    /// Signs the checkpoint; for a gate, the name is its id, as its origin is.
    ///
    /// *Errors*: `checkpoint_malformed` for a name that no key can have.
    pub fn sign(&self, key: &SecretKey, name: &str) -> Result<String, Refusal> {
        Note::sign(&self.body(), name, key).map(|note| note.to_string())
    }

    /// Reads the body of a checkpoint. Lines that may follow the root are passed over: they are covered by the
    /// signature and mean nothing in this version.
    fn parse(body: &str) -> Result<Checkpoint, Refusal> {
        let mut lines = body.strip_suffix('\n').unwrap_or(body).split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(malformed("a checkpoint has fewer than three lines"));
        };
        if lines.any(str::is_empty) {
            return Err(malformed("a checkpoint has an empty line"));
        }
        let count: u64 = size.parse().map_err(|_| malformed("a checkpoint's size is not a number"))?;
        // Zeros before and a plus sign would be a second spelling.
        if count.to_string() != size {
            return Err(malformed("a checkpoint's size is not a plain decimal number"));
        }
        let root: [u8; 32] = base64_decode(root)?.try_into().map_err(|_| malformed("a checkpoint's root is not 32 bytes long"))?;
        Checkpoint::new(origin, count, Digest::from_bytes(root))
    }
}

/// A checkpoint that its log's key signed. Only [`verify`] and [`parse_verify`] make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedCheckpoint {
    checkpoint: Checkpoint,
    note: Note,
}

impl VerifiedCheckpoint {
    /// What the log says.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The note that says it, with every signature line that was kept.
    pub fn note(&self) -> &Note {
        &self.note
    }

    /// Attests, as a witness, that this checkpoint was seen at this time (to the second).
    ///
    /// *Errors*: `checkpoint_malformed` for a name that no key can have.
    pub fn cosign(&self, key: &SecretKey, name: &str, at: Timestamp) -> Result<SignatureLine, Refusal> {
        let witness = VerifierKey::new(name, KeyKind::Witness, key.public())?;
        let seconds = at.as_s().unsigned_abs();
        let signature = key.sign(cosigned_message(seconds, self.note.text()).as_bytes());
        Ok(SignatureLine::new(&witness, [seconds.to_be_bytes().as_slice(), signature.as_bytes()].concat()))
    }

    /// Adds a witness's line once it verifies.
    ///
    /// *Errors*: `signature_invalid`; `checkpoint_malformed` where there is no room.
    pub fn add_cosignature(&mut self, line: SignatureLine, witness: &VerifierKey) -> Result<(), Refusal> {
        let mut widened = self.note.clone();
        widened.add(line)?;
        let cosigned = VerifiedCheckpoint { checkpoint: self.checkpoint.clone(), note: widened };
        cosigned.cosigned_by(witness)?;
        *self = cosigned;
        Ok(())
    }

    /// When this witness saw the checkpoint: its newest line. A wrong line of the witness is refused, even beside a right one.
    ///
    /// *Errors*: `signature_invalid`.
    pub fn cosigned_by(&self, witness: &VerifierKey) -> Result<Timestamp, Refusal> {
        let mut newest = Timestamp::MIN;
        for line in self.note.lines_of(witness)? {
            let split = line.signature().split_first_chunk::<8>();
            let Some((seconds, signature)) = split.and_then(|(time, rest)| Some((u64::from_be_bytes(*time), rest.try_into().ok()?))) else {
                return Err(unsigned(witness));
            };
            let message = cosigned_message(seconds, self.note.text());
            witness.key().verify(message.as_bytes(), &Signature::from_bytes(signature))?;
            newest = newest.max(Timestamp::MIN.plus_s(seconds));
        }
        Ok(newest)
    }
}

/// *Source*: C2SP tlog-cosignature, cosignature/v1.
fn cosigned_message(seconds: u64, body: &str) -> String {
    format!("cosignature/v1\ntime {seconds}\n{body}")
}

/// Reads and verifies a checkpoint of the gate `origin`, whose key's name is the origin too.
///
/// *Errors*: as [`verify`].
pub fn parse_verify(text: &str, origin: &str, key: &PublicKey) -> Result<VerifiedCheckpoint, Refusal> {
    verify(text, origin, &VerifierKey::new(origin, KeyKind::Author, *key)?)
}

/// Reads and verifies a checkpoint of the log `origin`, signed by `author`.
///
/// *Errors*: `checkpoint_malformed`, `base64_malformed`, `signature_invalid`, `checkpoint_origin_wrong`.
pub fn verify(text: &str, origin: &str, author: &VerifierKey) -> Result<VerifiedCheckpoint, Refusal> {
    let note = Note::parse(text)?;
    let checkpoint = Checkpoint::parse(note.text())?;
    // Before the signature, which the same mistake would make wrong too: the reader learns that it asked the wrong log.
    if checkpoint.origin != origin {
        let message = format!("the checkpoint is of `{}`, not of `{origin}`; fetch that log's", checkpoint.origin.escape_default());
        return Err(Refusal::new(Code::CheckpointOriginWrong, message));
    }
    note.verify(author)?;
    Ok(VerifiedCheckpoint { checkpoint, note })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: &str = "gate_example";

    fn signed() -> (String, SecretKey) {
        let key = SecretKey::from_seed(&[5; 32]);
        let checkpoint = Checkpoint::new(ORIGIN, 7, Digest::of(b"root")).expect("a checkpoint");
        (checkpoint.sign(&key, ORIGIN).expect("signed"), key)
    }

    fn resigned(body: &str) -> Result<VerifiedCheckpoint, Refusal> {
        let (_, key) = signed();
        parse_verify(&Note::sign(body, ORIGIN, &key)?.to_string(), ORIGIN, &key.public())
    }

    #[test]
    fn a_checkpoint_verifies_for_its_own_log_only() {
        let (text, key) = signed();
        let verified = parse_verify(&text, ORIGIN, &key.public()).expect("our own");
        assert_eq!((verified.checkpoint().size(), verified.checkpoint().root()), (7, &Digest::of(b"root")));
        assert_eq!(verified.note().to_string(), text);

        let other = SecretKey::from_seed(&[6; 32]).public();
        assert_eq!(parse_verify(&text, ORIGIN, &other).expect_err("another key").code, Code::SignatureInvalid);
        assert_eq!(parse_verify(&text, "gate_other", &key.public()).expect_err("another log").code, Code::CheckpointOriginWrong);
        let same_name = VerifierKey::new(ORIGIN, KeyKind::Author, key.public()).expect("a name");
        assert_eq!(verify(&text, "gate_other", &same_name).expect_err("another origin").code, Code::CheckpointOriginWrong);
        let other_name = VerifierKey::new("gate_other", KeyKind::Author, key.public()).expect("a name");
        assert_eq!(verify(&text, ORIGIN, &other_name).expect_err("another name").code, Code::SignatureInvalid);
        assert_eq!(parse_verify(&text.replace("\n7\n", "\n8\n"), ORIGIN, &key.public()).expect_err("changed").code, Code::SignatureInvalid);
    }

    #[test]
    fn other_spellings_are_refused_even_when_signed() {
        let root = base64_encode(Digest::of(b"root"));
        assert!(resigned(&format!("{ORIGIN}\n7\n{root}\n")).is_ok());
        assert!(resigned(&format!("{ORIGIN}\n7\n{root}\nmore\n")).is_ok());
        let bodies = [
            format!("{ORIGIN}\n07\n{root}\n"),
            format!("{ORIGIN}\n+7\n{root}\n"),
            format!("{ORIGIN}\n-7\n{root}\n"),
            format!("{ORIGIN}\n 7\n{root}\n"),
            format!("{ORIGIN}\n\n{root}\n"),
            format!("{ORIGIN}\n9007199254740992\n{root}\n"),
            format!("{ORIGIN}\n99999999999999999999\n{root}\n"),
            format!("{ORIGIN}\n7\n{root}\n\nmore\n"),
            format!("{ORIGIN}\n7\n"),
            format!("\n7\n{root}\n"),
            format!("{ORIGIN}\r\n7\n{root}\n"),
            format!("{ORIGIN}\n7\n{}\n", base64_encode([0; 31])),
            format!("{ORIGIN}\n7\n{root}"),
            String::new(),
        ];
        for body in bodies {
            assert_eq!(resigned(&body).expect_err(&body).code, Code::CheckpointMalformed, "{body:?}");
        }
        assert_eq!(
            resigned(&format!("{ORIGIN}\n7\n{}\n", root.trim_end_matches('='))).expect_err("no padding").code,
            Code::Base64Malformed
        );
    }

    #[test]
    fn unknown_signatures_are_ignored_and_bounded() {
        let (text, key) = signed();
        let stranger = "\u{2014} stranger AAAAAAA=\n";
        let with = |count: usize| format!("{text}{}", stranger.repeat(count));
        let verified = parse_verify(&with(99), ORIGIN, &key.public()).expect("100 signatures");
        assert_eq!(verified.note().signatures().len(), 64);
        assert_eq!(parse_verify(&with(100), ORIGIN, &key.public()).expect_err("101").code, Code::CheckpointMalformed);

        for line in [
            "\u{2014} stranger AAAAAA==\n",
            "\u{2014} stranger\n",
            "- stranger AAAAAAA=\n",
            "\u{2014} a+b AAAAAAA=\n",
            "\u{2014}  AAAAAAA=\n",
            "\n",
            "\u{2014} stranger AAAAAAA=",
        ] {
            assert!(parse_verify(&format!("{text}{line}"), ORIGIN, &key.public()).is_err(), "{line:?}");
        }

        let ours: SignatureLine = text.lines().last().expect("a line").parse().expect("our line");
        let mut bytes = ours.signature().to_vec();
        bytes[0] ^= 1;
        let author = VerifierKey::new(ORIGIN, KeyKind::Author, key.public()).expect("a name");
        let beside = format!("{text}{}\n", SignatureLine::new(&author, bytes));
        assert_eq!(parse_verify(&beside, ORIGIN, &key.public()).expect_err("a wrong one beside").code, Code::SignatureInvalid);
    }

    #[test]
    fn a_witness_says_when_it_saw_what() {
        let (text, key) = signed();
        let device = SecretKey::from_seed(&[9; 32]);
        let witness = VerifierKey::new("witness_example", KeyKind::Witness, device.public()).expect("a name");
        let mut verified = parse_verify(&text, ORIGIN, &key.public()).expect("our own");
        assert_eq!(verified.cosigned_by(&witness).expect_err("not yet").code, Code::SignatureInvalid);

        let at = Timestamp::MIN.plus_ms(1_679_315_147_999);
        let line = verified.cosign(&device, "witness_example", at).expect("cosigned");
        verified.add_cosignature(line.clone(), &witness).expect("the witness's own");
        verified.add_cosignature(line, &witness).expect("once more, no second line");
        assert_eq!(verified.note().signatures().len(), 2);
        let read = parse_verify(&verified.note().to_string(), ORIGIN, &key.public()).expect("with a cosignature");
        assert_eq!(read.cosigned_by(&witness), Ok(Timestamp::MIN.plus_s(1_679_315_147)));

        let longer = Checkpoint::new(ORIGIN, 8, Digest::of(b"root")).expect("a checkpoint");
        let other_text = longer.sign(&key, ORIGIN).expect("signed");
        let mut other = parse_verify(&other_text, ORIGIN, &key.public()).expect("our own");
        let moved = read.note().signatures()[1].clone();
        assert_eq!(other.add_cosignature(moved, &witness).expect_err("of another checkpoint").code, Code::SignatureInvalid);
        assert_eq!(other.note().signatures().len(), 1);
    }
}
