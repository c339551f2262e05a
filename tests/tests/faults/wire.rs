//! Raw requests, as somebody sends them who uses no client of ours.

use reqwest::{Client, Method};
use vidimus_api::problem::Problem;
use vidimus_core::bytes::base64_encode;
use vidimus_core::dsse::Envelope;
use vidimus_core::sign::SecretKey;
use vidimus_tests::approver::raw;

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub text: String,
}

impl Answer {
    /// The code of the problem document that this is.
    pub fn code(&self) -> String {
        self.problem().code
    }

    pub fn problem(&self) -> Problem {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in {} {}", self.status, self.text))
    }

    /// The document without the id that every answer has of its own.
    pub fn without_id(&self) -> (u16, Problem) {
        (self.status, Problem { request_id: String::new(), ..self.problem() })
    }

    pub fn is_client_error(&self) -> bool {
        (400..500).contains(&self.status)
    }
}

pub fn client() -> Client {
    Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).retry(reqwest::retry::never()).build().expect("a client")
}

/// Sends once, with this bearer or with none.
pub async fn send(method: Method, url: &str, bearer: Option<&str>, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
    let mut request = client().request(method, url).body(body);
    if let Some(bearer) = bearer {
        request = request.bearer_auth(bearer);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.expect("an answer");
    Answer { status: response.status().as_u16(), text: response.text().await.expect("a body") }
}

pub async fn post(url: &str, bearer: &str, body: impl Into<Vec<u8>>) -> Answer {
    send(Method::POST, url, Some(bearer), &[], body.into()).await
}

/// An envelope as the body of a decision.
pub fn decision_body(envelope: &Envelope) -> String {
    format!(r#"{{"envelope":{}}}"#, raw(envelope).expect("an envelope").get())
}

/// A decision's body whose parts are written as they are given, well-formed or not.
pub fn envelope_body(payload: &str, payload_type: &str, key_id: &str, signature: &str) -> String {
    let signatures = format!(r#"[{{"keyid":"{key_id}","sig":"{signature}"}}]"#);
    format!(r#"{{"envelope":{{"payload":"{payload}","payloadType":"{payload_type}","signatures":{signatures}}}}}"#)
}

/// Any payload, under any type, with a good signature of this key.
pub fn signed_body(payload_type: &str, payload: &[u8], key: &SecretKey) -> String {
    let envelope = Envelope::sign(payload_type, payload, key);
    envelope_body(&base64_encode(payload), payload_type, &key.public().digest().to_string(), &envelope.signature().to_base64())
}
