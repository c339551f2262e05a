//! What a handler answers instead of an answer.

use std::error::Error;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use vidimus_api::problem::{FaceCode, Problem};
use vidimus_core::code::Refusal;
use vidimus_store::StoreError;

use crate::calls::CallFault;
use crate::entropy::NoEntropy;

/// A problem on its way out. The frame adds the request id and writes the document.
#[derive(Debug, Clone)]
pub struct Rejection(Box<Problem>);

impl Rejection {
    /// One of the face's own codes.
    pub fn of_face(code: FaceCode, detail: &str) -> Rejection {
        Rejection(Box::new(Problem::of_face(code, detail)))
    }

    /// A problem document that is complete but for its request id.
    pub fn of(problem: Problem) -> Rejection {
        Rejection(Box::new(problem))
    }

    /// A failure of the gate itself: the chain of reasons goes to the gate's log, and nowhere else.
    pub fn failure(error: &dyn Error) -> Rejection {
        crate::logging::failure("the gate failed to answer", error);
        Rejection::of_face(FaceCode::GateFailed, "the gate failed; nothing of this can be mended by the caller, its log says more")
    }

    /// With another status number, where one endpoint's contract says so.
    pub fn with_status(mut self, status: StatusCode) -> Rejection {
        self.0.status = status.as_u16();
        self
    }

    /// The broken rule of the domain; none for what is the face's own.
    pub fn refusal(&self) -> Option<Refusal> {
        let code = self.0.known_code()?;
        Some(Refusal { code, message: self.0.detail.clone(), path: self.0.path.clone() })
    }

    /// The document.
    pub fn into_problem(self) -> Problem {
        *self.0
    }
}

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Rejection {
        Rejection(Box::new(Problem::of(&refusal)))
    }
}

impl From<StoreError> for Rejection {
    fn from(error: StoreError) -> Rejection {
        Rejection::failure(&error)
    }
}

impl From<NoEntropy> for Rejection {
    fn from(error: NoEntropy) -> Rejection {
        Rejection::failure(&error)
    }
}

impl From<CallFault> for Rejection {
    fn from(fault: CallFault) -> Rejection {
        match fault {
            CallFault::Refused(problem) => Rejection(problem),
            CallFault::Failed(error) => Rejection::failure(error.as_ref()),
        }
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
