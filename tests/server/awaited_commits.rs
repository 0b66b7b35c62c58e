//! How many commits each grant and each flow makes: the table of `docs/runtime-semantics.md`, executed.

use crate::{
    authenticator::recovery_codes,
    ciba, device, dpop, exchange, invitations,
    passkeys::{self, ANA},
    person::{PASSWORD, text},
    signing_client::{self, ClientKey, in_toml, key_set},
    sso_scene::Scene,
    support::{TestOptions, TestServer},
};
use porteiro::domain::Clock as _;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

/// Reads the table: what is done, and how many commits it makes today.
fn table() -> BTreeMap<String, u64> {
    let page = include_str!("../../docs/runtime-semantics.md");
    let (_, table) = page.split_once("| what is done | commits before | commits |\n").unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        (cells[0].to_owned(), cells[2].parse().unwrap())
    };
    rows.map(row).collect()
}

/// Counts what is committed, that for which no caller waits among it.
struct Counter<'a> {
    server: &'a TestServer,
    counted: BTreeMap<&'static str, u64>,
}

impl<'a> Counter<'a> {
    fn of(server: &'a TestServer) -> Self {
        Self { server, counted: BTreeMap::new() }
    }

    async fn commits(&self) -> u64 {
        self.server.quiet().await;
        self.server.running().system().store().report().commits
    }

    async fn count<T>(&mut self, name: &'static str, done: impl Future<Output = T>) -> T {
        let before = self.commits().await;
        let done = done.await;
        self.counted.insert(name, self.commits().await - before);
        done
    }

    /// Compares what was counted with the table.
    fn compare(self) {
        let table = table();
        let said = self.counted.keys().map(|name| (*name, table.get(*name).copied().unwrap_or(0)));
        assert_eq!(self.counted, said.collect(), "counted, and what the table says");
    }
}

fn done(answer: &Value) -> &Value {
    assert_eq!(answer["state"], "done", "{answer}");
    answer
}

#[tokio::test]
async fn sign_ins_make_as_many_commits_as_the_table_says() {
    let (server, mut device) = passkeys::open().await;
    let session = server.sign_in("bruno@acme.test").await;
    let (application, enrolled) = server.enrol_totp(&session, server.clock.now()).await;
    let codes = recovery_codes(&enrolled);
    server.clock.advance(Duration::from_mins(2));
    let mut counter = Counter::of(&server);
    counter.count("sign-in by passkey", server.sign_in_by_passkey(&mut device)).await;
    let session = counter.count("sign-in by password", server.sign_in(ANA)).await;
    counter
        .count("sign-in by password and TOTP", async {
            let asked = server.asks_second_factor("bruno@acme.test").await;
            let code = application.code(server.clock.now());
            let answer = server.step(&asked, "totp", json!({ "code": code })).await.json();
            done(&answer);
        })
        .await;
    counter
        .count("sign-in by password and recovery code", async {
            let asked = server.asks_second_factor("bruno@acme.test").await;
            let body = json!({ "code": codes[0] });
            done(&server.step(&asked, "recovery_code", body).await.json());
        })
        .await;
    counter
        .count("consent to a code, in a session", async {
            let flow = server.authorize_in(&session, "app", &[]).await.json();
            let body = json!({ "decision": "allow" });
            done(&server.step(&flow, "consent", body).await.json());
        })
        .await;
    let one = server.sign_in("clara@nowhere.test").await;
    counter
        .count("`PUT /me/password`, one session", async {
            let path = "/me/password";
            let request = server.request(hyper::Method::PUT, path);
            let body = json!({ "password": format!("{PASSWORD} and more") }).to_string();
            let request = request.header("x-session-token", &one);
            let request = request.header("content-type", "application/json");
            let answer = server.send(request.body(body.into()).unwrap()).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        })
        .await;
    counter
        .count("sign-out", async {
            let flow = server.begin("sign_out", &[("x-session-token", &session)]).await.json();
            let body = json!({ "decision": "allow" });
            done(&server.step(&flow, "confirm", body).await.json());
        })
        .await;
    counter.compare();
    server.stop().await;
}

#[tokio::test]
async fn grants_make_as_many_commits_as_the_table_says() {
    let server = exchange::agents().await;
    let session = server.sign_in(ANA).await;
    let scope = "openid offline_access invoices:read";
    // What a client uses for the first time is noted.
    let first = server.code(&session, "web", scope).await;
    assert_eq!(server.redeem("web", &first).await.status, 200);
    let mut counter = Counter::of(&server);
    let code =
        counter.count("code in a session, no question", server.code(&session, "web", scope)).await;
    let tokens = counter.count("token: code", server.redeem("web", &code)).await.json();
    let refresh = text(&tokens["refresh_token"]);
    let tokens = counter.count("token: refresh", server.refresh("web", refresh)).await.json();
    let token = text(&tokens["access_token"]);
    counter.count("token: exchange", server.exchanged("agent", token, "invoices:read")).await;
    counter.count("token: client credentials", server.token("agent", "")).await;
    counter.compare();
    server.stop().await;
}

#[tokio::test]
async fn what_waits_for_a_person_makes_as_many_commits_as_the_table_says() {
    let server = device::open().await;
    let mut counter = Counter::of(&server);
    let codes = counter.count("device: start", device::start(*server, "tv", &[])).await;
    let (flow, asked) = device::enter(*server, &codes.user, ANA).await;
    assert_eq!(asked.json()["state"], "confirm", "{asked:?}");
    let confirm = device::confirm(*server, &flow, "allow");
    done(&counter.count("device: confirm, the flow's end", confirm).await.json());
    let poll = device::poll(*server, "tv", &codes.device);
    assert_eq!(counter.count("token: device", poll).await.status, 200);
    counter.compare();
    server.stop().await;

    let server = ciba::open().await;
    let session = server.sign_in(ANA).await;
    let mut counter = Counter::of(&server);
    let start = ciba::start(*server, "agent", ANA, &[]);
    let id = counter.count("CIBA: start", start).await;
    counter.count("CIBA: approve", ciba::say(&server, &session, "approve")).await;
    let poll = ciba::poll(*server, "agent", &id);
    assert_eq!(counter.count("token: CIBA", poll).await.status, 200);
    counter.compare();
    server.stop().await;

    let options = TestOptions { mailbox: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let token = invitations::invited(&server, "bruno@acme.test", &["clerk"]).await;
    let body = json!({ "kind": "invitation", "token": token });
    let flow = server.post_json("/flows", &body, &[]).await.json();
    let mut counter = Counter::of(&server);
    let prove = server.step(&flow, "password", json!({ "password": PASSWORD }));
    done(&counter.count("invitation: accepted by password", prove).await.json());
    counter.compare();
    server.stop().await;
}

#[tokio::test]
async fn proofs_of_possession_make_as_many_commits_as_the_table_says() {
    let server = TestServer::open().await;
    let owner = dpop::holder(&server);
    let session = server.sign_in(dpop::ANA).await;
    let code = server.code(&session, "web", "openid offline_access").await;
    let proof = || owner.proof("POST", dpop::TOKEN, json!({}));
    let mut counter = Counter::of(&server);
    let own = [("grant_type", "client_credentials")];
    // What is noted of a client for the first time is noted before.
    server.post_proved("billing", dpop::TOKEN, (&own, &[&proof()])).await;
    let issued = counter
        .count("token: code, with a DPoP proof", async {
            server.redeem_proved("web", &code, &[&proof()]).await.json()
        })
        .await;
    let refresh = text(&issued["refresh_token"]);
    let issued = counter
        .count("token: refresh, with a DPoP proof", async {
            server.refresh_proved("web", refresh, &[&proof()]).await.json()
        })
        .await;
    counter
        .count("token: client credentials, with a DPoP proof", async {
            let answer = server.post_proved("billing", dpop::TOKEN, (&own, &[&proof()])).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        })
        .await;
    let key = ClientKey::new("one");
    let keys = format!("jwks = {}", in_toml(&key_set(&[&key.jwk])));
    signing_client::provision(&server, "signer", &keys).await;
    let signed = || key.sign(&signing_client::claims(&server, "signer", json!({})));
    assert_eq!(server.assert(&signed(), &[]).await.status, 200);
    counter
        .count("token: client credentials by private_key_jwt", async {
            assert_eq!(server.assert(&signed(), &[]).await.status, 200);
        })
        .await;
    counter
        .count("token: client credentials by private_key_jwt, with a DPoP proof", async {
            let answer = server.assert_proved(&signed(), &proof()).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        })
        .await;
    let token = text(&issued["access_token"]);
    counter
        .count("userinfo, with a DPoP proof", async {
            let proof = owner.proof_with("GET", dpop::USERINFO, token);
            let told = dpop::userinfo(&server, &format!("DPoP {token}"), &[&proof]).await;
            assert_eq!(told.status, 200, "{told:?}");
        })
        .await;
    counter.compare();
    server.stop().await;
}

#[tokio::test]
async fn single_sign_on_makes_as_many_commits_as_the_table_says() {
    let scene = Scene::proved().await;
    let mut counter = Counter::of(&scene.server);
    scene.provider.claim("email", json!("new@acme.test"));
    counter
        .count("single sign-on of a new person", async {
            done(&scene.sign_on().await.json());
        })
        .await;
    counter
        .count("single sign-on", async {
            done(&scene.sign_on().await.json());
        })
        .await;
    counter.compare();
}
