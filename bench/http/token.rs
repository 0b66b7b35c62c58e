//! Looks at an issued token as a stranger would: with the published keys alone.

use crate::{Outcome, scene::Scene, servers::Server};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Issued {
    access_token: String,
    token_type: String,
    expires_in: u32,
    scope: String,
}

/// Fails unless the answer holds a token with everything the scene asks for.
pub fn verify(server: &Server, scene: &Scene, body: &[u8]) -> Outcome<()> {
    let issued: Issued = serde_json::from_slice(body)?;
    let header = decode_header(&issued.access_token)?;
    let kid = header.kid.as_deref().ok_or("the token names no key")?;
    let key = server.keys.find(kid).ok_or("the token's key is not published")?;
    let mut validation = Validation::new(Algorithm::ES256);
    validation.set_audience(&[&scene.resource]);
    validation.set_issuer(&[&server.issuer]);
    let claims: Value =
        decode(&issued.access_token, &DecodingKey::from_jwk(key)?, &validation)?.claims;
    let lived = claims["exp"].as_i64().zip(claims["iat"].as_i64()).map(|(exp, iat)| exp - iat);
    let held = [
        header.typ.as_deref() == Some("at+jwt"),
        issued.token_type == "Bearer",
        issued.expires_in == scene.lifetime,
        issued.scope == scene.scope(),
        lived == Some(i64::from(scene.lifetime)),
        claims["scope"] == scene.scope(),
        claims["client_id"] == scene.client_id.as_str(),
        claims["sub"] == scene.client_id.as_str(),
        claims["org"] == scene.organization.as_str(),
        claims["role"] == scene.role.as_str(),
        claims["jti"].is_string(),
    ];
    match held.iter().position(|held| !held) {
        None => Ok(()),
        Some(number) => Err(format!("expectation {number} of a token fails: {claims}").into()),
    }
}
