//! Looks at issued tokens as a stranger would: with the published keys alone.

use crate::{
    Outcome,
    portal::Identity,
    scene::Scene,
    servers::{Server, Who},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

#[derive(Deserialize)]
struct Issued {
    access_token: String,
    token_type: String,
    expires_in: u32,
    scope: String,
    id_token: Option<String>,
    refresh_token: Option<String>,
}

/// Fails unless the answer holds a token with everything the scene asks for.
pub fn verify(server: &Server, scene: &Scene, body: &[u8]) -> Outcome<()> {
    // The limit signs the same for every client in its own name.
    verify_of(server, scene, body, &scene.client_id)
}

/// The same of another client.
pub fn verify_of(server: &Server, scene: &Scene, body: &[u8], client_id: &str) -> Outcome<()> {
    verify_bound(server, scene, body, (client_id, None))
}

/// The same of a token that is bound to the key of this thumbprint, if it is to be bound.
pub fn verify_bound(
    server: &Server,
    scene: &Scene,
    body: &[u8],
    (client_id, key): (&str, Option<&str>),
) -> Outcome<()> {
    let client_id = if server.who == Who::Limit { &scene.client_id } else { client_id };
    let issued: Issued = serde_json::from_slice(body)?;
    let claims = verify_access(server, scene, &issued, (client_id, key))?;
    let held = [
        issued.scope == scene.scope(),
        claims["sub"] == client_id,
        issued.id_token.is_none(),
        issued.refresh_token.is_none(),
    ];
    all(&held, &claims)
}

/// Fails unless the answer holds three tokens for a person.
pub fn verify_of_person(
    server: &Server,
    scene: &Scene,
    body: &[u8],
    (nonce, identity): (Option<&str>, Identity),
) -> Outcome<()> {
    verify_bound_of_person(server, scene, body, (nonce, identity, None))
}

/// The same with an access token that is bound to the key of this thumbprint, if it is to be bound.
pub fn verify_bound_of_person(
    server: &Server,
    scene: &Scene,
    body: &[u8],
    (nonce, identity, key): (Option<&str>, Identity, Option<&str>),
) -> Outcome<()> {
    let issued: Issued = serde_json::from_slice(body)?;
    let client = identity.client(scene);
    let claims = verify_access(server, scene, &issued, (client, key))?;
    let id_token = issued.id_token.as_deref().ok_or("there is no ID token")?;
    let algorithm = match identity {
        Identity::Rs256 => Algorithm::RS256,
        Identity::Es256 => Algorithm::ES256,
    };
    let identity = read(server, id_token, (algorithm, "JWT"), client)?;
    // The peer names in an access token only what concerns its API.
    let scope = if server.who == Who::Peer { scene.scope() } else { scene.personal_scope() };
    let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(&issued.access_token)[..16]);
    let held = [
        issued.scope == scope,
        issued.refresh_token.is_some_and(|token| !token.is_empty()),
        claims["sub"].as_str().is_some_and(|account| !account.is_empty()),
        claims["sub"] == identity["sub"],
        claims["membership"].is_string() && claims["sid"].is_string(),
        claims["acr"] == "aal1" && claims["auth_time"].is_i64(),
        identity["auth_time"] == claims["auth_time"],
        identity["acr"] == "aal1",
        identity["amr"] == serde_json::json!(["pwd"]),
        identity["org"] == scene.organization.as_str(),
        identity["sid"].is_string(),
        // OIDC Core §3.1.3.6: it may be left out, and the peer does so.
        identity["at_hash"] == hash.as_str() || server.who == Who::Peer,
        nonce.is_none_or(|nonce| identity["nonce"] == nonce),
    ];
    all(&held, &serde_json::json!([claims, identity]))
}

/// Verifies an access token and what both kinds of grant have in common.
fn verify_access(
    server: &Server,
    scene: &Scene,
    issued: &Issued,
    (client_id, key): (&str, Option<&str>),
) -> Outcome<Value> {
    let usual = (Algorithm::ES256, "at+jwt");
    let claims = read(server, &issued.access_token, usual, &scene.resource)?;
    let lived = claims["exp"].as_i64().zip(claims["iat"].as_i64()).map(|(exp, iat)| exp - iat);
    let held = [
        issued.token_type == if key.is_some() { "DPoP" } else { "Bearer" },
        claims["cnf"]["jkt"].as_str() == key,
        issued.expires_in == scene.lifetime,
        lived == Some(i64::from(scene.lifetime)),
        claims["scope"] == issued.scope.as_str(),
        claims["client_id"] == client_id,
        claims["org"] == scene.organization.as_str(),
        claims["role"] == scene.role.as_str(),
        claims["jti"].is_string(),
    ];
    all(&held, &claims)?;
    Ok(claims)
}

/// Returns the claims of a token that the server signed for this audience.
fn read(
    server: &Server,
    token: &str,
    (algorithm, typ): (Algorithm, &str),
    audience: &str,
) -> Outcome<Value> {
    let header = decode_header(token)?;
    let kid = header.kid.as_deref().ok_or("the token names no key")?;
    let key = server.keys.find(kid).ok_or("the token's key is not published")?;
    // RFC 7519 §5.1: an ID token need not say what it is.
    if header.typ.as_deref().unwrap_or("JWT") != typ {
        return Err(format!("a token is of the type {:?}", header.typ).into());
    }
    let mut validation = Validation::new(algorithm);
    validation.set_audience(&[audience]);
    validation.set_issuer(&[&server.issuer]);
    Ok(decode(token, &DecodingKey::from_jwk(key)?, &validation)?.claims)
}

fn all(held: &[bool], claims: &Value) -> Outcome<()> {
    match held.iter().position(|held| !held) {
        None => Ok(()),
        Some(number) => Err(format!("expectation {number} of a token fails: {claims}").into()),
    }
}
