//! What a person says about an operation whose outcome only people can tell: where it is seen, and when to look again.
//! Owns the document, its digest and what each answer needs of it; the answer itself is [`crate::reconciliation`]'s.

use crate::bytes::{Digest, Salt, tagged};
use crate::code::{Code, Refusal};
use crate::json::{Fields, Json, Limits, parse_canonical};
use crate::limits::{EVIDENCE_CHARS_MAX, EVIDENCE_CHARS_MIN, EVIDENCE_FILES_MAX, FILE_NAME_CHARS_MAX, LOOK_AGAIN_S_MAX};
use crate::reconciliation::Answer;
use crate::roster::unseen;
use crate::time::Timestamp;

/// A file that a person looked at. The file itself stays with the person; its digest names it for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvidenceFile {
    /// The file's name, without a folder.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its bytes.
    pub sha256: Digest,
}

/// What stands behind an answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The provider's own name for what happened.
    pub reference: Option<String>,
    /// How the person knows.
    pub evidence: Option<String>,
    /// When somebody looks again, where it is still unknown.
    pub look_again_at: Option<Timestamp>,
    /// Files that were looked at.
    pub files: Vec<EvidenceFile>,
}

const MEMBERS: &[&str] = &["reference", "evidence", "look_again_at", "files"];

impl Evidence {
    /// The canonical text: what is sent, digested and kept.
    pub fn to_text(&self) -> Result<String, Refusal> {
        let files = self.files.iter().map(|file| {
            Ok(Json::object([("name", file.name.as_str().into()), ("bytes", Json::integer(file.bytes)?), ("sha256", file.sha256.into())]))
        });
        let canonical = Json::object([
            ("reference", self.reference.clone().into()),
            ("evidence", self.evidence.clone().into()),
            ("look_again_at", self.look_again_at.map(|at| at.to_string()).into()),
            ("files", Json::Array(files.collect::<Result<_, Refusal>>()?)),
        ])
        .canonical()?;
        String::from_utf8(canonical).map_err(|_| Refusal::new(Code::JsonInvalidUtf8, "the evidence is not text; send UTF-8"))
    }

    /// Reads the canonical text.
    ///
    /// *Errors*: `not_canonical` and the other codes of a strict document, `evidence_invalid` for texts beyond their limits.
    pub fn parse(text: &str) -> Result<Evidence, Refusal> {
        let json = parse_canonical(text.as_bytes(), &Limits::STATEMENT)?;
        let fields = Fields::exactly(&json, MEMBERS)?;
        let files = fields.objects("files", &["name", "bytes", "sha256"])?;
        let files = files.iter().map(|file| {
            Ok(EvidenceFile { name: file.string("name")?.to_owned(), bytes: file.integer("bytes")?, sha256: file.parsed("sha256")? })
        });
        let evidence = Evidence {
            reference: fields.optional_string("reference")?.map(str::to_owned),
            evidence: fields.optional_string("evidence")?.map(str::to_owned),
            look_again_at: fields.optional_parsed("look_again_at")?,
            files: files.collect::<Result<_, Refusal>>()?,
        };
        for (text, path) in [(&evidence.reference, "/reference"), (&evidence.evidence, "/evidence")] {
            if text.as_ref().is_some_and(|text| text.trim().is_empty() || text.chars().count() > EVIDENCE_CHARS_MAX) {
                return Err(invalid(path, format!("a text is empty or has more than `{EVIDENCE_CHARS_MAX}` characters; shorten it")));
            }
        }
        if evidence.files.len() > EVIDENCE_FILES_MAX || !evidence.files.iter().all(|file| is_file_name(&file.name)) {
            let message = format!("more than `{EVIDENCE_FILES_MAX}` files, or a name that cannot be shown; name fewer, or rename them");
            return Err(invalid("/files", message));
        }
        Ok(evidence)
    }

    /// Whether an answer may rest on this.
    ///
    /// *Errors*: `evidence_invalid`, with the member that is missing or too short.
    pub fn suits(&self, answer: Answer, issued_at: Timestamp) -> Result<(), Refusal> {
        match answer {
            Answer::Happened if self.reference.is_some() && self.evidence.is_none() => {}
            Answer::Happened | Answer::Partly | Answer::NotHappened | Answer::Note => {
                if !self.evidence.as_deref().is_some_and(says_something) {
                    let message = format!("how you know it is missing or too short; write `{EVIDENCE_CHARS_MIN}` characters or more");
                    return Err(invalid("/evidence", message));
                }
            }
            Answer::StillUnknown => {
                let latest = issued_at.plus_s(LOOK_AGAIN_S_MAX);
                if !self.look_again_at.is_some_and(|at| issued_at < at && at <= latest) {
                    return Err(invalid("/look_again_at", format!("when to look again is missing, past, or after {latest}; name a time")));
                }
            }
        }
        let looks_again = self.look_again_at.is_some();
        match answer {
            Answer::StillUnknown => Ok(()),
            Answer::Happened | Answer::Partly | Answer::NotHappened | Answer::Note if looks_again => {
                Err(invalid("/look_again_at", "only what is still unknown is looked at again; leave the time out".to_owned()))
            }
            Answer::Happened | Answer::Partly | Answer::NotHappened | Answer::Note => Ok(()),
        }
    }
}

/// Salted digest of an evidence text: SHA-256("vidimus.evidence.v1" ‖ 0 ‖ salt ‖ text).
pub fn evidence_sha256(salt: &Salt, text: &str) -> Digest {
    tagged("vidimus.evidence.v1", [salt.as_bytes(), text.as_bytes()])
}

/// One line that a person can read, without a folder.
fn is_file_name(name: &str) -> bool {
    let length = name.chars().count();
    (1..=FILE_NAME_CHARS_MAX).contains(&length) && !name.contains('/') && !name.chars().any(unseen)
}

/// Long enough, and more than one key held down.
fn says_something(text: &str) -> bool {
    let text = text.trim();
    let first = text.chars().next();
    text.chars().count() >= EVIDENCE_CHARS_MIN && text.chars().any(|character| Some(character) != first)
}

fn invalid(path: &str, message: String) -> Refusal {
    Refusal::new(Code::EvidenceInvalid, message).at(path)
}
