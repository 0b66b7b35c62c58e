//! A client with a listener of its own: it is called back, redeems the code, and shows who came.

use crate::{
    outside::Outside,
    person::{VERIFIER, challenge, claims},
    support::SECRET,
};
use serde_json::Value;
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use url::{Url, form_urlencoded};

/// What a client is known by.
#[derive(Clone)]
pub struct Credentials {
    pub id: String,
    pub secret: Option<String>,
}

impl Credentials {
    /// Those of the client that the tests provision.
    pub fn ledger() -> Self {
        Self { id: "ledger".to_owned(), secret: Some(SECRET.to_owned()) }
    }
}

pub struct RelyingParty {
    pub address: SocketAddr,
    issuer: String,
    who: Credentials,
    seen: Arc<Mutex<Vec<Value>>>,
    _tasks: JoinSet<()>,
}

impl RelyingParty {
    pub async fn open(provider: Outside, issuer: &str, who: Credentials) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let called = Called { provider, address, who: who.clone(), seen: seen.clone() };
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(called.clone().serve(stream));
            }
        });
        Self { address, issuer: issuer.to_owned(), who, seen, _tasks: tasks }
    }

    pub fn callback(&self) -> String {
        format!("http://{}/cb", self.address)
    }

    /// Where it sends a browser to.
    pub fn request(&self, scope: &str, more: &[(&str, &str)]) -> String {
        let (callback, challenge) = (self.callback(), challenge(VERIFIER));
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs([
            ("client_id", self.who.id.as_str()),
            ("redirect_uri", &callback),
            ("response_type", "code"),
            ("scope", scope),
            ("state", "af0ifjsldkj"),
            ("nonce", "n-0S6_WzA2Mj"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        query.extend_pairs(more);
        format!("{}/connect/authorize?{}", self.issuer, query.finish())
    }

    /// What it was told last: tokens, or why there are none.
    pub fn last(&self) -> Option<Value> {
        self.seen.lock().unwrap().last().cloned()
    }

    /// How often it was called back.
    pub fn times(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// What the last ID token says.
    pub fn person(&self) -> Value {
        claims(&self.last().expect("a callback")["id_token"])
    }
}

#[derive(Clone)]
struct Called {
    provider: Outside,
    address: SocketAddr,
    who: Credentials,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Called {
    async fn serve(self, mut stream: TcpStream) {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let Ok(byte) = stream.read_u8().await else { return };
            request.push(byte);
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        let path = request.split(' ').nth(1).unwrap_or_default();
        let mut url: Url = format!("http://{}{path}", self.address).parse().unwrap();
        // What was posted is as good as a query.
        let lower = request.to_ascii_lowercase();
        let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        if let Some(length) = length.and_then(|length| length.trim().parse().ok()) {
            let mut body = vec![0; length];
            if stream.read_exact(&mut body).await.is_err() {
                return;
            }
            url.set_query(std::str::from_utf8(&body).ok());
        }
        if url.path() == "/cb" {
            let told = self.redeem(&url).await;
            self.seen.lock().unwrap().push(told);
        }
        let body =
            "<!doctype html><html lang=\"en\"><title>Ledger Notes</title><h1>Your notes</h1>";
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            body.len()
        );
        let _ = stream.write_all(answer.as_bytes()).await;
    }

    /// Redeems the code of a callback; what brings none is kept as it is.
    async fn redeem(&self, url: &Url) -> Value {
        let told: serde_json::Map<String, Value> = url
            .query_pairs()
            .map(|(name, value)| (name.into_owned(), value.into_owned().into()))
            .collect();
        let Some(code) = told.get("code").and_then(Value::as_str) else { return told.into() };
        let callback = format!("http://{}/cb", self.address);
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &callback),
            ("code_verifier", VERIFIER),
        ];
        let answer = if self.who.secret.is_some() {
            self.provider.post_as(&self.who.id, "/connect/token", &fields).await
        } else {
            let fields = [&[("client_id", &*self.who.id)], &fields[..]].concat();
            self.provider.post("/connect/token", &fields).await
        };
        answer.json()
    }
}
