//! Which client is speaking: RFC 6749 §2.3, OAuth 2.1 §2.4.
//!
//! A client presents a secret in the Authorization header or in the body, a signed assertion, or the certificate of its
//! connection; one of these, and only in the way it was registered for. A caller that fails is told the same, whatever was wrong, and costs the
//! same; one that fails too often is told to wait, and is judged all the same.

use super::{
    client_assertion::{self, Assertion},
    client_certificate,
    form::{Form, Posted, decode},
    possession::{self, ProofPlace, Proved},
    signed_claims::Disbelieved,
};
use crate::http::{
    answer::error::{Code, OAuthError},
    app::App,
    clients,
    limits::client_failures::Proof,
};
use crate::{
    actors::Hydrated,
    domain::{
        Actor, Context, Fingerprint, Machine as _, Secret, Timestamp,
        client::{AuthMethod, Client, KnownClient, LONGEST_ID},
        possession::{Possession, Unbound},
    },
};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::{borrow::Cow, net::IpAddr, sync::Arc};

const FAILED: OAuthError =
    OAuthError::new(Code::InvalidClient, "the client could not be authenticated");

/// A client that has proved who it is, or a public one, which cannot.
pub struct Caller {
    seen: Arc<Hydrated<Client>>,
    pub confidential: bool,
    /// Of the request; the client acts.
    pub context: Context,
    /// The keys that it holds.
    pub proved: Proved,
}

impl Caller {
    pub fn client(&self) -> &KnownClient {
        self.seen.machine.known().expect("an unknown client is never authenticated")
    }

    /// The client as it was seen.
    pub fn seen(&self) -> &Arc<Hydrated<Client>> {
        &self.seen
    }

    /// Says what a token is bound to that is issued to it now, or why it gets none.
    pub fn possession(&self) -> Result<Possession, OAuthError> {
        let Proved { held, proof } = &self.proved;
        let bound = self.client().binding_rules().bind(held).map_err(unbound)?;
        Ok(Possession {
            held: *held,
            bound,
            binds_refresh: !self.confidential,
            proof: proof.clone(),
        })
    }

    /// The same where no commit uses the proof up: it is used up now.
    pub async fn possession_spent(&self, app: &App) -> Result<Possession, OAuthError> {
        let possession = self.possession()?;
        possession::spend(app, &self.context, possession.proof.as_ref()).await?;
        Ok(Possession { proof: None, ..possession })
    }

    /// Insists on a client that has proved who it is.
    pub fn confidential(&self) -> Result<&KnownClient, OAuthError> {
        if self.confidential { Ok(self.client()) } else { Err(FAILED) }
    }
}

fn unbound(why: Unbound) -> OAuthError {
    let code = match why {
        Unbound::NoProof => Code::InvalidDpopProof,
        Unbound::NoCertificate | Unbound::Neither => Code::InvalidRequest,
    };
    OAuthError::new(code, why.description())
}

/// The one type of assertion that authenticates (RFC 7523 §2.2).
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The credentials that a request shows of its client.
struct ClientCredentials<'a> {
    client_id: String,
    /// The secret as the standard has it encoded, and as some send it.
    secrets: Vec<Secret>,
    method: AuthMethod,
    /// For the method `private_key_jwt`.
    assertion: Option<Assertion<'a>>,
}

/// Finds out which client is speaking; nothing is fetched to know it.
pub async fn authenticate(
    app: &App,
    context: Context,
    posted: &Posted,
) -> Result<Caller, OAuthError> {
    let find = async |id: &str| Ok(clients::find(app, id, false).await?);
    authenticate_by(app, context, posted, find).await
}

/// The same where a grant begins: a client may be known by a document that has to be fetched.
pub async fn authenticate_to_begin(
    app: &App,
    context: Context,
    posted: &Posted,
) -> Result<Caller, OAuthError> {
    let find = async |id: &str| clients::find_to_begin(app, id, posted.address).await;
    authenticate_by(app, context, posted, find).await
}

async fn authenticate_by(
    app: &App,
    context: Context,
    posted: &Posted,
    find: impl AsyncFnOnce(&str) -> Result<Arc<Hydrated<Client>>, OAuthError>,
) -> Result<Caller, OAuthError> {
    let presented = presented(&posted.headers, &posted.form)?;
    if presented.client_id.len() > LONGEST_ID {
        return Err(refusal(app, &presented, posted.address, &Disbelief::UnknownClient));
    }
    let seen = find(&presented.client_id).await?;
    believe(app, context, posted, (&presented, seen)).await
}

/// Believes a request to be from the client that it names, if that is proved.
async fn believe(
    app: &App,
    context: Context,
    posted: &Posted,
    (presented, seen): (&ClientCredentials<'_>, Arc<Hydrated<Client>>),
) -> Result<Caller, OAuthError> {
    let refuse = |why: Disbelief| refusal(app, presented, posted.address, &why);
    let now = app.clock.now();
    let known = seen.machine.known().filter(|_| seen.machine.live_until() > now);
    let method = presented.method_of(known);
    let has_certificate = posted.certificate.is_some();
    let confidential = judge(known, presented, (method, has_certificate), now).map_err(refuse)?;
    let context = context.by(Actor::Client(presented.client_id.clone()));
    if let (Some(assertion), Some(client)) = (&presented.assertion, seen.machine.known()) {
        let at = client_assertion::AssertionPlace { context: &context, path: &posted.path };
        match Box::pin(assertion.judge(app, client, at)).await {
            Ok(()) => {}
            Err(client_assertion::Refused::Disbelieved(why)) => {
                return Err(refuse(Disbelief::Assertion(why)));
            }
            Err(client_assertion::Refused::Failed(error)) => return Err(error),
        }
    }
    if let (true, Some(certificate), Some(client)) =
        (is_by_certificate(method), &posted.certificate, seen.machine.known())
    {
        match Box::pin(client_certificate::judge(app, client, method, certificate)).await {
            Ok(()) => {}
            Err(client_certificate::Refused::Disbelieved(why)) => {
                return Err(refuse(Disbelief::Certificate(why)));
            }
            Err(client_certificate::Refused::Failed(error)) => return Err(error),
        }
    }
    let place = ProofPlace {
        method: &Method::POST,
        path: &posted.path,
        headers: &posted.headers,
        token: None,
        certificate: posted.certificate.as_deref(),
    };
    let proved = possession::prove(app, &place)?;
    Ok(Caller { seen, confidential, context, proved })
}

/// Counts a failure, and says the same of all of them until there are too many.
fn refusal(
    app: &App,
    presented: &ClientCredentials<'_>,
    address: IpAddr,
    why: &Disbelief,
) -> OAuthError {
    // Of an unknown client too, or the limit would tell which clients exist.
    let failures = &app.limits.client_failures;
    let counted = failures.count(Proof::Secret, &presented.client_id, address, app.clock.now());
    let refused = counted.map_or_else(OAuthError::from, |()| FAILED);
    // A client id is public; the secret is not even in reach.
    refused.because(format!("{why:?}: {} from {address}", presented.told()))
}

/// Why a client was not believed; for the log alone.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Disbelief {
    UnknownClient,
    OtherMethod,
    WrongSecret,
    NoCertificate,
    Certificate(String),
    Assertion(Disbelieved),
}

/// Tells whether clients are known by a certificate in this way.
fn is_by_certificate(method: AuthMethod) -> bool {
    matches!(method, AuthMethod::TlsClientAuth | AuthMethod::SelfSignedTlsClientAuth)
}

/// Tells whether the client has proved itself, or is one that cannot; what an assertion or a certificate proves is judged
/// after that.
fn judge(
    known: Option<&KnownClient>,
    presented: &ClientCredentials<'_>,
    (method, has_certificate): (AuthMethod, bool),
    now: Timestamp,
) -> Result<bool, Disbelief> {
    // A hash for each secret whether or not there is something to compare it with.
    let prints = presented.secrets.iter().map(|secret| Fingerprint::of(secret.expose()));
    let prints: Vec<Fingerprint> = prints.collect();
    let client = known.ok_or(Disbelief::UnknownClient)?;
    if !client.authenticates_by(method) {
        return Err(Disbelief::OtherMethod);
    }
    match method {
        method if is_by_certificate(method) && !has_certificate => Err(Disbelief::NoCertificate),
        method if is_by_certificate(method) => Ok(true),
        AuthMethod::None => Ok(false),
        AuthMethod::PrivateKeyJwt if presented.assertion.is_some() => Ok(true),
        _ if client.has_secret(&prints, now) => Ok(true),
        _ => Err(Disbelief::WrongSecret),
    }
}

fn presented<'a>(headers: &HeaderMap, form: &'a Form) -> Result<ClientCredentials<'a>, OAuthError> {
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

impl ClientCredentials<'_> {
    /// The way in which the client authenticates: one that only names itself does so by its certificate, if it has registered
    /// for that (RFC 8705 §2).
    fn method_of(&self, client: Option<&KnownClient>) -> AuthMethod {
        let registered = client.and_then(|client| client.metadata.token_endpoint_auth_method);
        let by_certificate = registered.filter(|method| is_by_certificate(*method));
        by_certificate.filter(|_| self.method == AuthMethod::None).unwrap_or(self.method)
    }

    /// Who it says it is, fit for a log line: short, and nothing in it that ends the line.
    fn told(&self) -> String {
        self.client_id.chars().take(100).filter(|c| !c.is_control()).collect()
    }
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
            presented(headers, &form).map_err(|error| error.code)?;
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
