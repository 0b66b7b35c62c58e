//! `tls_client_auth` and `self_signed_tls_client_auth`: a client is known by the certificate of its connection (RFC 8705 §2).

use super::unauthenticated::{AuthenticationFailure, Disbelief};
use crate::{
    crypto::{ClientCertificate, ClientEvidence},
    domain::client::{AuthMethod, KnownClient},
    http::{app::App, clients::client_keys},
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

/// Believes that a certificate is this client's.
pub async fn judge(
    app: &App,
    client: &KnownClient,
    method: AuthMethod,
    certificate: &ClientCertificate,
) -> Result<(), AuthenticationFailure> {
    let now = app.clock.now();
    certificate.check_time(now)?;
    if method == AuthMethod::SelfSignedTlsClientAuth {
        let evidence = ClientEvidence::Certificate(certificate);
        let verified = client_keys::verify(app, client, evidence).await;
        return verified.map_err(|why| AuthenticationFailure::by_key(why, Disbelief::OtherKey));
    }
    let mutual_tls = app.settings.mutual_tls.as_ref();
    let authorities = mutual_tls.and_then(|mutual_tls| mutual_tls.authorities.as_ref());
    authorities.ok_or(Disbelief::NoAuthorities)?.verify(certificate, now)?;
    let subject = client.metadata.certificate_subject();
    if subject.is_some_and(|subject| subject.is_in(&certificate.names)) {
        Ok(())
    } else {
        Err(Disbelief::OtherName.into())
    }
}
