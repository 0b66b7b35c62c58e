use super::*;
use serde_json::json;

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn of(members: &Value) -> ClientMetadata {
    ClientMetadata::default().patch(&map(members)).unwrap()
}

fn complaints(held: &ClientMetadata, members: &Value) -> Vec<String> {
    held.patch(&map(members)).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_given_replaces_what_is_held_and_the_rest_stays() {
    let held = of(&json!({
        "client_name": "Billing", "redirect_uris": ["https://a.example/", "https://b.example/"],
        "require_auth_time": true, "default_max_age": 60, "grant_types": ["authorization_code"],
    }));
    let patch = json!({ "redirect_uris": ["https://c.example/"], "default_max_age": null,
        "grant_types": null, "require_auth_time": false });
    let patched = held.patch(&map(&patch)).unwrap();
    assert_eq!(patched.redirect_uris, ["https://c.example/"]);
    assert_eq!(patched.client_name.as_deref(), Some("Billing"));
    assert_eq!((patched.default_max_age, patched.grant_types), (None, None));
    assert!(!patched.require_auth_time);
}

#[test]
fn null_removes_every_member() {
    let full = of(&json!({ "client_name": "a", "client_name#pt": "b", "jwks": { "keys": [] },
        "redirect_uris": ["https://a.example/"], "require_auth_time": true, "scope": "openid" }));
    let names = full.members();
    let nulls = names.keys().map(|name| (name.clone(), Value::Null)).collect();
    assert_eq!(full.patch(&nulls), Ok(ClientMetadata::default()));
    let all = ClientMetadata::known_fields().map(|name| (name.to_owned(), Value::Null)).collect();
    assert_eq!(ClientMetadata::default().patch(&all), Ok(ClientMetadata::default()));
}

#[test]
fn every_fault_is_said_at_once() {
    let members = json!({
        "redirect_uris": ["https://ok.example/", "http://a.example/", "https://b.example/#x"],
        "grant_types": "authorization_code",
        "colour": "red",
    });
    let mut found = complaints(&ClientMetadata::default(), &members);
    found.sort();
    assert_eq!(
        found,
        [
            "`colour` is not a field of client metadata",
            "`grant_types` must be a list of strings",
            "`redirect_uris` contains `http://a.example/`, which is plain http and not on loopback",
            "`redirect_uris` contains `https://b.example/#x`, which has a fragment",
        ]
    );
}

#[test]
fn unknown_members_are_faults_that_registration_may_ignore() {
    for name in [
        "colour",
        "",
        "client_id",
        "client_secret",
        "redirect_uri",
        "Client_name",
        "localized",
        "redirect_uris#pt",
        "client_name#",
        "software_statement",
    ] {
        assert!(!ClientMetadata::is_known(name), "{name}");
        let members = [(name.to_owned(), Value::Null)].into_iter().collect();
        let faults = ClientMetadata::default().patch(&members).unwrap_err();
        assert_eq!(faults, [FieldFault::new(name, FieldProblem::Unknown)]);
    }
    assert!(ClientMetadata::known_fields().all(ClientMetadata::is_known));
    assert!(ClientMetadata::is_known("client_name#pt"));
    let members = json!({ "colour": "red", "scope": "", "client_uri": null, "client_name": "x",
        "logo_uri#pt": "https://a.example/", "grant_types": [] });
    let heeded =
        json!({ "client_name": "x", "logo_uri#pt": "https://a.example/", "grant_types": [] });
    assert_eq!(ClientMetadata::heeded(&map(&members)), map(&heeded));
}

#[test]
fn of_alternatives_the_one_given_replaces_the_one_held() {
    let held = of(&json!({ "jwks": { "keys": [] }, "tls_client_auth_subject_dn": "CN=a" }));
    let patch =
        json!({ "jwks_uri": "https://a.example/jwks", "tls_client_auth_san_dns": "a.example" });
    assert_eq!(held.patch(&map(&patch)).unwrap().members(), map(&patch));
    let patch = json!({ "jwks_uri": null, "tls_client_auth_san_dns": null });
    assert_eq!(held.patch(&map(&patch)), Ok(held));
}

#[test]
fn two_alternatives_are_never_given_at_once() {
    let members = json!({ "jwks": { "keys": [] }, "jwks_uri": "https://a.example/jwks",
        "tls_client_auth_subject_dn": "CN=a", "tls_client_auth_san_ip": "192.0.2.1" });
    let found = complaints(&ClientMetadata::default(), &members);
    assert_eq!(
        found,
        [
            "`jwks` must not be given beside `jwks_uri`",
            "`tls_client_auth_san_ip` must not be given beside `tls_client_auth_subject_dn`",
        ]
    );
}

#[test]
fn private_use_schemes_are_not_for_web_applications() {
    let redirects = json!({ "redirect_uris": ["https://a.example/", "com.example.app:/cb"],
        "post_logout_redirect_uris": ["com.example.app:/bye"] });
    let held = of(&redirects);
    let found = complaints(&held, &json!({ "application_type": "web" }));
    assert_eq!(
        found,
        [
            "`redirect_uris` contains `com.example.app:/cb`, which only an application of type \
             `native` may use",
            "`post_logout_redirect_uris` contains `com.example.app:/bye`, which only an \
             application of type `native` may use",
        ]
    );
    assert!(held.patch(&map(&json!({ "application_type": "native" }))).is_ok());
    let web = of(&json!({ "application_type": "web" }));
    assert_eq!(complaints(&web, &redirects).len(), 2);
    // What was refused is not complained about a second time for what it was before.
    let found = complaints(
        &held,
        &json!({ "application_type": "web", "redirect_uris": ["x"],
        "post_logout_redirect_uris": null }),
    );
    assert_eq!(found, ["`redirect_uris` contains `x`, which is not an absolute URI"]);
}

#[test]
fn a_name_in_a_language_is_kept_and_replaced_whatever_its_case() {
    let held = of(&json!({ "client_name": "Invoices", "client_name#pt-PT": "Faturas" }));
    let patched = held.patch(&map(&json!({ "client_name#PT-pt": "Contas" }))).unwrap();
    let shown = json!({ "client_name": "Invoices", "client_name#PT-pt": "Contas" });
    assert_eq!(patched.members(), map(&shown));
    let patched = patched.patch(&map(&json!({ "client_name#pt-pt": null }))).unwrap();
    assert_eq!(patched.members(), map(&json!({ "client_name": "Invoices" })));
}

#[test]
fn languages_are_bounded() {
    let names = |count: usize| -> Map<String, Value> {
        (0..count).map(|n| (format!("client_name#x-{n}"), json!("a"))).collect()
    };
    assert!(ClientMetadata::default().patch(&names(100)).is_ok());
    let faults = ClientMetadata::default().patch(&names(101)).unwrap_err();
    assert_eq!(faults[0].problem, FieldProblem::TooMany { most: 100 });
}

#[test]
fn said_nothing_a_client_may_spend_a_code_and_refresh() {
    use GrantType::{AuthorizationCode, ClientCredentials, RefreshToken};
    let silent = ClientMetadata::default();
    assert_eq!(silent.grant_types(false), [], "no browser could be sent back to it");
    assert_eq!(silent.grant_types(true), [ClientCredentials]);
    assert_eq!((silent.response_types(false), silent.response_types(true)), (vec![], vec![]));
    let redirecting = of(&json!({ "redirect_uris": ["https://a.example/"] }));
    assert_eq!(redirecting.grant_types(false), [AuthorizationCode, RefreshToken]);
    assert_eq!(redirecting.response_types(false), [ResponseType::Code]);
    let all = [AuthorizationCode, RefreshToken, ClientCredentials];
    assert_eq!(redirecting.grant_types(true), all);
    let public =
        json!({ "redirect_uris": ["https://a.example/"], "token_endpoint_auth_method": "none" });
    let public = of(&public);
    assert_eq!(public.grant_types(true), [AuthorizationCode, RefreshToken]);
    let explicit = of(&json!({ "grant_types": [], "response_types": [] }));
    assert_eq!((explicit.grant_types(true), explicit.response_types(false)), (vec![], vec![]));
}

#[test]
fn said_nothing_a_client_is_a_web_application() {
    assert_eq!(ClientMetadata::default().application_type(), ApplicationType::Web);
    let native = of(&json!({ "application_type": "native" }));
    assert_eq!(native.application_type(), ApplicationType::Native);
}

#[test]
fn what_a_newer_binary_stored_is_read_without_what_is_unknown() {
    assert_eq!(serde_json::to_value(ClientMetadata::default()).unwrap(), json!({}));
    let stored =
        json!({ "client_name": "a", "colours": ["red"], "localized": { "client_name#pt": "b" } });
    let read: ClientMetadata = serde_json::from_value(stored).unwrap();
    assert_eq!(read, of(&json!({ "client_name": "a", "client_name#pt": "b" })));
}
