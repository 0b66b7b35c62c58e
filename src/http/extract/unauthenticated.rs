//! Why a request is not taken to be from the client that it names.

use super::signed_claims::SignedClaimsFault;
use crate::{
    crypto::{CertificateFault, UntrustedCertificate, UnverifiedSignature},
    http::answer::error::OAuthError,
};

/// Why a client is not authenticated.
#[derive(Debug)]
pub enum AuthenticationFailure {
    Disbelieved(Disbelief),
    /// Nothing is wrong with it that we know of.
    Failed(OAuthError),
}

/// Why a client is not believed; for the log alone.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Disbelief {
    #[error("there is no such client")]
    UnknownClient,
    #[error("the client is registered for another method")]
    OtherMethod,
    #[error("the secret is not the client's")]
    WrongSecret,
    #[error("the connection has no certificate")]
    NoCertificate,
    #[error("the certificate: {0}")]
    Certificate(#[from] CertificateFault),
    #[error("the certificate: {0}")]
    Untrusted(#[from] UntrustedCertificate),
    #[error("the certificate: {0}")]
    OtherKey(UnverifiedSignature),
    #[error("mtls.client_ca is not set")]
    NoAuthorities,
    #[error("the certificate names another client")]
    OtherName,
    #[error("the assertion: {0}")]
    Assertion(#[from] SignedClaimsFault),
}

impl<D: Into<Disbelief>> From<D> for AuthenticationFailure {
    fn from(why: D) -> Self {
        Self::Disbelieved(why.into())
    }
}

impl AuthenticationFailure {
    /// Says why a client's keys do not verify: that they cannot be had now says nothing of the caller.
    pub fn by_key(
        why: UnverifiedSignature,
        disbelief: impl FnOnce(UnverifiedSignature) -> Disbelief,
    ) -> Self {
        match why {
            UnverifiedSignature::Busy => {
                Self::Failed(OAuthError::unavailable().because(why.to_string()))
            }
            why => Self::Disbelieved(disbelief(why)),
        }
    }
}
