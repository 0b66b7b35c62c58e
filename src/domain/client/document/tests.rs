use super::*;
use crate::domain::{Machine as _, client::Command};
use serde_json::json;
use std::time::Duration;

const ID: &str = "https://app.example.com/oauth/client.json";
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn read(document: &Value) -> Result<KnownClient, DocumentFault> {
    KnownClient::from_document(ID, document, Fingerprint::of(b"drawn"), NOW)
}

fn document() -> Value {
    json!({ "client_id": ID, "client_name": "App", "redirect_uris": ["https://app.example.com/cb"] })
}

#[test]
fn only_an_https_address_with_a_path_as_it_is_written_names_a_document() {
    for good in [ID, "https://a.example/x", "https://a.example:8443/x/y", "https://a.example/x/"] {
        assert!(is_document_address(good), "{good}");
    }
    for bad in [
        "http://a.example/x",
        "https://a.example",
        "https://a.example/",
        "https://A.example/x",
        "https://a.example:443/x",
        "https://a.example/x/../y",
        "https://a.example/./x",
        "https://a.example/%2e%2e/x",
        "https://u@a.example/x",
        "https://u:p@a.example/x",
        "https://a.example/x?y",
        "https://a.example/x#y",
        "https:///x",
        "app",
        "",
    ] {
        assert!(!is_document_address(bad), "{bad}");
    }
    assert!(!is_document_address(&format!("https://a.example/{}", "x".repeat(300))));
}

#[test]
fn a_document_makes_a_public_client_that_registered_itself() {
    let client = read(&document()).unwrap();
    assert!(client.is_self_registered() && client.is_unused() && !client.trusted);
    assert!(client.authenticates_by(AuthMethod::None) && client.secret.is_none());
    assert_eq!(client.redirects_epoch, 0);
}

#[test]
fn a_document_that_lies_or_holds_a_secret_makes_none() {
    let with = |name: &str, value: Value| {
        let mut document = document();
        document[name] = value;
        read(&document)
    };
    assert_eq!(read(&json!([])), Err(DocumentFault::NoObject));
    assert_eq!(
        with("client_id", json!("https://other.example/x")),
        Err(DocumentFault::OtherClient)
    );
    assert_eq!(with("client_secret", json!("x")), Err(DocumentFault::Secret));
    for method in ["client_secret_basic", "client_secret_post", "client_secret_jwt"] {
        let read = with("token_endpoint_auth_method", json!(method));
        assert_eq!(read, Err(DocumentFault::Secret), "{method}");
    }
    assert!(with("redirect_uris", json!([])).is_err());
    assert!(with("redirect_uris", json!(["http://app.example.com/cb"])).is_err());
    let keys = with("token_endpoint_auth_method", json!("private_key_jwt"));
    assert!(matches!(keys, Err(DocumentFault::Metadata(_))), "without keys: {keys:?}");
}

#[test]
fn each_change_of_the_redirect_uris_is_counted() {
    let mut client = Client::default();
    let keep = |client: &mut Client, document: &Value, now| {
        let seen = KnownClient::from_document(ID, document, Fingerprint::of(b"d"), now).unwrap();
        let decision = client.decide(&Command::Keep(Box::new(seen)), now);
        decision.events.iter().for_each(|event| client.apply(event));
        decision.outcome.unwrap()
    };
    assert_eq!(keep(&mut client, &document(), NOW), Provisioned::Created);
    let later = NOW + Duration::from_hours(1);
    assert_eq!(keep(&mut client, &document(), later), Provisioned::Unchanged);
    let mut renamed = document();
    renamed["client_name"] = json!("Another");
    keep(&mut client, &renamed, later);
    assert_eq!(client.known().unwrap().redirects_epoch, 0, "only its name is another");
    let mut moved = document();
    moved["redirect_uris"] = json!(["https://elsewhere.example.com/cb"]);
    keep(&mut client, &moved, later);
    assert_eq!(client.known().unwrap().redirects_epoch, 1);
}
