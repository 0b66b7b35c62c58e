//! Who guards an API: RFC 9728, for our own and for registered ones.

use crate::support::{INVOICES, TestServer, form};
use hyper::Method;
use serde_json::{Value, json};

const AT: &str = "/.well-known/oauth-protected-resource";

async fn document(server: &TestServer, path: &str) -> Option<Value> {
    let request = server.request(Method::GET, &format!("{AT}{path}"));
    let answer = server.send(request.body(form(&[])).unwrap()).await;
    (answer.status == 200).then(|| answer.json())
}

#[tokio::test]
async fn the_issuer_our_api_and_registered_resources_say_who_guards_them() {
    let server = TestServer::open().await;
    let issuer = server.issuer().to_owned();
    for (path, resource) in [
        ("", issuer.clone()),
        ("/api", format!("{issuer}/api")),
        ("/scim/v2/acme", format!("{issuer}/scim/v2/acme")),
        // The same for an organization that does not exist.
        ("/scim/v2/nowhere", format!("{issuer}/scim/v2/nowhere")),
        ("/resources/api.example.com/invoices", INVOICES.to_owned()),
    ] {
        let document = document(&server, path).await.unwrap();
        assert_eq!(document["resource"], json!(resource));
        assert_eq!(document["authorization_servers"], json!([issuer]));
        assert_eq!(document["bearer_methods_supported"], json!(["header"]));
    }
    let scim = document(&server, "/scim/v2/acme").await.unwrap();
    assert_eq!(scim["scopes_supported"], json!(["scim:provision"]));
    let api = document(&server, "/api").await.unwrap()["scopes_supported"].to_string();
    assert!(api.contains("scim:read") && !api.contains("scim:provision"), "{api}");
    let invoices = document(&server, "/resources/api.example.com/invoices").await.unwrap();
    let scopes = ["invoices:read", "invoices:write", "invoices:approve"];
    assert_eq!(
        (&invoices["scopes_supported"], &invoices["resource_name"]),
        (&json!(scopes), &json!("Invoices"))
    );
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_resource_of_ours_is_not_there() {
    let server = TestServer::open().await;
    let long = format!("/resources/{}", "x".repeat(2_000));
    for path in [
        "/resources/api.example.com/unknown",
        "/resources/x",
        "/resources/%00",
        "/resources/..%2f",
        "/scim/v2",
        "/scim/v2/Acme",
        "/scim/v2/acme/Users",
        "/other",
        long.as_str(),
    ] {
        assert_eq!(document(&server, path).await, None, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_caller_without_a_good_token_is_told_where_to_look() {
    let server = TestServer::open().await;
    for (path, wanted) in [
        ("/api/organizations", format!("{}{AT}/api", server.issuer())),
        ("/connect/userinfo", format!("{}{AT}", server.issuer())),
        ("/scim/v2/acme/Users", format!("{}{AT}/scim/v2/acme", server.issuer())),
    ] {
        for token in [None, Some("Bearer wrong")] {
            let mut request = server.request(Method::GET, path);
            if let Some(token) = token {
                request = request.header("authorization", token);
            }
            let answer = server.send(request.body(form(&[])).unwrap()).await;
            let challenge = answer.header("www-authenticate").unwrap().to_owned();
            let named = format!("resource_metadata=\"{wanted}\"");
            assert!(answer.status == 401 && challenge.contains(&named), "{challenge}");
            let found = wanted.strip_prefix(server.issuer()).unwrap();
            let found = server.request(Method::GET, found).body(form(&[])).unwrap();
            assert_eq!(server.send(found).await.status, 200);
        }
    }
    server.stop().await;
}
