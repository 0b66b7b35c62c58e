//! Providers that answer late, too much, elsewhere, or nothing of sense.

use super::{
    provider::{METADATA, Reply},
    *,
};
use serde_json::json;

const ENDPOINTS: [(&str, &str); 3] =
    [(METADATA, "metadata"), ("/token", "token_endpoint"), ("/keys", "key_set")];

fn raw(status: u16, header: &str, body: impl Into<String>) -> Reply {
    Reply::Raw(status, header.to_owned(), body.into())
}

/// Signs in, be it that the beginning fails already.
async fn failed(world: &World) -> UpstreamError {
    let attempt = world.attempt();
    match world.begin(&attempt).await {
        Err(error) => error,
        Ok(url) => {
            let query = world.provider.authorize(&parameters(&url));
            world.complete(&attempt, &query).await.unwrap_err()
        }
    }
}

#[tokio::test]
async fn an_answer_of_no_sense_is_named_with_where_it_came_from() {
    let html = "content-type: text/html";
    let json = "content-type: application/json";
    for (path, part) in ENDPOINTS {
        for (reply, reason) in [
            (raw(200, html, "<html>Maintenance</html>"), "answer_not_json"),
            (raw(200, json, r#"{"a":1,"a":2}"#), "answer_not_json"),
            (raw(200, json, "[]"), "answer_not_json"),
            (raw(200, json, "x".repeat(256 * 1024 + 1)), "answer_too_long"),
            (raw(302, "location: https://evil.test/", ""), "unexpected_status"),
            (raw(500, html, "<html>"), "unexpected_status"),
            (raw(404, html, "<html>"), "unexpected_status"),
        ] {
            let world = World::new().await;
            world.provider.reply(path, reply);
            let error = failed(&world).await;
            assert_eq!((error.reason(), error.part()), (reason, Some(part)), "{path}");
            assert!(error.is_unavailable());
            assert_eq!(world.provider.calls(path), 1, "nothing is tried twice");
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for (path, _) in ENDPOINTS {
        let (world, other) = (World::new().await, World::new().await);
        let to = format!("location: {}{path}", other.provider.issuer);
        world.provider.reply(path, raw(307, &to, ""));
        let error = failed(&world).await;
        assert_eq!(error.reason(), "unexpected_status");
        assert!(other.provider.state().heard.is_empty(), "{path}");
    }
}

#[tokio::test]
async fn a_provider_that_never_answers_is_given_up() {
    for (path, part) in ENDPOINTS {
        let world = World::within(HASTY, PATIENT).await;
        world.provider.reply(path, Reply::Never);
        let error = failed(&world).await;
        assert_eq!((error.reason(), error.part()), ("timed_out", Some(part)));
    }
}

#[tokio::test]
async fn the_whole_is_given_up_however_long_each_call_may_take() {
    let world = World::within(PATIENT, HASTY).await;
    world.provider.reply("/token", Reply::Never);
    let error = failed(&world).await;
    assert_eq!((error.reason(), error.is_unavailable()), ("timed_out", true));
    let world = World::within(PATIENT, HASTY).await;
    world.provider.reply(METADATA, Reply::Never);
    let error = world.upstreams.logout_notice(&world.client, "a.b.c").await.unwrap_err();
    assert_eq!((error.reason(), error.is_unavailable()), ("timed_out", true));
}

#[tokio::test]
async fn a_provider_that_is_not_there_or_may_not_be_called_is_named() {
    let world = World::new().await;
    for (issuer, reason) in
        [("http://127.0.0.1:1", "unreachable"), ("https://login.acme.test", "unreachable")]
    {
        let error = begin(&world.upstreams, &client_of(issuer), &world.attempt()).await;
        let error = error.unwrap_err();
        assert_eq!((error.reason(), error.part()), (reason, Some("metadata")), "{issuer}");
    }
    let sources: (Arc<dyn Clock>, _) = (world.clock.clone(), Arc::new(SystemDice) as Arc<_>);
    let names: Arc<dyn Resolver> = Arc::new(NoNames);
    let guarded = Upstreams::within(PATIENT, &Policy::default(), &names, sources);
    let error = begin(&guarded.unwrap(), &world.client, &world.attempt()).await.unwrap_err();
    assert_eq!(error.reason(), "address_forbidden");
    assert!(world.provider.state().heard.is_empty());
}

#[tokio::test]
async fn a_token_answer_without_what_was_asked_for_is_refused() {
    for (answer, said) in [
        (
            json!({ "access_token": "a", "token_type": "Bearer" }),
            "the token answer has no id_token",
        ),
        (
            json!({ "access_token": "a", "token_type": "DPoP", "id_token": "a.b.c" }),
            "the token answer has no token_type Bearer",
        ),
        (
            json!({ "access_token": "a", "token_type": "Bearer", "id_token": "a.b.c" }),
            "the ID token cannot be read: it is not a signed token in compact form",
        ),
    ] {
        let world = World::new().await;
        world.provider.reply("/token", Reply::Json(200, answer));
        assert_eq!(failed(&world).await.to_string(), said);
    }
}

#[tokio::test]
async fn an_error_that_repeats_the_code_does_not_reach_the_administrator_with_it() {
    let world = World::new().await;
    let attempt = world.attempt();
    let query = world.browse(&attempt).await;
    let code = query.split('&').find_map(|pair| pair.strip_prefix("code=")).unwrap();
    let said = format!("code {code} with {} is unknown", attempt.verifier);
    let answer = json!({ "error": "invalid_grant", "error_description": said });
    world.provider.reply("/token", Reply::Json(400, answer));
    let error = world.complete(&attempt, &query).await.unwrap_err();
    assert!(error.to_string().ends_with("code [masked] with [masked] is unknown"), "{error}");
}
