//! The authorities whose certificates name clients (`tls_client_auth`, RFC 8705 §2.1).

use super::ClientCertificate;
use crate::domain::Timestamp;
use rustls::{
    RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, UnixTime, pem::PemObject as _},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

/// Why authorities cannot be used; names the file.
#[derive(Debug, thiserror::Error)]
pub enum AuthoritiesFault {
    #[error("{} cannot be read", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not well-formed pem", .path.display())]
    NotPem { path: PathBuf },
    #[error("{} holds no certificate of an authority that can be used", .path.display())]
    None { path: PathBuf },
}

/// Why a certificate is not one of an authority.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UntrustedCertificate {
    #[error("its usage does not allow to sign")]
    Usage,
    #[error(transparent)]
    Chain(rustls::Error),
}

/// Authorities, read from a file and read again when asked.
pub struct ClientAuthorities {
    path: PathBuf,
    verifier: RwLock<Arc<dyn ClientCertVerifier>>,
}

impl ClientAuthorities {
    pub fn load(path: &Path) -> Result<Self, AuthoritiesFault> {
        Ok(Self { path: path.to_owned(), verifier: RwLock::new(read(path)?) })
    }

    /// Reads the file again; what cannot be used changes nothing.
    pub fn reload(&self) -> Result<(), AuthoritiesFault> {
        let verifier = read(&self.path)?;
        *self.verifier.write().unwrap_or_else(PoisonError::into_inner) = verifier;
        Ok(())
    }

    /// Tells whether one of them, or one that it has certified, certifies this client now, and for this use.
    pub fn verify(
        &self,
        certificate: &ClientCertificate,
        now: Timestamp,
    ) -> Result<(), UntrustedCertificate> {
        if !certificate.may_sign {
            return Err(UntrustedCertificate::Usage);
        }
        let Some((own, others)) = certificate.parts() else {
            return Err(UntrustedCertificate::Usage);
        };
        let seconds = u64::try_from(now.seconds()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let verifier = self.verifier.read().unwrap_or_else(PoisonError::into_inner).clone();
        verifier.verify_client_cert(own, others, now).map(drop).map_err(UntrustedCertificate::Chain)
    }
}

fn read(path: &Path) -> Result<Arc<dyn ClientCertVerifier>, AuthoritiesFault> {
    let unreadable = |source| AuthoritiesFault::Unreadable { path: path.into(), source };
    let text = fs::read(path).map_err(unreadable)?;
    let all = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let all = all.map_err(|_| AuthoritiesFault::NotPem { path: path.into() })?;
    let none = || AuthoritiesFault::None { path: path.into() };
    let mut roots = RootCertStore::empty();
    for one in all {
        roots.add(one).map_err(|_| none())?;
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let built = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let verifier: Arc<dyn ClientCertVerifier> = built.map_err(|_| none())?;
    Ok(verifier)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa,
        KeyPair, KeyUsagePurpose,
    };
    use tempfile::TempDir;

    struct Authority(CertifiedIssuer<'static, KeyPair>);

    impl Authority {
        fn params() -> CertificateParams {
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            params
        }

        fn new() -> Self {
            let key = KeyPair::generate().unwrap();
            Self(CertifiedIssuer::self_signed(Self::params(), key).unwrap())
        }

        fn below(&self) -> Self {
            let key = KeyPair::generate().unwrap();
            Self(CertifiedIssuer::signed_by(Self::params(), key, &self.0).unwrap())
        }

        fn issue(&self, change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            change(&mut params);
            params.signed_by(&KeyPair::generate().unwrap(), &self.0).unwrap().der().clone()
        }

        fn der(&self) -> CertificateDer<'static> {
            self.0.der().clone()
        }
    }

    fn trusting(folder: &TempDir, all: &[&Authority]) -> ClientAuthorities {
        let path = folder.path().join("ca.pem");
        fs::write(&path, all.iter().map(|one| one.0.pem()).collect::<String>()).unwrap();
        ClientAuthorities::load(&path).unwrap()
    }

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn judge(
        all: &ClientAuthorities,
        chain: Vec<CertificateDer<'static>>,
    ) -> Result<(), UntrustedCertificate> {
        all.verify(&ClientCertificate::read(chain).unwrap(), NOW)
    }

    #[test]
    fn a_chain_leads_to_an_authority_in_its_time_and_for_clients() {
        let folder = tempfile::tempdir().unwrap();
        let (root, other) = (Authority::new(), Authority::new());
        let middle = root.below();
        let all = trusting(&folder, &[&root]);
        assert_eq!(judge(&all, vec![root.issue(|_| {})]), Ok(()));
        assert_eq!(judge(&all, vec![middle.issue(|_| {}), middle.der()]), Ok(()));
        let usage = |purpose| {
            move |params: &mut CertificateParams| params.extended_key_usages = vec![purpose]
        };
        let for_clients = root.issue(usage(ExtendedKeyUsagePurpose::ClientAuth));
        assert_eq!(judge(&all, vec![for_clients]), Ok(()));
        for bad in [
            vec![other.issue(|_| {})],
            vec![middle.issue(|_| {})],
            vec![middle.issue(|_| {}), other.der()],
            vec![root.issue(usage(ExtendedKeyUsagePurpose::ServerAuth))],
            vec![root.issue(|params| params.not_after = rcgen::date_time_ymd(2020, 1, 1))],
            vec![root.issue(|params| params.not_before = rcgen::date_time_ymd(2090, 1, 1))],
            vec![root.issue(|params| params.key_usages = vec![KeyUsagePurpose::KeyAgreement])],
            // A certificate that leads to itself, and again, leads nowhere.
            [vec![other.issue(|_| {})], vec![other.der(); 7]].concat(),
        ] {
            assert!(judge(&all, bad).is_err());
        }
    }

    #[test]
    fn a_file_that_is_read_again_counts_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let (former, next) = (Authority::new(), Authority::new());
        let all = trusting(&folder, &[&former]);
        let path = folder.path().join("ca.pem");
        fs::write(&path, "nonsense").unwrap();
        assert!(all.reload().is_err());
        assert_eq!(judge(&all, vec![former.issue(|_| {})]), Ok(()), "what was read stays");
        fs::write(&path, next.0.pem()).unwrap();
        all.reload().unwrap();
        assert!(judge(&all, vec![former.issue(|_| {})]).is_err());
        assert_eq!(judge(&all, vec![next.issue(|_| {})]), Ok(()));
    }

    #[test]
    fn a_file_without_authorities_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        assert!(matches!(ClientAuthorities::load(&path), Err(AuthoritiesFault::Unreadable { .. })));
        fs::write(&path, "").unwrap();
        assert!(matches!(ClientAuthorities::load(&path), Err(AuthoritiesFault::None { .. })));
        fs::write(&path, "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").unwrap();
        assert!(matches!(ClientAuthorities::load(&path), Err(AuthoritiesFault::NotPem { .. })));
    }
}
