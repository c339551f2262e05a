//! What this console knows while it runs: who it is, what the gate said, the mirror, the open reviews.
//!
//! Plain and shared by the link, the windows and the notices. It must not know a window system.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::tz::TimeZone;
use tokio::sync::{broadcast, watch};
use vidimus_api::client::ApproverClient;
use vidimus_core::roster::{KeyUse, Person, Roster};

use crate::answer::Answering;
use crate::cards::Cards;
use crate::clock;
use crate::enrolment::{Kept, Membership};
use crate::errors::Told;
use crate::inbox::Inbox;
use crate::keys::{Keyring, PinSession, PinWaits};
use crate::mirror::{Applied, Mirror, MirrorFault};
use crate::notify::plan::Standstill;
use crate::profile::Profile;
use crate::review::Review;
use crate::settings::Settings;
use crate::tables::Tables;

/// The connection to the gate, as far as it can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum GateState {
    /// Not enrolled anywhere.
    #[default]
    None,
    Connecting,
    Connected,
    Offline,
    /// The gate answers, and refuses this console.
    Refused(Told),
    /// The gate is not the pinned one.
    IdentityChanged,
}

/// The key, as far as it can be told without touching it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeyState {
    #[default]
    None,
    Waiting,
    Active,
    Stopped,
    /// Its person is no longer in the roster.
    Removed,
    Error(Told),
}

/// Something that a window or a notice may care about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Records were verified.
    Log(Applied),
    /// The connection, the key, the settings or the enrolment.
    State,
    /// A review window was opened or closed, or the person looked at a request.
    Opened(String),
}

/// What the link learns and the windows read.
#[derive(Default)]
pub struct Shared {
    pub kept: Option<Kept>,
    pub gate: GateState,
    pub gate_since_ms: i64,
    /// The gate's clock minus this computer's.
    pub clock_offset_ms: i64,
    pub key: KeyState,
    pub client: Option<ApproverClient>,
    /// The mirror holds everything that the gate had signed when the connection began.
    pub level: bool,
    /// Why the mirror cannot be written, if so.
    pub mirror_fault: Option<Told>,
    pub notices_fault: Option<Told>,
    /// While nothing pops up.
    pub paused: Option<Standstill>,
    /// Why new keys are not proposed or taken yet, if so.
    pub rotation_fault: Option<Told>,
    /// Whether the keyring was looked through for new keys that nothing names, since the start.
    pub rotation_looked_at: bool,
    /// The main window is to show the reconcile desk when it asks next.
    pub desk_wanted: bool,
    pub settings: Settings,
}

/// Who this console is, by the verified roster.
#[derive(Debug, Clone)]
pub struct Standing {
    pub roster: Roster,
    pub person: Person,
}

pub struct Console {
    pub profile: Profile,
    pub keyring: Keyring,
    pub waits: PinWaits,
    pub zone: TimeZone,
    pub automated: bool,
    pub tables: Tables,
    pub cards: Cards,
    pub inbox: Inbox,
    shared: Mutex<Shared>,
    mirror: Mutex<Option<Mirror>>,
    pin: Mutex<PinSession>,
    reviews: Mutex<BTreeMap<String, Review>>,
    answerings: Mutex<BTreeMap<String, Answering>>,
    changes: broadcast::Sender<Change>,
    /// Counts enrolments, so that the link begins anew.
    generation: watch::Sender<u64>,
}

/// Changes that a slow listener may be behind before it is told to look at everything.
const CHANGES_KEPT: usize = 256;

impl Console {
    pub fn new(profile: Profile, automated: bool) -> Self {
        let settings = Settings::load(&profile);
        let kept = Kept::load(&profile);
        Self {
            keyring: Keyring::new(profile.keyring_service()),
            waits: PinWaits::at(profile.pin_waits_file()),
            zone: TimeZone::system(),
            automated,
            tables: Tables::default(),
            cards: Cards::default(),
            inbox: Inbox::default(),
            shared: Mutex::new(Shared { kept, settings, gate_since_ms: clock::now_ms(), ..Shared::default() }),
            mirror: Mutex::new(None),
            pin: Mutex::new(PinSession::default()),
            reviews: Mutex::new(BTreeMap::new()),
            answerings: Mutex::new(BTreeMap::new()),
            changes: broadcast::channel(CHANGES_KEPT).0,
            generation: watch::channel(0).0,
            profile,
        }
    }

    pub fn shared(&self) -> MutexGuard<'_, Shared> {
        held(&self.shared)
    }

    pub fn pin(&self) -> MutexGuard<'_, PinSession> {
        held(&self.pin)
    }

    pub fn reviews(&self) -> MutexGuard<'_, BTreeMap<String, Review>> {
        held(&self.reviews)
    }

    /// The open windows in which outcomes are answered, by operation.
    pub fn answerings(&self) -> MutexGuard<'_, BTreeMap<String, Answering>> {
        held(&self.answerings)
    }

    /// The mirror, once this console is enrolled.
    pub fn mirror(&self) -> MutexGuard<'_, Option<Mirror>> {
        held(&self.mirror)
    }

    /// Reads the mirror; nothing when there is none or it cannot be read.
    pub fn read<T>(&self, read: impl FnOnce(&Mirror) -> Result<T, MirrorFault>) -> Option<T> {
        self.mirror().as_ref().and_then(|mirror| read(mirror).ok())
    }

    pub fn membership(&self) -> Option<Membership> {
        self.shared().kept.as_ref().and_then(Kept::membership).cloned()
    }

    /// Who this console is by the newest verified roster: the holder of its approval key, unless stopped.
    pub fn standing(&self) -> Option<Standing> {
        let membership = self.membership()?;
        let roster = self.read(Mirror::roster).flatten()?;
        let holder = roster.active_key(&membership.approval_key.digest(), KeyUse::Approval).ok()?;
        let person = holder.person.clone();
        Some(Standing { roster, person })
    }

    /// The mark of the theme on a page. Its own function, so that no lock outlives it.
    pub fn theme_mark(&self) -> Option<&'static str> {
        self.shared().settings.theme.mark()
    }

    /// The gate's time, as far as it is known. For display: the gate decides what is expired.
    pub fn now_ms(&self) -> i64 {
        clock::now_ms().saturating_add(self.shared().clock_offset_ms)
    }

    pub fn set_gate(&self, gate: GateState) {
        let mut shared = self.shared();
        if shared.gate != gate {
            shared.gate = gate;
            shared.gate_since_ms = clock::now_ms();
            drop(shared);
            self.tell(Change::State);
        }
    }

    pub fn set_key(&self, key: KeyState) {
        let mut shared = self.shared();
        if shared.key != key {
            shared.key = key;
            drop(shared);
            self.tell(Change::State);
        }
    }

    /// Keeps what an enrolment led to, and lets the link begin anew.
    pub fn set_kept(&self, kept: Option<Kept>) {
        {
            let mut shared = self.shared();
            // The link begins with it; until it has, nothing else is known of the gate.
            shared.gate = if kept.as_ref().is_some_and(Kept::is_followed) { GateState::Connecting } else { GateState::None };
            shared.gate_since_ms = clock::now_ms();
            shared.kept = kept;
        }
        self.generation.send_modify(|generation| *generation += 1);
        self.tell(Change::State);
    }

    pub fn tell(&self, change: Change) {
        // Nobody listens while the program starts or ends.
        let _ = self.changes.send(change);
    }

    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    pub fn generation(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }
}

/// A panic elsewhere does not make what it held unusable: each holder leaves it whole.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
