//! Who stands behind an API key, and how much that is worth.

use super::Refusal;
use crate::domain::{
    authority::{
        Audience, Bound, FILLING_ROLES, Grantor, Permission, Permissions, RequestedAuthority,
        Scopes, narrow,
    },
    authorization_details::Details,
    client::{GrantType, KnownClient},
    membership, organization,
};
use serde::{Deserialize, Serialize};

/// As many scopes as are asked for at once.
const AT_ONCE: usize = 100;

/// Who has issued a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Issuer {
    /// By a command.
    Operator,
    Membership {
        id: String,
        account: String,
    },
    Client {
        client_id: String,
    },
}

/// The same, as it is now.
#[derive(Clone, Debug, PartialEq)]
pub enum Backing {
    /// The key is bounded by its permissions alone.
    Operator,
    Membership {
        member: Box<membership::Known>,
        /// Of the member's account: what was issued before it was recovered or suspended is void.
        account_epoch: u64,
    },
    Client(Box<KnownClient>),
}

impl Backing {
    pub fn issuer(&self) -> Issuer {
        match self {
            Self::Operator => Issuer::Operator,
            Self::Membership { member, .. } => {
                let (id, account) = (member.id.clone(), member.account.clone());
                Issuer::Membership { id, account }
            }
            Self::Client(client) => Issuer::Client { client_id: client.client_id.clone() },
        }
    }

    /// Returns the epoch in which it speaks for the organization (adr/0038).
    pub(super) fn epoch_at(&self, home: &organization::Known) -> u64 {
        match self {
            Self::Membership { member, account_epoch } => {
                // No count ever falls, so their sum is the same only while all are.
                member.epoch_at(home).saturating_add(*account_epoch)
            }
            Self::Operator | Self::Client(_) => home.epoch,
        }
    }

    /// Checks that all of these permissions may be passed on: by the issuer, and by the caller where it
    /// may do less.
    pub(super) fn admits(
        &self,
        home: &organization::Known,
        permissions: &[Permission],
        grantor: Option<&Grantor>,
    ) -> Result<(), Refusal> {
        if !home.enabled {
            return Err(Refusal::Suspended(home.slug.clone()));
        }
        let held = self.held(home, permissions).ok_or(Refusal::NoIssuer)?;
        let ceiling = match self {
            Self::Client(client) => client.ceiling(),
            Self::Operator | Self::Membership { .. } => None,
        };
        let roles = |permissions| Bound::Roles { organization: &home.slug, permissions };
        let mut bounds = vec![Bound::NoPerson, roles(&held)];
        bounds.extend(ceiling.as_ref().map(Bound::Registered));
        let of_issuer = bounds.len();
        bounds.extend(grantor.map(|one| roles(&one.grantable)));
        pass(home, permissions.iter(), &bounds)?;
        let unbounded = matches!(self, Self::Operator) && grantor.is_none();
        let fills = |one: &Permission| FILLING_ROLES.iter().any(|filling| one.covers(filling));
        if !unbounded && permissions.iter().any(fills) {
            // It could be given to any member: what roles confer must be held as well (contract §7).
            let conferred = home.roles.iter().flat_map(|role| &role.permissions);
            bounds.truncate(of_issuer);
            bounds.extend(grantor.map(|one| roles(&one.held)));
            pass(home, conferred, &bounds)?;
        }
        Ok(())
    }

    /// Returns what it holds in the organization, if it is of it.
    fn held(&self, home: &organization::Known, own: &[Permission]) -> Option<Permissions> {
        match self {
            Self::Operator => Some(own.iter().collect()),
            Self::Membership { member, .. } => {
                let belongs = member.enabled && member.organization == home.slug;
                belongs.then(|| home.confers(&member.roles))
            }
            Self::Client(client) => {
                let belongs = client.organization.as_deref() == Some(&home.slug)
                    && client.may_use(GrantType::ClientCredentials);
                belongs.then(|| home.confers(&client.roles))
            }
        }
    }
}

/// Passes permissions through the one function by which authority is passed on.
fn pass<'a>(
    home: &organization::Known,
    permissions: impl Iterator<Item = &'a Permission>,
    bounds: &[Bound<'_>],
) -> Result<(), Refusal> {
    let names: Vec<&str> = permissions.map(Permission::as_str).collect();
    for some in names.chunks(AT_ONCE) {
        let refused = |name: Option<&str>| Refusal::NotHeld(name.unwrap_or_default().to_owned());
        let scopes = Scopes::parse(&some.join(" ")).map_err(|_| refused(None))?;
        let asked = RequestedAuthority {
            organization: Some(home.slug.clone()),
            audience: Audience::Issuer,
            offered: Vec::new(),
            scopes,
            details: Details::default(),
        };
        narrow(asked, bounds).map_err(|why| refused(why.scope()))?;
    }
    Ok(())
}
