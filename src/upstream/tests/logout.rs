//! Logout tokens, believed and not.

use super::{provider::new_signer, *};
use crate::{crypto::Signer, domain::upstream::LogoutNotice};
use serde_json::{Value, json};

const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

fn claims(world: &World) -> Value {
    let now = 1_800_000_000;
    json!({
        "iss": world.provider.issuer, "aud": "porteiro", "iat": now, "exp": now + 120, "jti": "j1",
        "sub": "248289761001", "sid": "s1", "events": { EVENT: {} },
    })
}

fn signed(world: &World, typ: &str, claims: &Value) -> String {
    let signer: Arc<Signer> = world.provider.state().signer.clone();
    signer.sign(typ, claims).unwrap()
}

async fn notice(world: &World, token: &str) -> Result<LogoutNotice, UpstreamError> {
    world.upstreams.logout_notice(&world.client, token).await
}

#[tokio::test]
async fn a_provider_says_which_session_has_ended() {
    let world = World::new().await;
    for typ in ["logout+jwt", "JWT"] {
        let notice = notice(&world, &signed(&world, typ, &claims(&world))).await.unwrap();
        assert_eq!(notice.subject.as_deref(), Some("248289761001"));
        assert_eq!((notice.session.as_deref(), notice.jti.as_str()), (Some("s1"), "j1"));
    }
}

#[tokio::test]
async fn what_is_no_logout_token_ends_nothing() {
    let world = World::new().await;
    let with = |name: &str, value: Value| {
        let mut claims = claims(&world);
        claims[name] = value;
        signed(&world, "logout+jwt", &claims)
    };
    for (token, reason) in [
        (with("aud", json!("another-client")), "audience_mismatch"),
        (with("iss", json!("https://evil.test")), "issuer_mismatch"),
        (with("nonce", json!("n")), "no_logout_token"),
        (with("events", json!({})), "no_logout_token"),
        (with("exp", json!(1_799_990_000)), "token_expired"),
        (with("jti", json!(1)), "claim_malformed"),
        (signed(&world, "at+jwt", &claims(&world)), "token_of_another_type"),
        (new_signer().sign("logout+jwt", &claims(&world)).unwrap(), "signing_key_unknown"),
        ("a.b.c".to_owned(), "token_malformed"),
        ("eyJhbGciOiJub25lIn0.e30.".to_owned(), "algorithm_refused"),
    ] {
        let error = notice(&world, &token).await.unwrap_err();
        assert_eq!(error.reason(), reason);
        assert!(!format!("{error} {error:?}").contains(&token));
    }
}

#[tokio::test]
async fn an_id_token_of_the_same_provider_is_no_logout_token() {
    let world = World::new().await;
    world.sign_in().await.unwrap();
    let id_token = world.provider.tokens()[0].clone();
    assert_eq!(notice(&world, &id_token).await.unwrap_err().reason(), "no_logout_token");
}
