//! Warnings: what a file may say and an installation may hold, and what will not work as it reads.
//!
//! A file with warnings is applied. `porteiro apply` prints those about what its file names, and
//! `porteiro doctor` those of the whole installation.

use super::{lists::Entries, names_in_use::NamesInUse};
use crate::{
    actors::HydrateError,
    domain::{
        Machine as _,
        api_key::{API_KEYS, ApiKey},
        authority::{Permission, own_permissions},
        client::{AuthMethod, CLIENTS, Client, ClientMetadata, KnownClient},
        organization::{self, ORGANIZATIONS, Organization},
        resource::{self, RESOURCES, Resource},
    },
    store::Store,
};
use serde::Serialize;
use std::fmt;

/// Something that will not work as it reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub kind: &'static str,
    /// The name by which a file knows the entity: `slug`, `client_id`.
    pub id: String,
    #[serde(rename = "warning")]
    pub text: String,
}

/// How clients can come with certificates to an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateSupport {
    None,
    /// Of their own, which their key sets hold.
    SelfSigned,
    /// Of authorities too.
    Authorities,
}

/// One line for people: `! client shop: …`.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "! {} {}: {}", self.kind, self.id, self.text)
    }
}

impl Warning {
    /// Warns of a client of the operator's that cannot authenticate.
    ///
    /// Clients that registered themselves are not the operator's to mend.
    pub(super) fn of_client(client: &KnownClient) -> Option<Self> {
        if client.suspended || client.registration.is_some() {
            return None;
        }
        cannot_authenticate(client).map(|text| Self::about_client(client, text))
    }

    /// Warns of a client that is to come with a certificate where none is looked at.
    fn of_certificates(client: &KnownClient, support: CertificateSupport) -> Option<Self> {
        if client.suspended {
            return None;
        }
        let method = client.metadata.token_endpoint_auth_method;
        let by_certificate = method.is_some_and(AuthMethod::is_by_certificate);
        let text = match support {
            CertificateSupport::None if by_certificate || client.demands_certificates() => {
                "it needs the certificate of its connection, and neither `mtls.listen` nor \
                 `client_cert_header` is set: it gets no token"
            }
            CertificateSupport::SelfSigned if method == Some(AuthMethod::TlsClientAuth) => {
                "it authenticates by a certificate of an authority, and `mtls.client_ca` is not set"
            }
            _ => return None,
        };
        Some(Self::about_client(client, text))
    }

    fn about_client(client: &KnownClient, text: &str) -> Self {
        Self { kind: Client::KIND, id: client.client_id.clone(), text: text.to_owned() }
    }

    /// Warns of permissions in the roles of an organization that open nothing.
    pub(super) fn of_roles(home: &organization::Known, apis: &ApiPermissions) -> Vec<Self> {
        let mut warnings = Vec::new();
        for role in &home.roles {
            for permission in role.permissions.iter().filter(|one| !apis.know(one)) {
                let text = format!(
                    "the role `{}` has the permission `{permission}`, which no API has and which is \
                     none of Porteiro's own: it opens nothing",
                    role.name
                );
                let (kind, id) = (Organization::KIND, home.slug.clone());
                warnings.push(Self { kind, id, text });
            }
        }
        warnings
    }

    /// Lists the warnings of an installation, at most so many; reads and changes nothing.
    pub async fn of_installation(
        store: &Store,
        certificates: CertificateSupport,
        most: usize,
    ) -> Result<Vec<Self>, HydrateError> {
        let mut apis = ApiPermissions::default();
        let in_use = NamesInUse::read(store).await?;
        let mut warnings = Vec::new();
        let mut resources = Entries::<Resource>::in_store(store, RESOURCES, "");
        while let Some((_, resource)) = resources.next().await? {
            apis.extend(resource.known());
            warnings.extend(resource.known().and_then(|known| in_use.by_resource(known)));
        }
        let mut homes = Entries::<Organization>::in_store(store, ORGANIZATIONS, "");
        while let Some((_, home)) = homes.next().await?.filter(|_| warnings.len() < most) {
            let enabled = home.known().filter(|home| home.enabled);
            warnings.extend(enabled.iter().flat_map(|home| Self::of_roles(home, &apis)));
            warnings.extend(home.known().into_iter().flat_map(|home| in_use.by_roles(home)));
            if let Some(home) = home.known().filter(|_| in_use.is_any()) {
                let mut keys = Entries::<ApiKey>::in_store(store, API_KEYS, &home.slug);
                while let Some((_, key)) = keys.next().await?.filter(|_| warnings.len() < most) {
                    warnings.extend(in_use.by_key(&key));
                }
            }
        }
        let mut clients = Entries::<Client>::in_store(store, CLIENTS, "");
        while let Some((_, client)) = clients.next().await?.filter(|_| warnings.len() < most) {
            let warn = |client| {
                Self::of_client(client).or_else(|| Self::of_certificates(client, certificates))
            };
            warnings.extend(client.held().and_then(warn));
        }
        warnings.truncate(most);
        Ok(warnings)
    }
}

/// The permissions that APIs know: their scopes, and what their details demand of a person.
#[derive(Default)]
pub(super) struct ApiPermissions(Vec<Permission>);

impl ApiPermissions {
    /// Adds the permissions of an API, if there is one.
    pub(super) fn extend(&mut self, resource: Option<&resource::Known>) {
        let Some(resource) = resource else { return };
        let details = resource.authorization_details.iter();
        let demanded = details.filter_map(|detail| detail.permission.as_ref());
        self.0.extend(resource.scopes.iter().chain(demanded).cloned());
    }

    /// Tells whether a permission opens something: at an API, or with us.
    fn know(&self, permission: &Permission) -> bool {
        let opens = |one: &Permission| permission.covers(one.as_str());
        own_permissions().any(|own| opens(&own)) || self.0.iter().any(opens)
    }
}

/// Says why a client cannot authenticate, if it cannot and its operator has not said that it need not.
fn cannot_authenticate(client: &KnownClient) -> Option<&'static str> {
    let metadata = &client.metadata;
    match metadata.token_endpoint_auth_method {
        None if client.secret.is_none() => Some(
            "it has no `client_secret` and names no `token_endpoint_auth_method`, so it cannot \
             authenticate and is a public client: give it a secret or keys, or say \
             `token_endpoint_auth_method = \"none\"`",
        ),
        Some(AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost)
            if client.secret.is_none() =>
        {
            Some("it has no `client_secret`, so it cannot authenticate")
        }
        Some(AuthMethod::PrivateKeyJwt | AuthMethod::SelfSignedTlsClientAuth)
            if !has_keys(metadata) =>
        {
            Some("it has neither a `jwks_uri` nor a key in `jwks`, so it cannot authenticate")
        }
        Some(AuthMethod::TlsClientAuth) if metadata.certificate_subject().is_none() => Some(
            "it names no certificate, by `tls_client_auth_subject_dn` or another of its kind, so it \
             cannot authenticate",
        ),
        _ => None,
    }
}

fn has_keys(metadata: &ClientMetadata) -> bool {
    let keys = metadata.jwks.as_ref().and_then(|set| set.get("keys")?.as_array());
    metadata.jwks_uri.is_some() || keys.is_some_and(|keys| !keys.is_empty())
}
