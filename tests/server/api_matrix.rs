//! Every operation of the management API against callers that must not get through. It is made of the
//! table that the router is made of, so that a new operation cannot be forgotten.

use crate::{
    api_caller::{Api, EVERYTHING, directory},
    http::Answer,
    person::text,
};
use hyper::Method;
use porteiro::http::api::{OPERATIONS, Operation};
use serde_json::json;
use std::time::Duration;

const SUSPEND: &str = "[[organization]]\nslug = \"acme\"\nenabled = false\n";

/// Calls an operation on acme, with any ids in its path and any body.
async fn call(api: &Api<'_>, operation: &Operation) -> Answer {
    let path = operation.path.replace("{organization}", "acme");
    let parts = path.split('/').map(|part| if part.starts_with('{') { "some" } else { part });
    let path = parts.collect::<Vec<_>>().join("/");
    let method = Method::from_bytes(operation.verb.name().as_bytes()).unwrap();
    let body = operation.takes.map(|_| json!({}));
    // Each at a time of its own: the trail is in the order of time.
    api.server.clock.advance(Duration::from_secs(1));
    api.call(method, &path, body.as_ref(), &[("if-match", "*")]).await
}

#[tokio::test]
async fn no_operation_is_open_without_a_good_token() {
    let server = directory().await;
    for token in ["x", "a.b.c", ""] {
        let stranger = Api { server: &server, token: token.to_owned(), reason: None };
        for operation in OPERATIONS {
            let refused = call(&stranger, operation).await;
            assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer "));
            refused.problem(401, "invalid_token");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn no_operation_is_open_to_a_token_for_another_api_or_of_no_organization() {
    let server = directory().await;
    for (email, scope) in [("ana@acme.test", "invoices:read"), ("ana@acme.test", "openid")] {
        let api = Api::of(&server, email, scope).await;
        for operation in OPERATIONS {
            call(&api, operation).await.problem(401, "invalid_token");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn no_operation_is_open_to_a_token_of_another_organization_and_the_refusal_is_logged() {
    let server = directory().await;
    let otto = Api::of(&server, "otto@other.test", EVERYTHING).await;
    for operation in OPERATIONS.iter().filter(|one| one.path.contains("{organization}")) {
        call(&otto, operation).await.problem(403, "other_organization");
        assert_logged(&otto, operation, "other_organization").await;
    }
    server.stop().await;
}

#[tokio::test]
async fn no_operation_is_open_without_its_permission_and_the_refusal_is_logged() {
    let server = directory().await;
    let all: Vec<&str> = EVERYTHING.split(' ').collect();
    let reader = Api::of(&server, "rita@acme.test", "audit:read").await;
    for operation in OPERATIONS {
        // Everything but what it needs.
        let less = all.iter().filter(|one| **one != operation.needs);
        let scope = less.copied().collect::<Vec<_>>().join(" ");
        let api = Api::of(&server, "rita@acme.test", &scope).await;
        let refused = call(&api, operation).await;
        let challenge = refused.header("www-authenticate").unwrap().to_owned();
        assert!(challenge.contains(&format!("scope=\"{}\"", operation.needs)), "{challenge}");
        refused.problem(403, "permission_required");
        assert_logged_in("acme", &reader, operation, "permission_required").await;
    }
    server.stop().await;
}

#[tokio::test]
async fn no_operation_is_open_to_a_token_of_a_suspended_organization() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    assert_eq!(rita.get("/api/organizations/acme").await.status, 200);
    server.apply(SUSPEND).await;
    for operation in OPERATIONS {
        call(&rita, operation).await.problem(401, "invalid_token");
    }
    server.stop().await;
}

#[tokio::test]
async fn no_operation_is_open_with_less_assurance_than_the_organization_requires() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    server.apply("[[organization]]\nslug = \"acme\"\nrequired_acr = \"aal2\"\n").await;
    for operation in OPERATIONS {
        call(&rita, operation).await.problem(401, "insufficient_user_authentication");
    }
    server.stop().await;
}

async fn assert_logged(api: &Api<'_>, operation: &Operation, code: &str) {
    assert_logged_in("other", api, operation, code).await;
}

/// Insists that the last entry of the trail is this refusal.
async fn assert_logged_in(slug: &str, api: &Api<'_>, operation: &Operation, code: &str) {
    let path = format!("/api/organizations/{slug}/audit?event=api.refused&limit=1");
    let trail = api.get(&path).await.json();
    let entry = &trail["items"][0]["detail"];
    assert_eq!(
        (text(&entry["operation"]), text(&entry["code"])),
        (operation.name, code),
        "{trail}"
    );
    assert!(entry["context"]["actor"]["id"].is_string());
}

/// An account is the person's own: an administrator of an organization changes nothing of it.
#[test]
fn no_operation_changes_an_account() {
    for operation in OPERATIONS {
        let writes = operation.verb.name() != "GET";
        assert!(!(writes && operation.path.contains("/accounts")), "{}", operation.name);
        // To act as a member changes nothing of the account.
        let acts = operation.name == "impersonateMember";
        assert!(acts || operation.needs != "accounts:write", "{}", operation.name);
    }
}

/// What the document says of bodies is so: where one is required, none is 400 before anything is done.
#[tokio::test]
async fn no_operation_goes_on_without_the_body_that_it_requires() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", &format!("{EVERYTHING} accounts:write")).await;
    let document = server.get("/api/openapi.json").await.json();
    for operation in OPERATIONS.iter().filter(|one| one.takes.is_some()) {
        let verb = operation.verb.name().to_ascii_lowercase();
        let described = &document["paths"][operation.path][verb];
        let required = described["requestBody"]["required"] == true;
        let may_be_left_out = ["rotateApiKey", "rotateWebhookSecret", "rotateClientSecret"];
        assert_eq!(required, !may_be_left_out.contains(&operation.name), "{}", operation.name);
        // Others want more than a token, and say so first.
        if !required || ["createOrganization", "impersonateMember"].contains(&operation.name) {
            continue;
        }
        let path = operation.path.replace("{organization}", "acme");
        let parts = path.split('/').map(|part| if part.starts_with('{') { "some" } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        let method = Method::from_bytes(operation.verb.name().as_bytes()).unwrap();
        let headers = [("if-match", "*"), ("content-type", "application/json")];
        let answer = rita.call(method, &path, None, &headers).await;
        answer.problem(400, "invalid_json");
    }
    server.stop().await;
}
