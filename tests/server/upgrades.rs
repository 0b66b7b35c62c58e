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

/// Starts this version on the store of another, a minute after it was written.
async fn open(store: &Path) -> (TestServer, Value) {
    let known = known(store);
    let folder = test_folder();
    let file = folder.path().join("porteiro.db");
    let sql = fs::read_to_string(store.join("store.sql")).unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch(&sql).unwrap();
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
