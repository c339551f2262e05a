//! Where this console keeps its things, under which name in the keyring, and the lock that makes it
//! the only one that writes there.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// One console's directory: settings, mirror, enrolment state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    directory: PathBuf,
    places: Places,
    is_named: bool,
    keyring_service: String,
    digest: [u8; 32],
}

/// Where what is not data goes, by the XDG base directory specification.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Places {
    config: PathBuf,
    state: PathBuf,
    cache: PathBuf,
    /// Where the session looks for what it starts.
    autostart: PathBuf,
}

/// The directories that the environment names.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    pub home: Option<PathBuf>,
    pub data: Option<PathBuf>,
    pub config: Option<PathBuf>,
    pub state: Option<PathBuf>,
    pub cache: Option<PathBuf>,
}

impl Homes {
    pub fn of_environment() -> Self {
        let named = |name| std::env::var_os(name).map(PathBuf::from);
        Self {
            home: named("HOME"),
            data: named("XDG_DATA_HOME"),
            config: named("XDG_CONFIG_HOME"),
            state: named("XDG_STATE_HOME"),
            cache: named("XDG_CACHE_HOME"),
        }
    }

    /// A directory that is named, where the name is absolute; else the usual one below the home.
    fn directory(&self, named: Option<&PathBuf>, usual: &str) -> Result<PathBuf, ProfileError> {
        let named = named.filter(|path| path.is_absolute()).cloned();
        named.or_else(|| self.home.as_ref().map(|home| home.join(usual))).ok_or(ProfileError::NoHome)
    }
}

/// Held for as long as this console runs. Dropping it lets another one start.
#[derive(Debug)]
pub struct ProfileLock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("there is no home directory; name one with `--profile DIR`")]
    NoHome,
    #[error("the directory `{}` cannot be used", .0.display())]
    Unusable(PathBuf, #[source] io::Error),
    #[error("another console is running on `{}`", .0.display())]
    Locked(PathBuf),
}

impl Profile {
    /// The profile at a directory named on the command line.
    pub fn at(directory: &Path) -> Result<Self, ProfileError> {
        create_private(directory)?;
        let directory = fs::canonicalize(directory).map_err(|error| ProfileError::Unusable(directory.to_owned(), error))?;
        let digest: [u8; 32] = Sha256::digest(directory.as_os_str().as_encoded_bytes()).into();
        let name: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let config_home = Homes::of_environment().directory(Homes::of_environment().config.as_ref(), ".config").ok();
        let places = Places {
            config: directory.clone(),
            state: directory.clone(),
            cache: directory.clone(),
            autostart: config_home.unwrap_or_else(|| directory.clone()).join("autostart"),
        };
        Ok(Self { keyring_service: format!("vidimus-{name}"), directory, places, is_named: true, digest })
    }

    /// The user's own profile: data, settings, state and cache each below its own directory.
    pub fn default_of(homes: &Homes) -> Result<Self, ProfileError> {
        let config = homes.directory(homes.config.as_ref(), ".config")?;
        let mut profile = Self::at(&homes.directory(homes.data.as_ref(), ".local/share")?.join("vidimus"))?;
        "vidimus".clone_into(&mut profile.keyring_service);
        profile.places = Places {
            config: config.join("vidimus"),
            state: homes.directory(homes.state.as_ref(), ".local/state")?.join("vidimus"),
            cache: homes.directory(homes.cache.as_ref(), ".cache")?.join("vidimus"),
            autostart: config.join("autostart"),
        };
        profile.is_named = false;
        for directory in [&profile.places.config, &profile.places.state, &profile.places.cache] {
            create_private(directory)?;
        }
        Ok(profile)
    }

    /// The name under which the keyring keeps this profile's keys.
    pub fn keyring_service(&self) -> &str {
        &self.keyring_service
    }

    /// Binds a sealed key to this profile.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The local verified copy of the log.
    pub fn mirror_file(&self) -> PathBuf {
        self.directory.join("mirror.sqlite")
    }

    pub fn settings_file(&self) -> PathBuf {
        self.places.config.join("settings.json")
    }

    pub fn enrolment_file(&self) -> PathBuf {
        self.directory.join("enrolment.json")
    }

    /// New keys that are made and do not count yet.
    pub fn rotation_file(&self) -> PathBuf {
        self.directory.join("rotation.json")
    }

    pub fn pin_waits_file(&self) -> PathBuf {
        self.places.state.join("pin-waits.json")
    }

    /// What was told of the requests that wait, so that a restart repeats nothing.
    pub fn notified_file(&self) -> PathBuf {
        self.places.state.join("notified.json")
    }

    /// Where the system finds the drawn tray icons.
    pub fn tray_directory(&self) -> PathBuf {
        self.places.cache.join("tray")
    }

    /// Evidence of a broken log or of a mismatch, kept for an administrator.
    pub fn evidence_directory(&self) -> PathBuf {
        self.places.state.join("evidence")
    }

    /// The main window's size and place.
    pub fn window_file(&self) -> PathBuf {
        self.places.state.join("window.json")
    }

    /// Where the session looks for what it starts.
    pub fn autostart_directory(&self) -> PathBuf {
        self.places.autostart.clone()
    }

    /// The directory that the command line named, where it named one.
    pub fn named(&self) -> Option<&Path> {
        self.is_named.then_some(self.directory.as_path())
    }

    /// Takes the lock on the mirror. This, not the single-instance plugin, is what keeps a second
    /// console away: the plugin does nothing where there is no session bus.
    pub fn lock(&self) -> Result<ProfileLock, ProfileError> {
        let path = self.directory.join("mirror.lock");
        let unusable = |error| ProfileError::Unusable(path.clone(), error);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(unusable)?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(ProfileLock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(ProfileError::Locked(self.directory.clone())),
            Err(errno) => Err(unusable(errno.into())),
        }
    }
}

/// Writes a whole file or leaves the old one: the new content is renamed into place.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let part = path.with_extension("part");
    let mut file = private_file(&part)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&part, path)
}

#[cfg(unix)]
fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(true).write(true).open(path)
}

#[cfg(unix)]
fn create_private(directory: &Path) -> Result<(), ProfileError> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| ProfileError::Unusable(directory.to_owned(), error))
}

#[cfg(not(unix))]
fn create_private(directory: &Path) -> Result<(), ProfileError> {
    fs::create_dir_all(directory).map_err(|error| ProfileError::Unusable(directory.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_profiles_have_two_keyring_names() {
        let base = tempfile::tempdir().unwrap();
        let one = Profile::at(&base.path().join("one")).unwrap();
        let two = Profile::at(&base.path().join("two")).unwrap();
        assert_ne!(one.keyring_service(), two.keyring_service());
        assert_eq!(one, Profile::at(&base.path().join("one")).unwrap());
    }

    #[test]
    fn the_users_own_profile_has_the_plain_name() {
        let base = tempfile::tempdir().unwrap();
        let homes = Homes { home: Some(base.path().to_owned()), ..Homes::default() };
        let profile = Profile::default_of(&homes).unwrap();
        assert_eq!(profile.keyring_service(), "vidimus");
        assert_eq!(profile.named(), None);
        assert!(profile.directory().ends_with(".local/share/vidimus"));
        for (file, place) in [
            (profile.mirror_file(), ".local/share/vidimus/mirror.sqlite"),
            (profile.enrolment_file(), ".local/share/vidimus/enrolment.json"),
            (profile.settings_file(), ".config/vidimus/settings.json"),
            (profile.window_file(), ".local/state/vidimus/window.json"),
            (profile.notified_file(), ".local/state/vidimus/notified.json"),
            (profile.tray_directory(), ".cache/vidimus/tray"),
            (profile.autostart_directory(), ".config/autostart"),
        ] {
            assert!(file.ends_with(place), "{}", file.display());
        }
        let elsewhere = Homes { config: Some(base.path().join("settings")), state: Some("not/absolute".into()), ..homes };
        let profile = Profile::default_of(&elsewhere).unwrap();
        assert_eq!(profile.settings_file(), base.path().join("settings/vidimus/settings.json"));
        assert_eq!(profile.window_file(), base.path().join(".local/state/vidimus/window.json"));
        assert!(matches!(Profile::default_of(&Homes::default()), Err(ProfileError::NoHome)));
    }

    #[test]
    fn a_second_console_is_refused_while_the_first_runs() {
        let base = tempfile::tempdir().unwrap();
        let profile = Profile::at(base.path()).unwrap();
        let first = profile.lock().unwrap();
        assert!(matches!(profile.lock(), Err(ProfileError::Locked(_))));
        drop(first);
        profile.lock().unwrap();
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("settings.json");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
    }
}
