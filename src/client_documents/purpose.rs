//! What a document is fetched for.

/// What a document is fetched for; each purpose has slots of its own, so that none takes another's.
///
/// What clients said that registered themselves, or that are known by a document alone, is fetched apart
/// from what an operator or an organization has provisioned: callers without credentials can have any
/// number of such addresses called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FetchPurpose {
    /// At the `jwks_uri` of a client that was provisioned.
    KeySet,
    SelfRegisteredKeySet,
    /// At an address that is a `client_id`.
    Metadata,
    /// At a `request_uri` of a client that was provisioned.
    RequestObject,
    SelfRegisteredRequestObject,
    Logo,
    /// At a `sector_identifier_uri`.
    Sector,
    /// Of an upstream provider, whose address a connection names.
    ProviderMetadata,
    /// At the `jwks_uri` of an upstream provider.
    ProviderKeySet,
}

impl FetchPurpose {
    pub(super) const ALL: [Self; 9] = [
        Self::KeySet,
        Self::SelfRegisteredKeySet,
        Self::Metadata,
        Self::RequestObject,
        Self::SelfRegisteredRequestObject,
        Self::Logo,
        Self::Sector,
        Self::ProviderMetadata,
        Self::ProviderKeySet,
    ];

    /// How many documents are fetched at once.
    pub(super) const fn slots(self) -> usize {
        match self {
            Self::KeySet
            | Self::SelfRegisteredKeySet
            | Self::Metadata
            | Self::ProviderMetadata
            | Self::ProviderKeySet => 64,
            Self::RequestObject | Self::SelfRegisteredRequestObject => 32,
            Self::Logo | Self::Sector => 16,
        }
    }

    /// Tells whether callers without credentials choose what is fetched.
    pub(super) const fn is_strangers(self) -> bool {
        let provisioned = matches!(self, Self::KeySet | Self::RequestObject);
        !provisioned && !self.is_provider()
    }

    /// Tells whether it is of an upstream provider: its addresses are https unless it is on loopback.
    pub(super) const fn is_provider(self) -> bool {
        matches!(self, Self::ProviderMetadata | Self::ProviderKeySet)
    }

    /// So many hosts use all slots of a purpose; one alone has its share.
    pub(super) const HOSTS: usize = 8;

    /// The media types that are asked for.
    pub(super) const fn accept(self) -> &'static str {
        match self {
            Self::KeySet | Self::SelfRegisteredKeySet | Self::ProviderKeySet => {
                "application/jwk-set+json, application/json"
            }
            Self::Metadata | Self::Sector | Self::ProviderMetadata => "application/json",
            Self::RequestObject | Self::SelfRegisteredRequestObject => {
                "application/oauth-authz-req+jwt, application/jwt"
            }
            Self::Logo => "image/png, image/jpeg, image/webp",
        }
    }

    /// What is fetched, for the log.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::KeySet | Self::SelfRegisteredKeySet => "key set",
            Self::Metadata => "metadata document",
            Self::RequestObject | Self::SelfRegisteredRequestObject => "request object",
            Self::Logo => "logo",
            Self::Sector => "sector document",
            Self::ProviderMetadata => "metadata of a provider",
            Self::ProviderKeySet => "key set of a provider",
        }
    }
}
