//! CIBA: what a client may ask, of whom and how often.

use crate::{
    ciba::{ANA, BRUNO, CLARA, GRANT, ask, decide, open, open_in, poll, say, start, waiting},
    person::{claims, text},
    signing_client::{self, ClientKey, in_toml, key_set},
    support::TestOptions,
};
use porteiro::{domain::Clock as _, http::limits::pace::Rates};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

#[tokio::test]
async fn nobody_and_one_whom_the_client_must_not_reach_are_answered_alike() {
    let server = open().await;
    server.apply("[[account]]\nemail = \"eva@acme.test\"\n").await;
    let registration = json!({
        "client_name": "Stranger", "grant_types": [GRANT, "authorization_code"],
        "redirect_uris": ["https://stranger.example/cb"],
        "token_endpoint_auth_method": "client_secret_post",
    });
    let registered = server.post_json("/connect/register", &registration, &[]).await;
    assert_eq!(registered.status, 201, "{registered:?}");
    let stranger = registered.json();
    let by_stranger = async |email: &str| {
        let fields = [
            ("client_id", text(&stranger["client_id"])),
            ("client_secret", text(&stranger["client_secret"])),
            ("scope", "openid"),
            ("login_hint", email),
        ];
        server.post("/connect/ciba", &fields).await
    };
    // Without a live grant a client that registered itself reaches none.
    let answers = [
        by_stranger(ANA).await,
        by_stranger("nobody@acme.test").await,
        ask(*server, "clerk", CLARA, &[]).await,
        ask(*server, "clerk", "nobody@acme.test", &[]).await,
        ask(*server, "clerk", "no address at all", &[]).await,
        ask(*server, "agent", "nobody@acme.test", &[]).await,
        ask(*server, "clerk", CLARA, &[("organization", "acme")]).await,
    ];
    for answer in &answers {
        answer.refused(400, "unknown_user_id");
        assert_eq!(answer.body, answers[0].body);
    }
    // Its members, and for one that belongs to no organization anyone.
    start(*server, "clerk", ANA, &[]).await;
    start(*server, "agent", CLARA, &[]).await;
    server.stop().await;
}

#[tokio::test]
async fn the_organization_is_named_the_only_one_or_the_clients_own() {
    let server = open().await;
    ask(*server, "agent", BRUNO, &[]).await.refused(400, "invalid_request");
    let session = server.sign_in(BRUNO).await;
    for (client, more, organization) in
        [("agent", &[("organization", "other")][..], json!("other")), ("clerk", &[], json!("acme"))]
    {
        let id = start(*server, client, BRUNO, more).await;
        assert_eq!(waiting(&server, &session).await[0]["organization"], organization);
        say(&server, &session, "approve").await;
        let tokens = poll(*server, client, &id).await.json();
        assert_eq!(claims(&tokens["access_token"])["org"], organization, "{tokens}");
    }
    for (more, status, code) in [
        ([("organization", "other"), ("scope", "openid")], 403, "access_denied"),
        ([("organization", "nowhere"), ("scope", "openid")], 403, "access_denied"),
        ([("organization", "acme"), ("scope", "openid orders:read")], 400, "invalid_scope"),
    ] {
        ask(*server, "agent", ANA, &more).await.refused(status, code);
    }
    ask(*server, "agent", CLARA, &[("scope", "openid invoices:read")])
        .await
        .refused(400, "invalid_scope");
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    crate::shared::eventually("its suspension is seen", async || {
        ask(*server, "clerk", ANA, &[]).await.status == 403
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_said_when_a_client_asks() {
    let server = open().await;
    let long = "x".repeat(201);
    for message in ["a\u{202e}b", "\u{200b}", "a\nb", long.as_str(), "\u{2066}x\u{2069}", "  "] {
        let refused = ask(*server, "agent", ANA, &[("binding_message", message)]).await;
        refused.refused(400, "invalid_binding_message");
    }
    let agent =
        async |fields: &[(&str, &str)]| server.post_as("agent", "/connect/ciba", fields).await;
    let hint = ("login_hint", ANA);
    let openid = ("scope", "openid");
    for (fields, code) in [
        (&[openid][..], "invalid_request"),
        (&[openid, hint, ("id_token_hint", "x.y.z")], "invalid_request"),
        (&[openid, ("id_token_hint", "x.y.z")], "invalid_request"),
        (&[openid, ("login_hint_token", "x")], "invalid_request"),
        (&[hint], "invalid_request"),
        (&[hint, ("scope", "email")], "invalid_scope"),
        (&[hint, ("scope", "openid unheard:of")], "invalid_scope"),
        (&[hint, openid, ("resource", "https://nowhere.example")], "invalid_target"),
        (&[hint, openid, ("request_uri", "https://agent.example/r")], "invalid_request"),
        (&[hint, openid, ("request", "x.y.z")], "invalid_request"),
        (&[hint, openid, ("authorization_details", "[")], "invalid_authorization_details"),
        (&[hint, hint, openid], "invalid_request"),
    ] {
        agent(fields).await.refused(400, code);
    }
    server
        .post_as("web", "/connect/ciba", &[openid, hint])
        .await
        .refused(400, "unauthorized_client");
    let public = [("client_id", "app"), openid, hint];
    server.post("/connect/ciba", &public).await.refused(401, "invalid_client");
    server.post("/connect/ciba", &[openid, hint]).await.refused(401, "invalid_client");
    assert_eq!(server.get("/connect/ciba").await.status, 405);
    for bad in ["", "x", "pbr_", "pac_x"] {
        let refused = poll(*server, "agent", bad).await;
        refused.refused(400, if bad.is_empty() { "invalid_request" } else { "invalid_grant" });
    }
    // A user_code is not offered, and does no harm.
    start(*server, "agent", ANA, &[("user_code", "1234")]).await;
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    let endpoint = format!("{}/connect/ciba", server.issuer());
    assert_eq!(metadata["backchannel_authentication_endpoint"], endpoint);
    let modes = &metadata["backchannel_token_delivery_modes_supported"];
    assert_eq!(*modes, json!(["poll", "ping"]));
    assert_eq!(metadata["backchannel_user_code_parameter_supported"], false);
    assert!(metadata["grant_types_supported"].as_array().unwrap().contains(&json!(GRANT)));
    server.stop().await;
}

#[tokio::test]
async fn an_id_token_names_the_person_and_a_signed_request_is_the_whole_request() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let id = start(*server, "agent", ANA, &[]).await;
    say(&server, &session, "approve").await;
    let tokens = poll(*server, "agent", &id).await.json();
    let hint = [("scope", "openid"), ("id_token_hint", text(&tokens["id_token"]))];
    assert_eq!(server.post_as("agent", "/connect/ciba", &hint).await.status, 200);
    server.post_as("rival", "/connect/ciba", &hint).await.refused(400, "invalid_request");

    let key = ClientKey::new("k");
    let keys = in_toml(&key_set(&[&key.jwk]));
    server
        .apply(&format!(
            "[[client]]\nclient_id = \"clerk\"\njwks = {keys}\n\
             backchannel_authentication_request_signing_alg = \"ES256\"\n"
        ))
        .await;
    ask(*server, "clerk", ANA, &[]).await.refused(400, "invalid_request");
    let now = server.clock.now().seconds();
    let said = json!({
        "scope": "openid", "login_hint": ANA, "nbf": now, "requested_expiry": 20,
    });
    let signed = |otherwise: Value| {
        let mut said = said.as_object().unwrap().clone();
        said.extend(otherwise.as_object().unwrap().clone());
        key.sign(&signing_client::claims(&server, "clerk", Value::Object(said)))
    };
    let send = async |object: String| {
        // What stands beside it is not the request.
        let fields = [("request", object.as_str()), ("login_hint", "nobody@acme.test")];
        server.post_as("clerk", "/connect/ciba", &fields).await
    };
    let good = send(signed(json!({ "sub": null }))).await;
    assert_eq!(good.status, 200, "{good:?}");
    assert_eq!(good.json()["expires_in"], 20);
    for wrong in [
        json!({ "sub": null, "jti": null }),
        json!({ "sub": null, "nbf": null }),
        json!({ "sub": null, "iat": null }),
        json!({ "sub": null, "exp": now - 100 }),
        json!({ "sub": null, "aud": "https://other.example" }),
        json!({ "sub": null, "iss": "agent" }),
    ] {
        send(signed(wrong)).await.refused(400, "invalid_request");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_asks_one_person_only_so_often() {
    let server = open().await;
    for _ in 0..10 {
        start(*server, "agent", ANA, &[]).await;
    }
    let refused = ask(*server, "agent", ANA, &[]).await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after").is_some()), (429, true));
    // Another client, and another person, are not meant.
    start(*server, "rival", ANA, &[]).await;
    start(*server, "agent", CLARA, &[]).await;
    server.clock.advance(Duration::from_mins(6));
    start(*server, "agent", ANA, &[]).await;
    server.stop().await;
    let mut rates = Rates::default();
    rates.approvals.pending = 2;
    let few = open_in(TestOptions { rates: Some(rates), ..TestOptions::default() }).await;
    for status in [200, 200, 429] {
        assert_eq!(ask(*few, "agent", ANA, &[]).await.status, status, "as the operator says");
    }
    few.stop().await;
    let mut rates = Rates::default();
    rates.approvals.rate.burst = 1;
    let slow = open_in(TestOptions { rates: Some(rates), ..TestOptions::default() }).await;
    for status in [200, 429] {
        assert_eq!(ask(*slow, "agent", ANA, &[]).await.status, status, "as the operator says");
    }
    slow.clock.advance(Duration::from_mins(1));
    start(*slow, "agent", ANA, &[]).await;
    slow.stop().await;
    let unlimited = open_in(TestOptions { rates: None, ..TestOptions::default() }).await;
    for _ in 0..12 {
        start(*unlimited, "agent", ANA, &[]).await;
    }
    unlimited.stop().await;
}

#[tokio::test]
async fn however_many_are_asked_at_once_no_more_wait_than_the_limit() {
    let server = open().await;
    let other = server.beside(TestOptions::default()).await;
    let mut asked = JoinSet::new();
    for number in 0..26 {
        let node = if number % 2 == 0 { *server } else { *other };
        asked.spawn(async move {
            loop {
                let answer = ask(node, "agent", ANA, &[]).await;
                // Two nodes that charge one allowance at once may lose too often in a row.
                if answer.status != 503 {
                    return answer;
                }
            }
        });
    }
    let answers = asked.join_all().await;
    let count = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((count(200), count(429)), (10, 16), "{answers:?}");
    let session = server.sign_in(ANA).await;
    let waiting = waiting(&server, &session).await;
    assert_eq!(waiting.len(), 10);
    // What was decided, or has expired, makes room at once.
    let denied = json!({ "decision": "deny" });
    assert_eq!(decide(*server, &session, text(&waiting[0]["id"]), denied).await.status, 204);
    start(*other, "agent", ANA, &[]).await;
    ask(*server, "agent", ANA, &[]).await.refused(429, "temporarily_unavailable");
    server.clock.advance(Duration::from_mins(6));
    start(*server, "agent", ANA, &[]).await;
    other.stop().await;
    server.stop().await;
}
