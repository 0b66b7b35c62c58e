//! `tls_client_auth` and `self_signed_tls_client_auth`: a client is known by the certificate of its connection (RFC 8705 §2).

use crate::{
    crypto::{ClientCertificate, ClientEvidence, Unverified},
    domain::client::{AuthMethod, KnownClient},
    http::{answer::error::OAuthError, app::App, clients::client_keys},
};
use axum::{extract::FromRequestParts, http::request::Parts};
use std::{convert::Infallible, sync::Arc};

/// The certificate that a request came with, if there is one.
pub struct RequestCertificate(pub Option<Arc<ClientCertificate>>);

impl RequestCertificate {
    pub fn of(head: &Parts) -> Self {
        Self(head.extensions.get::<Arc<ClientCertificate>>().cloned())
    }
}

impl FromRequestParts<App> for RequestCertificate {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(Self::of(head))
    }
}

/// Why a certificate does not authenticate.
pub enum Refused {
    /// For the log alone.
    Disbelieved(String),
    /// Nothing is wrong with it that we know of.
    Failed(OAuthError),
}

/// Believes that a certificate is this client's.
pub async fn judge(
    app: &App,
    client: &KnownClient,
    method: AuthMethod,
    certificate: &ClientCertificate,
) -> Result<(), Refused> {
    let disbelieved = |why: &dyn ToString| Refused::Disbelieved(why.to_string());
    let now = app.clock.now();
    certificate.check_time(now).map_err(|why| disbelieved(&why))?;
    if method == AuthMethod::SelfSignedTlsClientAuth {
        let evidence = ClientEvidence::Certificate(certificate);
        return match client_keys::verify(app, client, evidence).await {
            Ok(()) => Ok(()),
            Err(why @ Unverified::Busy) => {
                Err(Refused::Failed(OAuthError::unavailable().because(why.to_string())))
            }
            Err(why) => Err(disbelieved(&why)),
        };
    }
    let mutual_tls = app.settings.mutual_tls.as_ref();
    let authorities = mutual_tls.and_then(|mutual_tls| mutual_tls.authorities.as_ref());
    let authorities = authorities.ok_or_else(|| disbelieved(&"mtls.client_ca is not set"))?;
    authorities.verify(certificate, now).map_err(|why| disbelieved(&why))?;
    let subject = client.metadata.certificate_subject();
    if subject.is_some_and(|subject| subject.is_in(&certificate.names)) {
        Ok(())
    } else {
        Err(disbelieved(&"the certificate names another client"))
    }
}
