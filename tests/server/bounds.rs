//! What one request costs is bounded, whatever its person owns: the table of `docs/runtime-semantics.md`, executed beside
//! another client's requests (review 2, B1 and C2; adr/0119).

use crate::{
    ciba::GRANT,
    database::Database,
    http::{Answer, get},
    me::get_in,
    outside::Outside,
    person::{PASSWORD, callback, text},
    shared::eventually,
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::domain::{ClientRank, Clock as _, Timestamp};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::task::JoinSet;

const ANA: &str = "ana@acme.test";
const SCOPE: &str = "openid offline_access invoices:read";

/// As many grants a person has given: `PORTEIRO_TEST_ROWS`, as `bench/long/bounds` sets it.
fn rows() -> usize {
    let rows = std::env::var("PORTEIRO_TEST_ROWS").ok().and_then(|rows| rows.parse().ok());
    rows.unwrap_or(3_000)
}

/// As many of them belong to one client.
const OF_ONE: usize = 900;

async fn open() -> TestServer {
    // Keys are read as well, and would be counted.
    let keys_every = Duration::from_hours(1);
    TestServer::open_in(TestOptions {
        keys_every,
        rates: None,
        mailbox: true,
        ..TestOptions::default()
    })
    .await
}

/// The id of the one family of a client, which was granted last.
async fn family(server: &TestServer) -> String {
    let mut database = Database::at(&server.url).await;
    let newest = "SELECT id FROM listings WHERE list = 'families' ORDER BY id DESC LIMIT 1";
    let [[id]] = &database.texts::<1>(newest).await[..] else { panic!("one family") };
    id.clone()
}

/// Copies an entity `count` times, with other words in its state, into one place of a list.
pub struct Copies<'a> {
    pub kind: &'a str,
    pub of: &'a str,
    pub name: &'a str,
    pub count: usize,
    pub words: (&'a str, &'a str),
    /// In the words of the database; `rank` is that of the entity.
    pub rank: &'a str,
}

impl Copies<'_> {
    pub async fn make(&self, database: &mut Database) {
        let Self { kind, of, name, count, words: (old, new), rank } = self;
        let numbers = format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
        );
        let entities = format!(
            "{numbers} INSERT INTO entities (kind, id, version, revision, state, live_until, forget_at) \
             SELECT kind, '{name}' || i, version, revision, REPLACE(state, '{old}', '{new}'), \
                    live_until, forget_at FROM entities CROSS JOIN n WHERE kind = '{kind}' AND id = '{of}'"
        );
        database.run(entities).await.unwrap();
        let listings = format!(
            "{numbers} INSERT INTO listings (list, owner, rank, kind, id) \
             SELECT list, owner, {rank}, kind, '{name}' || i FROM listings CROSS JOIN n \
              WHERE kind = '{kind}' AND id = '{of}'"
        );
        database.run(listings).await.unwrap();
    }
}

/// Provides clients that no person is asked about.
async fn provide(server: &TestServer, clients: usize) {
    let client = |number: usize| {
        format!(
            "[[client]]\nclient_id = \"c{number}\"\nclient_secret = \"{}\"\ntrusted = true\n\
             redirect_uris = [\"{}\"]\n",
            crate::support::SECRET,
            callback(&format!("c{number}"))
        )
    };
    server.apply(&(0..clients).map(client).collect::<String>()).await;
}

/// Ana, who has given as many grants as a test wants, and 900 sessions.
struct Owner {
    session: String,
    tokens: Value,
}

async fn owner(server: &TestServer) -> Owner {
    let clients = rows().div_ceil(OF_ONE);
    provide(server, clients).await;
    let session = server.sign_in(ANA).await;
    let code = server.code(&session, "web", SCOPE).await;
    let tokens = server.redeem("web", &code).await.json();
    let mut database = Database::at(&server.url).await;
    let of = family(server).await;
    for number in 0..clients {
        let client_id = format!("c{number}");
        let words = ("\"client_id\":\"web\"", &*format!("\"client_id\":\"{client_id}\""));
        let rank = format!("'{}' || SUBSTR(rank, 17)", ClientRank::of(&client_id).above());
        let name = format!("copy-{client_id}-");
        let count = OF_ONE.min(rows() - number * OF_ONE);
        let copies =
            Copies { kind: "token_family", of: &of, name: &name, count, words, rank: &rank };
        copies.make(&mut database).await;
    }
    let newest = "SELECT id FROM listings WHERE list = 'sessions' ORDER BY id DESC LIMIT 1";
    let [[of]] = &database.texts::<1>(newest).await[..] else { panic!("a session") };
    let rank = "rank";
    let copies =
        Copies { kind: "session", of, name: "other-", count: 900, words: ("~", "~"), rank };
    copies.make(&mut database).await;
    Owner { session, tokens }
}

/// What the server has done so far: reads, and commits that are durable.
pub async fn done(server: &TestServer) -> (u64, u64) {
    // What ends many things goes on after its answer.
    server.quiet().await;
    let text = get(server.operator(), "/metrics").await.text();
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    (value("porteiro_reads_total "), value("porteiro_commits_total{outcome=\"durable\"}"))
}

/// What a request may cost, as the documentation says it.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub reads: u64,
    pub commits: u64,
    pub kilobytes: u64,
}

/// Reads the table of a section: the request in backquotes, then numbers.
pub fn table(of: &str) -> BTreeMap<String, Cost> {
    let text = std::fs::read_to_string("docs/runtime-semantics.md").unwrap();
    let (_, section) = text.split_once(&format!("## {of}\n")).expect("the section");
    let section = section.split("\n## ").next().unwrap();
    let number = |text: &str| text.trim().replace(',', "").parse::<u64>().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [reads, _, kilobytes, commits] = [2, 3, 4, 5].map(|place| number(cells[place]));
        (cells[1].trim_matches('`').to_owned(), Cost { reads, commits, kilobytes })
    };
    rows.map(row).collect()
}

/// Makes one request of the table.
async fn make(server: &TestServer, owner: &Owner, request: &str) -> Answer {
    let Owner { session, tokens } = owner;
    let ask = |method: Method, path: String, body: Value| async move {
        let request = server.request(method, &path).header("x-session-token", session);
        let request = request.header("content-type", "application/json");
        server.send(request.body(body.to_string().into()).unwrap()).await
    };
    match request {
        "DELETE /me/consents/{id}" => {
            let listed = get_in(server, session, "/me/consents").await.json();
            let path = format!("/me/consents/{}", text(&listed["items"][0]["id"]));
            ask(Method::DELETE, path, Value::Null).await
        }
        "PUT /me/password" => {
            let body = json!({ "password": "another long enough password" });
            let answer = ask(Method::PUT, "/me/password".to_owned(), body).await;
            ask(Method::PUT, "/me/password".to_owned(), json!({ "password": PASSWORD })).await;
            answer
        }
        "POST /connect/token (exchange)" => {
            let token = text(&tokens["access_token"]);
            let fields = [
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                ("subject_token", token),
                ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ];
            by_stranger(**server, "/connect/token", &fields).await
        }
        "POST /connect/ciba" => {
            let fields = [("scope", "openid"), ("login_hint", ANA)];
            by_stranger(**server, "/connect/ciba", &fields).await
        }
        "POST /connect/token (code)" => {
            let code = server.code(session, "web", SCOPE).await;
            server.redeem("web", &code).await
        }
        get => {
            let path = get.strip_prefix("GET ").expect("a request that this test can make");
            get_in(server, session, path).await
        }
    }
}

/// Asks as a client that registered itself and holds no grant: all of a person's would be looked through.
async fn by_stranger(server: Outside, path: &str, fields: &[(&str, &str)]) -> Answer {
    let registration = json!({
        "client_name": "Stranger", "redirect_uris": ["https://stranger.example/cb"],
        "grant_types": [
            "authorization_code", GRANT, "urn:ietf:params:oauth:grant-type:token-exchange"
        ],
        "token_endpoint_auth_method": "client_secret_post",
    });
    let registered = server.post_json("/connect/register", &registration, &[]).await;
    assert_eq!(registered.status, 201, "{registered:?}");
    let registered = registered.json();
    let own = [
        ("client_id", text(&registered["client_id"])),
        ("client_secret", text(&registered["client_secret"])),
    ];
    server.post(path, &[&own, fields].concat()).await
}

#[tokio::test]
async fn no_request_costs_more_than_the_table_says_whatever_its_person_owns() {
    let server = open().await;
    let owner = owner(&server).await;
    let table = table("What one request may cost");
    assert!(table.len() >= 12, "{table:?}");
    for (request, allowed) in &table {
        // What is remembered of the last request is not free for the first one.
        server.clock.expire_views();
        let before = done(&server).await;
        let answer = make(&server, &owner, request).await;
        assert!(answer.status.as_u16() < 500, "{request}: {answer:?}");
        let after = done(&server).await;
        let (reads, commits) = (after.0 - before.0, after.1 - before.1);
        let kilobytes = answer.body.len().div_ceil(1_024) as u64;
        println!("{request}: {reads} reads, {kilobytes} KB, {commits} commits");
        assert!(reads <= allowed.reads, "{request}: {reads} reads");
        assert!(commits <= allowed.commits, "{request}: {commits} commits");
        assert!(kilobytes <= allowed.kilobytes, "{request}: {kilobytes} KB");
    }
    server.stop().await;
}

#[tokio::test]
async fn others_are_answered_while_a_person_who_owns_much_reads_their_lists() {
    let server = open().await;
    let Owner { session, .. } = owner(&server).await;
    let (over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut others = JoinSet::new();
    let (outside, ends, counts) = (*server, over.clone(), answered.clone());
    others.spawn(async move {
        while !ends.load(SeqCst) {
            assert_eq!(outside.get("/connect/jwks").await.status, 200);
            counts.fetch_add(1, SeqCst);
        }
    });
    for path in ["/me/consents", "/me/sessions", "/me/delegations", "/me/approvals"] {
        let before = answered.load(SeqCst);
        let (one, two) =
            tokio::join!(get_in(&server, &session, path), get_in(&server, &session, path));
        assert_eq!((one.status.as_u16(), two.status.as_u16()), (200, 200), "{path}");
        let meanwhile = answered.load(SeqCst) - before;
        println!("{path}: {meanwhile} others were answered");
    }
    over.store(true, SeqCst);
    others.join_all().await;
    assert!(answered.load(SeqCst) > 4);
    server.stop().await;
}

#[tokio::test]
async fn every_client_of_a_person_who_has_very_many_is_found_page_by_page() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    provide(&server, 130).await;
    let code = server.code(&session, "web", SCOPE).await;
    server.redeem("web", &code).await;
    let (of, mut database) = (family(&server).await, Database::at(&server.url).await);
    for number in 0..130 {
        let client_id = format!("c{number}");
        let words = ("\"client_id\":\"web\"", &*format!("\"client_id\":\"{client_id}\""));
        let rank = format!("'{}' || SUBSTR(rank, 17)", ClientRank::of(&client_id).above());
        let name = format!("copy-{client_id}-");
        let copies =
            Copies { kind: "token_family", of: &of, name: &name, count: 3, words, rank: &rank };
        copies.make(&mut database).await;
    }
    let first = get_in(&server, &session, "/me/consents").await.json();
    assert_eq!(first["items"].as_array().unwrap().len(), 100);
    let path = format!("/me/consents?cursor={}", text(&first["next_cursor"]));
    let second = get_in(&server, &session, &path).await.json();
    assert!(second["next_cursor"].is_null(), "{second}");
    let clients = |page: &Value| {
        let items = page["items"].as_array().unwrap().clone();
        items.iter().map(|one| text(&one["client"]["client_id"]).to_owned()).collect::<Vec<_>>()
    };
    let mut all = [clients(&first), clients(&second)].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 131);
    let other = format!("/me/sessions?cursor={}", text(&first["next_cursor"]));
    get_in(&server, &session, &other).await.problem(400, "invalid_cursor");
    server.stop().await;
}

#[tokio::test]
async fn sessions_are_listed_page_by_page() {
    let server = open().await;
    let Owner { session, .. } = owner(&server).await;
    let (mut path, mut listed, mut pages) = ("/me/sessions".to_owned(), Vec::new(), 0);
    loop {
        let page = get_in(&server, &session, &path).await.json();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 100);
        listed.extend(items.iter().map(|one| text(&one["id"]).to_owned()));
        pages += 1;
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/me/sessions?cursor={cursor}");
    }
    assert_eq!((listed.len(), pages), (901, 10));
    server.stop().await;
}

/// Counts rows of the security log that say so.
async fn recorded(server: &TestServer, event: &'static str) -> usize {
    let mut database = Database::at(&server.url).await;
    let sql = match event {
        "session.ended" => {
            "SELECT id FROM security_log WHERE event = 'session.ended' AND detail LIKE '%too_many%'"
        }
        _ => {
            "SELECT id FROM security_log WHERE event = 'token_family.ended' AND detail LIKE '%too_many%'"
        }
    };
    database.texts::<1>(sql).await.len()
}

#[tokio::test]
async fn of_more_than_a_thousand_sessions_the_longest_unused_ends() {
    let server = open().await;
    let first = server.sign_in(ANA).await;
    let mut database = Database::at(&server.url).await;
    let newest = "SELECT id FROM listings WHERE list = 'sessions' ORDER BY id DESC LIMIT 1";
    let [[of]] = &database.texts::<1>(newest).await[..] else { panic!("a session") };
    // They were used later than the first.
    let rank = format!("'{:015}'", 999_999_999_999_999 - server.clock.now().millis() - 1);
    let copies =
        Copies { kind: "session", of, name: "other-", count: 999, words: ("~", "~"), rank: &rank };
    copies.make(&mut database).await;
    assert_eq!(get_in(&server, &first, "/me").await.status, 200, "a thousand are kept");
    // How many there were is used for a minute.
    server.clock.advance(Duration::from_mins(1));
    let last = server.sign_in(ANA).await;
    eventually("one has ended", async || recorded(&server, "session.ended").await == 1).await;
    // What was read is used for less than a second.
    server.clock.advance(Duration::from_secs(1));
    get_in(&server, &first, "/me").await.problem(401, "session_required");
    assert_eq!(get_in(&server, &last, "/me").await.status, 200);
    // Another person's are their own.
    let other = server.sign_in("bruno@acme.test").await;
    assert_eq!(get_in(&server, &other, "/me").await.status, 200);
    assert_eq!(recorded(&server, "session.ended").await, 1);
    server.stop().await;
}

#[tokio::test]
async fn of_more_than_a_thousand_grants_to_one_client_the_longest_unused_ends() {
    let server = open().await;
    provide(&server, 1).await;
    let session = server.sign_in(ANA).await;
    let grant = async || {
        let code = server.code(&session, "web", SCOPE).await;
        server.redeem("web", &code).await.json()
    };
    let (first, of) = (grant().await, family(&server).await);
    let mut database = Database::at(&server.url).await;
    server.clock.advance(Duration::from_mins(2));
    let later = server.clock.now() + Duration::from_mins(5);
    let minute = Timestamp::from_millis(later.millis() / 60_000 * 60_000);
    let rank = format!("'{}'", ClientRank::of("web").used_at(minute));
    let copies = Copies {
        kind: "token_family",
        of: &of,
        name: "copy-",
        count: 999,
        words: ("~", "~"),
        rank: &rank,
    };
    copies.make(&mut database).await;
    let other = server.code(&session, "c0", "openid").await;
    assert_eq!(server.redeem("c0", &other).await.status, 200, "another client's are its own");
    assert_eq!(recorded(&server, "token_family.ended").await, 0);
    server.clock.advance(Duration::from_mins(2));
    let ended = async |number| recorded(&server, "token_family.ended").await == number;
    let last = grant().await;
    eventually("one has ended", async || ended(1).await).await;
    let refused = server.refresh("web", text(&first["refresh_token"])).await;
    refused.refused(400, "invalid_grant");
    assert_eq!(server.refresh("web", text(&last["refresh_token"])).await.status, 200);
    // More may begin within a second; then all of them count.
    for _ in 0..3 {
        grant().await;
    }
    server.clock.advance(Duration::from_secs(1));
    assert!(ended(1).await);
    // The next to go are those that were not used since.
    grant().await;
    eventually("four more have ended", async || ended(5).await).await;
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_holds_a_role_among_many_leaves_if_another_manages_the_members() {
    let server = crate::api_caller::directory().await;
    let session = server.sign_in("rita@acme.test").await;
    let leave = async || {
        let request = server.request(Method::DELETE, "/me/organizations/acme");
        let request = request.header("x-session-token", &session);
        server.send(request.body(String::new().into()).unwrap()).await
    };
    // Many members who hold nothing that lets them manage come before the one who does.
    let member = |number: i32| {
        format!(
            "[[account]]\nemail = \"m{number}@acme.test\"\n\
             memberships = [{{ organization = \"acme\", roles = [\"clerk\"] }}]\n"
        )
    };
    server.apply(&(0..120).map(member).collect::<String>()).await;
    leave().await.problem(409, "last_administrator");
    server
        .apply(
            "[[account]]\nemail = \"zoe@acme.test\"\n\
             memberships = [{ organization = \"acme\", roles = [\"administrator\"] }]\n",
        )
        .await;
    assert_eq!(leave().await.status, 204);
    server.stop().await;
}
