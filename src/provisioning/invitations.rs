//! Lists the invitations that can still be accepted, and withdraws one, beside running servers.

use super::lists::Entries;
use crate::{
    actors::{HydrateError, MultiCommit, hydrate},
    domain::{
        invitation::{Command, INVITATIONS, Invitation, Pending},
        organization::{ORGANIZATIONS, Organization},
    },
    store::CommitError,
    system::{Workbench, commit_failure},
};

/// Why invitations were not listed, or none was withdrawn.
#[derive(Debug, thiserror::Error)]
pub enum InvitationsError {
    #[error("there is no organization `{0}`")]
    NoSuchOrganization(String),
    #[error("there is no invitation `{0}` that could be withdrawn")]
    NoSuchInvitation(String),
    #[error("something cannot be read")]
    Entities(#[from] HydrateError),
    #[error("the invitation keeps changing: try again")]
    Contended,
    #[error("no invitation was withdrawn")]
    NotCommitted(#[source] CommitError),
}

commit_failure!(InvitationsError);

/// Lists the invitations of one organization, or of all, that can be accepted now; with their ids, the
/// oldest of an organization first.
pub async fn invitations(
    workbench: &Workbench,
    organization: Option<&str>,
) -> Result<Vec<(String, Pending)>, InvitationsError> {
    let homes = match organization {
        None => {
            let mut listed = Entries::<Organization>::of(workbench, ORGANIZATIONS, "");
            let mut slugs = Vec::new();
            while let Some((slug, _)) = listed.next().await? {
                slugs.push(slug);
            }
            slugs
        }
        Some(slug) => {
            let home = hydrate::<Organization>(workbench.store(), slug).await?.machine;
            let missing = || InvitationsError::NoSuchOrganization(slug.to_owned());
            vec![home.known().ok_or_else(missing)?.slug.clone()]
        }
    };
    let (mut pending, now) = (Vec::new(), workbench.clock().now());
    for home in &homes {
        let mut listed = Entries::<Invitation>::of(workbench, INVITATIONS, home);
        while let Some((id, invitation)) = listed.next().await? {
            pending.extend(invitation.pending(now).cloned().map(|invitation| (id, invitation)));
        }
    }
    Ok(pending)
}

/// Withdraws an invitation, and returns what it was.
pub async fn uninvite(workbench: &Workbench, id: &str) -> Result<Pending, InvitationsError> {
    let missing = || InvitationsError::NoSuchInvitation(id.to_owned());
    let decide = async |commit: &mut MultiCommit| {
        let now = workbench.clock().now();
        let pending = commit.look::<Invitation>(id).await?.pending(now).cloned();
        let pending = pending.ok_or_else(missing)?;
        let decided = commit.decide::<Invitation>(id, &Command::Withdraw).await?;
        decided.map_err(|_| missing())?;
        Ok(pending)
    };
    workbench.retrying(None, decide).await
}
