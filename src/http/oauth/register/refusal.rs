//! What is wrong with client metadata, in constant sentences (RFC 7591 §3.2.2).
//!
//! They name the member, which is what its developer needs, and repeat nothing of its value, in which
//! people leave passwords and private keys.

use crate::{
    domain::client::{FieldFault, FieldProblem, UriFault, Wrong},
    http::answer::error::{Code, OAuthError},
};

const REDIRECT_URIS: &str = "redirect_uris";

/// How many members the log is told of.
const MOST_TOLD: usize = 10;

/// Refuses metadata for its first fault, or for that of its redirect URIs.
pub fn of(faults: &[FieldFault]) -> OAuthError {
    let redirect = faults.iter().find(|fault| fault.field == REDIRECT_URIS);
    let code =
        if redirect.is_some() { Code::InvalidRedirectUri } else { Code::InvalidClientMetadata };
    let description = redirect.or(faults.first()).map_or(UNNAMED, described);
    let told: Vec<&str> = faults.iter().take(MOST_TOLD).map(member).collect();
    OAuthError::new(code, description).because(told.join(" "))
}

const UNNAMED: &str = "the client metadata cannot stand";

/// Returns the member without its language.
fn member(fault: &FieldFault) -> &str {
    fault.field.split_once('#').map_or(&*fault.field, |(base, _)| base)
}

fn described(fault: &FieldFault) -> &'static str {
    if let (REDIRECT_URIS, FieldProblem::Contains { wrong, .. }) = (&*fault.field, &fault.problem) {
        return match wrong {
            Wrong::Uri(UriFault::Fragment) => "a redirect URI has a fragment",
            Wrong::Uri(UriFault::PlainHttp) => "a redirect URI is plain http and not on loopback",
            Wrong::Uri(UriFault::Scheme) => {
                "a redirect URI has a scheme that is neither https nor a reversed domain name"
            }
            Wrong::Uri(UriFault::NotAbsolute) => "a redirect URI is not an absolute URI",
            Wrong::NativeOnly => {
                "a redirect URI has a scheme that only an application of type native may use"
            }
            _ => "a redirect URI is malformed",
        };
    }
    if matches!(fault.problem, FieldProblem::TooLarge { .. }) {
        return "the client metadata holds too much: 8192 bytes are allowed";
    }
    sentence(member(fault), Flaw::of(&fault.problem))
}

/// What is wrong, as far as a sentence tells it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    Shape,
    Bounds,
    Malformed,
    NotOffered,
    Unauthenticated,
    Keys,
    Beside,
    Needed,
}

impl Flaw {
    fn of(problem: &FieldProblem) -> Self {
        use FieldProblem as P;
        match problem {
            P::Shape(_) => Self::Shape,
            P::Empty | P::TooLong { .. } | P::TooMany { .. } | P::TooLarge { .. } => Self::Bounds,
            P::NotOffered { .. } => Self::NotOffered,
            P::Is { wrong, .. } | P::Contains { wrong, .. } => match wrong {
                Wrong::NeverOffered | Wrong::NeedsClearSecret | Wrong::NotOneOf(_) => {
                    Self::NotOffered
                }
                Wrong::Unauthenticated => Self::Unauthenticated,
                _ => Self::Malformed,
            },
            P::KeySet(_) => Self::Keys,
            P::Beside { .. } => Self::Beside,
            P::Needed { .. } => Self::Needed,
            P::Unknown | P::HiddenCharacter => Self::Malformed,
        }
    }
}

/// Makes a sentence of ours for each flaw of each member.
macro_rules! sentences {
    ($($member:literal)+) => {
        fn sentence(member: &str, flaw: Flaw) -> &'static str {
            match member {
                $($member => match flaw {
                    Flaw::Shape => concat!($member, " is not of the type that its standard gives it"),
                    Flaw::Bounds => concat!($member, " is empty, or holds too much"),
                    Flaw::Malformed => concat!($member, " is malformed"),
                    Flaw::NotOffered => concat!($member, " asks for what is not offered"),
                    Flaw::Unauthenticated => {
                        concat!($member, " asks for what only clients that authenticate may use")
                    }
                    Flaw::Keys => concat!($member, " is not a set of public keys that can be used"),
                    Flaw::Beside => concat!($member, " must not be given beside its alternative"),
                    Flaw::Needed => concat!($member, " is needed for what else is asked"),
                },)+
                _ => UNNAMED,
            }
        }
    };
}

sentences! {
    "redirect_uris" "token_endpoint_auth_method" "grant_types" "response_types" "client_name"
    "client_uri" "logo_uri" "scope" "contacts" "tos_uri" "policy_uri" "jwks_uri" "jwks"
    "software_id" "software_version" "application_type" "sector_identifier_uri" "subject_type"
    "id_token_signed_response_alg" "id_token_encrypted_response_alg"
    "id_token_encrypted_response_enc" "userinfo_signed_response_alg"
    "userinfo_encrypted_response_alg" "userinfo_encrypted_response_enc"
    "introspection_signed_response_alg" "introspection_encrypted_response_alg"
    "introspection_encrypted_response_enc"
    "request_object_signing_alg" "request_object_encryption_alg" "request_object_encryption_enc"
    "token_endpoint_auth_signing_alg" "default_max_age" "require_auth_time" "default_acr_values"
    "initiate_login_uri" "request_uris" "post_logout_redirect_uris" "backchannel_logout_uri"
    "backchannel_logout_session_required" "frontchannel_logout_uri"
    "frontchannel_logout_session_required" "require_pushed_authorization_requests"
    "require_signed_request_object" "authorization_signed_response_alg"
    "authorization_encrypted_response_alg" "authorization_encrypted_response_enc"
    "authorization_details_types" "tls_client_auth_subject_dn" "tls_client_auth_san_dns"
    "tls_client_auth_san_uri" "tls_client_auth_san_ip" "tls_client_auth_san_email"
    "tls_client_certificate_bound_access_tokens" "dpop_bound_access_tokens"
    "backchannel_token_delivery_mode" "backchannel_client_notification_endpoint"
    "backchannel_authentication_request_signing_alg" "backchannel_user_code_parameter"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::client::ClientMetadata;
    use serde_json::{Value, json};

    fn refused(members: Value) -> OAuthError {
        let Value::Object(members) = members else { panic!("an object is needed") };
        of(&ClientMetadata::to_register(&members).unwrap_err())
    }

    #[test]
    fn every_member_has_sentences_of_its_own() {
        for member in ClientMetadata::known_fields() {
            assert!(sentence(member, Flaw::Shape).starts_with(member), "{member}");
        }
        assert_eq!(sentence("unheard_of", Flaw::Shape), UNNAMED);
    }

    #[test]
    fn redirect_uris_have_a_code_of_their_own_and_come_first() {
        let both = refused(json!({ "redirect_uris": ["https://a.example/#x"], "contacts": 1 }));
        assert_eq!(both.code, Code::InvalidRedirectUri);
        assert_eq!(both.description, "a redirect URI has a fragment");
        let other = refused(json!({ "client_name#pt": "\u{7}" }));
        assert_eq!(other.code, Code::InvalidClientMetadata);
        assert_eq!(other.description, "client_name is malformed");
    }

    #[test]
    fn a_refusal_repeats_nothing_of_what_was_sent() {
        let secret = "hunter2";
        let refused = refused(json!({
            "redirect_uris": ["https://ana:hunter2@a.example/"], "client_uri": "hunter2",
            "jwks": { "keys": [{ "kty": "oct", "k": secret }] },
        }));
        assert!(!format!("{refused:?}").contains(secret), "neither to the caller nor to the log");
    }
}
