//! ID tokens that are not believed, each of them once over the wire.

use super::{
    provider::{new_signer, unsigned},
    *,
};
use crate::crypto::Signer;
use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

#[tokio::test]
async fn a_claim_that_is_wrong_refuses_the_person_by_name() {
    let now = 1_800_000_000;
    for (name, value, reason) in [
        ("iss", json!("https://evil.test"), "issuer_mismatch"),
        ("aud", json!("another-client"), "audience_mismatch"),
        ("aud", json!(["porteiro", "another-client"]), "further_audience"),
        ("azp", json!("another-client"), "authorized_party_mismatch"),
        ("nonce", json!("of another sign-in"), "nonce_mismatch"),
        ("nonce", json!(null), "claim_missing"),
        ("exp", json!(now - 3_600), "token_expired"),
        ("iat", json!(now - 3_600), "token_too_old"),
        ("iat", json!(now + 3_600), "token_not_yet_good"),
        ("nbf", json!(now + 3_600), "token_not_yet_good"),
        ("sub", json!("s".repeat(256)), "claim_malformed"),
        ("at_hash", json!("AAAAAAAAAAAAAAAAAAAAAA"), "access_token_hash_mismatch"),
        ("c_hash", json!("AAAAAAAAAAAAAAAAAAAAAA"), "code_hash_mismatch"),
    ] {
        let world = World::new().await;
        world.provider.claim(name, value);
        assert_eq!(world.refused().await, reason, "{name}");
    }
}

#[tokio::test]
async fn a_person_of_another_company_is_refused() {
    let mut world = World::new().await;
    world.client.company = Some("acme.test".to_owned());
    assert_eq!(world.refused().await, "another_company");
    world.provider.claim("hd", json!("evil.test"));
    assert_eq!(world.refused().await, "another_company");
    world.provider.claim("hd", json!("acme.test"));
    assert!(world.sign_in().await.is_ok());
}

#[tokio::test]
async fn an_address_that_apple_verifies_in_words_is_verified() {
    let world = World::new().await;
    for (said, verified) in [
        (json!("true"), Some(true)),
        (json!("false"), Some(false)),
        (json!(true), Some(true)),
        (json!("yes"), Some(false)),
    ] {
        world.provider.claim("email_verified", said);
        assert_eq!(world.sign_in().await.unwrap().person.email_verified, verified);
    }
}

fn unsecured(_: &Signer, claims: &Value) -> String {
    format!("{}.", unsigned(&json!({ "alg": "none" }), claims))
}

/// Signs with the public key as if it were a secret (RFC 8725 §2.1).
fn by_public_key(signer: &Signer, claims: &Value) -> String {
    let header = json!({ "alg": "HS256", "kid": signer.kid(), "typ": "JWT" });
    let message = unsigned(&header, claims);
    let key = hmac::Key::new(hmac::HMAC_SHA256, signer.public_jwk().to_string().as_bytes());
    let signature = hmac::sign(&key, message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Signs with a key that comes in the header.
fn by_own_key(signer: &Signer, claims: &Value) -> String {
    let token = signer.sign("JWT", claims).unwrap();
    let header = json!({ "alg": "ES256", "jwk": signer.public_jwk() });
    format!("{}.{}", unsigned(&header, claims), token.rsplit('.').next().unwrap())
}

/// Signs with a key of the right name, which is another one.
fn by_namesake(signer: &Signer, claims: &Value) -> String {
    new_signer().named(signer.kid()).sign("JWT", claims).unwrap()
}

fn by_stranger(_: &Signer, claims: &Value) -> String {
    new_signer().sign("JWT", claims).unwrap()
}

fn as_access_token(signer: &Signer, claims: &Value) -> String {
    signer.sign("at+jwt", claims).unwrap()
}

fn altered(signer: &Signer, claims: &Value) -> String {
    let token = signer.sign("JWT", claims).unwrap();
    let mut other = claims.clone();
    other["sub"] = json!("the-administrator");
    let parts: Vec<&str> = token.split('.').collect();
    format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(other.to_string()), parts[2])
}

#[tokio::test]
async fn a_token_that_the_provider_did_not_sign_is_refused() {
    type Forge = fn(&Signer, &Value) -> String;
    for (forge, reason) in [
        (unsecured as Forge, "algorithm_refused"),
        (by_public_key, "algorithm_refused"),
        (by_own_key, "token_malformed"),
        (by_namesake, "signature_invalid"),
        (by_stranger, "signing_key_unknown"),
        (as_access_token, "token_of_another_type"),
        (altered, "signature_invalid"),
    ] {
        let world = World::new().await;
        world.provider.state().forge = Some(forge);
        assert_eq!(world.refused().await, reason);
        // With a token of its own the same provider signs in.
        world.provider.state().forge = None;
        assert!(world.sign_in().await.is_ok(), "{reason}");
    }
}

#[tokio::test]
async fn a_provider_signs_by_what_it_lists_and_by_nothing_else() {
    let world = World::new().await;
    world.provider.member("id_token_signing_alg_values_supported", json!(["RS256"]));
    let error = world.sign_in().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the ID token is signed by an algorithm that the metadata does not list"
    );
}

#[tokio::test]
async fn a_claim_that_is_there_twice_refuses_the_token() {
    fn twice(signer: &Signer, claims: &Value) -> String {
        #[derive(serde::Serialize)]
        struct Raw<'a>(#[serde(with = "raw")] &'a str);
        mod raw {
            pub fn serialize<S: serde::Serializer>(text: &&str, s: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = s.serialize_map(None)?;
                let claims: serde_json::Value = serde_json::from_str(text).unwrap();
                for (name, value) in claims.as_object().unwrap() {
                    map.serialize_entry(name, value)?;
                }
                map.serialize_entry("sub", "the-administrator")?;
                map.end()
            }
        }
        signer.sign("JWT", &Raw(&claims.to_string())).unwrap()
    }
    let world = World::new().await;
    world.provider.state().forge = Some(twice);
    assert_eq!(world.refused().await, "token_malformed");
}
