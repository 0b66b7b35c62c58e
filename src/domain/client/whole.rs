//! What members of client metadata say of one another: what contradicts, and what is missing.

use super::{
    ApplicationType, AuthMethod, ClientMetadata, DeliveryMode, FieldFault, FieldProblem, GrantType,
    SubjectType, Wrong, read::MOST_ENTRIES, redirect_uri,
};

impl ClientMetadata {
    /// Says what is still missing for this to be a client, all at once.
    ///
    /// `speaks_for_organization` as for `grant_types`.
    pub fn check_whole(&self, speaks_for_organization: bool) -> Vec<FieldFault> {
        let grants = self.grant_types(speaks_for_organization);
        let mut faults = self.missing(&grants);
        if self.token_endpoint_auth_method == Some(AuthMethod::None) {
            for grant in grants.into_iter().filter(|grant| grant.needs_authentication()) {
                let (value, wrong) = (grant.name().to_owned(), Wrong::Unauthenticated);
                let problem = FieldProblem::Contains { value, wrong };
                faults.push(FieldFault::new("grant_types", problem));
            }
        }
        faults
    }

    /// Says what contradicts, whatever else may still come.
    pub(super) fn contradictions(&self) -> Vec<FieldFault> {
        let mut faults = Vec::new();
        // RFC 8252 §7.1: private-use schemes are how systems find native applications.
        if self.application_type == Some(ApplicationType::Web) {
            for (field, uris) in [
                ("redirect_uris", &self.redirect_uris),
                ("post_logout_redirect_uris", &self.post_logout_redirect_uris),
            ] {
                for uri in uris.iter().filter(|uri| redirect_uri::is_private_use(uri)) {
                    let (value, wrong) = (uri.clone(), Wrong::NativeOnly);
                    faults.push(FieldFault::new(field, FieldProblem::Contains { value, wrong }));
                }
            }
        }
        // A token names one of them: which would be the caller's choice.
        if self.dpop_bound_access_tokens && self.tls_client_certificate_bound_access_tokens {
            let other = "tls_client_certificate_bound_access_tokens";
            let beside = FieldProblem::Beside { other };
            faults.push(FieldFault::new("dpop_bound_access_tokens", beside));
        }
        if let Some(name) = self.localized.keys().nth(MOST_ENTRIES) {
            faults.push(FieldFault::new(name, FieldProblem::TooMany { most: MOST_ENTRIES }));
        }
        faults
    }

    fn missing(&self, grants: &[GrantType]) -> Vec<FieldFault> {
        let method = self.token_endpoint_auth_method;
        let no_keys = self.jwks.is_none() && self.jwks_uri.is_none();
        let no_tls_name = [
            &self.tls_client_auth_subject_dn,
            &self.tls_client_auth_san_dns,
            &self.tls_client_auth_san_uri,
            &self.tls_client_auth_san_ip,
            &self.tls_client_auth_san_email,
        ]
        .into_iter()
        .all(Option::is_none);
        let pings = self.backchannel_token_delivery_mode == Some(DeliveryMode::Ping);
        let unnotified = self.backchannel_client_notification_endpoint.is_none();
        let pairwise = self.subject_type == Some(SubjectType::Pairwise);
        let rules = [
            // RFC 7591 §2, OAuth 2.1 §2.3: a client that uses redirects registers where they lead.
            (
                grants.contains(&GrantType::AuthorizationCode) && self.redirect_uris.is_empty(),
                "redirect_uris",
                "for the grant `authorization_code`",
            ),
            // OIDC Core §9.
            (
                method == Some(AuthMethod::PrivateKeyJwt) && no_keys,
                "jwks",
                "for `private_key_jwt`, unless there is a `jwks_uri`",
            ),
            // RFC 8705 §2.2.2.
            (
                method == Some(AuthMethod::SelfSignedTlsClientAuth) && no_keys,
                "jwks",
                "for `self_signed_tls_client_auth`, unless there is a `jwks_uri`",
            ),
            // RFC 9101 §10.5: a signature is verified with a key.
            (
                self.require_signed_request_object && no_keys,
                "jwks",
                "for `require_signed_request_object`, unless there is a `jwks_uri`",
            ),
            // RFC 8705 §2.1.2.
            (
                method == Some(AuthMethod::TlsClientAuth) && no_tls_name,
                "tls_client_auth_subject_dn",
                "for `tls_client_auth`, unless there is one of `tls_client_auth_san_...`",
            ),
            // CIBA Core §4.
            (
                pings && unnotified,
                "backchannel_client_notification_endpoint",
                "for the delivery mode `ping`",
            ),
            // OIDC Core §8.1, OIDC Registration §5.
            (
                pairwise && self.sector_identifier().is_none(),
                "sector_identifier_uri",
                "for pairwise subjects, unless all redirect URIs have one host",
            ),
            // CIBA Core §4, pairwise identifiers: the sector is proved with keys from its host.
            (
                pairwise && grants.contains(&GrantType::Ciba) && self.jwks_uri.is_none(),
                "jwks_uri",
                "for pairwise subjects with CIBA",
            ),
        ];
        let broken = rules.into_iter().filter(|(broken, _, _)| *broken);
        broken.map(|(_, field, why)| FieldFault::new(field, FieldProblem::Needed { why })).collect()
    }
}

#[cfg(test)]
mod tests;
