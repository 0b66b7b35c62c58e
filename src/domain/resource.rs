//! An API that access tokens are for: its identifier is their `aud`, its scopes are its own.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | provision | known | the draft has no scopes of the right form |
//! | known | provision | known, what was given replaced | likewise |
//!
//! A scope and an `authorization_details` type have one owner each; the store's unique names see to
//! that across resources.

use super::{
    Decision, Listing, Machine, Name, Provisioned, Redrawn, Timestamp,
    authority::{ADMINISTER, PROVISION, Permission, own_permissions},
    authorization_details::{BadRule, BadSchema, BadText, Detail, Schema, SubsetRules, Texts},
    organization::is_slug,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Not;

/// The space of names in which a scope has one owner.
pub const SCOPE_OWNERS: &str = "scope";
/// The space of names in which a type of `authorization_details` has one owner.
pub const DETAIL_OWNERS: &str = "authorization_details_type";
/// The list of all resources.
pub const RESOURCES: &str = "resources";

/// No resource has a longer identifier.
pub const LONGEST_IDENTIFIER: usize = 512;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Resource {
    #[default]
    Unborn,
    Known(Known),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    pub identifier: String,
    pub name: Option<String>,
    pub scopes: Vec<Permission>,
    pub authorization_details: Vec<DetailType>,
}

impl Known {
    /// Our own API, which is no row: it is there as long as the issuer is (adr/0079).
    pub fn own_api(issuer: &str) -> Self {
        let administer = Permission::parse(ADMINISTER).ok();
        Self {
            identifier: format!("{issuer}/api"),
            name: Some("Porteiro".to_owned()),
            // That one is of the SCIM of each organization.
            scopes: own_permissions()
                .filter(|one| one.as_str() != PROVISION)
                .chain(administer)
                .collect(),
            authorization_details: Vec::new(),
        }
    }

    /// SCIM of an organization, which is no row either (adr/0133).
    pub fn scim(issuer: &str, slug: &str) -> Self {
        Self {
            identifier: scim_identifier(issuer, slug),
            name: Some("SCIM".to_owned()),
            scopes: Permission::parse(PROVISION).into_iter().collect(),
            authorization_details: Vec::new(),
        }
    }
}

/// The path under the issuer of the SCIM of organizations, before their slug.
const SCIM: &str = "/scim/v2/";

/// Returns the address under which the SCIM of an organization lies; tokens for it have it as their audience.
pub fn scim_identifier(issuer: &str, slug: &str) -> String {
    format!("{issuer}{SCIM}{slug}")
}

/// Returns the organization whose SCIM an identifier names.
pub fn scim_organization<'a>(issuer: &str, identifier: &'a str) -> Option<&'a str> {
    let slug = identifier.strip_prefix(issuer)?.strip_prefix(SCIM)?;
    is_slug(slug).then_some(slug)
}

/// A type of RFC 9396 that the API understands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailType {
    #[serde(rename = "type")]
    pub name: String,
    /// JSON Schema.
    pub schema: Value,
    /// What a person must hold to grant it.
    pub permission: Option<Permission>,
    /// It cannot be taken back: to grant it a person proves more.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub irreversible: bool,
    /// How one contains another.
    #[serde(default, skip_serializing_if = "SubsetRules::is_empty")]
    pub subset: SubsetRules,
    /// How it reads.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    pub text: Texts,
}

impl DetailType {
    /// Tells whether a detail is one of this type.
    pub fn admits(&self, detail: &Detail) -> bool {
        // A schema that an older binary took may be one that is not understood: it admits nothing.
        self.name == detail.kind() && Schema::compile(&self.schema).is_ok_and(|s| detail.fits(&s))
    }

    fn check(&self) -> Result<(), Refusal> {
        let name = || self.name.clone();
        if let Some(permission) = self.permission.clone().filter(Permission::is_wildcard) {
            return Err(Refusal::DetailWildcard { name: name(), permission });
        }
        Schema::compile(&self.schema).map_err(|why| Refusal::DetailSchema { name: name(), why })?;
        self.subset.check().map_err(|why| Refusal::DetailSubset { name: name(), why })?;
        self.text.check().map_err(|why| Refusal::DetailText { name: name(), why })
    }
}

/// What a provisioning file says; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    pub identifier: String,
    pub name: Option<String>,
    pub scopes: Option<Vec<Permission>>,
    pub authorization_details: Option<Vec<DetailType>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Provision(Draft),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Provisioned(Known),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "a resource is identified by https://… or http://… with a host in lower case and neither \
         credentials nor fragment, or by urn:…, at most 512 characters of ASCII"
    )]
    Identifier,
    #[error("`{0}` is a wildcard, and no scope")]
    Wildcard(Permission),
    #[error("`{0}` begins with a name that is Porteiro's own")]
    Reserved(Permission),
    #[error("the type `{name}` needs one permission, and `{permission}` is a wildcard")]
    DetailWildcard { name: String, permission: Permission },
    #[error("the schema of the type `{name}` cannot be used: {why}")]
    DetailSchema { name: String, why: BadSchema },
    #[error("the subset of the type `{name}` cannot be used: {why}")]
    DetailSubset { name: String, why: BadRule },
    #[error("the text of the type `{name}` cannot be used: {why}")]
    DetailText { name: String, why: BadText },
}

/// RFC 8707 §2: an absolute URI without a fragment. Audiences are compared as strings, so that of
/// one host there is one spelling.
fn is_identifier(text: &str) -> bool {
    // RFC 3986 §2 has no others; a parser that mends them would read another URI than we compare.
    let clean = |byte: u8| byte.is_ascii_graphic() && !b"#\"<>\\^`{|}".contains(&byte);
    if text.len() > LONGEST_IDENTIFIER || !text.bytes().all(clean) {
        return false;
    }
    if let Some(name) = text.strip_prefix("urn:") {
        // RFC 8141 §2.
        return matches!(name.split_once(':'), Some((space, rest)) if !space.is_empty() && !rest.is_empty());
    }
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest else { return false };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let Ok(url) = url::Url::parse(text) else { return false };
    let host = url.host_str().unwrap_or_default();
    let port = authority.strip_prefix(host);
    !host.is_empty() && port.is_some_and(|port| port.is_empty() || port.starts_with(':'))
}

impl Resource {
    pub fn known(&self) -> Option<&Known> {
        match self {
            Self::Unborn => None,
            Self::Known(known) => Some(known),
        }
    }

    fn redraw(&self, draft: &Draft) -> Result<Redrawn<Known>, Refusal> {
        draft.check(self.known())?;
        let existed = self.known().is_some();
        let held = self.known().cloned().unwrap_or_else(|| Known {
            identifier: draft.identifier.clone(),
            name: None,
            scopes: Vec::new(),
            authorization_details: Vec::new(),
        });
        let next = Known {
            identifier: held.identifier.clone(),
            name: draft.name.clone().or(held.name.clone()),
            scopes: draft.scopes.clone().unwrap_or(held.scopes.clone()),
            authorization_details: draft
                .authorization_details
                .clone()
                .unwrap_or(held.authorization_details.clone()),
        };
        let differs = [
            ("name", next.name != held.name),
            ("scopes", next.scopes != held.scopes),
            ("authorization_details", next.authorization_details != held.authorization_details),
        ];
        let outcome = Provisioned::of(existed, &differs);
        let record = outcome.record("resource.created", "resource.changed");
        Ok(Redrawn { next, outcome, records: record.into_iter().collect() })
    }
}

impl Draft {
    fn check(&self, held: Option<&Known>) -> Result<(), Refusal> {
        // What it had before the name was reserved it keeps (adr/0132).
        let kept = |scope| held.is_some_and(|held| held.scopes.contains(scope));
        if !is_identifier(&self.identifier) {
            return Err(Refusal::Identifier);
        }
        for scope in self.scopes.iter().flatten() {
            if scope.is_wildcard() {
                return Err(Refusal::Wildcard(scope.clone()));
            }
            if scope.is_reserved() && !kept(scope) {
                return Err(Refusal::Reserved(scope.clone()));
            }
        }
        self.authorization_details.iter().flatten().try_for_each(DetailType::check)
    }
}

impl Machine for Resource {
    const KIND: &'static str = "resource";
    type Command = Command;
    type Event = Event;
    type Reply = Provisioned;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, _now: Timestamp) -> Decision<Self> {
        let Command::Provision(draft) = command;
        match self.redraw(draft) {
            Ok(redrawn) => redrawn.decide(Event::Provisioned, |outcome| outcome),
            Err(why) => Decision::refuse(why),
        }
    }

    fn apply(&mut self, event: &Event) {
        let Event::Provisioned(known) = event;
        *self = Self::Known(known.clone());
    }

    fn names(&self) -> Vec<Name> {
        let Some(known) = self.known() else { return Vec::new() };
        let scopes = known.scopes.iter().map(|scope| Name::new(SCOPE_OWNERS, scope.as_str()));
        let types = known.authorization_details.iter();
        scopes.chain(types.map(|detail| Name::new(DETAIL_OWNERS, &*detail.name))).collect()
    }

    fn listings(&self) -> Vec<Listing> {
        let listing = |known: &Known| Listing::new(RESOURCES, "", &*known.identifier);
        self.known().map(listing).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn draft(scopes: &[&str]) -> Draft {
        let parse = |text: &&str| Permission::parse(text).unwrap();
        Draft {
            identifier: "https://api.example.com/invoices".to_owned(),
            name: Some("Invoices".to_owned()),
            scopes: Some(scopes.iter().map(parse).collect()),
            authorization_details: None,
        }
    }

    fn provision(resource: &mut Resource, draft: Draft) -> Result<Provisioned, Refusal> {
        let decision = resource.decide(&Command::Provision(draft), NOW);
        for event in &decision.events {
            resource.apply(event);
        }
        assert_eq!(decision.events.len(), decision.effects.records.len(), "each is recorded");
        decision.outcome
    }

    #[test]
    fn what_is_given_twice_changes_nothing_the_second_time() {
        let mut resource = Resource::default();
        let first = draft(&["invoices:read", "invoices:write"]);
        assert_eq!(provision(&mut resource, first.clone()), Ok(Provisioned::Created));
        assert_eq!(provision(&mut resource, first), Ok(Provisioned::Unchanged));
        assert_eq!(resource.names().len(), 2);
    }

    #[test]
    fn a_list_given_replaces_the_list_held_and_the_rest_stays() {
        let mut resource = Resource::default();
        provision(&mut resource, draft(&["invoices:read", "invoices:write"])).unwrap();
        let fewer = Draft { name: None, ..draft(&["invoices:read"]) };
        let changed = provision(&mut resource, fewer);
        assert_eq!(changed, Ok(Provisioned::Changed(vec!["scopes"])));
        let known = resource.known().unwrap();
        assert_eq!((known.scopes.len(), known.name.as_deref()), (1, Some("Invoices")));
    }

    #[test]
    fn wildcards_and_our_own_names_are_no_scopes_of_an_api() {
        for bad in [
            "invoices:*",
            "accounts:read",
            "scim:provision",
            "organizations:administer",
            "domains:x",
            "Connections:read",
            "installation:read",
        ] {
            assert!(provision(&mut Resource::default(), draft(&[bad])).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_an_api_had_before_the_name_was_reserved_it_keeps_and_gets_no_more_of_it() {
        let mut resource = Resource::default();
        provision(&mut resource, draft(&["invoices:read"])).unwrap();
        let Resource::Known(known) = &mut resource else { unreachable!("it is known") };
        known.scopes.push(Permission::parse("domains:list").unwrap());
        let same = draft(&["invoices:read", "domains:list"]);
        assert_eq!(provision(&mut resource, same), Ok(Provisioned::Unchanged));
        let more = draft(&["domains:list", "domains:read"]);
        assert!(matches!(provision(&mut resource, more), Err(Refusal::Reserved(_))));
    }

    #[test]
    fn the_scim_of_an_organization_is_known_by_its_identifier() {
        let issuer = "https://id.example.com";
        let acme = Known::scim(issuer, "acme");
        assert_eq!(scim_organization(issuer, &acme.identifier), Some("acme"));
        for other in ["", "/", "acme/", "Acme", "acme/Users", "a b", "acme?x", "../acme", "acme#"] {
            let identifier = format!("{issuer}/scim/v2/{other}");
            assert_eq!(scim_organization(issuer, &identifier), None, "{other}");
        }
        for other in ["https://id.example.com.evil.test/scim/v2/acme", "/scim/v2/acme"] {
            assert_eq!(scim_organization(issuer, other), None, "{other}");
        }
        assert!(!Known::own_api(issuer).scopes.iter().any(|one| one.as_str() == PROVISION));
    }

    #[test]
    fn an_identifier_is_an_absolute_uri_without_a_fragment() {
        for bad in [
            "",
            "invoices",
            "/invoices",
            "https://api.example.com/#x",
            "https://a b/",
            "data:x",
            "ftp://api.example.com",
            "HTTPS://api.example.com",
            "https://API.example.com",
            "https://user@api.example.com",
            "https://user:x@api.example.com/",
            "https:///invoices",
            "https://api.example.com/\u{fc}",
            "https://\u{fc}.example.com/",
            "https://a\\b/",
            "https://0x7f.1/",
            "https://",
            "urn:",
            "urn:example",
            "urn:example:",
            "mailto:a@b.test",
        ] {
            let draft = Draft { identifier: bad.to_owned(), ..draft(&[]) };
            assert_eq!(
                provision(&mut Resource::default(), draft),
                Err(Refusal::Identifier),
                "{bad}"
            );
        }
        for good in [
            "urn:example:invoices",
            "https://api.example.com",
            "https://api.example.com:8443/a?b=c",
            "http://localhost:8080/invoices",
            "https://[::1]/invoices",
        ] {
            let draft = Draft { identifier: good.to_owned(), ..draft(&[]) };
            assert!(provision(&mut Resource::default(), draft).is_ok(), "{good}");
        }
    }

    #[test]
    fn a_type_of_details_needs_one_permission_and_no_wildcard() {
        let detail = |permission: &str| DetailType {
            name: "payment".to_owned(),
            schema: Value::Bool(true),
            permission: Some(Permission::parse(permission).unwrap()),
            irreversible: false,
            subset: SubsetRules::default(),
            text: Texts::default(),
        };
        let draft = |permission| Draft {
            authorization_details: Some(vec![detail(permission)]),
            ..draft(&["invoices:approve"])
        };
        let refused = provision(&mut Resource::default(), draft("invoices:*"));
        assert!(matches!(refused, Err(Refusal::DetailWildcard { .. })), "{refused:?}");
        assert!(provision(&mut Resource::default(), draft("invoices:approve")).is_ok());
    }
}
