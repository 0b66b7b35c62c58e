//! Invitations: what a new one is made of, on whose authority one was made as it is now, and the one that an address has.

use crate::{
    actors::{HydrateError, ReadSet, key_backing},
    crypto::{OpaqueKind, draw_id},
    domain::{
        Locale,
        account::Account,
        api_key::ApiKey,
        authority::Permissions,
        client::Client,
        invitation::{
            Command, Inviter, Make, PENDING_INVITATIONS, Pending as Invitation, pending_name,
        },
        membership::{Membership, Pending},
        message::{Mail, MailContent},
        organization,
    },
    http::{answer::error::Problem, app::App, routes},
};

/// What a caller holds who may invite.
const INVITES: &str = "memberships:write";

/// An invitation that is to be mailed.
pub struct InvitationDraft {
    pub email: String,
    pub roles: Vec<String>,
    pub inviter: Inviter,
    /// The language of the mail.
    pub locale: Locale,
}

impl InvitationDraft {
    /// Draws the id of the invitation and its link, and returns the id with the command that makes it.
    pub fn into_command(self, app: &App, home: &organization::Known) -> (String, Command) {
        let Self { email, roles, inviter, locale } = self;
        let id = draw_id(&*app.dice);
        let token = OpaqueKind::Invitation.mint(&id, &app.crypto.vault.now(), &*app.dice);
        let link = app.settings.links.invitation.as_ref();
        let link = app.page(link, routes::SIGN_UP, &[("token", &token.text)]);
        let organization = home.name.clone();
        let content = MailContent::Invitation { link, organization, administrator: false };
        let make = Make {
            email: email.clone(),
            organization: home.slug.clone(),
            roles,
            token: token.fingerprint,
            inviter: Some(inviter),
            mail: Some(Mail::new(email, locale, content)),
        };
        (id, Command::Make(Box::new(make)))
    }
}

/// Tells whether the one who has invited may still do so, and holds all that the roles confer now. The
/// operator's word stays good.
pub async fn still_stands(
    app: &App,
    reads: &mut ReadSet,
    (pending, home): (&Invitation, &organization::Known),
) -> Result<bool, HydrateError> {
    let Some(inviter) = &pending.inviter else { return Ok(true) };
    if let Inviter::Directory { membership } = inviter {
        let waiting = reads.look::<Membership>(membership).await?;
        return Ok(is_wanted(waiting, &pending.organization));
    }
    let held = held(app, reads, inviter, home).await?;
    let passes_on = |held: Permissions| {
        let conferred = home.confers(&pending.roles);
        held.covers(INVITES) && held.missing(conferred.iter()).is_none()
    };
    Ok(held.is_some_and(passes_on))
}

/// Tells whether a directory still waits for the person of this membership.
fn is_wanted(waiting: &Membership, slug: &str) -> bool {
    let asked_back = waiting.known().filter(|known| known.organization == slug);
    let asked_back = asked_back.is_some_and(|known| !known.enabled && known.is_active());
    let pending = waiting.pending().filter(|pending| pending.organization == slug);
    asked_back || pending.is_some_and(Pending::can_be_accepted)
}

/// Returns what the inviter holds in the organization now, by rows that a commit requires to be unchanged.
async fn held(
    app: &App,
    reads: &mut ReadSet,
    inviter: &Inviter,
    home: &organization::Known,
) -> Result<Option<Permissions>, HydrateError> {
    Ok(match inviter {
        Inviter::Member { account, membership } => {
            // An account changes with each use of a passkey: that is no change of authority.
            let seen = app.views.accounts.peek(account).await?;
            let now = app.clock.now();
            let usable = seen.machine.known().is_some_and(|known| known.admits(now));
            let member = reads.look::<Membership>(membership).await?.known();
            let member = member.filter(|one| {
                one.enabled && one.organization == home.slug && one.account == *account
            });
            member.filter(|_| usable).map(|member| home.confers(&member.roles))
        }
        Inviter::Administrator { account } => {
            let known = reads.look::<Account>(account).await?.known();
            let now = app.clock.now();
            let administers = known.is_some_and(|known| known.administers && known.admits(now));
            let names = app.reserved_names().await?;
            administers.then(|| Permissions::of_administrator(&names.machine))
        }
        Inviter::Client { client_id } => {
            let known = reads.look::<Client>(client_id).await?.known();
            let known = known.filter(|known| {
                !known.suspended && known.organization.as_ref() == Some(&home.slug)
            });
            known.map(|known| home.confers(&known.roles))
        }
        // It gives what the directory has given.
        Inviter::Directory { .. } => None,
        Inviter::ApiKey { id } => {
            let machine = reads.look::<ApiKey>(id).await?;
            let active = machine.revoked_at().is_none();
            let now = app.clock.now();
            let good = |end: Option<crate::domain::Timestamp>| end.is_none_or(|end| now < end);
            let key = machine.known().filter(|key| active && good(key.expires_at)).cloned();
            match key {
                None => None,
                Some(key) => {
                    let backing = key_backing(reads, &key.issuer).await?;
                    backing.and_then(|backing| key.confers(home, &backing).ok())
                }
            }
        }
    })
}

/// Finds the invitation that an address has into an organization.
pub async fn pending(app: &App, slug: &str, email: &str) -> Result<Option<String>, Problem> {
    let found = app.store.find(PENDING_INVITATIONS, &pending_name(slug, email)).await?;
    Ok(found.map(|(_, id)| id))
}

/// The same for the address of an account.
pub async fn pending_for(app: &App, slug: &str, account: &str) -> Result<Option<String>, Problem> {
    let seen = app.views.accounts.peek(account).await?;
    match seen.machine.known() {
        Some(known) => pending(app, slug, &known.email).await,
        None => Ok(None),
    }
}
