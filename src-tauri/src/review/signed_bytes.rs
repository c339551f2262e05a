//! Which bytes a decision names: for an approval only those that were shown; for a denial the ones
//! that the log names, also where what came here is something else.

use vidimus_api::client::ApproverClient;
use vidimus_core::bytes::Digest;
use vidimus_core::frozen::FrozenRequest;
use vidimus_core::ids::Name;
use vidimus_core::record::AuditRecord;
use vidimus_core::render;

use crate::console::{Console, Standing};
use crate::errors::Told;
use crate::mirror::RequestRow;
use crate::review::permission::{role_of, role_to_approve};
use crate::strings;

/// The digests of a decision's request.
pub struct Signed {
    pub request_sha256: Digest,
    pub args_sha256: Digest,
    pub row_sha256: Digest,
    pub shown_sha256: Digest,
    pub tool: Name,
    frozen: Option<FrozenRequest>,
    escalated: bool,
    roles: Vec<String>,
}

pub async fn of(console: &Console, request: &str, client: &ApproverClient, approves: bool) -> Result<Signed, Told> {
    let differ = || Told::new("E-REQ-1", strings::BYTES_DIFFER);
    let card = console.reviews().get(request).map(|review| review.card.clone()).ok_or_else(differ)?;
    if card.fault.is_none()
        && let (Some(frozen), Some(shown)) = (&card.frozen, card.shown_sha256)
    {
        return Ok(signed_of(frozen.clone(), shown, &card.listed));
    }
    if approves {
        return Err(differ());
    }
    // The record in the verified log names the bytes; the gate may hold them even if they did not come.
    if let Ok(id) = request.parse()
        && let Ok(detail) = client.request_detail(&id).await
        && Digest::of(detail.frozen.as_bytes()).to_string() == card.listed.request_sha256
        && let Ok(frozen) = FrozenRequest::parse(detail.frozen.as_bytes())
        && let Some(shown) = shown_of(console, &frozen)
    {
        return Ok(signed_of(frozen, shown, &card.listed));
    }
    from_record(console, card.listed.position, &card.listed.roles).ok_or_else(differ)
}

/// The role in which the person decides on these. `given` are the roles of the approvals that stand.
pub fn role(signed: &Signed, standing: &Standing, approves: bool, given: &[String]) -> Result<Name, Told> {
    if let Some(frozen) = &signed.frozen {
        return if approves {
            role_to_approve(frozen, signed.escalated, standing, given)
        } else {
            role_of(frozen, signed.escalated, standing)
        };
    }
    let held = standing.person.roles.iter().find(|role| signed.roles.iter().any(|needed| needed == role.as_str()));
    held.cloned().ok_or_else(|| Told::new("E-DEC-2", strings::role_missing(&signed.roles.join(", "), "")))
}

fn signed_of(frozen: FrozenRequest, shown_sha256: Digest, listed: &RequestRow) -> Signed {
    let members = frozen.members();
    Signed {
        request_sha256: frozen.request_sha256(),
        args_sha256: frozen.args_sha256(),
        row_sha256: members.row_sha256,
        shown_sha256,
        tool: members.tool.clone(),
        roles: listed.roles.clone(),
        escalated: listed.escalated,
        frozen: Some(frozen),
    }
}

fn shown_of(console: &Console, frozen: &FrozenRequest) -> Option<Digest> {
    let members = frozen.members();
    let row = console.read(|mirror| console.tables.row(mirror, &members.table_sha256, &members.tool, &members.row_sha256))??;
    let nodes = render::render(&members.args, &row).ok()?;
    render::shown_sha256(&members.tool, &nodes).ok()
}

fn from_record(console: &Console, position: u64, roles: &[String]) -> Option<Signed> {
    let leaf = console.read(|mirror| mirror.leaf(position))??;
    let record = AuditRecord::parse(leaf.as_bytes()).ok()?;
    let digest = |name: &str| record.claim(name)?.parse().ok();
    Some(Signed {
        request_sha256: digest("request_sha256")?,
        args_sha256: digest("args_sha256")?,
        row_sha256: digest("row_sha256")?,
        // Nothing was shown that could be denied by its content.
        shown_sha256: Digest::of(b""),
        tool: Name::parse(record.claim("tool")?).ok()?,
        frozen: None,
        escalated: false,
        roles: roles.to_vec(),
    })
}
