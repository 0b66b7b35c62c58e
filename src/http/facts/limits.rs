//! Gathers what limits a grant now.

use super::target;
use crate::{
    actors::HydrateError,
    domain::{
        Requirement,
        account::Account,
        assurance::Acr,
        authority::Permissions,
        client::{Client, KnownClient},
        consent::Parties,
        grant::{Grant, Held, Limits},
        membership::Membership,
        organization::Organization,
    },
    http::app::App,
};

/// What limits a grant, and the roles that a token under it names.
pub struct Limited {
    pub limits: Limits,
    pub roles: Vec<String>,
    /// What was read, for the commit that rests on it.
    pub requirements: Vec<Requirement>,
}

/// Looks at everything that limits a grant, as it is now where `anew`.
pub async fn gather(
    app: &App,
    client: &KnownClient,
    grant: &Grant,
    anew: bool,
) -> Result<Limited, HydrateError> {
    let resource = target::resource(app, &grant.audience, anew).await?;
    let offered = target::offered(resource.as_deref());
    let known = resource.as_ref().and_then(|seen| seen.machine.known());
    let types = target::types(known, client, &grant.details);
    let (ceiling, required) = (client.ceiling(), Acr::Aal1);
    let mut limited = Limited {
        limits: Limits { ceiling, held: None, offered, types, required, over: false },
        roles: Vec::new(),
        requirements: Vec::new(),
    };
    // The others cannot delete themselves, and what is seen of a client may be a second old.
    if client.is_self_registered() {
        limited.requirements.push(Requirement::live::<Client>(&*client.client_id));
    }
    // What was granted a moment after everything had ended is no older than what is looked at.
    let honoured = is_honoured(app, client, grant, anew).await?;
    limited.limits.over = !honoured && (anew || !is_honoured(app, client, grant, true).await?);
    let Some(of) = &grant.membership else { return Ok(limited) };
    let home = app.organizations.look_if(anew, &of.organization).await?;
    let Some(organization) = home.machine.known() else { return Ok(limited) };
    let Some(id) = &of.id else {
        let account = app.accounts.look_if(anew, &grant.account).await?;
        let administers = account.machine.known().is_some_and(|known| known.administers);
        if administers && organization.enabled && of.epoch == organization.epoch {
            limited.limits.required = organization.required_acr;
            let permissions = Permissions::of_administrator();
            let organization = organization.slug.clone();
            limited.limits.held = Some(Held { organization, permissions });
            limited.requirements.extend([
                Requirement::unchanged::<Account>(&*grant.account, account.version),
                Requirement::unchanged::<Organization>(&*of.organization, home.version),
            ]);
        }
        return Ok(limited);
    };
    let membership = app.memberships.look_if(anew, id).await?;
    let Some(member) = membership.machine.known() else { return Ok(limited) };
    // What was granted in an earlier epoch has ended, though both are enabled again.
    let same_epoch = of.epoch == member.epoch_at(organization);
    let enabled = member.enabled && organization.enabled;
    if enabled && same_epoch && member.organization == organization.slug {
        limited.roles = member.roles_at(organization).into_iter().map(str::to_owned).collect();
        limited.limits.required = organization.required_acr;
        limited.limits.held = Some(Held {
            organization: organization.slug.clone(),
            permissions: organization.confers(&member.roles),
        });
        limited.requirements.extend([
            Requirement::unchanged::<Membership>(&**id, membership.version),
            Requirement::unchanged::<Organization>(&*of.organization, home.version),
        ]);
    }
    Ok(limited)
}

/// Tells whether the account, the consent and the client are in the epoch that it was granted in.
async fn is_honoured(
    app: &App,
    client: &KnownClient,
    grant: &Grant,
    anew: bool,
) -> Result<bool, HydrateError> {
    let account = app.accounts.look_if(anew, &grant.account).await?;
    let Some(known) = account.machine.known() else { return Ok(false) };
    let parties = Parties {
        account: grant.account.clone(),
        client_id: grant.client_id.clone(),
        organization: grant.organization().map(str::to_owned),
    };
    let consent = app.consent_views.look_if(anew, &parties.id()).await?;
    let epochs = [known.epoch, consent.machine.epoch(), client.epoch];
    Ok(grant.epoch == epochs.into_iter().fold(0, u64::saturating_add))
}
