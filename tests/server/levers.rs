//! Levers of an operator (adr/0140): what one has ended is accepted by no request that begins after it, on either node.

use crate::{
    api_caller::{Api, DIRECTORY},
    authenticator::Authenticator,
    browser::Browser,
    ciba, device, exchange,
    http::Answer,
    mails::{code, sent},
    me::get_in,
    outside::Outside,
    person::{PASSWORD, parameter, redirect, text},
    shared::eventually,
    support::{LIFETIMES, TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    domain::{Clock as _, installation::SelfService},
    http::Lifetimes,
    provisioning::{SignOutCount, SignOutScope, count_sign_out, set_self_service, sign_out},
    server::Issuer,
    system::Workbench,
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::task::JoinSet;

const ANA: &str = "ana@acme.test";
const BRUNO: &str = "bruno@acme.test";
const SCOPE: &str = "openid offline_access invoices:read";
pub const WHY: &str = "ticket 4711";

pub async fn workbench(server: &TestServer) -> Workbench {
    let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
    Workbench::open(&server.url, &folder, server.clock.clone(), Arc::new(SystemDice)).await.unwrap()
}

/// Counts what a lever would end, and pulls it.
pub async fn pull(server: &TestServer, scope: SignOutScope<'_>) -> SignOutCount {
    let workbench = workbench(server).await;
    let counted = count_sign_out(&workbench, scope).await.unwrap();
    let ended = sign_out(&workbench, scope, WHY).await.unwrap();
    assert_eq!(ended, counted, "a dry run says what will end");
    let again = count_sign_out(&workbench, scope).await.unwrap();
    assert_eq!(again, SignOutCount::default(), "and nothing of it is left");
    workbench.close().await;
    ended
}

async fn set(server: &TestServer, service: SelfService, closed: bool) -> bool {
    let workbench = workbench(server).await;
    let changed = set_self_service(&workbench, service, closed, WHY).await.unwrap();
    workbench.close().await;
    changed
}

/// Two nodes on one database, without limits.
pub async fn two_nodes() -> (TestServer, TestServer) {
    let issuer = || Issuer::Named("http://localhost:8080".to_owned());
    let options = || TestOptions { rates: None, issuer: issuer(), ..TestOptions::default() };
    let one = TestServer::open_in(options()).await;
    one.apply(&format!("{DIRECTORY}{}{}", device::DEVICES, exchange::AGENTS)).await;
    let other = one.beside(options()).await;
    (one, other)
}

pub async fn me(node: Outside, session: &str) -> Answer {
    let request = node.request(Method::GET, "/me").header("x-session-token", session);
    node.send(request.body(String::new().into()).unwrap()).await
}

/// Asks for a code without a question.
pub async fn silent(node: Outside, session: &str, organization: &str) -> Result<String, String> {
    let asked = [("scope", SCOPE), ("prompt", "none"), ("organization", organization)];
    let to = redirect(&node.authorize_in(session, "web", &asked).await);
    parameter(&to, "code").ok_or_else(|| parameter(&to, "error").unwrap_or_default())
}

/// What is tried again and again while a lever is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    Me,
    Introspect,
    Userinfo,
    Refresh,
    Authorize,
}

const ATTEMPTS: [Attempt; 5] =
    [Attempt::Me, Attempt::Introspect, Attempt::Userinfo, Attempt::Refresh, Attempt::Authorize];

/// What a thief holds.
#[derive(Clone)]
struct Loot {
    session: String,
    access: String,
    refresh: String,
}

impl Loot {
    async fn of(node: Outside, email: &str) -> Self {
        let session = node.sign_in(email).await;
        let code = silent(node, &session, "acme").await.unwrap();
        let tokens = node.redeem("web", &code).await.json();
        let copy = |name: &str| text(&tokens[name]).to_owned();
        Self { session, access: copy("access_token"), refresh: copy("refresh_token") }
    }

    /// Tells whether it is still good for something.
    async fn is_accepted(&mut self, node: Outside, attempt: Attempt) -> bool {
        match attempt {
            Attempt::Me => me(node, &self.session).await.status == 200,
            Attempt::Introspect => node.introspect("web", &self.access).await["active"] == true,
            Attempt::Userinfo => node.userinfo(&self.access).await.status == 200,
            Attempt::Authorize => silent(node, &self.session, "acme").await.is_ok(),
            Attempt::Refresh => {
                let answer = node.refresh("web", &self.refresh).await;
                let accepted = answer.status == 200;
                if accepted {
                    text(&answer.json()["refresh_token"]).clone_into(&mut self.refresh);
                }
                accepted
            }
        }
    }
}

/// Uses loot on both nodes in turn until the lever was pulled, and some times more; returns what was accepted of
/// requests that began after it.
async fn plunder(
    nodes: [Outside; 2],
    mut loot: Loot,
    attempt: Attempt,
    (pulled, landed): (Arc<AtomicBool>, Arc<AtomicUsize>),
) -> Vec<Attempt> {
    let (mut late, mut after) = (Vec::new(), 0);
    for number in 0.. {
        let begins_after = pulled.load(SeqCst);
        let accepted = loot.is_accepted(nodes[number % 2], attempt).await;
        landed.fetch_add(usize::from(accepted), SeqCst);
        after += usize::from(begins_after);
        late.extend((begins_after && accepted).then_some(attempt));
        if after == 4 {
            break;
        }
    }
    late
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lever_pulled_under_load_leaves_nothing_of_what_it_ended_on_either_node() {
    let (one, other) = two_nodes().await;
    let rita = Api::of(&one, "rita@acme.test", "apikeys:write apikeys:read audit:read").await;
    let asked = json!({ "name": "n", "permissions": ["audit:read"] });
    let key = rita.post("/api/organizations/acme/apikeys", &asked).await;
    assert_eq!(key.status, 201, "{key:?}");
    let key = Api { server: &other, token: text(&key.json()["key"]).to_owned(), reason: None };
    let machine = one.token("billing", "invoices:read").await;
    assert_eq!(other.introspect("billing", &machine).await["active"], true);
    let scopes =
        [SignOutScope::Account(ANA), SignOutScope::Organization("acme"), SignOutScope::Everyone];
    for scope in scopes {
        let bystander = one.sign_in("clara@nowhere.test").await;
        let (pulled, landed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut thieves = JoinSet::new();
        for attempt in ATTEMPTS {
            // A session lives on outside of the organization.
            if attempt == Attempt::Me && matches!(scope, SignOutScope::Organization(_)) {
                continue;
            }
            let loot = Loot::of(*one, ANA).await;
            let race = (pulled.clone(), landed.clone());
            thieves.spawn(plunder([*one, *other], loot, attempt, race));
        }
        eventually("some use", async || landed.load(SeqCst) >= 20).await;
        let bench = workbench(&one).await;
        let ended = sign_out(&bench, scope, WHY).await.unwrap();
        pulled.store(true, SeqCst);
        bench.close().await;
        let late: Vec<Attempt> = thieves.join_all().await.into_iter().flatten().collect();
        assert_eq!(late, [], "{scope:?}");
        assert!(ended.sessions >= 4 && ended.families >= 4, "{scope:?}: {ended:?}");
        // Machines and keys go on, and so do people whom it is not about.
        assert_eq!(other.introspect("billing", &machine).await["active"], true, "{scope:?}");
        assert_eq!(key.get("/api/organizations/acme/audit").await.status, 200, "{scope:?}");
        let signed_out = if scope == SignOutScope::Everyone { 401 } else { 200 };
        assert_eq!(me(*other, &bystander).await.status, signed_out, "{scope:?}");
        // And so does a person who proves again who they are.
        let mut again = Loot::of(*other, ANA).await;
        for attempt in ATTEMPTS {
            assert!(again.is_accepted(*one, attempt).await, "{scope:?}: {attempt:?}");
        }
    }
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn whatever_was_granted_or_begun_before_the_end_of_all_sessions_is_worth_nothing() {
    let (one, other) = two_nodes().await;
    let Loot { session, access, refresh } = Loot::of(*one, ANA).await;
    let code = silent(*one, &session, "acme").await.unwrap();
    let exchanged = one.exchanged("agent", &access, "invoices:read").await;
    let codes = device::start(*one, "tv", &[("scope", "openid")]).await;
    device::allow(*one, &codes.user, ANA).await;
    let waiting = device::start(*one, "tv", &[("scope", "openid")]).await;
    let begun = one.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    let asked = device::enter(*one, &waiting.user, ANA).await;
    assert_eq!(asked.1.json()["state"], "confirm", "{asked:?}");
    let count = pull(&one, SignOutScope::Everyone).await;
    // Its own, and one of each device flow that has ended.
    assert_eq!(count, SignOutCount { sessions: 2, families: 4 }, "two of them are a code");

    other.redeem("web", &code).await.refused(400, "invalid_grant");
    other.refresh("web", &refresh).await.refused(400, "invalid_grant");
    device::poll(*other, "tv", &codes.device).await.refused(400, "invalid_grant");
    assert!(!other.is_active(&exchanged).await && !other.is_active(&access).await);
    other.exchange("agent", &access, &[]).await.refused(400, "invalid_request");
    me(*other, &session).await.problem(401, "session_required");
    assert_eq!(silent(*other, &session, "acme").await, Err("login_required".to_owned()));
    // What was proved in a flow is void; a flow in which nothing was proved goes on.
    let late = device::confirm(*other, &asked.0, "allow").await;
    late.problem(409, "account_changed");
    device::poll(*other, "tv", &waiting.device).await.refused(400, "authorization_pending");
    let done = other.prove(&begun, ANA).await;
    let session = text(&done.json()["result"]["session_token"]).to_owned();
    assert_eq!(me(*one, &session).await.status, 200);
    let listed = get_in(&one, &session, "/me/sessions").await.json();
    assert_eq!(
        listed["items"].as_array().unwrap().len(),
        1,
        "what has ended is not shown: {listed}"
    );
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn a_person_of_an_organization_that_was_signed_out_proves_again_who_they_are_there() {
    let (one, other) = two_nodes().await;
    let session = one.sign_in(BRUNO).await;
    let tokens = |node: Outside, code: String| async move {
        let answer = node.redeem("web", &code).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let there = tokens(*one, silent(*one, &session, "acme").await.unwrap()).await;
    let asked = [("scope", "openid offline_access"), ("prompt", "none"), ("organization", "other")];
    let to = redirect(&one.authorize_in(&session, "web", &asked).await);
    let elsewhere = tokens(*one, parameter(&to, "code").unwrap()).await;
    let count = pull(&one, SignOutScope::Organization("acme")).await;
    assert_eq!(count, SignOutCount { sessions: 1, families: 1 });

    // What speaks for it has ended; the session, and what speaks for another, has not.
    let refused = other.refresh("web", text(&there["refresh_token"])).await;
    refused.refused(400, "invalid_grant");
    assert_eq!(other.introspect("web", text(&there["access_token"])).await["active"], false);
    assert_eq!(other.refresh("web", text(&elsewhere["refresh_token"])).await.status, 200);
    assert_eq!(me(*other, &session).await.status, 200);
    assert_eq!(silent(*other, &session, "acme").await, Err("login_required".to_owned()));
    let to = redirect(&other.authorize_in(&session, "web", &asked).await);
    assert!(parameter(&to, "code").is_some(), "{to}");

    // A person who chooses it in a flow is asked there.
    let flow = other.authorize_in(&session, "web", &[("scope", "openid")]).await.json();
    assert_eq!(flow["state"], "organization", "{flow}");
    let chose = other.step(&flow, "organization", json!({ "organization": "acme" })).await.json();
    assert_eq!(chose["state"], "credential", "{chose}");
    assert_eq!(chose["assurance"]["reached"], Value::Null, "{chose}");
    let done = other.step(&flow, "password", json!({ "password": PASSWORD })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    // The same session goes on under a new token, and confers again there.
    let renewed = text(&done["result"]["session_token"]).to_owned();
    assert_eq!(me(*one, &session).await.status, 401);
    silent(*one, &renewed, "acme").await.unwrap();

    // The next sign-out asks again, on the way that a client opens.
    pull(&one, SignOutScope::Organization("acme")).await;
    let asked = [("scope", SCOPE), ("organization", "acme")];
    let flow = other.authorize_in(&renewed, "web", &asked).await.json();
    assert_eq!(flow["state"], "identify", "{flow}");
    let path = format!("/flows/{}", text(&flow["id"]));
    let (node, header) = (*other, [("x-session-token", renewed.as_str())]);
    let step = async |name: &str, body: Value| {
        node.post_json(&format!("{path}/{name}"), &body, &header).await.json()
    };
    step("identifier", json!({ "identifier": BRUNO })).await;
    let done = step("password", json!({ "password": PASSWORD })).await;
    assert_eq!(done["state"], "done", "{done}");
    let redirected = text(&done["result"]["redirect_to"]).parse().unwrap();
    tokens(*other, parameter(&redirected, "code").unwrap()).await;
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn an_approval_in_an_organization_that_was_signed_out_needs_a_new_proof() {
    let server = ciba::open_in(TestOptions { rates: None, ..TestOptions::default() }).await;
    let session = server.sign_in(ANA).await;
    pull(&server, SignOutScope::Organization("acme")).await;
    let id = ciba::start(*server, "agent", ANA, &[("scope", "openid invoices:read")]).await;
    let items = ciba::waiting(&server, &session).await;
    let path = text(&items[0]["id"]);
    let led = ciba::decide(*server, &session, path, json!({ "decision": "approve" })).await;
    led.problem(403, "step_up_required");
    ciba::poll(*server, "agent", &id).await.refused(400, "authorization_pending");
    let flow = led.json()["flow"].clone();
    assert_eq!(flow["state"], "credential", "{flow}");
    let done = server.step(&flow, "password", json!({ "password": PASSWORD })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    assert_eq!(ciba::poll(*server, "agent", &id).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_remembered_browser_is_asked_for_the_second_factor_after_the_end_of_all_sessions() {
    let remember_device = Some(Duration::from_hours(30 * 24));
    let lifetimes = Lifetimes { remember_device, ..LIFETIMES };
    let server = TestServer::open_in(TestOptions { lifetimes, ..TestOptions::default() }).await;
    let mut browser = Browser { server: &server, cookies: Vec::new() };
    let mut sign_in = async |answered: bool| {
        browser.forget_session();
        let flow = browser.password("dora@acme.test", PASSWORD).await.json();
        if answered {
            assert_eq!(flow["state"], "second_factor", "{flow}");
            let code = Authenticator::of_dora().code(server.clock.now());
            let path = format!("/flows/{}/totp", text(&flow["id"]));
            let done = browser.post(&path, &json!({ "code": code })).await;
            assert_eq!(done.json()["state"], "done", "{done:?}");
        } else {
            assert_eq!(flow["state"], "done", "{flow}");
        }
    };
    sign_in(true).await;
    sign_in(false).await;
    for scope in [SignOutScope::Everyone, SignOutScope::Account("dora@acme.test")] {
        pull(&server, scope).await;
        server.clock.advance(Duration::from_mins(2));
        sign_in(true).await;
        sign_in(false).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn registration_and_sign_up_close_on_every_node_whatever_their_files_say_and_open_again() {
    let (one, other) = two_nodes().await;
    let registered = |node: Outside| async move {
        let metadata = json!({ "redirect_uris": ["https://new.example/cb"] });
        node.post_json("/connect/register", &metadata, &[]).await.status.as_u16()
    };
    let offered = |node: Outside| async move {
        let metadata = node.get("/.well-known/oauth-authorization-server").await.json();
        metadata["registration_endpoint"].is_string()
    };
    let begin = |node: Outside| async move {
        node.post_json("/flows", &json!({ "kind": "sign_up" }), &[]).await
    };
    assert_eq!((registered(*one).await, offered(*other).await), (201, true));
    assert!(set(&one, SelfService::Registration, true).await);
    assert!(!set(&one, SelfService::Registration, true).await, "once is enough");
    one.clock.expire_views();
    for node in [*one, *other] {
        assert_eq!((registered(node).await, offered(node).await), (401, false));
        assert_eq!(begin(node).await.status, 201, "sign-up is another matter");
        assert_eq!(node.tokens(ANA, "web", SCOPE).await["token_type"], "Bearer");
    }
    // Flows under way end in no account either.
    let profile = begin(*one).await.json();
    assert!(set(&one, SelfService::SignUp, true).await);
    one.clock.expire_views();
    for node in [*one, *other] {
        begin(node).await.problem(403, "sign_up_closed");
        let said = node.step(&profile, "profile", json!({ "email": "eva@acme.test" })).await;
        said.problem(403, "sign_up_closed");
    }
    for service in [SelfService::Registration, SelfService::SignUp] {
        assert!(set(&one, service, false).await);
    }
    one.clock.expire_views();
    assert_eq!((registered(*other).await, offered(*other).await), (201, true));
    assert_eq!(begin(*other).await.status, 201);
    // What the file of a node has closed, no command opens.
    let closed = TestOptions { registration: false, ..TestOptions::default() };
    let closed = one.beside(closed).await;
    assert_eq!((registered(*closed).await, offered(*closed).await), (401, false));
    for server in [one, other, closed] {
        server.stop().await;
    }
}

#[tokio::test]
async fn a_sign_up_that_was_proved_before_it_was_closed_makes_no_account() {
    let options = TestOptions { mailbox: true, rates: None, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let begun = server.post_json("/flows", &json!({ "kind": "sign_up" }), &[]).await.json();
    server.step(&begun, "profile", json!({ "email": "eva@acme.test" })).await;
    let code = code(&sent(&server, &begun, "email_code/send").await);
    let proved = server.step(&begun, "email_code", json!({ "code": code })).await;
    assert_eq!(proved.json()["state"], "credential", "{proved:?}");
    set(&server, SelfService::SignUp, true).await;
    let late = server.step(&begun, "new_password", json!({ "password": PASSWORD })).await;
    late.problem(403, "sign_up_closed");
    set(&server, SelfService::SignUp, false).await;
    let done = server.step(&begun, "new_password", json!({ "password": PASSWORD })).await;
    assert_eq!(done.status, 200, "nothing else has changed: {done:?}");
    // An account that begins after a sign-out of everyone begins in that epoch.
    pull(&server, SignOutScope::Everyone).await;
    let session = server.sign_in("eva@acme.test").await;
    assert_eq!(me(*server, &session).await.status, 200);
    server.stop().await;
}

/// What a thief may think of: the words of the commands as paths.
const GUESSES: [&str; 12] = [
    "/me/sessions/end",
    "/me/sessions/everyone",
    "/me/organizations/acme/sessions",
    "/me/registration",
    "/me/sign-up",
    "/api/sessions",
    "/api/organizations/acme/sessions",
    "/api/organizations/acme/sessions/end",
    "/api/registration",
    "/api/sign-up",
    "/flows/session",
    "/flows/installation",
];

#[tokio::test]
async fn a_stolen_session_or_token_reaches_no_lever() {
    let (one, other) = two_nodes().await;
    let rita = one.sign_in("rita@acme.test").await;
    let token = Api::of(&one, "rita@acme.test", crate::api_caller::EVERYTHING).await.token;
    let bearer = format!("Bearer {token}");
    let bystander = other.sign_in(BRUNO).await;
    let body = json!({ "everyone": true, "organization": "acme", "closed": true, "reason": "x" });
    for path in GUESSES {
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            let request = one.request(method.clone(), path).header("x-session-token", &rita);
            let request = request.header("authorization", &bearer).header("x-reason", "x");
            let request = request.header("content-type", "application/json");
            let answer = one.send(request.body(body.to_string().into()).unwrap()).await;
            assert!([404, 405].contains(&answer.status.as_u16()), "{method} {path}: {answer:?}");
        }
    }
    for kind in ["session", "session_end", "registration", "installation"] {
        let header = [("x-session-token", rita.as_str())];
        let answer = one.post_json("/flows", &json!({ "kind": kind }), &header).await;
        assert_eq!(answer.status, 400, "{kind}: {answer:?}");
    }
    assert_eq!(me(*other, &bystander).await.status, 200);
    silent(*other, &bystander, "acme").await.unwrap();
    // No handler knows the commands.
    let http = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http");
    let mut folders = vec![http];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap_or_default();
            for lever in ["EndAllSessions", "NumberSignOut", "EndSessions", "installation::Command"]
            {
                assert!(!source.contains(lever), "{}: {lever}", path.display());
            }
            read += 1;
        }
    }
    assert!(read > 200, "the files were found: {read}");
    one.stop().await;
    other.stop().await;
}
