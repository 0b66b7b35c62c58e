//! The organizations that a person belongs to.

use crate::{
    actors::HydrateError,
    domain::{
        membership::{self, MEMBERSHIPS},
        organization,
    },
    http::app::App,
};

/// An organization that a person belongs to, and their membership, which was not ended.
pub struct Belonging {
    pub organization: organization::Known,
    pub membership: membership::Known,
}

impl Belonging {
    /// Lists the organizations that an account belongs to now, suspended ones among them.
    pub async fn of_account(app: &App, account: &str) -> Result<Vec<Self>, HydrateError> {
        let mut found = Vec::new();
        for entry in &*app.memberships.list_if(true, MEMBERSHIPS, account).await? {
            let Some(membership) = entry.machine.known().filter(|known| known.enabled) else {
                continue;
            };
            let home = app.organizations.look_anew(&membership.organization).await?;
            let Some(organization) = home.machine.known().cloned() else { continue };
            found.push(Self { organization, membership: membership.clone() });
        }
        Ok(found)
    }
}
