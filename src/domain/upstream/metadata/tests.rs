//! Metadata as providers write it, and as others would.

use super::*;
use proptest::prelude::*;
use serde_json::json;

const ISSUER: &str = "https://login.acme.test";

fn issuer() -> Issuer {
    Issuer::parse(ISSUER).unwrap()
}

fn document() -> Value {
    json!({
        "issuer": ISSUER,
        "authorization_endpoint": "https://login.acme.test/authorize",
        "token_endpoint": "https://login.acme.test/token",
        "jwks_uri": "https://keys.acme.test/set",
        "id_token_signing_alg_values_supported": ["none", "HS256", "ES512", "PS256", "RS256"],
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut document = document();
    document[name] = value;
    document
}

fn read(document: &Value) -> Result<Metadata, MetadataFault> {
    Metadata::read(&issuer(), document.to_string().as_bytes())
}

#[test]
fn a_short_document_is_read_with_the_defaults_of_the_standard() {
    let metadata = read(&document()).unwrap();
    assert_eq!(metadata.issuer.as_str(), ISSUER);
    assert_eq!(metadata.token_endpoint.as_str(), "https://login.acme.test/token");
    assert_eq!(metadata.jwks_uri.as_str(), "https://keys.acme.test/set");
    let algorithms = [SigningAlgorithm::Ps256, SigningAlgorithm::Rs256];
    assert_eq!(metadata.id_token_algorithms, algorithms);
    assert_eq!(metadata.authentication_methods, [AuthenticationMethod::Basic]);
    assert!(!metadata.promises_iss);
    assert_eq!((metadata.knows_s256, metadata.assertion_algorithms), (None, None));
    assert_eq!((metadata.userinfo_endpoint, metadata.end_session_endpoint), (None, None));
    let mut silent = document();
    silent.as_object_mut().unwrap().remove("id_token_signing_alg_values_supported");
    assert_eq!(read(&silent).unwrap().id_token_algorithms, [SigningAlgorithm::Rs256]);
}

#[test]
fn a_long_document_is_read_as_far_as_it_is_of_use() {
    let mut long = document();
    for (name, value) in [
        ("authorization_response_iss_parameter_supported", json!(true)),
        ("userinfo_endpoint", json!("https://graph.acme.test/me")),
        ("end_session_endpoint", json!("https://login.acme.test/logout")),
        (
            "token_endpoint_auth_methods_supported",
            json!(["tls_client_auth", "client_secret_post", "private_key_jwt"]),
        ),
        ("token_endpoint_auth_signing_alg_values_supported", json!(["ES384", "ES256"])),
        ("code_challenge_methods_supported", json!(["plain", "S256"])),
        ("claims_supported", json!(["sub"])),
    ] {
        long[name] = value;
    }
    let metadata = read(&long).unwrap();
    assert!(metadata.promises_iss);
    let methods = [AuthenticationMethod::Post, AuthenticationMethod::PrivateKeyJwt];
    assert_eq!(metadata.authentication_methods, methods);
    assert_eq!(metadata.assertion_algorithms, Some(vec![SigningAlgorithm::Es256]));
    assert_eq!(metadata.knows_s256, Some(true));
    assert!(metadata.userinfo_endpoint.is_some() && metadata.end_session_endpoint.is_some());
}

#[test]
fn the_document_of_another_issuer_is_refused_by_the_last_byte() {
    for other in [
        json!("https://login.acme.test/"),
        json!("https://LOGIN.acme.test"),
        json!("https://evil.test"),
        json!("https://login.microsoftonline.com/{tenantid}/v2.0"),
        json!(""),
    ] {
        assert_eq!(read(&with("issuer", other)), Err(MetadataFault::OtherIssuer));
    }
    let mut none = document();
    none.as_object_mut().unwrap().remove("issuer");
    assert_eq!(read(&none), Err(MetadataFault::OtherIssuer));
    assert_eq!(read(&with("issuer", json!([ISSUER]))), Err(MetadataFault::Malformed("issuer")));
}

#[test]
fn endpoints_are_there_and_https() {
    for name in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
        let mut without = document();
        without.as_object_mut().unwrap().remove(name);
        assert_eq!(read(&without), Err(MetadataFault::Missing(name)));
    }
    for name in [
        "authorization_endpoint",
        "token_endpoint",
        "jwks_uri",
        "userinfo_endpoint",
        "end_session_endpoint",
    ] {
        for bad in ["http://login.acme.test/a", "http://127.0.0.1/a", "/a", "", "data:,x"] {
            assert_eq!(read(&with(name, json!(bad))), Err(MetadataFault::Endpoint(name)), "{bad}");
        }
        assert_eq!(read(&with(name, json!(1))), Err(MetadataFault::Malformed(name)));
    }
}

#[test]
fn members_of_the_wrong_type_and_long_lists_are_refused_by_name() {
    let iss = "authorization_response_iss_parameter_supported";
    for bad in [json!("true"), json!(1), json!(null)] {
        assert_eq!(read(&with(iss, bad)), Err(MetadataFault::Malformed(iss)));
    }
    for name in [
        "id_token_signing_alg_values_supported",
        "token_endpoint_auth_methods_supported",
        "token_endpoint_auth_signing_alg_values_supported",
        "code_challenge_methods_supported",
    ] {
        let long = json!(vec!["RS256"; MOST_ENTRIES + 1]);
        for bad in [json!("RS256"), json!([1]), json!(null), json!({}), long] {
            assert_eq!(read(&with(name, bad)), Err(MetadataFault::Malformed(name)));
        }
    }
    let hmac = with("id_token_signing_alg_values_supported", json!(["HS256", "none"]));
    assert_eq!(read(&hmac), Err(MetadataFault::NoAlgorithm));
}

#[test]
fn a_member_that_is_there_twice_is_refused() {
    let text = document().to_string().replacen('{', "{\"issuer\":\"https://login.acme.test\",", 1);
    let read = Metadata::read(&issuer(), text.as_bytes());
    assert_eq!(read, Err(MetadataFault::Json(Flaw::Repeated)));
    for (bad, flaw) in [("<html>", Flaw::NotJson), ("[]", Flaw::NotAnObject), ("", Flaw::NotJson)] {
        assert_eq!(Metadata::read(&issuer(), bad.as_bytes()), Err(MetadataFault::Json(flaw)));
    }
}

proptest! {
    #[test]
    fn no_document_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), text in ".{0,40}") {
        let _ = Metadata::read(&issuer(), &bytes);
        for name in ["issuer", "token_endpoint", "jwks_uri", "end_session_endpoint"] {
            let _ = read(&with(name, json!(text)));
        }
    }
}
