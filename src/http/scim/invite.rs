//! The invitation of a person whom a directory has named (adr/0133).

use super::call::{ScimCall, ScimChange};
use crate::{
    crypto::{OpaqueKind, draw_id},
    domain::{
        account::normalise_email,
        invitation::{Command, Invitation, Inviter, Make},
        message::{Mail, MailContent},
    },
    http::{answer::scim::ScimRefusal, limits::attempts::Attempt, people::inviter, routes},
};

/// A person who is to be invited, and the membership that waits for them.
pub struct Waiting<'a> {
    pub membership: &'a str,
    pub address: &'a str,
}

/// What an invitation was charged to; it stays charged once the commit has happened.
pub struct Charged(Vec<Attempt>);

impl Charged {
    pub fn keep(self) {
        self.0.into_iter().for_each(Attempt::failed);
    }
}

/// Makes the invitation in the same commit, where mail is sent and the allowance permits; else it is made later.
pub async fn invite(
    call: &ScimCall,
    change: &mut ScimChange,
    waiting: &Waiting<'_>,
) -> Result<Option<Charged>, ScimRefusal> {
    let (app, caller) = (&call.app, &call.caller);
    let Some(charged_to) = normalise_email(waiting.address).filter(|_| app.channels().mail) else {
        return Ok(None);
    };
    let slug = call.slug();
    let charged = app.limits.attempts.charge_invitation(&caller.context, slug, &charged_to);
    let Ok(charged) = charged.await else { return Ok(None) };
    withdraw(call, change, waiting.address).await?;
    let id = draw_id(&*app.dice);
    let token = OpaqueKind::Invitation.mint(&id, &app.crypto.vault.now(), &*app.dice);
    let link = app.settings.links.invitation.as_ref();
    let link = app.page(link, routes::SIGN_UP, &[("token", &token.text)]);
    let organization = change.home.name.clone();
    let content = MailContent::Invitation { link, organization, administrator: false };
    let (to, locale) = (waiting.address.to_owned(), app.settings.locale);
    let make = Make {
        email: to.clone(),
        organization: slug.to_owned(),
        // The membership has them.
        roles: Vec::new(),
        token: token.fingerprint,
        inviter: Some(Inviter::Directory { membership: waiting.membership.to_owned() }),
        mail: Some(Mail { to, locale, content, asked: None }),
    };
    let make = Command::Make(Box::new(make));
    let made = change.commit.decide::<Invitation>(&id, &make).await?;
    Ok(made.is_ok().then_some(Charged(charged)))
}

/// Withdraws the invitation that an address has, where there is one.
pub async fn withdraw(
    call: &ScimCall,
    change: &mut ScimChange,
    address: &str,
) -> Result<(), ScimRefusal> {
    if let Some(id) = inviter::pending(&call.app, call.slug(), address).await? {
        // One that is over meanwhile needs no end.
        let _over = change.commit.decide::<Invitation>(&id, &Command::Withdraw).await?;
    }
    Ok(())
}
