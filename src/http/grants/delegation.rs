//! What limits a grant that is held for another: every link of its chain (adr/0088).

use crate::{
    actors::HydrateError,
    domain::{
        Machine as _, Requirement,
        access_token::{AccessToken, Claims},
        account::Account,
        api_key::{ApiKey, Key},
        authority::{Permissions, Scopes},
        client::{Client, GrantType, KnownClient},
        consent::Consent,
        delegation::{Administrator, Delegation, Root},
        grant::{Grant, HeldPermissions, Wish},
        installation::{INSTALLATION_ID, Installation},
        membership::Membership,
        organization::{self, Organization},
        resource::Resource,
        session::Session,
        token_family::TokenFamily,
    },
    http::{
        answer::error::OAuthError,
        app::App,
        grants::{
            api_key,
            limits::{self, GrantLimits},
        },
        people::account_reading::AccountReading,
        reading::{LivenessReading, Reading, read_token::Good},
    },
};

/// Adds what every client that held the grant was registered with, and what its root confers now.
pub async fn gather(
    app: &App,
    (grant, delegation): (&Grant, &Delegation),
    home: Option<&organization::Known>,
    reading: Reading<'_>,
    limited: &mut GrantLimits,
) -> Result<(), HydrateError> {
    for client_id in &delegation.through {
        let seen = reading.see(&app.views.clients, client_id).await?;
        let Some(known) = seen.machine.known() else {
            limited.limits.over = true;
            return Ok(());
        };
        limited.limits.ceilings.extend(known.ceiling());
        limited.requirements.push(Requirement::live::<Client>(&**client_id));
    }
    if let Some(administrator) = &delegation.administrator {
        let rests_on = &mut limited.requirements;
        let held = administered(app, administrator, home, (reading, rests_on)).await?;
        limited.limits.over |= held.is_none();
        limited.limits.within.extend(held);
    }
    match &delegation.root {
        Root::Token(_) if grant.account.is_some() => {}
        Root::Token(_) => {
            let held = client_in_its_own_name(app, grant, home, reading, limited).await?;
            limited.limits.over |= !held;
        }
        Root::ApiKey { id, parents } => {
            let key = reading.see(&app.views.api_keys, id).await?;
            let active = key.machine.known().filter(|_| key.machine.revoked_at().is_none());
            let permissions = match active.zip(home) {
                Some((key, home)) => conferred(app, key, home, reading).await?,
                None => None,
            };
            let Some(permissions) = permissions else {
                limited.limits.over = true;
                return Ok(());
            };
            let keys = parents.iter().chain([id]);
            limited.requirements.extend(keys.map(|id| Requirement::live::<ApiKey>(&**id)));
            match (&grant.account, home) {
                (Some(_), _) => limited.limits.within.push(permissions),
                (None, Some(home)) => {
                    let organization = home.slug.clone();
                    limited.limits.held = Some(HeldPermissions { organization, permissions });
                }
                (None, None) => {}
            }
        }
    }
    Ok(())
}

/// Tells whether a token that is held for another is still good; the organization `also` must be live
/// as well.
pub async fn of_token(
    app: &App,
    claims: &Claims<'_>,
    grant: &Grant,
    also: Option<&str>,
) -> Result<Option<Good>, OAuthError> {
    let Some(delegation) = &grant.delegation else { return Ok(None) };
    let Ok(scopes) = Scopes::parse(&claims.scope) else { return Ok(None) };
    let consents: Vec<String> = grant.consents().collect();
    let mut asked: Vec<(&'static str, &str)> = vec![(AccessToken::KIND, &claims.jti)];
    if let Root::Token(root) = &delegation.root {
        asked.push((AccessToken::KIND, root));
    }
    let tokens = asked.len();
    asked.extend(consents.iter().map(|id| (Consent::KIND, id.as_str())));
    asked.push((Installation::KIND, INSTALLATION_ID));
    let optional = asked.len();
    asked.extend(grant.clients().map(|id| (Client::KIND, id)));
    let api = Some(&*claims.aud).filter(|aud| *aud != app.issuer && !app.is_built_in(aud));
    asked.extend(api.map(|identifier| (Resource::KIND, identifier)));
    let organizations = grant.organization().into_iter().chain(also);
    asked.extend(organizations.map(|slug| (Organization::KIND, slug)));
    asked.extend(claims.families().map(|id| (TokenFamily::KIND, id)));
    asked.extend(grant.bound_session().map(|id| (Session::KIND, id)));
    asked.extend(grant.account.as_deref().map(|id| (Account::KIND, id)));
    let membership = grant.membership.as_ref().and_then(|one| one.id.as_deref());
    asked.extend(membership.map(|id| (Membership::KIND, id)));
    if let Some(Administrator { account, membership, .. }) = &delegation.administrator {
        asked.extend([(Account::KIND, account.as_str()), (Membership::KIND, membership)]);
    }
    asked.extend(grant.sign_on.iter().flat_map(|sign_on| sign_on.rests_on()));
    if let Root::ApiKey { id, parents } = &delegation.root {
        asked.extend(parents.iter().chain([id]).map(|id| (ApiKey::KIND, id.as_str())));
    }
    let found = app.store.liveness(&asked).await?;
    let standing = LivenessReading { asked: &asked, found: &found };
    if !standing.holds(tokens, optional, app.clock.now()) {
        return Ok(None);
    }
    let reading = Reading::At(&standing);
    let client = reading.see(&app.views.clients, &grant.client_id).await?;
    // An administrator acts by the client that they have signed into.
    let may_hold = |one: &&KnownClient| {
        delegation.administrator.is_some() || one.may_use(GrantType::TokenExchange)
    };
    let client = client.machine.known().filter(may_hold);
    let Some(client) = client else { return Ok(None) };
    let GrantLimits { limits, roles, .. } = limits::gather(app, client, grant, reading).await?;
    let wish = Wish { scopes: &scopes, details: &claims.authorization_details };
    let narrowed = limits.narrow(grant.organization(), &grant.audience, wish);
    let named = claims.roles().all(|role| roles.iter().any(|held| held == role));
    if limits.over || !grant.came_as_required(&limits) || narrowed.is_err() || !named {
        return Ok(None);
    }
    let account = match &grant.account {
        None => None,
        Some(id) => Some(reading.see(&app.views.accounts, id).await?),
    };
    if account.as_ref().is_some_and(|account| account.machine.known().is_none()) {
        return Ok(None);
    }
    Ok(Some(Good::of_person(account).judged_by(app.is_built_in(&claims.aud), &standing)))
}

/// Adds what the client at the root holds in its organization; tells whether it still speaks there.
async fn client_in_its_own_name(
    app: &App,
    grant: &Grant,
    home: Option<&organization::Known>,
    reading: Reading<'_>,
    limited: &mut GrantLimits,
) -> Result<bool, HydrateError> {
    let Some(first) = grant.clients().next() else { return Ok(false) };
    let seen = reading.see(&app.views.clients, first).await?;
    let Some(client) = seen.machine.known() else { return Ok(false) };
    if !client.may_use(GrantType::ClientCredentials)
        || client.organization.as_deref() != grant.organization()
    {
        return Ok(false);
    }
    let Some(of) = &grant.membership else { return Ok(true) };
    let Some(home) = home.filter(|home| home.enabled && home.epoch == of.epoch) else {
        return Ok(false);
    };
    limited.roles = client.roles_at(Some(home)).into_iter().map(str::to_owned).collect();
    let permissions = home.confers(&client.roles);
    limited.limits.held = Some(HeldPermissions { organization: home.slug.clone(), permissions });
    Ok(true)
}

/// Returns what an administrator holds who acts as another member, while the organization lets them.
async fn administered(
    app: &App,
    administrator: &Administrator,
    home: Option<&organization::Known>,
    (reading, rests_on): (Reading<'_>, &mut Vec<Requirement>),
) -> Result<Option<Permissions>, HydrateError> {
    let Some(home) = home.filter(|home| home.enabled && home.impersonation) else {
        return Ok(None);
    };
    let member = reading.see(&app.views.memberships, &administrator.membership).await?;
    let account = AccountReading::seen(app, &administrator.account, reading).await?;
    rests_on.extend(account.requirements(&administrator.account));
    let both = member.machine.known().zip(account.epoch());
    let good = both.filter(|(member, epoch)| {
        member.enabled
            && member.organization == home.slug
            && member.account == administrator.account
            && administrator.epoch == member.person_epoch_at(home).saturating_add(*epoch)
    });
    Ok(good.map(|(member, _)| home.confers(&member.roles)))
}

/// Returns what a key confers in its organization, if it does.
async fn conferred(
    app: &App,
    key: &Key,
    home: &organization::Known,
    reading: Reading<'_>,
) -> Result<Option<Permissions>, HydrateError> {
    let backing = api_key::backing(app, key, reading).await?;
    Ok(backing.and_then(|backing| key.confers(home, &backing).ok()))
}
