//! What is asked of mint and redeem, and what they answer.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Refusal;
use vidimus_core::ids::{Name, RequestId};
use vidimus_core::json::Json;
use vidimus_core::operation::OperationKey;
use vidimus_core::time::Timestamp;
use vidimus_core::token::VerifiedToken;

/// A token that is to be minted. The caller signs it with the id whose digest it names here.
#[derive(Debug, Clone)]
pub struct Mint {
    /// The operation.
    pub operation: OperationKey,
    /// Digest of a fresh token id.
    pub jti_sha256: Digest,
    /// The executor that may redeem it.
    pub audience: String,
    /// The token's life.
    pub ttl_s: u64,
    /// What the arguments name now, as it was read a moment ago.
    pub referents: Json,
}

/// What the token must say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Minted {
    /// The executor.
    pub audience: String,
    /// When it was minted.
    pub issued_at: Timestamp,
    /// From when it is worth nothing.
    pub expires_at: Timestamp,
    /// The approval request.
    pub request: RequestId,
    /// Salted digest of the arguments.
    pub args_sha256: Digest,
    /// The tool.
    pub tool: Name,
    /// The operation.
    pub operation: OperationKey,
    /// The attempt that it permits.
    pub attempt: u32,
    /// Digests of the decisions behind it.
    pub decisions: Vec<Digest>,
    /// The frozen bytes, for the executor.
    pub frozen: String,
}

/// What became of a token that was to be minted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MintOutcome {
    /// It may be signed; an older one of the operation is dead.
    Minted(Box<Minted>),
    /// The delay is not over, or its agent is gone and may come back.
    NotDue(Timestamp),
    /// A check no longer holds: the request is stale, or the operation a person's to reconcile; recorded.
    Refused(Refusal),
}

/// A token that an executor presents, with the lease that it asks for.
#[derive(Debug, Clone)]
pub struct Redeem {
    /// Verified over the arguments' digest that the executor computed itself.
    pub token: VerifiedToken,
    /// How long the executor has until the outcome is unknown.
    pub lease_s: u64,
    /// What the arguments name now, as it was read a moment ago.
    pub referents: Json,
}

/// Permission to send, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redeemed {
    /// The operation: the key for the provider.
    pub operation: OperationKey,
    /// The attempt to answer for.
    pub attempt: u32,
    /// Until when it may be sent.
    pub lease_until: Timestamp,
}

/// What became of a token that was presented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedeemOutcome {
    /// The effect may be sent.
    Redeemed(Redeemed),
    /// Nothing may be sent; recorded. A bad try changes nothing else and does not burn the token; with a good token whose
    /// checks no longer hold, the request has ended.
    Refused(Refusal),
}

/// A token that failed before it reached the store.
#[derive(Debug, Clone)]
pub struct TokenRefused {
    /// The operation that it was presented for.
    pub operation: Option<OperationKey>,
    /// The request that it was presented for.
    pub request: Option<RequestId>,
    /// Why.
    pub refusal: Refusal,
}
