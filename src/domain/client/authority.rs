//! What a client may do in its own name.

use super::KnownClient;
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
