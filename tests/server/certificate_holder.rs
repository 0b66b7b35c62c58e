//! Clients that make connections with certificates of their own (RFC 8705), and the authority that issues them.

use crate::{
    http::Answer,
    support::{TestOptions, TestServer, form},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use porteiro::{crypto::ClientAuthorities, server::MtlsPlan, transport::TlsIdentity};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::{Value, json};
use std::{fs, net::SocketAddr, sync::Arc};
use tempfile::TempDir;
use tokio::{net::TcpStream, task::JoinSet};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, PrivateKeyDer},
    },
};

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An authority for clients, and the folder where its certificate and the server's own lie.
pub struct Partners {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
    /// What the server shows.
    pub server: CertificateDer<'static>,
}

/// A client with a certificate and its key.
pub struct CertificateHolder {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: KeyPair,
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "Acme");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Partners {
    pub fn new() -> Self {
        let mut params = named("partners");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        fs::write(folder.path().join("cert.pem"), own.cert.pem()).unwrap();
        fs::write(folder.path().join("key.pem"), own.signing_key.serialize_pem()).unwrap();
        Self { issuer, folder, server: own.cert.der().clone() }
    }

    /// The certificate of the authority.
    pub fn authority(&self) -> String {
        self.issuer.pem()
    }

    pub fn authority_der(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    /// What the server shows, and its key.
    pub fn identity(&self) -> Arc<TlsIdentity> {
        let at = |name: &str| self.folder.path().join(name);
        Arc::new(TlsIdentity::load(&at("cert.pem"), &at("key.pem")).unwrap())
    }

    /// How a server asks for certificates of theirs.
    pub fn plan(&self) -> MtlsPlan {
        let authorities = ClientAuthorities::load(&self.folder.path().join("ca.pem")).unwrap();
        MtlsPlan {
            listen: Some(("127.0.0.1:0".parse().unwrap(), self.identity())),
            url: None,
            authorities: Some(Arc::new(authorities)),
            forwarded: false,
        }
    }

    pub async fn open(&self) -> TestServer {
        let mtls = Some(self.plan());
        TestServer::open_in(TestOptions { mtls, ..TestOptions::default() }).await
    }

    /// Issues a certificate to a client of this name.
    pub fn issue(&self, name: &str) -> CertificateHolder {
        self.issue_with(name, |_| {})
    }

    pub fn issue_with(
        &self,
        name: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> CertificateHolder {
        let key = KeyPair::generate().unwrap();
        let mut params = named(name);
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        CertificateHolder { chain: vec![certificate.der().clone()], key }
    }
}

impl CertificateHolder {
    /// A client that has signed its certificate itself.
    pub fn self_signed(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = named(name).self_signed(&key).unwrap();
        Self { chain: vec![certificate.der().clone()], key }
    }

    /// The same key with a certificate that was made anew.
    pub fn renewed(&self, name: &str) -> Self {
        let key = KeyPair::from_pem(&self.key.serialize_pem()).unwrap();
        let certificate = named(name).self_signed(&key).unwrap();
        Self { chain: vec![certificate.der().clone()], key }
    }

    /// The claim `x5t#S256`.
    pub fn confirmation(&self) -> Value {
        json!({ "x5t#S256": crate::key_holder::hash_of(&self.chain[0]) })
    }

    /// Its key as a key set has it, with its certificate.
    pub fn jwk(&self) -> Value {
        let raw = self.key.public_key_raw();
        let text = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
        json!({
            "kty": "EC", "crv": "P-256", "x": text(&raw[1..33]), "y": text(&raw[33..]),
            "x5c": [STANDARD.encode(&self.chain[0])],
        })
    }

    /// Its own certificate, as a file has it.
    pub fn pem(&self) -> String {
        let text = STANDARD.encode(&self.chain[0]);
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    }

    /// A client of Acme that is known by this very certificate, as a file for `apply` has it.
    pub fn registration(&self, client: &str) -> String {
        let jwk = self.jwk();
        let member = |name: &str| format!("{name} = {}", jwk[name]);
        let key = ["kty", "crv", "x", "y", "x5c"].map(member).join(", ");
        format!(
            "[[client]]\nclient_id = \"{client}\"\norganization = \"acme\"\nroles = [\"clerk\"]\n\
             token_endpoint_auth_method = \"self_signed_tls_client_auth\"\n\
             jwks = {{ keys = [{{ {key} }}] }}\n"
        )
    }

    /// As a proxy tells of it (RFC 9440).
    pub fn header(&self) -> String {
        format!(":{}:", STANDARD.encode(&self.chain[0]))
    }
}

/// A TLS connection to where certificates are asked for, made anew for each request.
pub struct OverTls<'a> {
    pub address: SocketAddr,
    pub trusted: CertificateDer<'static>,
    pub holder: Option<&'a CertificateHolder>,
}

impl Partners {
    /// Connects with a certificate, or with none.
    pub fn connect<'a>(
        &self,
        server: &TestServer,
        holder: impl Into<Option<&'a CertificateHolder>>,
    ) -> OverTls<'a> {
        let address = server.running().mtls.expect("it asks for certificates");
        OverTls { address, trusted: self.server.clone(), holder: holder.into() }
    }
}

impl OverTls<'_> {
    fn config(&self) -> Result<ClientConfig, Failure> {
        let mut roots = RootCertStore::empty();
        roots.add(self.trusted.clone())?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        Ok(match self.holder {
            None => config.with_no_client_auth(),
            Some(holder) => {
                let key = PrivateKeyDer::try_from(holder.key.serialize_der())?;
                config.with_client_auth_cert(holder.chain.clone(), key)?
            }
        })
    }

    pub fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        crate::http::request(method, self.address, path)
    }

    async fn connect(&self) -> Result<TlsStream<TcpStream>, Failure> {
        let stream = TcpStream::connect(self.address).await?;
        let connector = TlsConnector::from(Arc::new(self.config()?));
        Ok(connector.connect("localhost".try_into()?, stream).await?)
    }

    /// The certificate that the server shows.
    pub async fn shown(&self) -> Result<CertificateDer<'static>, Failure> {
        let stream = self.connect().await?;
        let shown = stream.get_ref().1.peer_certificates().ok_or("it shows none")?;
        Ok(shown[0].clone().into_owned())
    }

    /// Makes a connection that is kept.
    pub async fn open(&self) -> Result<Kept, Failure> {
        let io = TokioIo::new(self.connect().await?);
        let (sender, connection) = http1::handshake(io).await?;
        let mut running = JoinSet::new();
        running.spawn(async { drop(connection.await) });
        Ok(Kept { sender, running })
    }

    pub async fn try_send(&self, request: Request<Full<Bytes>>) -> Result<Answer, Failure> {
        self.open().await?.send(request).await
    }

    pub async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        self.try_send(request).await.unwrap()
    }

    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let kind = "application/x-www-form-urlencoded";
        let request = self.request(Method::POST, path).header("content-type", kind);
        self.send(request.body(form(fields)).unwrap()).await
    }

    /// Presents an access token.
    pub async fn get(&self, path: &str, token: &str) -> Answer {
        let request =
            self.request(Method::GET, path).header("authorization", format!("Bearer {token}"));
        self.send(request.body(Full::default()).unwrap()).await
    }

    /// The request for a token in a client's own name.
    pub fn asking(&self, client: &str, scope: &str) -> Request<Full<Bytes>> {
        let fields =
            [("grant_type", "client_credentials"), ("client_id", client), ("scope", scope)];
        let kind = "application/x-www-form-urlencoded";
        let request = self.request(Method::POST, "/connect/token").header("content-type", kind);
        request.body(form(&fields)).unwrap()
    }

    /// Asks for a token in a client's own name.
    pub async fn ask(&self, client: &str, scope: &str) -> Answer {
        self.send(self.asking(client, scope)).await
    }
}

/// A connection over TLS that lasts for several requests; it ends with the value.
pub struct Kept {
    sender: http1::SendRequest<Full<Bytes>>,
    running: JoinSet<()>,
}

impl Kept {
    pub async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Answer, Failure> {
        if self.running.is_empty() {
            return Err("the connection has ended".into());
        }
        self.sender.ready().await?;
        let (head, body) = self.sender.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer { status: head.status, headers: head.headers, body })
    }
}
