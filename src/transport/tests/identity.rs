//! Certificates in files, and clients that trust their issuer.

use crate::transport::TlsIdentity;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ClientConfig, RootCertStore, SupportedProtocolVersion,
    client::Resumption,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName},
};
use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// An authority and the folder in which its certificates for `localhost` lie.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    /// Has issued one certificate.
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Self { issuer, folder: tempfile::tempdir().unwrap() };
        authority.issue();
        authority
    }

    /// Writes a new certificate and key over the old ones.
    pub(super) fn issue(&self) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.cert(), certificate.pem()).unwrap();
        fs::write(self.key(), key.serialize_pem()).unwrap();
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn cert(&self) -> PathBuf {
        self.folder().join("cert.pem")
    }

    pub(super) fn key(&self) -> PathBuf {
        self.folder().join("key.pem")
    }

    pub(super) fn identity(&self) -> Arc<TlsIdentity> {
        Arc::new(TlsIdentity::load(&self.cert(), &self.key()).unwrap())
    }

    pub(super) async fn connect(
        &self,
        address: SocketAddr,
        protocols: &[&str],
    ) -> io::Result<TlsStream<TcpStream>> {
        self.connect_by(address, protocols, rustls::ALL_VERSIONS).await
    }

    pub(super) async fn connect_by(
        &self,
        address: SocketAddr,
        protocols: &[&str],
        versions: &[&'static SupportedProtocolVersion],
    ) -> io::Result<TlsStream<TcpStream>> {
        self.secure_by(TcpStream::connect(address).await?, protocols, versions).await
    }

    /// Makes a connection a secure one.
    pub(super) async fn secure(&self, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.secure_by(tcp, &[], rustls::ALL_VERSIONS).await
    }

    async fn secure_by(
        &self,
        tcp: TcpStream,
        protocols: &[&str],
        versions: &[&'static SupportedProtocolVersion],
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        let mut config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        config.resumption = Resumption::disabled();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, tcp).await
    }
}

/// The certificate the server showed.
pub(super) fn shown(stream: &TlsStream<TcpStream>) -> CertificateDer<'static> {
    stream.get_ref().1.peer_certificates().unwrap()[0].clone()
}
