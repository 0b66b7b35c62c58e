//! Nobody is flooded with invitations, and no organization with tries of its endpoints (review 2, A6).

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING, directory},
    http::Answer,
    links::node,
    mails::{mails, wait_for},
    support::{TestOptions, TestServer},
    webhook_receiver::Receiver,
};
use hyper::Method;
use porteiro::http::limits::pace::Rates;
use serde_json::{Value, json};
use std::time::Duration;

const INVITATIONS: &str = "/api/organizations/acme/invitations";

async fn invite(api: &Api<'_>, email: &str) -> Answer {
    api.post(INVITATIONS, &json!({ "email": email })).await
}

#[tokio::test]
async fn a_member_does_not_flood_a_stranger_with_invitations() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", "memberships:write").await;
    let mut sent = 0;
    for number in 0..300 {
        // However the address is written.
        let email = if number % 2 == 0 { "stranger@far.test" } else { " Stranger@FAR.test" };
        let answer = invite(&api, email).await;
        if answer.status == 201 {
            sent += 1;
            continue;
        }
        answer.problem(429, "too_many_requests");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((3_600..=86_400).contains(&wait), "{wait}");
    }
    assert_eq!(sent, 3);
    // Others are invited, and another organization invites the stranger.
    assert_eq!(invite(&api, "other@far.test").await.status, 201);
    let other = Api::of(&server, "otto@other.test", "memberships:write").await;
    let path = "/api/organizations/other/invitations";
    let body = json!({ "email": "stranger@far.test" });
    assert_eq!(other.post(path, &body).await.status, 201);
    wait_for(&server, 5).await;
    assert_eq!(mails(&server).await.len(), 5);
    server.clock.advance(Duration::from_hours(24));
    let api = Api::of(&server, "rita@acme.test", "memberships:write").await;
    assert_eq!(invite(&api, "stranger@far.test").await.status, 201, "the next day");
    server.stop().await;
}

#[tokio::test]
async fn an_owner_invites_a_team_of_fifty_at_once() {
    let server = directory().await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    for number in 0..50 {
        let answer = invite(&api, &format!("p{number}@acme.test")).await;
        assert_eq!(answer.status, 201, "{number}: {answer:?}");
    }
    server.stop().await;
}

/// An organization invites five people in a day.
fn five_a_day() -> TestOptions {
    let mut rates = Rates::default();
    rates.invitations.per_day = 5;
    TestOptions { rates: Some(rates), ..node() }
}

#[tokio::test]
async fn an_organization_has_an_allowance_for_a_day_and_refusals_cost_nothing() {
    let server = TestServer::open_in(five_a_day()).await;
    server.apply(DIRECTORY).await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let statuses = async |numbers: std::ops::Range<u32>| {
        let mut statuses = Vec::new();
        for number in numbers {
            let answer = invite(&api, &format!("p{number}@acme.test")).await;
            statuses.push(answer.status.as_u16());
        }
        statuses
    };
    // What is refused for another reason is not charged.
    for _ in 0..10 {
        let body = json!({ "email": "p0@acme.test", "roles": ["manager"] });
        api.post(INVITATIONS, &body).await.problem(403, "permission_not_held");
        invite(&api, "nowhere").await.problem(400, "invalid_request");
    }
    assert_eq!(statuses(0..7).await, [201, 201, 201, 201, 201, 429, 429]);
    // What another organization does is its own.
    let other = Api::of(&server, "otto@other.test", EVERYTHING).await;
    let body = json!({ "email": "p9@acme.test" });
    assert_eq!(other.post("/api/organizations/other/invitations", &body).await.status, 201);
    // A fifth of a day later there is one again.
    server.clock.advance(Duration::from_hours(5));
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    assert_eq!(invite(&api, "late@acme.test").await.status, 201);
    invite(&api, "later@acme.test").await.problem(429, "too_many_requests");
    server.stop().await;
}

#[tokio::test]
async fn two_nodes_charge_one_allowance() {
    let server = TestServer::open_in(five_a_day()).await;
    server.apply(DIRECTORY).await;
    let other = server.beside(five_a_day()).await;
    let here = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let there = Api { server: &other, token: here.token.clone(), reason: None };
    let mut made = 0;
    for number in 0..6 {
        let (one, two) = (format!("a{number}@acme.test"), format!("b{number}@acme.test"));
        let (one, two) = tokio::join!(invite(&here, &one), invite(&there, &two));
        for answer in [one, two] {
            assert!(matches!(answer.status.as_u16(), 201 | 429), "{answer:?}");
            made += u32::from(answer.status == 201);
        }
    }
    assert_eq!(made, 5);
    other.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn an_organization_tries_its_endpoints_only_so_often() {
    let options = TestOptions { private_networks: true, mailbox: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    server.apply(DIRECTORY).await;
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let path = "/api/organizations/acme/webhooks";
    let receiver = Receiver::open().await;
    let body = json!({ "url": receiver.url, "events": ["client.created"] });
    let made = api.post(path, &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    let made: Value = made.json();
    let test = format!("{path}/{}/test", made["id"].as_str().unwrap());
    let try_it = async || api.call(Method::POST, &test, None, &[]).await;
    for _ in 0..30 {
        assert_eq!(try_it().await.status, 204);
    }
    let refused = try_it().await;
    refused.problem(429, "too_many_requests");
    assert!(refused.header("retry-after").is_some());
    server.clock.advance(Duration::from_mins(15));
    let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    assert_eq!(api.call(Method::POST, &test, None, &[]).await.status, 204);
    server.stop().await;
}
