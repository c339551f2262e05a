//! The credential of a provider: found at execution, held as short as possible, shown to nobody.
//!
//! A row of the effect table names a credential; which there are, the operator decides who started the gate: the files of one
//! folder, and variables of one prefix. Whoever may change a row must not reach any other file or variable through it, the
//! gate's own keys least of all: they would be sent to an address of that row's choice.

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use vidimus_core::table::Credential;

use crate::keys;
use crate::limits::CREDENTIAL_BYTES_MAX;

/// A credential's value. It has neither `Debug` nor `Display`.
pub struct Secret(String);

impl Secret {
    /// The value, to put into a header.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// One word of printable ASCII, as a header takes it.
    fn of(value: &str) -> Option<Secret> {
        let value = value.trim();
        let usable = !value.is_empty() && value.len() <= CREDENTIAL_BYTES_MAX && value.bytes().all(|byte| byte.is_ascii_graphic());
        usable.then(|| Secret(value.to_owned()))
    }

    /// The value in a file of the operator's choice.
    ///
    /// *Errors*: `Unusable`.
    pub fn of_file(path: &Path, named: &str) -> Result<Secret, CredentialError> {
        own_file(path).and_then(read).ok_or_else(|| CredentialError::Unusable(named.to_owned()))
    }

    /// The value of a variable.
    ///
    /// *Errors*: `Absent`, `Unusable`.
    pub fn of_variable(name: &str, named: &str) -> Result<Secret, CredentialError> {
        let value = std::env::var(name).map_err(|_| CredentialError::Absent(named.to_owned()))?;
        Secret::of(&value).ok_or_else(|| CredentialError::Unusable(named.to_owned()))
    }
}

/// Why a credential is not there.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The variable is not set.
    #[error("the credential `{0}` is not set; set the variable for the gate's process")]
    Absent(String),
    /// The file cannot be read, or is not one that the gate reads.
    #[error("the credential `{0}` cannot be used; it must be a file of at most 16 KiB, no link, that only the gate's user can read")]
    Unusable(String),
    /// The gate has no keyring.
    #[error("the credential `{0}` is in a keyring, which a daemon without a desktop does not have; use `env:` or `file:`")]
    NoKeyring(String),
}

/// Why a folder of credentials is none.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// Others may put files there, or it is not there.
    #[error("the folder of credentials cannot be used; name one that is the gate's own user's and that nobody else can write to")]
    Folder(#[source] keys::KeysError),
    /// The gate's own files are there.
    #[error("`{}` holds the gate's own files; keep the credentials of tools in a folder of their own", .0.display())]
    OfGate(PathBuf),
}

/// A file or folder, whatever its names: device and number.
type FileId = (u64, u64);

/// The credentials that rows may name.
pub struct Credentials {
    folder: PathBuf,
    of_gate: Vec<FileId>,
}

impl Credentials {
    /// Those of the folder that the operator names; by default of `credentials` in the data folder, which may be absent.
    ///
    /// *Errors*: `Folder`, `OfGate`: a gate says so at its start, not when a payment is due.
    pub fn of(named: Option<&Path>, data: &Path) -> Result<Credentials, CredentialsError> {
        let keys = keys::folder(data);
        let of_gate = [data.to_owned(), keys.clone(), keys.join("log.key"), keys.join("token.key")];
        let of_gate = of_gate.iter().filter_map(|path| fs::metadata(path).ok().map(|found| id_of(&found))).collect();
        let folder = named.map_or_else(|| default_folder(data), Path::to_owned);
        let credentials = Credentials { folder, of_gate };
        if named.is_some() || credentials.folder.exists() {
            credentials.look()?;
        }
        Ok(credentials)
    }

    /// Whether the folder is one that only the operator fills.
    fn look(&self) -> Result<(), CredentialsError> {
        keys::own_folder(&self.folder).map_err(CredentialsError::Folder)?;
        let of_gate = fs::metadata(&self.folder).is_ok_and(|found| self.of_gate.contains(&id_of(&found)));
        if of_gate { Err(CredentialsError::OfGate(self.folder.clone())) } else { Ok(()) }
    }

    /// Finds the credential that a row names.
    ///
    /// *Errors*: `Absent`, `Unusable`, `NoKeyring`; never with the value.
    pub fn find(&self, credential: &Credential) -> Result<Secret, CredentialError> {
        let named = credential.to_string();
        match credential {
            Credential::Env(name) => Secret::of_variable(name, &named),
            Credential::File(name) => self.file(name).and_then(read).ok_or(CredentialError::Unusable(named)),
            Credential::Keyring(_) => Err(CredentialError::NoKeyring(named)),
        }
    }

    fn file(&self, name: &str) -> Option<File> {
        self.look().ok()?;
        let file = own_file(&self.folder.join(name))?;
        // Another name of a key, by a mount for example.
        let of_gate = file.metadata().map_or(true, |found| self.of_gate.contains(&id_of(&found)));
        (!of_gate).then_some(file)
    }
}

/// Where the credentials of tools lie unless the operator says otherwise.
pub fn default_folder(data: &Path) -> PathBuf {
    data.join("credentials")
}

fn id_of(found: &fs::Metadata) -> FileId {
    (found.dev(), found.ino())
}

/// Opens a file that is the gate's user's alone, under its only name. What is opened is what is judged; a link is not followed,
/// and a pipe keeps nobody waiting.
fn own_file(path: &Path) -> Option<File> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).ok()?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let found = file.metadata().ok()?;
    let own = found.is_file() && found.uid() == rustix::process::geteuid().as_raw() && found.nlink() == 1 && found.mode() & 0o077 == 0;
    own.then_some(file)
}

fn read(file: File) -> Option<Secret> {
    let mut value = String::new();
    // One byte more than there may be, so that a longer one is seen to be longer.
    let read = file.take(CREDENTIAL_BYTES_MAX as u64 + 1).read_to_string(&mut value).ok()?;
    (read <= CREDENTIAL_BYTES_MAX).then(|| Secret::of(&value)).flatten()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::keys::Keys;

    /// A data folder with keys and a folder of credentials beside them.
    fn data() -> tempfile::TempDir {
        let data = tempfile::tempdir().expect("a folder");
        Keys::create(data.path(), &[1; 32], &[2; 32]).expect("new keys");
        folder_of_mode(&default_folder(data.path()), 0o700);
        data
    }

    fn folder_of_mode(path: &Path, mode: u32) {
        fs::create_dir_all(path).expect("own folder");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("own folder");
    }

    fn write(path: &Path, value: &str, mode: u32) {
        fs::write(path, value).expect("own file");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("own file");
    }

    fn found(credentials: &Credentials, named: &str) -> Option<String> {
        match credentials.find(&named.parse().expect(named)) {
            Ok(secret) => Some(secret.reveal().to_owned()),
            Err(CredentialError::Unusable(told)) => {
                assert_eq!(told, named);
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_no_credential() {
        let data = data();
        let credentials = Credentials::of(None, data.path()).expect("a folder");
        let path = default_folder(data.path()).join("bank");
        assert_eq!(found(&credentials, "file:bank"), None, "there is none");
        write(&path, "s3cret\n", 0o644);
        assert_eq!(found(&credentials, "file:bank"), None);
        write(&path, "s3cret\n", 0o600);
        assert_eq!(found(&credentials, "file:bank").as_deref(), Some("s3cret"));
        for unusable in ["", "two words", "line\nbreak", &"s".repeat(CREDENTIAL_BYTES_MAX + 1)] {
            write(&path, unusable, 0o600);
            assert_eq!(found(&credentials, "file:bank"), None, "{} bytes", unusable.len());
        }
    }

    #[test]
    fn no_credential_leads_to_the_keys_of_the_gate() {
        let data = data();
        let folder = default_folder(data.path());
        let credentials = Credentials::of(None, data.path()).expect("a folder");
        let key = keys::folder(data.path()).join("log.key");
        assert!(own_file(&key).and_then(read).is_some(), "it would be a credential, were it not a key");
        symlink(&key, folder.join("link")).expect("a link");
        fs::hard_link(&key, folder.join("name")).expect("a second name");
        symlink(keys::folder(data.path()), folder.join("keys")).expect("a link");
        for named in ["file:link", "file:name", "file:keys"] {
            assert_eq!(found(&credentials, named), None, "{named}");
        }
        // The key itself in place of a credential: known by what it is, not by its name.
        fs::remove_file(folder.join("name")).expect("own file");
        fs::rename(&key, folder.join("moved")).expect("own file");
        assert_eq!(found(&credentials, "file:moved"), None);

        fs::rename(folder.join("moved"), &key).expect("own file");
        symlink(keys::folder(data.path()), data.path().join("elsewhere")).expect("a link");
        for of_gate in [data.path().to_owned(), keys::folder(data.path()), data.path().join("keys/../keys")] {
            assert!(matches!(Credentials::of(Some(&of_gate), data.path()), Err(CredentialsError::OfGate(_))), "{}", of_gate.display());
        }
        let elsewhere = data.path().join("elsewhere");
        assert!(matches!(Credentials::of(Some(&elsewhere), data.path()), Err(CredentialsError::Folder(_))), "a link");
    }

    #[test]
    fn a_folder_that_others_fill_is_none() {
        let data = data();
        let folder = default_folder(data.path());
        let credentials = Credentials::of(None, data.path()).expect("a folder");
        write(&folder.join("bank"), "s3cret", 0o600);
        folder_of_mode(&folder, 0o770);
        assert!(matches!(Credentials::of(None, data.path()), Err(CredentialsError::Folder(_))));
        assert_eq!(found(&credentials, "file:bank"), None, "opened to others while the gate runs");
        assert!(Credentials::of(Some(&data.path().join("absent")), data.path()).is_err());
        fs::remove_dir_all(&folder).expect("own folder");
        let none = Credentials::of(None, data.path()).expect("nobody has to use files");
        assert_eq!(found(&none, "file:bank"), None);
    }

    #[test]
    fn what_is_not_there_is_named_without_a_value() {
        let credentials = Credentials::of(None, data().path()).expect("a folder");
        let find = |named: &str| credentials.find(&named.parse().expect(named));
        assert!(matches!(find("env:VIDIMUS_CREDENTIAL_OF_NOBODY"), Err(CredentialError::Absent(_))));
        assert!(matches!(find("keyring:bank"), Err(CredentialError::NoKeyring(_))));
    }
}
