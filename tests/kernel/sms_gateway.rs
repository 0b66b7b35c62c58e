//! SMS through the outbox to a real HTTP gateway, which this test runs.

use crate::{
    dns_server::{DnsServer, Says},
    ledger::Command,
    support::{Node, World, eventually},
};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, StatusCode, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use porteiro::{
    config::{Config, Sources},
    domain::{
        Locale, Timestamp,
        message::{Sms, SmsContent},
    },
    messages::Messages,
};
use rcgen::{CertificateParams, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_rustls::TlsAcceptor;

/// One request as the gateway saw it.
#[derive(Clone, Debug)]
struct Seen {
    path: String,
    authorization: Option<String>,
    key: String,
    body: Value,
}

/// Answers with the statuses it was given, then with 200; over TLS, as a gateway on the internet.
struct Gateway {
    port: u16,
    certificate: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _tasks: JoinSet<()>,
}

impl Gateway {
    async fn answering(statuses: &[u16]) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(Mutex::new(VecDeque::from(statuses.to_vec())));
        let mut tasks = JoinSet::new();
        let noted = seen.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, noted, answers) = (acceptor.clone(), noted.clone(), answers.clone());
                connections.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let serve = service_fn(|request| answer(request, &noted, &answers));
                    let connection = hyper::server::conn::http1::Builder::new();
                    let _ = connection.serve_connection(TokioIo::new(stream), serve).await;
                });
            }
        });
        Self { port, certificate: certificate.pem(), seen, _tasks: tasks }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn answer(
    request: Request<Incoming>,
    noted: &Mutex<Vec<Seen>>,
    answers: &Mutex<VecDeque<u16>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let header =
        |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (path, authorization) = (request.uri().path().to_owned(), header("authorization"));
    let (key, kind) = (header("idempotency-key").unwrap(), header("content-type"));
    assert_eq!(kind.as_deref(), Some("application/json"));
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&body).unwrap();
    noted.lock().unwrap().push(Seen { path, authorization, key, body });
    let status = answers.lock().unwrap().pop_front().unwrap_or(200);
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    Ok(response)
}

async fn node(world: &World, gateway: &Gateway, private: &str) -> Node {
    let url = format!("https://localhost:{}/send", gateway.port);
    node_at(world, (&url, gateway), (private, "")).await
}

async fn node_at(
    world: &World,
    (url, gateway): (&str, &Gateway),
    (private, dns): (&str, &str),
) -> Node {
    let ca = world.folder().join("ca.pem");
    std::fs::write(&ca, &gateway.certificate).unwrap();
    let environment = vec![
        ("PORTEIRO_SMS__TRANSPORT".into(), url.into()),
        ("PORTEIRO_SMS__SECRET".into(), "a secret".into()),
        ("PORTEIRO_OUTBOUND__ALLOW_PRIVATE_NETWORKS".into(), private.into()),
        ("PORTEIRO_OUTBOUND__EXTRA_CA".into(), ca.into()),
        ("PORTEIRO_DNS__SERVERS".into(), dns.into()),
    ];
    let loaded = Config::load(Sources { environment, ..Sources::default() }).unwrap();
    let messages = Messages::configured(&loaded.config, world.clock.clone(), None).unwrap();
    messages.speak_for("https://id.example.com");
    world.node().await.with_couriers(messages.couriers()).await
}

async fn send(node: &Node, number: u64, content: SmsContent) {
    let sms = Sms { to: "+351910000000".to_owned(), locale: Locale::English, content };
    let dispatch = sms.dispatch(Timestamp::FOREVER);
    let command = Command::AppendAndPost {
        entry: number,
        topic: dispatch.topic,
        text: String::from_utf8(dispatch.payload.expose().to_vec()).unwrap(),
        expires_at: dispatch.expires_at,
    };
    node.ledgers.ask(&format!("l{number}"), command).await.unwrap();
}

fn code() -> SmsContent {
    SmsContent::SignInCode { code: "402913".to_owned() }
}

/// Lets time pass until nothing waits, after so many first tries; never while a try is under way, since
/// a lease that ran out would send an SMS twice.
async fn emptied(world: &World, node: &Node, mut tries: u64) {
    loop {
        eventually("every try", async || {
            let report = node.tree.outbox()[0];
            report.delivered + report.deferred + report.dropped == tries
        })
        .await;
        let waiting = world.stranger().await.count("outbox").await;
        if waiting == 0 {
            return;
        }
        tries += u64::try_from(waiting).unwrap();
        world.clock.advance(Duration::from_mins(5));
    }
}

#[tokio::test]
async fn an_sms_is_posted_with_the_secret_until_the_gateway_takes_it() {
    let world = World::new().await;
    let gateway = Gateway::answering(&[503, 429, 401, 302]).await;
    let node = node(&world, &gateway, "true").await;
    send(&node, 1, code()).await;
    emptied(&world, &node, 1).await;
    let seen = gateway.seen();
    assert_eq!(seen.len(), 5, "{seen:?}");
    for one in &seen {
        assert_eq!(
            (one.path.as_str(), one.authorization.as_deref()),
            ("/send", Some("Bearer a secret"))
        );
        assert_eq!(one.key, seen[0].key, "the gateway can tell that it is the same one");
        let text = "Use 402913 to sign in at id.example.com. Give it to no one.";
        assert_eq!(one.body, json!({ "to": "+351910000000", "text": text }));
    }
    let report = node.tree.outbox()[0];
    assert_eq!((report.topic, report.delivered, report.deferred), ("sms", 1, 4));
    node.stop().await;
}

#[tokio::test]
async fn what_the_gateway_calls_malformed_is_given_up_and_a_decoy_is_never_sent() {
    let world = World::new().await;
    let gateway = Gateway::answering(&[422]).await;
    let node = node(&world, &gateway, "true").await;
    send(&node, 1, code()).await;
    eventually("the refusal", async || node.tree.outbox()[0].dropped == 1).await;
    send(&node, 2, SmsContent::Decoy).await;
    send(&node, 3, code()).await;
    emptied(&world, &node, 3).await;
    assert_eq!(gateway.seen().len(), 2, "the refused one and the last");
    assert_eq!(node.tree.outbox()[0].delivered, 2, "a decoy is counted like any other");
    let mut stranger = world.stranger().await;
    assert_eq!(stranger.count("security_log WHERE event = 'outbox.dropped'").await, 1);
    node.stop().await;
}

#[tokio::test]
async fn a_gateway_inside_is_not_called_unless_the_operator_says_so() {
    let world = World::new().await;
    let gateway = Gateway::answering(&[]).await;
    let node = node(&world, &gateway, "false").await;
    send(&node, 1, code()).await;
    eventually("a try", async || node.tree.outbox()[0].deferred > 0).await;
    assert!(gateway.seen().is_empty());
    assert_eq!(world.stranger().await.count("outbox").await, 1);
    node.stop().await;
}

#[tokio::test]
async fn a_gateway_is_found_by_the_name_servers_that_the_operator_names() {
    let world = World::new().await;
    let gateway = Gateway::answering(&[]).await;
    let dns = DnsServer::new(Says::Address([127, 0, 0, 1].into())).await;
    // Its certificate is for another name: it was found, and not believed.
    let url = format!("https://gateway.test:{}/send", gateway.port);
    let node = node_at(&world, (&url, &gateway), ("true", &dns.address.to_string())).await;
    send(&node, 1, code()).await;
    eventually("a try", async || node.tree.outbox()[0].deferred > 0).await;
    assert!(dns.asked() > 0 && gateway.seen().is_empty());
    node.stop().await;
}

#[tokio::test]
async fn a_gateway_that_no_name_server_finds_is_tried_again_later() {
    for says in [Says::Nothing, Says::NoSuchName] {
        let world = World::new().await;
        let (gateway, dns) = (Gateway::answering(&[]).await, DnsServer::new(says).await);
        let at = ("https://silent.test/send", &gateway);
        let node = node_at(&world, at, ("true", &dns.address.to_string())).await;
        send(&node, 1, code()).await;
        eventually("a question", async || dns.asked() > 0).await;
        eventually("a try", async || node.tree.outbox()[0].deferred > 0).await;
        node.stop().await;
    }
}
