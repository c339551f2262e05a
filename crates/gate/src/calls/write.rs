//! A write: state before, intent made durable, executed once, state after, one record.

use vidimus_api::call::CallRequest;
use vidimus_core::json::Json;
use vidimus_core::operation::{Answer, OperationKey};
use vidimus_core::table::{HttpExecutor, Row, Table};
use vidimus_store::{AgentIdentity, IntentOutcome, WriteEnd, WriteIntent};

use super::read::{http_of, outgoing};
use super::{Begun, CallFault, received};
use crate::executor::{Outgoing, Reply, http::parse_result};
use crate::gate::Gate;
use crate::limits::WRITE_LEASE_MARGIN_S;
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
        let received = received(agent, row, call)?;
        let call_id = received.call;
        let lease_s = http.timeout_s + WRITE_LEASE_MARGIN_S;
        let intent = WriteIntent { row_sha256: row.digest(), args: call.args.get().to_owned(), before, lease_s, received };
        match self.store.write_intent(self.moment()?, intent).await? {
            IntentOutcome::Send { operation, attempt } => {
                pass(Seam::AfterIntent);
                outgoing.idempotency = http.idempotency_header.as_deref().map(|header| (header, operation.digest()));
                self.send_write(table, row, args, (operation, attempt), outgoing).await?;
                self.bell.ring(call_id);
                Ok(Begun::Stored { call: call_id, joined: false, once, untold: false })
            }
            IntentOutcome::Joined(joined) => Ok(Begun::Stored { call: joined.call, joined: true, once, untold: false }),
            IntentOutcome::Refused(refusal) => Err(refusal.into()),
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
        let outgoing = outgoing(http, args, call.args.get().as_bytes())?;
        let before = match &row.state {
            Some(read) => Some(self.state(table, read, args).await?),
            None => None,
        };
        Ok((http, outgoing, before))
    }

    async fn send_write(
        &self,
        table: &Table,
        row: &Row,
        args: &Json,
        (operation, attempt): (OperationKey, u32),
        outgoing: Outgoing<'_>,
    ) -> Result<(), CallFault> {
        // Under a signed head, as money is: an older copy of the database would not know that it was sent.
        let reply = if self.checkpoints.cover_now().await {
            pass(Seam::BeforeSend);
            self.outbound.send(outgoing).await
        } else {
            Reply::NothingSent { detail: "no signed head covers the intent; nothing was sent".to_owned() }
        };
        pass(Seam::AfterAnswer);
        let after = match &row.state {
            // What cannot be read afterwards is missing from the record; the write itself is no less done.
            Some(read) => self.state(table, read, args).await.ok(),
            None => None,
        };
        pass(Seam::BeforeRecord);
        let end = write_end(row, operation, attempt, &reply, after);
        self.store.write_end(self.moment()?, end).await?;
        pass(Seam::AfterRecord);
        Ok(())
    }
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
