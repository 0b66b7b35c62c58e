//! Request objects: the parameters of a request, signed by the client (RFC 9101, OIDC Core §6).
//!
//! An object comes by value, or lies at an https address that the client registered. What is in it is
//! the whole request: parameters beside it are ignored (RFC 9101 §6.3; adr/0063).

use crate::{
    crypto::{ClientEvidence, Jws},
    domain::{
        client::KnownClient,
        request_object::{Claims, Rules},
        signing_keys::SigningAlgorithm,
    },
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        clients::client_keys,
        extract::{
            form::Form,
            signed_claims::{SignedClaims, SignedClaimsFault},
        },
    },
};
use serde_json::{Map, Value};

/// What an object may call itself (RFC 9101 §10.8.1).
const TYPES: [&str; 2] = ["jwt", "oauth-authz-req+jwt"];

/// Bytes (RFC 9101 §5.2).
const LONGEST_URI: usize = 512;

/// As many as a form may have.
const MOST_PARAMETERS: usize = 64;

/// What a backchannel authentication request says of itself (CIBA Core §7.1.1).
const BACK_CHANNEL_CLAIMS: [&str; 6] = ["iss", "aud", "exp", "nbf", "iat", "jti"];

/// Claims of the token that are no parameters of the request (RFC 7519 §4.1).
const OF_THE_TOKEN: [&str; 7] = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"];

const INVALID: OAuthError = OAuthError::new(
    Code::InvalidRequestObject,
    "the request object is not signed by the client for this server and time",
);

const UNREGISTERED: OAuthError = OAuthError::new(
    Code::InvalidRequestUri,
    "the request_uri is neither pushed nor among those that the client registered",
);

const UNREACHABLE: OAuthError =
    OAuthError::new(Code::InvalidRequestUri, "there is no request object at the request_uri");

/// Returns the request in an object that was given by value.
pub async fn given(app: &App, client: &KnownClient, object: &str) -> Result<Form, OAuthError> {
    let registered = client.metadata.request_object_signing_alg;
    let claims = Box::pin(verified(app, client, object, registered)).await;
    let claims = claims.map_err(|why| INVALID.because(why.to_string()))?;
    parameters(claims, &client.client_id)
}

/// Returns the backchannel authentication request in an object (CIBA Core §7.1.1).
pub async fn of_back_channel(
    app: &App,
    client: &KnownClient,
    object: &str,
) -> Result<Form, OAuthError> {
    // CIBA Core §13 has no code for request objects.
    const UNSIGNED: OAuthError = OAuthError::new(
        Code::InvalidRequest,
        "the request is not signed by the client for this server and time",
    );
    let registered = client.metadata.backchannel_authentication_request_signing_alg;
    let claims = Box::pin(verified(app, client, object, registered)).await;
    let claims = claims.map_err(|why| UNSIGNED.because(why.to_string()))?;
    let lacking = BACK_CHANNEL_CLAIMS.into_iter().find(|name| !claims.contains_key(*name));
    if let Some(name) = lacking {
        return Err(UNSIGNED.because(format!("it lacks {name}")));
    }
    parameters(claims, &client.client_id)
}

/// Returns the request in the object at an address of the client's.
pub async fn fetched(app: &App, client: &KnownClient, uri: &str) -> Result<Form, OAuthError> {
    let is_registered = |known: &String| without_fragment(known) == without_fragment(uri);
    if uri.len() > LONGEST_URI || !client.metadata.request_uris.iter().any(is_registered) {
        return Err(UNREGISTERED);
    }
    let fetched =
        Box::pin(app.documents.request_objects.get(uri, client.is_self_registered())).await;
    let body = fetched.map_err(|fault| UNREACHABLE.because(fault.to_string()))?;
    let object = std::str::from_utf8(&body).map_err(|_| UNREACHABLE)?;
    given(app, client, object.trim_ascii()).await
}

/// OIDC Registration §2: the fragment is a hash of what lies there, and changes with it.
fn without_fragment(uri: &str) -> &str {
    uri.split('#').next().unwrap_or_default()
}

/// Returns the claims of an object that the client signed.
async fn verified(
    app: &App,
    client: &KnownClient,
    object: &str,
    registered: Option<SigningAlgorithm>,
) -> Result<Map<String, Value>, SignedClaimsFault> {
    let jws = Jws::read(object)?;
    if !jws.is_typed(&TYPES) {
        return Err(SignedClaimsFault::OtherType);
    }
    let said = SignedClaims::read(&jws.payload)?;
    let text = |name| Ok::<_, SignedClaimsFault>(said.text(name)?.map(str::to_owned));
    let claims = Claims {
        issuer: text("iss")?,
        subject: text("sub")?,
        client_id: text("client_id")?,
        audience: said.audience()?,
        expires: said.time("exp")?,
        not_before: said.time("nbf")?,
        issued: said.time("iat")?,
        has_jti: said.text("jti")?.is_some_and(|jti| !jti.is_empty()),
    };
    let (client_id, profile) = (&*client.client_id, client.require_profile);
    claims.check(&Rules { client_id, profile, issuer: &app.issuer }, app.clock.now())?;
    if registered.is_some_and(|one| one != jws.algorithm) || !client.rules().allows(jws.algorithm) {
        return Err(SignedClaimsFault::OtherAlgorithm);
    }
    client_keys::verify(app, client, ClientEvidence::Signature(&jws)).await?;
    Ok(said.0)
}

/// Writes claims as the parameters that they stand for (RFC 9101 §4).
fn parameters(claims: Map<String, Value>, client_id: &str) -> Result<Form, OAuthError> {
    const NESTED: OAuthError =
        OAuthError::new(Code::InvalidRequestObject, "a request object holds no other");
    if claims.contains_key("request") || claims.contains_key("request_uri") {
        return Err(NESTED);
    }
    let mut parameters = vec![("client_id".to_owned(), client_id.to_owned())];
    for (name, value) in claims {
        if OF_THE_TOKEN.contains(&name.as_str()) || name == "client_id" {
            continue;
        }
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text,
            Value::Array(list) if name == "resource" => one_resource(list)?,
            // Objects and lists are JSON in a form as well: `claims`, `authorization_details`.
            other => other.to_string(),
        };
        parameters.push((name, value));
    }
    if parameters.len() > MOST_PARAMETERS {
        return Err(INVALID.because("it holds too many parameters"));
    }
    Ok(Form::of(parameters))
}

/// RFC 8707 §2 has a list where there are several, and a token is for one.
fn one_resource(list: Vec<Value>) -> Result<String, OAuthError> {
    let mut list = list.into_iter();
    match (list.next(), list.next()) {
        (Some(Value::String(one)), None) => Ok(one),
        _ => Err(OAuthError::new(
            Code::InvalidTarget,
            "a token is for one resource: ask once for each",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form(claims: &Value) -> Result<Form, OAuthError> {
        parameters(claims.as_object().unwrap().clone(), "a")
    }

    #[test]
    fn claims_are_parameters_but_those_of_the_token() {
        let form = form(&json!({
            "iss": "a", "aud": "x", "exp": 1, "nbf": 1, "iat": 1, "jti": "1", "sub": "b",
            "client_id": "a", "scope": "openid", "max_age": 3600, "state": null,
            "resource": ["https://api.example"], "claims": { "userinfo": { "email": null } },
        }));
        let form = form.unwrap();
        assert_eq!((form.get("client_id"), form.get("scope")), (Some("a"), Some("openid")));
        assert_eq!((form.get("max_age"), form.get("state")), (Some("3600"), None));
        assert_eq!(form.resource(), Ok(Some("https://api.example")));
        assert_eq!(form.get("claims"), Some(r#"{"userinfo":{"email":null}}"#));
        for name in OF_THE_TOKEN {
            assert_eq!(form.get(name), None, "{name}");
        }
    }

    #[test]
    fn an_object_holds_no_other_and_is_bounded() {
        for name in ["request", "request_uri"] {
            let refused = form(&json!({ name: null })).err().unwrap();
            assert_eq!(refused.code, Code::InvalidRequestObject);
        }
        let many: Map<String, Value> = (0..64).map(|n| (format!("p{n}"), json!("1"))).collect();
        assert!(form(&Value::Object(many)).is_err());
        let several = form(&json!({ "resource": ["https://a", "https://b"] })).err().unwrap();
        assert_eq!(several.code, Code::InvalidTarget);
    }
}
