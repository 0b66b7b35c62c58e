//! Invites the holder of an address into an organization, beside running servers.

use crate::{
    actors::{HydrateError, MultiCommit, SettleError},
    crypto::{OpaqueKind, draw_id},
    domain::{
        Locale,
        invitation::{self, Invitation},
        message::{Mail, MailContent, RequestOrigin},
        organization::{self, ADMINISTRATOR, Organization, Role, administration},
        reserved_names::{NAMES, ReservedNames},
    },
    store::CommitError,
    system::{Workbench, commit_failure},
};
use std::fmt;
use zeroize::Zeroizing;

/// Who is invited, to what.
pub struct Invite<'a> {
    pub email: &'a str,
    /// The slug of the organization.
    pub organization: &'a str,
    pub roles: &'a [String],
    /// The person will administer the organization.
    pub administrator: bool,
    /// Makes the link of a token.
    pub link: &'a dyn Fn(&str) -> String,
    /// The language of the mail; `None` where no mail is sent.
    pub mail: Option<Locale>,
}

/// An invitation that was made.
pub struct IssuedInvitation {
    pub id: String,
    pub link: Zeroizing<String>,
    /// The roles that the member will hold.
    pub roles: Vec<String>,
}

impl fmt::Debug for IssuedInvitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuedInvitation").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why no person was invited.
#[derive(Debug, thiserror::Error)]
pub enum InviteError {
    #[error("`{0}` is no e-mail address")]
    Email(String),
    #[error("there is no organization `{0}`: `porteiro organization create` makes one")]
    NoSuchOrganization(String),
    #[error("the organization `{0}` is suspended and accepts no change")]
    Suspended(String),
    #[error("the organization `{organization}` has no role `{role}`")]
    NoSuchRole { organization: String, role: String },
    #[error(
        "the role `administrator` of `{0}` does not confer what an administrator needs: give it \
         read and write of accounts, organizations, memberships, roles, clients, apikeys, scim, \
         audit, connections and domains, or take it out"
    )]
    OtherAdministrator(String),
    #[error("something cannot be read")]
    Entities(#[from] HydrateError),
    #[error("the names that became reserved are not settled")]
    Names(#[from] SettleError),
    #[error("the organization keeps changing: try again")]
    Contended,
    #[error("no invitation was made")]
    NotCommitted(#[source] CommitError),
}

commit_failure!(InviteError);

/// Makes an invitation, and leaves a mail with its link.
pub async fn invite(
    workbench: &Workbench,
    invite: &Invite<'_>,
) -> Result<IssuedInvitation, InviteError> {
    let (vault, dice) = (workbench.vault(), workbench.dice());
    let id = draw_id(dice);
    let token = OpaqueKind::Invitation.mint(&id, &vault, dice);
    let link = Zeroizing::new((invite.link)(&token.text));
    let slug = invite.organization;
    if invite.administrator {
        workbench.settle_names().await?;
    }
    let decide = async |multi_commit: &mut MultiCommit| {
        let home = multi_commit.look::<Organization>(slug).await?.known().cloned();
        let home = home.ok_or_else(|| InviteError::NoSuchOrganization(slug.to_owned()))?;
        if !home.enabled {
            return Err(InviteError::Suspended(slug.to_owned()));
        }
        let mut roles = invite.roles.to_vec();
        if let Some(role) = roles.iter().find(|role| !home.has_role(role)) {
            let (organization, role) = (slug.to_owned(), role.clone());
            return Err(InviteError::NoSuchRole { organization, role });
        }
        if invite.administrator {
            let names = multi_commit.look::<ReservedNames>(NAMES).await?.clone();
            if let Some(draft) = with_administrator(&home, &names)? {
                let provision = organization::Command::Provision(draft);
                let decided = multi_commit.decide::<Organization>(slug, &provision).await?;
                decided.map_err(|_| InviteError::OtherAdministrator(slug.to_owned()))?;
            }
            roles.push(ADMINISTRATOR.to_owned());
        }
        let content = MailContent::Invitation {
            link: link.to_string(),
            organization: home.name.clone(),
            administrator: invite.administrator,
        };
        let to = invite.email.trim().to_owned();
        let asked = RequestOrigin::by_operator(workbench.clock().now());
        let make = invitation::Make {
            email: to.clone(),
            organization: slug.to_owned(),
            roles: roles.clone(),
            token: token.fingerprint,
            inviter: None,
            mail: invite.mail.map(|locale| Mail::new(to, locale, content).asked(asked)),
        };
        let make = invitation::Command::Make(Box::new(make));
        // A new invitation takes the place of the former.
        withdraw_pending(workbench, multi_commit, slug, invite.email).await?;
        let made = multi_commit.decide::<Invitation>(&id, &make).await?;
        made.map_err(|_| InviteError::Email(invite.email.to_owned()))?;
        Ok(roles)
    };
    let roles = workbench.retrying(None, decide).await?;
    Ok(IssuedInvitation { id, link, roles })
}

/// Withdraws the invitation of an address into an organization, where one is pending.
pub(super) async fn withdraw_pending(
    workbench: &Workbench,
    multi_commit: &mut MultiCommit,
    slug: &str,
    email: &str,
) -> Result<(), HydrateError> {
    let name = invitation::pending_name(slug, email);
    let found = workbench.store().find(invitation::PENDING_INVITATIONS, &name).await?;
    let Some((_, id)) = found else { return Ok(()) };
    // One that is over meanwhile needs no end.
    let _over = multi_commit.decide::<Invitation>(&id, &invitation::Command::Withdraw).await?;
    Ok(())
}

/// Returns the organization with the role of its administrators, unless it has it already.
fn with_administrator(
    home: &organization::Known,
    names: &ReservedNames,
) -> Result<Option<organization::Draft>, InviteError> {
    let administration = administration(names);
    if home.has_role(ADMINISTRATOR) {
        let held = home.confers(&[ADMINISTRATOR.to_owned()]);
        // What the operator wrote down is not widened here.
        return if held.missing(&administration).is_none() {
            Ok(None)
        } else {
            Err(InviteError::OtherAdministrator(home.slug.clone()))
        };
    }
    let role = Role { name: ADMINISTRATOR.to_owned(), permissions: administration, group: None };
    let roles = home.roles.iter().cloned().chain([role]).collect();
    let slug = home.slug.clone();
    Ok(Some(organization::Draft { slug, roles: Some(roles), ..organization::Draft::default() }))
}
