//! Certificates of clients, and the names in them.

use super::{Outcome, text};
use crate::{
    crypto::{ClientCertificate, ClientEvidence, ClientKeys},
    domain::distinguished_name::DistinguishedName,
};
use rustls::pki_types::CertificateDer;
use serde_json::json;

/// One certificate as it comes in a handshake.
pub(super) fn client_certificate(bytes: &[u8]) -> Outcome {
    let read = ClientCertificate::read(vec![CertificateDer::from(bytes.to_vec())]);
    if let Ok(certificate) = &read {
        let (begins, ends) = certificate.times();
        assert!(begins > ends || certificate.check_time(begins).is_ok());
        if let Some(jwk) = certificate.jwk() {
            let set = json!({ "keys": [jwk] });
            let evidence = ClientEvidence::Certificate(certificate);
            let keys = ClientKeys::read_for(&evidence, &set).and_then(Result::ok);
            let is_known = keys.is_none_or(|keys| keys.verify(&evidence).is_ok());
            assert!(is_known, "a key set with a certificate has that certificate");
        }
    }
    Outcome::of(&read.map(|read| (read.unfit(), read.is_self_issued(), read.key.is_some())))
}

/// The name of a certificate's subject, as a client registers it (RFC 4514).
pub(super) fn distinguished_name(bytes: &[u8]) -> Outcome {
    let Some(name) = text(bytes) else { return Outcome::NO_TEXT };
    Outcome::of(&DistinguishedName::parse(name).is_ok())
}
