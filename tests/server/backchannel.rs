//! Back-channel logout: every end of a session is told to the clients that were signed into, by a token
//! that a real receiver verifies with nothing but the key set.

use crate::{
    browser::Browser,
    http::get,
    logout::{BYE, SHOP, is_signed_in, tokens},
    person::{PASSWORD, claims, redirect, text},
    shared::eventually,
    support::{TestOptions, TestServer, form},
};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU16, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::net::TcpListener;

/// Accepts connections and closes them at once.
const DOWN: u16 = 0;

/// The logout endpoint of a client.
pub struct Receiver {
    uri: String,
    /// What it answers with.
    status: Arc<AtomicU16>,
    /// The bodies that came, with their types.
    got: Arc<Mutex<Vec<(String, String)>>>,
}

impl Receiver {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/logout?from=porteiro", listener.local_addr().unwrap());
        let (status, got) = (Arc::new(AtomicU16::new(200)), Arc::<Mutex<Vec<_>>>::default());
        let (answers, keeps) = (status.clone(), got.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (status, got) = (answers.load(SeqCst), keeps.clone());
                if status == DOWN {
                    continue;
                }
                let serve = service_fn(move |request: Request<Incoming>| {
                    let got = got.clone();
                    async move {
                        assert_eq!(
                            (request.method(), request.uri().path()),
                            (&Method::POST, "/logout")
                        );
                        let kind = request.headers()["content-type"].to_str().unwrap().to_owned();
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        got.lock().unwrap().push((kind, String::from_utf8(body.to_vec()).unwrap()));
                        let answer = Response::builder().status(status);
                        Ok::<_, Infallible>(answer.body(Full::<Bytes>::default()).unwrap())
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), serve));
            }
        });
        Self { uri, status, got }
    }

    pub fn count(&self) -> usize {
        self.got.lock().unwrap().len()
    }

    /// Waits for the next token, which is the only thing in its form.
    pub async fn token(&self, number: usize) -> Value {
        eventually("a logout token", async || self.count() >= number).await;
        let (kind, body) = self.got.lock().unwrap()[number - 1].clone();
        assert_eq!(kind, "application/x-www-form-urlencoded");
        let fields: Vec<_> = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
        let [(name, token)] = &fields[..] else { panic!("{fields:?}") };
        assert_eq!(name, "logout_token");
        Value::from(token.as_str())
    }

    /// Another client of the operator's, with this endpoint.
    fn shop(&self) -> String {
        format!("{}{SHOP}", self.client("shop"))
    }

    fn client(&self, client_id: &str) -> String {
        format!(
            "[[client]]\nclient_id = \"{client_id}\"\npost_logout_redirect_uris = [\"{BYE}\"]\n\
             backchannel_logout_uri = \"{}\"\n",
            self.uri
        )
    }
}

pub async fn open() -> (TestServer, Receiver) {
    let options = TestOptions { private_networks: true, mailbox: true, ..TestOptions::default() };
    let (server, receiver) = (TestServer::open_in(options).await, Receiver::open().await);
    server.apply(&receiver.client("web")).await;
    (server, receiver)
}

/// Verifies a logout token as a client does, and returns what it says.
pub async fn verified(server: &TestServer, token: &Value, algorithm: &str) -> Value {
    let header = decode_header(text(token)).unwrap();
    assert_eq!(header.typ.as_deref(), Some("logout+jwt"));
    assert_eq!(format!("{:?}", header.alg), algorithm);
    let keys = server.key_set().await;
    let jwk = keys.find(&header.kid.unwrap()).unwrap();
    let mut validation = Validation::new(header.alg);
    // The clock of the server is its own.
    (validation.validate_exp, validation.validate_aud) = (false, false);
    let key = DecodingKey::from_jwk(jwk).unwrap();
    decode::<Value>(text(token), &key, &validation).unwrap().claims
}

/// Ends a session as its owner does.
pub async fn end(server: &TestServer, session: &str) {
    let mine = server.request(Method::GET, "/me/sessions").header("x-session-token", session);
    let mine = server.send(mine.body(form(&[])).unwrap()).await.json();
    let mut items = mine["items"].as_array().unwrap().iter();
    let own = items.find(|item| item["current"] == true).unwrap();
    let path = format!("/me/sessions/{}", text(&own["id"]));
    let ended = server.request(Method::DELETE, &path).header("x-session-token", session);
    assert_eq!(server.send(ended.body(form(&[])).unwrap()).await.status, 204);
}

pub async fn metric(server: &TestServer, line: &str) -> bool {
    let line = format!("porteiro_outbox_total{{topic=\"backchannel_logout\",{line}");
    get(server.operator(), "/metrics").await.text().contains(&line)
}

#[tokio::test]
async fn a_client_that_is_down_is_told_once_it_is_back_and_by_a_fresh_token() {
    let (server, receiver) = open().await;
    let session = server.sign_in("ana@acme.test").await;
    tokens(&server, &session, "web").await;
    receiver.status.store(DOWN, SeqCst);
    end(&server, &session).await;
    eventually("a try", async || metric(&server, "outcome=\"deferred\"} 1").await).await;
    receiver.status.store(503, SeqCst);
    server.clock.advance(Duration::from_mins(1));
    let refused = receiver.token(1).await;
    eventually("a second", async || metric(&server, "outcome=\"deferred\"} 2").await).await;
    receiver.status.store(204, SeqCst);
    server.clock.advance(Duration::from_hours(1));
    let token = receiver.token(2).await;
    eventually("the count", async || metric(&server, "outcome=\"delivered\"} 1").await).await;
    let (first, second) = (claims(&refused), verified(&server, &token, "RS256").await);
    assert_ne!(first["jti"], second["jti"]);
    assert_eq!(second["iat"], 1_800_003_660, "signed when it was sent");
    assert_eq!((&first["sid"], &first["sub"]), (&second["sid"], &second["sub"]));
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_refuses_a_token_for_good_is_not_asked_again() {
    let (server, receiver) = open().await;
    let session = server.sign_in("ana@acme.test").await;
    tokens(&server, &session, "web").await;
    receiver.status.store(400, SeqCst);
    end(&server, &session).await;
    eventually("the end", async || metric(&server, "outcome=\"dropped\"} 1").await).await;
    assert_eq!(receiver.count(), 1);
    server.clock.advance(Duration::from_hours(1));
    server.quiet().await;
    assert_eq!(receiver.count(), 1);
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_moved_inside_our_network_is_never_called() {
    let server = TestServer::open().await;
    let receiver = Receiver::open().await;
    server.apply(&receiver.client("web")).await;
    let session = server.sign_in("ana@acme.test").await;
    tokens(&server, &session, "web").await;
    end(&server, &session).await;
    eventually("the end", async || metric(&server, "outcome=\"dropped\"} 1").await).await;
    assert_eq!(receiver.count(), 0);
    server.stop().await;
}

#[tokio::test]
async fn every_client_of_a_session_is_told_once_and_others_are_not() {
    let (server, receiver) = open().await;
    let (second, other) = (Receiver::open().await, Receiver::open().await);
    server.apply(&format!("{}id_token_signed_response_alg = \"ES256\"\n", second.shop())).await;
    // The session is born with its first client, and knows the second from then on.
    let flow = server.authorize("web", &[]).await.json();
    let done = server.prove(&flow, "ana@acme.test").await;
    assert!(redirect(&done).as_str().starts_with("https://web.example.com/cb?code="));
    let session = text(&done.json()["result"]["session_token"]).to_owned();
    for client in ["web", "shop", "shop", "web"] {
        tokens(&server, &session, client).await;
    }
    let apart = server.sign_in("ana@acme.test").await;
    tokens(&server, &apart, "web").await;
    server.apply(&other.client("app")).await;
    end(&server, &session).await;
    let said = verified(&server, &receiver.token(1).await, "RS256").await;
    let also = verified(&server, &second.token(1).await, "ES256").await;
    assert_eq!((text(&said["aud"]), text(&also["aud"])), ("web", "shop"));
    assert_eq!((&said["sid"], &said["sub"]), (&also["sid"], &also["sub"]));
    eventually("both", async || metric(&server, "outcome=\"delivered\"} 2").await).await;
    assert_eq!((receiver.count(), second.count(), other.count()), (1, 1, 0));
    assert!(is_signed_in(&server, &apart).await, "the other session goes on");
    server.stop().await;
}

#[tokio::test]
async fn a_session_that_was_renewed_or_asked_for_more_tells_its_clients_as_well() {
    let (server, receiver) = open().await;
    let session = server.sign_in("ana@acme.test").await;
    // A flow in a session that goes on: the client is noted in the commit that grants.
    let flow = server.authorize_in(&session, "web", &[("prompt", "login")]).await.json();
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    let header = [("x-session-token", session.as_str())];
    let body = json!({ "identifier": "ana@acme.test" });
    server.post_json(&path("identifier"), &body, &header).await;
    let body = json!({ "password": PASSWORD });
    let done = server.post_json(&path("password"), &body, &header).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    let renewed = text(&done.json()["result"]["session_token"]).to_owned();
    end(&server, &renewed).await;
    let said = verified(&server, &receiver.token(1).await, "RS256").await;
    assert_eq!(said["aud"], "web");
    server.stop().await;
}

#[tokio::test]
async fn a_session_beside_which_another_person_signs_in_goes_on_and_no_client_is_told() {
    let (server, receiver) = open().await;
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    assert_eq!(browser.password("ana@acme.test", PASSWORD).await.status, 200);
    let cookie = browser.cookies.iter().find(|cookie| cookie.starts_with("porteiro=")).unwrap();
    let session = cookie.strip_prefix("porteiro=").unwrap().to_owned();
    tokens(&server, &session, "web").await;
    assert_eq!(browser.password("bruno@acme.test", PASSWORD).await.status, 200);
    server.quiet().await;
    assert_eq!(receiver.count(), 0, "the browser holds both (adr/0087)");
    assert!(is_signed_in(&server, &session).await);
    server.stop().await;
}

#[tokio::test]
async fn a_confirmed_sign_out_is_told_and_an_offline_grant_outlives_it() {
    let (server, receiver) = open().await;
    let session = server.sign_in("ana@acme.test").await;
    let code = server.code(&session, "web", "openid offline_access").await;
    let issued = server.redeem("web", &code).await.json();
    let header = [("x-session-token", session.as_str())];
    let flow = server.post_json("/flows", &json!({ "kind": "sign_out" }), &header).await.json();
    let done = server.step_in(&session, &flow, "confirm", json!({ "decision": "allow" })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    let said = verified(&server, &receiver.token(1).await, "RS256").await;
    assert_eq!(said["sid"], claims(&issued["id_token"])["sid"]);
    assert_eq!(server.refresh("web", text(&issued["refresh_token"])).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_session_that_expires_is_told_to_no_client() {
    let (server, receiver) = open().await;
    let session = server.sign_in("ana@acme.test").await;
    tokens(&server, &session, "web").await;
    server.clock.advance(Duration::from_hours(8 * 24));
    assert!(!is_signed_in(&server, &session).await);
    server.quiet().await;
    assert_eq!(receiver.count(), 0);
    server.stop().await;
}

#[tokio::test]
async fn sign_ins_of_many_clients_at_once_are_all_noted() {
    let (server, receiver) = open().await;
    let second = Receiver::open().await;
    server.apply(&second.shop()).await;
    let session = server.sign_in("ana@acme.test").await;
    let (one, other) =
        tokio::join!(tokens(&server, &session, "web"), tokens(&server, &session, "shop"));
    assert_eq!(claims(&one["id_token"])["sid"], claims(&other["id_token"])["sid"]);
    end(&server, &session).await;
    for client in [&receiver, &second] {
        verified(&server, &client.token(1).await, "RS256").await;
    }
    server.stop().await;
}
