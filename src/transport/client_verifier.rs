//! What a handshake demands of a client's certificate: that there is one at all is the client's choice; that it holds the key is
//! always proved.
//!
//! Whom it names, and whether an authority says so, is judged later, by what the client has registered: a certificate that a
//! client has signed itself is as good here as any (RFC 8705 §2.2).

use crate::crypto::{CertificateFault, ClientCertificate, check_size};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme,
    crypto::{
        CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    },
    pki_types::{CertificateDer, UnixTime},
    server::{
        ParsedCertificate,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};
use std::sync::Arc;

/// Takes any certificate that is well-formed and good now.
#[derive(Debug)]
pub(super) struct AnyCertificate {
    algorithms: WebPkiSupportedAlgorithms,
}

impl AnyCertificate {
    pub(super) fn new(provider: &CryptoProvider) -> Arc<Self> {
        Arc::new(Self { algorithms: provider.signature_verification_algorithms })
    }
}

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// None: a client with a certificate of its own must not think that it has none for us.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let chain: Vec<CertificateDer<'_>> = [own].into_iter().chain(others).cloned().collect();
        check_size(&chain).map_err(refused)?;
        ParsedCertificate::try_from(own)?;
        let read = ClientCertificate::read(vec![own.clone().into_owned()]).map_err(refused)?;
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        read.check_time_at(seconds).map_err(refused)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn refused(fault: CertificateFault) -> Error {
    Error::InvalidCertificate(match fault {
        CertificateFault::Expired => CertificateError::Expired,
        CertificateFault::NotValidYet => CertificateError::NotValidYet,
        CertificateFault::None | CertificateFault::TooMuch | CertificateFault::Malformed => {
            CertificateError::BadEncoding
        }
    })
}
