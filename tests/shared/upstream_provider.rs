//! A provider that does what a test wants, on a loopback port of its own.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro::{
    crypto::{Signer, keys::read_pem},
    domain::{Clock, Fingerprint},
};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};
use url::form_urlencoded;

pub const METADATA: &str = "/.well-known/openid-configuration";

/// A request as the provider heard it.
#[derive(Clone, Debug)]
pub struct Heard {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub form: BTreeMap<String, String>,
}

/// What a path answers instead of what is usual there.
#[derive(Clone)]
pub enum Reply {
    Json(u16, Value),
    /// Status, a header line, and a body.
    Raw(u16, String, String),
    /// Takes the request, and keeps silent.
    Never,
}

/// How the provider behaves.
pub struct State {
    pub signer: Arc<Signer>,
    /// The keys that it publishes.
    pub published: Vec<Value>,
    /// Members of the metadata that differ; `null` leaves one out.
    pub metadata: Map<String, Value>,
    /// Claims of ID tokens that differ; `null` leaves one out.
    pub claims: Map<String, Value>,
    /// Makes ID tokens in another way.
    pub forge: Option<fn(&Signer, &Value) -> String>,
    pub replies: BTreeMap<String, Reply>,
    /// Paths that answer once they are told to.
    pub held: BTreeMap<String, Arc<Notify>>,
    pub heard: Vec<Heard>,
    /// Codes that were issued, each with the nonce and the challenge of its request.
    codes: BTreeMap<String, (Option<String>, String)>,
    /// Every token that was handed out.
    tokens: Vec<String>,
}

pub struct Provider {
    pub issuer: String,
    state: Arc<Mutex<State>>,
    _tasks: JoinSet<()>,
}

impl Provider {
    pub async fn start(clock: Arc<dyn Clock>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let signer = Arc::new(new_signer());
        let state = Arc::new(Mutex::new(State {
            published: vec![signer.public_jwk().clone()],
            signer,
            metadata: Map::new(),
            claims: Map::new(),
            forge: None,
            replies: BTreeMap::new(),
            held: BTreeMap::new(),
            heard: Vec::new(),
            codes: BTreeMap::new(),
            tokens: Vec::new(),
        }));
        let mut tasks = JoinSet::new();
        let (shared, own) = (state.clone(), issuer.clone());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (state, issuer, clock) = (shared.clone(), own.clone(), clock.clone());
                connections.spawn(async move { serve(stream, &state, &issuer, &*clock).await });
            }
        });
        Self { issuer, state, _tasks: tasks }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn claim(&self, name: &str, value: Value) {
        self.state().claims.insert(name.to_owned(), value);
    }

    pub fn member(&self, name: &str, value: Value) {
        self.state().metadata.insert(name.to_owned(), value);
    }

    pub fn reply(&self, path: &str, reply: Reply) {
        self.state().replies.insert(path.to_owned(), reply);
    }

    /// A person signs in there: returns what the browser is sent back with.
    pub fn authorize(&self, asked: &BTreeMap<String, String>) -> String {
        let mut state = self.state();
        let code = format!("code-{}-of-{}", state.codes.len(), asked["client_id"]);
        let bound = (asked.get("nonce").cloned(), asked["code_challenge"].clone());
        state.codes.insert(code.clone(), bound);
        let iss = state.metadata.contains_key("authorization_response_iss_parameter_supported");
        let iss = if iss { format!("&iss={}", self.issuer) } else { String::new() };
        format!("code={code}&state={}{iss}", asked["state"])
    }

    /// How often a path was called.
    pub fn calls(&self, path: &str) -> usize {
        self.state().heard.iter().filter(|heard| heard.path == path).count()
    }

    pub fn last(&self, path: &str) -> Heard {
        let state = self.state();
        state.heard.iter().rev().find(|heard| heard.path == path).unwrap().clone()
    }

    pub fn tokens(&self) -> Vec<String> {
        self.state().tokens.clone()
    }

    /// Takes another key, and publishes that one alone.
    pub fn rotate(&self) {
        let signer = Arc::new(new_signer());
        let mut state = self.state();
        state.published = vec![signer.public_jwk().clone()];
        state.signer = signer;
    }
}

/// Makes a key for ES256.
pub fn new_signer() -> Signer {
    read_pem(&rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap()
}

/// Writes header and claims as they are signed.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".")
}

async fn serve(mut stream: TcpStream, state: &Mutex<State>, issuer: &str, clock: &dyn Clock) {
    let Some(heard) = hear(&mut stream).await else { return };
    let waits_for = {
        let mut state = state.lock().unwrap();
        state.heard.push(heard.clone());
        state.held.get(&heard.path).cloned()
    };
    if let Some(told) = waits_for {
        told.notified().await;
    }
    let reply = {
        let mut state = state.lock().unwrap();
        let replaced = state.replies.get(&heard.path).cloned();
        replaced.unwrap_or_else(|| state.usual(&heard, issuer, clock))
    };
    let (status, header, body) = match reply {
        Reply::Json(status, value) => {
            (status, "content-type: application/json".to_owned(), value.to_string())
        }
        Reply::Raw(status, header, body) => (status, header, body),
        Reply::Never => return std::future::pending().await,
    };
    let head = format!("HTTP/1.1 {status} x\r\n{header}\r\ncontent-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
}

/// Reads one request, with as much body as it announces.
async fn hear(stream: &mut TcpStream) -> Option<Heard> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let header = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_ascii_lowercase(), value.to_owned()))
    };
    let headers: BTreeMap<String, String> = lines.filter_map(header).collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let form = form_urlencoded::parse(&body).into_owned().collect();
    Some(Heard { path, headers, form })
}

impl State {
    fn usual(&mut self, heard: &Heard, issuer: &str, clock: &dyn Clock) -> Reply {
        match heard.path.as_str() {
            METADATA => Reply::Json(200, self.document(issuer)),
            "/keys" => Reply::Json(200, json!({ "keys": self.published })),
            "/token" | "/login/oauth/access_token" => self.exchange(heard, issuer, clock),
            _ => Reply::Json(404, json!({})),
        }
    }

    fn document(&self, issuer: &str) -> Value {
        let usual = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/keys"),
            "end_session_endpoint": format!("{issuer}/logout"),
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        });
        changed(usual, &self.metadata)
    }

    /// A code is good once, for the verifier of its challenge.
    fn exchange(&mut self, heard: &Heard, issuer: &str, clock: &dyn Clock) -> Reply {
        let refused = || Reply::Json(400, json!({ "error": "invalid_grant" }));
        let Some((nonce, challenge)) =
            heard.form.get("code").and_then(|code| self.codes.remove(code))
        else {
            return refused();
        };
        let verifier = heard.form.get("code_verifier").cloned().unwrap_or_default();
        if String::from(Fingerprint::of(verifier.as_bytes())) != challenge {
            return refused();
        }
        let now = clock.now().seconds();
        let usual = json!({
            "iss": issuer, "sub": "248289761001", "aud": "porteiro", "iat": now, "exp": now + 300,
            "nonce": nonce, "email": "ana@acme.test",
        });
        let claims = changed(usual, &self.claims);
        let id_token = match self.forge {
            Some(forge) => forge(&self.signer, &claims),
            None => self.signer.sign("JWT", &claims).unwrap(),
        };
        let access_token = format!("access-token-{}", self.tokens.len());
        self.tokens.extend([id_token.clone(), access_token.clone()]);
        let mut answer = json!({ "access_token": access_token, "token_type": "Bearer" });
        if nonce.is_some() {
            answer["id_token"] = id_token.into();
        }
        Reply::Json(200, answer)
    }
}

fn changed(mut usual: Value, changes: &Map<String, Value>) -> Value {
    let members = usual.as_object_mut().unwrap();
    for (name, value) in changes {
        match value {
            Value::Null => drop(members.remove(name)),
            other => drop(members.insert(name.clone(), other.clone())),
        }
    }
    usual
}
