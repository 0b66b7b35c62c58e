//! What a client asks of a person.

use super::ResponseMode;
use crate::domain::{
    Fingerprint, Timestamp,
    assurance::{Acr, Evidence, Level, Method},
    authority::{Audience, Scopes},
    authorization_details::Details,
    consent::ConsentTerms,
    person::Person,
    pushed_request::Pushed,
    requested_claims::RequestedClaims,
};
use serde::{Deserialize, Serialize};
use std::{ops::Not, time::Duration};

/// An authorization request that passed every check: what is asked for, and where a code goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    #[serde(flatten)]
    pub wanted: RequestedGrant,
    #[serde(flatten)]
    pub reply_to: ReplyTo,
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// SHA-256 of the verifier (RFC 7636 §4.2, S256).
    #[serde(rename = "p")]
    pub challenge: Fingerprint,
    /// The thumbprint of the key by which alone the code is redeemed (`dpop_jkt`, RFC 9449 §10).
    #[serde(rename = "j", default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Fingerprint>,
    /// What the client thinks the person is called here (OIDC Core §3.1.2.1).
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub login_hint: Option<String>,
    /// The languages that the client says the person reads, the best first.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    pub ui_locales: Option<String>,
    /// The pushed request that it was, if it was one: it is good for one code.
    #[serde(rename = "z", default, skip_serializing_if = "Option::is_none")]
    pub pushed: Option<Pushed>,
}

/// What a client would like to be granted; it may ask by a browser, a device or a back channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedGrant {
    #[serde(rename = "c")]
    pub client_id: String,
    #[serde(rename = "x")]
    pub scopes: Scopes,
    #[serde(rename = "a")]
    pub audience: Audience,
    /// The slug of the organization asked for.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    #[serde(rename = "q", default, skip_serializing_if = "Prompt::is_silent")]
    pub prompt: Prompt,
    /// How long ago the person may have proved who they are.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub max_age: Option<u32>,
    /// The account that is meant, if an ID token of ours was shown.
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What the client would like, what it would like most first (`acr_values`, OIDC Core §3.1.2.1).
    #[serde(rename = "v", default, skip_serializing_if = "Vec::is_empty")]
    pub acr_values: Vec<Acr>,
    /// One of them must be reached, or nothing is granted (OIDC Core §5.5.1.1).
    #[serde(rename = "w", default, skip_serializing_if = "Not::not")]
    pub acr_is_essential: bool,
    /// Claims that were asked for one by one.
    #[serde(rename = "k", default, skip_serializing_if = "RequestedClaims::is_empty")]
    pub claims: RequestedClaims,
    /// What is asked for beside the scopes (RFC 9396).
    #[serde(rename = "t", default, skip_serializing_if = "Details::is_empty")]
    pub details: Details,
}

/// Where the answer to a request goes, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyTo {
    /// Proved to be the client's.
    #[serde(rename = "u")]
    pub redirect_uri: String,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(rename = "d", default, skip_serializing_if = "ResponseMode::is_query")]
    pub mode: ResponseMode,
}

/// What the person must, or must not, be asked (OIDC Core §3.1.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the standard")]
pub struct Prompt {
    #[serde(default, skip_serializing_if = "Not::not")]
    pub none: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    pub login: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    pub consent: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    pub select_account: bool,
}

impl Prompt {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_silent(&self) -> bool {
        *self == Self::default()
    }
}

impl RequestedGrant {
    /// Returns what the person must still prove, if one of the wishes must be met: the least of them.
    pub fn unmet(&self, person: &Person, now: Timestamp) -> Option<Acr> {
        let met = |acr: &Acr| acr.is_met_by(&person.evidence, now);
        let essential = self.acr_is_essential && !self.acr_values.iter().any(met);
        self.acr_values.iter().copied().min_by_key(|acr| acr.level()).filter(|_| essential)
    }

    /// A request of this client for scopes, and nothing else.
    #[cfg(test)]
    pub fn plain(client_id: &str, scope: &str, audience: Audience) -> Self {
        Self {
            client_id: client_id.to_owned(),
            scopes: Scopes::parse(scope).unwrap(),
            audience,
            organization: None,
            prompt: Prompt::default(),
            max_age: None,
            hint: None,
            acr_values: Vec::new(),
            acr_is_essential: false,
            claims: RequestedClaims::default(),
            details: Details::default(),
        }
    }

    /// Returns what a person consents to who grants it.
    pub fn to_consent(&self) -> ConsentTerms {
        let claims = self.claims.beyond(&self.scopes);
        let (scopes, audience) = (self.scopes.clone(), self.audience.clone());
        ConsentTerms { scopes, audience, claims }
    }

    /// Tells whether another account is meant.
    pub fn is_about_another_person(&self, person: &Person) -> bool {
        self.hint.as_ref().is_some_and(|account| *account != person.account)
    }

    /// Returns the level that the client would like most.
    pub fn level(&self) -> Level {
        self.acr_values.first().map_or(Level::Aal1, |acr| acr.level())
    }

    /// Returns what the person has proved for the organization that is asked for; where none is, and they have come by
    /// single sign-on alone, for that one: it is the one that they can speak for.
    fn proved_by(&self, person: &Person, now: Timestamp) -> Evidence {
        let evidence = &person.evidence;
        let only = evidence.sign_ons().filter_map(|sign_on| sign_on.organization.as_deref()).last();
        let only = only.filter(|_| evidence.is_only_scoped());
        evidence.at(self.organization.as_deref().or(only), now)
    }

    /// Tells whether the client would like more than the person has proved.
    pub fn wants_more_than(&self, person: &Person, now: Timestamp) -> bool {
        let evidence = self.proved_by(person, now);
        self.acr_values.first().is_some_and(|acr| !acr.is_met_by(&evidence, now))
    }

    /// Returns what a person who can prove themselves by these methods is asked for: the first wish
    /// that is in their reach, unless it is met.
    pub fn step_up(&self, person: &Person, methods: &[Method], now: Timestamp) -> Option<Acr> {
        let evidence = self.proved_by(person, now);
        let met = |acr: Acr| acr.is_met_by(&evidence, now);
        let reached = |acr: &Acr| if met(*acr) { Some(*acr) } else { acr.within(methods) };
        self.acr_values.iter().find_map(reached).filter(|acr| !met(*acr))
    }

    /// Tells whether a person who signed in before must do so again, or another must.
    pub fn wants_fresh_sign_in(&self, person: &Person, now: Timestamp) -> bool {
        self.is_about_another_person(person) || self.wants_proof_again(person, now)
    }

    /// Tells whether what the person has proved is too old, or does not count.
    pub fn wants_proof_again(&self, person: &Person, now: Timestamp) -> bool {
        let too_old = |age: u32| {
            !self.proved_by(person, now).is_proved_within(Duration::from_secs(age.into()), now)
        };
        self.most_age() == Some(0) || self.max_age.is_some_and(too_old) || self.is_elsewhere(person)
    }

    /// Returns how many seconds ago the person may have proved who they are, where that is limited.
    pub fn most_age(&self) -> Option<u32> {
        if self.prompt.login { Some(0) } else { self.max_age }
    }

    /// Tells whether an organization is asked for of which the person may see nothing: they came by the single sign-on of
    /// another one alone.
    fn is_elsewhere(&self, person: &Person) -> bool {
        self.organization.is_some() && !person.evidence.reaches(self.organization.as_deref())
    }
}
