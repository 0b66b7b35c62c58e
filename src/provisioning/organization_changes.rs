//! Makes an organization, and suspends or enables one, beside running servers.

use super::table::{LONGEST_NAME, wrong_name};
use crate::{
    actors::{HydrateError, MultiCommit},
    domain::{
        Provisioned,
        organization::{Command, Draft, Known, Organization, Refusal},
    },
    store::CommitError,
    system::{Workbench, commit_failure},
};

/// What is done to an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrganizationChange<'a> {
    /// It must not exist yet; without a name it is known by its slug.
    Create {
        name: Option<&'a str>,
    },
    Suspend,
    Enable,
}

/// Why nothing became of an organization.
#[derive(Debug, thiserror::Error)]
pub enum OrganizationError {
    #[error("there is no organization `{0}`: `porteiro organization list` shows them")]
    NoSuchOrganization(String),
    #[error("there is an organization `{0}` already, and a slug is never used again")]
    Exists(String),
    #[error("the name {0} (at most {LONGEST_NAME} characters)")]
    Name(String),
    #[error(transparent)]
    Refused(Refusal),
    #[error("something cannot be read")]
    Entities(#[from] HydrateError),
    #[error("the organization keeps changing: try again")]
    Contended,
    #[error("nothing was changed")]
    NotCommitted(#[source] CommitError),
}

commit_failure!(OrganizationError);

/// Does it, and returns whether anything has changed.
pub async fn change_organization(
    workbench: &Workbench,
    slug: &str,
    change: OrganizationChange<'_>,
) -> Result<bool, OrganizationError> {
    let mut draft = Draft { slug: slug.to_owned(), ..Draft::default() };
    match change {
        OrganizationChange::Create { name: Some(name) } => {
            if let Some(wrong) = wrong_name(name) {
                return Err(OrganizationError::Name(wrong));
            }
            draft.name = Some(name.to_owned());
        }
        OrganizationChange::Suspend => draft.enabled = Some(false),
        OrganizationChange::Create { name: None } | OrganizationChange::Enable => {}
    }
    let decide = async |commit: &mut MultiCommit| {
        let held = commit.look::<Organization>(slug).await?;
        let exists = !matches!(held, Organization::Unborn);
        match (change, exists) {
            (OrganizationChange::Create { .. }, true) => {
                return Err(OrganizationError::Exists(slug.to_owned()));
            }
            (OrganizationChange::Suspend | OrganizationChange::Enable, false) => {
                return Err(OrganizationError::NoSuchOrganization(slug.to_owned()));
            }
            _ => {}
        }
        let command = match change {
            OrganizationChange::Enable => Command::Enable,
            OrganizationChange::Create { .. } | OrganizationChange::Suspend => {
                Command::Provision(draft.clone())
            }
        };
        let outcome = commit.decide::<Organization>(slug, &command).await?;
        let outcome = outcome.map_err(OrganizationError::Refused)?;
        Ok(outcome != Provisioned::Unchanged)
    };
    workbench.retrying(None, decide).await
}

/// Tells whether there is such an organization, or was once: its trail is kept.
pub async fn organization_existed(
    workbench: &Workbench,
    slug: &str,
) -> Result<(), OrganizationError> {
    let read = crate::actors::hydrate::<Organization>(workbench.store(), slug).await?;
    match read.machine {
        Organization::Unborn => Err(OrganizationError::NoSuchOrganization(slug.to_owned())),
        Organization::Known(_) | Organization::Erased { .. } => Ok(()),
    }
}

/// Reads an organization.
pub async fn organization(workbench: &Workbench, slug: &str) -> Result<Known, OrganizationError> {
    let read = crate::actors::hydrate::<Organization>(workbench.store(), slug).await?;
    let missing = || OrganizationError::NoSuchOrganization(slug.to_owned());
    read.machine.known().cloned().ok_or_else(missing)
}
