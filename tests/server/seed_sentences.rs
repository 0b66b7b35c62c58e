//! The resource table of the specification, its paragraph on permissions and its section on events:
//! one test a sentence, named as the sentence is.
//!
//! What other issues bring has its tests there, and none here:
//!
//! | sentence | brought by |
//! |---|---|
//! | External identity is the pair provider plus subject, never the e-mail a provider reports. | the issue on single sign-on |
//! | Can have SSO configured and a DNS-verified domain. | the issue on single sign-on |
//! | It is the resource that SCIM provisions. | the issue on SCIM |
//! | Alerts exist for sign-in from a new device and for impossible travel. | the issue on alerts |

mod permissions_and_events;

use crate::{
    api_caller::{Api, EVERYTHING, directory},
    authenticator::recovery_codes,
    database::Database,
    me::get_in,
    passkey_device::Device,
    person::{claims, text},
    shared::eventually,
    support::{TestServer, form},
};
use hyper::Method;
use porteiro::domain::{Clock as _, Fingerprint};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const ANA: &str = "ana@acme.test";
const ACME: &str = "/api/organizations/acme";
const SCOPE: &str = "openid offline_access invoices:read";

/// The claims of a token that a person gets for one organization.
async fn token_for(server: &TestServer, email: &str, organization: &str, scope: &str) -> Value {
    let session = server.sign_in(email).await;
    let asked = [("scope", scope), ("organization", organization)];
    let answer = server.authorize_in(&session, "web", &asked).await;
    let code = crate::person::parameter(&crate::person::redirect(&answer), "code").unwrap();
    claims(&server.redeem("web", &code).await.json()["access_token"])
}

/// The whole database, as a thief of it would read it.
async fn all_rows(server: &TestServer) -> String {
    const SQL: &str = "SELECT state FROM entities UNION ALL SELECT detail FROM security_log \
                       UNION ALL SELECT name FROM names";
    let rows: Vec<[String; 1]> = Database::at(&server.url).await.texts(SQL).await;
    rows.concat().join("\n")
}

async fn registered(server: &TestServer) -> Value {
    let body = json!({ "redirect_uris": ["https://web.example.com/cb"] });
    let answer = server.post_json("/connect/register", &body, &[]).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

async fn read_registration(server: &TestServer, id: &str, token: &str) -> crate::http::Answer {
    let request = server.request(Method::GET, &format!("/connect/register/{id}"));
    let request = request.header("authorization", format!("Bearer {token}"));
    server.send(request.body(form(&[])).unwrap()).await
}

// Account

#[tokio::test]
async fn one_global_account_per_person_with_one_sign_in() {
    let server = TestServer::open().await;
    // Bruno belongs to two organizations, and signs in once for both.
    let session = server.sign_in("bruno@acme.test").await;
    let mut subjects = Vec::new();
    for slug in ["acme", "other"] {
        let asked = [("scope", "openid"), ("organization", slug)];
        let answer = server.authorize_in(&session, "web", &asked).await;
        let code = crate::person::parameter(&crate::person::redirect(&answer), "code").unwrap();
        let token = claims(&server.redeem("web", &code).await.json()["access_token"]);
        assert_eq!(token["org"], slug);
        subjects.push(token["sub"].clone());
    }
    assert_eq!(subjects[0], subjects[1], "one account in every organization");
    server.stop().await;
}

#[tokio::test]
async fn an_account_holds_credentials_passkey_password_totp_recovery_codes() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let mut device = Device::new(server.issuer());
    let added = server.add_passkey(&session, &mut device).await;
    let codes = recovery_codes(&added);
    assert_eq!(server.sign_in_by_passkey(&mut device).await["assurance"]["reached"], "aal2");
    // A person with a passkey enrols another factor with what they have proved by it.
    let session = server.sign_in_by_passkey(&mut device).await;
    let session = text(&session["result"]["session_token"]).to_owned();
    server.enrol_totp(&session, server.clock.now()).await;
    // The password alone is not enough any more; a recovery code is.
    let asked = server.asks_second_factor(ANA).await;
    let done = server.step(&asked, "recovery_code", json!({ "code": codes[0] })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}

// Organization

#[tokio::test]
async fn an_organization_is_a_tenant() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    for path in ["", "/members", "/roles", "/clients", "/apikeys", "/audit", "/accounts"] {
        assert_eq!(rita.get(&format!("{ACME}{path}")).await.status, 200, "{path}");
        let other = format!("/api/organizations/other{path}");
        rita.get(&other).await.problem(403, "other_organization");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_organization_has_an_enabled_or_suspended_condition() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    assert_eq!(rita.get(ACME).await.json()["enabled"], true);
    let session = server.sign_in("rita@acme.test").await;
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    rita.get(ACME).await.problem(401, "invalid_token");
    eventually("it is shown as suspended", async || {
        let listed = get_in(&server, &session, "/me/organizations").await.json();
        listed["items"][0]["enabled"] == false
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn an_organization_has_its_own_audit_trail_visible_to_the_customer() {
    let server = directory().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let path = format!("{ACME}/roles/reader");
    let body = json!({ "permissions": ["invoices:read"] });
    let put = rita.call(Method::PUT, &path, Some(&body), &[("if-match", "*")]).await;
    assert_eq!(put.status, 201, "{put:?}");
    let trail = rita.get(&format!("{ACME}/audit?event=organization.changed")).await.json();
    let actor = &trail["items"][0]["detail"]["context"]["actor"];
    assert_eq!(actor["type"], "person", "{trail}");
    let otto = Api::of(&server, "otto@other.test", "audit:read").await;
    let other = otto.get("/api/organizations/other/audit").await.json().to_string();
    assert!(!other.contains(text(&actor["id"])), "{other}");
    server.stop().await;
}

// Membership

#[tokio::test]
async fn a_membership_links_an_account_to_an_organization() {
    let server = TestServer::open().await;
    let acme = token_for(&server, ANA, "acme", "openid invoices:read").await;
    assert!(acme["membership"].is_string() && acme["membership"] != acme["sub"], "{acme}");
    // Without one there is no authority in an organization.
    let session = server.sign_in(ANA).await;
    let asked = [("scope", "openid"), ("organization", "other")];
    let answer = server.authorize_in(&session, "web", &asked).await;
    let to = crate::person::redirect(&answer);
    assert_eq!(crate::person::parameter(&to, "error").as_deref(), Some("access_denied"));
    server.stop().await;
}

#[tokio::test]
async fn a_membership_carries_its_own_roles_and_an_enabled_state() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let found = api.get(&format!("{ACME}/members?email=bruno@acme.test")).await.json();
    let member = &found["items"][0];
    assert_eq!((&member["roles"], &member["enabled"]), (&json!(["clerk"]), &json!(true)));
    let session = server.sign_in("bruno@acme.test").await;
    let listed = get_in(&server, &session, "/me/organizations").await.json();
    let items = listed["items"].as_array().unwrap();
    let other = items.iter().find(|one| one["slug"] == "other").unwrap();
    assert_eq!(other["roles"], json!([]), "the roles of one are not those of another");
    let path = format!("{ACME}/members/{}", text(&member["id"]));
    let ended = api.change(Method::PATCH, &path, Some(&json!({ "enabled": false }))).await;
    assert_eq!(ended.json()["enabled"], false, "{ended:?}");
    let session = server.sign_in("bruno@acme.test").await;
    eventually("an ended membership confers nothing", async || {
        let asked = [("scope", "openid"), ("organization", "acme")];
        let answer = server.authorize_in(&session, "web", &asked).await;
        answer.json()["state"] == "failed"
    })
    .await;
    server.stop().await;
}

// Client

#[tokio::test]
async fn a_client_is_an_application_a_service_or_an_agent() {
    let server = TestServer::open().await;
    // An application acts for a person, a service in its own name.
    let person = server.tokens(ANA, "web", "openid invoices:read").await;
    let person = claims(&person["access_token"]);
    assert_ne!(person["sub"], person["client_id"]);
    let service = claims(&server.token("billing", "invoices:read").await.into());
    assert_eq!((&service["sub"], &service["client_id"]), (&json!("billing"), &json!("billing")));
    // An agent is an ordinary client: it registers itself and asks a person.
    let agent = registered(&server).await;
    let id = [("client_id", text(&agent["client_id"]))];
    let begun = server.authorize("web", &id).await.json();
    assert_eq!(server.prove(&begun, ANA).await.json()["state"], "consent");
    server.stop().await;
}

#[tokio::test]
async fn a_client_is_identified_by_client_id() {
    let server = TestServer::open().await;
    let (one, other) = (registered(&server).await, registered(&server).await);
    assert_ne!(one["client_id"], other["client_id"]);
    let unknown = server.authorize("web", &[("client_id", "no-such-client")]).await;
    unknown.refused(400, "invalid_request");
    assert_eq!(claims(&server.token("billing", "").await.into())["client_id"], "billing");
    server.stop().await;
}

#[tokio::test]
async fn a_client_can_be_registered_dynamically() {
    let server = TestServer::open().await;
    let told = registered(&server).await;
    let begun = server.authorize("web", &[("client_id", text(&told["client_id"]))]).await;
    assert_eq!(begun.json()["state"], "identify", "{begun:?}");
    server.stop().await;
}

// Registration access token

#[tokio::test]
async fn a_registration_access_token_is_returned_at_registration() {
    let server = TestServer::open().await;
    let told = registered(&server).await;
    let (id, token) = (text(&told["client_id"]), text(&told["registration_access_token"]));
    assert_eq!(read_registration(&server, id, token).await.status, 200);
    read_registration(&server, id, "prt_wrong").await.refused(401, "invalid_token");
    server.stop().await;
}

#[tokio::test]
async fn a_registration_access_token_is_displayed_once_and_stored_only_as_a_hash() {
    let server = TestServer::open().await;
    let told = registered(&server).await;
    let (id, token) = (text(&told["client_id"]), text(&told["registration_access_token"]));
    // Without it nothing is read; and what its holder reads has it from the request (RFC 7592 §3).
    let wrong = read_registration(&server, id, "prt_wrong").await;
    wrong.refused(401, "invalid_token");
    assert!(!wrong.text().contains(token));
    let bare = server.get(&format!("/connect/register/{id}")).await;
    bare.refused(401, "invalid_token");
    assert!(!bare.text().contains(token));
    assert_not_stored(&server, token).await;
    server.stop().await;
}

/// Insists that no row holds a secret, nor its random part.
async fn assert_not_stored(server: &TestServer, secret: &str) {
    let rows = all_rows(server).await;
    assert!(rows.contains("acme"), "the rows were read");
    for start in (0..secret.len().saturating_sub(22)).step_by(11) {
        let part = &secret[start..start + 22];
        // Only the prefix and the id of the owner may be found.
        assert!(start < 22 || !rows.contains(part), "{part}");
    }
    assert!(!rows.contains(secret));
}

// Session

#[tokio::test]
async fn a_session_is_server_side() {
    let server = TestServer::open().await;
    let (session, other) = (server.sign_in(ANA).await, server.sign_in(ANA).await);
    let listed = get_in(&server, &session, "/me/sessions").await.json();
    let items = listed["items"].as_array().unwrap().clone();
    assert_eq!(items.len(), 2, "{listed}");
    // The server ends it, whatever its holder keeps.
    let others = items.iter().find(|one| one["current"] != true).unwrap();
    let path = format!("/me/sessions/{}", text(&others["id"]));
    assert_eq!(crate::me::delete_in(&server, &session, &path).await.status, 204);
    assert_eq!(get_in(&server, &other, "/me").await.status, 401);
    assert_eq!(get_in(&server, &session, "/me").await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn people_with_one_password_have_each_a_salt_of_128_bits_and_a_hash() {
    let server = TestServer::open().await;
    let rows = all_rows(&server).await;
    let kept = rows.split("$argon2id$").skip(1).map(|rest| rest.split('"').next().unwrap());
    let kept = kept.map(|hash| hash.split('$').collect::<Vec<&str>>());
    let kept: Vec<Vec<&str>> = kept.filter(|parts| parts.len() == 4).collect();
    let of_part = |part: usize| kept.iter().map(move |hash| hash[part]).collect::<BTreeSet<_>>();
    // Everyone in this directory has the same password.
    assert!(kept.len() > 2, "{kept:?}");
    assert_eq!((of_part(2).len(), of_part(3).len()), (kept.len(), kept.len()), "{kept:?}");
    assert!(of_part(2).iter().all(|salt| salt.len() == 22), "{kept:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_session_has_a_token_of_256_bits_stored_as_a_sha_256_hash() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    // 256 bits are 43 characters of base64url, between the id and the seal.
    let rows = all_rows(&server).await;
    let parts: Vec<&str> =
        (0..=session.len() - 43).filter_map(|at| session.get(at..at + 43)).collect();
    let hashed = parts.iter().any(|part| {
        let hash = serde_json::to_string(&Fingerprint::of(part.as_bytes())).unwrap();
        rows.contains(hash.trim_matches('"'))
    });
    assert!(hashed, "the hash of 43 characters of the token is what is stored");
    assert!(!rows.contains(&session) && !parts.iter().any(|part| rows.contains(part)));
    server.stop().await;
}

// API key

#[tokio::test]
async fn an_api_key_is_displayed_once_and_stored_only_as_a_hash() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let body = json!({ "name": "k", "permissions": ["audit:read"] });
    let made = api.post(&format!("{ACME}/apikeys"), &body).await.json();
    let key = text(&made["key"]);
    let shown = api.get(&format!("{ACME}/apikeys/{}", text(&made["id"]))).await.text();
    assert!(!shown.contains(key) && !shown.contains("pak_"), "{shown}");
    // The prefix and the id come first.
    let rows = all_rows(&server).await;
    assert!(!rows.contains(key) && !rows.contains(&key[26..69]));
    let hash = serde_json::to_string(&Fingerprint::of(&key.as_bytes()[26..69])).unwrap();
    assert!(rows.contains(hash.trim_matches('"')), "only its hash is stored");
    server.stop().await;
}

// Authorization code and grant

#[tokio::test]
async fn an_authorization_code_is_single_use() {
    let server = TestServer::open().await;
    let code = server.code(&server.sign_in(ANA).await, "web", SCOPE).await;
    assert_eq!(server.redeem("web", &code).await.status, 200);
    server.redeem("web", &code).await.refused(400, "invalid_grant");
    server.stop().await;
}

#[tokio::test]
async fn replay_of_a_code_revokes_the_grant() {
    let server = TestServer::open().await;
    let code = server.code(&server.sign_in(ANA).await, "web", SCOPE).await;
    let first = server.redeem("web", &code).await.json();
    let access = text(&first["access_token"]);
    assert_eq!(server.userinfo(access).await.status, 200);
    server.redeem("web", &code).await.refused(400, "invalid_grant");
    server.userinfo(access).await.refused(401, "invalid_token");
    server.refresh("web", text(&first["refresh_token"])).await.refused(400, "invalid_grant");
    server.stop().await;
}

// Refresh token

#[tokio::test]
async fn a_refresh_token_is_rotating() {
    let server = TestServer::open().await;
    let first = server.tokens(ANA, "web", SCOPE).await;
    let second = server.refresh("web", text(&first["refresh_token"])).await.json();
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    let third = server.refresh("web", text(&second["refresh_token"])).await;
    assert_eq!(third.status, 200, "{third:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_refresh_token_belongs_to_a_token_family() {
    let server = TestServer::open().await;
    let first = server.tokens(ANA, "web", SCOPE).await;
    let apart = server.tokens(ANA, "web", SCOPE).await;
    let second = server.refresh("web", text(&first["refresh_token"])).await.json();
    // The reuse of one ends all of its family, and no other family.
    server.refresh("web", text(&first["refresh_token"])).await.refused(400, "invalid_grant");
    server.refresh("web", text(&second["refresh_token"])).await.refused(400, "invalid_grant");
    assert_eq!(server.refresh("web", text(&apart["refresh_token"])).await.status, 200);
    server.stop().await;
}
