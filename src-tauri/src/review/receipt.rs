//! A receipt: believed only when the record holds our envelope and is proven to be in the signed log.

use vidimus_api::request::Receipt;
use vidimus_core::bytes::Digest;
use vidimus_core::checkpoint::parse_verify;
use vidimus_core::decision::DecisionKind;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::RequestId;
use vidimus_core::record::{AuditRecord, RecordType};
use vidimus_core::tree::{leaf_hash, verify_inclusion};

use crate::console::Console;
use crate::errors::Told;
use crate::review::ShownReceipt;
use crate::strings;
use crate::text::money::grouped;
use crate::text::time;

pub fn verify(
    console: &Console,
    request: &RequestId,
    envelope: &Envelope,
    receipt: &Receipt,
    kind: DecisionKind,
) -> Result<ShownReceipt, Told> {
    let bad = || Told::new("E-DEC-9", strings::RECEIPT_BAD);
    let membership = console.membership().ok_or_else(bad)?;
    let proof = Proof { leaf: &receipt.leaf, position: receipt.position, proof: &receipt.proof, checkpoint: &receipt.checkpoint };
    let (record, size) = proof.verify(console)?;
    let ours = record.record_type == RecordType::DecisionRecorded
        && record.request == Some(*request)
        && receipt.request == *request
        && record.claim("decision") == Some(kind.as_str())
        && record.envelopes.contains(envelope);
    if !ours {
        return Err(bad());
    }
    let at = time::hour_minute_second(record.at.as_ms(), &console.zone);
    let position = grouped(&receipt.position.to_string());
    let heading = match kind {
        DecisionKind::Deny => strings::recorded_denied(&position, &at),
        DecisionKind::Approve => strings::recorded_approved(&position, &at),
        DecisionKind::Retract => strings::recorded_retracted(&position, &at),
        DecisionKind::Revoke => strings::recorded_revoked(&position, &at),
        DecisionKind::MoreTime => strings::recorded_more_time(&position, &at),
    };
    let mut lines = vec![strings::signed_by(&membership.label), strings::receipt_proof(&position, &grouped(&size.to_string()))];
    if kind == DecisionKind::Approve {
        lines.push(strings::quorum(receipt.quorum.given, receipt.quorum.needed));
    }
    if let Some(digest) = record.claim("request_sha256") {
        lines.push(strings::receipt_hash(&strings::hash_groups(digest)));
    }
    Ok(ShownReceipt { heading, lines })
}

/// A record with the way from its leaf to a signed head.
pub struct Proof<'a> {
    pub leaf: &'a str,
    pub position: u64,
    pub proof: &'a [Digest],
    pub checkpoint: &'a str,
}

impl Proof<'_> {
    /// The record and the size of the log that proves it.
    ///
    /// *Errors*: E-DEC-9: it is not proven, or not in the log that was verified here.
    pub fn verify(&self, console: &Console) -> Result<(AuditRecord, u64), Told> {
        let bad = || Told::new("E-DEC-9", strings::RECEIPT_BAD);
        let membership = console.membership().ok_or_else(bad)?;
        let verified = parse_verify(self.checkpoint, &membership.gate.to_string(), &membership.log_key).map_err(|_| bad())?;
        let head = verified.checkpoint();
        let leaf = self.leaf.as_bytes();
        verify_inclusion(&leaf_hash(leaf), self.position, head.size(), self.proof, head.root()).map_err(|_| bad())?;
        let record = AuditRecord::parse(leaf).map_err(|_| bad())?;
        // A head of the same size as ours is the same head.
        let same_log = console.read(|mirror| Ok(mirror.size() != head.size() || mirror.root() == *head.root())) != Some(false);
        let same_leaf = console.read(|mirror| mirror.leaf(self.position)).flatten().is_none_or(|here| here == self.leaf);
        if same_log && same_leaf { Ok((record, head.size())) } else { Err(bad()) }
    }
}
