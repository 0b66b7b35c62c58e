//! Invitations: found by their token when a flow begins, accepted in the commit that ends it.

use super::{
    committing::{NotTaken, unreadable},
    problems::{INVITATION_NOT_GOOD, ORGANIZATION_SUSPENDED},
};
use crate::{
    actors::MultiCommit,
    crypto::{OpaqueKind, draw_uuid},
    domain::{
        Context,
        account::{Account, EMAIL_ADDRESSES, normalise_email},
        authorization::Choice,
        flow::{Acceptance, Invited},
        invitation::{self, Invitation, Pending},
        membership::{self, MEMBERSHIP_PAIRS, Membership, pair},
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
    let mut look = app.multi_commit(&Context::node());
    if !inviter::still_stands(app, &mut look, (pending, known)).await? {
        return Err(INVITATION_NOT_GOOD);
    }
    let slug = pending.organization.clone();
    let organization = Some(Choice { slug, name: quotable(&known.name) });
    let address = normalise_email(&pending.email).ok_or(INVITATION_NOT_GOOD)?;
    let account = app.store.find(EMAIL_ADDRESSES, &address).await?.map(|(_, id)| id);
    Ok(Invited { invitation: id, email: pending.email.clone(), account, organization })
}

/// Accepts the invitation and makes the account a member, in the commit that ends the flow.
///
/// Roles that a member holds already stay. Those of the invitation must still be there.
pub async fn accept(
    app: &App,
    commit: &mut MultiCommit,
    acceptance: &Acceptance,
) -> Result<(), NotTaken> {
    let Acceptance { invitation, account } = acceptance;
    let known = commit.look::<Account>(account).await.map_err(unreadable)?.known();
    let email = known.map(|known| known.email.clone()).ok_or(INVITATION_NOT_GOOD)?;
    let command = invitation::Command::Accept { account: account.clone(), email };
    let decided = commit.decide::<Invitation>(invitation, &command).await.map_err(unreadable)?;
    let Ok(invitation::Reply::Accepted(pending)) = decided else {
        return Err(INVITATION_NOT_GOOD.into());
    };
    let slug = &pending.organization;
    let home = commit.look::<Organization>(slug).await.map_err(unreadable)?.known().cloned();
    // To a member who holds the roles already nothing would change, and the invitation would be used up.
    if home.as_ref().is_some_and(|home| !home.enabled) {
        return Err(ORGANIZATION_SUSPENDED.into());
    }
    if let Some(home) = &home
        && !inviter::still_stands(app, commit, (&pending, home)).await.map_err(unreadable)?
    {
        return Err(INVITATION_NOT_GOOD.into());
    }
    let held = app.store.find(MEMBERSHIP_PAIRS, &pair(account, slug)).await;
    let held = held.map_err(Problem::from)?.map(|(_, id)| id);
    let id = held.unwrap_or_else(|| draw_uuid(&*app.dice));
    let former = commit.look::<Membership>(&id).await.map_err(unreadable)?.known();
    let mut roles =
        former.filter(|one| one.enabled).map(|one| one.roles.clone()).unwrap_or_default();
    roles.extend(pending.roles.iter().cloned());
    let draft = membership::Draft {
        id: id.clone(),
        account: account.clone(),
        organization: slug.clone(),
        roles: Some(roles),
        enabled: Some(true),
        word: membership::Word::Person,
    };
    let provision = membership::Command::Provision { draft, home };
    let decided = commit.decide::<Membership>(&id, &provision).await.map_err(unreadable)?;
    decided.map(drop).map_err(|refusal| match refusal {
        membership::Refusal::Suspended(_) => ORGANIZATION_SUSPENDED.into(),
        _ => INVITATION_NOT_GOOD.into(),
    })
}
