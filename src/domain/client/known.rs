//! What is known of a client.

use super::{
    AgentLimits, AuthMethod, ClientMetadata, FormerSecret, GrantType, Profile, Refusal,
    Registration,
};
use crate::domain::{Fingerprint, Timestamp, authority::Scopes, epoch::is_first, organization};
use serde::{Deserialize, Serialize};
use std::ops::Not;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub struct KnownClient {
    pub client_id: String,
    pub metadata: ClientMetadata,
    pub secret: Option<Fingerprint>,
    /// The secret before, if it is good for some time yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<FormerSecret>,
    /// The slug of the one organization it speaks for by itself.
    pub organization: Option<String>,
    /// Its roles there.
    pub roles: Vec<String>,
    /// First party: people are not asked for consent.
    pub trusted: bool,
    /// The organization has made it: it serves its members and no other person (adr/0079).
    #[serde(default, skip_serializing_if = "Not::not")]
    pub members_only: bool,
    /// Every ID token tells the claims of its scopes, for libraries that read nothing else.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub claims_in_id_token: bool,
    pub require_profile: Option<Profile>,
    /// The resources whose tokens it may introspect.
    pub introspects: Vec<String>,
    /// The one client that may act with its tokens, if it is limited to one (RFC 8693 §4.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_act: Option<String>,
    /// What the operator lets it do as an agent, if it is one (adr/0093).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leash: Option<AgentLimits>,
    /// Of one that registered itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration: Option<Registration>,
    /// It gets nothing, and what was issued to it is good no more.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub suspended: bool,
    /// How often it was enabled again; what people granted before belongs to an earlier epoch.
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    /// When it was last enabled again: tokens in its own name from before stay ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled_at: Option<Timestamp>,
    /// How often its redirect URIs have changed while it was not the operator's: a consent that was given
    /// for others is void.
    #[serde(default, skip_serializing_if = "is_first")]
    pub redirects_epoch: u64,
}

impl KnownClient {
    pub(super) fn new(client_id: &str) -> Self {
        Self {
            client_id: client_id.to_owned(),
            metadata: ClientMetadata::default(),
            secret: None,
            former: None,
            organization: None,
            roles: Vec::new(),
            trusted: false,
            members_only: false,
            claims_in_id_token: false,
            require_profile: None,
            introspects: Vec::new(),
            may_act: None,
            leash: None,
            registration: None,
            suspended: false,
            epoch: 0,
            enabled_at: None,
            redirects_epoch: 0,
        }
    }

    /// Tells whether it may prove itself this way.
    ///
    /// A client that named no method may present its secret either way, or has none and is public.
    pub fn authenticates_by(&self, method: AuthMethod) -> bool {
        match (self.metadata.token_endpoint_auth_method, self.secret) {
            (Some(registered), _) => registered == method,
            (None, Some(_)) => {
                matches!(method, AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost)
            }
            (None, None) => method == AuthMethod::None,
        }
    }

    pub fn may_use(&self, grant: GrantType) -> bool {
        self.metadata.grant_types(self.organization.is_some()).contains(&grant)
    }

    /// Returns the most it may ask for, where its registration says so.
    pub fn ceiling(&self) -> Option<Scopes> {
        let registered = self.metadata.scope.as_deref()?;
        // What cannot be read as scopes covers none.
        Some(Scopes::parse(registered).unwrap_or_default())
    }

    /// Tells whether it may ask for details of this type: of any, unless its registration names some.
    pub fn may_ask_in_detail(&self, kind: &str) -> bool {
        let types = &self.metadata.authorization_details_types;
        types.is_empty() || types.iter().any(|one| one == kind)
    }

    /// Checks what only the whole can tell; roles that were `held` before are not asked for again,
    /// for its organization may have dropped one since.
    pub(super) fn check(
        &self,
        home: Option<&organization::Known>,
        held: &[String],
    ) -> Result<(), Refusal> {
        let mut faults = self.metadata.check_whole(self.organization.is_some());
        faults.extend(self.profile_faults());
        if !faults.is_empty() {
            return Err(Refusal::Metadata(faults));
        }
        match (&self.organization, home) {
            (None, _) if !self.roles.is_empty() => return Err(Refusal::RolesNowhere),
            (None, _) => {}
            (Some(slug), None) => return Err(Refusal::NoSuchOrganization(slug.clone())),
            (Some(slug), Some(home)) if !home.enabled => {
                return Err(Refusal::Suspended(slug.clone()));
            }
            (Some(_), Some(_)) if self.roles == held => {}
            (Some(_), Some(home)) => {
                if let Some(role) = self.roles.iter().find(|role| !home.has_role(role)) {
                    return Err(Refusal::NoSuchRole(role.clone()));
                }
            }
        }
        let by_secret = self.authenticates_by(AuthMethod::ClientSecretBasic)
            || self.authenticates_by(AuthMethod::ClientSecretPost);
        match (by_secret, self.secret.is_some()) {
            (true, false) => return Err(Refusal::SecretMissing),
            (false, true) => return Err(Refusal::SecretUseless),
            _ => {}
        }
        let public = self.authenticates_by(AuthMethod::None);
        if public && self.may_use(GrantType::ClientCredentials) {
            return Err(Refusal::PublicMachine);
        }
        Ok(())
    }
}
