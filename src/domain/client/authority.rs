//! What a client may do in its own name.

use super::{AuthMethod, GrantType, KnownClient, ResponseType, SubjectType, redirect_uri};
use crate::domain::{
    authority::{Asked, Bound, Granted, Permissions, Widening, narrow},
    organization,
};

impl KnownClient {
    /// Grants what is asked, if the registration and the roles at `home` cover all of it.
    pub fn narrow(
        &self,
        home: Option<&organization::Known>,
        asked: Asked,
    ) -> Result<Granted, Widening> {
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

    fn wants_what_is_offered(&self) -> Result<(), NotForCodes> {
        let metadata = &self.metadata;
        if self.demands_bound_tokens() {
            return Err(NotForCodes::BoundTokens);
        }
        if metadata.subject_type == Some(SubjectType::Pairwise) {
            return Err(NotForCodes::PairwiseSubjects);
        }
        if metadata.require_signed_request_object {
            return Err(NotForCodes::SignedRequests);
        }
        Ok(())
    }

    /// Tells whether another program on the person's machine could pose as this client
    /// (RFC 8252 §8.6).
    pub fn can_be_posed_as(&self, uri: &str) -> bool {
        self.authenticates_by(AuthMethod::None)
            && (redirect_uri::is_loopback(uri) || redirect_uri::is_private_use(uri))
    }

    /// Tells whether it wants its tokens bound to a key or a certificate, and no others.
    pub fn demands_bound_tokens(&self) -> bool {
        let metadata = &self.metadata;
        metadata.dpop_bound_access_tokens
            || metadata.tls_client_certificate_bound_access_tokens
            || self.require_profile.is_some()
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
    /// These and the rest are not offered yet.
    BoundTokens,
    PairwiseSubjects,
    SignedRequests,
}
