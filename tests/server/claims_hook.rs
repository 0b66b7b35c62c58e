//! The operator's own server adds claims, and nothing is issued without its answer.

use crate::{
    conformance::suite::verified,
    person::{claims, parameter, redirect, text},
    site::{Conduct, Site},
    support::{TestOptions, TestServer},
};
use hyper::StatusCode;
use porteiro::{claims_hook::ClaimsHook, outbound::DnsResolver};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const ANA: &str = "ana@acme.test";
const TEAM: &str = "https://acme.test/team";

async fn open(site: &Site, time_limit: Duration) -> TestServer {
    let url = site.url.parse().unwrap();
    let hook =
        ClaimsHook::within(time_limit, url, site.policy(), Arc::new(DnsResolver::of_system()));
    let claims_hook = Some(hook.unwrap());
    TestServer::open_in(TestOptions { claims_hook, ..TestOptions::default() }).await
}

fn adding(claims: &Value) -> Conduct {
    Conduct::Answer(StatusCode::OK, json!({ "claims": claims }).to_string())
}

#[tokio::test]
async fn what_it_adds_is_in_id_tokens_and_userinfo_and_in_no_access_token() {
    let site = Site::new(adding(&json!({ TEAM: ["sales"] }))).await;
    let server = open(&site, Duration::from_mins(1)).await;
    let tokens = server.tokens(ANA, "web", "openid invoices:read").await;
    let said = claims(&tokens["id_token"]);
    assert_eq!(said[TEAM], json!(["sales"]));
    assert!(claims(&tokens["access_token"]).get(TEAM).is_none());
    // It is asked by a token that anyone can verify, and that is for it alone.
    let asked = verified(&site.posted(), &server.key_set().await);
    assert_eq!((&asked["iss"], &asked["aud"]), (&json!(server.issuer()), &json!(site.url)));
    assert_eq!((&asked["place"], &asked["client_id"]), (&json!("id_token"), &json!("web")));
    assert_eq!((&asked["sub"], &asked["org"]), (&said["sub"], &json!("acme")));
    let told = server.userinfo(text(&tokens["access_token"])).await.json();
    assert_eq!(told[TEAM], json!(["sales"]));
    assert_eq!(verified(&site.posted(), &server.key_set().await)["place"], "userinfo");
    let next = server.refresh("web", text(&tokens["refresh_token"])).await.json();
    assert_eq!(claims(&next["id_token"])[TEAM], json!(["sales"]));
    // A client in its own name has no person to add anything to.
    let before = site.asked();
    server.token("billing", "invoices:read").await;
    assert_eq!(site.asked(), before);
    server.stop().await;
}

#[tokio::test]
async fn without_a_good_answer_nothing_is_issued_and_nothing_is_spent() {
    let site = Site::new(adding(&json!({}))).await;
    let server = open(&site, Duration::from_secs(2)).await;
    let session = server.sign_in(ANA).await;
    let answer = server.authorize_in(&session, "web", &[]).await;
    let code = parameter(&redirect(&answer), "code").unwrap();
    for bad in [
        Conduct::Answer(StatusCode::INTERNAL_SERVER_ERROR, "{}".to_owned()),
        Conduct::Answer(StatusCode::FOUND, "{}".to_owned()),
        Conduct::Answer(StatusCode::OK, "not json".to_owned()),
        adding(&json!({ "role": "manager" })),
        adding(&json!({ "sub": "another" })),
        adding(&json!({ TEAM: "x".repeat(10_000) })),
        Conduct::Hang,
        Conduct::Endless,
    ] {
        site.now(bad);
        server.redeem("web", &code).await.refused(503, "temporarily_unavailable");
    }
    site.now(adding(&json!({ TEAM: 1 })));
    let tokens = server.redeem("web", &code).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    let tokens = tokens.json();
    site.now(adding(&json!({ "email": "other@acme.test" })));
    let told = server.userinfo(text(&tokens["access_token"])).await;
    assert_eq!(told.status, 503, "{told:?}");
    let refresh = text(&tokens["refresh_token"]);
    server.refresh("web", refresh).await.refused(503, "temporarily_unavailable");
    site.now(adding(&json!({})));
    assert_eq!(server.refresh("web", refresh).await.status, 200);
    server.stop().await;
}
