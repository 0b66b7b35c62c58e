//! What an access token says (RFC 9068 §2.2).

use crate::domain::{
    Timestamp,
    assurance::Level,
    authority::GrantedAuthority,
    authorization_details::Details,
    delegation::{Act, MayAct},
    epoch::is_first,
    grant::Grant,
    possession::Confirmation,
};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, time::Duration};

/// The claims, as they are signed and as they are read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims<'a> {
    pub iss: Cow<'a, str>,
    pub sub: Cow<'a, str>,
    /// One recipient, always: a JSON string.
    pub aud: Cow<'a, str>,
    pub exp: i64,
    pub iat: i64,
    pub jti: String,
    pub client_id: Cow<'a, str>,
    /// Always there, perhaps empty.
    #[serde(default)]
    pub scope: String,
    /// The slug of the one organization it speaks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<Cow<'a, str>>,
    /// Role names there, joined by spaces; only beside a scope of an API (adr/0047).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The id of the membership in which the person speaks for it; only beside a scope of an API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub membership: Option<Cow<'a, str>>,
    /// The epoch of that organization and membership, of the account and of the consent in which it was
    /// granted (adr/0038, adr/0081).
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    /// The session it ends with, unless it outlives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<Cow<'a, str>>,
    /// The person came by single sign-on: its family says what that rests on (adr/0135).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sso: bool,
    /// How sure we were of the person (RFC 9068 §2.2.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acr: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<i64>,
    /// The claims that userinfo tells beside those of the scopes, joined by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub userinfo_claims: Option<String>,
    /// What was granted beside the scopes (RFC 9396 §9.1).
    #[serde(default, skip_serializing_if = "Details::is_empty")]
    pub authorization_details: Details,
    /// Who acts, where the token is held for another (RFC 8693 §4.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<Act>,
    /// Who alone may act with it (RFC 8693 §4.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_act: Option<MayAct>,
    /// The key without which it is worthless (RFC 7800 §3.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnf: Option<Confirmation>,
}

/// What a token is made of; the authority in it has passed [`crate::domain::authority::narrow()`].
pub struct Mint<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    /// How the client knows the person, or the client itself where there is none.
    pub subject: &'a str,
    pub granted: &'a GrantedAuthority,
    /// The roles held in the organization of the grant.
    pub roles: &'a [String],
    /// Of everything that the grant rests on.
    pub epoch: u64,
    /// Who alone may act with the tokens of the client, if it says so.
    pub may_act: Option<&'a str>,
    /// Drawn for this token.
    pub id: String,
    /// The grant of a person that it is issued under, and the family of that grant; without one the
    /// client speaks in its own name.
    pub under: Option<(&'a Grant, &'a str)>,
    pub bound: Option<Confirmation>,
    pub now: Timestamp,
    pub lifetime: Duration,
}

impl<'a> From<Mint<'a>> for Claims<'a> {
    fn from(mint: Mint<'a>) -> Self {
        let iat = mint.now.seconds();
        let lifetime = i64::try_from(mint.lifetime.as_secs()).unwrap_or(i64::MAX);
        let org = mint.granted.organization().map(Cow::Borrowed);
        let grant = mint.under.map(|(grant, _)| grant);
        let delegation = grant.and_then(|grant| grant.delegation.as_deref());
        let exp = iat.saturating_add(lifetime);
        let proved = grant.filter(|grant| grant.rests_on_proof());
        // An API that looks at roles alone must not be open to a token that was granted none of its
        // scopes.
        let has_api_scope = mint.granted.scopes().of_apis().next().is_some();
        let roles = mint.roles.join(" ");
        let membership = grant.and_then(|grant| grant.membership.as_ref());
        Self {
            iss: mint.issuer.into(),
            sub: mint.subject.into(),
            aud: mint.granted.audience().claim(mint.issuer).into(),
            exp: delegation.map_or(exp, |one| exp.min(one.until.seconds())),
            iat,
            jti: jti(mint.under, mint.id),
            client_id: mint.client_id.into(),
            scope: mint.granted.scopes().to_string(),
            // Roles are roles of an organization; without one there are none.
            role: (has_api_scope && org.is_some() && !roles.is_empty()).then_some(roles),
            org,
            membership: membership
                .filter(|_| has_api_scope)
                .and_then(|membership| membership.id.as_deref())
                .map(Cow::Borrowed),
            epoch: mint.epoch,
            sid: grant.and_then(Grant::bound_session).map(Cow::Borrowed),
            sso: grant.is_some_and(|grant| grant.sign_on.is_some()),
            acr: proved.map(|grant| Cow::Borrowed(grant.level.name())),
            auth_time: proved.map(|grant| grant.authenticated_at.seconds()),
            userinfo_claims: grant
                .map(|grant| grant.claims.userinfo.join(" "))
                .filter(|claims| !claims.is_empty()),
            authorization_details: mint.granted.details().clone(),
            act: delegation.map(|one| one.act.clone()),
            may_act: mint.may_act.map(|sub| MayAct { sub: sub.to_owned() }),
            cnf: mint.bound,
        }
    }
}

/// A token names its family and those above it, so that its ancestors are known without a look.
fn jti(under: Option<(&Grant, &str)>, id: String) -> String {
    let Some((grant, family)) = under else { return id };
    let parents = grant.parents.iter().map(String::as_str);
    parents.chain([family, &id]).collect::<Vec<_>>().join(".")
}

impl Claims<'_> {
    /// Lists the roles it speaks of.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.role.iter().flat_map(|roles| roles.split(' '))
    }

    /// Lists its family and those above it, its own last; none if no person granted it.
    pub fn families(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.jti.rsplit_once('.').into_iter().flat_map(|(families, _)| families.split('.'))
    }

    /// Returns the family it belongs to, if a person granted it.
    pub fn family(&self) -> Option<&str> {
        self.families().next_back()
    }

    /// Returns the level that is left of what the person had proved; without a person there is none.
    pub fn level(&self, now: Timestamp) -> Option<Level> {
        let proved = self.acr.as_deref().and_then(Level::by_name)?;
        Some(proved.lapsed(Timestamp::from_seconds(self.auth_time?), now))
    }

    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_millis(self.exp.saturating_mul(1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        assurance::{Level, Method},
        authority::{Audience, Bound, Permission, RequestedAuthority, Scopes, narrow},
        grant::MembershipRef,
        requested_claims::RequestedClaims,
    };

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn grant() -> Grant {
        let membership =
            MembershipRef { id: Some("m1".to_owned()), organization: "acme".to_owned(), epoch: 0 };
        Grant {
            sign_on: None,
            client_id: "app".to_owned(),
            account: Some("ana".to_owned()),
            epoch: 0,
            session: Some("session".to_owned()),
            parents: Vec::new(),
            membership: Some(membership),
            audience: Audience::Resource("api".to_owned()),
            scopes: Scopes::parse("openid invoices:read").unwrap(),
            claims: RequestedClaims::default(),
            details: Details::default(),
            authenticated_at: NOW,
            level: Level::Aal1,
            methods: vec![Method::Password],
            delegation: None,
        }
    }

    fn minted(grant: &Grant, scope: &str) -> Claims<'static> {
        let read = Permission::parse("invoices:read").unwrap();
        let permissions = [&read].into_iter().collect();
        let asked = RequestedAuthority {
            organization: Some("acme".to_owned()),
            audience: grant.audience.clone(),
            offered: vec!["invoices:read".to_owned()],
            scopes: Scopes::parse(scope).unwrap(),
            details: Details::default(),
        };
        let roles = Bound::Roles { organization: "acme", permissions: &permissions };
        let (granted, roles) = (narrow(asked, &[roles]).unwrap(), ["clerk".to_owned()]);
        let claims = Claims::from(Mint {
            issuer: "https://id.example",
            client_id: "app",
            subject: grant.account.as_deref().unwrap(),
            granted: &granted,
            roles: &roles,
            epoch: 0,
            may_act: None,
            id: "random".to_owned(),
            under: Some((grant, "family")),
            bound: None,
            now: NOW,
            lifetime: Duration::from_mins(5),
        });
        let text = serde_json::to_string(&claims).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_token_without_an_api_scope_names_neither_role_nor_membership() {
        let full = minted(&grant(), "openid invoices:read");
        assert_eq!((full.role.as_deref(), full.membership.as_deref()), (Some("clerk"), Some("m1")));
        for scope in ["openid", ""] {
            let bare = minted(&grant(), scope);
            assert_eq!((&bare.role, &bare.membership), (&None, &None), "{scope}");
            assert_eq!((bare.org.as_deref(), bare.aud.as_ref()), (Some("acme"), "api"));
            let text = serde_json::to_value(&bare).unwrap();
            assert_eq!(text["scope"], scope, "it is always there");
        }
    }

    #[test]
    fn a_token_names_its_family_and_those_above_it() {
        let claims = minted(&grant(), "openid");
        assert_eq!(claims.families().collect::<Vec<_>>(), ["family"]);
        let parents = vec!["root".to_owned(), "middle".to_owned()];
        let below = minted(&Grant { parents, ..grant() }, "openid");
        assert_eq!(below.families().collect::<Vec<_>>(), ["root", "middle", "family"]);
        assert_eq!(below.family(), Some("family"));
        let own = Claims { jti: "random".to_owned(), ..below };
        assert_eq!((own.family(), own.families().count()), (None, 0));
    }
}
