//! Many change an organization while another suspends it: after the answer to the suspension no later
//! change lands, by whichever way, on whichever node; and what was issued before confers nothing, then
//! and when the organization is enabled again.

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING},
    database::Database,
    http::Answer,
    invitations::invited,
    outside::Outside,
    person::{PASSWORD, text},
    shared::eventually,
    support::{TestOptions, TestServer, apply, form},
};
use hyper::Method;
use porteiro::server::Issuer;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
};
use tokio::task::JoinSet;

const ACME: &str = "/api/organizations/acme";
const ADMINISTER: &str = "organizations:administer organizations:read organizations:write";
const SCOPE: &str = "openid offline_access invoices:read";

/// How many changes each way tries after the answer to the suspension.
const AFTERWARDS: usize = 4;

/// How many tokens are looked at: those that were issued last.
const ENOUGH: usize = 20;

/// How far a race is.
#[derive(Default)]
struct Race {
    /// The suspension was answered.
    suspended: AtomicBool,
    /// How many changes have landed.
    landed: AtomicUsize,
    /// Changes that began after the answer and landed all the same.
    late: AtomicUsize,
}

/// A way to change the organization, tried again and again.
#[derive(Clone, Copy, Debug)]
enum Way {
    Rename,
    Role,
    Member,
    Invitation,
    Client,
    Key,
}

const WAYS: [Way; 6] =
    [Way::Rename, Way::Role, Way::Member, Way::Invitation, Way::Client, Way::Key];

/// Who tries it, and where.
#[derive(Clone)]
struct Caller {
    node: Outside,
    token: String,
    /// The membership whose roles change.
    member: String,
}

impl Caller {
    async fn call(&self, method: Method, path: &str, body: &Value) -> Answer {
        let request = self
            .node
            .request(method, path)
            .header("authorization", format!("Bearer {}", self.token))
            .header("if-match", "*")
            .header("content-type", "application/json");
        self.node.send(request.body(body.to_string().into()).unwrap()).await
    }

    /// Tries once; each time is another change.
    async fn change(&self, way: Way, number: usize) -> bool {
        let answer = match way {
            Way::Rename => {
                let body = json!({ "name": format!("Acme {number}") });
                self.call(Method::PATCH, ACME, &body).await
            }
            Way::Role => {
                let path = format!("{ACME}/roles/role{}", number % 50);
                let more: &[&str] = if number.is_multiple_of(2) { &["orders:read"] } else { &[] };
                let permissions = [&["invoices:read"], more].concat();
                let body = json!({ "permissions": permissions });
                self.call(Method::PUT, &path, &body).await
            }
            Way::Member => {
                let roles: &[&str] =
                    if number.is_multiple_of(2) { &["clerk"] } else { &["clerk", "auditor"] };
                let path = format!("{ACME}/members/{}", self.member);
                self.call(Method::PATCH, &path, &json!({ "roles": roles })).await
            }
            Way::Invitation => {
                let body = json!({ "email": format!("new{number}@acme.test"), "roles": ["clerk"] });
                self.call(Method::POST, &format!("{ACME}/invitations"), &body).await
            }
            Way::Client => {
                let body =
                    json!({ "redirect_uris": ["https://a.example.com/cb"], "roles": ["clerk"] });
                self.call(Method::POST, &format!("{ACME}/clients"), &body).await
            }
            Way::Key => {
                let body = json!({ "name": "k", "permissions": ["invoices:read"] });
                self.call(Method::POST, &format!("{ACME}/apikeys"), &body).await
            }
        };
        assert!(!answer.status.is_server_error() || answer.status == 503, "{way:?}: {answer:?}");
        answer.status.is_success()
    }
}

impl Race {
    /// Notes how a try ended that began when it did.
    fn note(&self, began_late: bool, landed: bool) {
        self.landed.fetch_add(usize::from(landed), SeqCst);
        self.late.fetch_add(usize::from(began_late && landed), SeqCst);
    }

    /// Changes until the suspension is answered, and tries some more.
    async fn keep_changing(self: Arc<Self>, caller: Caller, way: Way) {
        let (mut number, mut after) = (0, 0);
        while after < AFTERWARDS {
            let began_late = self.suspended.load(SeqCst);
            let landed = caller.change(way, number).await;
            self.note(began_late, landed);
            number += 1;
            after += usize::from(began_late);
        }
    }

    /// Applies files that change the brand, as another process does. Each race has colours of its own: a file that
    /// changes nothing is accepted, suspended or not.
    async fn keep_branding(self: Arc<Self>, url: String, keys: PathBuf, first: u32) {
        let (mut number, mut after) = (first, 0);
        while after < 2 {
            let began_late = self.suspended.load(SeqCst);
            let brand = format!(
                "[[organization]]\nslug = \"acme\"\n[organization.brand]\ncolour = \"#{:06x}\"\n",
                0x10_0000 + number
            );
            let landed = apply(&url, &keys, &brand).await.is_ok();
            self.note(began_late, landed);
            number += 1;
            after += usize::from(began_late);
        }
    }
}

/// One row a thing of an organization: its kind, its id and its version.
async fn rows(server: &TestServer) -> Vec<[String; 3]> {
    const SQL: &str = "SELECT kind, id, CAST(version AS TEXT) FROM entities WHERE kind IN \
        ('organization', 'membership', 'invitation', 'client', 'api_key', 'logo') ORDER BY kind, id";
    Database::at(&server.url).await.texts(SQL).await
}

/// What was written of changes after the last suspension of acme, by the lane that it was written in:
/// the rows of one lane are in the order of their commits.
async fn changes_after_suspension(server: &TestServer) -> Vec<[String; 2]> {
    const SQL: &str = "SELECT later.event, later.kind FROM security_log AS later, \
        (SELECT lane, max(seq) AS seq FROM security_log WHERE event = 'organization.suspended' \
         AND at = (SELECT max(at) FROM security_log WHERE event = 'organization.suspended') \
         GROUP BY lane) AS suspended \
        WHERE later.lane = suspended.lane AND later.seq > suspended.seq \
        AND later.organization = 'acme' \
        AND later.kind IN ('organization', 'membership', 'invitation', 'client', 'api_key')";
    Database::at(&server.url).await.texts(SQL).await
}

/// Opens a provider of two nodes that counts no attempts.
async fn two_nodes() -> (TestServer, TestServer) {
    // One name for both: a token of one is a token of the other.
    let issuer = || Issuer::Named("http://localhost:8080".to_owned());
    let options =
        || TestOptions { mailbox: true, rates: None, issuer: issuer(), ..TestOptions::default() };
    let server = TestServer::open_in(options()).await;
    server.apply(DIRECTORY).await;
    server.administers("olga@operator.test", true).await;
    let other = server.beside(options()).await;
    (server, other)
}

/// Gets a token of Rita that is good: what is issued may rest on a view a second old.
async fn rita(server: &TestServer) -> String {
    let mut token = String::new();
    eventually("a good token of an administrator", async || {
        let Some(api) = Api::asked(server, "rita@acme.test", EVERYTHING, "acme").await else {
            return false;
        };
        token.clone_from(&api.token);
        api.get(ACME).await.status == 200
    })
    .await;
    token
}

/// Suspends or enables acme through the API, as a holder of `organizations:administer` does.
async fn turn(server: &TestServer, enabled: bool) {
    // Suspending speaks for the organization itself, enabling for another.
    let slug = if enabled { "other" } else { "acme" };
    let body = json!({ "enabled": enabled });
    eventually("it was turned", async || {
        let Some(mut olga) = Api::asked(server, "olga@operator.test", ADMINISTER, slug).await
        else {
            return false;
        };
        olga.reason = Some("unpaid");
        let any = [("if-match", "*")];
        loop {
            let answer = olga.call(Method::PATCH, ACME, Some(&body), &any).await;
            // Another change came between.
            if answer.status != 409 {
                return answer.status == 200;
            }
        }
    })
    .await;
}

/// Insists that a token confers nothing anywhere.
async fn assert_dead(nodes: &[Outside], tokens: &[Value]) {
    for node in nodes {
        for issued in tokens {
            let access = text(&issued["access_token"]);
            assert_eq!(node.introspect("invoices-api", access).await["active"], false);
            if let Some(refresh) = issued["refresh_token"].as_str() {
                assert_eq!(node.introspect("web", refresh).await["active"], false);
                node.refresh("web", refresh).await.refused(400, "invalid_grant");
            }
        }
    }
}

/// Tokens that are issued before and while the organization is suspended.
async fn keep_issuing(race: Arc<Race>, node: Outside, session: String) -> Vec<Value> {
    let mut issued = Vec::new();
    let mut after = 0;
    while after < AFTERWARDS {
        after += usize::from(race.suspended.load(SeqCst));
        if issued.len() >= ENOUGH {
            issued.drain(..2);
        }
        let own = node.ask("billing", &[("scope", "invoices:read")]).await;
        issued.extend((own.status == 200).then(|| own.json()));
        let answer = node.authorize_in(&session, "web", &[("scope", SCOPE)]).await.json();
        let to = answer["result"]["redirect_to"].as_str().and_then(|to| url::Url::parse(to).ok());
        let code = to.and_then(|to| crate::person::parameter(&to, "code"));
        if let Some(code) = code {
            let redeemed = node.redeem("web", &code).await;
            issued.extend((redeemed.status == 200).then(|| redeemed.json()));
        }
    }
    issued
}

/// Runs one race: it is suspended when so many changes have landed. Returns what was issued.
async fn race(server: &TestServer, other: &TestServer, landed: usize) -> Vec<Value> {
    let nodes = [
        Outside { address: server.running().address },
        Outside { address: other.running().address },
    ];
    let race = Arc::new(Race::default());
    let token = rita(server).await;
    let api = Api { server, token: token.clone(), reason: None };
    let found = api.get(&format!("{ACME}/members?email=bruno@acme.test")).await.json();
    let member = text(&found["items"][0]["id"]).to_owned();
    let invitation = invited(server, "clara@nowhere.test", &["clerk"]).await;
    let invitation = json!({ "kind": "invitation", "token": invitation });
    let accepting = server.post_json("/flows", &invitation, &[]).await.json();
    let leaving = server.sign_in("bruno@acme.test").await;
    let session = server.sign_in("ana@acme.test").await;

    let mut changers = JoinSet::new();
    for (place, way) in WAYS.into_iter().enumerate() {
        let caller =
            Caller { node: nodes[place % 2], token: token.clone(), member: member.clone() };
        changers.spawn(race.clone().keep_changing(caller, way));
    }
    let first = u32::try_from(landed).unwrap() * 10_000;
    changers.spawn(race.clone().keep_branding(server.url.clone(), server.keys(), first));
    let issuing = tokio::spawn(keep_issuing(race.clone(), nodes[1], session));
    eventually("changes that land", async || race.landed.load(SeqCst) >= landed).await;
    // One leaves and one accepts an invitation while it is suspended.
    let node = nodes[0];
    let left = tokio::spawn(async move {
        let request = node.request(Method::DELETE, "/me/organizations/acme");
        let request = request.header("x-session-token", leaving).body(form(&[])).unwrap();
        node.send(request).await
    });
    let accepted = tokio::spawn(async move {
        node.step(&accepting, "password", json!({ "password": PASSWORD })).await
    });
    turn(other, false).await;
    race.suspended.store(true, SeqCst);
    let before = rows(server).await;
    changers.join_all().await;
    let (left, accepted) = (left.await.unwrap(), accepted.await.unwrap());
    assert!(!left.status.is_server_error() || left.status == 503, "{left:?}");
    assert!(!accepted.status.is_server_error() || accepted.status == 503, "{accepted:?}");
    let issued = issuing.await.unwrap();
    assert_eq!(race.late.load(SeqCst), 0, "a change landed that began after the answer");
    assert_eq!(rows(server).await, before, "a change landed after the answer");
    let after = changes_after_suspension(server).await;
    assert!(after.is_empty(), "changes came after the suspension: {after:?}");
    assert!(!issued.is_empty());
    assert_dead(&nodes, &issued).await;
    api.get(ACME).await.problem(401, "invalid_token");
    issued
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_of_an_organization_lands_after_the_answer_to_its_suspension() {
    let (server, other) = two_nodes().await;
    let nodes = [
        Outside { address: server.running().address },
        Outside { address: other.running().address },
    ];
    let mut issued: Vec<Value> = Vec::new();
    for landed in [0, 3, 12] {
        // Each suspension has a time of its own.
        server.clock.advance(std::time::Duration::from_secs(1));
        let now = race(&server, &other, landed).await;
        issued.extend(now);
        turn(&server, true).await;
        // What was issued before stays dead, however often it is enabled again.
        assert_dead(&nodes, &issued).await;
        server.apply(BRUNO).await;
    }
    other.stop().await;
    server.stop().await;
}

/// Bruno belongs to acme, whether or not he left it.
const BRUNO: &str = "[[account]]\nemail = \"bruno@acme.test\"\n\
    memberships = [{ organization = \"acme\", roles = [\"clerk\"] }, \
                   { organization = \"other\", roles = [] }]\n";

#[tokio::test]
async fn keys_and_tokens_issued_before_a_suspension_stay_dead_when_it_is_enabled_again() {
    let (server, other) = two_nodes().await;
    let token = rita(&server).await;
    let api = Api { server: &server, token, reason: None };
    let body = json!({ "name": "k", "permissions": ["audit:read"] });
    let made = api.post(&format!("{ACME}/apikeys"), &body).await.json();
    let key = Api { server: &other, token: text(&made["key"]).to_owned(), reason: None };
    assert_eq!(key.get(&format!("{ACME}/audit")).await.status, 200);
    let issued = server.tokens("ana@acme.test", "web", SCOPE).await;
    turn(&server, false).await;
    key.get(&format!("{ACME}/audit")).await.problem(403, "organization_suspended");
    turn(&other, true).await;
    key.get(&format!("{ACME}/audit")).await.problem(401, "invalid_token");
    api.get(ACME).await.problem(401, "invalid_token");
    let nodes = [&server, &other].map(|one| Outside { address: one.running().address });
    assert_dead(&nodes, &[issued]).await;
    // What is issued from now on is good.
    let token = rita(&other).await;
    let api = Api { server: &server, token, reason: None };
    eventually("the other node knows the next epoch", async || {
        api.get(&format!("{ACME}/audit")).await.status == 200
    })
    .await;
    other.stop().await;
    server.stop().await;
}
