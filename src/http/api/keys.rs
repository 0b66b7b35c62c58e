//! `/api/organizations/{organization}/apikeys`: secrets by which programs act in the organization
//! (adr/0080).

use super::{
    call::{Answer, Call, gone, shown},
    caller::{Holder, SUSPENDED},
    change::{Change, NOT_HELD},
    page::PageRequest,
    words::GivenPermission,
};
use crate::{
    actors::key_backing,
    crypto::{draw_uuid, mint_api_key},
    domain::{
        Timestamp,
        api_key::{
            API_KEYS, ApiKey as Machine, Backing, Command, Issue, Issuer, Key, Refusal, Rotate,
        },
        authority::Permission,
        message::MailContent,
    },
    http::{answer::error::Problem, time::rfc3339},
};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;
use zeroize::Zeroizing;

/// An API key.
#[derive(Serialize, ToSchema)]
pub struct ApiKey {
    id: String,
    name: String,
    permissions: Vec<String>,
    /// The membership, or the client, that stands behind it; absent where the operator does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    issued_by: Option<String>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<String>,
    /// Noted every five minutes at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_used_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    revoked_at: Option<String>,
    /// Shown in the answer that made it, and never again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    key: Option<Zeroizing<String>>,
}

/// A key that is to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewApiKey {
    name: String,
    #[schema(value_type = Vec<String>)]
    permissions: Vec<GivenPermission>,
    /// RFC 3339.
    #[serde(default)]
    #[schema(value_type = Option<String>, nullable = false)]
    expires_at: Option<End>,
}

/// How a key is rotated.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// For how many seconds the former secret is good yet; none unless it is said.
    #[serde(default)]
    overlap: u32,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct End(Timestamp);

impl TryFrom<String> for End {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Timestamp::from_rfc3339(&text).map(Self).ok_or("is no time as RFC 3339 writes it")
    }
}

const ADMINISTRATOR: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "membership_required",
    "a key rests on a membership or a client: the operator makes others by a command",
);

impl ApiKey {
    fn of(machine: &Machine, key: Option<Zeroizing<String>>) -> Option<Self> {
        let known: &Key = machine.known()?;
        let permissions = known.permissions.iter().map(|one| one.as_str().to_owned()).collect();
        Some(Self {
            id: known.id.clone(),
            name: known.name.clone(),
            permissions,
            issued_by: match &known.issuer {
                Issuer::Operator => None,
                Issuer::Membership { id, .. } => Some(id.clone()),
                Issuer::Client { client_id } => Some(client_id.clone()),
            },
            created_at: rfc3339(known.created_at),
            expires_at: known.expires_at.map(rfc3339),
            last_used_at: known.last_used_at.map(rfc3339),
            revoked_at: machine.revoked_at().map(rfc3339),
            key,
        })
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = PageRequest::of(&call, API_KEYS)?;
    let (slug, after) = (&call.caller.organization, asked.after_rank());
    let page = call.app.views.api_keys.page(API_KEYS, slug, after, asked.bound()).await?;
    let last = asked.last(&page);
    let keys = page.iter().filter_map(|(_, one)| ApiKey::of(&one.machine, None));
    Ok(asked.answer(keys.collect(), last))
}

pub async fn show(call: Call) -> Answer {
    let id = call.param("key").to_owned();
    answer(&call, StatusCode::OK, &id, None).await
}

pub async fn create(mut call: Call) -> Answer {
    let NewApiKey { name, permissions, expires_at } = call.body()?;
    let permissions: Vec<Permission> = permissions.into_iter().map(|given| given.0).collect();
    let mut change = call.begin().await?;
    let backing = backing(&call, &mut change).await?;
    let parents = match &call.caller.holder {
        // What a key makes ends with it.
        Holder::Key { key } => key.descent(),
        _ => Vec::new(),
    };
    let id = draw_uuid(&*call.app.dice);
    let minted = mint_api_key(&id, &*call.app.dice).ok_or(Problem::NOT_FOUND)?;
    let issuer = backing.issuer();
    let issue = Issue {
        id: id.clone(),
        name: name.clone(),
        permissions,
        expires_at: expires_at.map(|End(at)| at),
        secret: minted.fingerprint,
        home: change.authority.home.clone(),
        backing,
        grantor: Some(change.authority.grantor.clone()),
        parents,
    };
    let command = Command::Issue(Box::new(issue));
    let decided = change.commit.decide::<Machine>(&id, &command).await?;
    decided.map_err(|refusal| refused(&refusal))?;
    if let Issuer::Membership { account, .. } = issuer {
        let organization = change.authority.home.name.clone();
        let content = MailContent::ApiKeyMade { organization, name };
        change.tell(&call, &account, content).await?;
    }
    change.finish().await?;
    answer(&call, StatusCode::CREATED, &id, Some(minted.text)).await
}

pub async fn rotate(mut call: Call) -> Answer {
    let Rotation { overlap } = call.body()?;
    let id = call.param("key").to_owned();
    let mut change = call.begin().await?;
    let key = own(&call, &mut change, &id).await?;
    let backing = key_backing(change.commit.reads(), &key.issuer).await?.ok_or(NOT_HELD)?;
    let minted = mint_api_key(&id, &*call.app.dice).ok_or(Problem::NOT_FOUND)?;
    let rotate = Rotate {
        secret: minted.fingerprint,
        overlap: Duration::from_secs(overlap.into()),
        home: change.authority.home.clone(),
        backing,
        // The caller gets to know the secret: it must be worth no more than they may give.
        grantor: Some(change.authority.grantor.clone()),
    };
    let command = Command::Rotate(Box::new(rotate));
    let decided = change.commit.decide::<Machine>(&id, &command).await?;
    decided.map_err(|refusal| refused(&refusal))?;
    change.finish().await?;
    answer(&call, StatusCode::OK, &id, Some(minted.text)).await
}

pub async fn revoke(call: Call) -> Answer {
    let id = call.param("key").to_owned();
    let mut change = call.begin().await?;
    own(&call, &mut change, &id).await?;
    let home = Box::new(change.authority.home.clone());
    let decided = change.commit.decide::<Machine>(&id, &Command::Revoke { home }).await?;
    decided.map_err(|refusal| refused(&refusal))?;
    change.finish().await?;
    Ok(gone())
}

/// Finds a key of the organization that was not revoked.
async fn own(call: &Call, change: &mut Change, id: &str) -> Result<Key, Problem> {
    let machine = change.commit.look::<Machine>(id).await?;
    let active = machine.known().filter(|_| machine.revoked_at().is_none());
    let own = active.filter(|key| key.organization == call.caller.organization);
    own.cloned().ok_or(Problem::NOT_FOUND)
}

/// What stands behind a key that the caller makes.
async fn backing(call: &Call, change: &mut Change) -> Result<Backing, Problem> {
    let issuer = match &call.caller.holder {
        Holder::Administrator { .. } => return Err(ADMINISTRATOR),
        Holder::Member { account, membership } => {
            Issuer::Membership { id: membership.clone(), account: account.clone() }
        }
        Holder::Client { client_id } => Issuer::Client { client_id: client_id.clone() },
        Holder::Key { key } => key.issuer.clone(),
    };
    key_backing(change.commit.reads(), &issuer).await?.ok_or(NOT_HELD)
}

async fn answer(
    call: &Call,
    status: StatusCode,
    id: &str,
    text: Option<Zeroizing<String>>,
) -> Answer {
    let seen = call.app.views.api_keys.look_anew(id).await?;
    let own = seen.machine.known().is_some_and(|key| key.organization == call.caller.organization);
    let key = ApiKey::of(&seen.machine, text).filter(|_| own).ok_or(Problem::NOT_FOUND)?;
    Ok(shown(status, seen.version, &key))
}

fn refused(refusal: &Refusal) -> Problem {
    let wrong = |pointer| Problem::wrong_member(pointer, refusal.to_string());
    match refusal {
        Refusal::Name => wrong("#/name"),
        Refusal::Permissions => wrong("#/permissions"),
        Refusal::Forbidden(_) => {
            Problem::wrong_member("#/permissions", "no key may hold organizations:administer")
        }
        Refusal::Expiry => wrong("#/expires_at"),
        Refusal::Overlap => wrong("#/overlap"),
        Refusal::Suspended(_) => SUSPENDED,
        Refusal::NotHeld(_) | Refusal::NoIssuer | Refusal::EarlierEpoch | Refusal::TooDeep => {
            NOT_HELD
        }
        Refusal::Exists | Refusal::Expired | Refusal::NotActive => Problem::NOT_FOUND,
    }
}
