//! What a client may do in its own name.

use super::{AuthMethod, DeliveryMode, GrantType, KnownClient, ResponseType, redirect_uri};
use crate::domain::{
    authority::{Bound, GrantedAuthority, Permissions, RequestedAuthority, Widening, narrow},
    organization,
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

    /// Tells whether the client may ask for codes.
    pub fn may_ask_for_codes(&self) -> Result<(), NotRegistered> {
        let types = self.metadata.response_types(self.organization.is_some());
        let has_type = types.contains(&ResponseType::Code);
        let may_ask = self.may_use(GrantType::AuthorizationCode) && has_type;
        if may_ask { Ok(()) } else { Err(NotRegistered) }
    }

    /// Tells why the client may not ask by a device (RFC 8628), if it may not.
    pub fn may_ask_by_device(&self) -> Result<(), NotRegistered> {
        if self.may_use(GrantType::DeviceCode) { Ok(()) } else { Err(NotRegistered) }
    }

    /// Tells why the client may not ask people by a back channel (CIBA Core §7.1), if it may not.
    pub fn may_ask_by_back_channel(&self) -> Result<(), NotRegistered> {
        if self.may_use(GrantType::Ciba) { Ok(()) } else { Err(NotRegistered) }
    }

    /// Tells whether it is pinged when a person has decided (CIBA Core §5).
    pub fn is_pinged(&self) -> bool {
        self.metadata.backchannel_token_delivery_mode == Some(DeliveryMode::Ping)
    }

    /// Tells whether another program on the person's machine could pose as this client
    /// (RFC 8252 §8.6).
    pub fn can_be_posed_as(&self, uri: &str) -> bool {
        self.authenticates_by(AuthMethod::None)
            && (redirect_uri::is_loopback(uri) || redirect_uri::is_private_use(uri))
    }

    /// Lists the roles that it holds at `home` and that exist there.
    pub fn roles_at(&self, home: Option<&organization::Known>) -> Vec<&str> {
        let Some(home) = home else { return Vec::new() };
        self.roles.iter().map(String::as_str).filter(|role| home.has_role(role)).collect()
    }
}

/// A client may not use a grant: it has not registered for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRegistered;
