//! Why a sign-in at a provider came to nothing: it could not be asked, or is not believed.

use crate::{
    client_documents::FetchFault,
    crypto::{JwsFault, UnverifiedSignature},
    domain::upstream::{CallbackFault, ClaimsFault, GitHubFault, MetadataFault, ProviderError},
    outbound::OutboundError,
};

/// Why there is no person; never with a code, a token or a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// The provider gave no answer that could be used; another try may.
    #[error(transparent)]
    Unavailable(#[from] ProviderFailure),
    /// The provider refused, or what it says is not believed.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// What of a provider was called, and why it gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} {cause}")]
pub struct ProviderFailure {
    pub part: Part,
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Part {
    #[error("the provider's metadata")]
    Metadata,
    #[error("the provider's key set")]
    KeySet,
    #[error("the provider's token endpoint")]
    TokenEndpoint,
    /// GitHub's.
    #[error("the provider's API")]
    Api,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    #[error("was not asked: so much is being asked that this must wait")]
    Busy,
    #[error("lies at an address that may not be called")]
    Forbidden,
    #[error("cannot be reached: its name has no address, or no address answers")]
    Unreachable,
    #[error(
        "cannot be reached: the TLS handshake failed, perhaps for a certificate that is not trusted"
    )]
    Tls,
    #[error("did not answer in time")]
    TimedOut,
    #[error("answered more than is read")]
    TooLong,
    #[error("broke off its answer")]
    Broken,
    #[error("answered with status {0}; redirects are not followed")]
    Status(u16),
    #[error("answered something that is not JSON, or has a member twice")]
    NotJson,
    #[error("is not a key set that can be used")]
    NoKeySet,
}

/// What is not believed, or was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the metadata {0}")]
    Metadata(#[from] MetadataFault),
    #[error("the provider accepts no way of ours to authenticate: {0}")]
    Authentication(&'static str),
    #[error("this node has no key to sign with")]
    NoSigner,
    #[error("the answer {0}")]
    Callback(#[from] CallbackFault),
    #[error("the provider answered the browser with the error {}", shown(.0))]
    Denied(ProviderError),
    #[error("the provider refused the exchange of the code with the error {}", shown(.0))]
    Exchange(ProviderError),
    #[error("the token answer {0}")]
    Answer(&'static str),
    #[error("the ID token {0}")]
    IdToken(TokenFault),
    #[error("the logout token {0}")]
    LogoutToken(TokenFault),
    #[error("GitHub's answer {0}")]
    GitHub(#[from] GitHubFault),
    #[error("this kind of provider has no such function")]
    Unsupported,
}

/// Why a token is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    #[error("cannot be read: {0}")]
    Unreadable(#[from] JwsFault),
    #[error("is signed by an algorithm that the metadata does not list")]
    Algorithm,
    #[error("is of another type")]
    Type,
    #[error("is not signed by a key of the provider's")]
    Signature(UnverifiedSignature),
    #[error("has claims that are not JSON, or one of them twice")]
    Payload,
    #[error("{0}")]
    Claims(#[from] ClaimsFault),
}

fn shown(error: &ProviderError) -> String {
    let ProviderError { code, description } = error;
    description.as_ref().map_or(code.clone(), |description| format!("{code}: {description}"))
}

impl UpstreamError {
    /// A stable name for machines.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unavailable(unavailable) => unavailable.cause.reason(),
            Self::Refused(refusal) => refusal.reason(),
        }
    }

    /// What was asked when there was no answer: `metadata`, `key_set`, `token_endpoint`, `api`.
    pub const fn part(&self) -> Option<&'static str> {
        match self {
            Self::Unavailable(unavailable) => Some(unavailable.part.name()),
            Self::Refused(_) => None,
        }
    }

    pub const fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

impl Part {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::KeySet => "key_set",
            Self::TokenEndpoint => "token_endpoint",
            Self::Api => "api",
        }
    }
}

impl Cause {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Forbidden => "address_forbidden",
            Self::Unreachable => "unreachable",
            Self::Tls => "tls_failed",
            Self::TimedOut => "timed_out",
            Self::TooLong => "answer_too_long",
            Self::Broken => "answer_broken_off",
            Self::Status(_) => "unexpected_status",
            Self::NotJson => "answer_not_json",
            Self::NoKeySet => "key_set_malformed",
        }
    }
}

impl Refusal {
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Metadata(fault) => fault.reason(),
            Self::Authentication(_) => "no_common_authentication",
            Self::NoSigner => "no_signing_key",
            Self::Callback(fault) => fault.reason(),
            Self::Denied(_) => "provider_error",
            Self::Exchange(error) => match error.code.as_str() {
                // The second name of each is GitHub's.
                "invalid_grant" | "bad_verification_code" => "code_refused",
                "invalid_client" | "incorrect_client_credentials" => "client_refused",
                _ => "exchange_refused",
            },
            Self::Answer(_) => "token_answer_malformed",
            Self::IdToken(fault) | Self::LogoutToken(fault) => fault.reason(),
            Self::GitHub(fault) => fault.reason(),
            Self::Unsupported => "unsupported",
        }
    }
}

impl TokenFault {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Unreadable(JwsFault::Algorithm) | Self::Algorithm => "algorithm_refused",
            Self::Unreadable(_) | Self::Payload => "token_malformed",
            Self::Type => "token_of_another_type",
            Self::Signature(UnverifiedSignature::NoKey) => "signing_key_unknown",
            Self::Signature(_) => "signature_invalid",
            Self::Claims(fault) => fault.reason(),
        }
    }
}

impl From<&OutboundError> for Cause {
    fn from(error: &OutboundError) -> Self {
        match error {
            OutboundError::Scheme
            | OutboundError::Credentials
            | OutboundError::BadUrl
            | OutboundError::Forbidden => Self::Forbidden,
            OutboundError::RateLimited => Self::Busy,
            OutboundError::Unresolved(_) | OutboundError::Unreachable(_) => Self::Unreachable,
            OutboundError::Tls(_) => Self::Tls,
            OutboundError::Malformed(_) | OutboundError::Broken(_) | OutboundError::Short => {
                Self::Broken
            }
            OutboundError::TooLong => Self::TooLong,
            OutboundError::TimedOut => Self::TimedOut,
        }
    }
}

impl From<&FetchFault> for Cause {
    fn from(fault: &FetchFault) -> Self {
        match fault {
            FetchFault::Busy => Self::Busy,
            FetchFault::NoUrl => Self::Forbidden,
            FetchFault::Unreachable(error) => Self::from(error),
            FetchFault::Status(status) => Self::Status(status.as_u16()),
        }
    }
}
