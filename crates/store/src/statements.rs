//! What the statements of people have in common, whatever they are about: the text by which the same one is known again, and the record
//! of one that a rule refused.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Refusal;
use vidimus_core::dsse::Envelope;
use vidimus_core::ids::PersonId;
use vidimus_core::json::Json;
use vidimus_core::record::RecordType;

use crate::codec::{optional_text, text};
use crate::error::StoreError;
use crate::tx::Entry;

/// An envelope in its one spelling.
pub(crate) fn envelope_text(envelope: &Envelope) -> Result<String, StoreError> {
    String::from_utf8(envelope.to_json().canonical()?).map_err(|_| StoreError::corrupt("an envelope that is not text"))
}

/// The record of a refusal: why, and who signed or sent it, as far as that can be told.
pub(crate) fn refused(record_type: RecordType, approver: Option<PersonId>, key_sha256: Option<Digest>, refusal: &Refusal) -> Entry {
    let claims =
        Json::object([("code", text(refusal.code)), ("approver", optional_text(approver)), ("key_sha256", optional_text(key_sha256))]);
    Entry::new(record_type, claims)
}
