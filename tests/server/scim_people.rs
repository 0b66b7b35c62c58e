//! What becomes of people whom a directory names, takes away and names again (adr/0133).

use crate::{
    http::Answer,
    invitations::invited,
    mails::{mails, names},
    me::{delete_in, get_in, records},
    person::{PASSWORD, claims, parameter, redirect, text},
    scim_caller::{Scim, USER, id, invitation, join, open, provisioned, refused, sent},
    support::TestServer,
};
use serde_json::{Value, json};

const CLARA: &str = "clara@nowhere.test";
const BRUNO: &str = "bruno@acme.test";

/// Asks for tokens that speak for an organization.
async fn asked(server: &TestServer, email: &str, slug: &str, scope: &str) -> Option<Value> {
    // What a person may not is seen for a second as it was.
    server.clock.expire_views();
    let session = server.sign_in(email).await;
    let fields = [("scope", scope), ("organization", slug)];
    let answer = server.authorize_in(&session, "web", &fields).await;
    let code = parameter(&redirect(&answer), "code")?;
    let tokens = server.redeem("web", &code).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    Some(tokens.json())
}

async fn granted(server: &TestServer, email: &str, slug: &str) -> Value {
    asked(server, email, slug, "openid invoices:read offline_access").await.unwrap()
}

/// Accepts with the password of an account that is there.
async fn accept(server: &TestServer, token: &str) -> Answer {
    let opened = open(server, token).await;
    if opened.status != 201 {
        return opened;
    }
    server.step(&opened.json(), "password", json!({ "password": PASSWORD })).await
}

#[track_caller]
fn accepted(answer: &Answer) {
    assert_eq!(answer.json()["state"], "done", "{answer:?}");
}

/// Insists that nothing of what was granted is good at the next request.
async fn is_ended(server: &TestServer, tokens: &Value) {
    let access = text(&tokens["access_token"]);
    assert_eq!(server.introspect("web", access).await, json!({ "active": false }));
    server.userinfo(access).await.refused(401, "invalid_token");
    let refresh = text(&tokens["refresh_token"]);
    server.refresh("web", refresh).await.refused(400, "invalid_grant");
}

/// Puts a User into a Group whose role confers `invoices:read`.
async fn in_clerk(scim: &Scim, user: &str) {
    let add = json!([{ "op": "add", "path": "members", "value": [{ "value": id(user) }] }]);
    assert_eq!(scim.patch("/Groups/clerk", &add).await.status, 204);
}

async fn user_of(scim: &Scim, address: &str) -> String {
    let found = scim.found("Users", &format!("userName eq \"{address}\"")).await;
    format!("/Users/{}", text(&found["Resources"][0]["id"]))
}

#[tokio::test]
async fn a_person_accepts_and_is_the_user_that_the_directory_knows() {
    let (server, scim) = provisioned().await;
    let body = json!({
        "schemas": [USER], "userName": "EVA.LIMA", "externalId": "e-1", "displayName": "Eva",
        "emails": [{ "value": "home@far.test", "type": "home" }, { "value": "Eva@far.test", "type": "work" }],
    });
    let user = scim.made("/Users", &body).await;
    assert_eq!(sent(&scim.get(&user).await.json()), body);
    scim.group("readers", &[&user]).await;
    in_clerk(&scim, &user).await;
    let before = scim.get(&user).await.json();

    let token = invitation(&server, "eva@far.test", 1).await;
    let session = join(&server, &token, "eva@far.test").await;
    let code = server.code(&session, "web", "openid invoices:read").await;
    let tokens = server.redeem("web", &code).await.json();
    let said = claims(&tokens["access_token"]);
    assert_eq!((&said["membership"], &said["org"]), (&json!(id(&user)), &json!("acme")));
    let mut roles: Vec<&str> = text(&said["role"]).split(' ').collect();
    roles.sort_unstable();
    assert_eq!(roles, ["clerk", "readers"]);
    let after = scim.get(&user).await.json();
    assert_eq!((sent(&after), &after["groups"]), (sent(&before), &before["groups"]));
    open(&server, &token).await.problem(400, "invitation_not_valid");
    // The account is the person's: what the directory said of them is not in it.
    let userinfo = server.userinfo(text(&tokens["access_token"])).await.json();
    assert!(!userinfo.to_string().contains("Eva\""), "{userinfo}");
    server.stop().await;
}

#[tokio::test]
async fn a_pending_user_confers_nothing_until_the_account_itself_accepts() {
    let (server, scim) = provisioned().await;
    let user = scim.user(CLARA).await;
    scim.group("readers", &[&user]).await;
    in_clerk(&scim, &user).await;
    assert!(asked(&server, CLARA, "acme", "openid").await.is_none(), "no member yet");
    let session = server.sign_in(CLARA).await;
    let listed = get_in(&server, &session, "/me/organizations").await.json();
    assert_eq!(listed["items"], json!([]));
    let token = invitation(&server, CLARA, 1).await;
    let flow = open(&server, &token).await.json();
    assert_eq!(flow["state"], "credential", "{flow}");
    assert!(!names(&flow).contains(&"new_password"), "the account's own sign-in: {flow}");
    accepted(&accept(&server, &token).await);
    let tokens = granted(&server, CLARA, "acme").await;
    assert_eq!(claims(&tokens["access_token"])["membership"], id(&user));
    server.stop().await;
}

#[tokio::test]
async fn an_answer_does_not_tell_whether_an_account_exists_elsewhere() {
    let (server, scim) = provisioned().await;
    let mut answers = Vec::new();
    for address in [CLARA, "ghost@nowhere.test"] {
        let made = scim.post("/Users", &json!({ "schemas": [USER], "userName": address })).await;
        let masked = made.text().replace(text(&made.json()["id"]), "ID").replace(address, "NAME");
        let version = text(&made.json()["meta"]["version"]).replace('"', "\\\"");
        answers.push((made.status, masked.replace(&version, "VERSION")));
        invitation(&server, address, 1).await;
    }
    assert_eq!(answers[0], answers[1]);
    // Of a member it is known in the organization itself.
    for address in [BRUNO, "BRUNO@acme.test"] {
        let body = json!({ "schemas": [USER], "userName": address });
        refused(&scim.post("/Users", &body).await, 409, Some("uniqueness"));
        let body = json!({ "schemas": [USER], "userName": "b", "emails": [{ "value": address }] });
        refused(&scim.post("/Users", &body).await, 409, Some("uniqueness"));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_changed_address_moves_the_invitation() {
    let (server, scim) = provisioned().await;
    let user = scim.user("old@far.test").await;
    let old = invitation(&server, "old@far.test", 1).await;
    let begun = open(&server, &old).await.json();
    let change = json!([{ "op": "replace", "path": "userName", "value": "new@far.test" }]);
    assert_eq!(scim.patch(&user, &change).await.status, 200);
    open(&server, &old).await.problem(400, "invitation_not_valid");
    server.step(&begun, "profile", json!({ "email": "old@far.test" })).await;
    let late = server.step(&begun, "skip", json!({})).await;
    late.problem(400, "invitation_not_valid");
    let new = invitation(&server, "new@far.test", 1).await;
    let again = json!([{ "op": "replace", "path": "title", "value": "x" }]);
    assert_eq!(scim.patch(&user, &again).await.status, 200);
    join(&server, &new, "new@far.test").await;
    server.quiet().await;
    assert_eq!(mails(&server).await.len(), 2, "what changes nothing of the address mails nothing");
    server.stop().await;
}

#[tokio::test]
async fn the_link_of_a_deactivated_or_deleted_user_is_dead() {
    let (server, scim) = provisioned().await;
    let user = scim.user("eva@far.test").await;
    let first = invitation(&server, "eva@far.test", 1).await;
    let begun = open(&server, &first).await.json();
    scim.activate(&user, false).await;
    open(&server, &first).await.problem(400, "invitation_not_valid");
    server.step(&begun, "profile", json!({ "email": "eva@far.test" })).await;
    server.step(&begun, "skip", json!({})).await.problem(400, "invitation_not_valid");
    // An administrator who invites does not bring back whom the directory has taken away.
    let by_hand = invited(&server, "eva@far.test", &["clerk"]).await;
    invitation(&server, "eva@far.test", 2).await;
    let flow = open(&server, &by_hand).await.json();
    server.step(&flow, "profile", json!({ "email": "eva@far.test" })).await;
    let late = server.step(&flow, "skip", json!({})).await;
    assert!(late.status.is_client_error(), "{late:?}");
    // Whom the directory wants again may accept it.
    scim.activate(&user, true).await;
    assert_eq!(open(&server, &by_hand).await.status, 201);
    assert_eq!(scim.delete(&user).await.status, 204);
    open(&server, &by_hand).await.problem(400, "invitation_not_valid");
    server.stop().await;
}

#[tokio::test]
async fn an_administrators_invitation_completes_a_pending_user() {
    let (server, scim) = provisioned().await;
    let user = scim.user(CLARA).await;
    let first = invitation(&server, CLARA, 1).await;
    let by_hand = invited(&server, CLARA, &["clerk"]).await;
    open(&server, &first).await.problem(400, "invitation_not_valid");
    accepted(&accept(&server, &by_hand).await);
    let tokens = granted(&server, CLARA, "acme").await;
    let said = claims(&tokens["access_token"]);
    assert_eq!((&said["membership"], &said["role"]), (&json!(id(&user)), &json!("clerk")));
    assert_eq!(scim.get(&user).await.json()["groups"][0]["value"], "clerk");
    server.stop().await;
}

#[tokio::test]
async fn without_an_address_a_user_waits_and_nothing_is_mailed() {
    let (server, scim) = provisioned().await;
    for name in ["eva", "eva@", "@far.test", "a b@far.test", "eva@far@test"] {
        let user = scim.user(name).await;
        assert_eq!(scim.get(&user).await.json()["active"], Value::Null, "as it was sent");
    }
    let home = json!({ "schemas": [USER], "userName": "h", "emails": [{ "value": "h@far.test", "type": "home" }] });
    scim.made("/Users", &home).await;
    server.quiet().await;
    assert!(mails(&server).await.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn deleting_a_user_ends_that_membership_at_the_next_request_and_nothing_else() {
    let (server, scim) = provisioned().await;
    let here = granted(&server, BRUNO, "acme").await;
    let there = asked(&server, BRUNO, "other", "openid offline_access").await.unwrap();
    let session = server.sign_in(BRUNO).await;
    let user = user_of(&scim, BRUNO).await;
    assert_eq!(scim.delete(&user).await.status, 204);
    is_ended(&server, &here).await;
    refused(&scim.get(&user).await, 404, None);
    assert!(asked(&server, BRUNO, "acme", "openid").await.is_none(), "no member any more");
    let removed = records(&server, "membership.removed").await;
    assert_eq!((removed.len(), &removed[0]["cause"]), (1, &json!("scim")), "{removed:?}");
    // The account, its session and its other membership.
    assert_eq!(get_in(&server, &session, "/me").await.status, 200);
    assert_eq!(server.introspect("web", text(&there["access_token"])).await["active"], true);
    assert_eq!(server.refresh("web", text(&there["refresh_token"])).await.status, 200);
    // Provisioned again they are asked, and what was before stays ended.
    let again = scim.user(BRUNO).await;
    assert_ne!(again, user);
    accepted(&accept(&server, &invitation(&server, BRUNO, 1).await).await);
    assert!(asked(&server, BRUNO, "acme", "invoices:read").await.is_none(), "without a role");
    in_clerk(&scim, &again).await;
    let new = granted(&server, BRUNO, "acme").await;
    assert_eq!(claims(&new["access_token"])["membership"], id(&again));
    is_ended(&server, &here).await;
    server.stop().await;
}

#[tokio::test]
async fn a_user_who_is_active_again_has_nothing_of_before() {
    let (server, scim) = provisioned().await;
    let before = granted(&server, BRUNO, "acme").await;
    let user = user_of(&scim, BRUNO).await;
    scim.activate(&user, false).await;
    is_ended(&server, &before).await;
    let ended = records(&server, "membership.ended").await;
    assert_eq!((ended.len(), &ended[0]["cause"]), (1, &json!("scim")), "{ended:?}");
    scim.activate(&user, true).await;
    is_ended(&server, &before).await;
    let after = granted(&server, BRUNO, "acme").await;
    let said = claims(&after["access_token"]);
    assert_eq!((&said["membership"], &said["role"]), (&json!(id(&user)), &json!("clerk")));
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_has_left_is_asked_back_and_comes_when_they_accept() {
    let (server, scim) = provisioned().await;
    let user = user_of(&scim, BRUNO).await;
    let session = server.sign_in(BRUNO).await;
    let left = delete_in(&server, &session, "/me/organizations/acme").await;
    assert_eq!(left.status, 204, "{left:?}");
    assert_eq!(scim.get(&user).await.json()["active"], false);
    scim.activate(&user, true).await;
    assert!(asked(&server, BRUNO, "acme", "openid").await.is_none(), "not before they accept");
    let token = invitation(&server, BRUNO, 1).await;
    // Taken back before it was accepted, and wanted again.
    scim.activate(&user, false).await;
    accept(&server, &token).await.problem(400, "invitation_not_valid");
    scim.activate(&user, true).await;
    accepted(&accept(&server, &invitation(&server, BRUNO, 2).await).await);
    let tokens = granted(&server, BRUNO, "acme").await;
    let said = claims(&tokens["access_token"]);
    assert_eq!((&said["membership"], &said["role"]), (&json!(id(&user)), &json!("clerk")));
    server.stop().await;
}

#[tokio::test]
async fn scim_writes_nothing_of_the_account() {
    let (server, scim) = provisioned().await;
    let user = user_of(&scim, "ana@acme.test").await;
    let shown = scim.get(&user).await.json();
    assert_eq!(shown["emails"][0]["value"], "ana@acme.test");
    assert!(!shown.to_string().contains("+351910000000"), "nothing else of the account: {shown}");
    assert_eq!(shown["name"], Value::Null);
    let body = json!({
        "schemas": [USER], "userName": "ana.other", "password": "another password here",
        "name": { "givenName": "Mallory" }, "emails": [{ "value": "mallory@evil.test", "primary": true }],
        "phoneNumbers": [{ "value": "+1 555" }], "active": true,
    });
    let put = scim.put(&user, &body).await;
    assert_eq!((put.status.as_u16(), &put.json()["userName"]), (200, &json!("ana.other")));
    let tokens =
        asked(&server, "ana@acme.test", "acme", "openid email profile phone").await.unwrap();
    let told = server.userinfo(text(&tokens["access_token"])).await.json();
    assert_eq!((&told["email"], &told["given_name"]), (&json!("ana@acme.test"), &json!("Ana")));
    assert_eq!(told["phone_number"], "+351910000000");
    server.quiet().await;
    assert!(mails(&server).await.is_empty(), "and mails no stranger");
    let recovered = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    let body = json!({ "identifier": "mallory@evil.test" });
    server.step(&recovered, "identifier", body).await;
    let body = json!({ "password": "another password here" });
    let wrong = server.step(&recovered, "password", body).await;
    assert!(wrong.status.is_client_error(), "{wrong:?}");
    server.stop().await;
}
