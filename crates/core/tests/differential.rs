//! The byte-level code against independent implementations, on generated inputs.

use dsse as other_dsse;
use pasetors::Public;
use pasetors::keys::{AsymmetricPublicKey, AsymmetricSecretKey};
use pasetors::token::UntrustedToken;
use pasetors::version4::{PublicToken, V4};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use signed_note::{StandardVerifier, Verifier as _, VerifierList};
use tlog_tiles as other_tree;
use vidimus_core::bytes::Digest;
use vidimus_core::checkpoint::{Checkpoint, parse_verify};
use vidimus_core::dsse::{Envelope, pae};
use vidimus_core::json::{Limits, parse, parse_canonical};
use vidimus_core::note::{KeyKind, VerifierKey};
use vidimus_core::paseto;
use vidimus_core::sign::SecretKey;
use vidimus_core::tree::{Frontier, consistency_proof, inclusion_proof, leaf_hash, nodes_of, verify_consistency, verify_inclusion};

/// Doubles of every magnitude, by their bits; those that JSON cannot write become 0.
fn double() -> impl Strategy<Value = f64> {
    let bits = any::<u64>().prop_map(f64::from_bits).prop_map(|double| if double.is_finite() { double } else { 0.0 });
    prop_oneof![
        bits,
        any::<i32>().prop_map(f64::from),
        (any::<i32>(), -12..24).prop_map(|(digits, power)| f64::from(digits) * 10_f64.powi(power))
    ]
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        double().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[\\x00-\\x7f\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}]{0,6}".prop_map(Value::from),
    ];
    // Names near the surrogate range, where the order of code units is not that of bytes.
    let name = prop_oneof![any::<String>(), "[a-c\u{7f}\u{80}\u{d7ff}\u{e000}\u{fb33}\u{ffff}\u{10000}\u{1f600}]{0,4}"];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            vec((name.clone(), inner), 0..8).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A number as a document might write it, not as a library would.
fn lexeme() -> impl Strategy<Value = String> {
    "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?"
}

/// Any form of a document that is not its canonical one: spaces, and members in the order that they had.
fn spread(document: &Value) -> Vec<u8> {
    serde_json::to_vec_pretty(document).expect("a generated document is written")
}

proptest! {
    #[test]
    fn canonical_form_agrees(document in document()) {
        let ours = parse(&spread(&document), &Limits::CALL).expect("a generated document").canonical().expect("finite numbers");
        let theirs = serde_json_canonicalizer::to_vec(&document).expect("a generated document");
        prop_assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs));
        prop_assert!(parse_canonical(&ours, &Limits::MONEY).is_ok());
    }

    #[test]
    fn numbers_agree(lexeme in lexeme()) {
        let json = parse(lexeme.as_bytes(), &Limits::CALL).expect("a number of the grammar");
        let number = json.as_number().expect("a number");
        let double: f64 = lexeme.parse().expect("a number of the grammar");
        if double.is_finite() {
            let theirs = serde_json_canonicalizer::to_string(&double).expect("a finite double");
            prop_assert_eq!(number.canonical().expect("finite"), theirs.clone());
            // Exactness is a property of the value: the canonical text of an exact number is exact, and reads as the same double.
            prop_assert_eq!(theirs.parse::<f64>().expect("a number"), double);
            prop_assert_eq!(parse(lexeme.as_bytes(), &Limits::MONEY).is_ok(), number.is_exact());
        } else {
            prop_assert!(number.canonical().is_err());
            prop_assert!(parse(lexeme.as_bytes(), &Limits::MONEY).is_err());
        }
    }

    #[test]
    fn amounts_of_money_are_exact(cents in 0_u64..100_000_000_000_000, places in 0_usize..4, zeros in 0_usize..6) {
        let scale = 10_u64.pow(u32::try_from(places).expect("small"));
        let fraction = if places == 0 { String::new() } else { format!(".{:0places$}{}", cents % scale, "0".repeat(zeros)) };
        let lexeme = format!("{}{fraction}", cents / scale);
        prop_assert!(parse(lexeme.as_bytes(), &Limits::MONEY).is_ok(), "{}", lexeme);
    }

    #[test]
    fn envelopes_agree(payload in vec(any::<u8>(), 0..200), seed: [u8; 32], payload_type in "[!-~]{1,60}") {
        prop_assert_eq!(pae(&payload_type, &payload), other_dsse::pae(&payload_type, &payload));

        let key = SecretKey::from_seed(&seed);
        let key_digest = key.public().digest().to_string();
        let signer = other_dsse::Ed25519Signer::from_bytes(&seed).expect("a seed").with_key_id(key_digest);

        let ours = Envelope::sign(&payload_type, &payload, &key).to_json().canonical().expect("canonical form");
        let read = other_dsse::Envelope::from_json(&ours).expect("our envelope");
        let verified = other_dsse::verify(&read, &[&signer.verifier()], 1).expect("our signature");
        prop_assert_eq!(&verified.payload, &payload);

        let theirs = other_dsse::sign(&payload_type, &payload, &signer).and_then(|envelope| envelope.to_json()).expect("their envelope");
        let verified = Envelope::parse(&theirs).and_then(|envelope| envelope.verify(&payload_type, &key.public())).expect("their signature");
        prop_assert_eq!(verified.payload(), payload.as_slice());
    }

    #[test]
    fn tokens_agree(payload in "[ -~]{1,120}", footer in "[ -~]{0,40}", implicit in vec(any::<u8>(), 0..80), seed: [u8; 32]) {
        let key = SecretKey::from_seed(&seed);
        let ours = paseto::sign(&key, payload.as_bytes(), footer.as_bytes(), &implicit);

        let secret = [seed.as_slice(), key.public().as_bytes()].concat();
        let secret = AsymmetricSecretKey::<V4>::from(&secret).expect("a key");
        let optional_footer = (!footer.is_empty()).then_some(footer.as_bytes());
        let theirs = PublicToken::sign(&secret, payload.as_bytes(), optional_footer, Some(&implicit)).expect("their token");
        prop_assert_eq!(&ours, &theirs);

        let public = AsymmetricPublicKey::<V4>::from(key.public().as_bytes()).expect("a key");
        let untrusted = UntrustedToken::<Public, V4>::try_from(ours.as_str()).expect("our token");
        let trusted = PublicToken::verify(&public, &untrusted, optional_footer, Some(&implicit)).expect("our signature");
        prop_assert_eq!(trusted.payload(), payload.as_str());
        let verified = paseto::verify(&theirs, &key.public(), &implicit).expect("their signature");
        prop_assert_eq!((verified.payload(), verified.footer()), (payload.as_bytes(), footer.as_bytes()));
    }

    #[test]
    fn a_changed_token_is_refused_by_both(at in any::<prop::sample::Index>(), character in "[A-Za-z0-9_.-]") {
        let key = SecretKey::from_seed(&[1; 32]);
        let token = paseto::sign(&key, b"{\"data\":1}", b"{\"kid\":\"x\"}", b"");
        let at = at.index(token.len());
        let mut changed = token.clone();
        changed.replace_range(at..=at, &character);
        prop_assume!(changed != token);
        prop_assert!(paseto::verify(&changed, &key.public(), b"").is_err());
        let public = AsymmetricPublicKey::<V4>::from(key.public().as_bytes()).expect("a key");
        let accepted = UntrustedToken::<Public, V4>::try_from(changed.as_str()).is_ok_and(|token| PublicToken::verify(&public, &token, None, Some(b"")).is_ok());
        prop_assert!(!accepted);
    }
}

/// Their store of node hashes, filled leaf by leaf.
struct Hashes(Vec<other_tree::Hash>);

impl other_tree::HashReader for Hashes {
    fn read_hashes(&self, indexes: &[u64]) -> Result<Vec<other_tree::Hash>, other_tree::Error> {
        Ok(indexes.iter().map(|index| self.0[usize::try_from(*index).expect("small")]).collect())
    }
}

fn to_theirs(digest: &Digest) -> other_tree::Hash {
    other_tree::Hash(*digest.as_bytes())
}

#[test]
fn trees_and_proofs_agree() {
    let mut theirs = Hashes(Vec::new());
    let mut frontier = Frontier::default();
    let (mut leaves, mut roots) = (Vec::new(), Vec::new());
    for size in 1..=130_u64 {
        let data = format!("record {size}");
        let stored = other_tree::stored_hashes(size - 1, data.as_bytes(), &theirs).expect("their nodes");
        leaves.push(leaf_hash(data.as_bytes()));
        // Both complete the same nodes, in the same order.
        let completed: Vec<_> = frontier.append(leaves[leaves.len() - 1]).iter().map(|(_, hash)| to_theirs(hash)).collect();
        assert_eq!(completed, stored, "{size}");
        theirs.0.extend(stored);
        roots.push(frontier.root());
        assert_eq!(to_theirs(&frontier.root()), other_tree::tree_hash(size, &theirs).expect("their root"), "{size}");
    }
    for size in [1, 2, 3, 7, 8, 9, 63, 64, 65, 100, 127, 128, 129, 130_u64] {
        let root = &roots[usize::try_from(size - 1).expect("small")];
        for at in 0..size {
            let leaf = &leaves[usize::try_from(at).expect("small")];
            let ours = inclusion_proof(at, size, nodes_of(&leaves)).expect("our proof");
            let proof = other_tree::prove_record(size, at, &theirs).expect("their proof");
            assert_eq!(ours.iter().map(to_theirs).collect::<Vec<_>>(), proof, "{at} of {size}");
            assert!(other_tree::check_record(&proof, size, to_theirs(root), at, to_theirs(leaf)).is_ok());
            assert_eq!(verify_inclusion(leaf, at, size, &ours, root), Ok(()));
        }
        for first in 1..=size {
            let older = &roots[usize::try_from(first - 1).expect("small")];
            let ours = consistency_proof(first, size, nodes_of(&leaves)).expect("our proof");
            let proof = other_tree::prove_tree(size, first, &theirs).expect("their proof");
            assert_eq!(ours.iter().map(to_theirs).collect::<Vec<_>>(), proof, "{first} in {size}");
            assert!(other_tree::check_tree(&proof, size, to_theirs(root), first, to_theirs(older)).is_ok());
            assert_eq!(verify_consistency(first, older, size, root, &ours), Ok(()));
        }
    }
}

proptest! {
    #[test]
    fn checkpoints_agree(size in 0_u64..1 << 53, root: [u8; 32], seed: [u8; 32], origin in "[a-z][a-z0-9_./-]{0,40}") {
        let key = SecretKey::from_seed(&seed);
        let text = Checkpoint::new(&origin, size, Digest::from_bytes(root)).and_then(|checkpoint| checkpoint.sign(&key, &origin)).expect("signed");

        let ours = VerifierKey::new(&origin, KeyKind::Author, key.public()).expect("a name");
        let theirs = StandardVerifier::new(&ours.to_string()).expect("our verifier key");
        prop_assert_eq!(theirs.key_id().to_be_bytes(), ours.hash());
        let note = signed_note::Note::from_bytes(text.as_bytes()).expect("our note");
        let (verified, unverified) = note.verify(&VerifierList::new(vec![Box::new(theirs)])).expect("our signature");
        prop_assert_eq!((verified.len(), unverified.len()), (1, 0));
        prop_assert_eq!(note.to_bytes(), text.as_bytes());

        let checkpoint = other_tree::Checkpoint::from_bytes(note.text()).expect("our checkpoint");
        prop_assert_eq!((checkpoint.origin(), checkpoint.size(), checkpoint.hash().0), (origin.as_str(), size, root));
        let body = other_tree::Checkpoint::new(&origin, size, other_tree::Hash(root), "").expect("their checkpoint").to_bytes();
        prop_assert_eq!(note.text(), body.as_slice());
        prop_assert!(parse_verify(&text, &origin, &key.public()).is_ok());
    }
}
