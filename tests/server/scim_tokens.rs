//! Tokens for SCIM: of one organization, for that address, and in no other hands.

use crate::{
    exchange::AGENTS,
    http::Answer,
    person::{claims, parameter, redirect, text},
    scim_caller::{Scim, provisioned, refused},
    support::{SECRET, TestServer},
};
use hyper::Method;
use serde_json::{Value, json};

const PROVISION: &str = "scim:provision";

/// A role that provisions, in both organizations, a person and a client of acme who hold it.
fn scene() -> String {
    let role = "[[organization.role]]\nname = \"provisioner\"\npermissions = [\"scim:*\", \"audit:read\"]\n";
    let clerk = "[[organization.role]]\nname = \"clerk\"\npermissions = [\"invoices:read\"]\n";
    format!(
        "[[organization]]\nslug = \"acme\"\n{role}{clerk}[[organization]]\nslug = \"other\"\n{role}\
         [[client]]\nclient_id = \"directory\"\nclient_secret = \"{SECRET}\"\norganization = \"acme\"\n\
         roles = [\"provisioner\"]\n\
         [[account]]\nemail = \"bruno@acme.test\"\nmemberships = [\n\
         {{ organization = \"acme\", roles = [\"provisioner\"] }},\n\
         {{ organization = \"other\", roles = [\"provisioner\"] }},\n]\n"
    )
}

async fn open() -> (TestServer, Scim) {
    let (server, scim) = provisioned().await;
    server.apply(&scene()).await;
    (server, scim)
}

fn resource(server: &TestServer, slug: &str) -> String {
    format!("{}/scim/v2/{slug}", server.issuer())
}

/// Asks as a person, and returns the tokens or the error.
async fn asked(server: &TestServer, fields: &[(&str, &str)]) -> Result<Value, String> {
    server.clock.expire_views();
    let session = server.sign_in("bruno@acme.test").await;
    let answer = server.authorize_in(&session, "web", fields).await;
    let to = redirect(&answer);
    let Some(code) = parameter(&to, "code") else { return Err(parameter(&to, "error").unwrap()) };
    Ok(server.redeem("web", &code).await.json())
}

fn by(scim: &Scim, tokens: &Value) -> Scim {
    Scim { key: text(&tokens["access_token"]).to_owned(), ..scim.clone() }
}

#[tokio::test]
async fn a_client_of_the_organization_provisions_by_its_own_token() {
    let (server, scim) = open().await;
    let aud = resource(&server, "acme");
    for fields in [
        &[("scope", PROVISION)][..],
        &[("scope", PROVISION), ("organization", "acme")],
        &[("scope", PROVISION), ("resource", &aud)],
    ] {
        let issued = server.ask("directory", fields).await;
        assert_eq!(issued.status, 200, "{issued:?}");
        let said = claims(&issued.json()["access_token"]);
        assert_eq!(
            (&said["aud"], &said["org"], &said["scope"]),
            (&json!(aud), &json!("acme"), &json!(PROVISION))
        );
        let caller = by(&scim, &issued.json());
        let user = caller.user("eva@far.test").await;
        caller.activate(&user, false).await;
        assert_eq!(caller.delete(&user).await.status, 204);
        let seen = server.introspect("directory", &caller.key).await;
        assert_eq!((&seen["active"], &seen["aud"]), (&json!(true), &json!(aud)));
    }
    // It is good there and nowhere else, as long as the client holds the role and is not revoked.
    let issued = server.ask("directory", &[("scope", PROVISION)]).await.json();
    let caller = by(&scim, &issued);
    let elsewhere = Scim { slug: "other".to_owned(), ..caller.clone() };
    refused(&elsewhere.get("/Users").await, 401, None);
    let request = server.request(Method::GET, "/api/organizations/acme/audit");
    let request = request.header("authorization", format!("Bearer {}", caller.key));
    assert_eq!(server.send(request.body("".into()).unwrap()).await.status, 401);
    let revoked = server.post_as("directory", "/connect/revoke", &[("token", &caller.key)]).await;
    assert_eq!(revoked.status, 200);
    refused(&caller.get("/Users").await, 401, None);
    let caller = by(&scim, &server.ask("directory", &[("scope", PROVISION)]).await.json());
    assert_eq!(caller.get("/Users").await.status, 200);
    server.apply("[[client]]\nclient_id = \"directory\"\nroles = [\"clerk\"]\n").await;
    refused(&caller.get("/Users").await, 401, None);
    server.stop().await;
}

#[tokio::test]
async fn what_is_of_another_organization_or_another_api_is_an_invalid_target() {
    let (server, _scim) = open().await;
    let (acme, other) = (resource(&server, "acme"), resource(&server, "other"));
    let api = format!("{}/api", server.issuer());
    let odd =
        [format!("{acme}/"), format!("{acme}/Users"), format!("{acme}?x"), acme.to_uppercase()];
    let mut wrong: Vec<Vec<(&str, &str)>> = vec![
        vec![("scope", PROVISION), ("resource", &other)],
        vec![("resource", &other)],
        vec![("scope", PROVISION), ("organization", "other")],
        vec![("scope", "scim:provision audit:read")],
        vec![("scope", PROVISION), ("resource", &api)],
        vec![("scope", "audit:read"), ("resource", &acme)],
        vec![("scope", "invoices:read"), ("resource", &acme)],
    ];
    wrong.extend(odd.iter().map(|one| vec![("scope", PROVISION), ("resource", one.as_str())]));
    for fields in &wrong {
        let answer = server.ask("directory", fields).await;
        answer.refused(400, "invalid_target");
    }
    let nowhere = server.ask("nobody", &[("scope", PROVISION)]).await;
    assert!(nowhere.refused(400, "invalid_target").contains("organization"));
    // A client without the role.
    server.ask("billing", &[("scope", PROVISION)]).await.refused(400, "invalid_scope");
    // A wildcard is no scope, and what registered itself provisions nothing.
    server.ask("directory", &[("scope", "scim:*")]).await.refused(400, "invalid_scope");
    let body = json!({ "redirect_uris": ["https://x.example.com/cb"], "scope": PROVISION });
    let registered = server.post_json("/connect/register", &body, &[]).await;
    registered.refused(400, "invalid_client_metadata");
    let body = json!({ "redirect_uris": ["https://x.example.com/cb"] });
    let registered = server.post_json("/connect/register", &body, &[]).await.json();
    let fields = [
        ("client_id", text(&registered["client_id"])),
        ("redirect_uri", "https://x.example.com/cb"),
        ("scope", PROVISION),
        ("organization", "acme"),
    ];
    let answer = server.authorize("web", &fields).await;
    assert!(answer.text().contains("invalid_target"), "{answer:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_may_provisions_one_organization_by_name() {
    let (server, scim) = open().await;
    let (acme, other) = (resource(&server, "acme"), resource(&server, "other"));
    // The resource says which organization: nothing is left to choose.
    for fields in [
        &[("scope", PROVISION), ("organization", "acme")][..],
        &[("scope", PROVISION), ("resource", &acme)],
        &[("scope", PROVISION), ("resource", &acme), ("organization", "acme")],
    ] {
        let tokens = asked(&server, fields).await.unwrap();
        let said = claims(&tokens["access_token"]);
        assert_eq!((&said["aud"], &said["org"]), (&json!(acme), &json!("acme")));
        let caller = by(&scim, &tokens);
        let user = caller.user("eva@far.test").await;
        assert_eq!(caller.delete(&user).await.status, 204);
    }
    for fields in [
        &[("scope", PROVISION)][..],
        &[("scope", PROVISION), ("resource", &other), ("organization", "acme")],
        &[("scope", "scim:provision audit:read"), ("organization", "acme")],
    ] {
        assert_eq!(asked(&server, fields).await, Err("invalid_target".to_owned()), "{fields:?}");
    }
    let unknown = resource(&server, "nowhere");
    let fields = [("scope", PROVISION), ("resource", &*unknown)];
    assert_eq!(asked(&server, &fields).await, Err("access_denied".to_owned()));

    // A refresh stays with it, and the token ends with the membership, at the next request.
    let fields = [("scope", "scim:provision offline_access"), ("organization", "acme")];
    let tokens = asked(&server, &fields).await.unwrap();
    let refreshed = server.refresh("web", text(&tokens["refresh_token"])).await.json();
    let caller = by(&scim, &refreshed);
    let found = caller.found("Users", "userName eq \"bruno@acme.test\"").await;
    let own = format!("/Users/{}", text(&found["Resources"][0]["id"]));
    assert_eq!(caller.delete(&own).await.status, 204);
    refused(&caller.get("/Users").await, 401, None);
    server.refresh("web", text(&refreshed["refresh_token"])).await.refused(400, "invalid_grant");
    server.stop().await;
}

async fn exchanged(server: &TestServer, client: &str, fields: &[(&str, &str)]) -> Answer {
    let fixed = [("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")];
    server.post_as(client, "/connect/token", &[&fixed, fields].concat()).await
}

#[tokio::test]
async fn a_token_that_is_held_for_another_party_provisions_nothing() {
    let (server, scim) = open().await;
    server.apply(AGENTS).await;
    let tokens = asked(&server, &[("scope", PROVISION), ("organization", "acme")]).await.unwrap();
    let token = text(&tokens["access_token"]);
    let kind = "urn:ietf:params:oauth:token-type:access_token";
    let fields = [("subject_token", token), ("subject_token_type", kind)];
    let held = exchanged(&server, "agent", &fields).await;
    assert_eq!(held.status, 200, "{held:?}");
    assert_eq!(claims(&held.json()["access_token"])["act"]["sub"], "agent");
    let agent = by(&scim, &held.json());
    let user = scim.user("eva@far.test").await;
    refused(&agent.get("/Users").await, 403, None);
    refused(&agent.delete(&user).await, 403, None);
    assert_eq!(scim.get(&user).await.status, 200);
    // A key that is exchanged is held for another party as well, and is of its organization.
    let kind = "urn:porteiro:params:oauth:token-type:api_key";
    let fields =
        [("subject_token", scim.key.as_str()), ("subject_token_type", kind), ("scope", PROVISION)];
    let held = exchanged(&server, "agent", &fields).await;
    assert_eq!(claims(&held.json()["access_token"])["aud"], resource(&server, "acme"), "{held:?}");
    refused(&by(&scim, &held.json()).get("/Users").await, 403, None);
    let other = resource(&server, "other");
    let fields = [&fields[..], &[("resource", &*other)]].concat();
    exchanged(&server, "agent", &fields).await.refused(400, "invalid_target");
    server.stop().await;
}
