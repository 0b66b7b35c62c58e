//! The binary under load, told to reload and to end: no request fails.

use crate::{
    binary::{Installation, porteiro, succeed},
    http::{request, try_send},
    shared::{eventually, worker_threads},
    support::{ACME, SECRET, TestOptions, TestServer, basic, form},
};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use porteiro::server::ServerError;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::{
    net::SocketAddr,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer},
};

fn token_request(address: SocketAddr) -> Request<Full<Bytes>> {
    request(Method::POST, address, "/connect/token")
        .header("authorization", basic("billing", SECRET))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form(&[("grant_type", "client_credentials"), ("scope", "invoices:read")]))
        .unwrap()
}

/// What a client that asks again and again has lived through.
#[derive(Default)]
struct Tally {
    answered: AtomicU64,
    failed: AtomicU64,
}

/// Asks over one connection as long as it lasts, then over the next, until nobody listens.
async fn keep_asking(address: SocketAddr, tally: Arc<Tally>) {
    while let Ok(stream) = TcpStream::connect(address).await {
        let Ok((mut sender, connection)) = http1::handshake(TokioIo::new(stream)).await else {
            return;
        };
        let running = tokio::spawn(connection);
        while sender.ready().await.is_ok() {
            let Ok(answer) = sender.send_request(token_request(address)).await else {
                tally.failed.fetch_add(1, SeqCst);
                break;
            };
            let complete = answer.status() == 200 && answer.into_body().collect().await.is_ok();
            let counter = if complete { &tally.answered } else { &tally.failed };
            counter.fetch_add(1, SeqCst);
        }
        running.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_under_load_fails_no_request_and_exits_0() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let serving = installation.serve();
    let tally = Arc::new(Tally::default());
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..8 {
        clients.spawn(keep_asking(installation.address, tally.clone()));
    }
    let enough = async || tally.answered.load(SeqCst) > 200;
    crate::shared::eventually("a good load", enough).await;
    serving.signal("-TERM");
    let (code, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(0), "{log:?}");
    clients.join_all().await;
    assert_eq!(tally.failed.load(SeqCst), 0, "of {}", tally.answered.load(SeqCst));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_server_ends_at_once() {
    let installation = Installation::new().await;
    let serving = installation.serve();
    let began = std::time::Instant::now();
    serving.signal("-TERM");
    let (code, _) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(0));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_told_twice_or_while_starting_does_not_wait() {
    let installation = Installation::new().await;
    let serving = installation.serve();
    // A request whose body never comes keeps the server waiting.
    let mut open = TcpStream::connect(installation.address).await.unwrap();
    let head = "POST /connect/token HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\
                content-type: application/x-www-form-urlencoded\r\n\r\ngrant";
    open.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let began = std::time::Instant::now();
    serving.signal("-TERM");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    serving.signal("-TERM");
    let (code, _) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(0));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    drop(open);

    // A database that never answers keeps it from starting.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://u@{}/d", silent.local_addr().unwrap());
    let mut command = porteiro(installation.path(), &["serve", "--config", "porteiro.toml"]);
    let mut child = command.env("PORTEIRO_STORE__URL", url).spawn().unwrap();
    let _asked = silent.accept().await.unwrap();
    let began = std::time::Instant::now();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_file_that_was_replaced_ends_the_server() {
    let installation = Installation::new().await;
    let Some(path) = installation.url().strip_prefix("sqlite://") else {
        println!("skipped: the files of PostgreSQL are its own affair");
        return;
    };
    installation.apply(ACME);
    let serving = installation.serve();
    std::fs::rename(path, format!("{path}.old")).unwrap();
    std::fs::copy(format!("{path}.old"), path).unwrap();
    let status = || async {
        let answer = try_send(installation.address, token_request(installation.address)).await;
        answer.map(|answer| answer.status.as_u16())
    };
    // It drains at once, and may refuse connections by the second request.
    assert!(!matches!(status().await, Ok(500)));
    let (code, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(1), "{log:?}");
    let told = |line: &String| line.contains("the database file was replaced");
    assert!(log.iter().any(told), "{log:?}");
}

/// Makes a certificate for localhost and writes it where the configuration says.
fn new_certificate(installation: &Installation) -> CertificateDer<'static> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let folder = installation.path();
    std::fs::write(folder.join("key.pem"), signing_key.serialize_pem()).unwrap();
    std::fs::write(folder.join("cert.pem"), cert.pem()).unwrap();
    cert.der().clone()
}

/// Connects over TLS, trusting just these; returns the certificate that was shown.
async fn tls_request(
    address: SocketAddr,
    trusted: &[CertificateDer<'static>],
) -> Result<(u16, CertificateDer<'static>), Box<dyn std::error::Error + Send + Sync>> {
    let mut roots = RootCertStore::empty();
    for certificate in trusted {
        roots.add(certificate.clone())?;
    }
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let name = "localhost".try_into()?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let shown = stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let running = tokio::spawn(connection);
    let answer = sender.send_request(token_request(address)).await?;
    let status = answer.status().as_u16();
    answer.into_body().collect().await?;
    running.abort();
    Ok((status, shown))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sighup_under_load_takes_a_new_certificate_and_fails_no_request() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let first = new_certificate(&installation);
    installation.configure("[tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n");
    let serving = installation.serve();
    let second = new_certificate(&installation);
    let trusted = vec![first.clone(), second.clone()];
    let (over, address) = (Arc::new(AtomicBool::new(false)), installation.address);
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (over, trusted) = (over.clone(), trusted.clone());
        clients.spawn(async move {
            let mut shown = Vec::new();
            while !over.load(SeqCst) {
                let (status, certificate) = tls_request(address, &trusted).await.unwrap();
                assert_eq!(status, 200);
                shown.push(certificate);
            }
            shown
        });
    }
    let shows = async |certificate: &CertificateDer<'static>| {
        tls_request(address, &trusted).await.is_ok_and(|(_, shown)| shown == *certificate)
    };
    assert!(shows(&first).await, "what is on disk counts when it is told to look");
    serving.signal("-HUP");
    crate::shared::eventually("the new certificate", async || shows(&second).await).await;
    std::fs::write(installation.path().join("cert.pem"), "nonsense").unwrap();
    serving.signal("-HUP");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(shows(&second).await, "what cannot be read changes nothing");
    over.store(true, SeqCst);
    for shown in clients.join_all().await {
        let turn = shown.iter().position(|certificate| *certificate == second).unwrap();
        assert!(shown[turn..].iter().all(|certificate| *certificate == second));
    }
    serving.signal("-TERM");
    let (code, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(0));
    assert!(log.iter().any(|line| line.contains("former certificate stays")), "{log:?}");
    assert!(log.iter().any(|line| line.contains("will be read again")), "{log:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_made_by_the_command_is_published_within_20_seconds() {
    let installation = Installation::new().await;
    let serving = installation.serve();
    let keys = async || {
        let ask = request(Method::GET, installation.address, "/connect/jwks");
        let answer = try_send(installation.address, ask.body(Full::default()).unwrap()).await;
        answer.unwrap().json()["keys"].as_array().unwrap().len()
    };
    assert_eq!(keys().await, 3);
    let rotate = ["keys", "rotate", "--algorithm", "ES256", "--config", "porteiro.toml"];
    let made = succeed(installation.path(), &rotate);
    assert!(made.starts_with("+ ES256 "), "{made}");
    serving.signal("-HUP");
    crate::shared::eventually("the next key", async || keys().await == 4).await;
    serving.signal("-TERM");
    assert_eq!(tokio::task::spawn_blocking(move || serving.end()).await.unwrap().0, Some(0));
}

#[tokio::test]
async fn a_server_that_cannot_listen_leaves_nothing_running_behind() {
    let server = TestServer::open().await;
    let before = worker_threads();
    let options = TestOptions { operator: server.operator(), ..TestOptions::default() };
    let refused = server.refused_beside(options).await;
    assert!(matches!(refused, ServerError::Listen { .. }), "{refused}");
    eventually("the end of what was started", async || worker_threads() == before).await;
    server.token("billing", "invoices:read").await;
    server.stop().await;
}
