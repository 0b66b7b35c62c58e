//! The sector of a client: the clients of one sector know a person by the same pairwise subject (OIDC Core
//! §8.1), so that a client must prove that it is of the sector it names (adr/0113).
//!
//! A redirect URI proves something because the code goes there. It proves nothing of a client that is told
//! the subject elsewhere: by a device code, an approval, an exchange, or a logout token.

use super::{AuthMethod, ClientMetadata, GrantType, KnownClient, SubjectType, uri::Uri};

impl GrantType {
    /// Tells whether it yields tokens of people that are not sent by a redirect URI.
    const fn needs_no_redirect(self) -> bool {
        matches!(self, Self::DeviceCode | Self::Ciba | Self::TokenExchange)
    }
}

impl ClientMetadata {
    /// Returns the host by which pairwise subjects are told apart, if there is exactly one
    /// (OIDC Core §8.1).
    pub fn sector_identifier(&self) -> Option<String> {
        if let Some(uri) = &self.sector_identifier_uri {
            return host_of(uri);
        }
        let mut hosts = self.redirect_uris.iter().map(|uri| host_of(uri));
        match hosts.next() {
            Some(first) => first.filter(|first| hosts.all(|host| host.as_ref() == Some(first))),
            // CIBA Core §4: without redirects the keys' host stands for the client.
            None => self.jwks_uri.as_deref().and_then(host_of),
        }
    }

    /// Tells whether its sector must be proved by keys, which the sector names (CIBA Core §4).
    pub fn proves_sector_by_keys(&self, grants: &[GrantType]) -> bool {
        use AuthMethod::{PrivateKeyJwt, SelfSignedTlsClientAuth};
        let by_keys = [Some(PrivateKeyJwt), Some(SelfSignedTlsClientAuth)];
        let elsewhere = grants.iter().any(|grant| grant.needs_no_redirect());
        elsewhere && self.jwks_uri.is_some() && by_keys.contains(&self.token_endpoint_auth_method)
    }

    /// Tells whether all who are told the subject are of this sector.
    fn proves_sector(&self, sector: &str, grants: &[GrantType]) -> bool {
        let is_there = |uri: &String| host_of(uri).as_deref() == Some(sector);
        let redirects = || self.redirect_uris.iter().map(|uri| host_of(uri));
        let logout_is_there = self.backchannel_logout_uri.as_ref().is_none_or(|uri| {
            is_there(uri) || redirects().any(|host| host.is_some() && host == host_of(uri))
        });
        let answered_there = if grants.iter().any(|grant| grant.needs_no_redirect()) {
            // A document of the sector has named the keys, or they lie there themselves.
            let named = self.sector_identifier_uri.is_some();
            let there = named || self.jwks_uri.as_ref().is_some_and(is_there);
            there && self.proves_sector_by_keys(grants)
        } else {
            true
        };
        logout_is_there && answered_there
    }
}

impl KnownClient {
    /// Returns the sector in which it knows people by subjects of their own, if it does (OIDC Core
    /// §8.1). A client whose sector is not proved is a sector by itself.
    pub fn pairwise_sector(&self) -> Option<String> {
        if self.metadata.subject_type != Some(SubjectType::Pairwise) {
            return None;
        }
        let grants = self.metadata.grant_types(self.organization.is_some());
        // What a document says of its sector was looked up by no one.
        let unread = self.document().is_some() && self.metadata.sector_identifier_uri.is_some();
        let proves = |sector: &String| {
            self.is_operators() || (!unread && self.metadata.proves_sector(sector, &grants))
        };
        let sector = self.metadata.sector_identifier().filter(proves);
        Some(sector.unwrap_or_else(|| format!("client {}", self.client_id)))
    }
}

/// Returns the host, in lower case, since hosts are the same in any (RFC 3986 §3.2.2).
fn host_of(uri: &str) -> Option<String> {
    let authority = Uri::parse(uri).ok()?.authority?;
    Some(authority.host.to_ascii_lowercase()).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";
    const CIBA: &str = "urn:openid:params:grant-type:ciba";
    const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

    /// The sector of a client that an organization has made.
    fn sector(metadata: Value) -> String {
        client(metadata).pairwise_sector().unwrap()
    }

    fn client(mut metadata: Value) -> KnownClient {
        metadata["subject_type"] = json!("pairwise");
        let metadata = ClientMetadata::default().patch(metadata.as_object().unwrap()).unwrap();
        KnownClient { metadata, members_only: true, ..KnownClient::new("c") }
    }

    #[test]
    fn a_client_that_is_answered_by_redirects_alone_is_of_their_sector() {
        let plain = json!({ "redirect_uris": ["https://rp.example/cb"] });
        assert_eq!(sector(plain), "rp.example");
        let named = json!({ "redirect_uris": ["https://rp.example/cb", "https://b.example/cb"],
            "sector_identifier_uri": "https://s.example/list" });
        assert_eq!(sector(named), "s.example");
        for logout in ["https://rp.example/out", "https://RP.example:8443/out"] {
            let told = json!({ "redirect_uris": ["https://rp.example/cb"],
                "backchannel_logout_uri": logout });
            assert_eq!(sector(told), "rp.example");
        }
    }

    #[test]
    fn one_that_is_told_the_subject_elsewhere_is_a_sector_by_itself() {
        for grant in [DEVICE, CIBA, EXCHANGE] {
            let metadata = json!({ "redirect_uris": ["https://rp.example/cb"],
                "grant_types": ["authorization_code", grant] });
            assert_eq!(sector(metadata.clone()), "client c", "{grant}");
            for named in ["https://rp.example/list", "https://s.example/list"] {
                let mut metadata = metadata.clone();
                metadata["sector_identifier_uri"] = json!(named);
                assert_eq!(sector(metadata.clone()), "client c", "{grant}");
                // Keys that are named prove nothing of a client that does not use them.
                metadata["jwks_uri"] = json!("https://rp.example/jwks");
                assert_eq!(sector(metadata), "client c", "{grant}");
            }
            let bare = json!({ "grant_types": [grant], "jwks_uri": "https://rp.example/jwks" });
            assert_eq!(sector(bare), "client c", "{grant}");
        }
        let told = json!({ "redirect_uris": ["https://rp.example/cb"],
            "backchannel_logout_uri": "https://thief.example/out" });
        assert_eq!(sector(told), "client c");
    }

    #[test]
    fn keys_of_the_sector_prove_it() {
        for grant in [DEVICE, CIBA, EXCHANGE] {
            let mut metadata = json!({ "grant_types": [grant],
                "token_endpoint_auth_method": "private_key_jwt",
                "jwks_uri": "https://rp.example/jwks" });
            assert_eq!(sector(metadata.clone()), "rp.example", "{grant}");
            metadata["redirect_uris"] = json!(["https://rp.example/cb"]);
            assert_eq!(sector(metadata.clone()), "rp.example", "{grant}");
            metadata["redirect_uris"] = json!(["https://other.example/cb"]);
            assert_eq!(sector(metadata.clone()), "client c", "keys of another host: {grant}");
            metadata["sector_identifier_uri"] = json!("https://s.example/list");
            assert_eq!(sector(metadata), "s.example", "which lists the keys: {grant}");
        }
    }

    #[test]
    fn for_its_own_clients_the_operator_vouches() {
        let metadata = json!({ "redirect_uris": ["https://rp.example/cb"],
            "grant_types": ["authorization_code", DEVICE] });
        let own = KnownClient { members_only: false, ..client(metadata) };
        assert_eq!(own.pairwise_sector().as_deref(), Some("rp.example"));
        let public = ClientMetadata::default();
        let public = KnownClient { metadata: public, ..own };
        assert_eq!(public.pairwise_sector(), None);
    }
}
