//! An authorization request whose every parameter has been checked, and what becomes of it once a
//! person is known.
//!
//! [`RequestedGrant::settle`] is asked in both places where a person may be known: at the authorization
//! endpoint, for a person with a live session, and in a flow, after each of its steps. It says the same
//! in both:
//!
//! 1. the one organization: the one asked for, else the only one, else the person chooses;
//! 2. authority: what is asked is within the registration and what the person's roles confer there;
//! 3. assurance: the person has proved as much as the organization requires, and aal2 where a detail
//!    is irreversible;
//! 4. consent: given before or now, unless the client is first party;
//! 5. then there is a grant.

mod facts;
mod request;
mod response_mode;

pub use facts::{
    AuthorizationFacts, Choice, ConsentQuestion, ConsentRule, MembershipChoice, ResourceChoice,
    ShownDetail, choices,
};
pub use request::{Prompt, ReplyTo, Request, RequestedGrant};
pub use response_mode::{Carrier, ResponseJwt, ResponseMode};

use super::{
    Requirement, Timestamp,
    assurance::{Acr, Evidence},
    authority::Widening,
    grant::{Grant, Limits, MembershipRef, Wish},
    person::Person,
};
use serde::{Deserialize, Serialize};

/// What a request comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    Granted {
        grant: Box<Grant>,
        requirements: Vec<Requirement>,
    },
    /// The person belongs to several organizations, and tokens speak for one.
    ChooseOrganization(Vec<Choice>),
    /// The organization requires more than the person has proved.
    ProveMore(Acr),
    /// The organization has signed its people out since the person proved enough; this alone counts of their proofs.
    ProveAgain(Box<Evidence>),
    /// The organization, by its slug, requires the person to come by its single sign-on.
    SignOn(String),
    AskConsent(Box<ConsentQuestion>),
    Denied(Denial),
}

/// Why a request comes to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Denial {
    /// The person is not a member, or is disabled there, or the organization is suspended.
    NotAMember,
    /// The person said no.
    ConsentRefused,
    /// More is asked than is held; the scope that is too much, if it is one.
    TooMuch { scope: Option<String> },
    /// A detail is asked for that the person may not grant there.
    DetailsNotHeld,
    /// A detail is asked for that the API does not take from this client, or not any more.
    DetailsNotOffered,
    /// Too many wrong credentials.
    TooManyAttempts,
    /// Another person signed in than the client asked for.
    #[serde(alias = "SomebodyElse")]
    OtherPerson,
    /// The holder of the account's address has stopped it.
    Stopped,
    /// The organization requires more than the person's account can prove.
    NotSureEnough,
    /// An authenticator by which the person has proved who they are was changed or removed since.
    Superseded,
}

/// Who is asked, and when.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub person: &'a Person,
    /// The session in which the grant is given.
    pub session: &'a str,
    pub now: Timestamp,
}

/// The answers that a person has already given in the flow they are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PersonAnswers<'a> {
    /// The slug of the organization they chose.
    pub organization: Option<&'a str>,
    pub allowed: Allowed<'a>,
}

/// What a person has consented to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allowed<'a> {
    #[default]
    Nothing,
    /// Exactly this request, for the organization of this slug, or for none.
    For(Option<&'a str>),
}

impl RequestedGrant {
    /// Says why the person could not grant this by a membership, however sure we are of them.
    fn beyond(
        &self,
        facts: &AuthorizationFacts,
        membership: Option<&MembershipChoice>,
    ) -> Option<Denial> {
        let limits = Limits {
            ceilings: facts.ceiling.iter().cloned().collect(),
            held: membership.map(MembershipChoice::held),
            offered: facts.offered.clone(),
            within: Vec::new(),
            types: facts.types.clone(),
            required: Acr::default(),
            required_connections: Vec::new(),
            over: false,
        };
        let organization = membership.map(|one| one.organization.as_str());
        let wish = Wish { scopes: &self.scopes, details: &self.details };
        limits.narrow(organization, &self.audience, wish).err().map(|why| denial(&why))
    }

    /// Says what a person is asked to grant in the organization of the request, or in their only one;
    /// or why they could not grant it, however sure we are of them.
    pub fn question(&self, facts: &AuthorizationFacts) -> Result<ConsentQuestion, Denial> {
        let membership = match facts.membership(self.organization.as_deref()) {
            Ok(membership) => membership,
            Err(Settled::Denied(denial)) => return Err(denial),
            Err(_) => return Err(Denial::NotAMember),
        };
        match self.beyond(facts, membership) {
            Some(denial) => Err(denial),
            None => Ok(facts.question(membership, self)),
        }
    }

    /// Returns what the person must still prove, where they have proved less than is required of them.
    fn missing(
        &self,
        person: &Person,
        (required, facts): (Acr, &AuthorizationFacts),
        now: Timestamp,
    ) -> Option<Acr> {
        let evidence = &person.evidence;
        if evidence.level(now).is_none()
            || (!required.is_least() && !required.is_met_by(evidence, now))
        {
            return Some(required);
        }
        // Of first-party clients too: what cannot be taken back is granted by a person we are sure of.
        let irreversible = facts.types.iter().any(|kind| kind.irreversible);
        if irreversible && !Acr::Aal2.is_met_by(evidence, now) {
            return Some(Acr::Aal2);
        }
        self.unmet(person, now)
    }

    /// Says what becomes of the request for this person, with these facts.
    pub fn settle(
        &self,
        subject: Subject<'_>,
        facts: &AuthorizationFacts,
        said: PersonAnswers<'_>,
    ) -> Settled {
        let Subject { person, session, now } = subject;
        if self.is_about_another_person(person) {
            return Settled::Denied(Denial::OtherPerson);
        }
        let wanted = self.organization.as_deref().or(said.organization);
        let third_party = facts.consent != ConsentRule::FirstParty;
        let ask = |membership| Settled::AskConsent(Box::new(facts.question(membership, self)));
        // A person who came by another organization's provider alone does not learn whether they belong to this one.
        let named = facts.members_of.as_deref().or(wanted);
        if named.is_some() && !person.evidence.reaches(named) {
            return Settled::ProveMore(Acr::Aal1);
        }
        let membership = match facts.membership(wanted) {
            Ok(membership) => membership,
            // Before consent a client does not learn in silence where a person belongs, nor that there
            // are several organizations to choose from.
            Err(_) if self.prompt.none && third_party => return ask(None),
            Err(Settled::ChooseOrganization(choices)) => {
                let choices = reached(choices, person);
                let none = choices.is_empty().then_some(Settled::ProveMore(Acr::Aal1));
                return none.unwrap_or(Settled::ChooseOrganization(choices));
            }
            Err(settled) => return settled,
        };
        let unknown = third_party && facts.consent.asks_for(self);
        if self.prompt.none && unknown {
            return ask(membership);
        }
        let organization = membership.map(|one| one.organization.as_str());
        if !person.evidence.reaches(organization) {
            return Settled::ProveMore(Acr::Aal1);
        }
        if let Some(denial) = self.beyond(facts, membership) {
            return Settled::Denied(denial);
        }
        // What was proved before a sign-out does not count there.
        let counts = match membership {
            Some(one) => person.evidence.clone().since_sign_out(&one.organization, one.signed_out),
            None => person.evidence.clone(),
        };
        let sign_on = organization.and_then(|slug| counts.sign_on_at(slug));
        if let Some(one) = membership.filter(|one| !one.required_connections.is_empty())
            && !sign_on.is_some_and(|by| one.required_connections.contains(&by.connection))
        {
            return Settled::SignOn(one.organization.clone());
        }
        // What was proved elsewhere does not count here.
        let proved = &Person { evidence: counts.at(organization, now), ..person.clone() };
        let required = membership.map(|one| one.required).unwrap_or_default();
        if let Some(acr) = self.missing(proved, (required, facts), now) {
            return match organization {
                // A person who came by single sign-on alone comes by it again.
                Some(slug) if counts != person.evidence && person.evidence.is_only_scoped() => {
                    Settled::SignOn(slug.to_owned())
                }
                _ if counts != person.evidence => Settled::ProveAgain(Box::new(counts)),
                _ => Settled::ProveMore(acr),
            };
        }
        let person = proved;
        let forced = self.prompt.consent && third_party;
        // What was said of one organization says nothing of another.
        let allowed = said.allowed == Allowed::For(organization);
        if !allowed && (forced || unknown) {
            return ask(membership);
        }
        let Some((level, authenticated_at)) =
            person.evidence.level(now).zip(person.evidence.last())
        else {
            return Settled::Denied(Denial::NotAMember);
        };
        // It ends with the identity, be that of the organization or the account's own.
        let sign_on = sign_on.or_else(|| person.evidence.only_sign_on());
        let grant = Grant {
            client_id: self.client_id.clone(),
            account: Some(person.account.clone()),
            epoch: [facts.consent_epoch, sign_on.map_or(0, |sign_on| sign_on.epoch)]
                .into_iter()
                .fold(person.epoch, u64::saturating_add),
            session: Some(session.to_owned()),
            parents: Vec::new(),
            membership: membership.map(|one| MembershipRef {
                id: one.membership.clone(),
                organization: one.organization.clone(),
                epoch: one.epoch,
            }),
            audience: self.audience.clone(),
            scopes: self.scopes.clone(),
            claims: self.claims.clone(),
            details: self.details.clone(),
            authenticated_at,
            level,
            methods: person.evidence.methods(),
            sign_on: sign_on.cloned().map(Box::new),
            delegation: None,
        };
        let mut requirements = facts.requirements.clone();
        requirements.extend(membership.into_iter().flat_map(|one| one.requirements.clone()));
        Settled::Granted { grant: Box::new(grant), requirements }
    }
}

/// Leaves those of which the person may know that they belong to them, by what they have proved.
pub fn reached(choices: Vec<Choice>, person: &Person) -> Vec<Choice> {
    let is_reached = |choice: &Choice| person.evidence.reaches(Some(&choice.slug));
    choices.into_iter().filter(is_reached).collect()
}

fn denial(widening: &Widening) -> Denial {
    match widening {
        Widening::OtherOrganization => Denial::NotAMember,
        Widening::DetailsNotConferred => Denial::DetailsNotHeld,
        Widening::DetailsNotOffered | Widening::DetailsBeyondGrant => Denial::DetailsNotOffered,
        other => Denial::TooMuch { scope: other.scope().map(str::to_owned) },
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_sign_on;
