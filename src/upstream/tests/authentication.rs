//! How we show a provider who we are.

use super::{provider::Heard, provider::new_signer, *};
use crate::{
    crypto::{ClientEvidence, ClientKeys, Jws, Signer, keys::read_pem},
    upstream::AppleKey,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

fn methods(world: &World, methods: &[&str]) {
    world.provider.member("token_endpoint_auth_methods_supported", json!(methods));
}

/// Verifies what we signed by the key that the provider knows, and returns header and claims.
fn verified(token: &str, key: &Value) -> (Option<String>, Value) {
    let jws = Jws::read(token).unwrap();
    let keys = ClientKeys::read(&json!({ "keys": [key] })).unwrap().unwrap();
    assert_eq!(keys.verify(&ClientEvidence::Signature(&jws)), Ok(()));
    (jws.kid.clone(), serde_json::from_slice(&jws.payload).unwrap())
}

async fn token_request(world: &World) -> Heard {
    world.sign_in().await.unwrap();
    world.provider.last("/token")
}

#[tokio::test]
async fn a_secret_goes_into_the_header_encoded_unless_the_provider_wants_it_elsewhere() {
    for listed in [None, Some(&["client_secret_post", "client_secret_basic"][..])] {
        let world = World::new().await;
        if let Some(listed) = listed {
            methods(&world, listed);
        }
        let heard = token_request(&world).await;
        let basic = heard.headers["authorization"].strip_prefix("Basic ").unwrap();
        let pair = String::from_utf8(STANDARD.decode(basic).unwrap()).unwrap();
        assert_eq!(pair, "porteiro:the+client+secret%3A+100%25+%26+more");
        assert!(!heard.form.contains_key("client_secret") && !heard.form.contains_key("client_id"));
        assert_eq!(heard.form["grant_type"], "authorization_code");
        assert_eq!(heard.form["redirect_uri"], CALLBACK);
    }
    let world = World::new().await;
    methods(&world, &["private_key_jwt", "client_secret_post"]);
    let heard = token_request(&world).await;
    assert!(!heard.headers.contains_key("authorization"));
    assert_eq!(
        (heard.form["client_id"].as_str(), heard.form["client_secret"].as_str()),
        ("porteiro", SECRET)
    );
}

#[tokio::test]
async fn without_a_secret_our_key_signs_for_the_issuer_alone() {
    let mut world = World::new().await;
    methods(&world, &["private_key_jwt"]);
    let signer = Arc::new(new_signer());
    world.client.authentication = Authentication::PrivateKeyJwt(vec![signer.clone()]);
    let mut names = Vec::new();
    for _ in 0..2 {
        let heard = token_request(&world).await;
        assert_eq!(heard.form["client_id"], "porteiro");
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        assert_eq!(heard.form["client_assertion_type"], kind);
        let (kid, claims) = verified(&heard.form["client_assertion"], signer.public_jwk());
        assert_eq!(kid.as_deref(), Some(signer.kid()));
        assert_eq!(claims["aud"], json!(world.provider.issuer));
        assert_eq!((&claims["iss"], &claims["sub"]), (&json!("porteiro"), &json!("porteiro")));
        assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 60);
        names.push(claims["jti"].clone());
    }
    assert_ne!(names[0], names[1]);
}

#[tokio::test]
async fn the_key_is_one_whose_algorithm_the_provider_lists() {
    let mut world = World::new().await;
    methods(&world, &["private_key_jwt"]);
    let listed = "token_endpoint_auth_signing_alg_values_supported";
    world.provider.member(listed, json!(["EdDSA"]));
    let edwards = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap().serialize_pem();
    let edwards: Arc<Signer> = Arc::new(read_pem(&edwards).unwrap());
    let signers = vec![Arc::new(new_signer()), edwards.clone()];
    world.client.authentication = Authentication::PrivateKeyJwt(signers.clone());
    let heard = token_request(&world).await;
    verified(&heard.form["client_assertion"], edwards.public_jwk());
    let mut other = World::new().await;
    methods(&other, &["private_key_jwt"]);
    other.provider.member(listed, json!(["RS256"]));
    other.client.authentication = Authentication::PrivateKeyJwt(signers);
    assert_eq!(other.refused().await, "no_common_authentication");
    other.client.authentication = Authentication::PrivateKeyJwt(Vec::new());
    assert_eq!(other.refused().await, "no_signing_key");
}

#[tokio::test]
async fn where_there_is_no_common_way_nothing_is_sent() {
    let world = World::new().await;
    methods(&world, &["tls_client_auth"]);
    assert_eq!(world.refused().await, "no_common_authentication");
    let mut other = World::new().await;
    let signer = Arc::new(new_signer());
    other.client.authentication = Authentication::PrivateKeyJwt(vec![signer]);
    assert_eq!(other.refused().await, "no_common_authentication");
    assert_eq!((world.provider.calls("/token"), other.provider.calls("/token")), (0, 0));
}

#[tokio::test]
async fn for_apple_the_teams_key_makes_the_secret() {
    let pem = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let secret = |before: &str| Secret::new(format!("{before}{pem}").into_bytes());
    let file = secret("team_id = TEAM123456\nkey_id = \"KEY1234567\"\n");
    let key = AppleKey::of_secret(&file).unwrap().unwrap();
    let public = read_pem(&pem).unwrap().named("KEY1234567").public_jwk().clone();
    let mut world = World::new().await;
    methods(&world, &["client_secret_post"]);
    world.client.authentication = Authentication::AppleKey(key);
    let heard = token_request(&world).await;
    let (kid, claims) = verified(&heard.form["client_secret"], &public);
    assert_eq!(kid.as_deref(), Some("KEY1234567"));
    let now = 1_800_000_000;
    let expected = json!({
        "iss": "TEAM123456", "sub": "porteiro", "aud": "https://appleid.apple.com",
        "iat": now, "exp": now + 300,
    });
    assert_eq!(claims, expected);
    for bad in
        ["", "no key", &rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap().serialize_pem()]
    {
        assert!(AppleKey::read("T", "K", &Secret::new(bad.as_bytes())).is_err());
    }
    for bad in ["", "team_id = T\n", "key_id = K\n", "team_id = T\nkey_id = K/../K\n"] {
        assert!(AppleKey::of_secret(&secret(bad)).unwrap().is_err(), "{bad}");
    }
    assert!(AppleKey::of_secret(&Secret::new("a secret as others are")).is_none());
}

#[tokio::test]
async fn a_client_prints_no_secret() {
    let world = World::new().await;
    let mut client = world.client.clone();
    assert!(!format!("{client:?}").contains("secret:"));
    client.authentication = Authentication::PrivateKeyJwt(vec![Arc::new(new_signer())]);
    assert!(format!("{client:?}").contains("PrivateKeyJwt(…)"));
}
