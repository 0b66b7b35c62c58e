//! Another Porteiro as the provider of an organization, over real HTTP: by a secret, and by our key set.

use crate::{
    authenticator::Authenticator,
    me::ask,
    person::{claims, parameter, redirect, text},
    site::Site,
    sso_scene::{account_of, connect, draft, link, options, prove, session_of},
    support::{TestOptions, TestServer},
    zone_server::ZoneServer,
};
use porteiro::domain::{Clock as _, connection::Draft, signing_keys::SigningAlgorithm};
use serde_json::{Value, json};
use std::time::Duration;

const SECRET: &str = "a-secret-of-more-than-thirty-two-characters";

/// Two installations: acme signs its people in by the other one.
struct Pair {
    server: TestServer,
    upstream: TestServer,
    zone: ZoneServer,
    connection: String,
}

impl Pair {
    /// The provider knows us by a secret, or by the key set at this site.
    async fn open(keys: Option<&Site>) -> Self {
        let zone = ZoneServer::open().await;
        let server = TestServer::open_in(options(&zone)).await;
        server.apply(crate::api_caller::DIRECTORY).await;
        // It tells us of a logout, on this machine.
        let private_networks = true;
        let mut plain = TestOptions { rates: None, private_networks, ..TestOptions::default() };
        if let Some(site) = keys {
            let keys: Value = server.get("/connect/jwks").await.json();
            site.now_serves(&keys);
            plain.client_documents = Some(site.fetcher(Duration::from_mins(1)));
        }
        let upstream = TestServer::open_in(plain).await;
        let secret = keys.is_none().then_some(SECRET);
        let connection = connect(&server, draft(upstream.issuer()), secret).await;
        let proves = match keys {
            None => format!("client_secret = \"{SECRET}\""),
            Some(site) => {
                format!(
                    "token_endpoint_auth_method = \"private_key_jwt\"\njwks_uri = \"{}\"",
                    site.url
                )
            }
        };
        let callback = format!("{}/connect/sso/{connection}/callback", server.issuer());
        let known = format!(
            "[[client]]\nclient_id = \"porteiro\"\n{proves}\nredirect_uris = [\"{callback}\"]\n\
             trusted = true\nclaims_in_id_token = true\n\n\
             [[account]]\nemail = \"nova@acme.test\"\nemail_verified = true\n\
             password = \"correct horse battery staple\"\n\n\
             [[account]]\nemail = \"unverified@acme.test\"\nemail_verified = false\n\
             password = \"correct horse battery staple\"\n"
        );
        upstream.apply(&known).await;
        Self { server, upstream, zone, connection }
    }

    /// Begins at ours, signs in at theirs, and returns the address that the browser is sent back to.
    async fn answer(&self, email: &str) -> (Value, String) {
        let (flow, callback, _) = self.answer_in(email).await;
        (flow, callback)
    }

    /// The same, with the session at theirs.
    async fn answer_in(&self, email: &str) -> (Value, String, String) {
        let wish = json!({ "kind": "sign_in", "organization": "acme" });
        let flow = self.server.post_json("/flows", &wish, &[]).await.json();
        let (callback, session) = self.answer_to(&flow, email).await;
        (flow, callback, session)
    }

    /// Leaves a flow of ours, signs in at theirs, and returns the address that the browser is sent back to, with the session
    /// at theirs.
    async fn answer_to(&self, flow: &Value, email: &str) -> (String, String) {
        let left = self.server.step(flow, "sso/options", json!({})).await;
        assert_eq!(left.status, 200, "{left:?}");
        let to = text(&left.json()["redirect_to"]).to_owned();
        let path = to.strip_prefix(self.upstream.issuer()).unwrap();
        let request = self.upstream.request(hyper::Method::GET, path);
        let request = request.header("accept", "application/json");
        let asked = self.upstream.send(request.body(crate::support::form(&[])).unwrap()).await;
        let mut done = self.upstream.prove(&asked.json(), email).await;
        if done.json()["state"] == "second_factor" {
            let code = Authenticator::of_dora().code(self.upstream.clock.now());
            done = self.upstream.step(&asked.json(), "totp", json!({ "code": code })).await;
        }
        let session = text(&done.json()["result"]["session_token"]).to_owned();
        (redirect(&done).to_string(), session)
    }

    async fn sign_on(&self, email: &str) -> crate::http::Answer {
        let (flow, callback) = self.answer(email).await;
        self.server.step(&flow, "sso", json!({ "callback": callback })).await
    }
}

#[tokio::test]
async fn another_porteiro_signs_members_in_by_a_secret() {
    let pair = Pair::open(None).await;
    let Pair { server, upstream, zone, connection } = &pair;
    // Nobody is vouched for before the domain is proved.
    pair.sign_on("nova@acme.test").await.problem(403, "account_not_vouched");
    prove(server, zone, ("acme", "acme.test")).await;
    pair.sign_on("clara@nowhere.test").await.problem(403, "account_not_vouched");
    pair.sign_on("unverified@acme.test").await.problem(403, "account_not_vouched");
    pair.sign_on("ana@acme.test").await.problem(403, "identity_not_linked");
    let session = session_of(&pair.sign_on("nova@acme.test").await);
    let made = account_of(server, "nova@acme.test").await.unwrap();
    assert_ne!(Some(&made), account_of(upstream, "nova@acme.test").await.as_ref());
    let asked = [("organization", "acme"), ("scope", "openid email")];
    let granted = server.authorize_in(&session, "web", &asked).await;
    let code = parameter(&redirect(&granted), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    let shown = server.userinfo(text(&tokens["access_token"])).await.json();
    assert_eq!(
        (&shown["email"], &shown["email_verified"]),
        (&json!("nova@acme.test"), &json!(true))
    );
    // A known identity, whatever its address there; its issuer names itself, as its metadata promises.
    let subject = account_of(upstream, "clara@nowhere.test").await.unwrap();
    link(server, connection, &subject, "ana@acme.test").await;
    let (flow, callback) = pair.answer("clara@nowhere.test").await;
    let iss = format!(
        "&iss={}",
        url::form_urlencoded::byte_serialize(upstream.issuer().as_bytes()).collect::<String>()
    );
    assert!(callback.contains(&iss), "{callback}");
    let without = callback.replace(&iss, "");
    server.step(&flow, "sso", json!({ "callback": without })).await.problem(401, "sso_refused");
    // It signs with another key by the time the code is exchanged.
    upstream.add_key(SigningAlgorithm::EdDsa);
    upstream.running().system().reload_keys();
    let session = session_of(&server.step(&flow, "sso", json!({ "callback": callback })).await);
    let me = crate::me::get_in(server, &session, "/me/organizations").await;
    assert_eq!(me.status, 200, "{me:?}");
    // Two factors there are one here, until the organization says otherwise.
    let dora = account_of(upstream, "dora@acme.test").await.unwrap();
    let member =
        "[[account]]\nemail = \"dora@acme.test\"\nmemberships = [{ organization = \"acme\" }]\n";
    server.apply(member).await;
    link(server, connection, &dora, "dora@acme.test").await;
    assert_eq!(pair.sign_on("dora@acme.test").await.json()["state"], "second_factor");
    let organization = Some("acme".to_owned());
    let believing =
        Draft { id: connection.clone(), organization, believe_acr: Some(true), ..Draft::default() };
    connect(server, believing, None).await;
    upstream.clock.advance(Duration::from_mins(1));
    server.clock.advance(Duration::from_mins(1));
    let done = pair.sign_on("dora@acme.test").await;
    let session = session_of(&done);
    let asked = [("organization", "acme"), ("acr_values", "aal2")];
    let granted = server.authorize_in(&session, "web", &asked).await;
    let code = parameter(&redirect(&granted), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    assert_eq!(claims(&tokens["id_token"])["acr"], "aal2");
}

#[tokio::test]
async fn a_sign_out_at_the_other_porteiro_ends_what_rests_on_it_here() {
    let pair = Pair::open(None).await;
    let Pair { server, upstream, zone, connection } = &pair;
    let told = format!("{}/connect/sso/{connection}/logout", server.issuer());
    upstream
        .apply(&format!(
            "[[client]]\nclient_id = \"porteiro\"\nbackchannel_logout_uri = \"{told}\"\n\
             backchannel_logout_session_required = true\n"
        ))
        .await;
    upstream.clock.expire_views();
    prove(server, zone, ("acme", "acme.test")).await;
    let (flow, callback, theirs) = pair.answer_in("nova@acme.test").await;
    let session = session_of(&server.step(&flow, "sso", json!({ "callback": callback })).await);
    let own = server.sign_in("ana@acme.test").await;
    let is_open = async |session: &str| {
        crate::me::get_in(server, session, "/me/organizations").await.status == 200
    };
    assert!(is_open(&session).await);
    let leaving = upstream.begin_in(&theirs, "sign_out").await.json();
    let left = upstream.step_in(&theirs, &leaving, "confirm", json!({ "decision": "allow" })).await;
    assert_eq!(left.json()["state"], "done", "{left:?}");
    crate::shared::eventually("the end of the session", async || !is_open(&session).await).await;
    assert!(is_open(&own).await, "others stay");
}

#[tokio::test]
async fn another_porteiro_is_asked_for_a_sign_in_anew_and_says_when_it_was() {
    let pair = Pair::open(None).await;
    let Pair { server, upstream, zone, .. } = &pair;
    prove(server, zone, ("acme", "acme.test")).await;
    for (beside, anew) in [(("prompt", "login"), true), (("max_age", "600"), false)] {
        let asked = [("organization", "acme"), beside];
        let flow = server.authorize("web", &asked).await.json();
        let left = server.step(&flow, "sso/options", json!({})).await.json();
        let path = text(&left["redirect_to"]).strip_prefix(upstream.issuer()).unwrap().to_owned();
        // Of a person with a session there.
        let theirs = upstream.sign_in("nova@acme.test").await;
        upstream.clock.advance(Duration::from_mins(2));
        server.clock.advance(Duration::from_mins(2));
        let headers = [("accept", "application/json"), ("x-session-token", &*theirs)];
        let there = ask(upstream, hyper::Method::GET, &path, &headers).await;
        assert_eq!(there.json()["state"] != "done", anew, "{beside:?}: {there:?}");
        let (callback, _) = pair.answer_to(&flow, "nova@acme.test").await;
        let done = server.step(&flow, "sso", json!({ "callback": callback })).await;
        let code = parameter(&redirect(&done), "code").unwrap();
        let tokens = server.redeem("web", &code).await.json();
        let at = upstream.clock.now().seconds();
        assert_eq!(claims(&tokens["id_token"])["auth_time"], at, "{beside:?}");
    }
}

#[tokio::test]
async fn another_porteiro_knows_us_by_our_key_set() {
    let site = Site::serving(&json!({ "keys": [] })).await;
    let pair = Pair::open(Some(&site)).await;
    prove(&pair.server, &pair.zone, ("acme", "acme.test")).await;
    session_of(&pair.sign_on("nova@acme.test").await);
    assert!(site.asked() >= 1, "our keys were fetched");
    // A key set that is not ours proves nothing.
    site.now_serves(&json!({ "keys": [] }));
    pair.upstream.clock.advance(Duration::from_mins(6));
    pair.server.clock.advance(Duration::from_mins(6));
    pair.sign_on("nova@acme.test").await.problem(401, "sso_refused");
}
