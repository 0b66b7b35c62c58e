//! The authorities we trust when we call: the public ones, and those that the operator adds.

use super::TrustError;
use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::sync::Arc;
use tokio_rustls::TlsConnector;

/// Builds the client side of TLS.
pub(super) fn connector(extra_ca: Option<&[u8]>) -> Result<TlsConnector, TrustError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(pem) = extra_ca {
        add(&mut roots, pem)?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider speaks both versions of tls")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // No resumption: a call must not be linked to an earlier one.
    config.resumption = Resumption::disabled();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn add(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), TrustError> {
    let before = roots.len();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(TrustError::Unreadable)?;
        roots.add(certificate).map_err(TrustError::Unusable)?;
    }
    if roots.len() == before { Err(TrustError::Empty) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_that_would_add_nothing_are_an_error_and_not_ignored() {
        let der_in_pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let cut_short = "-----BEGIN CERTIFICATE-----\nAAAA\n";
        let tried = |pem: &str| connector(Some(pem.as_bytes())).map(|_| ()).unwrap_err();
        assert!(matches!(tried("corp-ca"), TrustError::Empty));
        assert!(matches!(tried(cut_short), TrustError::Unreadable(_)));
        assert!(matches!(tried(der_in_pem), TrustError::Unusable(_)));
        assert!(connector(None).is_ok());
    }
}
