//! What operators see, on a listener of their own.

use crate::{
    http::get,
    support::{TestOptions, TestServer},
};
use std::{collections::BTreeSet, time::Duration};

#[tokio::test]
async fn metrics_count_requests_tokens_and_refusals() {
    let server = TestServer::open().await;
    server.token("billing", "invoices:read").await;
    server.ask("billing", &[("scope", "invoices:approve")]).await.refused(400, "invalid_scope");
    server.get("/nowhere").await;
    let token = server.token("billing", "invoices:read").await;
    // The first needs no actor: there is nothing to look at yet.
    for _ in 0..2 {
        server.post_as("billing", "/connect/revoke", &[("token", &token)]).await;
    }
    let scrape = get(server.operator(), "/metrics").await;
    assert_eq!(scrape.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = scrape.text();
    for line in [
        "porteiro_http_requests_total{route=\"/connect/token\",status=\"200\"} 2",
        "porteiro_http_requests_total{route=\"/connect/token\",status=\"400\"} 1",
        "porteiro_http_requests_total{route=\"(none)\",status=\"404\"} 1",
        "porteiro_tokens_issued_total{grant=\"client_credentials\"} 2",
        "porteiro_refusals_total{reason=\"invalid_scope\"} 1",
        "porteiro_refusals_total{reason=\"invalid_client\"} 0",
        "porteiro_limited_total{purpose=\"credential\"} 0",
        "porteiro_limited_total{purpose=\"identifier\"} 0",
        "porteiro_entities_awake{kind=\"access_token\"} 1",
        "porteiro_http_request_seconds_count{route=\"/connect/token\"} 3",
        "porteiro_mailbox_wait_seconds_count{kind=\"access_token\"} 1",
    ] {
        assert!(text.lines().any(|written| written == line), "{line}\n{text}");
    }
    for name in [
        "porteiro_commits_total{outcome=\"durable\"}",
        "porteiro_reads_total",
        "porteiro_commit_group_size_count",
        "porteiro_commit_seconds_count",
        "porteiro_connections_accepted_total",
        "porteiro_hashing_permits_free",
    ] {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        let value: f64 = line.rsplit_once(' ').unwrap().1.parse().unwrap();
        assert!(value > 0.0, "{line}");
    }
    server.stop().await;
}

#[tokio::test]
async fn on_a_quiet_node_the_counters_show_what_a_request_costs() {
    let server = TestServer::open_in(TestOptions {
        keys_every: Duration::from_hours(1),
        ..TestOptions::default()
    });
    let server = server.await;
    let token = server.token("billing", "invoices:read").await;
    let cost = async |path, parameters: &[(&str, &str)]| {
        let before = server.running().system().store().report();
        server.post_as("billing", path, parameters).await;
        let after = server.running().system().store().report();
        (after.reads - before.reads, after.commits - before.commits)
    };
    assert_eq!(cost("/nowhere", &[]).await, (0, 0));
    let mut least = (u64::MAX, u64::MAX);
    // What was seen a second ago is read anew, whenever that falls due.
    for _ in 0..10 {
        least = least.min(cost("/connect/introspect", &[("token", &token)]).await);
    }
    assert_eq!(least, (1, 0), "the standing of everything, in one query");
    let (_, commits) = cost("/connect/revoke", &[("token", &token)]).await;
    assert_eq!(commits, 1);
    server.stop().await;
}

#[tokio::test]
async fn no_traffic_grows_the_label_sets() {
    let server = TestServer::open().await;
    let series = async || -> BTreeSet<String> {
        let text = get(server.operator(), "/metrics").await.text();
        let names = text.lines().filter(|line| !line.starts_with('#'));
        names.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
    };
    for path in ["/a", "/b", "/connect/x"] {
        server.get(path).await;
    }
    server.ask("billing", &[("scope", "x:y")]).await;
    server.ask("unheard-of", &[]).await;
    let before = series().await;
    for stranger in 0..50 {
        server.get(&format!("/stranger/{stranger}?{stranger}")).await;
        server.ask("billing", &[("scope", &format!("s:{stranger}"))]).await;
        server.ask(&format!("client-{stranger}"), &[]).await;
    }
    assert_eq!(series().await, before);
    assert!(before.iter().all(|name| !name.contains("stranger") && !name.contains("billing")));
    server.stop().await;
}

#[tokio::test]
async fn a_node_is_alive_and_ready_and_serves_operators_nothing_else() {
    let server = TestServer::open().await;
    for (path, said) in [("/livez", "alive\n"), ("/readyz", "ready\n")] {
        let answer = get(server.operator(), path).await;
        assert_eq!((answer.status.as_u16(), answer.text().as_str()), (200, said));
    }
    for path in ["/", "/connect/token", "/.well-known/openid-configuration"] {
        assert_eq!(get(server.operator(), path).await.status, 404, "{path}");
    }
    server.stop().await;
}
