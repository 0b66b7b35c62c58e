//! What a provider says of itself (OpenID Connect Discovery §3), as far as we use it.

use super::Issuer;
use crate::domain::{
    signing_keys::SigningAlgorithm,
    strict_json::{self, Flaw},
};
use serde_json::{Map, Value};
use url::Url;

/// How many entries a list may have.
const MOST_ENTRIES: usize = 100;

/// The metadata of a provider, which names the issuer that it was asked as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    pub issuer: Issuer,
    pub authorization_endpoint: Url,
    pub token_endpoint: Url,
    pub jwks_uri: Url,
    /// Not called (adr/0134).
    pub userinfo_endpoint: Option<Url>,
    pub end_session_endpoint: Option<Url>,
    /// Every answer to the browser names the issuer (RFC 9207 §3).
    pub promises_iss: bool,
    /// Those of ours by which it signs ID tokens; never empty.
    pub id_token_algorithms: Vec<SigningAlgorithm>,
    /// Those of ours by which clients may show who they are.
    pub authentication_methods: Vec<AuthenticationMethod>,
    /// By which assertions may be signed; `None` says nothing.
    pub assertion_algorithms: Option<Vec<SigningAlgorithm>>,
    /// Whether it says that it knows challenges by S256; `None` says nothing. We send one in any case.
    pub knows_s256: Option<bool>,
}

/// How a client shows at the token endpoint who it is (OpenID Connect Core §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthenticationMethod {
    Basic,
    Post,
    PrivateKeyJwt,
}

/// Why metadata cannot be used; reads on from "the metadata".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataFault {
    #[error("is not a JSON object with every member once")]
    Json(Flaw),
    #[error("is that of another issuer")]
    OtherIssuer,
    #[error("lacks `{0}`")]
    Missing(&'static str),
    #[error("has a `{0}` of the wrong type or size")]
    Malformed(&'static str),
    #[error("has a `{0}` that is not https")]
    Endpoint(&'static str),
    #[error("names no signing algorithm of RS256, PS256, ES256 and EdDSA")]
    NoAlgorithm,
}

impl MetadataFault {
    /// A stable name for machines.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Json(_) => "metadata_not_json",
            Self::OtherIssuer => "metadata_of_another_issuer",
            Self::Missing(_) => "metadata_incomplete",
            Self::Malformed(_) => "metadata_malformed",
            Self::Endpoint(_) => "metadata_endpoint_not_https",
            Self::NoAlgorithm => "metadata_without_algorithm",
        }
    }
}

impl Metadata {
    /// Reads what lies at [`Issuer::metadata_url`].
    pub fn read(issuer: &Issuer, bytes: &[u8]) -> Result<Self, MetadataFault> {
        let members = Members(strict_json::object(bytes).map_err(MetadataFault::Json)?);
        // Discovery §4.3: exactly the one that was asked, or any server could speak for any other.
        if members.text("issuer")? != Some(issuer.as_str()) {
            return Err(MetadataFault::OtherIssuer);
        }
        let optional = |name| members.endpoint(issuer, name);
        let required = |name| optional(name)?.ok_or(MetadataFault::Missing(name));
        let id_token_algorithms =
            match members.algorithms("id_token_signing_alg_values_supported")? {
                // Core §15.1: what every provider has.
                None => vec![SigningAlgorithm::Rs256],
                Some(ours) if ours.is_empty() => return Err(MetadataFault::NoAlgorithm),
                Some(ours) => ours,
            };
        let methods = members.list("token_endpoint_auth_methods_supported")?;
        let challenges = members.list("code_challenge_methods_supported")?;
        Ok(Self {
            authorization_endpoint: required("authorization_endpoint")?,
            token_endpoint: required("token_endpoint")?,
            jwks_uri: required("jwks_uri")?,
            userinfo_endpoint: optional("userinfo_endpoint")?,
            end_session_endpoint: optional("end_session_endpoint")?,
            promises_iss: members.flag("authorization_response_iss_parameter_supported")?,
            id_token_algorithms,
            // Discovery §3: the default.
            authentication_methods: methods.map_or(vec![AuthenticationMethod::Basic], |methods| {
                methods.into_iter().filter_map(AuthenticationMethod::by_name).collect()
            }),
            assertion_algorithms: members
                .algorithms("token_endpoint_auth_signing_alg_values_supported")?,
            knows_s256: challenges.map(|methods| methods.contains(&"S256")),
            issuer: issuer.clone(),
        })
    }
}

impl AuthenticationMethod {
    fn by_name(name: &str) -> Option<Self> {
        match name {
            "client_secret_basic" => Some(Self::Basic),
            "client_secret_post" => Some(Self::Post),
            "private_key_jwt" => Some(Self::PrivateKeyJwt),
            _ => None,
        }
    }
}

struct Members(Map<String, Value>);

impl Members {
    fn text(&self, name: &'static str) -> Result<Option<&str>, MetadataFault> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(MetadataFault::Malformed(name)),
        }
    }

    fn endpoint(&self, issuer: &Issuer, name: &'static str) -> Result<Option<Url>, MetadataFault> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        issuer.endpoint(text).map(Some).ok_or(MetadataFault::Endpoint(name))
    }

    fn flag(&self, name: &'static str) -> Result<bool, MetadataFault> {
        match self.0.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(MetadataFault::Malformed(name)),
        }
    }

    fn list(&self, name: &'static str) -> Result<Option<Vec<&str>>, MetadataFault> {
        let malformed = MetadataFault::Malformed(name);
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Array(entries)) if entries.len() <= MOST_ENTRIES => {
                let texts: Option<Vec<&str>> = entries.iter().map(Value::as_str).collect();
                texts.map(Some).ok_or(malformed)
            }
            Some(_) => Err(malformed),
        }
    }

    fn algorithms(
        &self,
        name: &'static str,
    ) -> Result<Option<Vec<SigningAlgorithm>>, MetadataFault> {
        let names = self.list(name)?;
        Ok(names.map(|names| names.into_iter().filter_map(SigningAlgorithm::by_name).collect()))
    }
}

#[cfg(test)]
mod tests;
