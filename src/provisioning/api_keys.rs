//! Issues, rotates and revokes API keys, beside running servers.

use crate::{
    actors::{HydrateError, MultiCommit, hydrate, key_backing},
    crypto::{draw_uuid, mint_api_key},
    domain::{
        Timestamp,
        api_key::{ApiKey, Backing, Command, Issue, Key, Refusal, Reply, Rotate},
        authority::Permission,
        organization::{self, Organization},
    },
    store::CommitError,
    system::{Workbench, commit_failure},
};
use std::{fmt, time::Duration};
use zeroize::Zeroizing;

/// What a key is made of.
pub struct NewApiKey<'a> {
    /// The slug of the organization.
    pub organization: &'a str,
    pub name: &'a str,
    pub permissions: &'a [Permission],
    pub expires_in: Option<Duration>,
}

/// A key whose text is seen once.
pub struct IssuedApiKey {
    pub id: String,
    pub text: Zeroizing<String>,
    /// Until when the secret before is good, if it is.
    pub former_until: Option<Timestamp>,
}

impl fmt::Debug for IssuedApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuedApiKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why nothing became of a key.
#[derive(Debug, thiserror::Error)]
pub enum ApiKeyError {
    #[error("there is no organization `{0}`: `porteiro organization create` makes one")]
    NoSuchOrganization(String),
    #[error("there is no API key `{0}`: `porteiro apikey list` shows their ids")]
    NoSuchKey(String),
    #[error(transparent)]
    Refused(Refusal),
    #[error("something cannot be read")]
    Entities(#[from] HydrateError),
    #[error("the key or its organization keeps changing: try again")]
    Contended,
    #[error("nothing was changed")]
    NotCommitted(#[source] CommitError),
}

commit_failure!(ApiKeyError);

/// Issues a key of the operator.
pub async fn create_api_key(
    workbench: &Workbench,
    new: &NewApiKey<'_>,
) -> Result<IssuedApiKey, ApiKeyError> {
    let id = draw_uuid(workbench.dice());
    let missing = || ApiKeyError::NoSuchKey(id.clone());
    let minted = mint_api_key(&id, workbench.dice()).ok_or_else(missing)?;
    let issue = async |commit: &mut MultiCommit| {
        let issue = Issue {
            id: id.clone(),
            name: new.name.to_owned(),
            permissions: new.permissions.to_vec(),
            expires_at: new.expires_in.map(|time| workbench.clock().now() + time),
            secret: minted.fingerprint,
            home: home(commit, new.organization).await?,
            backing: Backing::Operator,
            grantor: None,
            parents: Vec::new(),
        };
        decide(commit, &id, &Command::Issue(Box::new(issue))).await
    };
    workbench.retrying(None, issue).await?;
    Ok(IssuedApiKey { id, text: minted.text, former_until: None })
}

/// Gives a key another secret; the one before is good for as long as they overlap.
pub async fn rotate_api_key(
    workbench: &Workbench,
    id: &str,
    overlap: Duration,
) -> Result<IssuedApiKey, ApiKeyError> {
    let missing = || ApiKeyError::NoSuchKey(id.to_owned());
    let minted = mint_api_key(id, workbench.dice()).ok_or_else(missing)?;
    let rotate = async |commit: &mut MultiCommit| {
        let key = commit.look::<ApiKey>(id).await?.known().cloned().ok_or_else(missing)?;
        let home = home(commit, &key.organization).await?;
        let backing = backing(commit, &key).await?;
        let rotate = Rotate { secret: minted.fingerprint, overlap, home, backing, grantor: None };
        decide(commit, id, &Command::Rotate(Box::new(rotate))).await
    };
    let former_until = match workbench.retrying(None, rotate).await? {
        Reply::Rotated { former_until } => former_until,
        Reply::Issued(_) | Reply::Used | Reply::Revoked => None,
    };
    Ok(IssuedApiKey { id: id.to_owned(), text: minted.text, former_until })
}

/// Revokes a key; returns false where it was revoked before.
pub async fn revoke_api_key(workbench: &Workbench, id: &str) -> Result<bool, ApiKeyError> {
    let missing = || ApiKeyError::NoSuchKey(id.to_owned());
    let revoke = async |commit: &mut MultiCommit| {
        let seen = commit.look::<ApiKey>(id).await?;
        let (key, was_active) = (seen.known().cloned(), seen.revoked_at().is_none());
        let key = key.ok_or_else(missing)?;
        let home = Box::new(home(commit, &key.organization).await?);
        decide(commit, id, &Command::Revoke { home }).await?;
        Ok(was_active)
    };
    workbench.retrying(None, revoke).await
}

/// Reads a key, be it revoked.
pub async fn api_key(workbench: &Workbench, id: &str) -> Result<ApiKey, ApiKeyError> {
    let key = hydrate::<ApiKey>(workbench.store(), id).await?.machine;
    let missing = || ApiKeyError::NoSuchKey(id.to_owned());
    key.known().ok_or_else(missing)?;
    Ok(key)
}

async fn home(commit: &mut MultiCommit, slug: &str) -> Result<organization::Known, ApiKeyError> {
    let home = commit.look::<Organization>(slug).await?.known().cloned();
    home.ok_or_else(|| ApiKeyError::NoSuchOrganization(slug.to_owned()))
}

/// Reads the issuer of a key as it is now.
async fn backing(commit: &mut MultiCommit, key: &Key) -> Result<Backing, ApiKeyError> {
    let backing = key_backing(commit.reads(), &key.issuer).await?;
    backing.ok_or(ApiKeyError::Refused(Refusal::NoIssuer))
}

async fn decide(
    commit: &mut MultiCommit,
    id: &str,
    command: &Command,
) -> Result<Reply, ApiKeyError> {
    commit.decide::<ApiKey>(id, command).await?.map_err(ApiKeyError::Refused)
}
