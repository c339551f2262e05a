//! From the states that are stored to the one status that an agent is told: one table.

use vidimus_api::call::{CallAnswer, CallStatus, DenialNotice};
use vidimus_core::code::Code;
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
    let end_code = view.request.as_ref().and_then(|request| request.end_code);
    let detail = detail.or_else(|| end_code.and_then(because).map(str::to_owned));
    let words = detail.map_or_else(|| status.words().to_owned(), |detail| format!("{} ({detail})", status.words()));
    let result = operation.as_ref().and_then(|operation| operation.result.clone());
    let result = result.map(vidimus_api::raw_json).transpose().map_err(CallFault::failed)?;
    let frozen = view.request.as_ref().map(|request| vidimus_store::frozen(&request.frozen)).transpose()?;
    let denial = view.request.as_ref().and_then(|request| request.denial.as_ref()).map(|(denial, role)| DenialNotice {
        kind: denial.kind.to_string(),
        note: denial.note.clone(),
        role: role.to_string(),
    });
    Ok(CallAnswer {
        call: view.call,
        tool: view.tool.to_string(),
        status,
        code: code_of(status, end_code).to_owned(),
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

/// The code of an answer: its status, or the rule by which it ended where there are several.
fn code_of(status: CallStatus, end_code: Option<Code>) -> &'static str {
    match (status, end_code) {
        (CallStatus::Stale, Some(code)) | (CallStatus::Withdrawn, Some(code @ Code::RequestOrphaned)) => code.as_str(),
        (_, _) => status.as_str(),
    }
}

/// Why a call ended without a decision, in words for its agent; none where the status says all.
const fn because(end_code: Code) -> Option<&'static str> {
    match end_code {
        Code::RowStale => Some("the tool's row in the effect table changed"),
        Code::RosterStale => Some("the roster changed"),
        Code::AgentRevoked => Some("an agent behind it was revoked"),
        Code::AgentOwnerGone => Some("the person who answered for an agent behind it left"),
        Code::ToolNotListed => Some("the tool is no longer on the agent's list"),
        Code::ReferentChanged => Some("what an argument names changed"),
        Code::RequestOrphaned => Some("its agent was gone before it had the call's id, and did not come back"),
        Code::KeyStopped | Code::KeyUnknown | Code::RoleNotHeld | Code::SelfApproval | Code::QuorumMissing | Code::ApproverWrong => {
            Some("a decision on it no longer counts")
        }
        _ => None,
    }
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
    use vidimus_core::standing::standing;

    use super::*;

    #[test]
    fn what_an_agent_is_told_of_the_same_call_is_what_the_store_does_with_it() {
        for request in RequestState::ALL {
            for operation in std::iter::once(None).chain(OperationState::ALL.iter().copied().map(Some)) {
                // An operation beyond its reservation is of a consumed request, and a consumed one has such an operation.
                let begun = operation.is_some_and(|operation| !matches!(operation, OperationState::Reserved | OperationState::NotStarted));
                // What was never started is so because its request ended.
                let waits = matches!(request, RequestState::Pending | RequestState::Approved);
                if begun == (*request == RequestState::Consumed) && !(waits && operation == Some(OperationState::NotStarted)) {
                    let status = status_of_request(*request, operation);
                    assert_eq!(status.standing(), standing(Some(*request), operation), "{request} {operation:?}");
                }
            }
        }
        for operation in OperationState::ALL.iter().filter(|state| !matches!(state, OperationState::Reserved)) {
            assert_eq!(status_of_operation(*operation).standing(), standing(None, Some(*operation)), "{operation}");
        }
    }

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
        for (state, end_code, code) in [
            (CallStatus::Stale, Some(Code::RowStale), "row_stale"),
            (CallStatus::Stale, Some(Code::AgentRevoked), "agent_revoked"),
            (CallStatus::Stale, Some(Code::AgentOwnerGone), "agent_owner_gone"),
            (CallStatus::Stale, None, "stale"),
            (CallStatus::Withdrawn, Some(Code::RequestWithdrawn), "withdrawn"),
            (CallStatus::Withdrawn, Some(Code::RequestOrphaned), "request_orphaned"),
            (CallStatus::Expired, Some(Code::RequestExpired), "expired"),
            (CallStatus::Executed, None, "executed"),
        ] {
            assert_eq!(code_of(state, end_code), code);
        }
        for code in Code::ALL {
            assert!(!because(*code).unwrap_or_default().contains("approv"), "{code}");
        }
        let not_run = [CallStatus::Denied, CallStatus::Revoked, CallStatus::Expired, CallStatus::Withdrawn, CallStatus::Stale];
        for status in not_run {
            assert!(!status.words().contains("approved"), "{}", status.as_str());
            assert!(status.words().contains("did not run and will not run"), "{}", status.as_str());
        }
    }
}
