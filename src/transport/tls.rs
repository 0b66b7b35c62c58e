//! The certificate we show, its key, and how both are exchanged while we serve.

use super::client_verifier::AnyCertificate;
use rustls::{
    InconsistentKeys, ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
    server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier, danger::ClientCertVerifier},
    sign::CertifiedKey,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

/// Why a certificate and its key cannot be used; names the file and quotes nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum TlsFault {
    #[error("{} cannot be read", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not well-formed pem", .path.display())]
    NotPem { path: PathBuf },
    #[error("{} holds no certificate", .path.display())]
    NoCertificate { path: PathBuf },
    #[error("{} holds no private key as pkcs#8, pkcs#1 or sec1; an encrypted one cannot be used", .path.display())]
    NoKey { path: PathBuf },
    #[error("the first certificate in {} cannot be used", .path.display())]
    UnusableCertificate { path: PathBuf, source: rustls::Error },
    #[error("the private key in {} cannot be used", .path.display())]
    UnusableKey { path: PathBuf, source: rustls::Error },
    #[error("the key in {} does not belong to the first certificate in {}", .key.display(), .cert.display())]
    Mismatch { cert: PathBuf, key: PathBuf },
    #[error("no key for session tickets could be drawn")]
    NoTickets(#[source] rustls::Error),
}

/// A certificate chain and its key, read from two files and read again when asked.
pub struct TlsIdentity {
    cert: PathBuf,
    key: PathBuf,
    shown: Arc<CurrentCertificate>,
    config: Arc<ServerConfig>,
    /// The same for a listener that asks clients for certificates.
    asking: Arc<ServerConfig>,
}

/// How a listener speaks TLS.
pub enum TlsMode {
    Plain(Arc<TlsIdentity>),
    /// It asks for the certificates of clients, which need not have one (RFC 8705).
    AskingForCertificates(Arc<TlsIdentity>),
}

impl TlsMode {
    pub(super) fn acceptor(self) -> TlsAcceptor {
        TlsAcceptor::from(match self {
            Self::Plain(identity) => identity.config.clone(),
            Self::AskingForCertificates(identity) => identity.asking.clone(),
        })
    }
}

/// TLS 1.2 and 1.3, with the suites of BCP 195 alone. A ticket of one listener opens no connection at another.
fn configured(
    provider: Arc<CryptoProvider>,
    clients: Arc<dyn ClientCertVerifier>,
    shown: &Arc<CurrentCertificate>,
) -> Result<Arc<ServerConfig>, TlsFault> {
    let clients_are_asked = clients.offer_client_auth();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider speaks both versions of tls")
        .with_client_cert_verifier(clients)
        .with_cert_resolver(shown.clone());
    // Where certificates say who calls, a session is bound to its handshake (RFC 7627 §5.4).
    config.require_ems = clients_are_asked;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(TlsFault::NoTickets)?;
    Ok(Arc::new(config))
}

impl TlsIdentity {
    pub fn load(cert: &Path, key: &Path) -> Result<Self, TlsFault> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let identity = read(cert, key, &provider)?;
        let shown = Arc::new(CurrentCertificate(RwLock::new(Arc::new(identity))));
        let config = configured(provider.clone(), WebPkiClientVerifier::no_client_auth(), &shown)?;
        let asking = configured(provider.clone(), AnyCertificate::new(&provider), &shown)?;
        Ok(Self { cert: cert.into(), key: key.into(), shown, config, asking })
    }

    /// Reads both files again; handshakes from now on show what they hold, or, if that cannot be
    /// used, what was shown before.
    pub fn reload(&self) -> Result<(), TlsFault> {
        let identity = read(&self.cert, &self.key, self.config.crypto_provider())?;
        *self.shown.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(identity);
        Ok(())
    }
}

/// The certificate that the next handshake shows, whatever name it asks for.
#[derive(Debug)]
struct CurrentCertificate(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn read(cert: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, TlsFault> {
    let chain = chain_in(cert)?;
    let private = provider
        .key_provider
        .load_private_key(key_in(key)?)
        .map_err(|source| TlsFault::UnusableKey { path: key.into(), source })?;
    let identity = CertifiedKey::new(chain, private);
    match identity.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(identity),
        Err(rustls::Error::InconsistentKeys(_)) => {
            Err(TlsFault::Mismatch { cert: cert.into(), key: key.into() })
        }
        Err(source) => Err(TlsFault::UnusableCertificate { path: cert.into(), source }),
    }
}

fn chain_in(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFault> {
    let text = contents_of(path)?;
    // The parser's own error quotes the line it stumbled over, so it goes no further.
    let chain = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| TlsFault::NotPem { path: path.into() })?;
    if chain.is_empty() { Err(TlsFault::NoCertificate { path: path.into() }) } else { Ok(chain) }
}

fn key_in(path: &Path) -> Result<PrivateKeyDer<'static>, TlsFault> {
    let text = contents_of(path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsFault::NoKey { path: path.into() },
        _ => TlsFault::NotPem { path: path.into() },
    })
}

fn contents_of(path: &Path) -> Result<Zeroizing<Vec<u8>>, TlsFault> {
    let unreadable = |source| TlsFault::Unreadable { path: path.into(), source };
    fs::read(path).map(Zeroizing::new).map_err(unreadable)
}
