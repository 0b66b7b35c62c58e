//! Control of a client of an organization: who changes how it proves itself, or where it is answered, can
//! act as the client, and must hold everything that its roles confer (adr/0109).

use crate::{
    api_caller::{Api, EVERYTHING, directory},
    http::Answer,
    nodes::views_agree,
    person::text,
    support::{TestServer, basic, form},
};
use hyper::Method;
use serde_json::{Value, json};
use std::time::Duration;

pub const CLIENTS: &str = "/api/organizations/acme/clients";

/// Rui looks after clients, and holds nothing else. An agent acts for others.
const REGISTRAR: &str = r#"
[[organization]]
slug = "acme"
  [[organization.role]]
  name = "clerk"
  permissions = ["invoices:read", "orders:read"]
  [[organization.role]]
  name = "manager"
  permissions = ["invoices:*"]
  [[organization.role]]
  name = "administrator"
  permissions = ["accounts:*", "organizations:*", "memberships:*", "roles:*", "clients:*", "apikeys:*", "audit:*", "domains:*", "connections:*"]
  [[organization.role]]
  name = "auditor"
  permissions = ["audit:read"]
  [[organization.role]]
  name = "registrar"
  permissions = ["clients:*"]

[[account]]
email = "rui@acme.test"
password = "correct horse battery staple"
memberships = [{ organization = "acme", roles = ["registrar"] }]

[[client]]
client_id = "agent"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["token-exchange"]
"#;

pub async fn scene() -> TestServer {
    let server = directory().await;
    server.apply(REGISTRAR).await;
    server
}

/// Makes a client with these roles; returns its id and its secret.
pub async fn made(api: &Api<'_>, roles: Value) -> (String, String) {
    let body = json!({
        "redirect_uris": ["https://web.example.com/cb"],
        "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
        "roles": roles,
    });
    let made = api.post(CLIENTS, &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    views_agree().await;
    let made = made.json();
    (text(&made["client_id"]).to_owned(), text(&made["client_secret"]).to_owned())
}

pub async fn rotate(api: &Api<'_>, id: &str) -> Answer {
    let tag = api.tag(&format!("{CLIENTS}/{id}")).await;
    let path = format!("{CLIENTS}/{id}/secret");
    let rotated = api.call(Method::POST, &path, None, &[("if-match", &tag)]).await;
    views_agree().await;
    rotated
}

async fn patch(api: &Api<'_>, id: &str, body: &Value) -> Answer {
    let changed = api.change(Method::PATCH, &format!("{CLIENTS}/{id}"), Some(body)).await;
    views_agree().await;
    changed
}

/// Gets a token in the client's own name.
pub async fn own_token(server: &TestServer, id: &str, secret: &str) -> Answer {
    let request = server
        .request(Method::POST, "/connect/token")
        .header("authorization", basic(id, secret))
        .header("content-type", "application/x-www-form-urlencoded");
    let fields = [("grant_type", "client_credentials"), ("scope", "invoices:read")];
    server.send(request.body(form(&fields)).unwrap()).await
}

/// Changes by which another person could act as the client.
fn takeovers() -> [Value; 6] {
    let key = json!({ "kty": "EC", "crv": "P-256", "use": "sig",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" });
    [
        json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks": { "keys": [key] } }),
        json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://thief.example.com/jwks" }),
        json!({ "token_endpoint_auth_method": "client_secret_post" }),
        json!({ "redirect_uris": ["https://thief.example.com/cb"] }),
        json!({ "post_logout_redirect_uris": ["https://thief.example.com/"] }),
        json!({ "backchannel_logout_uri": "https://thief.example.com/out" }),
    ]
}

#[tokio::test]
async fn who_looks_after_clients_does_not_take_over_one_that_may_do_more_than_they() {
    let server = scene().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let (id, secret) = made(&rita, json!(["clerk"])).await;
    let rui = Api::of(&server, "rui@acme.test", "clients:read clients:write").await;
    rotate(&rui, &id).await.problem(403, "permission_not_held");
    for takeover in takeovers() {
        patch(&rui, &id, &takeover).await.problem(403, "permission_not_held");
    }
    let own = own_token(&server, &id, &secret).await;
    assert_eq!(own.status, 200, "its secret is what it was: {own:?}");
    // What only describes a client, lowers it or ends it, is for them as before.
    let described = json!({ "client_name": "Intranet", "scope": "orders:read" });
    assert_eq!(patch(&rui, &id, &described).await.status, 200);
    assert_eq!(patch(&rui, &id, &json!({ "roles": [] })).await.status, 200);
    assert_eq!(rotate(&rui, &id).await.status, 200, "it may do nothing now");
    patch(&rui, &id, &json!({ "roles": ["clerk"] })).await.problem(403, "permission_not_held");
    server.stop().await;
}

#[tokio::test]
async fn who_holds_what_a_client_may_do_rotates_its_secret_and_moves_it() {
    let server = scene().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let (id, secret) = made(&rita, json!(["clerk"])).await;
    let rotated = rotate(&rita, &id).await;
    assert_eq!(rotated.status, 200, "{rotated:?}");
    let next = text(&rotated.json()["client_secret"]).to_owned();
    assert_eq!(own_token(&server, &id, &next).await.status, 200);
    own_token(&server, &id, &secret).await.refused(401, "invalid_client");
    let moved = json!({ "redirect_uris": ["https://new.example.com/cb"] });
    assert_eq!(patch(&rita, &id, &moved).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_key_controls_a_client_only_where_it_holds_what_the_client_may_do() {
    let server = scene().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let (id, _) = made(&rita, json!(["clerk"])).await;
    let key = async |permissions: Value| {
        let body = json!({ "name": "k", "permissions": permissions });
        let made = rita.post("/api/organizations/acme/apikeys", &body).await.json();
        Api { server: &server, token: text(&made["key"]).to_owned(), reason: None }
    };
    let little = key(json!(["clients:read", "clients:write"])).await;
    rotate(&little, &id).await.problem(403, "permission_not_held");
    let takeover = json!({ "redirect_uris": ["https://thief.example.com/cb"] });
    patch(&little, &id, &takeover).await.problem(403, "permission_not_held");
    let permissions = ["clients:read", "clients:write", "invoices:read", "orders:read"];
    let enough = key(json!(permissions)).await;
    assert_eq!(rotate(&enough, &id).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn administration_and_delegation_control_no_client() {
    let server = scene().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let (id, _) = made(&rita, json!(["clerk"])).await;
    let (auditor, _) = {
        // Of what it confers an administrator of all holds everything, as of all that is ours.
        let sofia = "[[account]]\nemail = \"rita@acme.test\"\nmemberships = \
                     [{ organization = \"acme\", roles = [\"administrator\", \"clerk\", \"auditor\"] }]\n";
        server.apply(sofia).await;
        made(&rita, json!(["auditor"])).await
    };
    server.administers("olga@operator.test", true).await;
    let scope = "organizations:administer clients:read clients:write audit:read";
    let mut olga = Api::of_organization(&server, "olga@operator.test", scope, "acme").await;
    olga.reason = Some("ticket 4711");
    for client in [&id, &auditor] {
        rotate(&olga, client).await.problem(403, "permission_not_held");
        let takeover = json!({ "redirect_uris": ["https://thief.example.com/cb"] });
        patch(&olga, client, &takeover).await.problem(403, "permission_not_held");
    }
    let (plain, _) = made(&rita, json!([])).await;
    assert_eq!(rotate(&olga, &plain).await.status, 200, "it may do nothing by itself");
    let held = server.exchanged("agent", &rita.token, "clients:read clients:write").await;
    let delegate = Api { server: &server, token: held, reason: None };
    for client in [&id, &plain] {
        rotate(&delegate, client).await.problem(403, "delegation_refused");
        for takeover in takeovers() {
            patch(&delegate, client, &takeover).await.problem(403, "delegation_refused");
        }
    }
    let named = patch(&delegate, &plain, &json!({ "client_name": "Intranet" })).await;
    assert_eq!(named.status, 200, "{named:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_is_not_made_of_nothing_and_the_answer_names_its_grants() {
    let server = scene().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let before = rita.get(CLIENTS).await.json()["items"].as_array().unwrap().len();
    let json = [("content-type", "application/json")];
    for headers in [&json[..], &[]] {
        rita.call(Method::POST, CLIENTS, None, headers).await.problem(400, "invalid_json");
    }
    rita.post(CLIENTS, &json!({})).await.problem(400, "invalid_request");
    rita.post(CLIENTS, &json!({ "roles": ["clerk"] })).await.problem(400, "invalid_request");
    assert_eq!(rita.get(CLIENTS).await.json()["items"].as_array().unwrap().len(), before);
    let usual = json!(["authorization_code", "refresh_token"]);
    for grants in [None, Some(Value::Null)] {
        let mut body =
            json!({ "redirect_uris": ["https://web.example.com/cb"], "roles": ["clerk"] });
        if let Some(grants) = grants {
            body["grant_types"] = grants;
        }
        let made = rita.post(CLIENTS, &body).await;
        assert_eq!((made.status.as_u16(), &made.json()["grant_types"]), (201, &usual), "{made:?}");
        let (id, secret) = (made.json()["client_id"].clone(), made.json()["client_secret"].clone());
        // It may use no more than what is named.
        let own = own_token(&server, text(&id), text(&secret)).await;
        own.refused(400, "unauthorized_client");
        let machine = json!({ "grant_types": ["client_credentials"], "redirect_uris": [] });
        let changed = patch(&rita, text(&id), &machine).await;
        assert_eq!(changed.json()["grant_types"], machine["grant_types"], "{changed:?}");
        assert_eq!(own_token(&server, text(&id), text(&secret)).await.status, 200);
        let back = json!({ "grant_types": null, "redirect_uris": ["https://web.example.com/cb"] });
        assert_eq!(patch(&rita, text(&id), &back).await.json()["grant_types"], usual);
    }
    server.stop().await;
}

/// Rotates with an overlap; returns the secret.
async fn rotated(api: &Api<'_>, id: &str, overlap: u64) -> String {
    let answer = rotate_with(api, id, &json!({ "overlap": overlap })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    text(&answer.json()["client_secret"]).to_owned()
}

async fn rotate_with(api: &Api<'_>, id: &str, body: &Value) -> Answer {
    let tag = api.tag(&format!("{CLIENTS}/{id}")).await;
    let path = format!("{CLIENTS}/{id}/secret");
    let rotated = api.call(Method::POST, &path, Some(body), &[("if-match", &tag)]).await;
    views_agree().await;
    rotated
}

#[tokio::test]
async fn a_former_secret_is_good_for_its_overlap_and_no_more_than_two_are() {
    let server = scene().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let (id, first) = made(&rita, json!(["clerk"])).await;
    let good = async |secret: &str| own_token(&server, &id, secret).await.status == 200;
    let second = rotated(&rita, &id, 60).await;
    assert!(good(&first).await && good(&second).await);
    let shown = rita.get(&format!("{CLIENTS}/{id}")).await.json();
    assert_eq!(shown["former_secret_until"], "2027-01-15T08:01:00Z", "{shown}");
    server.clock.advance(Duration::from_mins(1));
    assert!(!good(&first).await && good(&second).await);
    let third = rotated(&rita, &id, 60).await;
    let fourth = rotated(&rita, &id, 60).await;
    assert!(!good(&second).await, "a third ends the oldest");
    assert!(good(&third).await && good(&fourth).await);
    // Left out, the one before ends at once.
    for body in [Some(json!({})), None] {
        let before = rotated(&rita, &id, 60).await;
        let answer = match body {
            Some(body) => rotate_with(&rita, &id, &body).await,
            None => rotate(&rita, &id).await,
        };
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.json()["former_secret_until"].is_null(), "{answer:?}");
        assert!(!good(&before).await && good(text(&answer.json()["client_secret"])).await);
    }
    let day = rotated(&rita, &id, 86_400).await;
    for wrong in [json!(86_401), json!(-1), json!("60"), json!(1e12)] {
        let refused = rotate_with(&rita, &id, &json!({ "overlap": wrong })).await;
        assert_eq!(refused.json()["errors"][0]["pointer"], "#/overlap", "{refused:?}");
        refused.problem(400, "invalid_request");
    }
    rotate_with(&rita, &id, &json!({ "for": 1 })).await.problem(400, "invalid_request");
    assert!(good(&day).await);
    // Another method ends the former one at once.
    let next = rotated(&rita, &id, 86_400).await;
    let basic = json!({ "token_endpoint_auth_method": "client_secret_basic" });
    assert_eq!(patch(&rita, &id, &basic).await.status, 200);
    assert!(!good(&day).await && good(&next).await);
    server.stop().await;
}
