//! An answer of the company before it becomes HTTP.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Status and body. Kept whole for an idempotency key, so that a repeated call gets the same bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub body: Vec<u8>,
}

impl Answer {
    /// 200 with a document.
    pub fn ok(document: &Value) -> Answer {
        Answer { status: StatusCode::OK, body: document.to_string().into_bytes() }
    }

    /// A refusal: a stable word for programs and a clause for people.
    pub fn refused(status: StatusCode, error: &str, message: &str) -> Answer {
        let body = json!({ "error": error, "message": message }).to_string().into_bytes();
        Answer { status, body }
    }

    /// 404 for a thing that is not there.
    pub fn absent(kind: &str, id: &str) -> Answer {
        Answer::refused(StatusCode::NOT_FOUND, &format!("{kind}_unknown"), &format!("there is no {kind} `{id}`"))
    }

    /// 422 for arguments that the system does not take.
    pub fn invalid(message: &str) -> Answer {
        Answer::refused(StatusCode::UNPROCESSABLE_ENTITY, "arguments_invalid", message)
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let content_type = [(header::CONTENT_TYPE, "application/json")];
        (self.status, content_type, Body::from(self.body)).into_response()
    }
}
