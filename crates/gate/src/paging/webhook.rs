//! Pages as signed requests.
//!
//! *Source*: Standard Webhooks 1.0.0.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::{Client, Url};
use sha2::Sha256;
use tokio_util::sync::CancellationToken;
use vidimus_core::bytes::{base64_decode, base64_encode};
use vidimus_core::page::PageOutcome;

use super::{PagingError, SecretPlace};
use crate::limits::{CONNECT_S_MAX, PAGE_ATTEMPTS_MAX, PAGE_BACKOFF_MS, PAGE_S_MAX};

/// How long a secret may be. *Unit*: bytes. *Source*: Standard Webhooks, signature scheme.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A receiver of pages. It has no `Debug`: it holds a secret.
pub(super) struct Webhook {
    client: Client,
    url: Url,
    secret: Vec<u8>,
}

impl Webhook {
    pub(super) fn new(url: &str, secret: Option<&SecretPlace>) -> Result<Webhook, PagingError> {
        let url: Url = url.parse().map_err(|_| PagingError::AddressUnusable)?;
        if !may_be_used(&url) {
            return Err(PagingError::AddressUnusable);
        }
        let named = secret.ok_or(PagingError::SecretUnusable(None))?;
        let found = named.find().map_err(|error| PagingError::SecretUnusable(Some(error)))?;
        let secret = found.reveal().strip_prefix("whsec_").and_then(|text| base64_decode(text).ok());
        let secret = secret.filter(|secret| SECRET_BYTES.contains(&secret.len())).ok_or(PagingError::SecretUnusable(None))?;
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .http1_only()
            .user_agent("vidimus-gate")
            .connect_timeout(Duration::from_secs(CONNECT_S_MAX))
            .timeout(Duration::from_secs(PAGE_S_MAX))
            .build()?;
        Ok(Webhook { client, url, secret })
    }

    /// Sends until it is taken, with growing pauses; an answer of 2xx takes it. The same id at every attempt.
    pub(super) async fn deliver(&self, ending: &CancellationToken, id: &str, seconds: i64, body: &[u8]) -> PageOutcome {
        for attempt in 1..=PAGE_ATTEMPTS_MAX {
            if self.send(id, seconds, body).await {
                return PageOutcome::Delivered;
            }
            if attempt < PAGE_ATTEMPTS_MAX {
                let pause = Duration::from_millis(PAGE_BACKOFF_MS << (attempt - 1));
                tokio::select! {
                    () = ending.cancelled() => return PageOutcome::Failed,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
        PageOutcome::Failed
    }

    async fn send(&self, id: &str, seconds: i64, body: &[u8]) -> bool {
        let Some(signature) = signature(&self.secret, id, seconds, body) else { return false };
        let request = self
            .client
            .post(self.url.clone())
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", signature)
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .body(body.to_vec());
        // The body of the answer says nothing that a page needs.
        request.send().await.is_ok_and(|response| response.status().is_success())
    }
}

/// Encrypted, or not beyond this machine.
fn may_be_used(url: &Url) -> bool {
    let name = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let here = name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let plain_here = url.scheme() == "http" && here;
    (url.scheme() == "https" || plain_here) && !name.is_empty() && url.username().is_empty() && url.password().is_none()
}

/// `v1,` and the base64 of HMAC-SHA256 over `id.seconds.body`.
fn signature(secret: &[u8], id: &str, seconds: i64, body: &[u8]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(format!("{id}.{seconds}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", base64_encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// *Source*: the example of the Standard Webhooks specification's reference libraries.
    #[test]
    fn a_signature_is_the_one_of_the_published_example() {
        let secret = base64_decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a secret");
        let signature = signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn only_encrypted_addresses_and_this_machines_are_used() {
        let usable = |url: &str| url.parse::<Url>().is_ok_and(|url| may_be_used(&url));
        for url in ["https://hooks.example/x", "http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]:9/x"] {
            assert!(usable(url), "{url}");
        }
        for url in ["http://hooks.example/x", "http://10.0.0.1/x", "ftp://127.0.0.1/x", "https://me:secret@hooks.example/", "hooks.example"]
        {
            assert!(!usable(url), "{url}");
        }
    }
}
