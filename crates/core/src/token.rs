//! The execution token: permission for one attempt at exactly these arguments. Owns the claims and the rule; knows no
//! store: that a token is redeemed once is the store's compare-and-swap.

use crate::bytes::{Digest, Nonce};
use crate::code::{Code, Refusal};
use crate::ids::{Name, RequestId};
use crate::json::{Fields, Json, Limits, parse_canonical};
use crate::limits::TOKEN_TTL_S_MAX;
use crate::operation::OperationKey;
use crate::paseto;
use crate::sign::{PublicKey, SecretKey};
use crate::time::Timestamp;

const MEMBERS: &[&str] = &["jti", "aud", "iat", "exp", "request", "args_sha256", "tool", "operation", "attempt", "decisions"];

/// The claims of an execution token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenClaims {
    /// The token's id, random; the store keeps its digest only.
    pub jti: Nonce,
    /// The executor it is for.
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
}

/// A token whose signature, audience, arguments and time hold. Only [`verify`] makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifiedToken(TokenClaims);

impl VerifiedToken {
    /// What the token says.
    pub const fn claims(&self) -> &TokenClaims {
        &self.0
    }

    /// SHA-256 of the token's id.
    pub fn jti_sha256(&self) -> Digest {
        Digest::of(self.0.jti.as_bytes())
    }
}

/// What the signature covers beside the token: PASETO's pre-authentication encoding of purpose, audience and arguments.
///
/// The digest is the one that the executor has just computed, so with other arguments the signature itself fails.
fn implicit_assertion(audience: &str, args_sha256: &Digest) -> Vec<u8> {
    paseto::pae(&[b"vidimus.token.v1", audience.as_bytes(), args_sha256.as_bytes()])
}

/// Mints a token.
///
/// *Errors*: `token_malformed` for a life that is empty or longer than 300 s, or for no decision at all.
pub fn mint(claims: &TokenClaims, key: &SecretKey) -> Result<String, Refusal> {
    well_formed(claims)?;
    let payload = Json::object([
        ("jti", claims.jti.into()),
        ("aud", claims.audience.as_str().into()),
        ("iat", claims.issued_at.into()),
        ("exp", claims.expires_at.into()),
        ("request", claims.request.to_string().into()),
        ("args_sha256", claims.args_sha256.into()),
        ("tool", claims.tool.as_str().into()),
        ("operation", claims.operation.to_string().into()),
        ("attempt", claims.attempt.into()),
        ("decisions", claims.decisions.clone().into()),
    ]);
    let footer = Json::object([("kid", key.public().digest().into())]);
    let implicit = implicit_assertion(&claims.audience, &claims.args_sha256);
    Ok(paseto::sign(key, &payload.canonical()?, &footer.canonical()?, &implicit))
}

/// The token rule: this gate's signature, for this executor, over these arguments, of this tool, in time.
///
/// *Errors*: `token_malformed`, `signature_invalid` (other arguments or another audience included), `tool_wrong`,
/// `token_expired`.
pub fn verify(
    token: &str,
    key: &PublicKey,
    audience: &str,
    tool: &Name,
    args_sha256: &Digest,
    now: Timestamp,
) -> Result<VerifiedToken, Refusal> {
    let verified = paseto::verify(token, key, &implicit_assertion(audience, args_sha256))?;
    let footer = parse_canonical(verified.footer(), &Limits::STATEMENT)?;
    if Fields::exactly(&footer, &["kid"])?.digest("kid")? != key.digest() {
        return Err(Refusal::new(Code::TokenMalformed, "the token's footer names another key; mint it anew"));
    }
    let json = parse_canonical(verified.payload(), &Limits::STATEMENT)?;
    let fields = Fields::exactly(&json, MEMBERS)?;
    let attempt = u32::try_from(fields.integer("attempt")?)
        .map_err(|_| Refusal::new(Code::TokenMalformed, "the attempt is beyond 32 bits; mint the token anew").at("/attempt"))?;
    let claims = TokenClaims {
        jti: fields.parsed("jti")?,
        audience: fields.string("aud")?.to_owned(),
        issued_at: fields.parsed("iat")?,
        expires_at: fields.parsed("exp")?,
        request: fields.parsed("request")?,
        args_sha256: fields.parsed("args_sha256")?,
        tool: fields.parsed("tool")?,
        operation: fields.parsed("operation")?,
        attempt,
        decisions: fields.strings("decisions")?.iter().map(|digest| digest.parse()).collect::<Result<_, Refusal>>()?,
    };
    well_formed(&claims)?;
    if claims.audience != audience || claims.args_sha256 != *args_sha256 {
        return Err(Refusal::new(Code::SignatureInvalid, "the token is for another executor or other arguments; nothing runs"));
    }
    if claims.tool != *tool {
        return Err(Refusal::new(Code::ToolWrong, "the token is for another tool; nothing runs").at("/tool"));
    }
    if now >= claims.expires_at {
        return Err(
            Refusal::new(Code::TokenExpired, format!("the token expired at {}; a new one must be minted", claims.expires_at)).at("/exp")
        );
    }
    Ok(VerifiedToken(claims))
}

fn well_formed(claims: &TokenClaims) -> Result<(), Refusal> {
    let lives = claims.issued_at < claims.expires_at && claims.expires_at <= claims.issued_at.plus_s(TOKEN_TTL_S_MAX);
    if lives && claims.attempt > 0 && !claims.decisions.is_empty() {
        Ok(())
    } else {
        Err(Refusal::new(
            Code::TokenMalformed,
            format!("a token lives up to {TOKEN_TTL_S_MAX} s, for attempt 1 or later, on one decision or more"),
        ))
    }
}
