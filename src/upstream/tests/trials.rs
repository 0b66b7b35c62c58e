//! The transcript of a trial shows every message, and nothing that opens anything.

use super::{provider::Reply, *};
use crate::upstream::{Message, MessageKind, Transcript};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use url::form_urlencoded;

async fn trial(
    world: &mut World,
) -> (Vec<Message>, Result<UpstreamSignIn, UpstreamError>, Attempt) {
    let transcript = Transcript::recording();
    world.upstreams = world.upstreams.recorded_in(&transcript);
    let attempt = world.attempt();
    let query = world.browse(&attempt).await;
    let completed = world.complete(&attempt, &query).await;
    let messages = transcript.messages();
    let text = serde_json::to_string(&messages).unwrap();
    let code = query.split('&').find_map(|pair| pair.strip_prefix("code=")).unwrap();
    let tokens = world.provider.tokens();
    let signatures = tokens.iter().filter_map(|token| token.rsplit('.').next());
    let secrets = [SECRET, code, &attempt.state, &attempt.nonce, &attempt.verifier];
    for secret in secrets.into_iter().chain(signatures) {
        assert!(!text.contains(secret), "{text} has {secret}");
    }
    (messages, completed, attempt)
}

fn kinds(messages: &[Message]) -> Vec<MessageKind> {
    messages.iter().map(|message| message.kind).collect()
}

#[tokio::test]
async fn a_trial_shows_each_message_in_order() {
    use MessageKind::{Authorization, Callback, KeySet, Metadata, Token};
    let mut world = World::new().await;
    let (messages, completed, _) = trial(&mut world).await;
    assert!(completed.is_ok());
    let expected = [Metadata, Authorization, Callback, Metadata, Token, KeySet];
    assert_eq!(kinds(&messages), expected);
    let token = &messages[4];
    assert_eq!(
        (token.method.as_str(), &token.headers["authorization"]),
        ("POST", &"Basic [masked]".to_owned())
    );
    let answer = token.answer.as_ref().unwrap();
    assert_eq!(
        (answer.status, answer.headers["content-type"].as_str()),
        (Some(200), "application/json")
    );
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(body["id_token"]["claims"]["email"], json!("ana@acme.test"));
    assert_eq!(body["id_token"]["header"]["alg"], json!("ES256"));
    assert_eq!(body["access_token"], json!("[masked]"));
    assert!(messages[0].answer.as_ref().unwrap().body.contains("jwks_uri"));
    assert!(messages[1].url.contains("code_challenge_method=S256"));
}

#[tokio::test]
async fn a_trial_shows_what_went_wrong_without_what_the_provider_repeated() {
    let mut world = World::new().await;
    world.provider.claim("aud", json!("another-client"));
    let (messages, completed, _) = trial(&mut world).await;
    assert_eq!(completed.unwrap_err().reason(), "audience_mismatch");
    assert_eq!(messages.len(), 6);
    let mut broken = World::new().await;
    let html = "content-type: text/html".to_owned();
    broken.provider.reply("/token", Reply::Raw(500, html, format!("<html>{SECRET}</html>")));
    let (messages, completed, _) = trial(&mut broken).await;
    assert!(completed.unwrap_err().is_unavailable());
    let answer = messages.last().unwrap().answer.as_ref().unwrap();
    assert!(answer.status == Some(500) && answer.body.contains("not a JSON object"));
    let mut silent = World::within(HASTY, PATIENT).await;
    silent.provider.reply("/token", Reply::Never);
    let (messages, _, _) = trial(&mut silent).await;
    let failure = messages.last().unwrap().failure.as_deref();
    assert_eq!(failure, Some("the provider's token endpoint did not answer in time"));
}

#[tokio::test]
async fn a_secret_that_goes_into_a_header_is_masked_in_whatever_way_it_comes_back() {
    for status in [200, 400, 401, 500] {
        let mut world = World::new().await;
        let encoded: String = form_urlencoded::byte_serialize(SECRET.as_bytes()).collect();
        let basic = STANDARD.encode(format!("porteiro:{encoded}"));
        let said = format!("{SECRET} and {encoded} and Basic {basic} are wrong");
        let body = json!({ "error": "invalid_client", "error_description": said, "scope": SECRET });
        let header = "content-type: application/json\r\nwww-authenticate: Basic realm=\"";
        let header = format!("{header}{basic} {encoded} {SECRET}\"");
        world.provider.reply("/token", Reply::Raw(status, header, body.to_string()));
        let (messages, completed, _) = trial(&mut world).await;
        let text = serde_json::to_string(&messages).unwrap() + &completed.unwrap_err().to_string();
        for secret in [SECRET, &encoded, &basic] {
            assert!(!text.contains(secret), "{text} has {secret}");
        }
        assert!(text.contains("[masked]") && text.contains("www-authenticate"), "{text}");
    }
}

#[tokio::test]
async fn an_assertion_and_githubs_token_are_masked_too() {
    let mut world = World::new().await;
    world.provider.member("token_endpoint_auth_methods_supported", json!(["private_key_jwt"]));
    let signer = Arc::new(provider::new_signer());
    world.client.authentication = Authentication::PrivateKeyJwt(vec![signer]);
    let (messages, completed, _) = trial(&mut world).await;
    assert!(completed.is_ok());
    let body = messages[4].body.as_ref().unwrap();
    let assertion = world.provider.last("/token").form["client_assertion"].clone();
    assert!(body.contains("client_assertion=[masked]") && !body.contains(&assertion));
    let mut github = World::new().await;
    github.client.kind = Kind::GitHub;
    github.provider.reply("/api/v3/user", Reply::Json(200, json!({ "id": 1, "login": "mona" })));
    github.provider.reply("/api/v3/user/emails", Reply::Json(200, json!([])));
    let (messages, completed, _) = trial(&mut github).await;
    assert!(completed.is_ok());
    assert_eq!(messages.last().unwrap().kind, MessageKind::Emails);
    assert_eq!(messages.last().unwrap().headers["authorization"], "Bearer [masked]");
}

#[tokio::test]
async fn without_a_transcript_nothing_is_noted() {
    let world = World::new().await;
    let transcript = Transcript::recording();
    let recorded = world.upstreams.recorded_in(&transcript);
    assert!(world.sign_in().await.is_ok());
    assert!(transcript.messages().is_empty());
    assert!(begin(&recorded, &world.client, &world.attempt()).await.is_ok());
    assert_eq!(transcript.messages().len(), 2);
}
