//! An invitation brings back no one who was removed, and is worth what its inviter holds (review 2, A9).

use crate::{
    api_caller::{Api, EVERYTHING, directory},
    http::Answer,
    invitations::invited,
    mails::{link, mails},
    me::delete_in,
    person::{PASSWORD, parameter, text},
    scim_caller::{Scim, invitation, join},
    support::TestServer,
};
use hyper::Method;
use serde_json::{Value, json};

const RITA: &str = "rita@acme.test";
const CLARA: &str = "clara@nowhere.test";
const INVITATIONS: &str = "/api/organizations/acme/invitations";
const MEMBERS: &str = "/api/organizations/acme/members";

/// Invites an address and returns the token of the mail.
async fn invite(api: &Api<'_>, email: &str, roles: &[&str]) -> String {
    let to = async || {
        let mut mails = mails(api.server).await;
        mails.retain(|mail| mail["to"] == email);
        mails
    };
    api.server.quiet().await;
    let before = to().await.len();
    let made = api.post(INVITATIONS, &json!({ "email": email, "roles": roles })).await;
    assert_eq!(made.status, 201, "{made:?}");
    crate::shared::eventually("the mail", async || to().await.len() > before).await;
    parameter(&link(&to().await[0]), "token").unwrap()
}

async fn open(server: &TestServer, token: &str) -> Answer {
    server.post_json("/flows", &json!({ "kind": "invitation", "token": token }), &[]).await
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
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["state"]),
        (200, &json!("done")),
        "{answer:?}"
    );
}

async fn pending(api: &Api<'_>) -> Vec<Value> {
    api.get(INVITATIONS).await.json()["items"].as_array().unwrap().clone()
}

/// The membership of an address.
async fn member(api: &Api<'_>, email: &str) -> Value {
    let found = api.get(&format!("{MEMBERS}?email={email}")).await.json();
    found["items"][0].clone()
}

async fn remove(api: &Api<'_>, email: &str) {
    let path = format!("{MEMBERS}/{}", text(&member(api, email).await["id"]));
    let ended = api.change(Method::PATCH, &path, Some(&json!({ "enabled": false }))).await;
    assert_eq!(ended.status, 200, "{ended:?}");
}

#[tokio::test]
async fn a_new_invitation_takes_the_place_of_the_one_that_is_pending() {
    let server = directory().await;
    let api = Api::of(&server, RITA, EVERYTHING).await;
    let first = invite(&api, CLARA, &["clerk"]).await;
    let begun = open(&server, &first).await.json();
    let second = invite(&api, "Clara@NOWHERE.test", &["auditor", "clerk"]).await;
    assert_eq!(pending(&api).await.len(), 1);
    open(&server, &first).await.problem(400, "invitation_not_valid");
    let late = server.step(&begun, "password", json!({ "password": PASSWORD })).await;
    late.problem(400, "invitation_not_valid");
    // That of the operator's command as well, and it replaces as well.
    let third = invited(&server, CLARA, &["clerk"]).await;
    open(&server, &second).await.problem(400, "invitation_not_valid");
    let elsewhere = invite(&api, "eva@acme.test", &[]).await;
    assert_eq!(open(&server, &elsewhere).await.status, 201, "of another address");
    accepted(&accept(&server, &third).await);
    assert_eq!(member(&api, CLARA).await["roles"], json!(["clerk"]));
    server.stop().await;
}

#[tokio::test]
async fn an_invitation_that_was_pending_brings_no_removed_member_back() {
    let server = directory().await;
    let api = Api::of(&server, RITA, EVERYTHING).await;
    accepted(&accept(&server, &invite(&api, CLARA, &["clerk"]).await).await);
    let unused = invite(&api, CLARA, &["auditor"]).await;
    let begun = open(&server, &unused).await.json();
    remove(&api, CLARA).await;
    assert!(pending(&api).await.is_empty());
    accept(&server, &unused).await.problem(400, "invitation_not_valid");
    let late = server.step(&begun, "password", json!({ "password": PASSWORD })).await;
    late.problem(400, "invitation_not_valid");
    assert_eq!(member(&api, CLARA).await["enabled"], false);
    // A new one does.
    accepted(&accept(&server, &invite(&api, CLARA, &["clerk"]).await).await);
    assert_eq!(member(&api, CLARA).await["enabled"], true);
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_has_left_is_asked_again_and_by_no_older_invitation() {
    let server = directory().await;
    let api = Api::of(&server, RITA, EVERYTHING).await;
    accepted(&accept(&server, &invite(&api, CLARA, &["clerk"]).await).await);
    let unused = invite(&api, CLARA, &["clerk"]).await;
    let session = server.sign_in(CLARA).await;
    let left = delete_in(&server, &session, "/me/organizations/acme").await;
    assert_eq!(left.status, 204, "{left:?}");
    accept(&server, &unused).await.problem(400, "invitation_not_valid");
    let path = format!("{MEMBERS}/{}", text(&member(&api, CLARA).await["id"]));
    let back = api.change(Method::PATCH, &path, Some(&json!({ "enabled": true }))).await;
    back.problem(409, "member_left");
    accepted(&accept(&server, &invite(&api, CLARA, &["clerk"]).await).await);
    server.stop().await;
}

#[tokio::test]
async fn a_file_that_ends_a_membership_withdraws_what_is_pending() {
    let server = directory().await;
    let api = Api::of(&server, RITA, EVERYTHING).await;
    accepted(&accept(&server, &invite(&api, CLARA, &["clerk"]).await).await);
    let unused = invite(&api, CLARA, &["clerk"]).await;
    server.apply("[[account]]\nemail = \"clara@nowhere.test\"\nmemberships = []\n").await;
    accept(&server, &unused).await.problem(400, "invitation_not_valid");
    // A file that changes nothing withdraws nothing.
    let again = invite(&api, CLARA, &["clerk"]).await;
    server.apply("[[account]]\nemail = \"clara@nowhere.test\"\nmemberships = []\n").await;
    accepted(&accept(&server, &again).await);
    server.stop().await;
}

#[tokio::test]
async fn an_invitation_is_worth_what_its_inviter_holds_when_it_is_accepted() {
    let server = directory().await;
    let second = "[[account]]\nemail = \"bruno@acme.test\"\n\
                  memberships = [{ organization = \"acme\", roles = [\"administrator\", \"clerk\"] }]\n";
    server.apply(second).await;
    let api = Api::of(&server, RITA, EVERYTHING).await;
    let by_bruno = Api::of(&server, "bruno@acme.test", EVERYTHING).await;
    let roles_of = |email: &'static str| format!("[[account]]\nemail = \"{email}\"\n");
    // The inviter has lost one of the roles that are invited to.
    let token = invite(&by_bruno, CLARA, &["clerk"]).await;
    let begun = open(&server, &token).await.json();
    let less = "memberships = [{ organization = \"acme\", roles = [\"administrator\"] }]\n";
    server.apply(&(roles_of("bruno@acme.test") + less)).await;
    open(&server, &token).await.problem(400, "invitation_not_valid");
    let late = server.step(&begun, "password", json!({ "password": PASSWORD })).await;
    late.problem(400, "invitation_not_valid");
    // It was not spent: with the role it is good again.
    server.apply(second).await;
    accepted(&accept(&server, &token).await);
    remove(&api, CLARA).await;
    // The inviter may invite no more, or is no member any more.
    for memberships in
        ["memberships = [{ organization = \"acme\", roles = [\"clerk\"] }]\n", "memberships = []\n"]
    {
        server.apply(second).await;
        let by_bruno = Api::of(&server, "bruno@acme.test", EVERYTHING).await;
        let token = invite(&by_bruno, "dora@acme.test", &["clerk"]).await;
        server.apply(&(roles_of("bruno@acme.test") + memberships)).await;
        accept(&server, &token).await.problem(400, "invitation_not_valid");
    }
    // An owner invites a clerk, and signs in meanwhile as often as they like.
    let token = invite(&api, CLARA, &["clerk"]).await;
    server.sign_in(RITA).await;
    accepted(&accept(&server, &token).await);
    // What the operator's command has made stays good.
    server.apply(&(roles_of("bruno@acme.test") + "memberships = []\n")).await;
    let token = invited(&server, "bruno@acme.test", &["manager"]).await;
    accepted(&accept(&server, &token).await);
    server.stop().await;
}

#[tokio::test]
async fn a_directory_leaves_an_administrators_invitation_in_place_while_it_is_good() {
    let server = directory().await;
    let bruno = "[[account]]\nemail = \"bruno@acme.test\"\n";
    let second =
        "memberships = [{ organization = \"acme\", roles = [\"administrator\", \"clerk\"] }]\n";
    server.apply(&format!("{bruno}{second}")).await;
    let scim = Scim::of(&server, "acme").await;
    let by_bruno = Api::of(&server, "bruno@acme.test", EVERYTHING).await;
    let by_hand = invite(&by_bruno, CLARA, &["clerk"]).await;
    let dead = invite(&by_bruno, "gil@far.test", &["clerk"]).await;
    let user = scim.user(CLARA).await;
    accepted(&accept(&server, &by_hand).await);
    let shown = scim.get(&user).await.json();
    assert_eq!(shown["groups"][0]["value"], "clerk", "what the administrator has given: {shown}");
    // What an inviter has given who may no more is not passed on by the directory.
    server.apply(&format!("{bruno}memberships = []\n")).await;
    let user = scim.user("gil@far.test").await;
    let token = invitation(&server, "gil@far.test", 2).await;
    open(&server, &dead).await.problem(400, "invitation_not_valid");
    join(&server, &token, "gil@far.test").await;
    let shown = scim.get(&user).await.json();
    assert!(shown.get("groups").is_none(), "{shown}");
    let all = mails(&server).await;
    let to_clara = all.iter().filter(|mail| mail["to"] == CLARA);
    assert_eq!(to_clara.count(), 1, "one invitation, and no second one");
    server.stop().await;
}
