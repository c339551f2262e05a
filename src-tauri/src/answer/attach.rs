//! Files that a person looked at: their digests are signed, a copy stays here.

use vidimus_core::bytes::{Digest, base64_decode};
use vidimus_core::evidence::{Evidence, EvidenceFile};
use vidimus_core::limits::EVIDENCE_FILES_MAX;

use crate::answer::Answering;
use crate::limits::ATTACHMENT_BYTES_MAX;
use crate::profile::{Profile, write_whole};
use crate::strings;

/// Keeps a file and notes it for the answer.
///
/// *Errors*: words about a file that cannot be attached.
pub fn attach(answering: &mut Answering, profile: &Profile, name: &str, content: &str) -> Result<(), &'static str> {
    if answering.files.len() >= EVIDENCE_FILES_MAX {
        return Err(strings::FILES_TOO_MANY);
    }
    let bytes = base64_decode(content).map_err(|_| strings::FILE_TOO_LARGE)?;
    if bytes.len() > ATTACHMENT_BYTES_MAX {
        return Err(strings::FILE_TOO_LARGE);
    }
    let sha256 = Digest::of(&bytes);
    let file = EvidenceFile { name: name.to_owned(), bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX), sha256 };
    // The rule of what a name may be is core's: it is asked with what would be sent.
    let text = Evidence { files: vec![file.clone()], ..Evidence::default() }.to_text().map_err(|_| strings::FILE_NAME_BAD)?;
    Evidence::parse(&text).map_err(|_| strings::FILE_NAME_BAD)?;
    let directory = profile.evidence_directory();
    std::fs::create_dir_all(&directory).map_err(|_| strings::FILE_UNWRITABLE)?;
    // Named by its digest: a name from outside is no path.
    write_whole(&directory.join(sha256.to_string()), &bytes).map_err(|_| strings::FILE_UNWRITABLE)?;
    if !answering.files.contains(&file) {
        answering.files.push(file);
    }
    Ok(())
}
