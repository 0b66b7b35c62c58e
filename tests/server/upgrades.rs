//! Stores that earlier versions have written are brought up to this one, and what people and clients hold from before
//! is as good as it was. `tests/upgrades/fill.py` has made them.

use crate::{
    ciba, device,
    me::get_in,
    person::{callback, redeeming, text},
    shared::test_folder,
    support::{TestOptions, TestServer},
};
use porteiro::{domain::Timestamp, server::Issuer};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

const STORES: &str = "tests/upgrades";

/// The stores, each in a folder that is named after the commit whose program wrote it.
fn stores() -> Vec<PathBuf> {
    let folders = fs::read_dir(STORES).unwrap().map(|entry| entry.unwrap().path());
    let mut stores: Vec<PathBuf> = folders.filter(|folder| folder.is_dir()).collect();
    stores.sort();
    assert!(!stores.is_empty(), "there is a store in {STORES}");
    stores
}

fn known(store: &Path) -> Value {
    serde_json::from_slice(&fs::read(store.join("known.json")).unwrap()).unwrap()
}

/// The store of the version before this one.
fn former() -> PathBuf {
    stores().into_iter().max_by_key(|store| known(store)["at"].as_i64()).unwrap()
}

/// Writes a store into a file.
fn write_down(store: &Path, file: &Path) {
    let sql = fs::read_to_string(store.join("store.sql")).unwrap();
    rusqlite::Connection::open(file).unwrap().execute_batch(&sql).unwrap();
}

/// Each migration of a store, and from which one on a binary can work with its result.
fn schema(file: &Path) -> Vec<(i64, i64)> {
    let store = rusqlite::Connection::open(file).unwrap();
    let sql = "SELECT version, oldest_compatible FROM schema_history ORDER BY version";
    let mut statement = store.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The highest revision of each kind of entity.
fn revisions(file: &Path) -> BTreeMap<String, i64> {
    let store = rusqlite::Connection::open(file).unwrap();
    let mut statement =
        store.prepare("SELECT kind, MAX(revision) FROM entities GROUP BY kind").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Starts this version on the store of another, a minute after it was written.
async fn open(store: &Path) -> (TestServer, Value) {
    let known = known(store);
    let folder = test_folder();
    let file = folder.path().join("porteiro.db");
    write_down(store, &file);
    let keys = folder.path().join("keys");
    fs::create_dir(&keys).unwrap();
    for key in fs::read_dir(store.join("keys")).unwrap() {
        let key = key.unwrap();
        let copy = keys.join(key.file_name());
        fs::copy(key.path(), &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let at = Timestamp::from_millis(known["at"].as_i64().unwrap() + 20_000);
    let issuer = Issuer::Named(text(&known["issuer"]).to_owned());
    let options = TestOptions { issuer, mailbox: true, ..TestOptions::default() };
    let server = TestServer::over(folder, &file, at, options).await;
    (server, known)
}

#[test]
fn an_earlier_store_has_rows_in_every_table() {
    for store in stores() {
        let known = known(&store);
        for (table, rows) in known["rows"].as_object().unwrap() {
            assert!(rows.as_i64() > Some(0), "{}: {table}", store.display());
        }
    }
}

#[tokio::test]
async fn the_log_of_an_earlier_store_is_whole_and_goes_on() {
    for store in stores() {
        let (server, _) = open(&store).await;
        server.sign_in("ana@acme.test").await;
        let verified = server.running().system().store().verify_log(&[]).await.unwrap();
        assert!(verified.findings.is_empty(), "{}: {:?}", store.display(), verified.findings);
        server.stop().await;
    }
}

#[tokio::test]
async fn sessions_tokens_and_codes_from_before_are_as_good_as_they_were() {
    for store in stores() {
        let (server, known) = open(&store).await;
        let of = |name: &str| text(&known[name]).to_owned();
        let me = get_in(&server, &of("session"), "/me").await;
        assert_eq!(me.status, 200, "{me:?}");
        for token in ["access_token", "machine_token"] {
            let told = server.introspect("invoices-api", &of(token)).await;
            assert_eq!(told["active"], true, "{token}: {told}");
        }
        let refreshed = server.refresh("web", &of("refresh_token")).await;
        assert_eq!(refreshed.status, 200, "{refreshed:?}");
        server.refresh("web", &of("refresh_token")).await.refused(400, "invalid_grant");
        server.refresh("web", &of("ended_refresh_token")).await.refused(400, "invalid_grant");
        let (code, callback) = (of("code"), callback("web"));
        let redeemed = server.token_as("web", &redeeming(&code, &callback)).await;
        assert_eq!(redeemed.status, 200, "{redeemed:?}");
        server.token_as("web", &redeeming(&code, &callback)).await.refused(400, "invalid_grant");
        server.stop().await;
    }
}

#[tokio::test]
async fn what_waited_in_an_earlier_store_goes_on() {
    for store in stores() {
        let (server, known) = open(&store).await;
        let of = |name: &str| text(&known[name]).to_owned();
        // A device that was let in fetches its tokens; one that waited is let in.
        let polled = device::poll(*server, "tv", &of("device_code")).await;
        assert_eq!(polled.status, 200, "{polled:?}");
        device::allow(*server, &of("waiting_user_code"), "bruno@acme.test").await;
        // A request for an approval is approved, and its client fetches what came of it.
        let session = of("session");
        ciba::say(&server, &session, "approve").await;
        let polled = ciba::poll(*server, "agent", &of("auth_req_id")).await;
        assert_eq!(polled.status, 200, "{polled:?}");
        // A flow that waited for a consent has not been lost.
        let flow = server.get(&format!("/flows/{}", of("waiting_flow"))).await;
        assert!([200, 403].contains(&flow.status.as_u16()), "{flow:?}");
        server.stop().await;
    }
}

#[tokio::test]
async fn clients_keys_and_people_from_before_are_known() {
    for store in stores() {
        let (server, known) = open(&store).await;
        let of = |name: &str| text(&known[name]).to_owned();
        let callback = [("redirect_uri", "https://new.example.com/cb")];
        let asked = server.authorize(&of("registered"), &callback).await;
        assert_eq!(asked.status, 200, "{asked:?}");
        let trail = server.request(hyper::Method::GET, "/api/organizations/acme/audit");
        let trail = trail.header("authorization", format!("Bearer {}", of("api_key")));
        let trail = server.send(trail.body(bytes::Bytes::new().into()).unwrap()).await;
        assert_eq!(trail.status, 200, "{trail:?}");
        for email in ["ana@acme.test", "bruno@acme.test"] {
            server.sign_in(email).await;
        }
        let billing = server.ask("billing", &[("scope", "invoices:read")]).await;
        assert_eq!(billing.status, 200, "{billing:?}");
        let refused = server.ask("billing", &[("scope", "invoices:write")]).await;
        assert_eq!(refused.json()["error"], json!("invalid_scope"), "{refused:?}");
        server.stop().await;
    }
}

/// What lets nodes of both versions serve on one database, and the former be put back.
#[tokio::test]
async fn the_former_version_can_work_with_the_schema_that_this_one_makes_of_its_store() {
    let folder = test_folder();
    let file = folder.path().join("porteiro.db");
    write_down(&former(), &file);
    let (known, _) = *schema(&file).last().unwrap();
    let url = format!("sqlite://{}", file.display());
    porteiro::store::migrate(&url, Timestamp::from_millis(0)).await.unwrap();
    for (version, oldest) in schema(&file) {
        assert!(oldest <= known, "migration {version} needs a binary that knows {oldest}");
    }
}

/// A kind whose revision is raised is one that a former node answers 503 about: its operator must have read of that.
#[tokio::test]
async fn what_this_version_writes_the_former_one_reads_unless_the_page_on_rollbacks_names_it() {
    let (server, known) = open(&former()).await;
    let file = PathBuf::from(server.url.strip_prefix("sqlite://").unwrap());
    let folder = test_folder();
    let written = folder.path().join("former.db");
    write_down(&former(), &written);
    let of = |name: &str| text(&known[name]).to_owned();
    server.sign_in("ana@acme.test").await;
    assert_eq!(server.refresh("web", &of("refresh_token")).await.status, 200);
    let (code, callback) = (of("code"), callback("web"));
    assert_eq!(server.token_as("web", &redeeming(&code, &callback)).await.status, 200);
    device::allow(*server, &of("waiting_user_code"), "bruno@acme.test").await;
    ciba::say(&server, &of("session"), "approve").await;
    assert_eq!(ciba::poll(*server, "agent", &of("auth_req_id")).await.status, 200);
    let page = fs::read_to_string("docs/operating.md").unwrap();
    let rollback = page.split("\n### Rollback\n").nth(1).unwrap().split("\n#").next().unwrap();
    let before = revisions(&written);
    for (kind, revision) in revisions(&file) {
        let read = before.get(&kind).is_none_or(|known| revision <= *known);
        assert!(read || rollback.contains(&format!("`{kind}`")), "{kind}: revision {revision}");
    }
    server.stop().await;
}
