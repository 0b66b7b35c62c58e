//! What a person is connected to: clients, organizations; what happened to their account, and all of it
//! as one document.

use crate::{
    api_caller::{Api, EVERYTHING, directory},
    ciba,
    me::{delete_in, get_in, records},
    me_account::{ANA, open},
    person::{PASSWORD, parameter, redirect, text},
    support::{TestOptions, TestServer},
};
use hyper::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

const SCOPE: &str = "openid offline_access invoices:read";

async fn items(server: &TestServer, session: &str, path: &str) -> Vec<Value> {
    let answer = get_in(server, session, path).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["items"].as_array().unwrap().clone()
}

/// Consents to the client `app`, which is asked about, and returns its tokens.
pub async fn consented(server: &TestServer, session: &str) -> Value {
    let flow = server.authorize_in(session, "app", &[("scope", SCOPE)]).await.json();
    let code = if flow["state"] == "consent" {
        let allow = json!({ "decision": "allow" });
        let done = server.step_in(session, &flow, "consent", allow).await;
        parameter(&redirect(&done), "code")
    } else {
        let to = url::Url::parse(text(&flow["result"]["redirect_to"])).unwrap();
        parameter(&to, "code")
    };
    server.redeem("app", &code.unwrap()).await.json()
}

async fn assert_dead(server: &TestServer, client: &str, tokens: &Value) {
    let access = text(&tokens["access_token"]);
    server.userinfo(access).await.refused(401, "invalid_token");
    assert_eq!(server.introspect("invoices-api", access).await["active"], false);
    let refresh = text(&tokens["refresh_token"]);
    server.refresh(client, refresh).await.refused(400, "invalid_grant");
}

#[tokio::test]
async fn connected_clients_are_listed_and_withdrawing_ends_what_they_hold() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    assert!(items(&server, &session, "/me/consents").await.is_empty());
    let tokens = consented(&server, &session).await;
    let code = server.code(&session, "web", SCOPE).await;
    let web = server.redeem("web", &code).await.json();
    let listed = items(&server, &session, "/me/consents").await;
    assert_eq!(listed.len(), 2, "{listed:?}");
    let find = |client: &str| {
        listed.iter().find(|one| one["client"]["client_id"] == client).unwrap().clone()
    };
    let (app, trusted) = (find("app"), find("web"));
    assert_eq!((&app["remembered"], &trusted["remembered"]), (&json!(true), &json!(false)));
    assert_eq!(
        (text(&app["organization"]), text(&trusted["client"]["client_name"])),
        ("acme", "Web")
    );
    assert_eq!(app["scopes"], json!(["openid", "offline_access", "invoices:read"]));
    assert!(
        text(&app["created_at"]).ends_with('Z') && text(&app["last_authorized_at"]).ends_with('Z')
    );

    // Another person has none of it.
    let bruno = server.sign_in("bruno@acme.test").await;
    assert!(items(&server, &bruno, "/me/consents").await.is_empty());
    let path = format!("/me/consents/{}", text(&app["id"]));
    delete_in(&server, &bruno, &path).await.problem(404, "not_found");
    for unknown in ["AAAA", "%00", "YWNtZTo", &"A".repeat(3_000)] {
        let path = format!("/me/consents/{unknown}");
        delete_in(&server, &session, &path).await.problem(404, "not_found");
    }
    assert_eq!(server.userinfo(text(&tokens["access_token"])).await.status, 200);

    assert_eq!(delete_in(&server, &session, &path).await.status, 204);
    assert_dead(&server, "app", &tokens).await;
    assert_eq!(server.userinfo(text(&web["access_token"])).await.status, 200, "of another client");
    delete_in(&server, &session, &path).await.problem(404, "not_found");
    assert_eq!(items(&server, &session, "/me/consents").await.len(), 1);
    // The person is asked again, and what was before stays ended.
    let again = consented(&server, &session).await;
    assert_dead(&server, "app", &tokens).await;
    assert_eq!(server.userinfo(text(&again["access_token"])).await.status, 200);
    assert_eq!(server.refresh("app", text(&again["refresh_token"])).await.status, 200);
    // So it is for a client that is never asked about.
    let path = format!("/me/consents/{}", text(&trusted["id"]));
    assert_eq!(delete_in(&server, &session, &path).await.status, 204);
    assert_dead(&server, "web", &web).await;
    let withdrawn = records(&server, "consent.withdrawn").await;
    assert_eq!(withdrawn.len(), 2, "{withdrawn:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_person_sees_their_organizations_suspended_ones_too_and_leaves_one() {
    let server = TestServer::open().await;
    let session = server.sign_in("bruno@acme.test").await;
    let code = server.authorize_in(&session, "web", &[("organization", "acme")]).await;
    let code = parameter(&redirect(&code), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    server.apply("[[organization]]\nslug = \"other\"\nenabled = false\n").await;
    let listed = items(&server, &session, "/me/organizations").await;
    let shown: Vec<_> = listed.iter().map(|one| (text(&one["slug"]), &one["enabled"])).collect();
    assert_eq!(shown, [("acme", &json!(true)), ("other", &json!(false))]);
    assert_eq!((text(&listed[0]["name"]), &listed[0]["roles"]), ("Acme Lda", &json!(["clerk"])));
    assert_eq!(text(&listed[0]["membership"]).len(), 36);
    let suspended = delete_in(&server, &session, "/me/organizations/other").await;
    suspended.problem(403, "organization_suspended");
    for unknown in ["nowhere", "%00", "a.b", &"a".repeat(100)] {
        let path = format!("/me/organizations/{unknown}");
        delete_in(&server, &session, &path).await.problem(404, "not_found");
    }
    let left = delete_in(&server, &session, "/me/organizations/acme").await;
    assert_eq!(left.status, 204, "{left:?}");
    server.userinfo(text(&tokens["access_token"])).await.refused(401, "invalid_token");
    delete_in(&server, &session, "/me/organizations/acme").await.problem(404, "not_found");
    assert_eq!(items(&server, &session, "/me/organizations").await.len(), 1);
    let ended = records(&server, "membership.ended").await;
    assert_eq!(ended[0]["context"]["actor"]["id"], ended[0]["account"]);
    server.stop().await;
}

#[tokio::test]
async fn an_administrator_cannot_bring_back_a_person_who_has_left_without_an_invitation() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let session = server.sign_in("bruno@acme.test").await;
    let left = delete_in(&server, &session, "/me/organizations/acme").await;
    assert_eq!(left.status, 204, "{left:?}");
    let found = api.get("/api/organizations/acme/members?email=bruno@acme.test").await.json();
    let bruno = format!("/api/organizations/acme/members/{}", text(&found["items"][0]["id"]));
    let back = json!({ "enabled": true });
    api.change(Method::PATCH, &bruno, Some(&back)).await.problem(409, "member_left");
    let roles = json!({ "roles": ["clerk"], "enabled": true });
    api.change(Method::PATCH, &bruno, Some(&roles)).await.problem(409, "member_left");
    assert_eq!(api.get(&bruno).await.json()["enabled"], false);
    server.stop().await;
}

/// Two members who can manage the others.
const ADMINISTRATORS: &str = r#"
[[organization]]
slug = "duo"
name = "Duo"
  [[organization.role]]
  name = "administrator"
  permissions = ["memberships:write"]
[[account]]
email = "eva@duo.test"
password = "correct horse battery staple"
memberships = [{ organization = "duo", roles = ["administrator"] }]
[[account]]
email = "rui@duo.test"
password = "correct horse battery staple"
memberships = [{ organization = "duo", roles = ["administrator"] }]
"#;

#[tokio::test]
async fn the_last_administrator_of_an_organization_does_not_leave_raced_or_not() {
    let server = TestServer::open().await;
    server.apply(ADMINISTRATORS).await;
    let mut race = JoinSet::new();
    let mut sessions = Vec::new();
    for email in ["eva@duo.test", "rui@duo.test"] {
        let session = server.sign_in(email).await;
        let request = server.request(Method::DELETE, "/me/organizations/duo");
        let request = request.header("x-session-token", &session);
        let request = request.body(http_body_util::Full::default()).unwrap();
        sessions.push(session);
        let outside = *server;
        race.spawn(async move {
            let answer = outside.send(request).await;
            (answer.status.as_u16(), answer.text())
        });
    }
    let mut seen = race.join_all().await;
    seen.sort();
    assert_eq!((seen[0].0, seen[1].0), (204, 409), "{seen:?}");
    assert!(seen[1].1.contains("last_administrator"), "{seen:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_person_reads_the_history_of_their_own_account_newest_first_and_by_pages() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    server.step(&flow, "identifier", json!({ "identifier": ANA })).await;
    server.step(&flow, "password", json!({ "password": "wrong" })).await;
    server.sign_in("bruno@acme.test").await;
    server.clock.advance(std::time::Duration::from_mins(5));
    let set = json!({ "password": PASSWORD, "keep_sessions": true });
    let path = (session.as_str(), "/me/password");
    let set = crate::me_account::send(&server, Method::PUT, path, &set).await;
    let session = crate::me_account::renewed(&set);
    let all = items(&server, &session, "/me/history").await;
    let events: Vec<&str> = all.iter().map(|one| text(&one["event"])).collect();
    assert_eq!(events[..2], ["session.renewed", "credential.password_set"], "{events:?}");
    for event in ["sign_in.succeeded", "sign_in.failed", "account.created", "membership.created"] {
        let count = events.iter().filter(|one| **one == event).count();
        assert_eq!(count, 1, "{event}, and none of another person: {events:?}");
    }
    assert!(text(&all[0]["address"]).starts_with("127."), "{}", all[0]);
    let created = all.iter().find(|one| one["event"] == "account.created").unwrap();
    assert_eq!(created["actor"], json!({ "type": "operator" }));
    // Page by page it is the same.
    let mut paged: Vec<Value> = Vec::new();
    let mut path = "/me/history?limit=2".to_owned();
    loop {
        let page = get_in(&server, &session, &path).await.json();
        let found = page["items"].as_array().unwrap();
        assert!(found.len() <= 2 && !found.is_empty(), "{page}");
        paged.extend(found.iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/me/history?limit=2&cursor={next}");
    }
    assert_eq!(paged, all);
    for (query, problem) in [
        ("limit=0", "invalid_limit"),
        ("limit=1000", "invalid_limit"),
        ("cursor=%00", "invalid_cursor"),
        ("cursor=AAAA", "invalid_cursor"),
        ("account=bruno", "invalid_request"),
    ] {
        let refused = get_in(&server, &session, &format!("/me/history?{query}")).await;
        refused.problem(400, problem);
    }
    let proof = server.running().system().store().verify_log(&[]).await.unwrap();
    assert!(proof.findings.is_empty(), "{proof:?}");
    server.stop().await;
}

#[tokio::test]
async fn an_export_has_everything_that_is_held_of_a_person_and_no_secret() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    consented(&server, &session).await;
    let answer = get_in(&server, &session, "/me/export").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let attached = answer.header("content-disposition").unwrap().to_owned();
    assert!(attached.starts_with("attachment"), "{attached}");
    let export = answer.json();
    assert_eq!(text(&export["account"]["email"]), ANA);
    assert_eq!(text(&export["account"]["phone_number"]), "+351910000000");
    for list in ["sessions", "consents", "organizations", "history"] {
        assert!(!export[list].as_array().unwrap().is_empty(), "{list}: {export}");
    }
    assert!(text(&export["credentials"]["password_since"]).ends_with('Z'));
    let whole = answer.text();
    for secret in ["argon2", &session, "fingerprint", "verifier", "bruno"] {
        assert!(!whole.contains(secret), "{secret}: {whole}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_export_has_what_clients_asked_for_and_what_was_decided() {
    let server = ciba::open_in(TestOptions::default()).await;
    let session = server.sign_in(ANA).await;
    let scope = [("scope", "openid invoices:read"), ("authorization_details", ciba::TRANSFER)];
    ciba::start(*server, "agent", ANA, &scope).await;
    ciba::say(&server, &session, "deny").await;
    server.clock.advance(Duration::from_secs(1));
    ciba::start(*server, "agent", ANA, &[]).await;
    ciba::say(&server, &session, "approve").await;
    server.clock.advance(Duration::from_secs(1));
    ciba::start(*server, "rival", ANA, &[("binding_message", "7")]).await;
    ciba::start(*server, "agent", "clara@nowhere.test", &[]).await;
    let export = get_in(&server, &session, "/me/export").await.json();
    let [waiting, approved, denied] = &export["approvals"].as_array().unwrap()[..] else {
        panic!("{export}")
    };
    assert_eq!((&waiting["client_id"], waiting.get("decision")), (&json!("rival"), None));
    assert_eq!(
        (&approved["client_id"], &approved["decision"]),
        (&json!("agent"), &json!("approved"))
    );
    assert_eq!((text(&approved["shown"]).len(), &approved["scope"]), (43, &json!("openid")));
    assert_eq!((&denied["decision"], &denied["organization"]), (&json!("denied"), &json!("acme")));
    assert_eq!(denied["scope"], "openid invoices:read");
    assert_eq!(denied["authorization_details"], json!(["transfer"]));
    for one in [approved, denied] {
        assert!(text(&one["asked_at"]) <= text(&one["decided_at"]), "{one}");
    }
    let [one] = &export["approvals_waiting"].as_array().unwrap()[..] else { panic!("{export}") };
    assert_eq!((&one["binding_message"], &one["id"]), (&json!("7"), &waiting["id"]));
    assert_eq!(export["blocked_clients"], json!([]));
    // The requests themselves are forgotten, and what was decided is not.
    server.clock.advance(Duration::from_mins(10));
    let block = json!({ "decision": "deny", "block": true });
    ciba::start(*server, "rival", ANA, &[]).await;
    let items = items(&server, &session, "/me/approvals").await;
    let said = ciba::decide(*server, &session, text(&items[0]["id"]), block).await;
    assert_eq!(said.status, 204, "{said:?}");
    let export = get_in(&server, &session, "/me/export").await.json();
    assert_eq!(export["approvals"].as_array().unwrap().len(), 4, "{export}");
    assert_eq!(export["approvals_waiting"], json!([]));
    assert_eq!(export["blocked_clients"][0]["client"]["client_id"], "rival");
    assert!(!export.to_string().contains("pbr_"), "{export}");
    server.stop().await;
}

#[tokio::test]
async fn nothing_of_a_person_is_shown_or_changed_without_a_session() {
    let server = TestServer::open().await;
    for path in ["/me/consents", "/me/organizations", "/me/history", "/me/export"] {
        server.get(path).await.problem(401, "session_required");
    }
    for path in [
        "/me",
        "/me/sessions",
        "/me/password",
        "/me/phone",
        "/me/consents/AAAA",
        "/me/organizations/acme",
    ] {
        let answer = crate::me::ask(&server, Method::DELETE, path, &[]).await;
        answer.problem(401, "session_required");
    }
    for path in ["/me/email", "/me/email/confirm", "/me/phone", "/me/phone/confirm"] {
        let body = json!({ "email": "a@b.test", "phone_number": "+351910000000", "code": "1" });
        server.post_json(path, &body, &[]).await.problem(401, "session_required");
    }
    server.stop().await;
}
