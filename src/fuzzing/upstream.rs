//! What a provider, or a person who poses as one, sends.

use super::{Outcome, signed::NOW, text, two};
use crate::domain::{
    signing_keys::SigningAlgorithm,
    strict_json,
    upstream::{
        Callback, Issuer, Kind, Metadata, believed_level, github,
        id_token::{self, Expectation},
        logout_token,
    },
};
use serde_json::Value;
use std::{sync::LazyLock, time::Duration};

const CLIENT_ID: &str = "porteiro";
const STATE: &str = "state-of-this-sign-in";

static ISSUER: LazyLock<Issuer> =
    LazyLock::new(|| Issuer::parse("https://login.example.com").expect("an issuer"));

/// The claims of an ID token whose signature is right.
pub(super) fn id_token(bytes: &[u8]) -> Outcome {
    let Ok(claims) = strict_json::object(bytes) else { return Outcome::NO_TEXT };
    let expected = Expectation {
        issuer: &ISSUER,
        client_id: CLIENT_ID,
        nonce: "nonce-of-this-sign-in",
        company: None,
        max_age: Some(Duration::from_hours(1)),
        algorithm: SigningAlgorithm::Es256,
        access_token: None,
        code: "code",
    };
    let person = id_token::judge(claims.clone(), &expected, NOW);
    if let Ok(person) = &person {
        assert_eq!(claims.get("sub").and_then(Value::as_str), Some(person.subject.as_str()));
        assert_eq!(person.issuer, ISSUER.as_str());
        believed_level(person, true);
    }
    let user = Value::Object(claims);
    let emails = user.get("emails").unwrap_or(&Value::Null);
    let github = github::person(&ISSUER, &user, emails);
    Outcome::of(&person.map(|_| ())).and(Outcome::of(&github.map(|_| ())))
}

/// The claims of a logout token whose signature is right: without a person or a session it ends nothing.
pub(super) fn logout_token(bytes: &[u8]) -> Outcome {
    let Ok(claims) = strict_json::object(bytes) else { return Outcome::NO_TEXT };
    let notice = logout_token::judge(&claims, &ISSUER, CLIENT_ID, NOW);
    if let Ok(notice) = &notice {
        assert!(notice.subject.is_some() || notice.session.is_some());
        assert!(!claims.contains_key("nonce"), "an ID token is no logout token");
    }
    Outcome::of(&notice.map(|_| ()))
}

/// An issuer in the first line, its metadata after it.
pub(super) fn metadata(bytes: &[u8]) -> Outcome {
    let (issuer, document) = two(bytes);
    let issuer = text(issuer).map(Issuer::parse);
    let Some(Ok(issuer)) = &issuer else { return Outcome::of(&issuer.map(|read| read.is_ok())) };
    let read = Metadata::read(issuer, document);
    if let Ok(metadata) = &read {
        assert_eq!(metadata.issuer, *issuer);
        let endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
        let is_callable = |url: &url::Url| url.scheme() == "https" || is_local(url);
        assert!(endpoints.into_iter().all(is_callable), "no endpoint is in the clear");
    }
    Outcome::of(&read.map(|metadata| metadata.promises_iss))
}

fn is_local(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// The query of a callback.
pub(super) fn callback(bytes: &[u8]) -> Outcome {
    let Some(query) = text(bytes) else { return Outcome::NO_TEXT };
    let read = Callback::read(query);
    let address = "https://id.example.com/connect/sso/1/callback";
    let by_address = Callback::read_url(&format!("{address}?{query}"), address);
    assert!(by_address.is_err() || read.is_ok());
    let checked = read.as_ref().map(|callback| callback.check(STATE, &ISSUER, Kind::Oidc, true));
    if let Ok(Ok(())) = checked {
        assert_eq!(read.as_ref().map(Callback::state), Ok(STATE));
    }
    Outcome::of(&checked)
}
