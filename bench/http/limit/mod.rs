//! The limit: what no server that signs the same token over the same stack can pass.
//!
//! It validates nothing, looks nothing up and remembers nothing: it reads the request, signs, and
//! answers. Where a grant of Porteiro's commits nothing, neither does the limit; where it does
//! ([`person`]), the limit commits a row of the same size as often, through `porteiro::store` and so
//! in the same groups, but without the requirements and the log entries that go with Porteiro's. Where
//! rows are kept on PostgreSQL it makes one read where Porteiro must make one ([`reads`]).
//!
//! axum is compiled without its own `serve` in this crate; hyper-util's automatic builder with its
//! default settings is what that function is made of.

mod person;
mod reads;

use crate::{
    Outcome,
    families::Families,
    scene::Placed,
    servers::{
        AUTHORIZE, CIBA, DEVICE, DISCOVERY, INTROSPECT, JWKS, PAR, REGISTER, REVOKE, SIGN_IN,
        TOKEN, USERINFO, loopback,
    },
};
use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, get, post},
};
use bytes::Bytes;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use person::Person;
use porteiro::{
    clock::SystemClock,
    crypto::{
        Signer, SystemDice, draw_text,
        keys::{DevKeys, Folder},
    },
    domain::{Clock as _, access_token::Claims, signing_keys::SigningAlgorithm},
};
use reads::Reads;
use serde::Serialize;
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::net::TcpListener;

const HTML: &str = "text/html; charset=utf-8";

/// Takes the scene, the keys folder, what Porteiro published, and where rows are kept.
pub fn run(arguments: &[PathBuf]) -> Outcome<()> {
    let [scene, keys, discovery, jwks, page, store] = arguments else {
        return Err("limit SCENE KEYS DISCOVERY JWKS PAGE STORE".into());
    };
    let store = store.to_str().ok_or("the address of the store is no text")?;
    let placed = Placed::read(scene)?;
    let folder = Folder::load(keys, DevKeys::Refused).map_err(|faults| format!("{faults:?}"))?;
    let documents = Documents::read([discovery, jwks, page], &placed, &folder)?;
    // The same runtime as Porteiro's: a worker for every core.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let limit = Limit::new(&placed, &folder, store).await?;
        serve(placed.port, router(Arc::new(limit), documents)).await
    })
}

struct Limit {
    signer: Arc<Signer>,
    claims: Claims<'static>,
    lifetime: u32,
    person: Person,
    /// Where answers cost a read.
    reads: Option<Reads>,
}

impl Limit {
    async fn new(placed: &Placed, folder: &Folder, store: &str) -> Outcome<Self> {
        let scene = &placed.scene;
        let signer = |algorithm: SigningAlgorithm| {
            let mut signers = folder.signing().iter().map(|file| file.signer.clone());
            let found = signers.find(|signer| signer.algorithm() == algorithm);
            found.ok_or(format!("there is no key for {algorithm}"))
        };
        let access = signer(SigningAlgorithm::Es256)?;
        let signers = (access.clone(), signer(SigningAlgorithm::Rs256)?);
        let claims = json!({
            "iss": placed.issuer, "sub": scene.client_id, "aud": scene.resource,
            "exp": 0, "iat": 0, "jti": "", "client_id": scene.client_id,
            "scope": scene.scope(), "org": scene.organization, "role": scene.role,
        });
        let families = Arc::new(Families::open(store, scene).await?);
        Ok(Self {
            signer: access,
            claims: serde_json::from_value(claims)?,
            lifetime: scene.lifetime,
            person: Person::new(placed, families.clone(), signers)?,
            reads: Reads::of(families, store).await?,
        })
    }
}

/// As Porteiro answers.
#[derive(Serialize)]
struct Issued {
    access_token: String,
    token_type: &'static str,
    expires_in: u32,
    scope: String,
}

/// Reads the form to its end, and of it only what says which row to write.
async fn token(State(limit): State<Arc<Limit>>, headers: HeaderMap, body: Bytes) -> Response {
    let form = std::str::from_utf8(&body).unwrap_or_default();
    let has = |name| form.split('&').any(|pair| pair.starts_with(name));
    if has("device_code=") || has("auth_req_id=") {
        if let Some(reads) = &limit.reads {
            reads.read_polled(form).await.unwrap();
        }
        return person::pending();
    }
    if has("client_assertion=") || has("subject_token=") {
        limit.person.note_assertion().await;
        return client_credentials(&limit);
    }
    match person::presented(form) {
        Some((named, nonce)) => {
            let credentials = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
            limit.person.issue(named, nonce, credentials.unwrap_or_default()).await
        }
        None => client_credentials(&limit),
    }
}

/// Says that a token is good, and what is in it.
async fn introspect(State(limit): State<Arc<Limit>>, _body: Bytes) -> Response {
    introspected(&limit)
}

fn introspected(limit: &Limit) -> Response {
    let claims = limit.person.claims();
    let said = Introspected { active: true, token_type: "Bearer", claims };
    ([(header::CACHE_CONTROL, "no-store")], Json(said)).into_response()
}

#[derive(Serialize)]
struct Introspected<'a> {
    active: bool,
    token_type: &'static str,
    #[serde(flatten)]
    claims: &'a Claims<'static>,
}

/// Says whose a token is.
async fn userinfo(State(limit): State<Arc<Limit>>) -> Response {
    told(&limit)
}

fn told(limit: &Limit) -> Response {
    let said = json!({ "sub": limit.person.claims().sub });
    ([(header::CACHE_CONTROL, "no-store")], Json(said)).into_response()
}

/// Signs what a client in its own name would get.
fn client_credentials(limit: &Limit) -> Response {
    let iat = SystemClock.now().seconds();
    let claims = Claims {
        iat,
        exp: iat + i64::from(limit.lifetime),
        jti: draw_text(&SystemDice, 16),
        ..limit.claims.clone()
    };
    let access_token = limit.signer.sign("at+jwt", &claims).unwrap();
    let expires_in = limit.lifetime;
    let issued = Issued { access_token, token_type: "Bearer", expires_in, scope: claims.scope };
    ([(header::CACHE_CONTROL, "no-store")], Json(issued)).into_response()
}

/// Bytes of exactly the size of Porteiro's.
struct Documents {
    discovery: Bytes,
    jwks: Bytes,
    page: Bytes,
}

impl Documents {
    fn read(published: [&Path; 3], placed: &Placed, folder: &Folder) -> Outcome<Self> {
        let [discovery, jwks, page] = published;
        if discovery.exists() {
            let read = |path| std::fs::read(path).map(Bytes::from);
            return Ok(Self { discovery: read(discovery)?, jwks: read(jwks)?, page: read(page)? });
        }
        // Porteiro takes no part in this run.
        let keys = folder.signing().iter().map(|file| file.signer.public_jwk());
        let jwks = json!({ "keys": keys.collect::<Vec<_>>() });
        let discovery = json!({ "issuer": placed.issuer, "jwks_uri": JWKS });
        let (discovery, jwks) = (discovery.to_string().into(), jwks.to_string().into());
        Ok(Self { discovery, jwks, page: Bytes::from_static(b"<!doctype html>") })
    }
}

fn router(limit: Arc<Limit>, documents: Documents) -> Router {
    let served = |kind: &'static str, bytes: Bytes| {
        get(async move || ([(header::CONTENT_TYPE, kind)], bytes.clone()))
    };
    let document = |bytes: Bytes| served("application/json", bytes);
    let bytes = documents.page;
    let [introspection, userinfo, page]: [MethodRouter<Arc<Limit>>; 3] = if limit.reads.is_some() {
        let page = move |State(limit): State<Arc<Limit>>| reads::page(limit, bytes);
        [post(reads::introspect), get(reads::userinfo), get(page)]
    } else {
        [post(introspect), get(userinfo), served(HTML, bytes)]
    };
    Router::new()
        .route(AUTHORIZE, get(person::authorize))
        .route(TOKEN, post(token))
        .route(PAR, post(person::push))
        .route(DEVICE, post(person::device))
        .route(REVOKE, post(person::revoke))
        .route(REGISTER, post(person::register))
        .route(INTROSPECT, introspection)
        .route(USERINFO, userinfo)
        .route(CIBA, post(person::ask))
        .route(DISCOVERY, document(documents.discovery))
        .route(JWKS, document(documents.jwks))
        .route(SIGN_IN, page)
        .with_state(limit)
}

async fn serve(port: u16, router: Router) -> Outcome<()> {
    let listener = TcpListener::bind(loopback(port)).await?;
    let service = TowerToHyperService::new(router);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service.clone();
        // Whoever hangs up is gone; nothing here outlives the process.
        tokio::spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
