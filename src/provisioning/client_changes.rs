//! Suspends, enables or deletes a client, beside running servers.

use crate::{
    actors::HydrateError,
    crypto::draw_text,
    domain::{
        Fingerprint, Provisioned,
        client::{Client, Command, KEPT_AFTER_PERSON, Refusal, Removal},
        organization::Organization,
    },
    store::CommitError,
    system::Workbench,
};

/// How often it is tried while the client changes.
const TRIES: usize = 20;

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
    for _ in 0..TRIES {
        let mut commit = workbench.multi_commit_because(reason);
        let home = commit.look::<Client>(client_id).await?.held();
        if let Some(slug) = home.and_then(|known| known.organization.clone()) {
            let home = commit.look::<Organization>(&slug).await?.known();
            if home.is_some_and(|home| !home.enabled) {
                return Err(ClientError::Refused(Refusal::Suspended(slug)));
            }
        }
        let outcome = match commit.decide::<Client>(client_id, &command).await? {
            Ok(outcome) => outcome,
            Err(Refusal::NoSuchClient) => {
                return Err(ClientError::NoSuchClient(client_id.to_owned()));
            }
            Err(refusal) => return Err(ClientError::Refused(refusal)),
        };
        match commit.commit().await {
            Ok(()) => return Ok(outcome != Provisioned::Unchanged),
            Err(CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. }) => {}
            Err(error @ (CommitError::Unavailable | CommitError::Unknown)) => {
                return Err(ClientError::NotCommitted(error));
            }
        }
    }
    Err(ClientError::Contended)
}
