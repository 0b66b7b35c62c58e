//! Which makers of authenticators are believed when they say that a passkey is in their hardware
//! (WebAuthn §6.5, adr/0059).

use super::Credential;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use std::fmt::Write as _;
use uuid::Uuid;
use webauthn_rs::prelude::{AttestationCaList, AttestationMetadata};
use x509_parser::{certificate::X509Certificate, prelude::FromDer as _};

/// Whose attestation counts.
pub struct AttestationPolicy {
    /// One list each: of two roots of one name the library would look at the first alone.
    roots: Vec<AttestationCaList>,
    /// The models that count; all of these makers where there is none.
    models: Vec<Uuid>,
}

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AttestationFault {
    #[error("holds no certificate in PEM")]
    Empty,
    #[error("certificate {0} cannot be read")]
    Unreadable(usize),
    #[error("certificate {0} is not one of an authority")]
    NoAuthority(usize),
}

impl AttestationPolicy {
    /// Reads the certificates of the makers, one PEM after another.
    pub fn read(pem: &[u8], models: Vec<Uuid>) -> Result<Self, AttestationFault> {
        let mut roots = Vec::new();
        for (before, der) in CertificateDer::pem_slice_iter(pem).enumerate() {
            let unreadable = || AttestationFault::Unreadable(before + 1);
            let der = der.map_err(|_| unreadable())?;
            let (_, certificate) = X509Certificate::from_der(&der).map_err(|_| unreadable())?;
            if !certificate.is_ca() {
                return Err(AttestationFault::NoAuthority(before + 1));
            }
            let root = AttestationCaList::try_from(pem_of(&der).as_bytes());
            roots.push(root.map_err(|_| unreadable())?);
        }
        if roots.is_empty() { Err(AttestationFault::Empty) } else { Ok(Self { roots, models }) }
    }

    /// Returns how many certificates there are.
    pub fn roots(&self) -> usize {
        self.roots.len()
    }

    /// Tells whether one of the makers says that this passkey does not leave their hardware.
    ///
    /// Which key the statement is about was verified when the passkey was registered.
    pub(super) fn vouches_for(&self, credential: &Credential) -> bool {
        // What a maker attests of a key that can be copied is not that it stays where it is.
        if credential.backup_eligible || !credential.user_verified {
            return false;
        }
        // Other formats name no model, or speak of the phone and not of the key.
        let (AttestationMetadata::Packed { aaguid: model }
        | AttestationMetadata::Tpm { aaguid: model, .. }) = credential.attestation.metadata
        else {
            return false;
        };
        let is_trusted =
            |root: &AttestationCaList| matches!(credential.verify_attestation(root), Ok(Some(_)));
        (self.models.is_empty() || self.models.contains(&model))
            && self.roots.iter().any(is_trusted)
    }
}

/// Writes a certificate in the one form that the library reads.
fn pem_of(der: &[u8]) -> String {
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for line in STANDARD.encode(der).as_bytes().chunks(64) {
        let line = std::str::from_utf8(line).expect("base64 is ASCII");
        writeln!(pem, "{line}").expect("writing to a text does not fail");
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}
