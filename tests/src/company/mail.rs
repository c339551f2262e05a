//! Mail: takes messages, keeps them, and cannot call one back.

use serde::Serialize;
use serde_json::json;

use super::answer::Answer;
use super::arguments::{self, SendEmail};
use super::desk::Done;

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Message {
    pub message: String,
    pub to: String,
    pub subject: String,
    pub body: String,
}

/// The messages sent, in order.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Mail {
    pub sent: Vec<Message>,
}

impl Mail {
    pub fn send(&mut self, sequence: u64, body: &[u8]) -> Result<Done, Answer> {
        let arguments: SendEmail = arguments::read(body)?;
        let message = format!("message_{sequence}");
        let document = json!({ "id": message, "to": arguments.to, "status": "sent" });
        self.sent.push(Message { message, to: arguments.to, subject: arguments.subject, body: arguments.body });
        Ok(document.into())
    }
}
