use super::*;
use serde_json::{Value, json};

/// What is said to be wrong with a whole client of these members.
fn complaints(members: &Value) -> Vec<String> {
    let metadata = ClientMetadata::default().patch(members.as_object().unwrap()).unwrap();
    metadata.check_whole(false).iter().map(ToString::to_string).collect()
}

fn redirecting(mut members: Value) -> Value {
    members["redirect_uris"] = json!(["https://a.example/cb"]);
    members
}

#[test]
fn a_code_needs_somewhere_to_go() {
    let complaint = "`redirect_uris` is needed for the grant `authorization_code`";
    assert_eq!(complaints(&json!({ "grant_types": ["authorization_code"] })), [complaint]);
    for members in [
        redirecting(json!({})),
        json!({}),
        json!({ "grant_types": [] }),
        json!({ "grant_types": ["client_credentials"] }),
        json!({ "grant_types": ["urn:ietf:params:oauth:grant-type:device_code"] }),
    ] {
        assert!(complaints(&members).is_empty(), "{members}");
    }
    assert!(ClientMetadata::default().check_whole(true).is_empty());
}

#[test]
fn a_signature_needs_keys() {
    for members in [
        json!({ "token_endpoint_auth_method": "private_key_jwt" }),
        json!({ "token_endpoint_auth_method": "self_signed_tls_client_auth" }),
        json!({ "require_signed_request_object": true }),
    ] {
        let mut members = redirecting(members);
        let found = complaints(&members);
        assert!(found.len() == 1 && found[0].starts_with("`jwks` is needed for "), "{found:?}");
        members["jwks"] = json!({ "keys": [] });
        assert!(complaints(&members).is_empty());
        members["jwks"] = Value::Null;
        members["jwks_uri"] = json!("https://a.example/jwks");
        assert!(complaints(&members).is_empty());
    }
}

#[test]
fn a_certificate_needs_a_name() {
    let members = || redirecting(json!({ "token_endpoint_auth_method": "tls_client_auth" }));
    let complaint = "`tls_client_auth_subject_dn` is needed for `tls_client_auth`, unless there is \
                     one of `tls_client_auth_san_...`";
    assert_eq!(complaints(&members()), [complaint]);
    for (name, value) in [
        ("tls_client_auth_subject_dn", "CN=a"),
        ("tls_client_auth_san_dns", "a.example"),
        ("tls_client_auth_san_uri", "https://a.example/"),
        ("tls_client_auth_san_ip", "192.0.2.1"),
        ("tls_client_auth_san_email", "ana@a.example"),
    ] {
        let mut named = members();
        named[name] = json!(value);
        assert!(complaints(&named).is_empty(), "{name}");
    }
}

#[test]
fn a_ping_needs_somewhere_to_go() {
    let mut members = redirecting(json!({ "backchannel_token_delivery_mode": "ping" }));
    let complaint =
        "`backchannel_client_notification_endpoint` is needed for the delivery mode `ping`";
    assert_eq!(complaints(&members), [complaint]);
    members["backchannel_client_notification_endpoint"] = json!("https://a.example/ping");
    assert!(complaints(&members).is_empty());
    assert!(
        complaints(&redirecting(json!({ "backchannel_token_delivery_mode": "poll" }))).is_empty()
    );
}

#[test]
fn only_a_client_that_authenticates_acts_by_itself() {
    let all: Vec<&str> = GrantType::ALL.iter().map(|grant| grant.name()).collect();
    let mut members = redirecting(json!({ "grant_types": all }));
    assert!(complaints(&members).is_empty());
    members["token_endpoint_auth_method"] = json!("none");
    let found = complaints(&members);
    assert_eq!(found.len(), 3);
    assert_eq!(
        found[0],
        "`grant_types` contains `client_credentials`, which is only for clients that authenticate"
    );
}

#[test]
fn pairwise_subjects_need_one_sector() {
    let sector = |members: Value| {
        let patch = members.as_object().unwrap();
        ClientMetadata::default().patch(patch).unwrap().sector_identifier()
    };
    for (members, host) in [
        (
            json!({ "redirect_uris": ["https://a.example/1", "https://A.example:8443/2"] }),
            "a.example",
        ),
        (
            json!({ "redirect_uris": ["https://a.example/", "https://b.example/"],
            "sector_identifier_uri": "https://c.example/uris.json" }),
            "c.example",
        ),
        (json!({ "jwks_uri": "https://d.example/jwks" }), "d.example"),
        (json!({ "redirect_uris": ["http://[::1]:3/cb"] }), "[::1]"),
    ] {
        assert_eq!(sector(members).as_deref(), Some(host));
    }
    for redirects in [
        json!(["https://a.example/", "https://b.example/"]),
        json!(["https://a.example/", "com.example.app:/cb"]),
        json!(["com.example.app:/cb"]),
        json!(["com.example.app:/cb", "https://a.example/"]),
    ] {
        let members = json!({ "redirect_uris": redirects, "subject_type": "pairwise",
            "jwks_uri": "https://a.example/jwks" });
        let complaint = "`sector_identifier_uri` is needed for pairwise subjects, unless all \
                         redirect URIs have one host";
        assert_eq!(complaints(&members), [complaint]);
        let public = json!({ "redirect_uris": redirects });
        assert!(complaints(&public).is_empty());
    }
}

#[test]
fn pairwise_subjects_of_ciba_need_keys_at_a_host() {
    let mut members = json!({ "grant_types": ["urn:openid:params:grant-type:ciba"],
        "subject_type": "pairwise", "sector_identifier_uri": "https://a.example/uris.json" });
    let complaint = "`jwks_uri` is needed for pairwise subjects with CIBA";
    assert_eq!(complaints(&members), [complaint]);
    members["jwks_uri"] = json!("https://a.example/jwks");
    assert!(complaints(&members).is_empty());
}
