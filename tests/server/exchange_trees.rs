//! Token exchange: trees of agents, what one may take in a day, and how an administrator ends it.

use crate::{
    api_caller::Api,
    exchange::{agents, token_of},
    http::Answer,
    person::{claims, text},
    support::INVOICES,
};
use hyper::Method;
use serde_json::json;

/// Draws as a generator of this seed does, the same each time.
struct Draws(u64);

impl Draws {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// A token and where it came from.
struct Node {
    token: String,
    holder: &'static str,
    parent: Option<usize>,
    scopes: Vec<&'static str>,
}

#[tokio::test]
async fn in_random_trees_no_token_holds_more_than_those_above_and_a_kill_ends_exactly_its_subtree()
{
    const ALL: [&str; 3] = ["invoices:read", "invoices:write", "invoices:approve"];
    let server = agents().await;
    for seed in 1..=4 {
        let mut draws = Draws(seed);
        let mut nodes: Vec<Node> = Vec::new();
        while nodes.len() < 24 {
            let parent = (nodes.len() >= 3).then(|| draws.below(nodes.len()));
            let asked: Vec<&str> = ALL.into_iter().filter(|_| draws.below(3) > 0).collect();
            let Some(above) = parent else {
                let scopes = if asked.is_empty() { ALL.to_vec() } else { asked };
                let token = token_of(&server, "ana@acme.test", &scopes.join(" ")).await;
                nodes.push(Node { token, holder: "web", parent: None, scopes });
                continue;
            };
            let holder = ["agent", "second", "reader"][draws.below(3)];
            let covered = asked.iter().all(|one| nodes[above].scopes.contains(one));
            let allowed = holder != "reader" || asked.iter().all(|one| *one == "invoices:read");
            let depth = std::iter::successors(Some(above), |at| nodes[*at].parent).count();
            let scope = [("scope", asked.join(" "))];
            let scope: Vec<(&str, &str)> =
                scope.iter().filter(|_| !asked.is_empty()).map(|(a, b)| (*a, b.as_str())).collect();
            let answer = server.exchange(holder, &nodes[above].token, &scope).await;
            // Nothing named is all of it.
            let scopes = if asked.is_empty() { nodes[above].scopes.clone() } else { asked };
            let allowed = allowed && (holder != "reader" || scopes == ["invoices:read"]);
            let expected = covered && allowed && depth <= 8;
            assert_eq!(answer.status == 200, expected, "{seed}: {holder} {scopes:?} {answer:?}");
            if expected {
                let token = text(&answer.json()["access_token"]).to_owned();
                assert_eq!(claims(&json!(token))["scope"], scopes.join(" "), "all that was asked");
                nodes.push(Node { token, holder, parent, scopes });
            }
        }
        let mut dead = vec![false; nodes.len()];
        for _ in 0..6 {
            let killed = draws.below(nodes.len());
            let Node { holder, token, .. } = &nodes[killed];
            let answer = server.post_as(holder, "/connect/revoke", &[("token", token)]).await;
            assert_eq!(answer.status, 200);
            dead[killed] = true;
            for place in 0..nodes.len() {
                dead[place] |= nodes[place].parent.is_some_and(|above| dead[above]);
                let active = server.is_active(&nodes[place].token).await;
                assert_eq!(active, !dead[place], "{seed}: {killed} was killed, {place} looked at");
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn an_administrator_sees_what_an_agent_holds_and_ends_it_with_all_below() {
    let server = agents().await;
    let token = token_of(&server, "ana@acme.test", "invoices:read invoices:write").await;
    let below = server.exchanged("agent", &token, "invoices:read").await;
    let last = server.exchanged("second", &below, "").await;
    let rita = Api::of(&server, "rita@acme.test", "clients:read clients:write").await;
    let path = "/api/organizations/acme/clients/agent/delegations";
    let held = rita.get(path).await.json();
    let [held] = &held["items"].as_array().unwrap()[..] else { panic!("{held}") };
    assert_eq!((&held["act"], &held["through"]), (&json!(["agent"]), &json!(["web"])));
    assert_eq!(held["account"], claims(&json!(token))["sub"]);
    assert_eq!((&held["scopes"], &held["resource"]), (&json!(["invoices:read"]), &json!(INVOICES)));
    let nested = rita.get("/api/organizations/acme/clients/second/delegations").await.json();
    let parents = nested["items"][0]["parents"].as_array().unwrap();
    assert_eq!(parents.last(), Some(&held["id"]), "the tree is told by its parents");
    let otto = Api::of(&server, "otto@other.test", "clients:read clients:write").await;
    let elsewhere = "/api/organizations/other/clients/agent/delegations";
    assert_eq!(otto.get(elsewhere).await.json()["items"], json!([]));
    let foreign = format!("{elsewhere}/{}", text(&held["id"]));
    assert_eq!(otto.call(Method::DELETE, &foreign, None, &[]).await.status, 404);
    let one = format!("{path}/{}", text(&held["id"]));
    assert_eq!(rita.call(Method::DELETE, &one, None, &[]).await.status, 204);
    assert!(server.is_active(&token).await);
    assert!(!server.is_active(&below).await && !server.is_active(&last).await);
    assert_eq!(rita.get(path).await.json()["items"], json!([]));
    server.stop().await;
}

pub const AGENT_LIMITED: &str = r#"
[[resource]]
identifier = "https://api.example.com/invoices"
scopes = ["invoices:read", "invoices:write", "invoices:approve"]
[[resource.authorization_details]]
type = "payment_initiation"
schema = { type = "object", required = ["amount"] }
[resource.authorization_details.subset]
"amount.value" = "at_most"

[[client]]
client_id = "buyer"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["token-exchange", "client_credentials"]
[client.agent]
purpose = "Pays small invoices"
owner = "The purchasing team"
expires_at = "2100-01-01T00:00:00Z"
[[client.agent.limit]]
type = "payment_initiation"
member = "amount.value"
unit = "amount.currency"
of = "EUR"
per_day = "100"
"#;

#[tokio::test]
async fn an_agent_takes_no_more_in_a_day_than_its_allowance_raced_or_not() {
    let server = agents().await;
    server.apply(AGENT_LIMITED).await;
    let pay = |value: &str, currency: &str| {
        let amount = json!({ "value": value, "currency": currency });
        json!([{ "type": "payment_initiation", "amount": amount }]).to_string()
    };
    let session = server.sign_in("ana@acme.test").await;
    let granted = pay("1000", "EUR");
    let asked = [("scope", "invoices:read"), ("authorization_details", granted.as_str())];
    let answer = server.authorize_in(&session, "web", &asked).await;
    let code = crate::person::parameter(&crate::person::redirect(&answer), "code");
    let tokens = server.redeem("web", &code.unwrap_or_else(|| panic!("{answer:?}"))).await.json();
    let token = text(&tokens["access_token"]).to_owned();
    let take = async |value: &str, currency: &str| {
        let details = pay(value, currency);
        server.exchange("buyer", &token, &[("authorization_details", &details)]).await
    };
    assert_eq!(take("60", "EUR").await.status, 200);
    take("40.01", "EUR").await.refused(400, "invalid_authorization_details");
    take("1", "USD").await.refused(400, "invalid_authorization_details");
    // Four at once, twice, ask for what four of them can have.
    let ten = || take("10", "EUR");
    let first: [Answer; 4] = tokio::join!(ten(), ten(), ten(), ten()).into();
    let second: [Answer; 4] = tokio::join!(ten(), ten(), ten(), ten()).into();
    let statuses: Vec<u16> =
        first.iter().chain(&second).map(|answer| answer.status.as_u16()).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 400, 400, 400, 400], "none is asked to come back");
    take("0.01", "EUR").await.refused(400, "invalid_authorization_details");
    server.stop().await;
}

#[tokio::test]
async fn an_agent_that_has_expired_is_as_if_it_were_not_there() {
    let server = agents().await;
    server.apply(AGENT_LIMITED).await;
    let token = token_of(&server, "ana@acme.test", "invoices:read").await;
    let held = server.exchanged("buyer", &token, "").await;
    assert!(server.is_active(&held).await);
    let file = "[[client]]\nclient_id = \"buyer\"\n[client.agent]\npurpose = \"Over\"\n\
                expires_at = \"2020-01-01T00:00:00Z\"\n";
    server.apply(file).await;
    assert!(!server.is_active(&held).await, "its tokens end with it");
    crate::shared::eventually("the client is seen anew", async || {
        server.exchange("buyer", &token, &[]).await.status == 401
    })
    .await;
    server.stop().await;
}
