//! The ping of CIBA: one, by the token that the client gave; again only where no HTTP answer came.

use crate::{
    ciba::{ANA, ask, open_in, poll, say, start},
    http::get,
    shared::eventually,
    support::{TestOptions, TestServer},
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

pub const TAKES: u8 = 0;
pub const REDIRECTS: u8 = 1;
const ANSWERS_MEGABYTES: u8 = 2;
const HANGS_UP: u8 = 3;
const FAILS: u8 = 4;
/// Takes the request and says nothing.
const HANGS: u8 = 5;
/// Answers a byte now and then.
const DRIPS: u8 = 6;
/// Answers headers without end.
const NEVER_ENDS: u8 = 7;
pub const SAYS_MORE: u8 = 8;
pub const UNAUTHORIZED: u8 = 9;
pub const FORBIDDEN: u8 = 10;

/// The notification endpoint of a client.
pub struct Endpoint {
    pub uri: String,
    mood: Arc<AtomicU8>,
    /// What came, head and body.
    got: Arc<Mutex<Vec<String>>>,
}

/// Keeps a caller waiting for as long as it waits.
async fn answer_slowly(mut stream: TcpStream, mood: u8) {
    let (part, pause) = match mood {
        DRIPS => ("H", Duration::from_millis(200)),
        NEVER_ENDS => ("X-More: and more\r\n", Duration::ZERO),
        _ => ("", Duration::from_millis(200)),
    };
    if mood == NEVER_ENDS {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
    }
    while stream.write_all(part.as_bytes()).await.is_ok() {
        tokio::time::sleep(pause).await;
    }
}

impl Endpoint {
    pub async fn open(mood: u8) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/ping", listener.local_addr().unwrap());
        let (mood, got) = (Arc::new(AtomicU8::new(mood)), Arc::<Mutex<Vec<_>>>::default());
        let (answers, keeps, own) = (mood.clone(), got.clone(), uri.clone());
        tokio::spawn(async move {
            let mut slow = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut came = Vec::new();
                let mut part = [0; 4096];
                // Head and body are small, and end with the body's brace.
                while !came.ends_with(b"}") {
                    match stream.read(&mut part).await {
                        Ok(0) | Err(_) => break,
                        Ok(length) => came.extend_from_slice(&part[..length]),
                    }
                }
                keeps.lock().unwrap().push(String::from_utf8(came).unwrap());
                let answer = match answers.load(SeqCst) {
                    TAKES => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
                    REDIRECTS => {
                        format!(
                            "HTTP/1.1 302 Found\r\nLocation: {own}\r\nContent-Length: 0\r\n\r\n"
                        )
                    }
                    ANSWERS_MEGABYTES => {
                        let body = "x".repeat(4 * 1024 * 1024);
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
                    }
                    FAILS => "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_owned(),
                    SAYS_MORE => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
                    UNAUTHORIZED => "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n".to_owned(),
                    FORBIDDEN => "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n".to_owned(),
                    mood @ (HANGS | DRIPS | NEVER_ENDS) => {
                        slow.spawn(answer_slowly(stream, mood));
                        continue;
                    }
                    _ => continue,
                };
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { uri, mood, got }
    }

    /// Every request that came, head and body.
    pub fn came(&self) -> Vec<String> {
        self.got.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.got.lock().unwrap().len()
    }

    /// Makes the client one that is pinged here.
    async fn register(&self, server: &TestServer) {
        self.register_for(server, "agent").await;
    }

    async fn register_for(&self, server: &TestServer, client: &str) {
        server
            .apply(&format!(
                "[[client]]\nclient_id = \"{client}\"\nbackchannel_token_delivery_mode = \"ping\"\n\
                 backchannel_client_notification_endpoint = \"{}\"\n",
                self.uri
            ))
            .await;
    }
}

pub async fn scene(mood: u8) -> (TestServer, Endpoint) {
    let options = TestOptions { private_networks: true, ..TestOptions::default() };
    let (server, endpoint) = (open_in(options).await, Endpoint::open(mood).await);
    endpoint.register(&server).await;
    (server, endpoint)
}

pub async fn outcome(server: &TestServer, outcome: &str) -> bool {
    outcomes(server, outcome, 1).await
}

async fn outcomes(server: &TestServer, outcome: &str, number: u32) -> bool {
    let of = format!("porteiro_outbox_total{{topic=\"ciba_ping\",outcome=\"{outcome}\"}}");
    let line = format!("{of} {number}");
    get(server.operator(), "/metrics").await.text().lines().any(|one| one == line)
}

pub const TOKEN: [(&str, &str); 1] = [("client_notification_token", "abc.DEF-123==")];

#[tokio::test]
async fn a_client_is_pinged_once_by_its_own_token_and_then_gets_its_tokens() {
    let (server, endpoint) = scene(TAKES).await;
    ask(*server, "agent", ANA, &[]).await.refused(400, "invalid_request");
    let (bad, long) = ("a b", "a".repeat(1_025));
    for bad in [bad, &long] {
        let token = [("client_notification_token", bad)];
        ask(*server, "agent", ANA, &token).await.refused(400, "invalid_request");
    }
    let session = server.sign_in(ANA).await;
    let id = start(*server, "agent", ANA, &TOKEN).await;
    server.quiet().await;
    assert_eq!(endpoint.count(), 0, "nothing is decided yet");
    say(&server, &session, "approve").await;
    eventually("the ping", async || outcome(&server, "delivered").await).await;
    let came = endpoint.got.lock().unwrap()[0].clone();
    let (head, body) = came.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    assert!(head.starts_with("post /ping http/1.1"), "{head}");
    assert!(head.contains("authorization: bearer abc.def-123=="), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), json!({ "auth_req_id": id }));
    assert_eq!(poll(*server, "agent", &id).await.status, 200);
    assert_eq!(endpoint.count(), 1);
    server.stop().await;
}

#[tokio::test]
async fn an_answer_of_any_sort_is_the_end_of_it() {
    for mood in [REDIRECTS, ANSWERS_MEGABYTES, FAILS, SAYS_MORE, UNAUTHORIZED, FORBIDDEN] {
        let (server, endpoint) = scene(mood).await;
        let session = server.sign_in(ANA).await;
        let id = start(*server, "agent", ANA, &TOKEN).await;
        say(&server, &session, "deny").await;
        eventually("the ping", async || outcome(&server, "delivered").await).await;
        server.clock.advance(Duration::from_mins(2));
        server.quiet().await;
        assert_eq!(endpoint.count(), 1, "{mood}: neither followed nor tried again");
        poll(*server, "agent", &id).await.refused(400, "access_denied");
        server.stop().await;
    }
}

#[tokio::test]
async fn an_endpoint_that_hangs_or_never_comes_to_an_end_holds_nothing_up() {
    let hangs = async |mood: u8| {
        let (server, endpoint) = scene(mood).await;
        let prompt = Endpoint::open(TAKES).await;
        prompt.register_for(&server, "rival").await;
        let session = server.sign_in(ANA).await;
        let id = start(*server, "agent", ANA, &TOKEN).await;
        say(&server, &session, "approve").await;
        eventually("the ping", async || endpoint.count() == 1).await;
        // Another client is pinged meanwhile, and the one that hangs may poll.
        start(*server, "rival", ANA, &TOKEN).await;
        say(&server, &session, "approve").await;
        eventually("the other's ping", async || outcome(&server, "delivered").await).await;
        // Headers without end are too many before the time is over.
        let waits = mood == NEVER_ENDS || !outcome(&server, "deferred").await;
        assert!(waits, "{mood}: it was not waited for");
        assert_eq!(prompt.count(), 1);
        assert_eq!(poll(*server, "agent", &id).await.status, 200);
        eventually("the end of patience", async || outcome(&server, "deferred").await).await;
        endpoint.mood.store(TAKES, SeqCst);
        server.clock.advance(Duration::from_mins(1));
        eventually("a second try", async || endpoint.count() == 2).await;
        server.stop().await;
    };
    tokio::join!(hangs(HANGS), hangs(DRIPS), hangs(NEVER_ENDS));
}

#[tokio::test]
async fn where_no_answer_came_it_is_tried_again_while_the_request_lives() {
    let (server, endpoint) = scene(HANGS_UP).await;
    let session = server.sign_in(ANA).await;
    let id = start(*server, "agent", ANA, &TOKEN).await;
    say(&server, &session, "approve").await;
    eventually("a try", async || outcome(&server, "deferred").await).await;
    // The client need not be pinged to ask.
    assert_eq!(poll(*server, "agent", &id).await.status, 200);
    endpoint.mood.store(TAKES, SeqCst);
    server.clock.advance(Duration::from_mins(1));
    eventually("the ping", async || outcome(&server, "delivered").await).await;
    assert_eq!(endpoint.count(), 2);
    endpoint.mood.store(HANGS_UP, SeqCst);
    start(*server, "agent", ANA, &TOKEN).await;
    say(&server, &session, "approve").await;
    eventually("another try", async || outcomes(&server, "deferred", 2).await).await;
    assert_eq!(endpoint.count(), 3);
    server.clock.advance(Duration::from_mins(6));
    eventually("the end", async || outcome(&server, "dropped").await).await;
    assert_eq!(endpoint.count(), 3);
    server.stop().await;
}

#[tokio::test]
async fn an_endpoint_inside_our_network_is_never_called() {
    let server = open_in(TestOptions::default()).await;
    let endpoint = Endpoint::open(TAKES).await;
    endpoint.register(&server).await;
    let session = server.sign_in(ANA).await;
    start(*server, "agent", ANA, &TOKEN).await;
    say(&server, &session, "approve").await;
    eventually("the end", async || outcome(&server, "dropped").await).await;
    assert_eq!(endpoint.count(), 0);
    server.stop().await;
}

#[tokio::test]
async fn push_is_refused_at_registration() {
    let server = TestServer::open().await;
    let registration = json!({
        "grant_types": ["urn:openid:params:grant-type:ciba"],
        "backchannel_token_delivery_mode": "push",
        "backchannel_client_notification_endpoint": "https://agent.example/push",
    });
    let refused = server.post_json("/connect/register", &registration, &[]).await;
    refused.refused(400, "invalid_client_metadata");
    server.stop().await;
}
