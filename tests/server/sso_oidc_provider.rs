//! oidc-provider, as npm has it, is the provider of an organization: a process of its own, over real HTTP.
//! `bin/upstream-for-tests` installs it; `PORTEIRO_TEST_REQUIRE_UPSTREAM=1` makes it a failure where it is missing.

use crate::{
    http::{Answer, request, send},
    person::{claims, parameter, redirect, text},
    sso_scene::{account_of, connect, draft, options, prove, session_of},
    support::{TestServer, form},
    zone_server::ZoneServer,
};
use hyper::Method;
use porteiro::{
    crypto::{SystemDice, draw_uuid},
    domain::{Clock as _, connection::Draft, upstream::RoleMapping},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
};

pub const SECRET: &str = "the secret of our client at oidc-provider";

/// The process; it ends with its standard input.
pub struct OidcProvider {
    pub issuer: String,
    process: Child,
    /// Held: it would end on a warning that it cannot print.
    _output: BufReader<ChildStdout>,
}

impl Drop for OidcProvider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl OidcProvider {
    /// Starts it for a client and these people, if it is installed.
    pub async fn start(server: &TestServer, client: Value, people: Value) -> Option<Self> {
        let package = package()?;
        let scene = json!({
            "client": client, "people": people, "now": server.clock.now().millis(),
        });
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/upstream/provider.mjs");
        let mut process = Command::new("node")
            .arg(script)
            .arg(scene.to_string())
            .arg(package)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = process.stdout.take().unwrap();
        let first = tokio::task::spawn_blocking(move || {
            let (mut output, mut line) = (BufReader::new(stdout), String::new());
            output.read_line(&mut line).unwrap();
            (output, line.trim_end().to_owned())
        });
        let (output, issuer) = first.await.unwrap();
        Some(Self { issuer, process, _output: output })
    }

    fn address(&self) -> SocketAddr {
        self.issuer.strip_prefix("http://").unwrap().parse().unwrap()
    }

    /// Signs a person in on its pages; returns the address that the browser is sent back to.
    pub async fn sign_in(&self, login: &str, redirect_to: &str) -> String {
        let mut cookies: Vec<String> = Vec::new();
        let mut to = redirect_to.to_owned();
        let mut fields: Option<Vec<(&str, &str)>> = None;
        for _ in 0..8 {
            let Some(path) = to.strip_prefix(&self.issuer).map(str::to_owned) else { return to };
            let method = if fields.is_some() { Method::POST } else { Method::GET };
            let sent = request(method, self.address(), &path)
                .header("cookie", cookies.join("; "))
                .header("content-type", "application/x-www-form-urlencoded");
            let body = form(&fields.take().unwrap_or_default());
            let answer: Answer = send(self.address(), sent.body(body).unwrap()).await;
            for set in &answer.headers.get_all("set-cookie") {
                let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
                let name = pair.split('=').next().unwrap().to_owned();
                cookies.retain(|one| one.split('=').next() != Some(&name));
                cookies.push(pair);
            }
            match answer.header("location") {
                Some(next) if next.starts_with('/') => to = format!("{}{next}", self.issuer),
                Some(next) => next.clone_into(&mut to),
                // Its page asks who the person is.
                None => {
                    assert!(answer.text().contains("name=\"login\""), "{answer:?}");
                    fields = Some(vec![("prompt", "login"), ("login", login), ("password", "x")]);
                }
            }
        }
        panic!("it does not come back from {to}");
    }
}

/// Where the package was installed.
fn package() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let folder = cache.or_else(home)?.join("porteiro/upstream/node_modules/oidc-provider");
    let package = folder.join("lib/index.js");
    if package.is_file() {
        return Some(package);
    }
    let required = std::env::var("PORTEIRO_TEST_REQUIRE_UPSTREAM").is_ok_and(|it| it == "1");
    assert!(!required, "there is no oidc-provider: bin/upstream-for-tests installs it");
    skip();
    None
}

#[expect(clippy::print_stderr, reason = "what was not tried must not look as if it was")]
fn skip() {
    eprintln!("skipped: oidc-provider, which bin/upstream-for-tests installs");
}

/// People as the provider knows them.
pub fn people() -> Value {
    json!({
        "nova": {
            "email": "nova@acme.test", "email_verified": true, "groups": ["staff", "finance"],
            "acr": "phr",
        },
        "unverified": { "email": "una@acme.test", "email_verified": false },
        "stranger": { "email": "eve@elsewhere.test", "email_verified": true },
        "ana": { "email": "ana@acme.test", "email_verified": true },
    })
}

/// What the provider knows of our client; without a secret, our key set.
pub fn client(server: &TestServer, connection: &str, has_secret: bool) -> Value {
    let of = |path: &str| format!("{}/connect/sso/{connection}/{path}", server.issuer());
    let mut client = json!({
        "client_id": "porteiro",
        "redirect_uris": [of("callback")],
        "backchannel_logout_uri": of("logout"),
        "backchannel_logout_session_required": true,
    });
    let proof = if has_secret {
        json!({ "client_secret": SECRET })
    } else {
        json!({
            "token_endpoint_auth_method": "private_key_jwt",
            "jwks_uri": format!("{}/connect/jwks", server.issuer()),
        })
    };
    client.as_object_mut().unwrap().extend(proof.as_object().unwrap().clone());
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oidc_provider_signs_members_in_by_a_secret_and_by_our_key_set() {
    for has_secret in [true, false] {
        let zone = ZoneServer::open().await;
        let server = TestServer::open_in(options(&zone)).await;
        server.apply(crate::api_caller::DIRECTORY).await;
        let connection = draw_uuid(&SystemDice);
        let client = client(&server, &connection, has_secret);
        let Some(provider) = OidcProvider::start(&server, client, people()).await else { return };
        let role = RoleMapping {
            claim: "groups".to_owned(),
            value: "finance".to_owned(),
            role: "manager".to_owned(),
        };
        let made = Draft { id: connection, roles: Some(vec![role]), ..draft(&provider.issuer) };
        connect(&server, made, has_secret.then_some(SECRET)).await;
        let sign_on_asking = async |login: &str, beside: &[(&str, &str)]| {
            let asked = [("organization", "acme"), ("scope", "openid invoices:write")];
            let asked = [&asked[..], beside].concat();
            let flow = server.authorize("web", &asked).await.json();
            let left = server.step(&flow, "sso/options", json!({})).await;
            assert_eq!(left.status, 200, "{left:?}");
            let to = text(&left.json()["redirect_to"]).to_owned();
            let callback = provider.sign_in(login, &to).await;
            server.step(&flow, "sso", json!({ "callback": callback })).await
        };
        let sign_on = async |login: &str| sign_on_asking(login, &[]).await;
        let early = sign_on("nova").await;
        assert_eq!(early.json()["code"], "account_not_vouched", "{has_secret}: {early:?}");
        prove(&server, &zone, ("acme", "acme.test")).await;
        sign_on("unverified").await.problem(403, "account_not_vouched");
        sign_on("stranger").await.problem(403, "account_not_vouched");
        sign_on("ana").await.problem(403, "identity_not_linked");
        // Just in time, and then by what is known.
        let mut accounts = Vec::new();
        for _ in 0..2 {
            let done = sign_on("nova").await;
            let session = session_of(&done);
            let code = parameter(&redirect(&done), "code").unwrap();
            let tokens = server.redeem("web", &code).await.json();
            let held = claims(&tokens["access_token"]);
            assert_eq!(
                (&held["role"], &held["acr"]),
                (&json!("manager"), &json!("aal1")),
                "{held}"
            );
            accounts.push(held["sub"].clone());
            assert!(!session.is_empty());
        }
        assert_eq!(accounts[0], accounts[1]);
        // It says when a person signed in where it is asked how long ago that may be.
        for beside in [("prompt", "login"), ("max_age", "600")] {
            let done = sign_on_asking("nova", &[beside]).await;
            let code = parameter(&redirect(&done), "code").unwrap();
            let tokens = server.redeem("web", &code).await.json();
            assert!(claims(&tokens["id_token"])["auth_time"].is_i64(), "{beside:?}");
        }
        assert_eq!(account_of(&server, "nova@acme.test").await.as_deref(), accounts[0].as_str());
    }
}
