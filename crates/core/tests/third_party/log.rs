//! Third-party vectors for the log: Merkle proofs, signed notes, checkpoints, cosignatures.

use crate::vectors::{files, folder, typed};
use serde::Deserialize;
use vidimus_core::bytes::{Digest, base64_decode, base64_encode};
use vidimus_core::checkpoint::{Checkpoint, parse_verify, verify};
use vidimus_core::note::{KeyKind, Note, VerifierKey};
use vidimus_core::sign::{SecretKey, Signature};
use vidimus_core::time::Timestamp;
use vidimus_core::tree::{verify_consistency, verify_inclusion};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Inclusion {
    leaf_idx: u64,
    tree_size: u64,
    root: Option<String>,
    leaf_hash: Option<String>,
    proof: Option<Vec<String>>,
    want_err: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Consistency {
    size1: u64,
    size2: u64,
    root1: String,
    root2: String,
    proof: Option<Vec<String>>,
    want_err: bool,
}

/// The digest of a vector; what is no digest cannot reach the verifier at all.
fn digest(text: &str) -> Option<Digest> {
    base64_decode(text).ok()?.try_into().ok().map(Digest::from_bytes)
}

fn proof(texts: &Option<Vec<String>>) -> Option<Vec<Digest>> {
    texts.as_deref().unwrap_or_default().iter().map(|text| digest(text)).collect()
}

#[test]
fn merkle_inclusion() {
    let Some(folder) = folder("merkle-rfc6962") else { return };
    let (mut accepted, mut refused) = (0, 0);
    for path in files(&folder.join("inclusion"), ".json") {
        let case: Inclusion = typed(&path);
        let verified = || {
            let (leaf, root) = (digest(case.leaf_hash.as_deref()?)?, digest(case.root.as_deref()?)?);
            verify_inclusion(&leaf, case.leaf_idx, case.tree_size, &proof(&case.proof)?, &root).ok()
        };
        assert_eq!(verified().is_none(), case.want_err, "{}", path.display());
        if case.want_err { refused += 1 } else { accepted += 1 }
    }
    assert!(accepted >= 6 && refused >= 80, "{accepted} accepted, {refused} refused");
}

#[test]
fn merkle_consistency() {
    let Some(folder) = folder("merkle-rfc6962") else { return };
    let (mut accepted, mut refused) = (0, 0);
    for path in files(&folder.join("consistency"), ".json") {
        let case: Consistency = typed(&path);
        // Two vectors give equal sizes with roots that are no digests; what they test is the rule for equal sizes.
        let root = |text: &str| digest(text).or_else(|| base64_decode(text).ok().map(|bytes| Digest::of(&bytes)));
        let verified = || verify_consistency(case.size1, &root(&case.root1)?, case.size2, &root(&case.root2)?, &proof(&case.proof)?).ok();
        assert_eq!(verified().is_none(), case.want_err, "{}", path.display());
        if case.want_err { refused += 1 } else { accepted += 1 }
    }
    assert!(accepted >= 6 && refused >= 80, "{accepted} accepted, {refused} refused");
}

#[derive(Deserialize)]
struct NoteCase {
    desc: String,
    note_b64: String,
    vkeys: Vec<String>,
    valid: bool,
    #[serde(default)]
    verified: Vec<String>,
    #[serde(default)]
    unverified: Vec<String>,
    origin: Option<String>,
    size: Option<u64>,
    expected_origin: Option<String>,
}

impl NoteCase {
    fn text(&self) -> Option<String> {
        String::from_utf8(base64_decode(&self.note_b64).expect(&self.desc)).ok()
    }

    fn keys(&self) -> Vec<VerifierKey> {
        self.vkeys.iter().map(|key| key.parse().expect(key)).collect()
    }
}

#[derive(Deserialize)]
struct GolangFile {
    vkey_valid: Vec<String>,
    vkey_invalid: Vec<String>,
    cases: Vec<NoteCase>,
}

#[derive(Deserialize)]
struct KeysFile {
    valid: Vec<String>,
    invalid: Vec<String>,
}

#[derive(Deserialize)]
struct ExamplesFile {
    signed_note: Vec<NoteCase>,
    checkpoint_examples: Vec<String>,
    cosigned_checkpoint_examples: Vec<String>,
    cosignature_v1_message: String,
}

fn check_note(case: &NoteCase) {
    let note = case.text().and_then(|text| Note::parse(&text).ok());
    let opened_by: Vec<String> = case
        .keys()
        .iter()
        .filter(|key| note.as_ref().is_some_and(|note| note.verify(key).is_ok()))
        .map(|key| key.name().to_owned())
        .collect();
    match (case.valid, case.desc.contains("ambiguous")) {
        (true, _) => {
            let note = note.expect(&case.desc);
            let expected = if case.verified.is_empty() {
                case.keys().iter().map(|key| key.name().to_owned()).collect()
            } else {
                case.verified.clone()
            };
            assert_eq!(opened_by, expected, "{}", case.desc);
            assert_eq!(note.signatures().len(), opened_by.len() + case.unverified.len(), "{}", case.desc);
            assert_eq!(Some(note.to_string()), case.text(), "{}", case.desc);
        }
        // A list of keys with one key twice is a mistake that this interface cannot make: it takes one key.
        (false, true) => assert!(note.is_some(), "{}", case.desc),
        (false, false) => assert!(opened_by.is_empty(), "{}: {opened_by:?}", case.desc),
    }
}

#[test]
fn signed_notes() {
    let Some(folder) = folder("signed-note") else { return };
    let golang: GolangFile = typed(&folder.join("golang-note.json"));
    let examples: ExamplesFile = typed(&folder.join("c2sp-examples.json"));
    assert_eq!((golang.cases.len(), examples.signed_note.len()), (14, 1));
    golang.cases.iter().chain(&examples.signed_note).for_each(check_note);

    let keys: KeysFile = typed(&folder.join("vkeys.json"));
    for text in golang.vkey_valid.iter().chain(&keys.valid) {
        let key: VerifierKey = text.parse().expect(text);
        assert_eq!(&key.to_string(), text);
    }
    for text in golang.vkey_invalid.iter().chain(&keys.invalid) {
        assert!(text.parse::<VerifierKey>().is_err(), "{text}");
    }
}

#[derive(Deserialize)]
struct CheckpointsFile {
    real_signed: Vec<NoteCase>,
    body_parse: Vec<BodyCase>,
    go_tree_invalid: Vec<String>,
}

#[derive(Deserialize)]
struct BodyCase {
    desc: String,
    body: String,
    valid: bool,
}

/// Whether a body is accepted when the log of its own first line signs it.
fn accepts_body(body: &str) -> bool {
    let key = SecretKey::from_seed(&[1; 32]);
    let Ok(note) = Note::sign(body, "log", &key) else { return false };
    let author = VerifierKey::new("log", KeyKind::Author, key.public()).expect("a name");
    verify(&note.to_string(), body.lines().next().unwrap_or_default(), &author).is_ok()
}

#[test]
fn checkpoints() {
    let Some(folder) = folder("signed-note") else { return };
    let file: CheckpointsFile = typed(&folder.join("checkpoints.json"));
    for case in &file.real_signed {
        let origin = case.expected_origin.as_deref().or(case.origin.as_deref()).expect("an origin");
        let verified = verify(&case.text().expect("UTF-8"), origin, &case.keys()[0]);
        assert_eq!(verified.is_ok(), case.valid, "{}", case.desc);
        if let Ok(verified) = verified {
            assert_eq!(Some(verified.checkpoint().size()), case.size, "{}", case.desc);
        }
    }

    let mut accepted = 0;
    for case in &file.body_parse {
        // The suite's roots are words. This version knows SHA-256 only, so a valid shape is tried with a root of that length.
        assert!(!accepts_body(&case.body), "{}", case.desc);
        let mut lines: Vec<&str> = case.body.split('\n').collect();
        let root = base64_encode(Digest::of(b"root"));
        if case.valid {
            lines[2] = &root;
            // An empty line would end the note's text for another reader; C2SP's own text forbids it.
            assert_eq!(accepts_body(&lines.join("\n")), !case.desc.contains("trailing newlines"), "{}", case.desc);
            accepted += 1;
        }
    }
    assert_eq!(accepted, 5);
    for body in &file.go_tree_invalid[1..] {
        assert!(!accepts_body(body), "{body}");
    }
}

#[test]
fn c2sp_checkpoints_and_cosignatures() {
    let Some(folder) = folder("signed-note") else { return };
    let examples: ExamplesFile = typed(&folder.join("c2sp-examples.json"));
    // The examples' keys are not published: the format is read and written back, byte for byte.
    for text in examples.checkpoint_examples.iter().chain(&examples.cosigned_checkpoint_examples) {
        assert_eq!(&Note::parse(text).expect(text).to_string(), text);
    }

    let body = Note::parse(&examples.checkpoint_examples[0]).expect("an example").text().to_owned();
    let lines: Vec<&str> = body.lines().collect();
    let root = digest(lines[2]).expect("a digest");
    let checkpoint = Checkpoint::new(lines[0], lines[1].parse().expect("a size"), root).expect("a checkpoint");
    assert_eq!(checkpoint.body(), body);

    let key = SecretKey::from_seed(&[2; 32]);
    let text = checkpoint.sign(&key, lines[0]).expect("signed");
    let verified = parse_verify(&text, lines[0], &key.public()).expect("our own");
    let device = SecretKey::from_seed(&[3; 32]);
    let line = verified.cosign(&device, "witness.example.com/w1", Timestamp::MIN.plus_s(1_679_315_147)).expect("cosigned");
    let (time, signature) = line.signature().split_first_chunk::<8>().expect("a time");
    assert_eq!(u64::from_be_bytes(*time), 1_679_315_147);
    let signature = Signature::from_bytes(signature.try_into().expect("64 bytes"));
    assert_eq!(device.public().verify(examples.cosignature_v1_message.as_bytes(), &signature), Ok(()));
}
