//! The system keyring, asked on a thread of its own: a locked keyring answers when a person does.

use std::sync::mpsc;
use std::time::Duration;

use keyring::v1::Entry;
use keyring::v1::Error as RingError;

use super::{Binding, DeviceBlob, KeyError, SealedKey, Seed};
use crate::limits::{KEYRING_NOTICE_S, KEYRING_WAIT_S};

const APPROVAL: &str = "approval";
const DEVICE: &str = "device";
const NEXT_APPROVAL: &str = "next approval";
const NEXT_DEVICE: &str = "next device";

/// The keys of one profile in the system keyring. There is no other place where keys are kept.
#[derive(Debug, Clone)]
pub struct Keyring {
    service: String,
    wait: Duration,
}

impl Keyring {
    pub fn new(service: &str) -> Self {
        Self { service: service.to_owned(), wait: Duration::from_secs(KEYRING_WAIT_S) }
    }

    /// The same keys, asked for with another patience.
    #[must_use]
    pub fn waiting_for(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// The name under which the keyring lists these keys.
    pub fn service(&self) -> &str {
        &self.service
    }

    /// Whether a keyring answers at all. Says nothing about what is in it.
    pub fn check(&self) -> Result<(), KeyError> {
        match self.read("probe".to_owned()) {
            Ok(_) | Err(KeyError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub fn approval_key(&self, binding: &Binding) -> Result<SealedKey, KeyError> {
        self.read(binding.account(APPROVAL)).and_then(SealedKey::from_blob)
    }

    pub fn device_key(&self, binding: &Binding) -> Result<Seed, KeyError> {
        self.read(binding.account(DEVICE)).and_then(|blob| DeviceBlob::open(blob, binding))
    }

    /// Whether there is room for keys: none of them is there.
    pub fn vacant(&self, binding: &Binding) -> Result<(), KeyError> {
        for use_ in [APPROVAL, DEVICE] {
            match self.read(binding.account(use_)) {
                Err(KeyError::Missing) => {}
                Ok(_) => return Err(KeyError::Present),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Stores both keys, and reads them back. A key that is there already is never overwritten.
    pub fn store(&self, binding: &Binding, approval: &SealedKey, device: &DeviceBlob) -> Result<(), KeyError> {
        self.vacant(binding)?;
        self.write(binding.account(APPROVAL), approval.as_blob().to_vec())?;
        self.write(binding.account(DEVICE), device.as_blob().to_vec())?;
        let kept = self.approval_key(binding)? == *approval && self.device_key(binding).is_ok();
        if kept { Ok(()) } else { Err(KeyError::Foreign) }
    }

    /// Stores two keys beside the ones in use, for a rotation.
    pub fn store_next(&self, binding: &Binding, approval: &SealedKey, device: &DeviceBlob) -> Result<(), KeyError> {
        self.write(binding.account(NEXT_APPROVAL), approval.as_blob().to_vec())?;
        self.write(binding.account(NEXT_DEVICE), device.as_blob().to_vec())?;
        let kept = SealedKey::from_blob(self.read(binding.account(NEXT_APPROVAL))?)? == *approval;
        if kept && DeviceBlob::open(self.read(binding.account(NEXT_DEVICE))?, binding).is_ok() { Ok(()) } else { Err(KeyError::Foreign) }
    }

    /// The keys of a rotation take the place of those in use. Cut in between, it is done again.
    pub fn promote_next(&self, binding: &Binding) -> Result<(), KeyError> {
        let approval = SealedKey::from_blob(self.read(binding.account(NEXT_APPROVAL))?)?;
        let device = self.read(binding.account(NEXT_DEVICE))?;
        DeviceBlob::open(device.clone(), binding)?;
        self.write(binding.account(APPROVAL), approval.as_blob().to_vec())?;
        self.write(binding.account(DEVICE), device)
    }

    /// Removes the keys of a rotation. Keys that are not there are no error.
    pub fn remove_next(&self, binding: &Binding) -> Result<(), KeyError> {
        self.remove_each(binding, [NEXT_APPROVAL, NEXT_DEVICE])
    }

    /// Removes both keys. A key that is not there is no error.
    pub fn remove(&self, binding: &Binding) -> Result<(), KeyError> {
        self.remove_each(binding, [APPROVAL, DEVICE])
    }

    fn remove_each(&self, binding: &Binding, uses: [&str; 2]) -> Result<(), KeyError> {
        for use_ in uses {
            let account = binding.account(use_);
            match self.call(account, |entry| entry.delete_credential()) {
                Ok(()) | Err(KeyError::Missing) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read(&self, account: String) -> Result<Vec<u8>, KeyError> {
        self.call(account, |entry| entry.get_secret())
    }

    fn write(&self, account: String, blob: Vec<u8>) -> Result<(), KeyError> {
        self.call(account, move |entry| entry.set_secret(&blob))
    }

    /// The thread is abandoned when nobody answers the system's dialog in time.
    fn call<T: Send + 'static>(
        &self,
        account: String,
        action: impl FnOnce(&Entry) -> Result<T, RingError> + Send + 'static,
    ) -> Result<T, KeyError> {
        let service = self.service.clone();
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let outcome = Entry::new(&service, &account).and_then(|entry| action(&entry));
            // The receiver is gone when the time was over: then nobody wants the outcome.
            let _ = sender.send(outcome);
        });
        match receiver.recv_timeout(self.wait) {
            Ok(outcome) => outcome.map_err(|error| reason(&error)),
            Err(mpsc::RecvTimeoutError::Timeout) => Err(KeyError::UnlockDismissed),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(KeyError::NoService),
        }
    }
}

/// Asks the keyring off the threads of the windows. `waits` is called once if it does not answer soon: then the system asks
/// the person to unlock it, in a window of its own.
pub async fn asked<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, KeyError> + Send + 'static,
    waits: impl FnOnce(),
) -> Result<T, KeyError> {
    let mut asking = tokio::task::spawn_blocking(ask);
    let answer = match tokio::time::timeout(Duration::from_secs(KEYRING_NOTICE_S), &mut asking).await {
        Ok(answer) => answer,
        Err(_) => {
            waits();
            asking.await
        }
    };
    answer.unwrap_or(Err(KeyError::NoService))
}

fn reason(error: &RingError) -> KeyError {
    match error {
        RingError::NoEntry => KeyError::Missing,
        RingError::NoStorageAccess(source) if source.to_string().to_lowercase().contains("dismiss") => KeyError::UnlockDismissed,
        RingError::NoStorageAccess(_) => KeyError::Locked,
        RingError::BadEncoding(_) | RingError::BadDataFormat(..) | RingError::BadStoreFormat(_) | RingError::Ambiguous(_) => {
            KeyError::Foreign
        }
        _ => KeyError::NoService,
    }
}
