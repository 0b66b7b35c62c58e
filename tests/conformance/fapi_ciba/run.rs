//! A module of the plan, run in one variant after the other.

use crate::{
    ciba::{ANA, GRANT, decide, waiting},
    ciba_ping::{Endpoint, TAKES},
    conformance::fapi2::{
        run::{self, Client, clients, identified, keys, stage},
        talk::Call,
        variant::{Authentication, Constraint, Variant},
    },
    dpop::TOKEN,
    http::Answer,
    person::text,
    shared::eventually,
    signing_client::claims,
    support::TestOptions,
};
use serde_json::{Value, json};

pub const CIBA: &str = "/connect/ciba";
pub const NOTIFICATION_TOKEN: &str = "8d67dc78-7faa-4d41-aabd-67707b374255";

/// How the client authenticates, and how it learns of a decision.
#[derive(Clone, Copy)]
pub struct Mode {
    pub private_key_jwt: bool,
    pub ping: bool,
}

pub fn all() -> Vec<Mode> {
    let both = [true, false];
    both.into_iter()
        .flat_map(|private_key_jwt| both.map(|ping| Mode { private_key_jwt, ping }))
        .collect()
}

pub fn by_key() -> Vec<Mode> {
    all().into_iter().filter(|mode| mode.private_key_jwt).collect()
}

pub fn by_certificate() -> Vec<Mode> {
    all().into_iter().filter(|mode| !mode.private_key_jwt).collect()
}

pub fn pinged() -> Vec<Mode> {
    all().into_iter().filter(|mode| mode.ping).collect()
}

/// A variant that is being run.
pub struct Run {
    base: run::Run,
    pub ping: bool,
    pub endpoint: Endpoint,
}

impl std::ops::Deref for Run {
    type Target = run::Run;

    fn deref(&self) -> &run::Run {
        &self.base
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.base.fmt(f)
    }
}

pub async fn each(modes: Vec<Mode>, module: impl AsyncFn(&Run)) {
    each_answered(modes, TAKES, module).await;
}

/// Runs a module with clients that answer pings in this way.
pub async fn each_answered(modes: Vec<Mode>, mood: u8, module: impl AsyncFn(&Run)) {
    assert!(!modes.is_empty());
    let keys = keys();
    for Mode { private_key_jwt, ping } in modes {
        let options = TestOptions { private_networks: true, ..TestOptions::default() };
        let (server, partners) = stage(options).await;
        let endpoint = Endpoint::open(mood).await;
        let authentication =
            if private_key_jwt { Authentication::PrivateKeyJwt } else { Authentication::Mtls };
        let variant = Variant {
            authentication,
            constraint: Constraint::Mtls,
            openid: true,
            rar: false,
            signed: true,
            jarm: false,
        };
        let method = if private_key_jwt { "pkjwt" } else { "mtls" };
        let label = format!("{method}-{}", if ping { "ping" } else { "poll" });
        let [one, two] = clients((&server, &partners), variant, (&label, &keys));
        for client in [&one, &two] {
            let mut lines = vec![
                identified(variant, client),
                format!("grant_types = [\"{GRANT}\", \"refresh_token\"]"),
                "require_profile = \"fapi-ciba\"".to_owned(),
                "tls_client_certificate_bound_access_tokens = true".to_owned(),
            ];
            if ping {
                lines.push("backchannel_token_delivery_mode = \"ping\"".to_owned());
                let uri = &endpoint.uri;
                lines.push(format!("backchannel_client_notification_endpoint = \"{uri}\""));
            }
            server.apply(&lines.join("\n")).await;
        }
        let base = run::Run { server, partners, variant, label, one, two };
        let run = Run { base, ping, endpoint };
        // Boxed: a module is long.
        Box::pin(module(&run)).await;
        run.base.server.stop().await;
    }
}

impl Run {
    /// The claims of a request that is right but for what a module says; null leaves one out.
    pub fn request(&self, client: &Client, otherwise: &Value) -> Value {
        let now = self.now();
        let mut request = json!({
            "scope": "openid", "login_hint": ANA, "nbf": now, "exp": now + 300, "sub": null,
        });
        if self.ping {
            request["client_notification_token"] = json!(NOTIFICATION_TOKEN);
        }
        request.as_object_mut().unwrap().extend(otherwise.as_object().unwrap().clone());
        claims(&self.server, &client.id, request)
    }

    /// A form, with an assertion for the endpoint that it goes to, as the plan sends it.
    pub fn form<'a>(&'a self, client: &'a Client, path: &str, fields: &[(&str, &str)]) -> Call<'a> {
        let call = self.call(client, path, fields);
        if !self.variant.private_key_jwt() {
            return call;
        }
        let claims = self.assertion(client, json!({ "aud": self.url(path) }));
        call.asserting(client.signer.sign(&claims))
    }

    pub fn asking<'a>(&'a self, client: &'a Client, object: &str) -> Call<'a> {
        self.form(client, CIBA, &[("request", object)])
    }

    /// Sends a signed request that says this.
    pub async fn ask(&self, client: &Client, otherwise: &Value) -> Answer {
        let object = client.signer.sign(&self.request(client, otherwise));
        self.asking(client, &object).send().await
    }

    /// Begins, and returns what was answered.
    pub async fn begin(&self, client: &Client, otherwise: &Value) -> Value {
        let answer = self.ask(client, otherwise).await;
        assert_eq!(answer.status, 200, "{self}: {answer:?}");
        let begun = answer.json();
        assert!(text(&begun["auth_req_id"]).len() >= 43, "{self}: {begun}");
        assert!(begun["expires_in"].is_u64() && begun["interval"].is_u64(), "{self}: {begun}");
        begun
    }

    pub fn redeeming<'a>(&'a self, client: &'a Client, id: &str) -> Call<'a> {
        self.form(client, TOKEN, &[("grant_type", GRANT), ("auth_req_id", id)])
    }

    pub async fn redeem(&self, client: &Client, id: &Value) -> Answer {
        self.redeeming(client, text(id)).send().await
    }

    /// Decides, as the person, the one request of a client that waits.
    pub async fn say(&self, client: &Client, decision: &str) {
        let session = self.server.sign_in(ANA).await;
        let items = waiting(&self.server, &session).await;
        let of_client = |item: &&Value| item["client"]["client_id"] == *client.id;
        let [item] = items.iter().filter(of_client).collect::<Vec<_>>()[..] else {
            panic!("{self}: {items:?}")
        };
        let decision = json!({ "decision": decision });
        let said = decide(*self.server, &session, text(&item["id"]), decision).await;
        assert_eq!(said.status, 204, "{self}: {said:?}");
    }

    /// Waits for so many pings where the client is pinged.
    pub async fn notified(&self, times: usize) {
        if self.ping {
            eventually("the ping", async || self.endpoint.count() == times).await;
        }
    }

    /// Goes the whole way, and returns the tokens.
    pub async fn tokens(&self, client: &Client, otherwise: &Value) -> Value {
        let begun = self.begin(client, otherwise).await;
        self.say(client, "approve").await;
        let answer = self.redeem(client, &begun["auth_req_id"]).await;
        assert_eq!(answer.status, 200, "{self}: {answer:?}");
        answer.json()
    }
}
