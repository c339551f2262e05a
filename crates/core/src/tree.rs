//! The Merkle tree of the log: appending, roots, proofs and their verification.
//!
//! Owns hashes and positions; knows nothing of what a leaf says or where nodes are kept.
//!
//! *Source*: RFC 6962 section 2.1; verification as in RFC 9162 sections 2.1.3.2 and 2.1.4.2.

use sha2::{Digest as _, Sha256};

use crate::bytes::Digest;
use crate::code::{Code, Refusal};
use crate::limits::PROOF_DIGESTS_MAX;

/// The hash of a leaf: SHA-256 of 0x00 and its bytes.
pub fn leaf_hash(leaf: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::new().chain_update([0]).chain_update(leaf).finalize().into())
}

/// The hash of a node: SHA-256 of 0x01 and its children's hashes.
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    Digest::from_bytes(Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into())
}

/// The root of the tree without leaves: SHA-256 of nothing.
pub fn empty_root() -> Digest {
    Digest::of(b"")
}

/// The root of the tree of these leaf hashes.
pub fn root_of(leaves: &[Digest]) -> Digest {
    let mut frontier = Frontier::default();
    for leaf in leaves {
        frontier.append(*leaf);
    }
    frontier.root()
}

/// A node whose subtree is full, so that its hash never changes: it covers the leaves from `index << level` up to, and
/// without, `(index + 1) << level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// Its height above the leaves; a leaf has 0.
    pub level: u8,
    /// Its place among the nodes of its level, from the left.
    pub index: u64,
}

/// The right edge of a tree: the hashes of its largest full subtrees, left to right. All that appending needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    hashes: Vec<Digest>,
}

impl Frontier {
    /// The frontier of a tree of this size, from its kept hashes.
    ///
    /// *Errors*: `proof_malformed` where their number does not fit the size.
    pub fn from_parts(size: u64, hashes: Vec<Digest>) -> Result<Frontier, Refusal> {
        if hashes.len() != size.count_ones() as usize {
            return Err(Refusal::new(
                Code::ProofMalformed,
                format!("`{}` hashes are no frontier of `{size}` leaves; rebuild it", hashes.len()),
            ));
        }
        Ok(Frontier { size, hashes })
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The hashes of the largest full subtrees, left to right.
    pub fn hashes(&self) -> &[Digest] {
        &self.hashes
    }

    /// Appends a leaf and returns the nodes that it completes, the leaf first: what a store of nodes must keep.
    pub fn append(&mut self, leaf: Digest) -> Vec<(Node, Digest)> {
        let mut node = Node { level: 0, index: self.size };
        let mut hash = leaf;
        let mut completed = vec![(node, hash)];
        while node.index % 2 == 1
            && let Some(left) = self.hashes.pop()
        {
            hash = node_hash(&left, &hash);
            node = Node { level: node.level + 1, index: node.index / 2 };
            completed.push((node, hash));
        }
        self.hashes.push(hash);
        self.size += 1;
        completed
    }

    /// The root of the tree.
    pub fn root(&self) -> Digest {
        join(&self.hashes).unwrap_or_else(empty_root)
    }
}

/// The hash over full subtrees that stand side by side, largest first; `None` of none.
fn join(hashes: &[Digest]) -> Option<Digest> {
    hashes.iter().copied().rev().reduce(|right, left| node_hash(&left, &right))
}

/// Serves the nodes of a tree from all its leaf hashes: for tests and small trees, each node is computed anew.
pub fn nodes_of(leaves: &[Digest]) -> impl Fn(Node) -> Result<Digest, Refusal> {
    |node| {
        let absent = || Refusal::new(Code::ProofMalformed, format!("the tree has no full node `{node:?}`; ask within its size"));
        let width = 1_usize.checked_shl(node.level.into()).ok_or_else(absent)?;
        let start = usize::try_from(node.index).ok().and_then(|index| index.checked_mul(width)).ok_or_else(absent)?;
        let end = start.checked_add(width).ok_or_else(absent)?;
        leaves.get(start..end).map(root_of).ok_or_else(absent)
    }
}

/// The hash over the leaves from `start` to `end`, where `start` is a multiple of a power of two not below their count.
fn range_hash<E>(start: u64, end: u64, node: &mut impl FnMut(Node) -> Result<Digest, E>) -> Result<Digest, E> {
    let mut hashes = Vec::new();
    let mut at = start;
    while at < end {
        let level = (end - at).ilog2();
        hashes.push(node(Node { level: level as u8, index: at >> level })?);
        at += 1 << level;
    }
    Ok(join(&hashes).unwrap_or_else(empty_root))
}

/// The size of the left child of a node over `count` leaves (at least 2): the largest power of two below it.
fn left_size(count: u64) -> u64 {
    1 << (count - 1).ilog2()
}

/// Proves that a leaf is in the tree of `size` leaves. `node` serves full nodes of that tree.
///
/// *Errors*: `proof_malformed` for an index outside the tree; the source's own.
/// *Source*: RFC 6962 section 2.1.1.
pub fn inclusion_proof<E: From<Refusal>>(index: u64, size: u64, mut node: impl FnMut(Node) -> Result<Digest, E>) -> Result<Vec<Digest>, E> {
    if index >= size {
        return Err(outside(index, size).into());
    }
    let (mut start, mut end) = (0, size);
    let mut proof = Vec::new();
    while end - start > 1 {
        let middle = start + left_size(end - start);
        if index < middle {
            proof.push(range_hash(middle, end, &mut node)?);
            end = middle;
        } else {
            proof.push(range_hash(start, middle, &mut node)?);
            start = middle;
        }
    }
    proof.reverse();
    Ok(proof)
}

/// Proves that the tree of `first` leaves is the beginning of that of `second`. `node` serves full nodes of the latter.
///
/// *Errors*: `proof_malformed` unless 0 < `first` ≤ `second`; the source's own.
/// *Source*: RFC 6962 section 2.1.2.
pub fn consistency_proof<E: From<Refusal>>(
    first: u64,
    second: u64,
    mut node: impl FnMut(Node) -> Result<Digest, E>,
) -> Result<Vec<Digest>, E> {
    if first == 0 || first > second {
        return Err(no_pair(first, second).into());
    }
    let (mut start, mut end) = (0, second);
    let mut proof = Vec::new();
    while first < end {
        let middle = start + left_size(end - start);
        if first <= middle {
            proof.push(range_hash(middle, end, &mut node)?);
            end = middle;
        } else {
            proof.push(range_hash(start, middle, &mut node)?);
            start = middle;
        }
    }
    // Where the older tree is itself a node of the newer, its root is what the verifier already has.
    if start > 0 {
        proof.push(range_hash(start, end, &mut node)?);
    }
    proof.reverse();
    Ok(proof)
}

/// Verifies that the leaf with this hash stands at `index` in the tree of this size and root.
///
/// *Errors*: `proof_malformed` where the proof's length does not fit, `proof_invalid` where it leads elsewhere.
pub fn verify_inclusion(leaf: &Digest, index: u64, size: u64, proof: &[Digest], root: &Digest) -> Result<(), Refusal> {
    if index >= size {
        return Err(outside(index, size));
    }
    if proof.len() > PROOF_DIGESTS_MAX {
        return Err(wrong_length(proof.len()));
    }
    let (mut place, mut last) = (index, size - 1);
    let mut hash = *leaf;
    for step in proof {
        if last == 0 {
            return Err(wrong_length(proof.len()));
        }
        if place % 2 == 1 || place == last {
            hash = node_hash(step, &hash);
            while place % 2 == 0 && place != 0 {
                place >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, step);
        }
        place >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(wrong_length(proof.len()));
    }
    if hash != *root {
        return Err(Refusal::new(
            Code::ProofInvalid,
            format!("the proof of leaf `{index}` does not lead to the root; do not trust this log"),
        ));
    }
    Ok(())
}

/// Verifies that the tree of `first` leaves and `first_root` is the beginning of that of `second` and `second_root`.
///
/// The empty tree is the beginning of every tree, so a proof from it says nothing and is refused: a reader that has
/// seen nothing yet must say so in its own words.
///
/// *Errors*: `proof_malformed` where sizes or length do not fit, `proof_invalid` where it leads elsewhere.
pub fn verify_consistency(first: u64, first_root: &Digest, second: u64, second_root: &Digest, proof: &[Digest]) -> Result<(), Refusal> {
    if first == 0 || first > second {
        return Err(no_pair(first, second));
    }
    let invalid =
        || Refusal::new(Code::ProofInvalid, format!("the trees of `{first}` and `{second}` leaves disagree; do not trust this log"));
    if first == second {
        return match (proof.is_empty(), first_root == second_root) {
            (false, _) => Err(wrong_length(proof.len())),
            (true, true) => Ok(()),
            (true, false) => Err(invalid()),
        };
    }
    let (mut place, mut last) = (first - 1, second - 1);
    let shared = place.trailing_ones();
    place >>= shared;
    last >>= shared;
    let (seed, steps) = match (first.is_power_of_two(), proof.split_first()) {
        (true, _) => (first_root, proof),
        (false, Some((seed, steps))) => (seed, steps),
        (false, None) => return Err(wrong_length(0)),
    };
    if steps.len() > PROOF_DIGESTS_MAX {
        return Err(wrong_length(proof.len()));
    }
    let (mut older, mut newer) = (*seed, *seed);
    for step in steps {
        if last == 0 {
            return Err(wrong_length(proof.len()));
        }
        if place % 2 == 1 || place == last {
            older = node_hash(step, &older);
            newer = node_hash(step, &newer);
            while place % 2 == 0 && place != 0 {
                place >>= 1;
                last >>= 1;
            }
        } else {
            newer = node_hash(&newer, step);
        }
        place >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(wrong_length(proof.len()));
    }
    if older != *first_root || newer != *second_root {
        return Err(invalid());
    }
    Ok(())
}

fn outside(index: u64, size: u64) -> Refusal {
    Refusal::new(Code::ProofMalformed, format!("leaf `{index}` is outside a tree of {size} leaves; ask within its size"))
}

fn no_pair(first: u64, second: u64) -> Refusal {
    Refusal::new(
        Code::ProofMalformed,
        format!("a tree of `{first}` leaves cannot be proved within one of `{second}`; ask for 0 < first ≤ second"),
    )
}

fn wrong_length(digests: usize) -> Refusal {
    Refusal::new(Code::ProofMalformed, format!("a proof of `{digests}` digests does not fit the sizes; fetch it again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(count: u64) -> Vec<Digest> {
        (0..count).map(|index| leaf_hash(&index.to_be_bytes())).collect()
    }

    /// The definition of RFC 6962 section 2.1, word for word.
    fn defined_root(leaves: &[Digest]) -> Digest {
        match leaves {
            [] => Digest::of(b""),
            [leaf] => *leaf,
            many => {
                let mut middle = 1;
                while middle * 2 < many.len() {
                    middle *= 2;
                }
                node_hash(&defined_root(&many[..middle]), &defined_root(&many[middle..]))
            }
        }
    }

    #[test]
    fn the_frontier_keeps_the_root_and_completes_each_node_once() {
        let leaves = leaves(70);
        let source = nodes_of(&leaves);
        let mut frontier = Frontier::default();
        let mut seen = std::collections::BTreeSet::new();
        for size in 0..leaves.len() {
            assert_eq!(frontier.root(), defined_root(&leaves[..size]), "{size} leaves");
            assert_eq!(Frontier::from_parts(frontier.size(), frontier.hashes().to_vec()).as_ref(), Ok(&frontier));
            for (node, hash) in frontier.append(leaves[size]) {
                assert!(seen.insert(node), "{node:?} completed twice");
                assert_eq!(source(node), Ok(hash), "{node:?}");
            }
        }
        assert!(Frontier::from_parts(5, vec![leaves[0]]).is_err());
        assert!(source(Node { level: 7, index: 0 }).is_err());
        assert!(source(Node { level: 64, index: 0 }).is_err());
        assert!(source(Node { level: 63, index: 2 }).is_err());
    }

    #[test]
    fn every_proof_of_small_trees_verifies_and_no_change_does() {
        let leaves = leaves(20);
        let root = |size: u64| defined_root(&leaves[..usize::try_from(size).expect("small")]);
        for size in 1..=20 {
            for index in 0..size {
                let leaf = &leaves[usize::try_from(index).expect("small")];
                let proof = inclusion_proof(index, size, nodes_of(&leaves)).expect("inside the tree");
                assert_eq!(verify_inclusion(leaf, index, size, &proof, &root(size)), Ok(()), "{index} of {size}");
                refuses_changes(&proof, |changed| verify_inclusion(leaf, index, size, changed, &root(size)));
                assert!(verify_inclusion(&leaf_hash(b"other"), index, size, &proof, &root(size)).is_err());
            }
            for first in 1..=size {
                let proof = consistency_proof(first, size, nodes_of(&leaves)).expect("inside the tree");
                let verify = |proof: &[Digest]| verify_consistency(first, &root(first), size, &root(size), proof);
                assert_eq!(verify(&proof), Ok(()), "{first} in {size}");
                refuses_changes(&proof, verify);
                assert!(verify_consistency(first, &leaf_hash(b"fork"), size, &root(size), &proof).is_err());
                assert!(verify_consistency(first, &root(first), size, &leaf_hash(b"fork"), &proof).is_err());
            }
        }
        assert!(inclusion_proof(5, 5, nodes_of(&leaves)).is_err());
        assert!(consistency_proof(0, 5, nodes_of(&leaves)).is_err());
        assert!(consistency_proof(6, 5, nodes_of(&leaves)).is_err());
        assert!(verify_consistency(0, &empty_root(), 5, &root(5), &[]).is_err());
    }

    fn refuses_changes(proof: &[Digest], verify: impl Fn(&[Digest]) -> Result<(), Refusal>) {
        let longer = [proof, &[leaf_hash(b"more")]].concat();
        assert_eq!(verify(&longer).expect_err("too long").code, Code::ProofMalformed);
        for at in 0..proof.len() {
            let mut changed = proof.to_vec();
            changed[at] = leaf_hash(b"changed");
            assert_eq!(verify(&changed).expect_err("changed").code, Code::ProofInvalid);
            changed.remove(at);
            assert_eq!(verify(&changed).expect_err("too short").code, Code::ProofMalformed);
        }
    }

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        let proof = vec![empty_root(); 64];
        let last = u64::MAX - 1;
        assert_eq!(verify_inclusion(&empty_root(), 0, u64::MAX, &proof, &empty_root()).expect_err("made up").code, Code::ProofInvalid);
        assert!(verify_inclusion(&empty_root(), last, u64::MAX, &proof, &empty_root()).is_err());
        assert!(verify_consistency(1 << 63, &empty_root(), u64::MAX, &empty_root(), &proof).is_err());
        assert!(verify_consistency(last, &empty_root(), u64::MAX, &empty_root(), &proof).is_err());
    }
}
