//! A sign-in from its beginning to its end, and answers to the browser that are not believed.

use super::*;
use serde_json::json;

#[tokio::test]
async fn a_person_signs_in_and_the_provider_is_asked_once_for_each_thing() {
    let world = World::new().await;
    world.provider.claim("groups", json!(["finance"]));
    let UpstreamSignIn { person, id_token_hint } = world.sign_in().await.unwrap();
    assert_eq!(
        (person.issuer, person.subject.as_str()),
        (world.provider.issuer.clone(), "248289761001")
    );
    assert_eq!((person.email.as_deref(), person.email_verified), (Some("ana@acme.test"), None));
    assert_eq!(person.claims["groups"], json!(["finance"]));
    assert_eq!(id_token_hint.unwrap().expose(), world.provider.tokens()[0].as_bytes());
    world.sign_in().await.unwrap();
    let calls = |path| world.provider.calls(path);
    assert_eq!((calls(provider::METADATA), calls("/keys"), calls("/token")), (1, 1, 2));
}

#[tokio::test]
async fn the_browser_is_sent_with_what_binds_the_answer() {
    let world = World::new().await;
    let attempt = world.attempt();
    let url = world.begin(&attempt).await.unwrap();
    assert!(url.as_str().starts_with(&format!("{}/authorize?", world.provider.issuer)));
    let asked = parameters(&url);
    assert_eq!((&asked["state"], &asked["nonce"]), (&attempt.state, &attempt.nonce));
    assert_eq!(asked["code_challenge"], attempt.challenge());
    assert!(!url.as_str().contains(&attempt.verifier));
    let other = world.attempt();
    assert!(other.state != attempt.state && other.nonce != attempt.nonce);
    assert!(other.verifier != attempt.verifier && other.verifier.len() == 43);
}

#[tokio::test]
async fn two_people_are_two_subjects() {
    let world = World::new().await;
    let first = world.sign_in().await.unwrap().person.subject;
    world.provider.claim("sub", json!("another"));
    assert_ne!(world.sign_in().await.unwrap().person.subject, first);
}

#[tokio::test]
async fn a_code_of_another_attempt_is_not_exchanged() {
    let world = World::new().await;
    let (victim, thief) = (world.attempt(), world.attempt());
    let stolen = world.browse(&victim).await;
    // In the thief's own sign-in, with the thief's own state: the verifier is another (RFC 9700 §4.5).
    let injected = stolen.replace(&victim.state, &thief.state);
    let error = world.complete(&thief, &injected).await.unwrap_err();
    assert_eq!(error.reason(), "code_refused");
}

#[tokio::test]
async fn an_answer_to_another_attempt_is_not_even_sent_on() {
    let world = World::new().await;
    let (one, other) = (world.attempt(), world.attempt());
    let query = world.browse(&one).await;
    let error = world.complete(&other, &query).await.unwrap_err();
    assert_eq!(error.reason(), "state_mismatch");
    assert_eq!(world.provider.calls("/token"), 0);
}

#[tokio::test]
async fn a_code_is_good_once() {
    let world = World::new().await;
    let attempt = world.attempt();
    let query = world.browse(&attempt).await;
    assert!(world.complete(&attempt, &query).await.is_ok());
    let error = world.complete(&attempt, &query).await.unwrap_err();
    assert_eq!(error.reason(), "code_refused");
    assert!(!error.is_unavailable());
}

#[tokio::test]
async fn an_answer_of_another_provider_is_refused_before_its_code_is_sent_anywhere() {
    let (world, evil) = (World::new().await, World::new().await);
    let attempt = world.attempt();
    let query = world.browse(&attempt).await;
    let mixed = format!("{query}&iss={}", evil.provider.issuer);
    let error = world.complete(&attempt, &mixed).await.unwrap_err();
    assert_eq!(error.reason(), "callback_issuer_mismatch");
    let own = format!("{query}&iss={}", world.provider.issuer);
    assert_eq!(world.provider.calls("/token"), 0);
    assert!(world.complete(&attempt, &own).await.is_ok());
}

#[tokio::test]
async fn an_issuer_that_was_promised_must_be_there() {
    let world = World::new().await;
    world.provider.member("authorization_response_iss_parameter_supported", json!(true));
    let attempt = world.attempt();
    let query = world.browse(&attempt).await;
    let silent = query.split("&iss=").next().unwrap();
    let error = world.complete(&attempt, silent).await.unwrap_err();
    assert_eq!(error.reason(), "callback_issuer_missing");
    assert_eq!(world.provider.calls("/token"), 0);
    assert!(world.complete(&attempt, &query).await.is_ok());
}

#[tokio::test]
async fn an_error_is_passed_on_by_its_name_and_only_if_it_is_the_providers() {
    let world = World::new().await;
    let attempt = world.attempt();
    let state = &attempt.state;
    let denied = format!("error=access_denied&error_description=No+thanks&state={state}");
    let error = world.complete(&attempt, &denied).await.unwrap_err();
    assert_eq!(error.reason(), "provider_error");
    assert_eq!(
        error.to_string(),
        "the provider answered the browser with the error access_denied: No thanks"
    );
    let mixed = format!("{denied}&iss=https://evil.test");
    let error = world.complete(&attempt, &mixed).await.unwrap_err();
    assert_eq!(error.reason(), "callback_issuer_mismatch");
}

#[tokio::test]
async fn what_the_connection_asks_for_is_asked_and_judged() {
    let mut world = World::new().await;
    world.client.scopes = vec!["openid".to_owned(), "groups".to_owned()];
    let attempt = world.attempt();
    let max_age = Some(Duration::from_mins(5));
    let asked = AuthenticationRequest {
        attempt: &attempt,
        login_hint: Some("ana@acme.test"),
        prompt: Some("login"),
        max_age,
    };
    let url = world.upstreams.begin(&world.client, &asked).await.unwrap();
    let sent = parameters(&url);
    assert_eq!((sent["scope"].as_str(), sent["max_age"].as_str()), ("openid groups", "300"));
    assert_eq!((sent["login_hint"].as_str(), sent["prompt"].as_str()), ("ana@acme.test", "login"));
    let callback = Callback::read(&world.provider.authorize(&sent)).unwrap();
    let expected = CallbackExpectation { attempt: &attempt, max_age };
    let error = world.upstreams.complete(&world.client, &callback, &expected).await.unwrap_err();
    assert_eq!(error.to_string(), "the ID token lacks the claim `auth_time`");
}

#[tokio::test]
async fn a_browser_signs_out_where_the_provider_has_a_place_for_it() {
    let world = World::new().await;
    let hint = Secret::new("a.b.c");
    let back = Some("https://id.example.com/");
    let sent = world.upstreams.end_session(&world.client, Some(&hint), back, Some("st")).await;
    let sent = sent.unwrap().unwrap();
    assert!(
        sent.as_str().starts_with(&format!("{}/logout?client_id=porteiro", world.provider.issuer))
    );
    assert_eq!(parameters(&sent)["id_token_hint"], "a.b.c");
    let without = World::new().await;
    without.provider.member("end_session_endpoint", json!(null));
    let none = without.upstreams.end_session(&without.client, Some(&hint), None, None).await;
    assert_eq!(none.unwrap(), None);
}
