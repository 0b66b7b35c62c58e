//! Callers without credentials that have documents of clients fetched: how often, and at whose expense
//! (adr/0114).

use crate::{
    http::{Answer, try_send},
    outside::Outside,
    person::asking,
    shared::eventually,
    site::{Conduct, Site},
    support::{TestOptions, TestServer, basic, form},
};
use hyper::{Method, StatusCode};
use porteiro::{http::Limits, server::Issuer};
use std::time::Duration;
use tokio::task::JoinSet;

const LONG: Duration = Duration::from_mins(1);

/// The address of the one that attacks, as a trusted proxy says it, and of another caller.
const ATTACKER: &str = "203.0.113.66";
const OTHER: &str = "198.51.100.7";

/// A server behind a proxy on this machine, so that a header says who calls.
async fn open(site: &Site, limits: Limits) -> TestServer {
    TestServer::open_in(TestOptions {
        client_documents: Some(site.fetcher(LONG)),
        issuer: Issuer::Named("https://id.example.com".to_owned()),
        proxies: vec!["127.0.0.0/8".parse().unwrap()],
        limits,
        ..TestOptions::default()
    })
    .await
}

/// Begins to sign in to the client whose document is at an address.
async fn authorize(server: Outside, from: &str, client: &str) -> Answer {
    let path = format!("/connect/authorize?{}", asking(client, &[]));
    let request = server.request(Method::GET, &path).header("x-forwarded-for", from);
    try_send(server.address, request.body(form(&[])).unwrap()).await.unwrap()
}

async fn post(server: Outside, from: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
    let request = server
        .request(Method::POST, path)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("x-forwarded-for", from);
    server.send(request.body(form(fields)).unwrap()).await
}

/// Has a client of the scene ask for a token.
async fn token(server: Outside, from: &str) -> StatusCode {
    let request = server
        .request(Method::POST, "/connect/token")
        .header("authorization", basic("billing", crate::support::SECRET))
        .header("content-type", "application/x-www-form-urlencoded")
        .header("x-forwarded-for", from);
    let fields = [("grant_type", "client_credentials"), ("scope", "invoices:read")];
    server.send(request.body(form(&fields)).unwrap()).await.status
}

/// Addresses of documents at a site, as many as one likes.
fn documents(site: &Site) -> impl Iterator<Item = String> {
    let base = site.url.clone();
    (0..).map(move |number| format!("{base}/{number}"))
}

#[tokio::test]
async fn the_token_endpoint_calls_no_host_that_a_stranger_names() {
    let site = Site::new(Conduct::Hang).await;
    let server = open(&site, Limits::default()).await;
    let mut callers = JoinSet::new();
    for client in documents(&site).take(300) {
        let outside = *server;
        callers.spawn(async move {
            let fields = [("client_id", client.as_str()), ("grant_type", "authorization_code")];
            for path in ["/connect/token", "/connect/introspect", "/connect/revoke"] {
                let refused = post(outside, ATTACKER, path, &fields).await;
                assert!([401, 429].contains(&refused.status.as_u16()), "{refused:?}");
            }
        });
        if callers.len() >= 20 {
            callers.join_next().await.unwrap().unwrap();
        }
    }
    callers.join_all().await;
    assert_eq!(site.connections(), 0);
    server.stop().await;
}

#[tokio::test]
async fn an_address_pays_for_what_it_has_fetched_before_it_is_fetched() {
    let site = Site::new(Conduct::Answer(StatusCode::NOT_FOUND, String::new())).await;
    let server = open(&site, Limits::default()).await;
    let mut refused = 0;
    for client in documents(&site).take(40) {
        let answer = authorize(*server, ATTACKER, &client).await;
        if answer.status == 429 {
            assert!(answer.header("retry-after").is_some(), "{answer:?}");
            refused += 1;
        }
    }
    assert_eq!((site.asked(), refused), (30, 10));
    // PAR and device are paid for likewise, and another address has an allowance of its own.
    for path in ["/connect/par", "/connect/device"] {
        let client = format!("{}{path}", site.url);
        let answer = post(*server, ATTACKER, path, &[("client_id", &client)]).await;
        assert_eq!(answer.status, 429, "{answer:?}");
        let answer = post(*server, OTHER, path, &[("client_id", &client)]).await;
        assert_eq!(answer.status, 401, "{answer:?}");
    }
    assert_eq!(site.asked(), 32);
    server.clock.advance(Duration::from_mins(1));
    let client = format!("{}/later", site.url);
    assert_eq!(authorize(*server, ATTACKER, &client).await.status, 400);
    server.stop().await;
}

#[tokio::test]
async fn a_host_is_called_at_its_rate_by_however_many_addresses() {
    let site = Site::new(Conduct::Answer(StatusCode::NOT_FOUND, String::new())).await;
    let server = open(&site, Limits::default()).await;
    for (number, client) in documents(&site).take(200).enumerate() {
        let from = format!("198.51.{}.{}", number / 200, number % 200);
        let answer = authorize(*server, &from, &client).await;
        assert!([400, 503].contains(&answer.status.as_u16()), "{answer:?}");
    }
    assert_eq!(site.connections(), 60, "and a caller beyond that comes back");
    server.clock.advance(Duration::from_secs(5));
    for client in documents(&site).skip(200).take(20) {
        authorize(*server, OTHER, &client).await;
    }
    assert_eq!(site.connections(), 65);
    server.stop().await;
}

#[tokio::test]
async fn one_address_that_has_silent_hosts_called_takes_no_permit_of_another() {
    let site = Site::new(Conduct::Hang).await;
    let limits = Limits { requests: 16, work_permits_per_address: 4, ..Limits::default() };
    let server = open(&site, limits).await;
    let mut callers = JoinSet::new();
    for client in documents(&site).take(20) {
        let outside = *server;
        callers.spawn(async move { authorize(outside, ATTACKER, &client).await.status.as_u16() });
    }
    // Those that got a permit wait for the site; the others are told to come back.
    for _ in 0..16 {
        assert_eq!(callers.join_next().await.unwrap().unwrap(), 429);
    }
    eventually("the site is called", async || site.asked() == 4).await;
    for _ in 0..50 {
        assert_eq!(token(*server, OTHER).await, 200);
        assert_eq!(token(*server, ATTACKER).await, 429);
    }
    callers.abort_all();
    while callers.join_next().await.is_some() {}
    // What they had taken is given back when they have hung up.
    eventually("a permit", async || token(*server, ATTACKER).await == 200).await;
    server.stop().await;
}

#[tokio::test]
async fn a_burst_over_many_documents_leaves_other_callers_served() {
    let site = Site::new(Conduct::Hang).await;
    let server = open(&site, Limits::default()).await;
    let outside = *server;
    let mut callers = JoinSet::new();
    for (number, client) in documents(&site).take(440).enumerate() {
        callers.spawn(async move {
            match number % 3 {
                0 => authorize(outside, ATTACKER, &client).await,
                1 => post(outside, ATTACKER, "/connect/par", &[("client_id", &client)]).await,
                _ => post(outside, ATTACKER, "/connect/token", &[("client_id", &client)]).await,
            }
        });
        if number % 20 == 0 {
            assert_eq!(token(outside, OTHER).await, 200);
        }
    }
    for _ in 0..100 {
        assert_eq!(token(outside, OTHER).await, 200);
    }
    assert!(site.connections() <= 30, "{}", site.connections());
    callers.abort_all();
    server.stop().await;
}
