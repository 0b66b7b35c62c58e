//! GitHub, as its public documents describe it.

use super::{provider::Reply, *};
use serde_json::json;

const TOKEN: &str = "/login/oauth/access_token";
const USER: &str = "/api/v3/user";
const EMAILS: &str = "/api/v3/user/emails";

async fn world() -> World {
    let mut world = World::new().await;
    world.client.kind = Kind::GitHub;
    let user = json!({ "login": "octocat", "id": 583_231, "name": "Mona", "email": null });
    world.provider.reply(USER, Reply::Json(200, user));
    let emails = json!([
        { "email": "old@acme.test", "primary": false, "verified": true, "visibility": null },
        { "email": "mona@acme.test", "primary": true, "verified": true, "visibility": "private" },
    ]);
    world.provider.reply(EMAILS, Reply::Json(200, emails));
    world
}

#[tokio::test]
async fn a_person_signs_in_with_the_same_shape() {
    let world = world().await;
    let UpstreamSignIn { person, id_token_hint } = world.sign_in().await.unwrap();
    assert_eq!((person.issuer, person.subject.as_str()), (world.provider.issuer.clone(), "583231"));
    assert_eq!(person.email.as_deref(), Some("mona@acme.test"));
    assert_eq!(person.email_verified, Some(true));
    assert!(id_token_hint.is_none());
    let exchange = world.provider.last(TOKEN);
    assert_eq!(exchange.form["client_secret"], SECRET);
    assert_eq!(exchange.headers["accept"], "application/json");
    assert_eq!(exchange.form["code_verifier"].len(), 43);
    for path in [USER, EMAILS] {
        let asked = world.provider.last(path);
        let token = world.provider.tokens()[1].clone();
        assert_eq!(asked.headers["authorization"], format!("Bearer {token}"));
        assert_eq!(asked.headers["x-github-api-version"], "2022-11-28");
    }
    assert_eq!(world.provider.calls(provider::METADATA), 0);
}

#[tokio::test]
async fn an_error_with_status_200_is_an_error() {
    let world = world().await;
    let answer = json!({
        "error": "bad_verification_code",
        "error_description": "The code passed is incorrect or expired.",
    });
    world.provider.reply(TOKEN, Reply::Json(200, answer));
    assert_eq!(world.refused().await, "code_refused");
    assert_eq!(world.provider.calls(USER), 0);
}

#[tokio::test]
async fn what_is_no_user_or_no_list_is_no_person() {
    for (path, reply, reason) in [
        (USER, Reply::Json(200, json!({ "login": "octocat" })), "github_user_malformed"),
        (USER, Reply::Json(401, json!({ "message": "Bad credentials" })), "unexpected_status"),
        (
            USER,
            Reply::Raw(200, "a: b".to_owned(), r#"{"id":1,"id":2}"#.to_owned()),
            "answer_not_json",
        ),
        (EMAILS, Reply::Json(200, json!({})), "github_addresses_malformed"),
        (EMAILS, Reply::Json(404, json!({ "message": "Not Found" })), "unexpected_status"),
    ] {
        let world = world().await;
        world.provider.reply(path, reply);
        assert_eq!(world.refused().await, reason, "{path}");
    }
}

#[tokio::test]
async fn state_issuer_and_verifier_bind_it_without_a_nonce() {
    let world = world().await;
    let (one, other) = (world.attempt(), world.attempt());
    let url = world.begin(&one).await.unwrap();
    assert!(!parameters(&url).contains_key("nonce"));
    let query = world.provider.authorize(&parameters(&url));
    let error = world.complete(&other, &query).await.unwrap_err();
    assert_eq!(error.reason(), "state_mismatch");
    let mixed = format!("{query}&iss=https://evil.test");
    assert_eq!(
        world.complete(&one, &mixed).await.unwrap_err().reason(),
        "callback_issuer_mismatch"
    );
    let injected = query.replace(&one.state, &other.state);
    assert_eq!(world.complete(&other, &injected).await.unwrap_err().reason(), "code_refused");
}

#[tokio::test]
async fn there_is_neither_a_logout_token_nor_a_place_to_sign_out() {
    let world = world().await;
    let notice = world.upstreams.logout_notice(&world.client, "a.b.c").await;
    assert_eq!(notice.unwrap_err().reason(), "unsupported");
    let out = world.upstreams.end_session(&world.client, None, None, None).await;
    assert_eq!(out.unwrap(), None);
}
