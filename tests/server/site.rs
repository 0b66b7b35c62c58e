//! An https site of a client, which does whatever a test wants.

use hyper::StatusCode;
use porteiro::{
    client_documents::Fetcher,
    outbound::{DnsResolver, Policy},
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, crypto::aws_lc_rs, pki_types::PrivateKeyDer};
use serde_json::Value;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::Notify,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// How a site answers.
#[derive(Clone)]
pub enum Conduct {
    Answer(StatusCode, String),
    /// Sends what is no text.
    Bytes(Vec<u8>),
    /// Says nothing until it is told to.
    Wait(Arc<Notify>, String),
    /// Says nothing for ever.
    Hang,
    /// Sends, and never ends.
    Endless,
}

pub struct Site {
    pub url: String,
    authority: String,
    conduct: Arc<Mutex<Conduct>>,
    asked: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
    posted: Arc<Mutex<String>>,
    _tasks: JoinSet<()>,
}

impl Site {
    pub async fn serving(document: &Value) -> Self {
        Self::new(Conduct::Answer(StatusCode::OK, document.to_string())).await
    }

    pub async fn new(conduct: Conduct) -> Self {
        let (acceptor, authority) = acceptor(vec!["127.0.0.1".to_owned()]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/document", listener.local_addr().unwrap());
        let (conduct, asked) = (Arc::new(Mutex::new(conduct)), Arc::new(AtomicUsize::new(0)));
        let connections = Arc::new(AtomicUsize::new(0));
        let accepted = connections.clone();
        let posted = Arc::new(Mutex::new(String::new()));
        let (now, count, last) = (conduct.clone(), asked.clone(), posted.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                accepted.fetch_add(1, SeqCst);
                let (acceptor, now, count) = (acceptor.clone(), now.clone(), count.clone());
                let last = last.clone();
                open.spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        request.push(byte);
                    }
                    // A body, where there is one, is kept for the test to read.
                    let head = String::from_utf8_lossy(&request).to_ascii_lowercase();
                    let length = head.split("content-length: ").nth(1);
                    let length = length.and_then(|rest| rest.lines().next()?.trim().parse().ok());
                    let mut body = vec![0; length.unwrap_or(0)];
                    if stream.read_exact(&mut body).await.is_err() {
                        return;
                    }
                    *last.lock().unwrap() = String::from_utf8_lossy(&body).into_owned();
                    count.fetch_add(1, SeqCst);
                    let conduct = now.lock().unwrap().clone();
                    let (status, body) = match conduct {
                        Conduct::Answer(status, body) => (status, body.into_bytes()),
                        Conduct::Bytes(body) => (StatusCode::OK, body),
                        Conduct::Wait(told, body) => {
                            told.notified().await;
                            (StatusCode::OK, body.into_bytes())
                        }
                        Conduct::Hang => std::future::pending().await,
                        Conduct::Endless => {
                            let head = b"HTTP/1.1 200 OK\r\n\r\n{\"keys\":[";
                            let mut sent = stream.write_all(head).await;
                            while sent.is_ok() {
                                sent = stream.write_all(&[b' '; 4096]).await;
                            }
                            return;
                        }
                    };
                    let head = format!(
                        "HTTP/1.1 {} x\r\nlocation: https://127.0.0.1:1/\r\ncontent-length: {}\r\n\r\n",
                        status.as_u16(),
                        body.len()
                    );
                    let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { url, authority, conduct, asked, connections, posted, _tasks: tasks }
    }

    pub fn now(&self, conduct: Conduct) {
        *self.conduct.lock().unwrap() = conduct;
    }

    pub fn now_serves(&self, document: &Value) {
        self.now(Conduct::Answer(StatusCode::OK, document.to_string()));
    }

    /// What was last posted to it.
    pub fn posted(&self) -> String {
        self.posted.lock().unwrap().clone()
    }

    /// What trusts it, and may call this machine.
    pub fn policy(&self) -> Policy {
        let extra_ca = Some(self.authority.clone().into_bytes());
        Policy { allow_private_networks: true, extra_ca, ..Policy::default() }
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }

    /// How often it was asked.
    pub fn asked(&self) -> usize {
        self.asked.load(SeqCst)
    }

    /// What trusts it, and may call this machine; a site that says nothing is given up on soon.
    pub fn fetcher(&self, time_limit: Duration) -> Fetcher {
        Fetcher::within(time_limit, self.policy(), Arc::new(DnsResolver::of_system())).unwrap()
    }
}

/// Accepts TLS under these names, and returns the authority that vouches for them, in PEM.
pub fn acceptor(names: Vec<String>) -> (TlsAcceptor, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
    let config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), authority.pem())
}
