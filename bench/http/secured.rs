//! Addresses at which TLS is spoken, and what a connection shows there.

use crate::Outcome;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

/// The last that was said of an address counts.
static SECURED: Mutex<Vec<(SocketAddr, Arc<ClientConfig>)>> = Mutex::new(Vec::new());

/// A client's certificate and its key.
pub type Own = (CertificateDer<'static>, PrivateKeyDer<'static>);

/// Has connections to an address speak TLS from now on, with a certificate of their own or without.
pub fn secure(
    address: SocketAddr,
    trusted: &CertificateDer<'static>,
    own: Option<&Own>,
) -> Outcome<()> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone())?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let config = match own {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            config.with_client_auth_cert(vec![certificate.clone()], key.clone_key())?
        }
    };
    let mut all = SECURED.lock().unwrap_or_else(PoisonError::into_inner);
    all.push((address, Arc::new(config)));
    Ok(())
}

/// Returns how TLS is spoken at an address, if it is.
pub fn config_of(address: SocketAddr) -> Option<Arc<ClientConfig>> {
    let all = SECURED.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().rev().find(|(known, _)| *known == address).map(|(_, config)| config.clone())
}
