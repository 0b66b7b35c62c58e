//! Security profiles that a client has bound itself to, as one table of rules.
//!
//! | rule | none | `fapi2` | `fapi2-message-signing` | `fapi-ciba` |
//! |---|---|---|---|---|
//! | authenticates by | any | an assertion or a certificate | the same | the same |
//! | requests are pushed | if it says so | always | always | if it says so |
//! | requests are signed | if it says so | if it says so | always | always |
//! | signed requests have a time | if they say so | if they say so | an hour at most | an hour at most, and `iat` and `jti` |
//! | requests name the redirect URI | where there are several | always | always | there is none |
//! | responses are signed | if it asks | if it asks | always | there are none |
//! | tokens are bound | if it says so | by a proof or a certificate | the same | to a certificate |
//! | refresh tokens | rotate | stay | stay | rotate |
//! | signs, and is signed for, with | any | PS256, ES256, `EdDSA` | the same | PS256, ES256 |
//! | an assertion is for | any name of ours | the issuer alone | the issuer alone | any name of ours |
//! | a code lives | as configured | 60 seconds at most | the same | as configured |
//! | a pushed request waits | as configured | less than ten minutes | the same | as configured |
//!
//! FAPI 2.0 Security Profile §5.3.2, FAPI 2.0 Message Signing §5, FAPI-CIBA §5.2.2. The rules are constants below; nothing else
//! knows what a profile is.

use super::{AuthMethod, ClientMetadata, FieldFault, FieldProblem, KnownClient};
use crate::domain::{possession::BindingRules, signing_keys::SigningAlgorithm};
use SigningAlgorithm::{EdDsa, Es256, Ps256};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A security profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    Fapi2,
    #[serde(rename = "fapi2-message-signing")]
    Fapi2MessageSigning,
    FapiCiba,
}

impl Profile {
    pub const NAMES: [(&'static str, Self); 3] = [
        ("fapi2", Self::Fapi2),
        ("fapi2-message-signing", Self::Fapi2MessageSigning),
        ("fapi-ciba", Self::FapiCiba),
    ];

    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find_map(|(known, profile)| (known == name).then_some(profile))
    }
}

/// What a signed request must say of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectRules {
    /// What it says must hold.
    AsGiven,
    /// Its issuer, its audience, and from when until when it is good: an hour at most.
    Timed,
    /// And when it was made, and its name.
    TimedAndNamed,
}

/// What the tokens of a client are bound to at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    AsRegistered,
    /// By a proof or to a certificate.
    Any,
    Certificate,
}

/// One column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
pub struct ProfileRules {
    /// How it may authenticate; none are all.
    auth_methods: &'static [AuthMethod],
    pub pushed_requests: bool,
    pub signed_requests: bool,
    pub objects: ObjectRules,
    pub signed_responses: bool,
    /// A request names where its answer goes, though only one place may be registered.
    pub names_redirect_uri: bool,
    pub binding: Binding,
    pub rotates: bool,
    /// With what it signs, and we sign for it; none are all.
    algorithms: &'static [SigningAlgorithm],
    pub audience_is_issuer: bool,
    pub longest_code: Option<Duration>,
    longest_pushed: Option<Duration>,
}

const STRONG: &[AuthMethod] =
    &[AuthMethod::PrivateKeyJwt, AuthMethod::TlsClientAuth, AuthMethod::SelfSignedTlsClientAuth];

const NONE: ProfileRules = ProfileRules {
    auth_methods: &[],
    pushed_requests: false,
    signed_requests: false,
    objects: ObjectRules::AsGiven,
    signed_responses: false,
    names_redirect_uri: false,
    binding: Binding::AsRegistered,
    rotates: true,
    algorithms: &[],
    audience_is_issuer: false,
    longest_code: None,
    longest_pushed: None,
};

const FAPI2: ProfileRules = ProfileRules {
    auth_methods: STRONG,
    pushed_requests: true,
    names_redirect_uri: true,
    binding: Binding::Any,
    rotates: false,
    algorithms: &[Ps256, Es256, EdDsa],
    audience_is_issuer: true,
    longest_code: Some(Duration::from_mins(1)),
    longest_pushed: Some(Duration::from_mins(9)),
    ..NONE
};

const FAPI2_MESSAGE_SIGNING: ProfileRules = ProfileRules {
    signed_requests: true,
    objects: ObjectRules::Timed,
    signed_responses: true,
    ..FAPI2
};

const FAPI_CIBA: ProfileRules = ProfileRules {
    auth_methods: STRONG,
    signed_requests: true,
    objects: ObjectRules::TimedAndNamed,
    binding: Binding::Certificate,
    algorithms: &[Ps256, Es256],
    ..NONE
};

impl ProfileRules {
    /// The rules of a profile, or of a client without one.
    pub const fn of(profile: Option<Profile>) -> Self {
        match profile {
            None => NONE,
            Some(Profile::Fapi2) => FAPI2,
            Some(Profile::Fapi2MessageSigning) => FAPI2_MESSAGE_SIGNING,
            Some(Profile::FapiCiba) => FAPI_CIBA,
        }
    }

    /// Tells whether a client may sign with it, and be signed for.
    pub fn allows(&self, algorithm: SigningAlgorithm) -> bool {
        self.algorithms.is_empty() || self.algorithms.contains(&algorithm)
    }

    /// How long a pushed request waits that would wait so long otherwise.
    pub fn pushed_for(&self, configured: Duration) -> Duration {
        self.longest_pushed.map_or(configured, |longest| longest.min(configured))
    }

    fn allows_method(&self, method: Option<AuthMethod>) -> bool {
        let is_listed = || method.is_some_and(|method| self.auth_methods.contains(&method));
        self.auth_methods.is_empty() || is_listed()
    }
}

impl KnownClient {
    pub fn rules(&self) -> ProfileRules {
        ProfileRules::of(self.require_profile)
    }

    /// Tells whether every authorization request of its is pushed (RFC 9126 §6).
    pub fn pushes_requests(&self) -> bool {
        self.rules().pushed_requests || self.metadata.require_pushed_authorization_requests
    }

    /// Tells whether every request of its is signed (RFC 9101 §10.5).
    pub fn signs_requests(&self) -> bool {
        self.rules().signed_requests || self.metadata.require_signed_request_object
    }

    /// Says what its tokens must be bound to.
    pub fn binding_rules(&self) -> BindingRules {
        BindingRules {
            key: self.metadata.dpop_bound_access_tokens,
            certificate: self.demands_certificates(),
            any: self.rules().binding == Binding::Any,
        }
    }

    /// Tells whether it wants its tokens bound to a certificate, and no others.
    pub fn demands_certificates(&self) -> bool {
        self.rules().binding == Binding::Certificate
            || self.metadata.tls_client_certificate_bound_access_tokens
    }

    /// The algorithm of its ID tokens and logout tokens: the one it has named, else RS256 (OIDC Registration §2), which no
    /// profile allows.
    pub fn id_token_algorithm(&self) -> SigningAlgorithm {
        self.signed_by(self.metadata.id_token_signed_response_alg)
    }

    /// The algorithm of the answers to its authorization requests (JARM §3).
    pub fn authorization_algorithm(&self) -> SigningAlgorithm {
        self.signed_by(self.metadata.authorization_signed_response_alg)
    }

    fn signed_by(&self, named: Option<SigningAlgorithm>) -> SigningAlgorithm {
        let usual = if self.require_profile.is_some() { Es256 } else { SigningAlgorithm::Rs256 };
        named.unwrap_or(usual)
    }

    /// Says what its profile finds wrong with it, all at once.
    pub(super) fn profile_faults(&self) -> Vec<FieldFault> {
        let Some(_) = self.require_profile else { return Vec::new() };
        let (rules, metadata) = (self.rules(), &self.metadata);
        let mut faults = Vec::new();
        let mut needed = |field: &str, why| {
            faults.push(FieldFault::new(field, FieldProblem::Needed { why }));
        };
        if !rules.allows_method(metadata.token_endpoint_auth_method) {
            let why = "by its profile, and is private_key_jwt, tls_client_auth or \
                       self_signed_tls_client_auth";
            needed("token_endpoint_auth_method", why);
        }
        let no_keys = metadata.jwks.is_none() && metadata.jwks_uri.is_none();
        if rules.signed_requests && no_keys {
            needed("jwks", "for the signed requests of its profile, unless there is a `jwks_uri`");
        }
        if rules.binding == Binding::Certificate && metadata.dpop_bound_access_tokens {
            faults.push(FieldFault::new(
                "dpop_bound_access_tokens",
                FieldProblem::NotOffered { what: "another binding than to certificates" },
            ));
        }
        for (field, algorithm) in algorithms(metadata) {
            if algorithm.is_some_and(|algorithm| !rules.allows(algorithm)) {
                let what = "an algorithm that its profile does not allow";
                faults.push(FieldFault::new(field, FieldProblem::NotOffered { what }));
            }
        }
        faults
    }
}

/// Every algorithm that a client names.
fn algorithms(metadata: &ClientMetadata) -> [(&'static str, Option<SigningAlgorithm>); 7] {
    [
        ("id_token_signed_response_alg", metadata.id_token_signed_response_alg),
        ("userinfo_signed_response_alg", metadata.userinfo_signed_response_alg),
        ("introspection_signed_response_alg", metadata.introspection_signed_response_alg),
        ("authorization_signed_response_alg", metadata.authorization_signed_response_alg),
        ("request_object_signing_alg", metadata.request_object_signing_alg),
        ("token_endpoint_auth_signing_alg", metadata.token_endpoint_auth_signing_alg),
        (
            "backchannel_authentication_request_signing_alg",
            metadata.backchannel_authentication_request_signing_alg,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn client(profile: Profile, metadata: Value) -> KnownClient {
        let Value::Object(members) = metadata else { panic!("an object") };
        let mut client = KnownClient::new("a");
        client.metadata = ClientMetadata::default().patch(&members).unwrap();
        client.require_profile = Some(profile);
        client
    }

    fn faults(profile: Profile, metadata: Value) -> Vec<String> {
        let client = client(profile, metadata);
        client.profile_faults().into_iter().map(|fault| fault.field).collect()
    }

    const ALL: [Profile; 3] = [Profile::Fapi2, Profile::Fapi2MessageSigning, Profile::FapiCiba];

    #[test]
    fn a_profile_is_stored_and_found_by_its_name() {
        for (name, profile) in Profile::NAMES {
            assert_eq!(serde_json::to_value(profile).unwrap(), name);
            assert_eq!(Profile::by_name(name), Some(profile));
        }
        assert_eq!(Profile::by_name("FAPI2"), None);
    }

    #[test]
    fn no_profile_knows_secrets_public_clients_or_rs256() {
        for profile in ALL {
            for method in ["none", "client_secret_basic", "client_secret_post"] {
                let named = faults(profile, json!({ "token_endpoint_auth_method": method }));
                assert!(named.contains(&"token_endpoint_auth_method".to_owned()), "{method}");
            }
            assert!(
                !faults(profile, json!({})).is_empty(),
                "one that named no method has a secret"
            );
            for (field, _) in algorithms(&ClientMetadata::default()) {
                let named = faults(profile, json!({ field: "RS256" }));
                assert!(named.contains(&field.to_owned()), "{field}");
                assert!(!faults(profile, json!({ field: "PS256" })).contains(&field.to_owned()));
            }
            let rules = ProfileRules::of(Some(profile));
            assert!(!rules.allows(SigningAlgorithm::Rs256) && rules.allows(Es256));
            assert_eq!(rules.allows(EdDsa), profile != Profile::FapiCiba);
            let plain = client(profile, json!({}));
            assert_eq!(plain.id_token_algorithm(), Es256, "what it did not name is not RS256");
        }
        assert!(ProfileRules::of(None).allows(SigningAlgorithm::Rs256));
    }

    #[test]
    fn what_a_client_must_do_follows_from_its_profile_and_its_own_word() {
        let of = |profile| client(profile, json!({}));
        let [fapi2, signing, ciba] = ALL.map(of);
        assert!(fapi2.pushes_requests() && signing.pushes_requests() && !ciba.pushes_requests());
        assert!(!fapi2.signs_requests() && signing.signs_requests() && ciba.signs_requests());
        assert!(!fapi2.rules().rotates && !signing.rules().rotates && ciba.rules().rotates);
        assert!(fapi2.binding_rules().any && !fapi2.demands_certificates());
        assert!(!ciba.binding_rules().any && ciba.demands_certificates());
        let own = KnownClient::new("a");
        assert!(own.rules().rotates && !own.pushes_requests() && !own.signs_requests());
        assert_eq!(own.binding_rules(), BindingRules::default());
        let (long, short) = (Duration::from_hours(1), Duration::from_mins(1));
        assert_eq!(fapi2.rules().pushed_for(long), Duration::from_mins(9));
        assert_eq!((fapi2.rules().pushed_for(short), own.rules().pushed_for(long)), (short, long));
        let minute = Some(Duration::from_mins(1));
        assert_eq!((fapi2.rules().longest_code, own.rules().longest_code), (minute, None));
    }

    #[test]
    fn a_fit_client_has_no_fault() {
        let fit = json!({
            "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://a.example/keys",
            "id_token_signed_response_alg": "PS256",
        });
        for profile in ALL {
            assert_eq!(faults(profile, fit.clone()), [""; 0], "{profile:?}");
        }
        let by_proof = json!({
            "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://a.example/keys",
            "dpop_bound_access_tokens": true,
        });
        assert_eq!(faults(Profile::Fapi2, by_proof.clone()), [""; 0]);
        assert_eq!(faults(Profile::FapiCiba, by_proof), ["dpop_bound_access_tokens"]);
    }
}
