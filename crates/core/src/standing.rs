//! What a call that comes again meets: the one rule, from the states of the request and of the operation behind the first.

use crate::operation::OperationState;
use crate::request::RequestState;

/// What a call that comes again meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It goes on: the call joins it.
    Open,
    /// It has its answer: the call gets the stored one.
    Answered,
    /// It came to nothing: the call begins anew and names it.
    Over,
}

impl Standing {
    /// What the same call gets, in words for the documents.
    pub const fn words(self) -> &'static str {
        match self {
            Standing::Open => "joins this one",
            Standing::Answered => "gets this answer, said to be stored",
            Standing::Over => "is a new call, whose request names this one",
        }
    }
}

/// Where a call stands, from its request and its operation.
pub const fn standing(request: Option<RequestState>, operation: Option<OperationState>) -> Standing {
    use OperationState as O;
    use RequestState as R;
    match (request, operation) {
        (_, Some(O::Executing | O::Unknown | O::NeedsReconciliation)) => Standing::Open,
        (_, Some(O::Succeeded | O::Partial)) => Standing::Answered,
        (_, Some(O::Failed | O::NotHappened)) => Standing::Over,
        (Some(R::Pending | R::Approved | R::Consumed), None | Some(O::Reserved)) => Standing::Open,
        (Some(R::Denied | R::Revoked), None | Some(O::Reserved | O::NotStarted)) => Standing::Answered,
        (Some(R::Expired | R::Withdrawn | R::Stale), None | Some(O::Reserved | O::NotStarted)) => Standing::Over,
        (Some(R::Pending | R::Approved | R::Consumed), Some(O::NotStarted)) => Standing::Over,
        (None, None | Some(O::Reserved | O::NotStarted)) => Standing::Over,
    }
}
