//! What every request has: a form, headers, the credentials of a client.

use super::{Outcome, two};
use crate::{
    domain::DeviceKind,
    http::{
        cookies::CookieNames,
        extract::{
            address::client_address,
            bearer,
            client_credentials::ClientCredentials,
            form::Form,
            link::link,
            request_source::{RequestSource, comes_from_another_site, prefers_page},
        },
    },
    transport::AddressRules,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::net::{IpAddr, Ipv4Addr};

/// A form; what is written of it is read as the same.
pub(super) fn form(bytes: &[u8]) -> Outcome {
    let noted = Form::parse_noting(bytes).map(|form| form.has_repetition());
    let read = Form::parse(bytes);
    if let Ok(form) = &read {
        assert_eq!(noted, Ok(false), "what is repeated is refused");
        let mut written = url::form_urlencoded::Serializer::new(String::new());
        let written = written.extend_pairs(form.pairs()).finish();
        let again = Form::parse(written.as_bytes()).expect("what was read can be written");
        assert!(form.pairs().eq(again.pairs()), "a form is read in one way");
        assert!(form.pairs().all(|(_, value)| !value.contains('\0')));
    }
    let link = link("/connect/authorize", bytes);
    assert!(link.is_none_or(|link| link.starts_with("/connect/authorize?")));
    Outcome::of(&read.map(|form| (form.resource().is_ok(), form.token().is_ok())))
}

/// The header `Authorization` in the first line, the form after it.
pub(super) fn client_credentials(bytes: &[u8]) -> Outcome {
    let (header, body) = two(bytes);
    let Ok(form) = Form::parse(body) else { return Outcome::NO_TEXT };
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(header) {
        headers.insert("authorization", value);
    }
    let read = ClientCredentials::read(&headers, &form);
    let read =
        read.map(|read| (read.secrets.len(), read.assertion.is_some(), read.told().len() > 40));
    let presented = bearer::presented(&headers).map(|presented| presented.scheme);
    Outcome::of(&read).and(Outcome::of(&presented))
}

/// Lines of headers, as a browser or a proxy sends them.
pub(super) fn headers(bytes: &[u8]) -> Outcome {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(64) {
        let Some(at) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..at]);
        let value = HeaderValue::from_bytes(line[at + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let source = RequestSource::of(&headers, CookieNames::new("https://id.example.com"));
    let proxy = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let rules = AddressRules::new("https://id.example.com", vec![proxy.into()]);
    let address = client_address(proxy, &headers, &rules);
    let stranger = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
    assert_eq!(client_address(stranger, &headers, &rules), stranger, "only a proxy is believed");
    let agent = headers.get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or("");
    Outcome::of(&(source.wants_json, source.is_browser, source.locale, address.is_ipv4()))
        .and(Outcome::of(&(prefers_page(&headers), comes_from_another_site(&headers))))
        .and(Outcome::of(&DeviceKind::of(agent)))
}
