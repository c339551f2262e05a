//! The audit record: one thing that happened, as a leaf of the log. Owns the leaf's bytes, the closed list of types and
//! the body's digest; knows neither position nor tree.

use crate::bytes::{Digest, Salt, tagged};
use crate::code::{Code, Refusal};
use crate::dsse::Envelope;
use crate::ids::{Name, RequestId, words};
use crate::json::{Fields, Json, Limits, parse_canonical};
use crate::limits::LEAF_BYTES_MAX;
use crate::operation::OperationKey;
use crate::time::Timestamp;

words!(
    /// What happened. The list is closed: a reader that meets another type stops.
    RecordType {
        /// The gate was made.
        GateInitialised = "gate_initialised",
        /// A version of the roster is in force.
        RosterChanged = "roster_changed",
        /// The recovery key's holder wants an admission; everybody is told.
        RecoveryAnnounced = "recovery_announced",
        /// An admin objected to a recovery: it never takes effect.
        RecoveryVetoed = "recovery_vetoed",
        /// A recovery could not take effect when its time came.
        RecoveryRefused = "recovery_refused",
        /// A statement about keys was refused.
        StatementRefused = "statement_refused",
        /// Too few persons are left who could decide on a request that waits.
        RequestUnanswerable = "request_unanswerable",
        /// A version of the effect table is in force.
        TableChanged = "table_changed",
        /// A person was invited.
        InviteCreated = "invite_created",
        /// An enrolment was refused.
        EnrolmentRefused = "enrolment_refused",
        /// An agent was given a credential.
        AgentAdded = "agent_added",
        /// An agent's credential was taken back.
        AgentRevoked = "agent_revoked",
        /// A session began.
        SessionOpened = "session_opened",
        /// A session was refused.
        SessionRefused = "session_refused",
        /// A call was refused.
        CallRefused = "call_refused",
        /// A read ran.
        ReadExecuted = "read_executed",
        /// A write is about to be sent.
        WriteIntended = "write_intended",
        /// A write ran.
        WriteExecuted = "write_executed",
        /// A write failed without an effect.
        WriteFailed = "write_failed",
        /// A write may have happened.
        WriteUnknown = "write_unknown",
        /// An approval request waits.
        RequestCreated = "request_created",
        /// A decision counts.
        DecisionRecorded = "decision_recorded",
        /// A decision does not count.
        DecisionRefused = "decision_refused",
        /// A request's time ran out.
        RequestExpired = "request_expired",
        /// An agent took its request back.
        RequestWithdrawn = "request_withdrawn",
        /// What a request was frozen on has changed.
        RequestStale = "request_stale",
        /// A request's agent is gone without having had its call's id, or is back.
        RequestOrphaned = "request_orphaned",
        /// A request waited so long that it is passed on.
        RequestEscalated = "request_escalated",
        /// An execution token was minted.
        TokenMinted = "token_minted",
        /// An execution token was redeemed.
        TokenRedeemed = "token_redeemed",
        /// An execution token was refused.
        TokenRefused = "token_refused",
        /// An operation changed its state.
        OperationChanged = "operation_changed",
        /// A person's answer to an unknown outcome counts.
        ReconciliationRecorded = "reconciliation_recorded",
        /// A person's answer to an unknown outcome does not count.
        ReconciliationRefused = "reconciliation_refused",
        /// Something became known about an operation that changes nothing: a late answer, a provider's word.
        EvidenceRecorded = "evidence_recorded",
        /// A person looks at an operation whose outcome is unknown.
        OperationOpened = "operation_opened",
        /// People were told of something that waits for them.
        PageSent = "page_sent",
        /// The clock went on and the gate had not seen that time pass: it was set forward, or the gate was not running.
        TimeSkipped = "time_skipped",
        /// Nothing else happened for a while.
        Heartbeat = "heartbeat",
    }
);

const MEMBERS: &[&str] = &["v", "type", "at", "request", "operation", "roles", "claims", "envelopes", "body_sha256"];

/// A body: what only some roles may read, with the salt that keeps its digest from being guessed back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body {
    /// Canonical JSON.
    pub text: String,
    /// The salt.
    pub salt: Salt,
}

impl Body {
    /// A body of this document.
    pub fn new(json: &Json, salt: Salt) -> Result<Body, Refusal> {
        let text = String::from_utf8(json.canonical()?).map_err(|_| Refusal::new(Code::JsonInvalidUtf8, "a body is not text"))?;
        Ok(Body { text, salt })
    }

    /// SHA-256("vidimus.body.v1" ‖ 0 ‖ salt ‖ text).
    pub fn digest(&self) -> Digest {
        tagged("vidimus.body.v1", [self.salt.as_bytes(), self.text.as_bytes()])
    }
}

/// An audit record without its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditRecord {
    /// What happened.
    pub record_type: RecordType,
    /// When, by the store's clock.
    pub at: Timestamp,
    /// The approval request it is about.
    pub request: Option<RequestId>,
    /// The operation it is about.
    pub operation: Option<OperationKey>,
    /// The roles that may read the body.
    pub roles: Vec<Name>,
    /// What everyone may know: an object.
    pub claims: Json,
    /// Signed statements.
    pub envelopes: Vec<Envelope>,
    /// The body's digest.
    pub body_sha256: Option<Digest>,
}

impl AuditRecord {
    /// The leaf: the record's canonical bytes.
    ///
    /// *Errors*: `leaf_too_large` above 65,535 bytes.
    pub fn leaf(&self) -> Result<Vec<u8>, Refusal> {
        let roles: Vec<&str> = self.roles.iter().map(Name::as_str).collect();
        let envelopes: Vec<Json> = self.envelopes.iter().map(Envelope::to_json).collect();
        let leaf = Json::object([
            ("v", 1_u32.into()),
            ("type", self.record_type.as_str().into()),
            ("at", self.at.into()),
            ("request", self.request.map(|request| request.to_string()).into()),
            ("operation", self.operation.map(|operation| operation.to_string()).into()),
            ("roles", roles.into()),
            ("claims", self.claims.clone()),
            ("envelopes", envelopes.into()),
            ("body_sha256", self.body_sha256.into()),
        ])
        .canonical()?;
        if leaf.len() > LEAF_BYTES_MAX {
            return Err(Refusal::new(
                Code::LeafTooLarge,
                format!("a record of `{}` bytes is above {LEAF_BYTES_MAX}; put it into the body", leaf.len()),
            ));
        }
        Ok(leaf)
    }

    /// Reads a leaf.
    ///
    /// *Errors*: `not_canonical`, `field_malformed` (an unknown type included) and the other codes of a strict document.
    pub fn parse(leaf: &[u8]) -> Result<AuditRecord, Refusal> {
        let json = parse_canonical(leaf, &Limits::STATEMENT)?;
        let fields = Fields::exactly(&json, MEMBERS)?;
        fields.version(1)?;
        let claims = fields.value("claims")?;
        if claims.as_object().is_none() {
            return Err(Refusal::new(Code::FieldMalformed, "the claims are not an object; this is no record of version 1").at("/claims"));
        }
        Ok(AuditRecord {
            record_type: fields.parsed("type")?,
            at: fields.parsed("at")?,
            request: fields.optional_parsed("request")?,
            operation: fields.optional_parsed("operation")?,
            roles: fields.strings("roles")?.into_iter().map(Name::parse).collect::<Result<_, _>>()?,
            claims: claims.clone(),
            envelopes: fields.array("envelopes")?.iter().map(Envelope::from_json).collect::<Result<_, _>>()?,
            body_sha256: fields.optional_parsed("body_sha256")?,
        })
    }

    /// A text claim.
    pub fn claim(&self, name: &str) -> Option<&str> {
        self.claims.member(name)?.as_str()
    }
}
