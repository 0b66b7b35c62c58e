//! What a client says of itself, by the standard names (RFC 7591, OIDC Registration and those after).

use super::{
    ApplicationType, AuthMethod, DeliveryMode, FieldFault, FieldProblem, GrantType, ResponseType,
    SubjectType, fields, localized,
};
use crate::domain::signing_keys::SigningAlgorithm;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, HashSet},
    ops::Not,
};

/// Members that say the same in different ways: of each row a client has one.
const ALTERNATIVES: [&[&str]; 2] = [
    // RFC 7591 §2: "MUST NOT both be present".
    &["jwks_uri", "jwks"],
    // RFC 8705 §2.1.2: exactly one.
    &[
        "tls_client_auth_subject_dn",
        "tls_client_auth_san_dns",
        "tls_client_auth_san_uri",
        "tls_client_auth_san_ip",
        "tls_client_auth_san_email",
    ],
];

/// A client's metadata as it was given, with neither defaults nor a secret in it.
///
/// It is stored as its fields are; others are shown its `members`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a member that the standards define")]
pub struct ClientMetadata {
    // RFC 7591 §2.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redirect_uris: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<AuthMethod>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant_types: Option<Vec<GrantType>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_types: Option<Vec<ResponseType>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logo_uri: Option<String>,
    /// Tokens joined by single spaces; what they mean is judged elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contacts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tos_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub software_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub software_version: Option<String>,
    // OIDC Registration §2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_type: Option<ApplicationType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sector_identifier_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject_type: Option<SubjectType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token_signed_response_alg: Option<SigningAlgorithm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub userinfo_signed_response_alg: Option<SigningAlgorithm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub introspection_signed_response_alg: Option<SigningAlgorithm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_object_signing_alg: Option<SigningAlgorithm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_signing_alg: Option<SigningAlgorithm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_max_age: Option<u32>,
    #[serde(skip_serializing_if = "Not::not")]
    pub require_auth_time: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_acr_values: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiate_login_uri: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub request_uris: Vec<String>,
    // OIDC RP-Initiated Logout §3.1, OIDC Back-Channel Logout §2.2.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post_logout_redirect_uris: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backchannel_logout_uri: Option<String>,
    #[serde(skip_serializing_if = "Not::not")]
    pub backchannel_logout_session_required: bool,
    // RFC 9126 §6, RFC 9101 §10.5, JARM §3, RFC 9396 §10.
    #[serde(skip_serializing_if = "Not::not")]
    pub require_pushed_authorization_requests: bool,
    #[serde(skip_serializing_if = "Not::not")]
    pub require_signed_request_object: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_signed_response_alg: Option<SigningAlgorithm>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorization_details_types: Vec<String>,
    // RFC 8705 §2.1.2 and §3.4, RFC 9449 §5.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_auth_subject_dn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_auth_san_dns: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_auth_san_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_auth_san_ip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_auth_san_email: Option<String>,
    #[serde(skip_serializing_if = "Not::not")]
    pub tls_client_certificate_bound_access_tokens: bool,
    #[serde(skip_serializing_if = "Not::not")]
    pub dpop_bound_access_tokens: bool,
    // CIBA Core §4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backchannel_token_delivery_mode: Option<DeliveryMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backchannel_client_notification_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backchannel_authentication_request_signing_alg: Option<SigningAlgorithm>,
    // RFC 7591 §2.2.
    /// By the whole name, `client_name#pt`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub localized: BTreeMap<String, String>,
}

impl ClientMetadata {
    /// Returns this metadata with the members given instead of those held; null removes one.
    ///
    /// Of alternatives the one given replaces the one held: `jwks_uri` replaces `jwks`.
    /// What is refused is said all at once. What only the whole can tell is left to `check_whole`.
    pub fn patch(&self, members: &Map<String, Value>) -> Result<Self, Vec<FieldFault>> {
        let mut patched = self.clone();
        let mut faults = patched.replace_alternatives(members);
        for (name, value) in members {
            let outcome = match fields::setter(name) {
                Some(set) => set(&mut patched, value),
                None if localized::base(name).is_some() => {
                    fields::localized(&mut patched, name, value)
                }
                None => Err(vec![FieldProblem::Unknown]),
            };
            let problems = outcome.err().into_iter().flatten();
            faults.extend(problems.map(|problem| FieldFault::new(name, problem)));
        }
        // A member that was refused is not what it would have become: it contradicts nothing yet.
        for fault in patched.contradictions() {
            if !faults.iter().any(|earlier| earlier.field == fault.field) {
                faults.push(fault);
            }
        }
        if faults.is_empty() { Ok(patched) } else { Err(faults) }
    }

    /// Tells whether `patch` knows a member of this name, be it to refuse it.
    pub fn is_known(name: &str) -> bool {
        fields::setter(name).is_some() || localized::base(name).is_some()
    }

    /// Returns the names of all members, without those that bear a language tag.
    pub fn known_fields() -> impl Iterator<Item = &'static str> {
        fields::FIELDS.iter().map(|(name, _)| *name)
    }

    /// Returns what registration must heed of a request: neither unknown members (RFC 7591 §2) nor
    /// what is null or empty, which a server may ignore (RFC 7592 §2.2).
    pub fn heeded(members: &Map<String, Value>) -> Map<String, Value> {
        let says_something = |value: &Value| !value.is_null() && value.as_str() != Some("");
        let mut heeded = members.clone();
        heeded.retain(|name, value| Self::is_known(name) && says_something(value));
        heeded
    }

    /// Returns the metadata as its owner would write it, and as registration answers.
    pub fn members(&self) -> Map<String, Value> {
        let plain = serde_json::to_value(self).expect("names and values of plain data serialise");
        let Value::Object(mut members) = plain else { return Map::new() };
        members.remove("localized");
        let localized = self.localized.iter();
        members.extend(localized.map(|(name, said)| (name.clone(), Value::from(said.as_str()))));
        members
    }

    /// Returns what the client may bring to the token endpoint.
    ///
    /// Where it has not said, that is a code and the refresh tokens after it, if it has a redirect URI.
    /// A client that `speaks_for_organization` also has its own credentials, unless it said that it
    /// has none. A client that has neither can only introspect tokens.
    pub fn grant_types(&self, speaks_for_organization: bool) -> Vec<GrantType> {
        use GrantType::{AuthorizationCode, ClientCredentials, RefreshToken};
        if let Some(given) = &self.grant_types {
            return given.clone();
        }
        let public = self.token_endpoint_auth_method == Some(AuthMethod::None);
        match (speaks_for_organization && !public, self.redirect_uris.is_empty()) {
            (false, true) => vec![],
            (false, false) => vec![AuthorizationCode, RefreshToken],
            (true, true) => vec![ClientCredentials],
            (true, false) => vec![AuthorizationCode, RefreshToken, ClientCredentials],
        }
    }

    /// Returns what the client may ask of the authorization endpoint: a code, if it could spend one
    /// (RFC 7591 §2.1).
    pub fn response_types(&self, speaks_for_organization: bool) -> Vec<ResponseType> {
        if let Some(given) = &self.response_types {
            return given.clone();
        }
        let grants = self.grant_types(speaks_for_organization);
        let spends_codes = grants.contains(&GrantType::AuthorizationCode);
        if spends_codes { vec![ResponseType::Code] } else { vec![] }
    }

    /// Returns where the client runs; `web` unless it says otherwise (OIDC Registration §2).
    ///
    /// Redirect URIs are compared by the field itself: there, left out is not `web`.
    pub fn application_type(&self) -> ApplicationType {
        self.application_type.unwrap_or(ApplicationType::Web)
    }

    /// Says of each member whether it differs from the one held; what people read, in any language.
    pub(super) fn differing(&self, held: &Self) -> Vec<(&'static str, bool)> {
        let (next, held) = (self.members(), held.members());
        let differs = |name: &&String| next.get(*name) != held.get(*name);
        let changed = next.keys().chain(held.keys()).filter(differs);
        let base = |name: &'_ String| name.split('#').next().unwrap_or_default().to_owned();
        let changed: HashSet<String> = changed.map(base).collect();
        Self::known_fields().map(|name| (name, changed.contains(name))).collect()
    }

    /// Checks that no two alternatives are given, and drops those held that one given replaces.
    fn replace_alternatives(&mut self, members: &Map<String, Value>) -> Vec<FieldFault> {
        let mut faults = Vec::new();
        for alternatives in ALTERNATIVES {
            let given = |name: &&str| members.get(*name).is_some_and(|value| !value.is_null());
            let Some(first) = alternatives.iter().copied().find(given) else { continue };
            for other in alternatives.iter().copied().filter(|name| *name != first) {
                if given(&other) {
                    faults.push(FieldFault::new(other, FieldProblem::Beside { other: first }));
                }
                self.forget(other);
            }
        }
        faults
    }

    fn forget(&mut self, name: &str) {
        if let Some(set) = fields::setter(name) {
            // Every setter takes null.
            set(self, &Value::Null).ok();
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
