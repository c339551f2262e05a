//! From the states that are stored to the one status that an agent is told: one table.

use vidimus_api::call::{CallAnswer, CallStatus, DenialNotice};
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::operation::OperationState;
use vidimus_core::request::RequestState;
use vidimus_store::{CallView, StoreError};

use super::CallFault;

/// The status of a request, or of its operation once the request is consumed.
const fn status_of_request(request: RequestState, operation: Option<OperationState>) -> CallStatus {
    match request {
        RequestState::Pending => CallStatus::Pending,
        RequestState::Approved => CallStatus::Approved,
        RequestState::Denied => CallStatus::Denied,
        RequestState::Expired => CallStatus::Expired,
        RequestState::Withdrawn => CallStatus::Withdrawn,
        RequestState::Stale => CallStatus::Stale,
        RequestState::Revoked => CallStatus::Revoked,
        RequestState::Consumed => match operation {
            Some(state) => status_of_operation(state),
            None => CallStatus::Approved,
        },
    }
}

/// The status of an operation.
const fn status_of_operation(state: OperationState) -> CallStatus {
    match state {
        OperationState::Reserved => CallStatus::Approved,
        OperationState::Executing => CallStatus::Executing,
        OperationState::Succeeded => CallStatus::Executed,
        OperationState::Failed => CallStatus::Failed,
        OperationState::Unknown => CallStatus::Unknown,
        OperationState::NeedsReconciliation => CallStatus::NeedsReconciliation,
        OperationState::Partial => CallStatus::Partial,
        OperationState::NotHappened => CallStatus::NotHappened,
        OperationState::NotStarted => CallStatus::NotStarted,
    }
}

/// What an agent is told about a call.
pub(super) fn answer_of(view: CallView) -> Result<CallAnswer, CallFault> {
    let operation = view.operation;
    let state = operation.as_ref().map(|operation| operation.state);
    let status = match (&view.request, state) {
        (Some(request), state) => status_of_request(request.state, state),
        (None, Some(state)) => status_of_operation(state),
        (None, None) => return Err(StoreError::Corrupt("a call without request and operation".to_owned()).into()),
    };
    let detail = operation.as_ref().filter(|_| explains(status)).and_then(|operation| operation.detail.clone());
    let words = detail.map_or_else(|| status.words().to_owned(), |detail| format!("{} ({detail})", status.words()));
    let result = operation.as_ref().and_then(|operation| operation.result.clone());
    let result = result.map(vidimus_api::raw_json).transpose().map_err(CallFault::failed)?;
    let frozen = view.request.as_ref().map(|request| FrozenRequest::parse(request.frozen.as_bytes())).transpose()?;
    let denial = view.request.as_ref().and_then(|request| request.denial.as_ref()).map(|(denial, role)| DenialNotice {
        kind: denial.kind.to_string(),
        note: denial.note.clone(),
        role: role.to_string(),
    });
    Ok(CallAnswer {
        call: view.call,
        tool: view.tool.to_string(),
        status,
        code: status.as_str().to_owned(),
        words,
        request: view.request.as_ref().map(|request| request.request),
        request_sha256: view.request.as_ref().map(|request| request.request_sha256),
        args_sha256: view.request.as_ref().map(|request| request.args_sha256),
        operation: operation.as_ref().map(|operation| operation.operation),
        effect: view.effect,
        result,
        stored: false,
        denial,
        earlier: frozen.map(|frozen| frozen.members().earlier.clone()).unwrap_or_default(),
        waits_until: view.request.as_ref().map(|request| request.waits_until),
        attempt: operation.as_ref().map(|operation| operation.attempt),
    })
}

/// Whether the operation's own line says more than the status.
const fn explains(status: CallStatus) -> bool {
    match status {
        CallStatus::Failed | CallStatus::Unknown | CallStatus::NeedsReconciliation => true,
        CallStatus::Executed
        | CallStatus::Pending
        | CallStatus::Approved
        | CallStatus::Executing
        | CallStatus::Denied
        | CallStatus::Revoked
        | CallStatus::Expired
        | CallStatus::Withdrawn
        | CallStatus::Stale
        | CallStatus::NotStarted
        | CallStatus::Partial
        | CallStatus::NotHappened => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_status_and_no_denial_reads_as_consent() {
        for state in RequestState::ALL {
            let status = status_of_request(*state, None);
            let ended = state.is_final() && *state != RequestState::Consumed;
            assert_eq!(status.has_ended(), ended, "{state}");
        }
        let words: Vec<&str> = CallStatus::ALL.iter().map(|status| status.words()).collect();
        for (index, status) in CallStatus::ALL.iter().enumerate() {
            assert!(!words[..index].contains(&status.words()), "`{}` has words of another's", status.as_str());
        }
        let not_run = [CallStatus::Denied, CallStatus::Revoked, CallStatus::Expired, CallStatus::Withdrawn, CallStatus::Stale];
        for status in not_run {
            assert!(!status.words().contains("approved"), "{}", status.as_str());
            assert!(status.words().contains("did not run and will not run"), "{}", status.as_str());
        }
    }
}
