//! What a client may do in its own name.

use super::{AuthMethod, DeliveryMode, GrantType, KnownClient, ResponseType, redirect_uri};
use crate::domain::{
    authority::{Bound, GrantedAuthority, Permissions, RequestedAuthority, Widening, narrow},
    organization,
    possession::BindingRules,
    signing_keys::SigningAlgorithm,
};

impl KnownClient {
    /// Grants what is asked, if the registration and the roles at `home` cover all of it.
    pub fn narrow(
        &self,
        home: Option<&organization::Known>,
        asked: RequestedAuthority,
    ) -> Result<GrantedAuthority, Widening> {
        let ceiling = self.ceiling();
        let held: Permissions;
        let mut bounds = vec![Bound::NoPerson];
        if let Some(scopes) = &ceiling {
            bounds.push(Bound::Registered(scopes));
        }
        bounds.push(match home {
            None => Bound::NoMembership,
            Some(home) => {
                held = home.confers(&self.roles);
                Bound::Roles { organization: &home.slug, permissions: &held }
            }
        });
        narrow(asked, &bounds)
    }

    /// Tells whether this is a redirect URI of the client's.
    pub fn has_redirect_uri(&self, presented: &str) -> bool {
        let kind = self.metadata.application_type;
        let mut registered = self.metadata.redirect_uris.iter();
        registered.any(|one| redirect_uri::matches(one, presented, kind))
    }

    /// Tells whether people may be sent there after they have signed out: exactly as registered
    /// (OIDC RP-Initiated Logout §3).
    pub fn has_post_logout_redirect_uri(&self, presented: &str) -> bool {
        self.metadata.post_logout_redirect_uris.iter().any(|one| one == presented)
    }

    /// Tells whether it is told when a session ends (OIDC Back-Channel Logout §2.2).
    pub fn hears_of_logout(&self) -> bool {
        self.metadata.backchannel_logout_uri.is_some()
    }

    /// The algorithm of its ID tokens and logout tokens (OIDC Registration §2: RS256 unless it says
    /// otherwise).
    pub fn id_token_algorithm(&self) -> SigningAlgorithm {
        self.metadata.id_token_signed_response_alg.unwrap_or(SigningAlgorithm::Rs256)
    }

    /// Tells why the client may not ask for codes, if it may not.
    ///
    /// A client that wants more than is offered must not get less.
    pub fn may_ask_for_codes(&self) -> Result<(), NotForCodes> {
        let metadata = &self.metadata;
        let types = metadata.response_types(self.organization.is_some());
        if !self.may_use(GrantType::AuthorizationCode) || !types.contains(&ResponseType::Code) {
            return Err(NotForCodes::NotRegistered);
        }
        self.wants_what_is_offered()
    }

    /// Tells why the client may not ask by a device (RFC 8628), if it may not.
    pub fn may_ask_by_device(&self) -> Result<(), NotForCodes> {
        if !self.may_use(GrantType::DeviceCode) {
            return Err(NotForCodes::NotRegistered);
        }
        self.wants_what_is_offered()
    }

    /// Tells why the client may not ask people by a back channel (CIBA Core §7.1), if it may not.
    pub fn may_ask_by_back_channel(&self) -> Result<(), NotForCodes> {
        if !self.may_use(GrantType::Ciba) {
            return Err(NotForCodes::NotRegistered);
        }
        self.wants_what_is_offered()
    }

    /// Tells whether it is pinged when a person has decided (CIBA Core §5).
    pub fn is_pinged(&self) -> bool {
        self.metadata.backchannel_token_delivery_mode == Some(DeliveryMode::Ping)
    }

    fn wants_what_is_offered(&self) -> Result<(), NotForCodes> {
        if self.require_profile.is_some() {
            return Err(NotForCodes::Profile);
        }
        Ok(())
    }

    /// Tells whether another program on the person's machine could pose as this client
    /// (RFC 8252 §8.6).
    pub fn can_be_posed_as(&self, uri: &str) -> bool {
        self.authenticates_by(AuthMethod::None)
            && (redirect_uri::is_loopback(uri) || redirect_uri::is_private_use(uri))
    }

    /// Says what its tokens must be bound to.
    pub fn binding_rules(&self) -> BindingRules {
        BindingRules {
            key: self.metadata.dpop_bound_access_tokens,
            certificate: self.metadata.tls_client_certificate_bound_access_tokens,
            any: self.require_profile.is_some(),
        }
    }

    /// Tells whether it wants its tokens bound to a certificate, and no others.
    pub fn demands_certificates(&self) -> bool {
        self.metadata.tls_client_certificate_bound_access_tokens
    }

    /// Lists the roles that it holds at `home` and that exist there.
    pub fn roles_at(&self, home: Option<&organization::Known>) -> Vec<&str> {
        let Some(home) = home else { return Vec::new() };
        self.roles.iter().map(String::as_str).filter(|role| home.has_role(role)).collect()
    }
}

/// Why a client may not ask for codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotForCodes {
    NotRegistered,
    /// Its profile is not offered yet.
    Profile,
}
