//! Gathers what decides about an authorization request beside the request itself.

use crate::{
    actors::{EntitySnapshot, Entry, HydrateError},
    domain::{
        Requirement,
        account::Account,
        authority::{ADMINISTER, Permissions},
        authorization::{
            AuthorizationFacts, Choice, ConsentRule, MembershipChoice, Request, RequestedGrant,
            ResourceChoice, choices,
        },
        client::{Client, KnownClient},
        consent::{Consent, Parties},
        membership::{MEMBERSHIP_PAIRS, MEMBERSHIPS, Membership, pair},
        organization::Organization,
    },
    http::{
        app::App, clients, grants::target, people::belonging::MEMBERSHIPS_READ, reading::Reading,
    },
};
use std::sync::Arc;

/// Returns the client of a request as it is, if a code may still go where the request says.
///
/// It may have changed since the request was checked.
pub async fn client_of(
    app: &App,
    request: &Request,
    anew: bool,
) -> Result<Option<Arc<EntitySnapshot<Client>>>, HydrateError> {
    let seen = clients::find_in_flow(app, &request.wanted.client_id, anew).await?;
    let may_ask = |client: &KnownClient| {
        client.has_redirect_uri(&request.reply_to.redirect_uri)
            && client.may_ask_for_codes().is_ok()
            // Held to signed answers since, it gets none in clear.
            && (!client.rules().signed_responses || request.reply_to.mode.jwt().is_some())
    };
    let may_ask = seen.machine.known().is_some_and(may_ask);
    Ok(may_ask.then_some(seen))
}

/// For whom, and how, facts are gathered.
pub struct FactsReader<'a> {
    pub app: &'a App,
    pub client: &'a KnownClient,
    /// Of the client, as it was seen.
    pub client_version: i64,
    pub wanted: &'a RequestedGrant,
    /// Where a code goes, if there will be one.
    pub redirect_uri: Option<&'a str>,
    pub account: &'a str,
    /// The organization that the person has chosen.
    pub chosen: Option<&'a str>,
    /// Nothing that was seen before is good enough: it had changed.
    pub anew: bool,
}

impl FactsReader<'_> {
    pub async fn gather(&self) -> Result<AuthorizationFacts, HydrateError> {
        let resource =
            target::resource(self.app, &self.wanted.audience, Reading::anew_if(self.anew)).await?;
        let known = resource.as_ref().and_then(|seen| seen.machine.known());
        let mut facts = AuthorizationFacts {
            ceiling: self.client.ceiling(),
            resource: known.map(|known| ResourceChoice {
                identifier: known.identifier.clone(),
                name: known.name.clone(),
            }),
            offered: target::offered(resource.as_deref()),
            types: target::types(known, self.client, &self.wanted.details),
            memberships: self.memberships().await?,
            members_of: self.client.organization.clone().filter(|_| self.client.members_only),
            consent: ConsentRule::FirstParty,
            consent_epoch: 0,
            remembers: self
                .redirect_uri
                .filter(|uri| !self.client.can_be_posed_as(uri))
                .map(|_| self.client.redirects_epoch),
            hears_of_logout: self.client.hears_of_logout(),
            // What was checked of the client must still be so when a code is issued.
            requirements: vec![Requirement::unchanged::<Client>(
                &*self.client.client_id,
                self.client_version,
            )],
        };
        let (consent, requirement) = self.consent(&facts).await?;
        (facts.consent, facts.consent_epoch) = consent;
        facts.requirements.extend(requirement);
        Ok(facts)
    }

    /// Lists the organizations that the person can choose from, and those that are suspended.
    pub async fn choices(&self) -> Result<(Vec<Choice>, Vec<Choice>), HydrateError> {
        let memberships = self.memberships().await?;
        let suspended = memberships.iter().filter(|one| !one.enabled).map(MembershipChoice::choice);
        Ok((choices(&memberships), suspended.collect()))
    }

    /// The memberships that are enabled, with what they confer.
    async fn memberships(&self) -> Result<Vec<MembershipChoice>, HydrateError> {
        let list = (MEMBERSHIPS, self.account);
        let listed = self.app.views.memberships.list_if(self.anew, list, MEMBERSHIPS_READ).await?;
        let mut memberships = Vec::new();
        for Entry { id, machine, version } in &*listed {
            memberships.extend(self.membership(id, machine, *version).await?);
        }
        if listed.len() >= MEMBERSHIPS_READ.most() as usize {
            self.add_named(&mut memberships).await?;
        }
        if let Some(administered) = self.administered(&memberships).await? {
            memberships.retain(|one| one.organization != administered.organization);
            memberships.push(administered);
        }
        Ok(memberships)
    }

    /// Adds the memberships in organizations that are named, which are found among however many there are.
    async fn add_named(&self, memberships: &mut Vec<MembershipChoice>) -> Result<(), HydrateError> {
        let (asked, own) = (&self.wanted.organization, &self.client.organization);
        for slug in [self.chosen, asked.as_deref(), own.as_deref()].into_iter().flatten() {
            if memberships.iter().any(|one| one.organization == slug) {
                continue;
            }
            let found = self.app.store.find(MEMBERSHIP_PAIRS, &pair(self.account, slug)).await?;
            let Some((_, id)) = found else { continue };
            let seen = self.app.views.memberships.look_if(self.anew, &id).await?;
            memberships.extend(self.membership(&id, &seen.machine, seen.version).await?);
        }
        Ok(())
    }

    /// What a membership confers, if it is enabled.
    async fn membership(
        &self,
        id: &str,
        membership: &Membership,
        version: i64,
    ) -> Result<Option<MembershipChoice>, HydrateError> {
        let Some(known) = membership.known().filter(|known| known.enabled) else {
            return Ok(None);
        };
        let slug = &known.organization;
        let home = self.app.views.organizations.look_if(self.anew, slug).await?;
        let Some(organization) = home.machine.known() else { return Ok(None) };
        Ok(Some(MembershipChoice {
            membership: Some(id.to_owned()),
            organization: slug.clone(),
            name: organization.name.clone(),
            enabled: organization.enabled,
            epoch: known.person_epoch_at(organization),
            signed_out: organization.signed_out,
            roles: known.roles_at(organization).into_iter().map(str::to_owned).collect(),
            permissions: organization.confers(&known.roles),
            required: organization.required_acr,
            required_connections: organization.required_connections.clone(),
            requirements: vec![
                Requirement::unchanged::<Membership>(id, version),
                Requirement::unchanged::<Organization>(&**slug, home.version),
            ],
        }))
    }

    /// The organization asked for by name, where the person is no member of it, or asks to administer
    /// it, and holds `organizations:administer` (adr/0079).
    async fn administered(
        &self,
        memberships: &[MembershipChoice],
    ) -> Result<Option<MembershipChoice>, HydrateError> {
        let Some(slug) = self.wanted.organization.as_deref() else { return Ok(None) };
        let is_member = memberships.iter().any(|one| one.organization == slug);
        if is_member && !self.wanted.scopes.contains(ADMINISTER) {
            return Ok(None);
        }
        let account = self.app.views.accounts.look_if(self.anew, self.account).await?;
        if !account.machine.known().is_some_and(|known| known.administers) {
            return Ok(None);
        }
        let home = self.app.views.organizations.look_if(self.anew, slug).await?;
        let Some(organization) = home.machine.known() else { return Ok(None) };
        let names = self.app.reserved_names().await?;
        Ok(Some(MembershipChoice {
            membership: None,
            organization: slug.to_owned(),
            name: organization.name.clone(),
            enabled: organization.enabled,
            epoch: organization.person_epoch(),
            signed_out: organization.signed_out,
            roles: Vec::new(),
            permissions: Permissions::of_administrator(&names.machine),
            required: organization.required_acr,
            // Who administers it is no member.
            required_connections: Vec::new(),
            requirements: vec![
                Requirement::unchanged::<Account>(self.account, account.version),
                Requirement::unchanged::<Organization>(slug, home.version),
            ],
        }))
    }

    async fn consent(
        &self,
        facts: &AuthorizationFacts,
    ) -> Result<((ConsentRule, u64), Option<Requirement>), HydrateError> {
        let wanted = self.wanted.organization.as_deref().or(self.chosen);
        let parties = Parties {
            account: self.account.to_owned(),
            client_id: self.client.client_id.clone(),
            organization: facts.organization(wanted).map(str::to_owned),
        };
        let id = parties.id();
        let seen = self.app.views.consents.look_if(self.anew, &id).await?;
        // No count ever falls, so their sum is the same only while all are.
        let epoch = seen.machine.epoch().saturating_add(self.client.epoch);
        if self.redirect_uri.is_some_and(|uri| self.client.can_be_posed_as(uri)) {
            return Ok(((ConsentRule::Always, epoch), None));
        }
        if self.client.trusted {
            return Ok(((ConsentRule::FirstParty, epoch), None));
        }
        let given = seen.machine.terms_for(self.client.redirects_epoch).cloned();
        let requirement =
            given.is_some().then(|| Requirement::unchanged::<Consent>(&*id, seen.version));
        Ok(((ConsentRule::Remembered(given), epoch), requirement))
    }
}
