//! Each member of client metadata by its name, and how it is read.

use super::{
    AuthMethod, ClientMetadata, DeliveryMode, GrantType, Wrong, localized,
    read::{Outcome, each, each_if_given, flag, key_set, one, refused, refused_flag, seconds},
    redirect_uri,
    uri::{Fragment, check_callable, check_https, is_host_name},
    vocabulary::Word,
};
use crate::domain::{distinguished_name::DistinguishedName, signing_keys::SigningAlgorithm};
// Addresses as plain values; `core` has no sockets.
use core::net::IpAddr;
use serde_json::Value;

type Setter = fn(&mut ClientMetadata, &Value) -> Outcome;

const ENCRYPTION: &str = "encryption";
const FRONT_CHANNEL: &str = "front-channel logout";
const USER_CODE: &str = "a user code";

/// Every member there is.
pub(super) const FIELDS: &[(&str, Setter)] = &[
    // RFC 7591 §2.
    ("redirect_uris", |m, v| each(&mut m.redirect_uris, v, redirect)),
    ("token_endpoint_auth_method", |m, v| one(&mut m.token_endpoint_auth_method, v, auth_method)),
    ("grant_types", |m, v| each_if_given(&mut m.grant_types, v, grant_type)),
    ("response_types", |m, v| each_if_given(&mut m.response_types, v, word)),
    ("client_name", |m, v| one(&mut m.client_name, v, text)),
    ("client_uri", |m, v| one(&mut m.client_uri, v, page)),
    ("logo_uri", |m, v| one(&mut m.logo_uri, v, page)),
    ("scope", |m, v| one(&mut m.scope, v, scope)),
    ("contacts", |m, v| each(&mut m.contacts, v, text)),
    ("tos_uri", |m, v| one(&mut m.tos_uri, v, page)),
    ("policy_uri", |m, v| one(&mut m.policy_uri, v, page)),
    ("jwks_uri", |m, v| one(&mut m.jwks_uri, v, https)),
    ("jwks", |m, v| key_set(&mut m.jwks, v)),
    ("software_id", |m, v| one(&mut m.software_id, v, text)),
    ("software_version", |m, v| one(&mut m.software_version, v, text)),
    // OIDC Registration §2.
    ("application_type", |m, v| one(&mut m.application_type, v, word)),
    ("sector_identifier_uri", |m, v| one(&mut m.sector_identifier_uri, v, https)),
    ("subject_type", |m, v| one(&mut m.subject_type, v, word)),
    ("id_token_signed_response_alg", |m, v| one(&mut m.id_token_signed_response_alg, v, algorithm)),
    ("id_token_encrypted_response_alg", |_, v| refused(v, ENCRYPTION)),
    ("id_token_encrypted_response_enc", |_, v| refused(v, ENCRYPTION)),
    ("userinfo_signed_response_alg", |m, v| one(&mut m.userinfo_signed_response_alg, v, algorithm)),
    ("userinfo_encrypted_response_alg", |_, v| refused(v, ENCRYPTION)),
    ("userinfo_encrypted_response_enc", |_, v| refused(v, ENCRYPTION)),
    // RFC 9701 §6.
    ("introspection_signed_response_alg", |m, v| {
        one(&mut m.introspection_signed_response_alg, v, algorithm)
    }),
    ("introspection_encrypted_response_alg", |_, v| refused(v, ENCRYPTION)),
    ("introspection_encrypted_response_enc", |_, v| refused(v, ENCRYPTION)),
    ("request_object_signing_alg", |m, v| one(&mut m.request_object_signing_alg, v, algorithm)),
    ("request_object_encryption_alg", |_, v| refused(v, ENCRYPTION)),
    ("request_object_encryption_enc", |_, v| refused(v, ENCRYPTION)),
    ("token_endpoint_auth_signing_alg", |m, v| {
        one(&mut m.token_endpoint_auth_signing_alg, v, algorithm)
    }),
    ("default_max_age", |m, v| seconds(&mut m.default_max_age, v)),
    ("require_auth_time", |m, v| flag(&mut m.require_auth_time, v)),
    ("default_acr_values", |m, v| each(&mut m.default_acr_values, v, text)),
    // OIDC Core §4: third parties begin a sign-in over https alone.
    ("initiate_login_uri", |m, v| one(&mut m.initiate_login_uri, v, https)),
    // OIDC Core §6.2: the fragment is the hash of what is found there.
    ("request_uris", |m, v| each(&mut m.request_uris, v, page)),
    // OIDC RP-Initiated Logout §3.1, OIDC Back-Channel Logout §2.2, OIDC Front-Channel Logout §2.
    ("post_logout_redirect_uris", |m, v| each(&mut m.post_logout_redirect_uris, v, redirect)),
    ("backchannel_logout_uri", |m, v| one(&mut m.backchannel_logout_uri, v, callable)),
    ("backchannel_logout_session_required", |m, v| {
        flag(&mut m.backchannel_logout_session_required, v)
    }),
    ("frontchannel_logout_uri", |_, v| refused(v, FRONT_CHANNEL)),
    ("frontchannel_logout_session_required", |_, v| refused_flag(v, FRONT_CHANNEL)),
    // RFC 9126 §6.
    ("require_pushed_authorization_requests", |m, v| {
        flag(&mut m.require_pushed_authorization_requests, v)
    }),
    // RFC 9101 §10.5, JARM §3, RFC 9396 §10.
    ("require_signed_request_object", |m, v| flag(&mut m.require_signed_request_object, v)),
    ("authorization_signed_response_alg", |m, v| {
        one(&mut m.authorization_signed_response_alg, v, algorithm)
    }),
    ("authorization_encrypted_response_alg", |_, v| refused(v, ENCRYPTION)),
    ("authorization_encrypted_response_enc", |_, v| refused(v, ENCRYPTION)),
    ("authorization_details_types", |m, v| each(&mut m.authorization_details_types, v, text)),
    // RFC 8705 §2.1.2 and §3.4, RFC 9449 §5.2.
    ("tls_client_auth_subject_dn", |m, v| one(&mut m.tls_client_auth_subject_dn, v, name)),
    ("tls_client_auth_san_dns", |m, v| one(&mut m.tls_client_auth_san_dns, v, host_name)),
    ("tls_client_auth_san_uri", |m, v| one(&mut m.tls_client_auth_san_uri, v, text)),
    ("tls_client_auth_san_ip", |m, v| one(&mut m.tls_client_auth_san_ip, v, address)),
    ("tls_client_auth_san_email", |m, v| one(&mut m.tls_client_auth_san_email, v, email)),
    ("tls_client_certificate_bound_access_tokens", |m, v| {
        flag(&mut m.tls_client_certificate_bound_access_tokens, v)
    }),
    ("dpop_bound_access_tokens", |m, v| flag(&mut m.dpop_bound_access_tokens, v)),
    // CIBA Core §4.
    ("backchannel_token_delivery_mode", |m, v| {
        one(&mut m.backchannel_token_delivery_mode, v, delivery_mode)
    }),
    ("backchannel_client_notification_endpoint", |m, v| {
        one(&mut m.backchannel_client_notification_endpoint, v, callable)
    }),
    ("backchannel_authentication_request_signing_alg", |m, v| {
        one(&mut m.backchannel_authentication_request_signing_alg, v, algorithm)
    }),
    ("backchannel_user_code_parameter", |_, v| refused_flag(v, USER_CODE)),
];

/// Returns how the member of that name is read, unless it is unknown.
pub(super) fn setter(name: &str) -> Option<Setter> {
    FIELDS.iter().find(|(known, _)| *known == name).map(|(_, set)| *set)
}

/// Reads a member said in some language as the member itself is read.
pub(super) fn localized(metadata: &mut ClientMetadata, name: &str, value: &Value) -> Outcome {
    let mut said: Option<String> = None;
    let read = if localized::base(name) == Some("client_name") { text } else { page };
    one(&mut said, value, read)?;
    // Language tags are the same in any case (RFC 5646 §2.1.1).
    metadata.localized.retain(|held, _| !held.eq_ignore_ascii_case(name));
    metadata.localized.extend(said.map(|said| (name.to_owned(), said)));
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "a reader among readers that refuse")]
fn text(text: &str) -> Result<String, Wrong> {
    Ok(text.to_owned())
}

fn redirect(text: &str) -> Result<String, Wrong> {
    redirect_uri::check(text)?;
    Ok(text.to_owned())
}

fn https(text: &str) -> Result<String, Wrong> {
    check_https(text, Fragment::Refused)?;
    Ok(text.to_owned())
}

fn page(text: &str) -> Result<String, Wrong> {
    check_https(text, Fragment::Allowed)?;
    Ok(text.to_owned())
}

fn callable(text: &str) -> Result<String, Wrong> {
    check_callable(text)?;
    Ok(text.to_owned())
}

fn word<W: Word>(text: &str) -> Result<W, Wrong> {
    let found = W::ALL.iter().copied().find(|word| word.written() == text);
    found.ok_or_else(|| Wrong::NotOneOf(W::ALL.iter().map(|word| word.written()).collect()))
}

fn grant_type(text: &str) -> Result<GrantType, Wrong> {
    match text {
        "token-exchange" => Ok(GrantType::TokenExchange),
        // OAuth 2.1 §10: neither is left.
        "implicit" | "password" => Err(Wrong::NeverOffered),
        _ => word(text),
    }
}

fn auth_method(text: &str) -> Result<AuthMethod, Wrong> {
    if text == "client_secret_jwt" { Err(Wrong::NeedsClearSecret) } else { word(text) }
}

fn delivery_mode(text: &str) -> Result<DeliveryMode, Wrong> {
    // FAPI-CIBA §5.2.2: push hands out tokens without asking who takes them.
    if text == "push" { Err(Wrong::NeverOffered) } else { word(text) }
}

fn algorithm(text: &str) -> Result<SigningAlgorithm, Wrong> {
    match text {
        "none" => Err(Wrong::NeverOffered),
        "HS256" | "HS384" | "HS512" => Err(Wrong::NeedsClearSecret),
        _ => SigningAlgorithm::by_name(text).ok_or_else(|| {
            Wrong::NotOneOf(SigningAlgorithm::ALL.map(SigningAlgorithm::name).to_vec())
        }),
    }
}

/// RFC 6749 §3.3: tokens of printable ASCII without quote and backslash; their order means nothing,
/// but is kept.
fn scope(text: &str) -> Result<String, Wrong> {
    let of_token = |b: u8| matches!(b, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    let mut tokens: Vec<&str> = Vec::new();
    for token in text.split(' ').filter(|token| !token.is_empty()) {
        if !token.bytes().all(of_token) {
            return Err(Wrong::NotAScope);
        }
        if !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    Ok(tokens.join(" "))
}

fn name(text: &str) -> Result<String, Wrong> {
    let read = DistinguishedName::parse(text);
    read.map(|_| text.to_owned()).map_err(|_| Wrong::NotADistinguishedName)
}

fn host_name(text: &str) -> Result<String, Wrong> {
    if is_host_name(text) { Ok(text.to_owned()) } else { Err(Wrong::NotAHostName) }
}

fn address(text: &str) -> Result<String, Wrong> {
    text.parse::<IpAddr>().map(|_| text.to_owned()).map_err(|_| Wrong::NotAnAddress)
}

fn email(text: &str) -> Result<String, Wrong> {
    let sound = text.split_once('@').is_some_and(|(name, domain)| {
        !name.is_empty() && is_host_name(domain) && !text.contains(char::is_whitespace)
    });
    if sound { Ok(text.to_owned()) } else { Err(Wrong::NotAnEmail) }
}

#[cfg(test)]
mod tests;
