//! Fifty at once: of one code and of one refresh token there is never more than one success, and
//! afterwards nothing of the family lives. In one process, in two on one database, and with processes
//! killed in between.

use crate::{
    binary::{Installation, Serving, free_port},
    http::{Answer, try_send},
    outside::Outside,
    person::{VERIFIER, callback, text},
    support::{ACME, SECRET, TestServer, basic, form},
};
use hyper::Method;
use serde_json::Value;
use std::{net::SocketAddr, time::Duration};
use tokio::task::JoinSet;

const RACERS: usize = 50;
const SCOPE: &str = "openid invoices:read offline_access";

/// What is raced for.
#[derive(Clone, Debug)]
enum Prize {
    Code(String),
    Refresh(String),
}

/// Sends the same request fifty times at once, to all of `nodes` in turn; a request without an
/// answer (a process was killed) is left out.
async fn race(nodes: &[Outside], prize: &Prize) -> Vec<Answer> {
    let mut racers = JoinSet::new();
    for number in 0..RACERS {
        let (node, prize) = (nodes[number % nodes.len()], prize.clone());
        racers.spawn(async move { try_for(node, &prize).await });
    }
    racers.join_all().await.into_iter().flatten().collect()
}

async fn try_for(node: Outside, prize: &Prize) -> Option<Answer> {
    let uri = callback("web");
    let fields = match prize {
        Prize::Code(code) => vec![
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", &uri),
            ("code_verifier", VERIFIER),
        ],
        Prize::Refresh(token) => {
            vec![("grant_type", "refresh_token"), ("refresh_token", token.as_str())]
        }
    };
    let request = node
        .request(Method::POST, "/connect/token")
        .header("authorization", basic("web", SECRET))
        .header("content-type", "application/x-www-form-urlencoded");
    try_send(node.address, request.body(form(&fields)).unwrap()).await.ok()
}

/// Returns what the winners got, and insists that all the others were refused.
#[track_caller]
fn winners(answers: &[Answer]) -> Vec<Value> {
    let mut won = Vec::new();
    for answer in answers {
        match answer.status.as_u16() {
            200 => won.push(answer.json()),
            // This one may ask again later, and has nothing.
            503 => {}
            _ => drop(answer.refused(400, "invalid_grant")),
        }
    }
    assert!(won.len() <= 1, "{} successes", won.len());
    won
}

/// Insists that nothing of what was issued is good any more.
async fn all_dead(node: Outside, issued: &[&Value]) {
    for tokens in issued {
        let access = text(&tokens["access_token"]);
        assert_eq!(node.introspect("web", access).await["active"], false);
        node.userinfo(access).await.refused(401, "invalid_token");
        node.refresh("web", text(&tokens["refresh_token"])).await.refused(400, "invalid_grant");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_redemptions_of_one_code_one_succeeds_and_the_rest_end_the_family() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    for _ in 0..5 {
        let code = server.code(&session, "web", SCOPE).await;
        let answers = race(&[*server], &Prize::Code(code)).await;
        assert_eq!(answers.len(), RACERS);
        let won = winners(&answers);
        assert_eq!(won.len(), 1, "one was first");
        all_dead(*server, &won.iter().collect::<Vec<_>>()).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_refreshes_of_one_token_one_succeeds_and_the_rest_end_the_family() {
    let server = TestServer::open().await;
    for _ in 0..5 {
        let first = server.tokens("ana@acme.test", "web", SCOPE).await;
        let prize = Prize::Refresh(text(&first["refresh_token"]).to_owned());
        let answers = race(&[*server], &prize).await;
        let won = winners(&answers);
        assert_eq!((won.len(), answers.len()), (1, RACERS));
        all_dead(*server, &[&first, &won[0]]).await;
    }
    server.stop().await;
}

/// Two processes on one database, of which either may be killed and started again.
pub struct Pair {
    installation: Installation,
    pub nodes: [Outside; 2],
    serving: [Option<Serving>; 2],
}

impl Pair {
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// Starts them with more than Acme.
    pub async fn start_with(more: &str) -> Self {
        let installation = Installation::new().await;
        // Attempts are counted by identifier; here one person signs in all the time.
        installation.configure("[limits]\nenabled = false\n");
        installation.apply(&format!("{ACME}{more}"));
        let other: SocketAddr = ([127, 0, 0, 1], free_port()).into();
        let nodes = [installation.address, other].map(|address| Outside { address });
        let serving = nodes.map(|node| Some(installation.serve_at(node.address)));
        Self { installation, nodes, serving }
    }

    /// Applies another provisioning file.
    pub fn apply(&self, text: &str) {
        self.installation.apply(text);
    }

    /// Makes an API key by the command.
    pub fn key(&self, slug: &str, permission: &str) -> String {
        let output = self.installation.run(&[
            "apikey",
            "create",
            "--organization",
            slug,
            "--name",
            "key",
            "--permission",
            permission,
            "--json",
        ]);
        assert!(output.status.success(), "{output:?}");
        let made: Value = serde_json::from_slice(&output.stdout).unwrap();
        text(&made["key"]).to_owned()
    }

    fn kill(&mut self, place: usize) {
        let serving = self.serving[place].take().unwrap();
        serving.signal("-KILL");
        serving.end();
    }

    fn start_again(&mut self, place: usize) {
        self.serving[place] = Some(self.installation.serve_at(self.nodes[place].address));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_agree_on_who_was_first() {
    let pair = Pair::start().await;
    let [one, other] = pair.nodes;
    let session = one.sign_in("ana@acme.test").await;
    for _ in 0..4 {
        let code = one.code(&session, "web", SCOPE).await;
        let won = winners(&race(&pair.nodes, &Prize::Code(code)).await);
        assert_eq!(won.len(), 1);
        all_dead(other, &[&won[0]]).await;

        let first = one.tokens("ana@acme.test", "web", SCOPE).await;
        let prize = Prize::Refresh(text(&first["refresh_token"]).to_owned());
        let won = winners(&race(&pair.nodes, &prize).await);
        all_dead(one, &[&first]).await;
        all_dead(other, &won.iter().collect::<Vec<_>>()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_killed_in_a_race_gives_no_second_success() {
    let mut pair = Pair::start().await;
    let [one, other] = pair.nodes;
    for round in 0..6_u64 {
        let session = other.sign_in("ana@acme.test").await;
        let first = other.tokens("ana@acme.test", "web", SCOPE).await;
        let code = one.code(&session, "web", SCOPE).await;
        let prize = if round % 2 == 0 {
            Prize::Code(code)
        } else {
            Prize::Refresh(text(&first["refresh_token"]).to_owned())
        };
        let nodes = pair.nodes;
        let racing = tokio::spawn({
            let prize = prize.clone();
            async move { race(&nodes, &prize).await }
        });
        tokio::time::sleep(Duration::from_millis(3 * round)).await;
        pair.kill(0);
        let before = racing.await.unwrap();
        pair.start_again(0);
        // Whatever became of the first race, it counts in the second.
        let after = race(&pair.nodes, &prize).await;
        let answers: Vec<Answer> = before.into_iter().chain(after).collect();
        let won = winners(&answers);
        all_dead(other, &won.iter().collect::<Vec<_>>()).await;
        if round % 2 == 1 {
            all_dead(one, &[&first]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_the_process_that_said_so() {
    let mut pair = Pair::start().await;
    let [one, other] = pair.nodes;
    let mut tokens = one.tokens("ana@acme.test", "web", SCOPE).await;
    for round in 0..4 {
        let refreshed = one.refresh("web", text(&tokens["refresh_token"])).await;
        assert_eq!(refreshed.status, 200, "{refreshed:?}");
        // Killed as soon as it has spoken.
        pair.kill(0);
        tokens = refreshed.json();
        assert_eq!(other.introspect("web", text(&tokens["access_token"])).await["active"], true);
        let next = other.refresh("web", text(&tokens["refresh_token"])).await;
        assert_eq!(next.status, 200, "round {round}: {next:?}");
        tokens = next.json();
        pair.start_again(0);
    }
    // And what was ended stays so.
    one.refresh("web", text(&tokens["refresh_token"])).await;
    one.refresh("web", text(&tokens["refresh_token"])).await.refused(400, "invalid_grant");
    pair.kill(0);
    all_dead(other, &[&tokens]).await;
    pair.start_again(0);
    all_dead(one, &[&tokens]).await;
}
