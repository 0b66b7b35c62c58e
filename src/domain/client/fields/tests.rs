use super::*;
use crate::domain::client::read::{MOST_CHARACTERS, MOST_ENTRIES};
use serde_json::json;

/// Patches one member into empty metadata and returns what it became, or the complaints.
fn take(name: &str, value: &Value) -> Result<Value, String> {
    let members = [(name.to_owned(), value.clone())].into_iter().collect();
    match ClientMetadata::default().patch(&members) {
        Ok(metadata) => Ok(metadata.members().remove(name).unwrap_or_default()),
        Err(faults) => Err(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

fn refusal(name: &str, value: &Value) -> String {
    take(name, value).expect_err(name)
}

#[test]
fn what_is_offered_is_taken_as_it_is_written() {
    for (name, value) in [
        ("redirect_uris", json!(["https://rp.example/cb", "com.example.app:/cb"])),
        ("token_endpoint_auth_method", json!("none")),
        ("token_endpoint_auth_method", json!("client_secret_basic")),
        ("token_endpoint_auth_method", json!("client_secret_post")),
        ("token_endpoint_auth_method", json!("private_key_jwt")),
        ("token_endpoint_auth_method", json!("tls_client_auth")),
        ("token_endpoint_auth_method", json!("self_signed_tls_client_auth")),
        ("grant_types", json!([])),
        ("grant_types", json!(["authorization_code", "refresh_token", "client_credentials"])),
        ("grant_types", json!(["urn:ietf:params:oauth:grant-type:device_code"])),
        ("grant_types", json!(["urn:openid:params:grant-type:ciba"])),
        ("grant_types", json!(["urn:ietf:params:oauth:grant-type:token-exchange"])),
        ("response_types", json!([])),
        ("response_types", json!(["code"])),
        ("client_name", json!("Faturação & Cª")),
        ("client_uri", json!("https://rp.example/about#us")),
        ("logo_uri", json!("https://rp.example/logo.png")),
        ("scope", json!("openid invoices:read")),
        ("contacts", json!(["ana@rp.example", "call us"])),
        ("jwks_uri", json!("https://rp.example/jwks")),
        ("jwks", json!({ "keys": [] })),
        ("application_type", json!("native")),
        ("subject_type", json!("pairwise")),
        ("id_token_signed_response_alg", json!("EdDSA")),
        ("userinfo_signed_response_alg", json!("RS256")),
        ("introspection_signed_response_alg", json!("ES256")),
        ("request_object_signing_alg", json!("PS256")),
        ("token_endpoint_auth_signing_alg", json!("ES256")),
        ("default_max_age", json!(0)),
        ("default_max_age", json!(u32::MAX)),
        ("require_auth_time", json!(true)),
        ("initiate_login_uri", json!("https://rp.example/begin")),
        ("request_uris", json!(["https://rp.example/request#GkurKxf5T0Y"])),
        ("post_logout_redirect_uris", json!(["http://localhost/bye"])),
        ("backchannel_logout_uri", json!("http://127.0.0.1:8080/logout")),
        ("tls_client_auth_subject_dn", json!("CN=rp,O=Example,C=PT")),
        ("tls_client_auth_san_dns", json!("rp.example")),
        ("tls_client_auth_san_uri", json!("spiffe://rp.example/x")),
        ("tls_client_auth_san_ip", json!("2001:db8::1")),
        ("tls_client_auth_san_email", json!("ana@rp.example")),
        ("backchannel_token_delivery_mode", json!("ping")),
        ("backchannel_client_notification_endpoint", json!("https://rp.example/ping")),
        ("authorization_details_types", json!(["payment_initiation"])),
        ("client_name#pt", json!("Faturas")),
        ("tos_uri#pt-PT", json!("https://rp.example/pt/termos")),
    ] {
        assert_eq!(take(name, &value), Ok(value), "{name}");
    }
}

#[test]
fn what_is_not_offered_is_refused_by_name() {
    for (name, value, complaint) in [
        ("grant_types", json!(["password"]), "contains `password`, which is never offered"),
        ("grant_types", json!(["implicit"]), "contains `implicit`, which is never offered"),
        (
            "token_endpoint_auth_method",
            json!("client_secret_jwt"),
            "is `client_secret_jwt`, which is not offered: client secrets are stored hashed",
        ),
        ("id_token_signed_response_alg", json!("none"), "is `none`, which is never offered"),
        ("request_object_signing_alg", json!("none"), "is `none`, which is never offered"),
        (
            "id_token_signed_response_alg",
            json!("HS256"),
            "is `HS256`, which is not offered: client secrets are stored hashed",
        ),
        (
            "userinfo_signed_response_alg",
            json!("rs256"),
            "is `rs256`, which is not one of RS256, PS256, ES256, EdDSA",
        ),
        (
            "response_types",
            json!(["code", "code id_token"]),
            "contains `code id_token`, which is not one of code",
        ),
        ("subject_type", json!("Public"), "is `Public`, which is not one of public, pairwise"),
        ("application_type", json!("browser"), "is `browser`, which is not one of web, native"),
        ("backchannel_token_delivery_mode", json!("push"), "is `push`, which is never offered"),
        (
            "backchannel_user_code_parameter",
            json!(true),
            "cannot be honoured: a user code is not offered",
        ),
        (
            "frontchannel_logout_uri",
            json!("https://rp.example/"),
            "cannot be honoured: front-channel logout is not offered",
        ),
        (
            "id_token_encrypted_response_alg",
            json!("RSA-OAEP"),
            "cannot be honoured: encryption is not offered",
        ),
    ] {
        assert_eq!(refusal(name, &value), format!("`{name}` {complaint}"));
    }
    for (name, _) in FIELDS.iter().filter(|(name, _)| name.contains("_encrypt")) {
        assert!(refusal(name, &json!("A128GCM")).ends_with("encryption is not offered"), "{name}");
    }
}

#[test]
fn a_switch_for_what_is_not_offered_may_be_off() {
    for name in ["backchannel_user_code_parameter", "frontchannel_logout_session_required"] {
        assert_eq!(take(name, &json!(false)), Ok(Value::Null));
        assert!(take(name, &json!(true)).is_err());
        assert_eq!(refusal(name, &json!("false")), format!("`{name}` must be true or false"));
    }
}

#[test]
fn the_short_name_of_exchange_is_stored_in_full() {
    let full = "urn:ietf:params:oauth:grant-type:token-exchange";
    assert_eq!(take("grant_types", &json!(["token-exchange", full])), Ok(json!([full])));
}

#[test]
fn a_scope_is_stored_as_tokens_said_once() {
    assert_eq!(take("scope", &json!("  b a  b c:* ")), Ok(json!("b a c:*")));
    for scope in ["a\"b", "a\\b", "é", "a\u{a0}b"] {
        assert!(refusal("scope", &json!(scope)).ends_with("which is not a scope"), "{scope}");
    }
    // Nothing is not everything: an empty ceiling is refused rather than lifted.
    for scope in ["", "  "] {
        assert_eq!(refusal("scope", &json!(scope)), "`scope` must not be empty");
    }
}

#[test]
fn what_others_fetch_or_are_shown_is_https() {
    for name in [
        "client_uri",
        "logo_uri",
        "tos_uri",
        "policy_uri",
        "jwks_uri",
        "sector_identifier_uri",
        "initiate_login_uri",
        "logo_uri#pt",
    ] {
        for uri in ["http://rp.example/", "http://localhost/", "com.example:/", "javascript:x"] {
            let complaint = format!("`{name}` is `{uri}`, which must be https");
            assert_eq!(refusal(name, &json!(uri)), complaint);
        }
        assert!(take(name, &json!("https://ana@rp.example/")).is_err(), "{name}");
    }
    assert!(take("request_uris", &json!(["http://rp.example/"])).is_err());
    for name in ["jwks_uri", "sector_identifier_uri", "backchannel_logout_uri"] {
        assert!(refusal(name, &json!("https://rp.example/#a")).ends_with("has a fragment"));
    }
    // What we call ourselves may be plain on the same machine.
    for name in ["backchannel_logout_uri", "backchannel_client_notification_endpoint"] {
        let plain = refusal(name, &json!("http://rp.example/"));
        assert!(plain.ends_with("is plain http and not on loopback"), "{plain}");
        assert!(take(name, &json!("com.example.app:/bye")).is_err(), "{name}");
    }
}

#[test]
fn names_in_certificates_have_their_form() {
    for (name, value) in [
        ("tls_client_auth_san_dns", "*.rp.example"),
        ("tls_client_auth_san_dns", "rp.example/x"),
        ("tls_client_auth_san_ip", "rp.example"),
        ("tls_client_auth_san_ip", "127.1"),
        ("tls_client_auth_san_email", "ana"),
        ("tls_client_auth_san_email", "@rp.example"),
        ("tls_client_auth_san_email", "a na@rp.example"),
        ("tls_client_auth_san_email", "ana@rp@example"),
    ] {
        assert!(take(name, &json!(value)).is_err(), "{value}");
    }
}

#[test]
fn every_member_refuses_what_has_another_type() {
    let values = [json!(1.5), json!(-1), json!("x"), json!(true), json!([1]), json!({ "a": 1 })];
    for (name, _) in FIELDS {
        let refused = values.iter().filter(|value| take(name, value).is_err()).count();
        // At most one of these has the right type.
        assert!(refused >= values.len() - 1, "{name}");
    }
    assert_eq!(
        refusal("redirect_uris", &json!("https://rp.example")),
        "`redirect_uris` must be a list of strings"
    );
    assert_eq!(refusal("client_name", &json!(["x"])), "`client_name` must be a string");
    assert_eq!(refusal("contacts", &json!(["x", 1])), "`contacts` must be a list of strings");
    let seconds = "`default_max_age` must be a whole number of seconds";
    assert_eq!(refusal("default_max_age", &json!(4_294_967_296_u64)), seconds);
    let keys = "`jwks` must be a key set, {\"keys\": [...]}";
    assert_eq!(refusal("jwks", &json!("{}")), keys);
}

#[test]
fn strings_and_lists_are_bounded() {
    let longest = "é".repeat(MOST_CHARACTERS);
    assert!(take("client_name", &json!(longest)).is_ok());
    let longer = refusal("client_name", &json!(format!("{longest}a")));
    assert_eq!(longer, "`client_name` holds more than 2000 characters in one string");
    let most: Vec<String> = (0..MOST_ENTRIES).map(|n| n.to_string()).collect();
    assert!(take("contacts", &json!(most)).is_ok());
    let more = vec!["a"; MOST_ENTRIES + 1];
    assert_eq!(refusal("contacts", &json!(more)), "`contacts` holds more than 100 entries");
}

#[test]
fn no_string_holds_a_character_that_cannot_be_seen_or_changes_the_order_of_others() {
    for text in [
        "a\u{0}",
        "a\nb",
        "\u{1b}[2J",
        "a\u{7f}",
        "a\u{85}b",
        "Bank\u{202e}moc.live",
        "\u{2066}a\u{2069}",
        "Ac\u{200b}me",
        "Ac\u{ad}me",
        "\u{3164}",
        "\u{feff}Acme",
        "Acme\u{e0041}",
    ] {
        for name in ["client_name", "client_name#pt", "software_id", "scope", "jwks_uri"] {
            let complaint = format!(
                "`{name}` contains a character that cannot be seen, or that changes the order of \
                 others"
            );
            assert_eq!(refusal(name, &json!(text)), complaint);
        }
        assert!(take("contacts", &json!([text])).is_err());
        assert!(take("redirect_uris", &json!([format!("https://rp.example/{text}")])).is_err());
    }
    assert_eq!(refusal("client_name", &json!(" \u{3000}")), "`client_name` must not be empty");
}

#[test]
fn every_member_has_one_name() {
    for (at, (name, _)) in FIELDS.iter().enumerate() {
        assert!(FIELDS[at + 1..].iter().all(|(other, _)| other != name), "{name}");
    }
}
