//! Suspends, enables or deletes a client, or gives it another secret, beside running servers.

use crate::{
    actors::{HydrateError, MultiCommit},
    crypto::{draw_client_secret, draw_text},
    domain::{
        Fingerprint, Provisioned, Timestamp,
        client::{Client, Command, KEPT_AFTER_PERSON, Refusal, Removal, SecretRotation},
        organization::Organization,
    },
    store::CommitError,
    system::{Workbench, commit_failure},
};
use std::time::Duration;
use zeroize::Zeroizing;

/// What is done to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientChange {
    Suspend,
    Enable,
    Delete,
}

/// Why nothing became of a client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("there is no client `{0}`: `porteiro client list` shows them")]
    NoSuchClient(String),
    #[error(transparent)]
    Refused(Refusal),
    #[error("something cannot be read")]
    Entities(#[from] HydrateError),
    #[error("the client keeps changing: try again")]
    Contended,
    #[error("nothing was changed")]
    NotCommitted(#[source] CommitError),
}

commit_failure!(ClientError);

/// Does it, and returns whether anything has changed.
pub async fn change_client(
    workbench: &Workbench,
    client_id: &str,
    change: ClientChange,
    reason: Option<&str>,
) -> Result<bool, ClientError> {
    let command = match change {
        ClientChange::Suspend => Command::Suspend,
        ClientChange::Enable => Command::Enable,
        ClientChange::Delete => Command::Remove(Removal {
            by_operator: true,
            seal: Fingerprint::of(draw_text(workbench.dice(), 32).as_bytes()),
            kept_for: KEPT_AFTER_PERSON,
        }),
    };
    let outcome = decide(workbench, client_id, &command, reason).await?;
    Ok(outcome != Provisioned::Unchanged)
}

/// A secret that a client was given, which is shown once.
pub struct RotatedSecret {
    pub secret: Zeroizing<String>,
    /// Until when the one before is good, if it is.
    pub former_until: Option<Timestamp>,
}

/// Gives a client another secret; the one before is good for the overlap.
pub async fn rotate_client_secret(
    workbench: &Workbench,
    client_id: &str,
    overlap: Duration,
) -> Result<RotatedSecret, ClientError> {
    let secret = Zeroizing::new(draw_client_secret(workbench.dice()));
    let rotation = SecretRotation { secret: Fingerprint::of(secret.as_bytes()), overlap };
    let now = workbench.clock().now();
    decide(workbench, client_id, &Command::RotateSecret(rotation), None).await?;
    Ok(RotatedSecret { secret, former_until: (!overlap.is_zero()).then(|| now + overlap) })
}

/// Has a client decide, and retries while it changes.
async fn decide(
    workbench: &Workbench,
    client_id: &str,
    command: &Command,
    reason: Option<&str>,
) -> Result<Provisioned, ClientError> {
    let decide = async |commit: &mut MultiCommit| {
        let home = commit.look::<Client>(client_id).await?.held();
        if let Some(slug) = home.and_then(|known| known.organization.clone()) {
            let home = commit.look::<Organization>(&slug).await?.known();
            if home.is_some_and(|home| !home.enabled) {
                return Err(ClientError::Refused(Refusal::Suspended(slug)));
            }
        }
        commit.decide::<Client>(client_id, command).await?.map_err(|refusal| match refusal {
            Refusal::NoSuchClient => ClientError::NoSuchClient(client_id.to_owned()),
            refusal => ClientError::Refused(refusal),
        })
    };
    workbench.retrying(reason, decide).await
}
