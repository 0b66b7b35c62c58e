//! Software statements: what an issuer that the operator trusts says of a client (RFC 7591 §2.3).

use crate::{
    http::Answer,
    person::text,
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{
    crypto::{
        Signer, StatementIssuers, SystemDice,
        keys::{DevKeys, Folder, Generator, Origin},
    },
    domain::Timestamp,
};
use serde_json::{Value, json};
use std::sync::Arc;

const ISSUER: &str = "https://statements.example";
const CALLBACK: &str = "https://bank.example/cb";

/// An issuer of statements, and keys that it does not have.
struct Issuer {
    keys: Folder,
    others: Folder,
}

impl Issuer {
    fn new() -> Self {
        let new = || {
            let folder = tempfile::tempdir().unwrap();
            let keys = folder.path().join("keys");
            let created_at = Timestamp::from_seconds(1_700_000_000);
            let (origin, dice) = (Origin::Generate, &SystemDice);
            let generator = Generator { folder: &keys, origin, created_at, dice };
            generator.generate_all().unwrap();
            Folder::load(&keys, DevKeys::Refused).unwrap()
        };
        Self { keys: new(), others: new() }
    }

    async fn open(&self) -> TestServer {
        let keys: Vec<Value> = self.keys.observed().into_iter().map(|key| key.public_jwk).collect();
        let file = json!({ ISSUER: { "keys": keys } }).to_string();
        let issuers = StatementIssuers::parse(file.as_bytes()).unwrap();
        let statement_issuers = Some(Arc::new(issuers));
        TestServer::open_in(TestOptions { statement_issuers, ..TestOptions::default() }).await
    }

    fn sign(&self, mut claims: Value) -> String {
        if claims.get("iss").is_none() {
            claims["iss"] = ISSUER.into();
        }
        signer(&self.keys).sign("JWT", &claims).unwrap()
    }
}

fn signer(folder: &Folder) -> &Signer {
    &folder.signing()[0].signer
}

async fn register(server: &TestServer, members: &Value) -> Answer {
    server.post_json("/connect/register", members, &[]).await
}

#[tokio::test]
async fn what_a_trusted_issuer_states_replaces_what_the_client_says() {
    let issuer = Issuer::new();
    let server = issuer.open().await;
    let statement = issuer.sign(json!({
        "client_name": "Bank", "redirect_uris": [CALLBACK], "software_id": "bank-1",
        "client_id": "billing", "trusted": true, "organization": "acme", "roles": ["manager"],
        "exp": 4_000_000_000_u64,
    }));
    let asked = json!({
        "client_name": "Evil", "redirect_uris": ["https://evil.example/cb"],
        "tos_uri": "https://bank.example/tos", "software_statement": statement,
    });
    let answer = register(&server, &asked).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let told = answer.json();
    assert_eq!(
        (&told["client_name"], &told["redirect_uris"]),
        (&json!("Bank"), &json!([CALLBACK]))
    );
    assert_eq!(
        (&told["software_id"], text(&told["tos_uri"])),
        (&json!("bank-1"), "https://bank.example/tos")
    );
    assert_eq!(told["software_statement"], *statement, "as it was sent");
    for never in ["trusted", "organization", "roles", "iss", "exp"] {
        assert!(told.get(never).is_none(), "{never}");
    }
    assert_ne!(told["client_id"], "billing");
    let path = format!("/connect/register/{}", text(&told["client_id"]));
    let token = format!("Bearer {}", text(&told["registration_access_token"]));
    let read = server.request(Method::GET, &path).header("authorization", &token);
    let read = server.send(read.body(String::new().into()).unwrap()).await.json();
    assert_eq!(read["software_statement"], *statement);
    // Left out of a replacement, it counts no more.
    let plain = json!({ "client_id": told["client_id"], "redirect_uris": [CALLBACK] });
    let put = server.request(Method::PUT, &path).header("authorization", &token);
    let put = put.header("content-type", "application/json").body(plain.to_string().into());
    let put = server.send(put.unwrap()).await;
    assert_eq!((put.status.as_u16(), put.json().get("software_statement")), (200, None));
    server.stop().await;
}

#[tokio::test]
async fn a_statement_that_does_not_count_is_refused_and_not_ignored() {
    let issuer = Issuer::new();
    let server = issuer.open().await;
    let said = json!({ "iss": ISSUER, "client_name": "Bank" });
    let genuine = issuer.sign(said.clone());
    let (message, _) = genuine.rsplit_once('.').unwrap();
    let unsigned =
        "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJpc3MiOiJodHRwczovL3N0YXRlbWVudHMuZXhhbXBsZSJ9.";
    for (statement, code) in [
        (json!("not.a.jwt"), "invalid_software_statement"),
        (json!(""), "invalid_software_statement"),
        (json!(7), "invalid_software_statement"),
        (json!(unsigned), "invalid_software_statement"),
        (json!(format!("{message}.AAAA")), "invalid_software_statement"),
        (json!(format!("{message}.")), "invalid_software_statement"),
        (json!("x".repeat(10_000)), "invalid_software_statement"),
        (json!(signer(&issuer.others).sign("JWT", &said).unwrap()), "invalid_software_statement"),
        (json!(signer(&issuer.keys).sign("at+jwt", &said).unwrap()), "invalid_software_statement"),
        (json!(issuer.sign(json!({ "exp": 1 }))), "invalid_software_statement"),
        (json!(issuer.sign(json!({ "nbf": 4_000_000_000_u64 }))), "invalid_software_statement"),
        (json!(issuer.sign(json!({ "iss": 7 }))), "invalid_software_statement"),
        (
            json!(issuer.sign(json!({ "iss": "https://other.example" }))),
            "unapproved_software_statement",
        ),
        (
            json!(issuer.sign(json!({ "redirect_uris": ["http://a.example/"] }))),
            "invalid_redirect_uri",
        ),
        (json!(issuer.sign(json!({ "grant_types": ["implicit"] }))), "invalid_client_metadata"),
    ] {
        let asked = json!({ "redirect_uris": [CALLBACK], "software_statement": statement });
        register(&server, &asked).await.refused(400, code);
    }
    server.stop().await;
    // Where no issuer is trusted, a statement is ignored (RFC 7591 §3.1.1).
    let server = TestServer::open().await;
    let asked = json!({ "redirect_uris": [CALLBACK], "software_statement": genuine });
    let told = register(&server, &asked).await.json();
    assert_eq!((told.get("client_name"), told.get("software_statement")), (None, None), "{told}");
    server.stop().await;
}
