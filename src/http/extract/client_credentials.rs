//! The credentials that a request shows of its client, read and not believed yet: RFC 6749 §2.3, RFC 7521 §4.2.

use super::{
    client_assertion::Assertion,
    form::{Form, decode},
};
use crate::{
    domain::{
        Secret,
        client::{AuthMethod, KnownClient},
    },
    http::answer::error::{Code, OAuthError},
};
use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::borrow::Cow;

/// All that a client hears that is not believed.
pub const FAILED: OAuthError =
    OAuthError::new(Code::InvalidClient, "the client could not be authenticated");

/// The one type of assertion that authenticates (RFC 7523 §2.2).
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// What a request shows of its client.
pub struct ClientCredentials<'a> {
    pub client_id: String,
    /// The secret as the standard has it encoded, and as some send it.
    pub secrets: Vec<Secret>,
    method: AuthMethod,
    /// For the method `private_key_jwt`.
    pub assertion: Option<Assertion<'a>>,
}

impl<'a> ClientCredentials<'a> {
    pub fn read(headers: &HeaderMap, form: &'a Form) -> Result<Self, OAuthError> {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let (client_id, secret) = (form.get("client_id"), form.get("client_secret"));
        let assertion = (form.get("client_assertion_type"), form.get("client_assertion"));
        if assertion != (None, None) {
            if given.next().is_some() || secret.is_some() {
                return Err(several_methods());
            }
            return asserted(client_id, assertion);
        }
        match (given.next(), given.next()) {
            (_, Some(_)) => Err(several_methods()),
            (Some(_), None) if secret.is_some() => Err(several_methods()),
            (Some(header), None) => {
                let presented = basic(header).ok_or(FAILED)?;
                // Many libraries send it along; it must be the same one.
                if client_id.is_some_and(|id| id != presented.client_id) {
                    let why = "client_id is not the client that the Authorization header names";
                    return Err(OAuthError::new(Code::InvalidRequest, why));
                }
                Ok(presented)
            }
            (None, None) => {
                let missing = OAuthError::new(Code::InvalidClient, "no client has been named");
                let client_id = client_id.ok_or(missing)?.to_owned();
                let method = secret.map_or(AuthMethod::None, |_| AuthMethod::ClientSecretPost);
                let secrets = secret.into_iter().map(Secret::new).collect();
                Ok(ClientCredentials { client_id, secrets, method, assertion: None })
            }
        }
    }

    /// The way in which the client authenticates: one that only names itself does so by its certificate, if it has registered
    /// for that (RFC 8705 §2).
    pub fn method_of(&self, client: Option<&KnownClient>) -> AuthMethod {
        let registered = client.and_then(|client| client.metadata.token_endpoint_auth_method);
        let by_certificate = registered.filter(|method| method.is_by_certificate());
        by_certificate.filter(|_| self.method == AuthMethod::None).unwrap_or(self.method)
    }

    /// Who it says it is, fit for a log line: short, and nothing in it that ends the line.
    pub fn told(&self) -> String {
        self.client_id.chars().take(100).filter(|c| !c.is_control()).collect()
    }
}

/// Reads an assertion; a `client_id` beside it must be the same client's (RFC 7521 §4.2).
fn asserted<'a>(
    client_id: Option<&str>,
    given: (Option<&str>, Option<&'a str>),
) -> Result<ClientCredentials<'a>, OAuthError> {
    let (Some(kind), Some(text)) = given else {
        let why = "client_assertion and client_assertion_type come together";
        return Err(OAuthError::new(Code::InvalidRequest, why));
    };
    if kind != JWT_BEARER {
        return Err(FAILED.because("another type of assertion"));
    }
    let assertion = Assertion::read(text).map_err(|why| FAILED.because(why.to_string()))?;
    if client_id.is_some_and(|id| id != assertion.client_id()) {
        return Err(FAILED.because("client_id is not the client that the assertion names"));
    }
    Ok(ClientCredentials {
        client_id: assertion.client_id().to_owned(),
        secrets: Vec::new(),
        method: AuthMethod::PrivateKeyJwt,
        assertion: Some(assertion),
    })
}

const fn several_methods() -> OAuthError {
    // RFC 6749 §2.3: not more than one method in each request.
    OAuthError::new(Code::InvalidRequest, "the client authenticates in more than one way")
}

/// Reads HTTP Basic, in which id and secret are form-encoded first (RFC 6749 §2.3.1).
///
/// Many programs leave that out, so a secret counts as it was sent as well: a caller that knows one
/// form knows the other.
fn basic(header: &HeaderValue) -> Option<ClientCredentials<'static>> {
    let (scheme, credentials) = header.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let credentials = STANDARD.decode(credentials.trim()).ok()?;
    let at = credentials.iter().position(|byte| *byte == b':')?;
    let (id, secret) = (&credentials[..at], &credentials[at + 1..]);
    // PostgreSQL could not even be asked about it.
    if id.contains(&0) {
        return None;
    }
    let client_id = decode(id).unwrap_or_else(|_| String::from_utf8_lossy(id)).into_owned();
    let decoded = decode(secret).ok();
    let mut secrets = vec![Secret::new(secret)];
    if let Some(Cow::Owned(decoded)) = decoded {
        secrets.push(Secret::new(decoded));
    }
    let method = AuthMethod::ClientSecretBasic;
    Some(ClientCredentials { client_id, secrets, method, assertion: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    fn header(id: &str, secret: &str) -> HeaderMap {
        let value = format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")));
        HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())])
    }

    /// What is shown, but for an assertion.
    #[derive(Debug)]
    struct ShownCredentials {
        client_id: String,
        secrets: Vec<Secret>,
        method: AuthMethod,
    }

    fn show(headers: &HeaderMap, form: &[u8]) -> Result<ShownCredentials, Code> {
        let form = Form::parse(form).unwrap();
        let ClientCredentials { client_id, secrets, method, .. } =
            ClientCredentials::read(headers, &form).map_err(|error| error.code)?;
        Ok(ShownCredentials { client_id, secrets, method })
    }

    #[test]
    fn a_secret_in_the_header_counts_encoded_and_as_it_is() {
        let shown = show(&header("billing%3A1", "a%2Bb+c"), b"").unwrap();
        assert_eq!(
            (shown.client_id.as_str(), shown.method),
            ("billing:1", AuthMethod::ClientSecretBasic)
        );
        assert_eq!(shown.secrets, [Secret::new("a%2Bb+c"), Secret::new("a+b c")]);
        let odd = show(&header("billing", "100%:x"), b"").unwrap();
        assert_eq!(odd.secrets, [Secret::new("100%:x")]);
    }

    #[test]
    fn two_ways_at_once_are_refused() {
        let both = show(&header("billing", "s"), b"client_id=billing&client_secret=s");
        assert_eq!(both.unwrap_err(), Code::InvalidRequest);
        assert_eq!(
            show(&header("billing", "s"), b"client_id=other").unwrap_err(),
            Code::InvalidRequest
        );
        assert!(show(&header("billing", "s"), b"client_id=billing").is_ok());
        let mut twice = header("billing", "s");
        twice.append(header::AUTHORIZATION, "Basic eDp5".parse().unwrap());
        assert_eq!(show(&twice, b"").unwrap_err(), Code::InvalidRequest);
    }

    #[test]
    fn an_assertion_comes_alone_with_its_type_and_names_its_client() {
        let text = |claims: &str| {
            let parts = [r#"{"alg":"ES256"}"#, claims].map(|part| URL_SAFE_NO_PAD.encode(part));
            format!("{}.{}.AAAA", parts[0], parts[1])
        };
        let good = text(r#"{"iss":"a","sub":"a","aud":"x","exp":1,"jti":"1"}"#);
        let form = |kind: &str, assertion: &str, more: &str| {
            format!("client_assertion_type={kind}&client_assertion={assertion}{more}").into_bytes()
        };
        let show = |headers: &HeaderMap, form: &[u8]| show(headers, form).map(|one| one.client_id);
        let none = HeaderMap::new();
        for more in ["", "&client_id=a"] {
            assert_eq!(show(&none, &form(JWT_BEARER, &good, more)), Ok("a".to_owned()));
        }
        for (headers, more) in [(header("a", "s"), ""), (HeaderMap::new(), "&client_secret=s")] {
            let both = show(&headers, &form(JWT_BEARER, &good, more));
            assert_eq!(both, Err(Code::InvalidRequest));
        }
        let half = format!("client_assertion={good}");
        assert_eq!(show(&none, half.as_bytes()), Err(Code::InvalidRequest));
        assert_eq!(show(&none, &form(JWT_BEARER, "", "")), Err(Code::InvalidRequest));
        for (kind, assertion, more) in [
            ("urn:ietf:params:oauth:client-assertion-type:saml2-bearer", good.as_str(), ""),
            (JWT_BEARER, &good, "&client_id=b"),
            (JWT_BEARER, "e30.e30.e30", ""),
            (JWT_BEARER, &text(r#"{"iss":"a","aud":"x","exp":1,"jti":"1"}"#), ""),
            (JWT_BEARER, &text(r#"{"iss":"a","sub":"a","exp":1,"jti":"1"}"#), ""),
            (JWT_BEARER, &text(r#"{"iss":"a","sub":"a","aud":"x","jti":"1"}"#), ""),
            (JWT_BEARER, &text(r#"{"iss":"a","sub":"a","aud":"x","exp":1}"#), ""),
        ] {
            let refused = show(&none, &form(kind, assertion, more));
            assert_eq!(refused, Err(Code::InvalidClient), "{assertion}");
        }
    }

    #[test]
    fn what_is_no_credential_names_no_client() {
        for value in
            ["Basic", "Basic ", "Basic !!", "Basic eA==", "Basic AAA6", "Bearer abc", "basicx eDp5"]
        {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
            assert_eq!(show(&headers, b"client_id=a").unwrap_err(), Code::InvalidClient, "{value}");
        }
        assert_eq!(show(&HeaderMap::new(), b"").unwrap_err(), Code::InvalidClient);
        assert_eq!(show(&HeaderMap::new(), b"client_secret=s").unwrap_err(), Code::InvalidClient);
    }

    #[test]
    fn what_is_logged_of_an_unknown_client_is_one_short_line() {
        let (client_id, method) = ("x\n".repeat(500), AuthMethod::None);
        let told = ClientCredentials { client_id, secrets: vec![], method, assertion: None }.told();
        assert_eq!((told.len(), told.contains('\n')), (50, false));
    }
}
