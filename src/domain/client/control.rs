//! Control of a client: which members of its metadata say how it proves itself, where it is answered and
//! how much it may ask for, and which only describe it (adr/0109).

use super::{ClientMetadata, KnownClient};

/// Members that may change without control of the client changing. Whatever is not here, counts.
const WITHOUT_CONTROL: [&str; 16] = [
    // What people read.
    "client_name",
    "client_uri",
    "logo_uri",
    "contacts",
    "tos_uri",
    "policy_uri",
    "software_id",
    "software_version",
    // How much a person must prove, and how our own answers are signed.
    "default_max_age",
    "require_auth_time",
    "default_acr_values",
    "id_token_signed_response_alg",
    "userinfo_signed_response_alg",
    "introspection_signed_response_alg",
    "authorization_signed_response_alg",
    "backchannel_logout_session_required",
];

impl KnownClient {
    /// Tells whether this metadata, in place of its own, changes how it proves itself, where it is
    /// answered, or lets it ask for more.
    pub fn changes_control(&self, next: &ClientMetadata) -> bool {
        let counts = |name: &str| match name {
            "scope" => !self.narrows_scope(next),
            name => !WITHOUT_CONTROL.contains(&name),
        };
        let differing = next.differing(&self.metadata);
        differing.into_iter().any(|(name, differs)| differs && counts(name))
    }

    /// Tells whether the ceiling of this metadata lies within its own.
    fn narrows_scope(&self, next: &ClientMetadata) -> bool {
        let next = Self { metadata: next.clone(), ..self.clone() };
        match (self.ceiling(), next.ceiling()) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(held), Some(next)) => next.iter().all(|scope| held.contains(scope)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[expect(clippy::needless_pass_by_value, reason = "calls are written as they are read")]
    fn client(metadata: Value) -> KnownClient {
        let members = metadata.as_object().unwrap().clone();
        let metadata = ClientMetadata::default().patch(&members).unwrap();
        KnownClient { metadata, ..KnownClient::new("c") }
    }

    #[expect(clippy::needless_pass_by_value, reason = "calls are written as they are read")]
    fn counts(held: Value, patch: Value) -> bool {
        let held = client(held);
        let next = held.metadata.patch(patch.as_object().unwrap()).unwrap();
        held.changes_control(&next)
    }

    #[test]
    fn how_it_proves_itself_and_where_it_is_answered_is_control() {
        for patch in [
            json!({ "token_endpoint_auth_method": "private_key_jwt" }),
            json!({ "jwks_uri": "https://a.example.com/jwks" }),
            json!({ "tls_client_auth_san_dns": "a.example.com" }),
            json!({ "token_endpoint_auth_signing_alg": "ES256" }),
            json!({ "redirect_uris": ["https://a.example.com/cb"] }),
            json!({ "post_logout_redirect_uris": ["https://a.example.com/"] }),
            json!({ "backchannel_logout_uri": "https://a.example.com/out" }),
            json!({ "backchannel_client_notification_endpoint": "https://a.example.com/ping" }),
            json!({ "sector_identifier_uri": "https://a.example.com/sector" }),
            json!({ "request_uris": ["https://a.example.com/request"] }),
            json!({ "application_type": "native" }),
            json!({ "grant_types": ["client_credentials"] }),
        ] {
            assert!(counts(json!({}), patch.clone()), "{patch}");
        }
    }

    #[test]
    fn what_describes_it_and_what_stays_the_same_is_not() {
        for patch in [
            json!({ "client_name": "Other", "client_name#pt": "Outro" }),
            json!({ "logo_uri": "https://a.example.com/logo.png", "default_max_age": 60 }),
            json!({ "redirect_uris": ["https://a.example.com/cb"] }),
        ] {
            let held = json!({ "redirect_uris": ["https://a.example.com/cb"] });
            assert!(!counts(held, patch.clone()), "{patch}");
        }
    }

    #[test]
    fn a_ceiling_may_be_lowered_without_control_and_not_raised() {
        let ceiling = || json!({ "scope": "a:read a:write" });
        assert!(!counts(ceiling(), json!({ "scope": "a:read" })));
        assert!(!counts(json!({}), json!({ "scope": "a:read" })), "there was none");
        assert!(counts(ceiling(), json!({ "scope": "a:read b:read" })));
        assert!(counts(ceiling(), json!({ "scope": null })), "none is the highest");
    }

    #[test]
    fn every_member_that_is_named_exists() {
        for name in WITHOUT_CONTROL {
            assert!(ClientMetadata::is_known(name), "{name}");
        }
    }
}
