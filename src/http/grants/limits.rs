//! Gathers what limits a grant now.

use crate::{
    actors::HydrateError,
    domain::{
        Machine as _, Requirement,
        account::Account,
        assurance::Acr,
        authority::Permissions,
        client::{Client, KnownClient},
        grant::{Grant, HeldPermissions, Limits, MembershipRef},
        membership::Membership,
        organization::{self, Organization},
    },
    http::{
        app::App,
        grants::{delegation, target},
        people::account_reading::AccountReading,
        reading::Reading,
    },
};

/// What limits a grant, and the roles that a token under it names.
pub struct GrantLimits {
    pub limits: Limits,
    pub roles: Vec<String>,
    /// What was read, for the commit that rests on it.
    pub requirements: Vec<Requirement>,
}

/// Looks at everything that limits a grant.
pub async fn gather(
    app: &App,
    client: &KnownClient,
    grant: &Grant,
    reading: Reading<'_>,
) -> Result<GrantLimits, HydrateError> {
    let resource = target::resource(app, &grant.audience, reading).await?;
    let offered = target::offered(resource.as_deref());
    let known = resource.as_ref().and_then(|seen| seen.machine.known());
    let types = target::types(known, client, &grant.details);
    let ceilings = client.ceiling().into_iter().collect();
    let limits = Limits { ceilings, offered, types, required: Acr::Aal1, ..Limits::default() };
    let mut limited = GrantLimits { limits, roles: Vec::new(), requirements: Vec::new() };
    // The others cannot delete themselves or expire, and what is seen of a client may be a second old.
    if client.is_self_registered() || client.leash.is_some() {
        limited.requirements.push(Requirement::live::<Client>(&*client.client_id));
    }
    let mut seen = epoch(app, grant, reading).await?;
    // What was granted a moment after everything had ended is no older than what is looked at.
    if !grant.is_of(seen.as_ref()) && reading.is_old() {
        seen = epoch(app, grant, Reading::Anew).await?;
    }
    limited.limits.over = !grant.is_of(seen.as_ref());
    limited.requirements.extend(seen.into_iter().flat_map(|seen| seen.requirements));
    let home = match grant.organization() {
        None => None,
        Some(slug) => Some(reading.see(&app.views.organizations, slug).await?),
    };
    let known = home.as_ref().and_then(|home| home.machine.known());
    if let (Some(of), Some(home), Some(organization)) =
        (&grant.membership, &home, known.filter(|known| known.enabled))
        && speak(app, grant, (of, organization), reading, &mut limited).await?
    {
        let unchanged = Requirement::unchanged::<Organization>(&*of.organization, home.version);
        limited.requirements.push(unchanged);
    }
    if let Some(held_for) = &grant.delegation {
        delegation::gather(app, (grant, held_for), known, reading, &mut limited).await?;
    }
    Ok(limited)
}

/// Adds what the subject of the grant holds in the organization, if it still speaks for it.
async fn speak(
    app: &App,
    grant: &Grant,
    (of, home): (&MembershipRef, &organization::Known),
    reading: Reading<'_>,
    limited: &mut GrantLimits,
) -> Result<bool, HydrateError> {
    let hold = |permissions| Some(HeldPermissions { organization: home.slug.clone(), permissions });
    // No person: what its root holds is added with that.
    let Some(person) = &grant.account else { return Ok(of.epoch == home.epoch) };
    let Some(id) = &of.id else {
        let account = reading.see(&app.views.accounts, person).await?;
        let administers = account.machine.known().is_some_and(|known| known.administers);
        if !administers || of.epoch != home.person_epoch() {
            return Ok(false);
        }
        limited.limits.required = home.required_acr;
        let names = app.reserved_names().await?;
        limited.limits.held = hold(Permissions::of_administrator(&names.machine));
        let unchanged = Requirement::unchanged::<Account>(&**person, account.version);
        limited.requirements.push(unchanged);
        return Ok(true);
    };
    let membership = reading.see(&app.views.memberships, id).await?;
    // What was granted in an earlier epoch has ended, though both are enabled again.
    let member = membership.machine.known().filter(|member| {
        let belongs = member.organization == home.slug && member.account == *person;
        // A sign-out ends what people hold, and not what their API keys do.
        let epoch =
            if grant.is_by_key() { member.epoch_at(home) } else { member.person_epoch_at(home) };
        member.enabled && belongs && of.epoch == epoch
    });
    let Some(member) = member else { return Ok(false) };
    limited.roles = member.roles_at(home).into_iter().map(str::to_owned).collect();
    limited.limits.required = home.required_acr;
    limited.limits.required_connections.clone_from(&home.required_connections);
    limited.limits.held = hold(home.confers(&member.roles));
    let unchanged = Requirement::unchanged::<Membership>(&**id, membership.version);
    limited.requirements.push(unchanged);
    Ok(true)
}

/// The epoch in which a grant would be given: that of the account, the consents and the clients.
pub struct EpochReading {
    pub epoch: u64,
    /// What was read of the account, for the commit that rests on it.
    requirements: Vec<Requirement>,
}

impl Grant {
    /// Tells whether it was given in this epoch.
    fn is_of(&self, seen: Option<&EpochReading>) -> bool {
        seen.is_some_and(|seen| seen.epoch == self.epoch)
    }
}

/// Returns the epoch in which such a grant would be given; none to an account that is gone.
pub async fn epoch(
    app: &App,
    grant: &Grant,
    reading: Reading<'_>,
) -> Result<Option<EpochReading>, HydrateError> {
    let (mut epoch, mut requirements) = (0, Vec::new());
    if let Some(person) = &grant.account {
        let seen = AccountReading::seen(app, person, reading).await?;
        let is_live = seen.account.machine.live_until() > app.clock.now();
        let known = seen.account.machine.known().filter(|_| is_live);
        let Some(known) = known else { return Ok(None) };
        epoch = if grant.is_by_key() { known.epoch } else { known.person_epoch(seen.sign_outs) };
        requirements.extend(seen.requirements(person));
    }
    if let Some(sign_on) = &grant.sign_on {
        let connection = reading.see(&app.views.connections, &sign_on.connection).await?;
        let Some(known) = connection.machine.known() else { return Ok(None) };
        epoch = epoch.saturating_add(known.epoch);
    }
    for id in grant.consents() {
        let consent = reading.see(&app.views.consents, &id).await?;
        epoch = epoch.saturating_add(consent.machine.epoch());
    }
    for id in grant.clients() {
        let client = reading.see(&app.views.clients, id).await?;
        epoch = epoch.saturating_add(client.machine.held().map_or(0, |client| client.epoch));
    }
    Ok(Some(EpochReading { epoch, requirements }))
}
