//! What a person has let a client do, remembered for one organization.
//!
//! | state | command | next |
//! |---|---|---|
//! | unborn, or withdrawn | give | given: these scopes, for this recipient |
//! | given | give | given: the former and these |
//! | given, for other redirect URIs of the client | give | given: these alone |
//! | any | withdraw | withdrawn, in the next epoch |
//!
//! Every grant of the person to the client names the epoch, also where the person is not asked because
//! the client is the operator's own, or is asked every time. What was granted in an earlier one has
//! ended, and does not come back with another consent (adr/0081).

use super::{
    ClientRank, Decision, Listing, Machine, Record, Timestamp,
    authority::{Audience, Scopes},
    epoch::is_first,
};
use serde::{Deserialize, Serialize};

/// The consents of an account, those of one client together ([`ClientRank`]).
pub const CONSENTS: &str = "consents";

/// Whose consent it is, for whom, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parties {
    pub account: String,
    pub client_id: String,
    /// The slug of the organization, if one is spoken for.
    pub organization: Option<String>,
}

impl Parties {
    /// Returns the id of the one consent between them.
    pub fn id(&self) -> String {
        let Self { account, client_id, organization } = self;
        // An account is a UUID and a slug has no colon; a client's id may hold anything.
        format!("{account}:{}:{client_id}", organization.as_deref().unwrap_or_default())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Consent {
    #[default]
    Unborn,
    Given {
        parties: Parties,
        #[serde(flatten)]
        terms: Terms,
        at: Timestamp,
        #[serde(default, skip_serializing_if = "is_first")]
        epoch: u64,
        /// How often the client's redirect URIs had changed when it was given (adr/0110).
        #[serde(default, skip_serializing_if = "is_first")]
        redirects: u64,
    },
    Withdrawn {
        at: Timestamp,
        #[serde(default, skip_serializing_if = "is_first")]
        epoch: u64,
    },
}

/// What was consented to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    pub scopes: Scopes,
    /// The recipients that tokens may be for.
    pub audiences: Vec<Audience>,
    /// The claims that the client may learn beside those of the scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
}

/// The terms that a person consents to at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentTerms {
    pub scopes: Scopes,
    pub audience: Audience,
    /// The claims that no scope covers.
    pub claims: Vec<String>,
}

impl Terms {
    /// Tells whether all of this was consented to.
    pub fn cover(&self, given: &ConsentTerms) -> bool {
        let ConsentTerms { scopes, audience, claims, .. } = given;
        scopes.iter().all(|scope| self.scopes.contains(scope))
            && self.audiences.contains(audience)
            && claims.iter().all(|claim| self.claims.contains(claim))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Give {
        parties: Parties,
        given: ConsentTerms,
        /// How often the client's redirect URIs have changed.
        redirects: u64,
    },
    Withdraw {
        parties: Parties,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Given { parties: Parties, terms: Terms, at: Timestamp, redirects: u64 },
    Withdrawn { at: Timestamp },
}

/// Nothing is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {}

impl Consent {
    /// Returns what was consented to.
    pub fn terms(&self) -> Option<&Terms> {
        match self {
            Self::Given { terms, .. } => Some(terms),
            Self::Unborn | Self::Withdrawn { .. } => None,
        }
    }

    /// Returns what was consented to, if the client's redirect URIs have changed so often now as then.
    pub fn terms_for(&self, redirects: u64) -> Option<&Terms> {
        match self {
            Self::Given { terms, redirects: then, .. } if *then == redirects => Some(terms),
            _ => None,
        }
    }

    /// How often it was withdrawn.
    pub fn epoch(&self) -> u64 {
        match self {
            Self::Unborn => 0,
            Self::Given { epoch, .. } | Self::Withdrawn { epoch, .. } => *epoch,
        }
    }

    fn give(
        &self,
        parties: &Parties,
        (more, redirects): (&ConsentTerms, u64),
        at: Timestamp,
    ) -> Decision<Self> {
        let ConsentTerms { scopes, audience, claims } = more;
        let mut terms = match self.terms_for(redirects) {
            Some(held) if held.cover(more) => return Decision::accept(Vec::new(), ()),
            Some(held) => Terms { scopes: held.scopes.with(scopes), ..held.clone() },
            None => Terms { scopes: scopes.clone(), audiences: Vec::new(), claims: Vec::new() },
        };
        if !terms.audiences.contains(audience) {
            terms.audiences.push(audience.clone());
        }
        let new = claims.iter().filter(|claim| !terms.claims.contains(claim)).cloned();
        terms.claims.extend(new.collect::<Vec<_>>());
        let mut record = record("consent.given", parties).with("scope", scopes.to_string());
        if !claims.is_empty() {
            record = record.with("claims", claims.join(" "));
        }
        let given = Event::Given { parties: parties.clone(), terms, at, redirects };
        Decision::accept(vec![given], ()).recording(record)
    }
}

fn record(event: &'static str, parties: &Parties) -> Record {
    let record = Record::new(event)
        .with("account", parties.account.as_str())
        .with("client_id", parties.client_id.as_str());
    match &parties.organization {
        Some(slug) => record.in_organization(slug),
        None => record,
    }
}

impl Machine for Consent {
    const KIND: &'static str = "consent";
    // 2: `epoch`; 3: `redirects`, without which an older binary would take a void one for good
    const REVISION: u32 = 3;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match (command, self) {
            (Command::Give { parties, given, redirects }, _) => {
                self.give(parties, (given, *redirects), now)
            }
            (Command::Withdraw { parties }, _) => {
                Decision::accept(vec![Event::Withdrawn { at: now }], ())
                    .recording(record("consent.withdrawn", parties))
            }
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match event.clone() {
            Event::Given { parties, terms, at, redirects } => {
                Self::Given { parties, terms, at, epoch: self.epoch(), redirects }
            }
            Event::Withdrawn { at } => {
                Self::Withdrawn { at, epoch: self.epoch().saturating_add(1) }
            }
        };
    }

    fn listings(&self) -> Vec<Listing> {
        let Self::Given { parties, at, .. } = self else { return Vec::new() };
        let rank = ClientRank::of(&parties.client_id).used_at(*at);
        vec![Listing::new(CONSENTS, &*parties.account, rank)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn parties() -> Parties {
        let (account, client_id) = ("ana".to_owned(), "app".to_owned());
        Parties { account, client_id, organization: Some("acme".to_owned()) }
    }

    fn given(scope: &str, audience: Audience) -> ConsentTerms {
        ConsentTerms { scopes: Scopes::parse(scope).unwrap(), audience, claims: Vec::new() }
    }

    fn give(consent: &mut Consent, scope: &str, audience: Audience) -> usize {
        take(consent, given(scope, audience))
    }

    fn take(consent: &mut Consent, given: ConsentTerms) -> usize {
        take_for(consent, given, 0)
    }

    fn take_for(consent: &mut Consent, given: ConsentTerms, redirects: u64) -> usize {
        let command = Command::Give { parties: parties(), given, redirects };
        let decision = consent.decide(&command, NOW);
        decision.events.iter().for_each(|event| consent.apply(event));
        decision.events.len()
    }

    #[test]
    fn consent_grows_is_recorded_once_and_can_be_withdrawn() {
        let mut consent = Consent::default();
        let api = || Audience::Resource("api".to_owned());
        assert_eq!(consent.terms(), None);
        assert_eq!(give(&mut consent, "openid", Audience::Issuer), 1);
        assert_eq!(give(&mut consent, "email openid", Audience::Issuer), 1);
        assert_eq!(give(&mut consent, "email", Audience::Issuer), 0, "nothing new");
        assert_eq!(consent.terms().unwrap().scopes.to_string(), "openid email");
        let openid = given("openid", api());
        assert!(!consent.terms().unwrap().cover(&openid), "another recipient");
        assert_eq!(give(&mut consent, "openid", api()), 1);
        assert!(consent.terms().unwrap().cover(&openid));
        let named = ConsentTerms { claims: vec!["name".to_owned()], ..openid };
        assert!(!consent.terms().unwrap().cover(&named), "another claim");
        assert_eq!((take(&mut consent, named.clone()), take(&mut consent, named)), (1, 0));
        assert_eq!(consent.terms().unwrap().claims, ["name"]);
        let text = serde_json::to_string(&consent).unwrap();
        assert_eq!(serde_json::from_str::<Consent>(&text).unwrap(), consent);
        withdraw(&mut consent);
        assert_eq!((consent.terms(), consent.listings().len()), (None, 0));
        assert_eq!(give(&mut consent, "openid", Audience::Issuer), 1, "it begins anew");
        assert_eq!(consent.epoch(), 1, "and what was granted before does not");
        assert_eq!(consent.terms().unwrap().scopes.to_string(), "openid");
    }

    fn withdraw(consent: &mut Consent) {
        let withdrawn = consent.decide(&Command::Withdraw { parties: parties() }, NOW);
        assert_eq!(withdrawn.effects.records[0].event, "consent.withdrawn");
        withdrawn.events.iter().for_each(|event| consent.apply(event));
    }

    #[test]
    fn what_was_granted_without_a_question_is_withdrawn_as_well() {
        let mut consent = Consent::default();
        withdraw(&mut consent);
        withdraw(&mut consent);
        assert_eq!(consent.epoch(), 2);
        let text = serde_json::to_string(&consent).unwrap();
        assert_eq!(serde_json::from_str::<Consent>(&text).unwrap(), consent);
        let older: Consent = serde_json::from_str(r#"{"Withdrawn":{"at":7}}"#).unwrap();
        assert_eq!(older.epoch(), 0);
    }

    #[test]
    fn a_consent_says_nothing_of_redirect_uris_that_came_later() {
        let mut consent = Consent::default();
        give(&mut consent, "openid email", Audience::Issuer);
        assert!(consent.terms_for(0).is_some() && consent.terms_for(1).is_none());
        assert_eq!(take_for(&mut consent, given("openid", Audience::Issuer), 1), 1);
        assert!(consent.terms_for(0).is_none());
        assert_eq!(consent.terms_for(1).unwrap().scopes.to_string(), "openid", "and no more");
        let text = serde_json::to_string(&consent).unwrap();
        assert_eq!(serde_json::from_str::<Consent>(&text).unwrap(), consent);
    }

    #[test]
    fn consents_of_different_parties_have_different_ids() {
        let anywhere = Parties { organization: None, ..parties() };
        let tricky = Parties { client_id: "acme:app".to_owned(), ..anywhere.clone() };
        assert_ne!(parties().id(), anywhere.id());
        assert_ne!(parties().id(), tricky.id());
    }
}
