//! What becomes known about an operation whose outcome is in doubt: what its provider says when asked, and answers that come
//! too late. Only what is found, and ours, moves anything; the rest is evidence for people.

use vidimus_core::json::Json;
use vidimus_core::operation::{OperationInput, OperationKey};
use vidimus_core::record::RecordType;

use crate::engine::Rank;
use crate::error::StoreError;
use crate::operations::{AnswerOutcome, Change, advance, readers};
use crate::rows::StoredOperation;
use crate::tx::{Entry, Tx};
use crate::{Moment, Store};

/// What a provider said when asked for the status of an operation.
#[derive(Debug, Clone)]
pub enum StatusAnswer {
    /// It knows the operation, with our payload: its result is adopted.
    Found {
        /// The result's text.
        result: String,
    },
    /// It has something under the operation's key that is not what was sent.
    Foreign {
        /// One line about the answer.
        detail: String,
    },
    /// It does not know it: no proof of anything, so a person looks.
    NotFound {
        /// One line about the answer.
        detail: String,
    },
    /// It could not be asked, or its answer cannot be understood.
    Unclear {
        /// One line about the answer.
        detail: String,
    },
}

impl StatusAnswer {
    /// The answer in one word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            StatusAnswer::Found { .. } => "found",
            StatusAnswer::Foreign { .. } => "foreign",
            StatusAnswer::NotFound { .. } => "not_found",
            StatusAnswer::Unclear { .. } => "unclear",
        }
    }

    /// What the answer says, in one line without any value of the call.
    pub fn detail(&self) -> &str {
        match self {
            StatusAnswer::Found { .. } => "the provider knows the operation, with what was sent",
            StatusAnswer::Foreign { detail } | StatusAnswer::NotFound { detail } | StatusAnswer::Unclear { detail } => detail,
        }
    }
}

/// Why a provider was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusAsked {
    /// It was time to: what is not found goes to a person.
    InTurn,
    /// A person wanted to know: what is found is adopted while the outcome is nobody's yet, anything else is evidence.
    ByPerson,
}

impl Store {
    /// Records what a provider said about an operation whose outcome is unknown.
    pub async fn record_status(
        &self,
        moment: Moment,
        operation: OperationKey,
        asked: StatusAsked,
        answer: StatusAnswer,
    ) -> Result<AnswerOutcome, StoreError> {
        self.engine
            .write(moment, Rank::Plain, move |tx| {
                let Some(stored) = StoredOperation::load(tx.db, &operation)? else { return Ok(AnswerOutcome::NotFound) };
                record_status(tx, &stored, asked, answer)
            })
            .await
    }
}

fn record_status(tx: &mut Tx<'_>, stored: &StoredOperation, asked: StatusAsked, answer: StatusAnswer) -> Result<AnswerOutcome, StoreError> {
    let (word, detail) = (answer.as_str(), answer.detail().to_owned());
    let (input, result) = match (answer, asked) {
        (StatusAnswer::Found { result }, _) => (Some(OperationInput::StatusFound), Some(result)),
        (StatusAnswer::Foreign { .. } | StatusAnswer::NotFound { .. } | StatusAnswer::Unclear { .. }, StatusAsked::InTurn) => {
            (Some(OperationInput::GiveUp), None)
        }
        // Asked before the world has settled, absence is no reason either to stop asking.
        (StatusAnswer::Foreign { .. } | StatusAnswer::NotFound { .. } | StatusAnswer::Unclear { .. }, StatusAsked::ByPerson) => {
            (None, None)
        }
    };
    if let Some(input) = input {
        let change = Change { result: result.clone(), ..Change::of(detail.clone()) };
        if let Ok(next) = tx.attempt(|tx| advance(tx, stored, input, change))? {
            return Ok(AnswerOutcome::Applied(next.state));
        }
    }
    let attempt = stored.now_at.attempt;
    stage_evidence(tx, stored, &Evidence { attempt, source: "status", answer: word, result, detail: &detail })?;
    Ok(AnswerOutcome::Evidence(stored.now_at.state))
}

/// Something that became known about an operation and changes nothing.
pub(crate) struct Evidence<'a> {
    pub(crate) attempt: u32,
    /// `executor` or `status`.
    pub(crate) source: &'static str,
    pub(crate) answer: &'static str,
    pub(crate) result: Option<String>,
    pub(crate) detail: &'a str,
}

pub(crate) fn stage_evidence(tx: &mut Tx<'_>, stored: &StoredOperation, evidence: &Evidence<'_>) -> Result<(), StoreError> {
    let (request, roles) = readers(tx.log(), stored)?;
    let claims =
        Json::object([("attempt", evidence.attempt.into()), ("source", evidence.source.into()), ("answer", evidence.answer.into())]);
    let body = Json::object([("result", evidence.result.clone().into()), ("detail", evidence.detail.into())]);
    let entry = Entry::new(RecordType::EvidenceRecorded, claims).of_operation(stored.operation);
    tx.stage(Entry { request, ..entry.readable_by(roles).with_body(body) })?;
    Ok(())
}
