//! An agent works in parallel: its exchanges are decided one after the other, and its budget is exact
//! (adr/0124).

use crate::{
    exchange::AGENTS,
    exchange_trees::AGENT_LIMITED,
    outcomes::{Fault, Faults},
    person::{parameter, redirect, text},
    support::{TestOptions, TestServer},
};
use porteiro::{
    domain::{agent_allowance::AgentAllowance, authorization_details::Fixed},
    store::{FaultInjection, Moment},
};
use serde_json::json;
use std::sync::Arc;
use tokio::task::JoinSet;

const REQUESTS: usize = 32;

fn pay(value: &str) -> String {
    let amount = json!({ "value": value, "currency": "EUR" });
    json!([{ "type": "payment_initiation", "amount": amount }]).to_string()
}

async fn agent(options: TestOptions) -> (TestServer, String) {
    let server = TestServer::open_in(options).await;
    server.on_one_node("it looks inside a node");
    server.apply(AGENTS).await;
    server.apply(AGENT_LIMITED).await;
    let session = server.sign_in("ana@acme.test").await;
    let granted = pay("1000");
    let asked = [("scope", "invoices:read"), ("authorization_details", granted.as_str())];
    let answer = server.authorize_in(&session, "web", &asked).await;
    let code = parameter(&redirect(&answer), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    let token = text(&tokens["access_token"]).to_owned();
    (server, token)
}

/// Asks for so many at once, and returns how each was answered.
async fn at_once(server: &TestServer, token: &str, value: &str) -> Vec<u16> {
    let mut exchanges = JoinSet::new();
    for _ in 0..REQUESTS {
        let (outside, token, details) = (**server, token.to_owned(), pay(value));
        exchanges.spawn(async move {
            let asked = [("authorization_details", details.as_str())];
            outside.exchange("buyer", &token, &asked).await.status.as_u16()
        });
    }
    let mut statuses = exchanges.join_all().await;
    statuses.sort_unstable();
    statuses
}

async fn taken(server: &TestServer) -> Fixed {
    let store = server.running().system().store();
    let row = store.load("agent_allowance", "buyer").await.unwrap().unwrap();
    let allowance: AgentAllowance = serde_json::from_str(&row.state).unwrap();
    let now = porteiro::domain::Clock::now(&*server.clock);
    allowance.taken("payment_initiation amount.value amount.currency=EUR", now)
}

fn amount(text: &str) -> Fixed {
    Fixed::parse(text).unwrap()
}

#[tokio::test]
async fn every_exchange_of_an_agent_succeeds_that_its_limit_covers() {
    let (server, token) = agent(TestOptions::default()).await;
    assert_eq!(at_once(&server, &token, "3").await, [200; REQUESTS]);
    assert_eq!(taken(&server).await, amount("96"));
    // Of those that do not all fit, as many as fit; none is asked to come back.
    let statuses = at_once(&server, &token, "1").await;
    let (granted, refused) = statuses.split_at(4);
    assert!(granted.iter().all(|status| *status == 200), "{statuses:?}");
    assert!(refused.iter().all(|status| *status == 400), "{statuses:?}");
    assert_eq!(taken(&server).await, amount("100"));
    server.stop().await;
}

#[tokio::test]
async fn the_budget_is_exact_though_commits_fail_and_their_fate_is_unknown() {
    for moment in [Moment::Commit, Moment::Answer] {
        let faults = Arc::new(Faults::default());
        let fault_injection: Option<Arc<dyn FaultInjection>> = Some(faults.clone());
        let (server, token) =
            agent(TestOptions { fault_injection, ..TestOptions::default() }).await;
        server.quiet().await;
        faults.plan(moment, &[Fault::Pass, Fault::Fail, Fault::Pass, Fault::Pass, Fault::Fail]);
        let statuses = at_once(&server, &token, "5").await;
        let granted = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!(granted, 20, "{moment:?}: {statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 12, "{statuses:?}");
        assert_eq!(taken(&server).await, amount("100"), "{moment:?}");
        server.stop().await;
    }
}
