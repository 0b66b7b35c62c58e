//! Discovery tells the truth.

use crate::{
    http::send,
    support::{TestServer, form},
};
use hyper::Method;

#[tokio::test]
async fn what_is_listed_is_served_and_nothing_is_listed_that_is_not() {
    let server = TestServer::open().await;
    let oidc = server.get("/.well-known/openid-configuration").await;
    let oauth = server.get("/.well-known/oauth-authorization-server").await;
    assert_eq!((oidc.status.as_u16(), oauth.status.as_u16()), (200, 200));
    assert_eq!(oidc.json(), oauth.json());
    assert_eq!(oidc.header("content-type"), Some("application/json"));
    assert_eq!(oidc.header("access-control-allow-origin"), Some("*"));
    let document = oidc.json();
    assert_eq!(document["issuer"], server.issuer());
    let mut endpoints = 0;
    for (name, value) in document.as_object().unwrap() {
        if let Some(list) = value.as_array() {
            assert!(!list.is_empty(), "{name}: RFC 8414 §3.2");
        }
        if !name.ends_with("_endpoint") && name != "jwks_uri" {
            continue;
        }
        endpoints += 1;
        let path = value.as_str().unwrap().strip_prefix(server.issuer()).unwrap();
        let (method, body) = match name.as_str() {
            "jwks_uri" => (Method::GET, form(&[])),
            _ => (Method::POST, form(&[("x", "1")])),
        };
        let answer = send(server.address, server.request(method, path).body(body).unwrap()).await;
        assert!(![404, 405].contains(&answer.status.as_u16()), "{name}: {answer:?}");
    }
    assert_eq!(endpoints, 11);
    let device = "urn:ietf:params:oauth:grant-type:device_code";
    let exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
    let ciba = "urn:openid:params:grant-type:ciba";
    let grants =
        ["authorization_code", "refresh_token", "client_credentials", device, ciba, exchange];
    assert_eq!(document["grant_types_supported"], serde_json::json!(grants));
    assert_eq!(document["response_types_supported"], serde_json::json!(["code"]));
    assert_eq!(document["code_challenge_methods_supported"], serde_json::json!(["S256"]));
    assert_eq!(document["subject_types_supported"], serde_json::json!(["public", "pairwise"]));
    let algorithms = &document["id_token_signing_alg_values_supported"];
    assert_eq!(algorithms, &serde_json::json!(["RS256", "PS256", "ES256", "EdDSA"]));
    for list in ["userinfo", "introspection", "authorization"] {
        assert_eq!(&document[format!("{list}_signing_alg_values_supported")], algorithms, "{list}");
    }
    let modes = serde_json::json!(["query", "form_post", "jwt", "query.jwt", "form_post.jwt"]);
    assert_eq!(document["response_modes_supported"], modes);
    assert_eq!(document["authorization_response_iss_parameter_supported"], true);
    for supported in ["request_parameter", "request_uri_parameter"] {
        assert_eq!(document[format!("{supported}_supported")], true);
    }
    assert_eq!(document["require_request_uri_registration"], true);
    let theirs = serde_json::json!(["RS256", "PS256", "ES256", "EdDSA"]);
    assert_eq!(document["request_object_signing_alg_values_supported"], theirs);
    let ciba = "backchannel_authentication_request_signing_alg_values_supported";
    assert_eq!(document[ciba], theirs);
    for never in ["implicit", "password", "client_secret_jwt"] {
        let listed = document["token_endpoint_auth_methods_supported"].to_string();
        assert!(
            !listed.contains(never)
                && !document["grant_types_supported"].to_string().contains(never)
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn the_key_set_is_public_cachable_and_holds_nothing_private() {
    let server = TestServer::open().await;
    let answer = server.get("/connect/jwks").await;
    assert_eq!(answer.header("content-type"), Some("application/jwk-set+json"));
    assert_eq!(answer.header("cache-control"), Some("public, max-age=600"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let set = answer.json();
    assert_eq!(set["keys"].as_array().unwrap().len(), 3);
    for key in set["keys"].as_array().unwrap() {
        for private in ["d", "p", "q", "dp", "dq", "qi", "k"] {
            assert!(key.get(private).is_none());
        }
        assert_eq!(key["use"], "sig");
        // An RSA key signs with two algorithms, and its `alg` would forbid one of them.
        let alg = match key["kty"].as_str() {
            Some("RSA") => None,
            Some("EC") => Some("ES256"),
            _ => Some("EdDSA"),
        };
        assert_eq!(key.get("alg").and_then(|alg| alg.as_str()), alg);
    }
    server.stop().await;
}
