//! A write: state before, intent made durable, executed once, state after, one record.

use std::time::{Duration, Instant};

use tokio::time::timeout;
use vidimus_api::call::CallRequest;
use vidimus_core::json::{Json, Limits, parse};
use vidimus_core::operation::{Answer, OperationKey};
use vidimus_core::table::{HttpExecutor, Row, Table};
use vidimus_core::time::Timestamp;
use vidimus_store::{AgentIdentity, IntentOutcome, WriteEnd, WriteIntent};

use super::read::{http_of, outgoing};
use super::{Begun, CallFault};
use crate::executor::{Outgoing, Reply, http::parse_result};
use crate::gate::Gate;
use crate::kept_bytes::of_answer;
use crate::limits::{STATE_AFTER_S_MAX, WRITE_KEPT_BYTES, WRITE_LEASE_MARGIN_S};
use crate::seams::{Seam, pass};

impl Gate {
    pub(super) async fn write(
        &self,
        table: &Table,
        agent: &AgentIdentity,
        row: &Row,
        args: &Json,
        call: &CallRequest,
    ) -> Result<Begun, CallFault> {
        let (http, mut outgoing, before) = match self.prepare(table, row, args, call).await {
            Ok(prepared) => prepared,
            Err(fault) => return Err(self.recorded(agent, row, fault).await),
        };
        let once = call.call_key.is_some();
        let received = self.received(agent, row, call)?;
        let (call_id, on_record) = (received.call, received.refusal_on_record);
        let lease_s = http.timeout_s + WRITE_LEASE_MARGIN_S;
        let before_kept = of_answer(before.as_deref());
        let intent = WriteIntent { row_sha256: row.digest(), args: call.args.get().to_owned(), before, lease_s, received };
        match self.store.write_intent(self.moment()?, intent).await? {
            IntentOutcome::Send { operation, attempt, lease_until } => {
                pass(Seam::AfterIntent);
                outgoing.idempotency = http.idempotency_header.as_deref().map(|header| (header, operation.digest()));
                let after_kept = self.send_write(table, row, args, (operation, attempt, lease_until), outgoing).await?;
                self.kept_bytes.charge(&agent.agent, WRITE_KEPT_BYTES + before_kept + after_kept, Instant::now());
                self.bell.ring(call_id);
                Ok(Begun::Stored { call: call_id, joined: false, once, untold: false })
            }
            IntentOutcome::Joined(joined) => Ok(Begun::Stored { call: joined.call, joined: true, once, untold: false }),
            IntentOutcome::Refused(refusal) => Err(self.refused_by_store(agent, on_record, refusal)),
        }
    }

    /// What can fail without an effect, tried before the intent: the address, the credential, the state before.
    async fn prepare<'a>(
        &self,
        table: &Table,
        row: &'a Row,
        args: &Json,
        call: &CallRequest,
    ) -> Result<(&'a HttpExecutor, Outgoing<'a>, Option<String>), CallFault> {
        let http = http_of(row)?;
        let outgoing = outgoing(&self.credentials, http, args, call.args.get().as_bytes())?;
        let before = match &row.state {
            Some(read) => Some(self.state(table, read, args).await?),
            None => None,
        };
        Ok((http, outgoing, before))
    }

    /// Sends a write in doubt again under its key, where its row allows that. Tells whether it was sent.
    ///
    /// *Errors*: those of the store, and what stands in the way of sending.
    pub(crate) async fn send_write_again(&self, operation: OperationKey) -> Result<bool, CallFault> {
        let Some(view) = self.store.operation(operation).await? else { return Ok(false) };
        let table = self.table().await?.ok_or_else(super::no_table)?;
        let Some(row) = table.row(&view.tool) else { return Ok(false) };
        let http = http_of(row)?;
        let Some(header) = http.idempotency_header.as_deref() else { return Ok(false) };
        // What can fail without an effect, before an attempt is used up.
        let given = view.args.unwrap_or_default();
        outgoing(&self.credentials, http, &parse(given.as_bytes(), &Limits::CALL)?, given.as_bytes())?;
        let lease_s = http.timeout_s + WRITE_LEASE_MARGIN_S;
        let Some(again) = self.store.write_again(self.moment()?, operation, lease_s).await? else { return Ok(false) };
        let args = parse(again.args.as_bytes(), &Limits::CALL)?;
        let mut sent = outgoing(&self.credentials, http, &args, again.args.as_bytes())?;
        sent.idempotency = Some((header, operation.digest()));
        self.send_write(&table, row, &args, (operation, again.attempt, again.lease_until), sent).await?;
        self.bell.ring(again.call);
        Ok(true)
    }

    /// Sends a write and records what came of it. Tells how many bytes of answers that left.
    async fn send_write(
        &self,
        table: &Table,
        row: &Row,
        args: &Json,
        (operation, attempt, lease_until): (OperationKey, u32, Timestamp),
        outgoing: Outgoing<'_>,
    ) -> Result<u64, CallFault> {
        // Under a signed head, as money is: an older copy of the database would not know that it was sent.
        let covered = self.checkpoints.cover_now().await;
        pass(Seam::BeforeSend);
        self.store.undisturbed()?;
        let reply = match last_look(covered, crate::clock::now(), lease_until) {
            None => self.outbound.send(outgoing).await,
            Some(detail) => Reply::NothingSent { detail: detail.to_owned() },
        };
        pass(Seam::AfterAnswer);
        let after = match &row.state {
            // What cannot be read afterwards is missing from the record; the write itself is no less done.
            Some(read) => timeout(Duration::from_secs(STATE_AFTER_S_MAX), self.state(table, read, args)).await.ok().and_then(Result::ok),
            None => None,
        };
        pass(Seam::BeforeRecord);
        let end = write_end(row, operation, attempt, &reply, after);
        let kept = of_answer(end.result.as_deref()) + of_answer(end.after.as_deref());
        self.store.write_end(self.moment()?, end).await?;
        pass(Seam::AfterRecord);
        Ok(kept)
    }
}

/// The last look before the first byte: why nothing may be sent any more. Whoever was paused here for longer than the lease has lost the
/// right to send: others may have found out what became of it, or a further attempt rests on a key that the provider may have
/// forgotten.
fn last_look(covered: bool, now: Timestamp, lease_until: Timestamp) -> Option<&'static str> {
    if !covered {
        return Some("no signed head covers the intent; nothing was sent");
    }
    (now >= lease_until).then_some("the lease ran out before anything was sent")
}

fn write_end(row: &Row, operation: OperationKey, attempt: u32, reply: &Reply, after: Option<String>) -> WriteEnd {
    let answer = reply.judge(&row.no_effect_statuses);
    let result = reply.result();
    let receipt = match answer {
        Answer::Done => row.receipt.as_deref().and_then(|pointer| receipt(pointer, result.as_deref()?)),
        Answer::NothingSent | Answer::NoEffect | Answer::Unclear => None,
    };
    WriteEnd { operation, attempt, answer, result, receipt, after, detail: reply.detail() }
}

/// The receipt in a result, as text.
fn receipt(pointer: &str, result: &str) -> Option<String> {
    let json = parse_result(result.as_bytes())?;
    let value = json.pointer(pointer)?;
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.lexeme().to_owned()),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_sent_once_the_lease_is_over() {
        let lease_until = Timestamp::MIN.plus_s(40);
        assert_eq!(last_look(true, Timestamp::MIN.plus_s(39), lease_until), None);
        for late_s in [40, 45] {
            assert!(last_look(true, Timestamp::MIN.plus_s(late_s), lease_until).is_some(), "{late_s} s");
        }
        assert!(last_look(false, Timestamp::MIN, lease_until).is_some(), "no head covers it");
    }
}
