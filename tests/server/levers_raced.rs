//! Levers that are pulled while people are granted things, and while two processes are under load: what rests on something
//! of before has ended, whenever it was granted, and each process refuses within the time that the contract says.

use crate::{
    api_caller::DIRECTORY,
    binary::{Installation, free_port, said},
    http::Answer,
    levers::{WHY, me, silent, two_nodes, workbench},
    outside::Outside,
    person::text,
    shared::eventually,
    support::ACME,
};
use porteiro::provisioning::{SignOutScope, sign_out};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

const ANA: &str = "ana@acme.test";

/// Has a stolen session grant tokens on both nodes in turn, until it was refused three times after the lever.
async fn keep_granting(
    nodes: [Outside; 2],
    session: String,
    (pulled, landed): (Arc<AtomicBool>, Arc<AtomicUsize>),
) -> Vec<Value> {
    let (mut granted, mut refused) = (Vec::new(), 0);
    for number in 0.. {
        let (one, other) = (nodes[number % 2], nodes[(number + 1) % 2]);
        let code = silent(one, &session, "acme").await;
        let answer = match code {
            Ok(code) => Some(other.redeem("web", &code).await),
            Err(_) => None,
        };
        match answer.filter(|answer| answer.status == 200) {
            Some(answer) => {
                granted.push(answer.json());
                landed.fetch_add(1, SeqCst);
            }
            None if pulled.load(SeqCst) => refused += 1,
            None => {}
        }
        if refused == 3 {
            break;
        }
    }
    granted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_a_session_of_before_is_granted_while_a_lever_is_pulled_is_good_after_it() {
    let (one, other) = two_nodes().await;
    let scopes =
        [SignOutScope::Account(ANA), SignOutScope::Organization("acme"), SignOutScope::Everyone];
    for scope in scopes {
        let (pulled, landed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut thieves = JoinSet::new();
        for _ in 0..4 {
            let session = one.sign_in(ANA).await;
            let race = (pulled.clone(), landed.clone());
            thieves.spawn(keep_granting([*one, *other], session, race));
        }
        eventually("some grants", async || landed.load(SeqCst) >= 12).await;
        let bench = workbench(&one).await;
        sign_out(&bench, scope, WHY).await.unwrap();
        pulled.store(true, SeqCst);
        bench.close().await;
        let granted: Vec<Value> = thieves.join_all().await.into_iter().flatten().collect();
        // Those that were granted last are those that raced.
        for tokens in granted.iter().rev().take(40) {
            let access = text(&tokens["access_token"]);
            for node in [*one, *other] {
                assert_eq!(node.introspect("web", access).await["active"], false, "{scope:?}");
            }
            let refreshed = other.refresh("web", text(&tokens["refresh_token"])).await;
            refreshed.refused(400, "invalid_grant");
        }
        assert!(granted.len() >= 12, "{scope:?}: {}", granted.len());
    }
    one.stop().await;
    other.stop().await;
}

/// What is asked again and again while a lever is pulled.
#[derive(Clone, Debug)]
enum Probe {
    /// An access token of a person.
    Userinfo(String),
    Me(String),
    /// Tokens of a client in its own name.
    Machine,
    Register,
    SignUp,
}

impl Probe {
    /// Tells whether one request is accepted; one that is to come again later says nothing.
    async fn is_accepted(&self, node: Outside) -> bool {
        loop {
            let status = self.send(node).await.status.as_u16();
            if status != 503 {
                return [200, 201].contains(&status);
            }
        }
    }

    async fn send(&self, node: Outside) -> Answer {
        match self {
            Self::Userinfo(token) => node.userinfo(token).await,
            Self::Me(session) => me(node, session).await,
            Self::Machine => {
                let fields = [("grant_type", "client_credentials"), ("scope", "invoices:read")];
                node.token_as("billing", &fields).await
            }
            Self::Register => {
                let metadata = json!({ "redirect_uris": ["https://new.example/cb"] });
                node.post_json("/connect/register", &metadata, &[]).await
            }
            Self::SignUp => node.post_json("/flows", &json!({ "kind": "sign_up" }), &[]).await,
        }
    }
}

/// Of one process: when it last accepted a request, by when that began, and when it first refused one.
struct Seen {
    accepted: Option<Instant>,
    refused: Option<Instant>,
    /// So many were accepted after one was refused.
    relapses: usize,
}

/// Asks one process until it has refused some requests after the lever.
async fn watch(node: Outside, probe: Probe, race: (Arc<AtomicBool>, Arc<AtomicUsize>)) -> Seen {
    let (pulled, landed) = race;
    let mut seen = Seen { accepted: None, refused: None, relapses: 0 };
    let mut after = 0;
    let began = Instant::now();
    while after < 10 {
        assert!(began.elapsed() < Duration::from_mins(3), "{probe:?} is accepted for ever");
        let at = Instant::now();
        let is_after = pulled.load(SeqCst);
        if probe.is_accepted(node).await {
            seen.relapses += usize::from(seen.refused.is_some());
            seen.accepted = Some(at);
            landed.fetch_add(1, SeqCst);
            after = 0;
        } else {
            seen.refused = seen.refused.or_else(|| Some(Instant::now()));
            after += usize::from(is_after);
        }
    }
    seen
}

/// What a lever is to do.
struct Lever<'a> {
    /// The command, but for its reason.
    words: &'a str,
    probes: &'a [Probe],
    /// No request that begins after the command is accepted.
    at_once: bool,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_lever_that_is_pulled_beside_two_processes_under_load_is_heard_by_both() {
    let installation = Installation::new().await;
    let mails = installation.path().join("mails");
    std::fs::create_dir(&mails).unwrap();
    installation.configure(&format!(
        "[limits]\nenabled = false\n[sign_up]\nopen = true\n\
         [mail]\ntransport = \"file://{}\"\nfrom = \"Example ID <id@example.com>\"\n",
        mails.display()
    ));
    installation.apply(ACME);
    installation.apply(DIRECTORY);
    let other = std::net::SocketAddr::from(([127, 0, 0, 1], free_port()));
    let nodes = [installation.address, other].map(|address| Outside { address });
    let serving = nodes.map(|node| installation.serve_at(node.address));
    let person = async || {
        let session = nodes[0].sign_in(ANA).await;
        let code = silent(nodes[0], &session, "acme").await.unwrap();
        let tokens = nodes[0].redeem("web", &code).await.json();
        let access = Probe::Userinfo(text(&tokens["access_token"]).to_owned());
        [access, Probe::Me(session)]
    };
    // No request that begins after the command is accepted.
    let lever = async |words: &str, probes: &[Probe]| {
        pull(&installation, nodes, Lever { words, probes, at_once: true }).await;
    };
    lever("session end --account ana@acme.test", &person().await).await;
    // The session itself lives on.
    lever("session end --organization acme", &person().await[..1]).await;
    lever("session end --everyone --yes", &person().await).await;
    // Each process hears of the others a little later: the contract gives a second, and 20 for keys.
    let lever = async |words: &str, probes: &[Probe]| {
        pull(&installation, nodes, Lever { words, probes, at_once: false }).await;
    };
    let keys = installation.run(&["keys", "list", "--json"]);
    let keys = String::from_utf8(keys.stdout).unwrap();
    let key = keys.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let key = key.into_iter().find(|key| key["use"] == "ES256").unwrap();
    let revoke = format!("keys revoke {} --replace", text(&key["kid"]));
    lever(&revoke, &person().await[..1]).await;
    lever("client suspend billing", &[Probe::Machine]).await;
    lever("client suspend web", &person().await[..1]).await;
    lever("registration close", &[Probe::Register]).await;
    lever("sign-up close", &[Probe::SignUp]).await;
    for one in serving {
        one.signal("-TERM");
        tokio::task::spawn_blocking(move || one.end()).await.unwrap();
    }
}

/// Pulls a lever while both processes are asked all the time, and says how long it took until both refused.
#[expect(clippy::print_stdout, reason = "what is measured is printed")]
async fn pull(installation: &Installation, nodes: [Outside; 2], lever: Lever<'_>) {
    let Lever { words, probes, at_once } = lever;
    let command: Vec<&str> = words.split(' ').chain(["--reason", WHY]).collect();
    let (pulled, landed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut watchers = JoinSet::new();
    for node in nodes {
        for probe in probes {
            watchers.spawn(watch(node, probe.clone(), (pulled.clone(), landed.clone())));
        }
    }
    eventually("some use", async || landed.load(SeqCst) >= 8 * probes.len()).await;
    let began = Instant::now();
    let output = tokio::task::block_in_place(|| installation.run(&command));
    let ended = Instant::now();
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    pulled.store(true, SeqCst);
    let seen = watchers.join_all().await;
    let last = seen.iter().filter_map(|one| one.refused).max().unwrap();
    println!(
        "{words}: both processes refused {} ms after the command began, {} ms after it ended",
        last.duration_since(began).as_millis(),
        last.saturating_duration_since(ended).as_millis(),
    );
    for one in seen {
        assert_eq!(one.relapses, 0, "{command:?}: what was refused once is not accepted again");
        let late = one.accepted.filter(|at| *at > ended);
        assert!(late.is_none() || !at_once, "{command:?}: accepted though it began after the end");
    }
}
