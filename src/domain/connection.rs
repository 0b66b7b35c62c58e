//! A connection: another provider that says who people are, for an organization or for accounts outside any.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | provision | known | name, issuer or client is missing or malformed; the issuer serves many companies and none is named |
//! | known | provision | known, what was given replaced; another client begins the next epoch | issuer, kind or organization would change |
//! | known | remove | **removed**; its identities lead nowhere, and are unlinked one after the other | |
//! | removed | purged | **removed**, with no identity left; it is forgotten | |
//!
//! Its issuer never changes, so that an identity is the connection and a subject (adr/0135). That an organization has the
//! roles that are mapped to is looked at when a person signs in: a role may go at any time.

use super::{
    Decision, Fingerprint, Listing, Machine, Name, Provisioned, Record, Timestamp,
    account::SealedSecret,
    epoch::is_first,
    upstream::{
        CompanyFault, ConnectionScope, Issuer, IssuerFault, Kind, MappingFault, RoleMapping,
        check_mappings, company,
    },
};
use serde::{Deserialize, Serialize};
use std::{ops::Not, time::Duration};

/// The connections of an organization, or of none, by name.
pub const CONNECTIONS: &str = "connections";

/// The connections that were removed and have identities left.
pub const REMOVED_CONNECTIONS: &str = "removed_connections";

/// The space of names of connections within their organization.
pub const CONNECTION_NAMES: &str = "connection_names";

/// The space of issuers within their organization.
pub const CONNECTION_ISSUERS: &str = "connection_issuers";

/// No organization has more.
pub const MOST_CONNECTIONS: u32 = 50;

/// A secret has so many bytes at most: a key in a file is one, too.
pub const LONGEST_SECRET: usize = 4096;

/// A UUID has so many characters.
const LONGEST_ID: usize = 36;

const LONGEST_NAME: usize = 100;
const LONGEST_TEXT: usize = 512;

/// For so long a removed connection is kept: no token that names it lives longer.
const KEPT_AFTER_REMOVAL: Duration = Duration::from_hours(31 * 24);

/// Tells whether this can be the id of a connection. What cannot is not looked up: a database could not even be asked about
/// some of it.
pub fn is_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(allowed)
}

/// Returns the name of a connection, or of its issuer, within an organization.
pub fn within(organization: Option<&str>, text: &str) -> String {
    format!("{} {text}", organization.unwrap_or_default())
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Connection {
    #[default]
    Unborn,
    Known(Box<Known>),
    Removed {
        forget_at: Timestamp,
        /// None of its identities is left.
        #[serde(default)]
        is_purged: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// A UUID in lower case.
    pub id: String,
    /// The slug; `None` for one of accounts outside organizations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    pub name: String,
    pub kind: Kind,
    pub issuer: Issuer,
    pub client_id: String,
    /// Sealed; without one the client proves itself by our key set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<ClientSecret>,
    /// Members come to their organization in no other way.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub required: bool,
    /// What the provider says of two factors counts.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub believe_acr: bool,
    /// Of an account that SCIM made, the `externalId` it came with is the subject here.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub scim_subject: bool,
    /// Which company a person must be of, where the issuer serves many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleMapping>,
    pub created_at: Timestamp,
    /// How often it was given another client; what rests on it ends with that.
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
}

/// What the provider knows our client by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientSecret {
    pub sealed: SealedSecret,
    /// Of the secret under a key: by it the same secret is known when it is given again.
    pub mark: Fingerprint,
}

impl PartialEq for ClientSecret {
    fn eq(&self, other: &Self) -> bool {
        self.mark == other.mark
    }
}

impl Eq for ClientSecret {}

/// What is to be; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// What the connection will be known by, if it is created.
    pub id: String,
    pub organization: Option<String>,
    pub name: Option<String>,
    pub kind: Option<Kind>,
    pub issuer: Option<String>,
    pub client_id: Option<String>,
    /// `Some(None)`: it has none any more.
    pub secret: Option<Option<ClientSecret>>,
    pub required: Option<bool>,
    pub believe_acr: Option<bool>,
    pub scim_subject: Option<bool>,
    /// `Some(None)`: no company is asked for.
    pub company: Option<Option<String>>,
    pub roles: Option<Vec<RoleMapping>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Provision(Box<Draft>),
    Remove,
    /// No identity of a removed connection is left.
    Purged,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Provisioned(Box<Known>),
    Removed { at: Timestamp },
    Purged,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{0} is missing")]
    Missing(&'static str),
    #[error("{0} is empty, too long, or holds what cannot be shown")]
    Malformed(&'static str),
    #[error("{0} never changes: make another connection")]
    Immutable(&'static str),
    #[error("the issuer {0}")]
    Issuer(IssuerFault),
    #[error("{0}")]
    Company(CompanyFault),
    #[error("a mapping {0}")]
    Mapping(MappingFault),
    #[error("this kind is for accounts outside organizations")]
    KindOutside,
    #[error("{0} is for connections of an organization")]
    OnlyInOrganization(&'static str),
    #[error("there is no such connection")]
    Unknown,
}

impl Refusal {
    /// Names the field that it is about.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Missing(field)
            | Self::Malformed(field)
            | Self::Immutable(field)
            | Self::OnlyInOrganization(field) => field,
            Self::Issuer(_) => "issuer",
            Self::Company(_) => "company",
            Self::Mapping(_) => "roles",
            Self::KindOutside => "kind",
            Self::Unknown => "id",
        }
    }
}

impl Connection {
    pub fn known(&self) -> Option<&Known> {
        match self {
            Self::Known(known) => Some(known),
            Self::Unborn | Self::Removed { .. } => None,
        }
    }

    fn provision(&self, draft: &Draft, now: Timestamp) -> Decision<Self> {
        let held = match self {
            Self::Unborn => None,
            Self::Known(known) => Some(&**known),
            Self::Removed { .. } => return Decision::refuse(Refusal::Unknown),
        };
        let next = match draft.applied_to(held, now).and_then(|next| next.checked(held)) {
            Ok(next) => next,
            Err(why) => return Decision::refuse(why),
        };
        let differs = held.map(|held| next.differs_from(held)).unwrap_or_default();
        let outcome = Provisioned::of(held.is_some(), &differs);
        if outcome == Provisioned::Unchanged {
            return Decision::accept(Vec::new(), outcome);
        }
        let record = outcome.record("connection.created", "connection.changed");
        let record = record.map(|record| next.described(record));
        let decision = Decision::accept(vec![Event::Provisioned(Box::new(next))], outcome);
        record.into_iter().fold(decision, Decision::recording)
    }
}

impl Draft {
    /// Tells whether it changes what a connection believes, and from whom: what wants a person (contract §7).
    pub fn changes_belief(&self, held: &Known) -> bool {
        fn differs<T: PartialEq>(given: Option<&T>, held: &T) -> bool {
            given.is_some_and(|given| given != held)
        }
        differs(self.client_id.as_ref(), &held.client_id)
            || differs(self.secret.as_ref(), &held.secret)
            || differs(self.believe_acr.as_ref(), &held.believe_acr)
            || differs(self.scim_subject.as_ref(), &held.scim_subject)
            || differs(self.company.as_ref(), &held.company)
            || differs(self.roles.as_ref(), &held.roles)
    }

    fn applied_to(&self, held: Option<&Known>, now: Timestamp) -> Result<Known, Refusal> {
        let text = |given: &Option<String>, held: Option<&String>, field: &'static str| {
            let text = given.as_ref().or(held).ok_or(Refusal::Missing(field))?;
            is_text(text, LONGEST_TEXT).then(|| text.clone()).ok_or(Refusal::Malformed(field))
        };
        let flag = |given: Option<bool>, held: Option<bool>| given.or(held).unwrap_or_default();
        let client_id = text(&self.client_id, held.map(|held| &held.client_id), "client_id")?;
        let secret = match &self.secret {
            Some(secret) => secret.clone(),
            None => held.and_then(|held| held.secret.clone()),
        };
        let has_other_client =
            held.is_some_and(|held| held.client_id != client_id || held.secret != secret);
        Ok(Known {
            id: held.map_or_else(|| self.id.clone(), |held| held.id.clone()),
            organization: self.organization.clone(),
            name: text(&self.name, held.map(|held| &held.name), "name")?,
            kind: self.kind.or(held.map(|held| held.kind)).ok_or(Refusal::Missing("kind"))?,
            issuer: match (&self.issuer, held) {
                (Some(issuer), _) => Issuer::parse(issuer).map_err(Refusal::Issuer)?,
                (None, Some(held)) => held.issuer.clone(),
                (None, None) => return Err(Refusal::Missing("issuer")),
            },
            client_id,
            secret,
            required: flag(self.required, held.map(|held| held.required)),
            believe_acr: flag(self.believe_acr, held.map(|held| held.believe_acr)),
            scim_subject: flag(self.scim_subject, held.map(|held| held.scim_subject)),
            company: match &self.company {
                Some(company) => company.clone(),
                None => held.and_then(|held| held.company.clone()),
            },
            roles: match &self.roles {
                Some(roles) => roles.clone(),
                None => held.map(|held| held.roles.clone()).unwrap_or_default(),
            },
            created_at: held.map_or(now, |held| held.created_at),
            epoch: held.map_or(0, |held| held.epoch).saturating_add(has_other_client.into()),
        })
    }
}

impl Known {
    /// Judges whether it names a company where its issuer serves many.
    pub fn check_company(&self) -> Result<(), CompanyFault> {
        let scope = match self.organization {
            Some(_) => ConnectionScope::Organization,
            None => ConnectionScope::Installation,
        };
        company::check_issuer(&self.issuer, self.company.as_deref(), scope)
    }

    fn checked(self, held: Option<&Known>) -> Result<Self, Refusal> {
        if let Some(held) = held {
            let same = [
                ("issuer", self.issuer == held.issuer),
                ("kind", self.kind == held.kind),
                ("organization", self.organization == held.organization),
            ];
            if let Some((field, _)) = same.into_iter().find(|(_, same)| !same) {
                return Err(Refusal::Immutable(field));
            }
        }
        if self.name.chars().count() > LONGEST_NAME {
            return Err(Refusal::Malformed("name"));
        }
        self.check_company().map_err(Refusal::Company)?;
        check_mappings(&self.roles).map_err(Refusal::Mapping)?;
        match self.organization {
            Some(_) if self.kind == Kind::GitHub => Err(Refusal::KindOutside),
            Some(_) => Ok(self),
            None => {
                let only = [
                    ("required", self.required),
                    ("believe_acr", self.believe_acr),
                    ("scim_subject", self.scim_subject),
                    ("roles", !self.roles.is_empty()),
                ];
                match only.into_iter().find(|(_, given)| *given) {
                    Some((field, _)) => Err(Refusal::OnlyInOrganization(field)),
                    None => Ok(self),
                }
            }
        }
    }

    fn differs_from(&self, held: &Known) -> Vec<(&'static str, bool)> {
        vec![
            ("name", self.name != held.name),
            ("client_id", self.client_id != held.client_id),
            ("client_secret", self.secret != held.secret),
            ("required", self.required != held.required),
            ("believe_acr", self.believe_acr != held.believe_acr),
            ("scim_subject", self.scim_subject != held.scim_subject),
            ("company", self.company != held.company),
            ("roles", self.roles != held.roles),
        ]
    }

    fn described(&self, record: Record) -> Record {
        match &self.organization {
            Some(slug) => record.in_organization(&**slug),
            None => record,
        }
    }
}

/// Tells whether a text has something in it, is not too long, and can be shown.
fn is_text(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && text.len() <= most && !text.chars().any(super::is_hidden)
}

impl Machine for Connection {
    const KIND: &'static str = "connection";
    type Command = Command;
    type Event = Event;
    type Reply = Provisioned;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match (command, self) {
            (Command::Provision(draft), _) => self.provision(draft, now),
            (Command::Remove, Self::Known(known)) => {
                let removed = Event::Removed { at: now };
                let record = known.described(Record::new("connection.removed"));
                Decision::accept(vec![removed], Provisioned::Changed(vec!["removed"]))
                    .recording(record)
            }
            (Command::Purged, Self::Removed { .. }) => {
                Decision::accept(vec![Event::Purged], Provisioned::Changed(vec!["identities"]))
            }
            (Command::Remove | Command::Purged, _) => Decision::refuse(Refusal::Unknown),
        }
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Provisioned(known) => *self = Self::Known(known.clone()),
            Event::Removed { at } => {
                let forget_at = *at + KEPT_AFTER_REMOVAL;
                *self = Self::Removed { forget_at, is_purged: false };
            }
            Event::Purged => {
                if let Self::Removed { is_purged, .. } = self {
                    *is_purged = true;
                }
            }
        }
    }

    fn live_until(&self) -> Timestamp {
        match self {
            Self::Known(_) => Timestamp::FOREVER,
            Self::Unborn | Self::Removed { .. } => Timestamp::NEVER,
        }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            // What is left of its identities is found by it.
            Self::Removed { forget_at, is_purged: true } => Some(*forget_at),
            Self::Removed { .. } | Self::Unborn | Self::Known(_) => None,
        }
    }

    fn names(&self) -> Vec<Name> {
        let Some(known) = self.known() else { return Vec::new() };
        let slug = known.organization.as_deref();
        vec![
            Name::new(CONNECTION_NAMES, within(slug, &known.name)),
            Name::new(CONNECTION_ISSUERS, within(slug, known.issuer.as_str())),
        ]
    }

    fn listings(&self) -> Vec<Listing> {
        match self {
            Self::Known(known) => {
                let owner = known.organization.clone().unwrap_or_default();
                vec![Listing::new(CONNECTIONS, owner, &*known.name)]
            }
            Self::Removed { forget_at, is_purged: false } => {
                let rank = format!("{:015}", forget_at.millis());
                vec![Listing::new(REMOVED_CONNECTIONS, "", rank)]
            }
            Self::Removed { .. } | Self::Unborn => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
