//! People whom the allowance of invitations did not permit to be invited at once are invited later, once.

use crate::{
    invitations::invited,
    mails::mails,
    me::delete_in,
    person::text,
    scim_caller::{Scim, USER, id, invitation, join, open},
    shared::eventually,
    support::{TestOptions, TestServer},
};
use porteiro::{
    domain::membership::{INVITED_AGAIN_AFTER, MOST_INVITATIONS},
    http::limits::pace::Rates,
};
use serde_json::json;
use std::time::Duration;

/// An organization invites two people in a day; those who wait are looked for all the time.
fn two_a_day() -> TestOptions {
    let mut rates = Rates::default();
    rates.invitations.per_day = 2;
    let inviter_every = Duration::from_millis(20);
    TestOptions { mailbox: true, rates: Some(rates), inviter_every, ..TestOptions::default() }
}

/// Says to whom mail went, each address once.
async fn invited_so_far(server: &TestServer) -> Vec<String> {
    let mut to: Vec<String> =
        mails(server).await.iter().map(|mail| text(&mail["to"]).to_owned()).collect();
    to.sort();
    to
}

#[tokio::test]
async fn a_user_beyond_the_allowance_is_made_and_invited_when_it_permits() {
    let server = TestServer::open_in(two_a_day()).await;
    let (scim, other) = (Scim::of(&server, "acme").await, Scim::of(&server, "other").await);
    let mut users = Vec::new();
    for number in 0..5 {
        users.push(scim.user(&format!("p{number}@far.test")).await);
    }
    for user in &users {
        assert_eq!(scim.get(user).await.status, 200, "SCIM is not refused for it");
    }
    // Another organization does not wait for the first.
    other.user("q@far.test").await;
    eventually("the mails", async || mails(&server).await.len() >= 3).await;
    server.quiet().await;
    // Two of them, and the other organization's; which two is not promised, since a worker mails beside the requests.
    let mut now = invited_so_far(&server).await;
    assert_eq!((now.len(), now.last().map(String::as_str)), (3, Some("q@far.test")), "{now:?}");
    let address = |number: usize| format!("p{number}@far.test");
    let waiting: Vec<usize> = (0..5).filter(|number| !now.contains(&address(*number))).collect();
    // One who is deleted or deactivated meanwhile is not invited any more.
    assert_eq!(scim.delete(&users[waiting[0]]).await.status, 204);
    scim.activate(&users[waiting[1]], false).await;
    server.clock.advance(Duration::from_hours(24));
    eventually("the next day", async || mails(&server).await.len() >= 4).await;
    server.quiet().await;
    let last = waiting[2];
    now.push(address(last));
    now.sort();
    assert_eq!(invited_so_far(&server).await, now);
    let token = invitation(&server, &address(last), 1).await;
    join(&server, &token, &address(last)).await;
    assert_eq!(scim.get(&users[last]).await.json()["id"], id(&users[last]));
    server.stop().await;
}

#[tokio::test]
async fn of_two_nodes_one_invites_and_an_administrators_invitation_counts() {
    let server = TestServer::open_in(two_a_day()).await;
    let scim = Scim::of(&server, "acme").await;
    for number in 0..4 {
        scim.user(&format!("p{number}@far.test")).await;
    }
    eventually("the mails", async || mails(&server).await.len() >= 2).await;
    let by_hand = invited(&server, "p2@far.test", &["clerk"]).await;
    invitation(&server, "p2@far.test", 1).await;
    // Each node has a mailbox of its own; a message is handed over by either.
    let beside = server.beside(two_a_day()).await;
    let all = async || {
        let mut to = invited_so_far(&server).await;
        to.extend(invited_so_far(&beside).await);
        to.sort();
        to
    };
    server.clock.advance(Duration::from_hours(24));
    eventually("the rest", async || all().await.contains(&"p3@far.test".to_owned())).await;
    server.quiet().await;
    assert_eq!(all().await, ["p0@far.test", "p1@far.test", "p2@far.test", "p3@far.test"]);
    assert_eq!(open(&server, &by_hand).await.status, 201, "it was not replaced");
    beside.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_has_left_is_asked_back_later_as_well() {
    let server = TestServer::open_in(two_a_day()).await;
    let scim = Scim::of(&server, "acme").await;
    scim.user("p0@far.test").await;
    scim.user("p1@far.test").await;
    let session = server.sign_in("bruno@acme.test").await;
    let left = delete_in(&server, &session, "/me/organizations/acme").await;
    assert_eq!(left.status, 204, "{left:?}");
    let found = scim.found("Users", "userName eq \"bruno@acme.test\"").await;
    scim.activate(&format!("/Users/{}", text(&found["Resources"][0]["id"])), true).await;
    // A suspended organization invites no one.
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    server.clock.advance(Duration::from_hours(24));
    server.quiet().await;
    assert_eq!(invited_so_far(&server).await, ["p0@far.test", "p1@far.test"]);
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = true\n").await;
    invitation(&server, "bruno@acme.test", 1).await;
    server.stop().await;
}

#[tokio::test]
async fn where_no_mail_is_sent_users_wait() {
    let inviter_every = Duration::from_millis(20);
    let options = TestOptions { inviter_every, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let scim = Scim::of(&server, "acme").await;
    let made = scim.post("/Users", &json!({ "schemas": [USER], "userName": "p@far.test" })).await;
    assert_eq!(made.status, 201, "{made:?}");
    server.quiet().await;
    let with_mail = server.beside(two_a_day()).await;
    invitation(&with_mail, "p@far.test", 1).await;
    with_mail.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn who_does_not_accept_is_invited_again_and_not_for_ever() {
    let server = TestServer::open_in(two_a_day()).await;
    let scim = Scim::of(&server, "acme").await;
    let user = scim.user("p@far.test").await;
    let mut token = invitation(&server, "p@far.test", 1).await;
    for count in 2..=MOST_INVITATIONS as usize {
        server.clock.advance(INVITED_AGAIN_AFTER);
        let next = invitation(&server, "p@far.test", count).await;
        open(&server, &token).await.problem(400, "invitation_not_valid");
        token = next;
    }
    server.clock.advance(INVITED_AGAIN_AFTER * 2);
    // The worker has been there: it has invited one who was named later.
    scim.user("q@far.test").await;
    scim.user("r@far.test").await;
    scim.user("s@far.test").await;
    server.clock.advance(Duration::from_hours(24));
    invitation(&server, "s@far.test", 1).await;
    let to_p = mails(&server).await.into_iter().filter(|mail| mail["to"] == "p@far.test");
    assert_eq!(to_p.count(), MOST_INVITATIONS as usize);
    // The directory begins anew.
    scim.activate(&user, false).await;
    scim.activate(&user, true).await;
    let count = MOST_INVITATIONS as usize + 1;
    let token = invitation(&server, "p@far.test", count).await;
    join(&server, &token, "p@far.test").await;
    server.stop().await;
}
