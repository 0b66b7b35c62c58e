//! A grant that one party holds for another: who acts, and what that rests on (RFC 8693, adr/0088).
//!
//! A token that is exchanged is the end of a chain: a root (an access token or an API key), the clients
//! through whose hands it went, and the client that holds it now. The grant names all of them, so that
//! one query tells whether every link still stands.

use super::{
    Timestamp,
    assurance::{Level, Method, SingleSignOn},
    authority::{Audience, Scopes},
    authorization_details::Details,
    grant::{Grant, MembershipRef},
    requested_claims::RequestedClaims,
};
use serde::{Deserialize, Serialize};
use std::iter;

/// As many parties act one after another at most (contract §5).
pub const DEEPEST: usize = 8;

/// Who acts, and for whom that party acted before (RFC 8693 §4.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// A `client_id`; of an impersonation the id of the administrator's account.
    pub sub: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<Box<Act>>,
}

impl Act {
    /// Lists those who act, the present one first.
    pub fn parties(&self) -> impl Iterator<Item = &str> {
        iter::successors(Some(self), |one| one.act.as_deref()).map(|one| one.sub.as_str())
    }
}

/// Who alone may act with a token (RFC 8693 §4.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MayAct {
    pub sub: String,
}

/// Where a chain begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    /// An access token, by its `jti`; the chain ends when it is revoked.
    Token(String),
    /// An API key by its id, and the keys that it was made with.
    ApiKey { id: String, parents: Vec<String> },
}

/// What a grant says that is held for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    pub root: Root,
    /// The clients that held the authority before, the first of them first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<String>,
    pub act: Act,
    /// None of its tokens is good for longer than the one it was exchanged for.
    pub until: Timestamp,
    /// What tokens say as `sub` where no person is behind it: a `client_id`, or the id of a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The administrator who acts as the person, of an impersonation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub administrator: Option<Administrator>,
}

/// An administrator who acts as another member of their organization (adr/0089).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Administrator {
    /// The id of the account.
    pub account: String,
    /// The id of the membership.
    pub membership: String,
    /// Of both and of the organization; it ends with it.
    pub epoch: u64,
}

/// A token or a key of another party that a client presents; it was good a moment ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresentedAuthority {
    pub root: Root,
    /// The clients that hold it and held what it was exchanged for, the first of them first.
    pub through: Vec<String>,
    pub act: Option<Act>,
    /// An administrator holds it who acts as the person (adr/0089).
    pub impersonation: bool,
    pub may_act: Option<MayAct>,
    pub until: Timestamp,
    pub subject: Subject,
    /// Its family and those above it.
    pub families: Vec<String>,
    /// The organization it speaks for.
    pub membership: Option<MembershipRef>,
    pub audience: Audience,
    pub scopes: Scopes,
    pub details: Details,
}

/// Whom a token or a key speaks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Person(Box<Person>),
    Other {
        /// A client by its `client_id`, or the operator by the id of a key.
        name: String,
        /// Of the clients that it rests on.
        epoch: u64,
    },
}

/// The person behind a token or a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub account: String,
    /// Of the account and of the consents that it rests on.
    pub epoch: u64,
    /// The session that it ends with.
    pub session: Option<String>,
    pub claims: RequestedClaims,
    /// What they had proved, and when; nothing is known of that behind a key.
    pub proved: Option<PersonProof>,
    /// The single sign-on by which they came to the organization.
    pub sign_on: Option<Box<SingleSignOn>>,
}

/// A person's proof: what they had proved, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonProof {
    pub at: Timestamp,
    pub level: Level,
    pub methods: Vec<Method>,
}

/// A client that asks to act.
#[derive(Clone, Copy, Debug)]
pub struct Agent<'a> {
    pub client_id: &'a str,
    /// The one organization it speaks for by itself, if it does.
    pub organization: Option<&'a str>,
    /// Of it, and of the consent between it and the person.
    pub epoch: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the token names another party that may act")]
    NotTheParty,
    #[error("too many parties act one after another already")]
    TooDeep,
    #[error("the client speaks for another organization")]
    OtherOrganization,
    #[error("what is held by `organizations:administer` is not passed on")]
    Administration,
    #[error("what an administrator holds as another member is not passed on")]
    Impersonation,
    #[error("it has expired")]
    Expired,
}

impl PresentedAuthority {
    /// Returns the whole of it as a grant of the client that asks; what is asked of it is judged as for
    /// any grant.
    pub fn delegated_to(self, agent: Agent<'_>, now: Timestamp) -> Result<Grant, Refusal> {
        let Self { root, through, act, may_act, until, subject, families, membership, .. } = self;
        if may_act.is_some_and(|one| one.sub != agent.client_id) {
            return Err(Refusal::NotTheParty);
        }
        // The administrator's role and the switch would not be asked for below it (adr/0112).
        if self.impersonation {
            return Err(Refusal::Impersonation);
        }
        if act.as_ref().is_some_and(|act| act.parties().count() >= DEEPEST) {
            return Err(Refusal::TooDeep);
        }
        let organization = membership.as_ref().map(|one| one.organization.as_str());
        if agent.organization.is_some_and(|own| Some(own) != organization) {
            return Err(Refusal::OtherOrganization);
        }
        // A person without a membership speaks for it by that permission alone.
        let by_person = matches!(subject, Subject::Person(_));
        if by_person && membership.as_ref().is_some_and(|one| one.id.is_none()) {
            return Err(Refusal::Administration);
        }
        if until <= now {
            return Err(Refusal::Expired);
        }
        let act = Act { sub: agent.client_id.to_owned(), act: act.map(Box::new) };
        let mut delegation =
            Delegation { root, through, act, until, subject: None, administrator: None };
        let mut grant = Grant {
            client_id: agent.client_id.to_owned(),
            account: None,
            epoch: 0,
            session: None,
            parents: families,
            membership,
            audience: self.audience,
            scopes: self.scopes,
            claims: RequestedClaims::default(),
            details: self.details,
            authenticated_at: now,
            level: Level::Aal1,
            methods: Vec::new(),
            sign_on: None,
            delegation: None,
        };
        match subject {
            Subject::Other { name, epoch } => {
                grant.epoch = epoch.saturating_add(agent.epoch);
                delegation.subject = Some(name);
            }
            Subject::Person(person) => {
                grant.epoch = person.epoch.saturating_add(agent.epoch);
                grant.account = Some(person.account);
                grant.session = person.session;
                grant.claims = person.claims;
                grant.sign_on = person.sign_on;
                if let Some(proved) = person.proved {
                    grant.authenticated_at = proved.at;
                    grant.level = proved.level;
                    grant.methods = proved.methods;
                }
            }
        }
        grant.delegation = Some(Box::new(delegation));
        Ok(grant)
    }
}

#[cfg(test)]
mod tests;
