//! Pushed requests (RFC 9126): the parameters, sealed in the `request_uri` that stands for them.
//!
//! Only this installation can write or read one, so what was checked when it was pushed cannot have
//! been altered. It names its client, and is presented by no other.

use crate::{
    crypto::draw_id,
    domain::{Fingerprint, Timestamp, pushed_request::Pushed},
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::form::Form,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use std::{ops::Not, time::Duration};

/// RFC 9126 §2.2.
const PREFIX: &str = "urn:ietf:params:oauth:request_uri:";
const PURPOSE: &str = "pushed request";
/// How long the part is by which it is known.
const NAME: usize = 22;
/// No `request_uri` of ours is longer: it must fit into an address, beside others.
const LONGEST: usize = 10_000;
/// Clocks of nodes differ, and an answer takes its time.
const SLACK: Duration = Duration::from_mins(1);

/// By these the client has authenticated: they are no part of its request.
const CREDENTIALS: [&str; 3] = ["client_secret", "client_assertion", "client_assertion_type"];

/// The parameter that names the key by which alone a code is redeemed.
const KEY: &str = "dpop_jkt";

const UNKNOWN: OAuthError = OAuthError::new(
    Code::InvalidRequestUri,
    "the request_uri is not known, was used before, or has expired",
);

/// Written from text that others own, and read as text of its own.
#[derive(Serialize, Deserialize)]
struct SealedRequest<T> {
    #[serde(rename = "c")]
    client_id: T,
    #[serde(rename = "p")]
    parameters: Vec<(T, T)>,
    #[serde(rename = "e")]
    expires_at: Timestamp,
    /// The client has not signed it; what an older node wrote was checked when it was pushed.
    #[serde(rename = "n", default, skip_serializing_if = "Not::not")]
    is_unsigned: bool,
}

/// What is pushed.
pub struct PushedContent<'a> {
    pub form: &'a Form,
    /// The key that the client has proved to hold.
    pub key: Option<Fingerprint>,
    pub is_signed: bool,
    /// Until it is presented.
    pub lives: Duration,
}

/// Tells whether this stands for a pushed request.
pub fn is_pushed(request_uri: &str) -> bool {
    request_uri.starts_with(PREFIX)
}

/// Writes the `request_uri` of what a client has pushed.
pub fn seal(app: &App, client_id: &str, pushed: &PushedContent<'_>) -> Result<String, OAuthError> {
    let PushedContent { form, key, is_signed, lives } = pushed;
    let key = key.map(String::from);
    let kept = form.pairs().filter(|(name, _)| !CREDENTIALS.contains(name));
    let proved = key.iter().map(|key| (KEY, &**key)).filter(|_| form.get(KEY).is_none());
    let sealed = SealedRequest {
        client_id,
        parameters: kept.chain(proved).collect(),
        expires_at: app.clock.now() + *lives,
        is_unsigned: !is_signed,
    };
    let content = serde_json::to_vec(&sealed).expect("text and numbers are JSON");
    let name = draw_id(&*app.dice);
    let sealed = app.crypto.vault.now().seal(PURPOSE, name.as_bytes(), &content, &*app.dice);
    let mut request_uri = format!("{PREFIX}{name}");
    URL_SAFE_NO_PAD.encode_string(sealed, &mut request_uri);
    if request_uri.len() > LONGEST {
        return Err(OAuthError::new(Code::InvalidRequest, "the request is too large"));
    }
    Ok(request_uri)
}

/// Returns the parameters that the client has pushed, unless a flow has ended with them, and whether it has signed them.
pub async fn open(
    app: &App,
    client_id: &str,
    request_uri: &str,
) -> Result<(Form, Pushed, bool), OAuthError> {
    let (name, sealed) = read(app, request_uri).ok_or(UNKNOWN)?;
    // RFC 9126 §4: whose it is must be said, and must be so.
    if client_id != sealed.client_id {
        return Err(UNKNOWN.because("it was pushed by another client"));
    }
    if app.clock.now() >= sealed.expires_at {
        return Err(UNKNOWN.because("it has expired"));
    }
    if app.views.pushed_requests.peek(name).await?.machine.is_used() {
        return Err(UNKNOWN.because("it was used before"));
    }
    let over_at = sealed.expires_at + app.settings.lifetimes.flow + SLACK;
    let pushed = Pushed { id: name.to_owned(), over_at };
    Ok((Form::of(sealed.parameters), pushed, !sealed.is_unsigned))
}

fn read<'a>(app: &App, request_uri: &'a str) -> Option<(&'a str, SealedRequest<String>)> {
    let body = request_uri.strip_prefix(PREFIX)?;
    if request_uri.len() > LONGEST || !body.is_ascii() {
        return None;
    }
    let (name, sealed) = body.split_at_checked(NAME)?;
    let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
    let content = app.crypto.vault.now().open(PURPOSE, name.as_bytes(), &sealed).ok()?;
    Some((name, serde_json::from_slice(content.expose()).ok()?))
}
