//! Whom the client believes.

use super::{client, loopback, peer::hear};
use crate::outbound::{OutboundError, Policy, Request};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, crypto::aws_lc_rs, pki_types::PrivateKeyDer};
use std::sync::Arc;
use tokio::{io::AsyncWriteExt, net::TcpListener, task::JoinSet};
use tokio_rustls::TlsAcceptor;
use url::Url;

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn acceptor_for(&self, name: &str) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }

    fn policy(&self) -> Policy {
        Policy { extra_ca: Some(self.0.pem().into_bytes()), ..loopback() }
    }
}

struct SecurePeer {
    port: u16,
    _tasks: JoinSet<()>,
}

impl SecurePeer {
    /// Answers with the name and the protocol it was asked for; `polite` closes the TLS way.
    async fn start(acceptor: TlsAcceptor, head: &'static str, polite: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                hear(&mut stream).await;
                let session = stream.get_ref().1;
                let name = session.server_name().unwrap_or("no name").to_owned();
                let spoken = session.alpn_protocol().unwrap_or_default();
                let body = format!("{name} {}", String::from_utf8_lossy(spoken));
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
                stream.flush().await.unwrap();
                if polite {
                    stream.shutdown().await.unwrap();
                }
            }
        });
        Self { port, _tasks: tasks }
    }

    fn request(&self, host: &str) -> Request {
        Request::get(Url::parse(&format!("https://{host}:{}/", self.port)).unwrap())
    }
}

const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\n\r\n";

#[tokio::test]
async fn a_peer_under_an_added_authority_is_believed() {
    let authority = Authority::new();
    let acceptor = authority.acceptor_for("idp.example");
    let peer = SecurePeer::start(acceptor, UNTIL_CLOSE, true).await;
    let answer = client(authority.policy()).send(peer.request("idp.example")).await.unwrap();
    assert_eq!(answer.body, b"idp.example http/1.1");
    let dotted = client(authority.policy()).send(peer.request("idp.example.")).await.unwrap();
    assert_eq!(dotted.body, b"idp.example http/1.1");
}

#[tokio::test]
async fn a_peer_known_by_its_address_needs_a_certificate_for_that_address() {
    let authority = Authority::new();
    let acceptor = authority.acceptor_for("127.0.0.1");
    let peer = SecurePeer::start(acceptor, UNTIL_CLOSE, true).await;
    let answer = client(authority.policy()).send(peer.request("127.0.0.1")).await.unwrap();
    assert_eq!(answer.body, b"no name http/1.1");
    let outcome = client(authority.policy()).send(peer.request("127.0.0.2")).await;
    assert!(matches!(outcome, Err(OutboundError::Tls(_) | OutboundError::Unreachable(_))));
}

#[tokio::test]
async fn an_unknown_authority_is_refused() {
    let acceptor = Authority::new().acceptor_for("idp.example");
    let peer = SecurePeer::start(acceptor, UNTIL_CLOSE, true).await;
    for policy in [loopback(), Authority::new().policy()] {
        let outcome = client(policy).send(peer.request("idp.example")).await;
        assert!(matches!(outcome, Err(OutboundError::Tls(_))));
    }
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let authority = Authority::new();
    let acceptor = authority.acceptor_for("idp.example");
    let peer = SecurePeer::start(acceptor, UNTIL_CLOSE, true).await;
    for host in ["other.example", "sub.idp.example", "127.0.0.1"] {
        let outcome = client(authority.policy()).send(peer.request(host)).await;
        assert!(matches!(outcome, Err(OutboundError::Tls(_))), "{host}");
    }
}

#[tokio::test]
async fn a_peer_that_speaks_no_tls_is_refused() {
    let peer = super::peer::Peer::answering("HTTP/1.1 200 OK\r\n\r\nhello").await;
    let url = format!("https://{}/", peer.address);
    let policy = Policy { time_limit: super::HASTY, ..loopback() };
    let outcome = client(policy).send(Request::get(Url::parse(&url).unwrap())).await;
    assert!(matches!(outcome, Err(OutboundError::Tls(_) | OutboundError::TimedOut)));
}

#[tokio::test]
async fn a_body_that_ends_without_the_farewell_of_tls_may_have_been_cut_and_is_refused() {
    let authority = Authority::new();
    let acceptor = authority.acceptor_for("idp.example");
    let peer = SecurePeer::start(acceptor, UNTIL_CLOSE, false).await;
    let outcome = client(authority.policy()).send(peer.request("idp.example")).await;
    assert!(matches!(outcome, Err(OutboundError::Broken(_))));
}

#[tokio::test]
async fn a_counted_body_is_whole_even_without_the_farewell_of_tls() {
    let authority = Authority::new();
    let counted = "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n";
    let peer = SecurePeer::start(authority.acceptor_for("idp.example"), counted, false).await;
    let answer = client(authority.policy()).send(peer.request("idp.example")).await.unwrap();
    assert_eq!(answer.body, b"idp.example http/1.1");
}
