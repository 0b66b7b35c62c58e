//! The invitation of a person whom a directory has named (adr/0133): made in the request, or later.

use crate::{
    actors::{HydrateError, MultiCommit},
    domain::{
        Context,
        account::normalise_email,
        invitation::{Command, Invitation, Inviter, Pending},
        organization,
    },
    http::{
        answer::error::Problem,
        app::App,
        limits::attempts::{Attempt, AttemptRefusal},
        people::inviter::{self, InvitationDraft},
    },
};

/// A person who is to be invited, and the membership that waits for them.
pub struct Invitee<'a> {
    pub membership: &'a str,
    pub address: &'a str,
}

/// What an invitation was charged to; it stays charged once the commit has happened.
#[derive(Default)]
pub struct InvitationCharge(Vec<Attempt>);

impl InvitationCharge {
    pub fn keep(self) {
        self.0.into_iter().for_each(Attempt::failed);
    }
}

/// Tells whether an invitation that the directory has not made waits for the address, and is good now. It makes the person
/// the User as well, with the roles that its inviter has given: the directory's does not take its place.
pub async fn stands(app: &App, home: &organization::Known, address: &str) -> Result<bool, Problem> {
    let Some(id) = inviter::pending(app, &home.slug, address).await? else { return Ok(false) };
    let seen = app.views.invitations.peek(&id).await?;
    match seen.machine.pending(app.clock.now()) {
        None | Some(Pending { inviter: Some(Inviter::Directory { .. }), .. }) => Ok(false),
        // What its inviter holds is judged again when it is accepted.
        Some(pending) => {
            Ok(inviter::still_stands(app, &mut app.read_set(), (pending, home)).await?)
        }
    }
}

/// Charges an invitation to the organization and to the address; none where the allowance does not permit it now.
pub async fn charge(
    app: &App,
    context: &Context,
    slug: &str,
    address: &str,
) -> Option<InvitationCharge> {
    let to = normalise_email(address).filter(|_| app.channels().mail)?;
    let charged = app.limits.attempts.charge_invitation(context, slug, &to).await;
    match charged {
        Ok(charged) => Some(InvitationCharge(charged)),
        Err(AttemptRefusal::TooMany(_) | AttemptRefusal::Unavailable) => None,
    }
}

/// Makes the invitation in a commit, and leaves a mail with its link. Returns whether it could be made.
pub async fn make(
    app: &App,
    commit: &mut MultiCommit,
    home: &organization::Known,
    invitee: &Invitee<'_>,
) -> Result<bool, HydrateError> {
    let draft = InvitationDraft {
        email: invitee.address.to_owned(),
        // The membership has them.
        roles: Vec::new(),
        inviter: Inviter::Directory { membership: invitee.membership.to_owned() },
        locale: app.settings.locale,
    };
    let (id, make) = draft.into_command(app, home);
    let made = commit.decide::<Invitation>(&id, &make).await?;
    Ok(made.is_ok())
}

/// Withdraws the invitation that an address has, where there is one.
pub async fn withdraw(
    app: &App,
    commit: &mut MultiCommit,
    (slug, address): (&str, &str),
) -> Result<(), Problem> {
    if let Some(id) = inviter::pending(app, slug, address).await? {
        // One that is over meanwhile needs no end.
        let _over = commit.decide::<Invitation>(&id, &Command::Withdraw).await?;
    }
    Ok(())
}
