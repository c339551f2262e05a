//! The gate's own keys, which live outside the database, and the newest head beside them.
//!
//! Whoever can read the folder can sign as the gate; whoever can only write the database cannot.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use vidimus_core::bytes::{base64url_decode, base64url_encode};
use vidimus_core::challenge::ChallengeKey;
use vidimus_core::ids::GateId;
use vidimus_core::seal::SealKey;
use vidimus_core::sign::SecretKey;

/// Why the keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// A file cannot be read or written.
    #[error("the key file `{}` cannot be used; check that it exists and belongs to this user", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Others may read it.
    #[error("the key file `{}` is open to other users (mode {mode:o}); run `chmod 600` on it, and consider its keys known", path.display())]
    TooOpen {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Others may put files into a folder of the gate's.
    #[error("the folder `{}` can be written by other users (mode {mode:o}); run `chmod 700` on it, and look at what is in it", path.display())]
    FolderTooOpen {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A link, something else than a file or folder, or another user's.
    #[error("`{}` is a link or belongs to another user; the gate's files are its own user's, in their own place", path.display())]
    Foreign {
        /// Where.
        path: PathBuf,
    },
    /// It holds no key.
    #[error("the key file `{}` holds no key; restore it from a copy, a new key would be a new gate", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
    },
}

/// The gate's secret keys.
pub struct Keys {
    /// Signs checkpoints; the gate's id is its digest.
    pub log: SecretKey,
    /// Signs execution tokens.
    pub token: SecretKey,
    /// Authenticates challenges; it follows from the token key's seed, so a start in between changes nothing.
    pub challenges: ChallengeKey,
    /// Seals the end of the log and the clock at every commit; it follows from the log key's seed.
    pub seal: SealKey,
}

/// The folder of the keys in a data folder.
pub fn folder(data: &Path) -> PathBuf {
    data.join("keys")
}

impl Keys {
    /// Writes two new keys.
    ///
    /// *Errors*: `File`, also where a key is there already: a key is never replaced.
    pub fn create(data: &Path, log_seed: &[u8; 32], token_seed: &[u8; 32]) -> Result<Keys, KeysError> {
        let folder = folder(data);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(at(&folder))?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).map_err(at(&folder))?;
        for (name, seed) in [("log.key", log_seed), ("token.key", token_seed)] {
            let path = folder.join(name);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(at(&path))?;
            writeln!(file, "{}", base64url_encode(seed)).and_then(|()| file.sync_all()).map_err(at(&path))?;
        }
        File::open(&folder).and_then(|folder| folder.sync_all()).map_err(at(&folder))?;
        Ok(Keys::of(log_seed, token_seed))
    }

    /// Reads the keys.
    ///
    /// *Errors*: `File`, `TooOpen`, `Malformed`.
    pub fn load(data: &Path) -> Result<Keys, KeysError> {
        let folder = folder(data);
        own_folder(data)?;
        own_folder(&folder)?;
        Ok(Keys::of(&load_seed(&folder.join("log.key"))?, &load_seed(&folder.join("token.key"))?))
    }

    fn of(log_seed: &[u8; 32], token_seed: &[u8; 32]) -> Keys {
        Keys {
            log: SecretKey::from_seed(log_seed),
            token: SecretKey::from_seed(token_seed),
            challenges: ChallengeKey::derive(token_seed),
            seal: SealKey::derive(log_seed),
        }
    }

    /// The gate's id.
    pub fn gate(&self) -> GateId {
        GateId::of(&self.log.public())
    }
}

/// A folder in which nobody else can put or swap a file.
///
/// *Errors*: `File`, `Foreign`, `FolderTooOpen`.
pub fn own_folder(path: &Path) -> Result<(), KeysError> {
    let found = fs::symlink_metadata(path).map_err(at(path))?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(KeysError::Foreign { path: path.to_owned() });
    }
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(KeysError::FolderTooOpen { path: path.to_owned(), mode });
    }
    Ok(())
}

fn load_seed(path: &Path) -> Result<[u8; 32], KeysError> {
    let found = fs::symlink_metadata(path).map_err(at(path))?;
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(KeysError::Foreign { path: path.to_owned() });
    }
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeysError::TooOpen { path: path.to_owned(), mode });
    }
    let text = fs::read_to_string(path).map_err(at(path))?;
    let seed: Option<[u8; 32]> = base64url_decode(text.trim_end()).ok().and_then(|bytes| bytes.try_into().ok());
    seed.ok_or_else(|| KeysError::Malformed { path: path.to_owned() })
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> KeysError {
    let path = path.to_owned();
    move |source| KeysError::File { path, source }
}

/// The newest head that the gate has signed, kept beside the keys: an older database is noticed.
pub struct HeadFile {
    path: PathBuf,
}

impl HeadFile {
    /// The head file of a data folder.
    pub fn of(data: &Path) -> HeadFile {
        HeadFile { path: folder(data).join("head") }
    }

    /// The signed note, where one was kept.
    ///
    /// *Errors*: `File`.
    pub fn read(&self) -> Result<Option<String>, KeysError> {
        match fs::read_to_string(&self.path) {
            Ok(note) => Ok(Some(note)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(&self.path)(error)),
        }
    }

    /// Replaces the note as a whole. A crash leaves the old or the new one; the older one is never ahead of the database.
    /// The first one is made durable, so that a database with checkpoints and no head beside it was tampered with.
    ///
    /// Two files change places: a commit that is told costs neither a new file nor the end of an old one.
    ///
    /// *Errors*: `File`.
    pub fn write(&self, note: &str) -> Result<(), KeysError> {
        let spare = self.path.with_extension("new");
        write_spare(&spare, note).map_err(at(&spare))?;
        match renameat_with(CWD, &spare, CWD, &self.path, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(()),
            Err(Errno::NOENT) => {
                fs::rename(&spare, &self.path).map_err(at(&self.path))?;
                let folder = self.path.parent().unwrap_or(Path::new("."));
                File::open(folder).and_then(|folder| folder.sync_all()).map_err(at(folder))
            }
            // Not every file system exchanges names.
            Err(Errno::INVAL | Errno::NOSYS) => fs::rename(&spare, &self.path).map_err(at(&self.path)),
            Err(error) => Err(at(&self.path)(error.into())),
        }
    }
}

/// Writes the file that becomes the head. It is the gate's own and never what a link points to. Its length is made durable
/// before it is used, so that what a power cut leaves of it is a note of the same length: the one before it, or this one.
fn write_spare(spare: &Path, note: &str) -> io::Result<()> {
    let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let known = OpenOptions::new().write(true).custom_flags(no_link).open(spare).and_then(|file| Ok((file.metadata()?, file)));
    let file = match known {
        Ok((known, file)) if known.is_file() && known.nlink() == 1 && known.len() == note.len() as u64 => {
            return file.write_all_at(note.as_bytes(), 0);
        }
        Ok(_) => create_anew(spare)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => create_new(spare)?,
        Err(_) => create_anew(spare)?,
    };
    file.write_all_at(note.as_bytes(), 0)?;
    file.sync_all()
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// What stands in the way goes first.
fn create_anew(path: &Path) -> io::Result<File> {
    fs::remove_file(path)?;
    create_new(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_made_once_read_back_and_refused_when_open_to_others() {
        let data = tempfile::tempdir().expect("a folder");
        let made = Keys::create(data.path(), &[1; 32], &[2; 32]).expect("new keys");
        let read = Keys::load(data.path()).expect("the same keys");
        assert_eq!(made.gate(), read.gate());
        assert_eq!(made.token.public(), read.token.public());
        assert!(matches!(Keys::create(data.path(), &[3; 32], &[4; 32]), Err(KeysError::File { .. })));

        let path = folder(data.path()).join("token.key");
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("own file");
        mode(0o640);
        assert!(matches!(Keys::load(data.path()), Err(KeysError::TooOpen { .. })));
        mode(0o600);
        for wide in [data.path().to_owned(), folder(data.path())] {
            fs::set_permissions(&wide, fs::Permissions::from_mode(0o770)).expect("own folder");
            assert!(matches!(Keys::load(data.path()), Err(KeysError::FolderTooOpen { .. })), "{}", wide.display());
            fs::set_permissions(&wide, fs::Permissions::from_mode(0o700)).expect("own folder");
        }
        let elsewhere = data.path().join("elsewhere");
        fs::rename(&path, &elsewhere).expect("own file");
        std::os::unix::fs::symlink(&elsewhere, &path).expect("a link");
        assert!(matches!(Keys::load(data.path()), Err(KeysError::Foreign { .. })));
        fs::rename(&elsewhere, &path).expect("own file");
        mode(0o600);
        fs::write(&path, "short").expect("own file");
        assert!(matches!(Keys::load(data.path()), Err(KeysError::Malformed { .. })));
    }

    #[test]
    fn the_head_is_replaced_as_a_whole() {
        let data = tempfile::tempdir().expect("a folder");
        Keys::create(data.path(), &[1; 32], &[2; 32]).expect("new keys");
        let head = HeadFile::of(data.path());
        assert_eq!(head.read().expect("no head yet"), None);
        for note in ["one\n", "two\n", "ten\n", "three\n", "four\n", "five\n"] {
            head.write(note).expect("written");
            assert_eq!(head.read().expect("read").as_deref(), Some(note));
        }
        // A link in the way is replaced, what it points to is left alone.
        let other = data.path().join("other");
        fs::write(&other, "not the gate's").expect("own file");
        fs::remove_file(folder(data.path()).join("head.new")).expect("own file");
        std::os::unix::fs::symlink(&other, folder(data.path()).join("head.new")).expect("a link");
        head.write("three\n").expect("written");
        assert_eq!(fs::read_to_string(&other).expect("read"), "not the gate's");
        assert_eq!(head.read().expect("read").as_deref(), Some("three\n"));
        // So is a second name of another file, of whatever length.
        fs::remove_file(folder(data.path()).join("head.new")).expect("own file");
        fs::hard_link(&other, folder(data.path()).join("head.new")).expect("a second name");
        head.write("not the dog's\n").expect("written");
        assert_eq!(fs::read_to_string(&other).expect("read"), "not the gate's");
        assert_eq!(head.read().expect("read").as_deref(), Some("not the dog's\n"));
    }
}
