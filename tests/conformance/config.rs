//! Config OP: `oidcc-config-certification-test-plan`.

use super::suite::Suite;
use serde_json::Value;

fn list<'a>(document: &'a Value, name: &str) -> Vec<&'a str> {
    let list = document[name].as_array().unwrap_or_else(|| panic!("{name}: {document}"));
    list.iter().map(|value| value.as_str().unwrap()).collect()
}

/// Checks what both the Config and the Dynamic plan demand of the document.
pub async fn check(suite: &Suite) -> Value {
    let answer = suite.server.get("/.well-known/openid-configuration").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let document = answer.json();
    assert_eq!(document["issuer"], suite.server.issuer());
    assert!(list(&document, "response_types_supported").contains(&"code"));
    assert!(list(&document, "subject_types_supported").contains(&"public"));
    assert!(list(&document, "id_token_signing_alg_values_supported").contains(&"RS256"));
    assert!(list(&document, "scopes_supported").contains(&"openid"));
    assert!(!list(&document, "claims_supported").is_empty());
    assert!(!list(&document, "grant_types_supported").is_empty());
    assert_eq!(list(&document, "code_challenge_methods_supported"), ["S256"]);
    if document["request_object_signing_alg_values_supported"].is_array() {
        let algorithms = list(&document, "request_object_signing_alg_values_supported");
        assert!(algorithms.contains(&"RS256") && !algorithms.contains(&"none"));
    }
    for (name, value) in document.as_object().unwrap() {
        // On loopback the issuer itself is not https; every endpoint is below the issuer.
        if name.ends_with("_endpoint") || name == "jwks_uri" {
            assert!(value.as_str().unwrap().starts_with(suite.server.issuer()), "{name}: {value}");
        }
        if name.ends_with("_alg_values_supported") {
            assert!(!list(&document, name).contains(&"none"), "{name}");
        }
    }
    let keys = suite.server.get("/connect/jwks").await.json();
    let keys = keys["keys"].as_array().unwrap();
    let mut kids: Vec<&str> = keys.iter().map(|key| key["kid"].as_str().unwrap()).collect();
    kids.sort_unstable();
    let all = kids.len();
    kids.dedup();
    assert_eq!(kids.len(), all);
    for key in keys {
        for private in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
            assert!(key.get(private).is_none(), "{private}");
        }
    }
    document
}

#[tokio::test]
async fn oidcc_discovery_endpoint_verification() {
    let suite = Suite::open().await;
    check(&suite).await;
    suite.server.stop().await;
}
