//! `init`: makes a gate.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::process::ExitCode;

use vidimus_api::invite::{Invite, InviteKind, code_sha256};
use vidimus_api::limits::INVITE_TTL_S;
use vidimus_core::bytes::base64url_encode;
use vidimus_core::ids::Name;
use vidimus_core::roster::ADMIN;
use vidimus_core::seal::SealKey;
use vidimus_core::sign::SecretKey;
use vidimus_core::table::Table;
use vidimus_store::{InitOutcome, Store};

use super::{Outcome, say, table};
use crate::admin;
use crate::cli::Init;
use crate::executor::credential::default_folder;
use crate::gate::{database, moment};
use crate::keys::{self, Keys};
use crate::{clock, entropy};

/// Why a gate is not made.
#[derive(Debug, thiserror::Error)]
enum InitError {
    #[error("`{0}` holds a gate already; choose another folder, or run `serve` on this one")]
    AlreadyInitialised(String),
    #[error("`{0}` is not where consoles could reach a gate; give `https://…`, or `http://127.0.0.1:PORT` for this machine")]
    Url(String),
}

pub(super) async fn run(init: Init) -> Outcome {
    let toml = table::read(&init.table)?;
    if let Err(faults) = Table::parse(&toml) {
        table::print(&init.table, "fault", &faults)?;
        return Ok(ExitCode::FAILURE);
    }
    if !admin::reachable_url(&init.url) {
        return Err(InitError::Url(init.url).into());
    }
    let mut roles = vec![Name::parse(ADMIN)?];
    for role in init.admin_roles {
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    let data = init.data;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&data)?;
    keys::own_folder(&data)?;
    // An `init` that was cut after its keys goes on with them. New ones are on the disk only once the folder is known to hold no gate.
    let (log_seed, token_seed) = (entropy::bytes()?, entropy::bytes()?);
    let before = keys::folder(&data).exists().then(|| Keys::load(&data)).transpose()?;
    let seal = before.as_ref().map_or_else(|| SealKey::derive(&log_seed), |keys| keys.seal.clone());
    let store = Store::open(&database(&data), seal)?;
    if store.identity().await?.is_some() {
        return Err(InitError::AlreadyInitialised(data.display().to_string()).into());
    }
    let keys = before.map_or_else(|| Keys::create(&data, &log_seed, &token_seed), Ok)?;
    // Empty: who runs the gate puts there what rows may name.
    fs::DirBuilder::new().recursive(true).mode(0o700).create(default_folder(&data))?;
    let recovery_seed: [u8; 32] = entropy::bytes()?;
    let code = entropy::nonce()?;
    let expires_at = clock::now().plus_s(INVITE_TTL_S);
    let invite = Invite {
        url: init.url.clone(),
        gate: keys.gate(),
        environment: init.environment,
        log_key: keys.log.public(),
        code,
        kind: InviteKind::Genesis,
        person: None,
        name: init.admin_name.clone(),
        roles: roles.iter().map(ToString::to_string).collect(),
        expires_at,
    };
    let line = invite.to_line()?;
    admin::write_url(&data, &init.url)?;
    let outcome = store
        .init(
            moment()?,
            vidimus_store::Init {
                environment: init.environment,
                log_key: keys.log.public(),
                token_key: keys.token.public(),
                recovery_key: Some(SecretKey::from_seed(&recovery_seed).public()),
                table: toml,
                invite: vidimus_store::Invite {
                    code_sha256: code_sha256(&code),
                    kind: vidimus_store::InviteKind::Genesis,
                    person: entropy::person_id()?,
                    name: init.admin_name.clone(),
                    roles,
                    expires_at,
                },
            },
        )
        .await?;
    store.close();
    match outcome {
        InitOutcome::Initialised(gate) => {
            say(&format!("the gate `{gate}` ({}) is made in `{}`", init.environment, data.display()))?;
            say("the recovery key is printed this once; keep it on paper, away from this machine:")?;
            say(&format!("{}{}", super::recover::PREFIX, base64url_encode(recovery_seed)))?;
            say(&format!("the invite for `{}`, the first admin, works once, until {expires_at}:", init.admin_name))?;
            say(&line)?;
            Ok(ExitCode::SUCCESS)
        }
        InitOutcome::AlreadyInitialised(_) => Err(InitError::AlreadyInitialised(data.display().to_string()).into()),
        InitOutcome::Refused(refusal) => Err(refusal.into()),
    }
}
