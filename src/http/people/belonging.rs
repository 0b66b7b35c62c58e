//! The organizations that a person belongs to.

use crate::{
    actors::{Bound, HydrateError},
    domain::{
        membership::{self, MEMBERSHIP_PAIRS, MEMBERSHIPS, pair},
        organization,
    },
    http::app::App,
};

/// As many memberships of a person are looked at; one that is named is found however many there are.
pub const MEMBERSHIPS_READ: Bound = Bound::new(500);

/// An organization that a person belongs to, and their membership, which was not ended.
pub struct Belonging {
    pub organization: organization::Known,
    pub membership: membership::Known,
}

impl Belonging {
    /// Lists the organizations that an account belongs to now, suspended ones among them.
    pub async fn of_account(app: &App, account: &str) -> Result<Vec<Self>, HydrateError> {
        let mut found = Vec::new();
        let listed = app.views.memberships.list_if(true, (MEMBERSHIPS, account), MEMBERSHIPS_READ);
        for entry in &*listed.await? {
            let Some(membership) = entry.machine.known().filter(|known| known.enabled) else {
                continue;
            };
            let home = app.views.organizations.look_anew(&membership.organization).await?;
            let Some(organization) = home.machine.known().cloned() else { continue };
            found.push(Self { organization, membership: membership.clone() });
        }
        Ok(found)
    }
}

/// Lists the roles that an account holds in an organization now; none where it is no member.
pub async fn roles(app: &App, account: &str, slug: &str) -> Result<Vec<String>, HydrateError> {
    let found = app.store.find(MEMBERSHIP_PAIRS, &pair(account, slug)).await?;
    let Some((_, id)) = found else { return Ok(Vec::new()) };
    let membership = app.views.memberships.look_anew(&id).await?;
    let home = app.views.organizations.look_anew(slug).await?;
    let member = membership.machine.known().filter(|member| member.enabled);
    let (Some(member), Some(home)) = (member, home.machine.known()) else { return Ok(Vec::new()) };
    Ok(member.roles_at(home).into_iter().map(str::to_owned).collect())
}
