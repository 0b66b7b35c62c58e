//! Invitations: found by their token when a flow begins, accepted in the commit that ends it.

use super::problems::{INVITATION_NOT_GOOD, ORGANIZATION_SUSPENDED};
use crate::{
    crypto::{OpaqueKind, draw_uuid},
    domain::{
        account::{self, EMAIL_ADDRESSES, normalise_email},
        authorization::Choice,
        flow::{Invited, Joining, Refusal},
        invitation::{Invitation, Pending},
        membership::{
            Known, MEMBERSHIP_PAIRS, Membership, PENDING_ADDRESSES, pair, pending_address_in,
        },
        organization::Organization,
    },
    http::{answer::error::Problem, app::App, people::inviter},
    wording::quotable,
};

/// Finds the invitation of a token. Unknown, accepted, withdrawn and expired ones are answered alike.
///
/// Nothing is spent: a link may be opened more than once, and by programs.
pub async fn find(app: &App, token: &str) -> Result<Invited, Problem> {
    let genuine = OpaqueKind::Invitation.read(token, &app.crypto.vault.now());
    let genuine = genuine.ok_or(INVITATION_NOT_GOOD)?;
    let seen = app.views.invitations.peek(&genuine.id).await?;
    let pending = seen.machine.opened_by(genuine.fingerprint, app.clock.now());
    told(app, genuine.id, pending.ok_or(INVITATION_NOT_GOOD)?).await
}

/// Finds the invitation of another flow of the same caller once more.
pub async fn find_again(app: &App, former: &Invited) -> Result<Invited, Problem> {
    let seen = app.views.invitations.peek(&former.invitation).await?;
    let pending = seen.machine.pending(app.clock.now()).ok_or(INVITATION_NOT_GOOD)?;
    told(app, former.invitation.clone(), pending).await
}

async fn told(app: &App, id: String, pending: &Pending) -> Result<Invited, Problem> {
    let home = app.views.organizations.look_anew(&pending.organization).await?;
    let known = home.machine.known().filter(|home| home.enabled).ok_or(ORGANIZATION_SUSPENDED)?;
    // Nothing is committed: it is looked at again when the invitation is accepted.
    if !inviter::still_stands(app, &mut app.read_set(), (pending, known)).await? {
        return Err(INVITATION_NOT_GOOD);
    }
    let slug = pending.organization.clone();
    let organization = Some(Choice { slug, name: quotable(&known.name) });
    let address = normalise_email(&pending.email).ok_or(INVITATION_NOT_GOOD)?;
    let account = app.store.find(EMAIL_ADDRESSES, &address).await?.map(|(_, id)| id);
    Ok(Invited { invitation: id, email: pending.email.clone(), account, organization })
}

/// Reads what the invitation of a flow would give this account now, or why it gives nothing.
///
/// Roles that a member holds already stay. Those of the invitation must still be there.
pub async fn joining(
    app: &App,
    invited: &Invited,
    (account, known): (&str, Option<&account::Known>),
) -> Result<Result<Box<Joining>, Refusal>, Problem> {
    let mut reads = app.read_set();
    let machine = reads.look::<Invitation>(&invited.invitation).await?;
    let Some(pending) = machine.pending(app.clock.now()).cloned() else {
        return Ok(Err(Refusal::InvitationOver));
    };
    let slug = &pending.organization;
    let home = reads.look::<Organization>(slug).await?.known().cloned();
    let Some(organization) = home else { return Ok(Err(Refusal::InvitationOver)) };
    // To a member who holds the roles already nothing would change, and the invitation would be used up.
    if !organization.enabled {
        return Ok(Err(Refusal::Suspended));
    }
    if !inviter::still_stands(app, &mut reads, (&pending, &organization)).await? {
        return Ok(Err(Refusal::InvitationOver));
    }
    let membership = membership(app, account, &pending).await?;
    let mut roles = held_roles(reads.look::<Membership>(&membership).await?);
    roles.extend(pending.roles.iter().cloned());
    let email = known.map(|known| known.email.clone());
    let requirements = reads.requirements();
    Ok(Ok(Box::new(Joining { email, organization, membership, roles, requirements })))
}

/// Returns the id of the membership that accepting gives: the one that the account has, the one that a directory keeps
/// for the address, or a new one.
async fn membership(app: &App, account: &str, pending: &Pending) -> Result<String, Problem> {
    let slug = &pending.organization;
    let held = app.store.find(MEMBERSHIP_PAIRS, &pair(account, slug)).await?;
    if let Some((_, id)) = held {
        return Ok(id);
    }
    let waiting = pending_address_in(slug, &pending.email);
    let found = app.store.find(PENDING_ADDRESSES, &waiting).await?;
    Ok(found.map_or_else(|| draw_uuid(&*app.dice), |(_, id)| id))
}

/// Lists the roles that go on: those of a member, or those that a directory gave to a member who has not accepted yet.
fn held_roles(membership: &Membership) -> Vec<String> {
    let asked_back = |one: &&Known| one.enabled || one.is_active();
    let known = membership.known().filter(asked_back).map(|one| &one.roles);
    let pending = membership.pending().map(|one| &one.roles);
    known.or(pending).cloned().unwrap_or_default()
}
