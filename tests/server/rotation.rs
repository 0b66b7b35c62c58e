//! A new signing key under load: no request fails, and no verifier that keeps to the cache headers
//! ever meets a token it cannot verify.

use crate::support::{TestServer, verify};
use jsonwebtoken::jwk::JwkSet;
use porteiro::domain::{Clock as _, Timestamp, signing_keys::SigningAlgorithm};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

/// What the key set's header allows.
const MAX_AGE: Duration = Duration::from_mins(10);

/// A relying party that fetches the key set when it must, and not before.
struct Verifier {
    keys: JwkSet,
    fetched: Timestamp,
}

impl Verifier {
    async fn verify(&mut self, server: &TestServer, token: &str) {
        if server.clock.now().since(self.fetched) >= MAX_AGE {
            self.fetched = server.clock.now();
            self.keys = server.key_set().await;
        }
        assert!(verify(token, &self.keys).is_some(), "a token that a kept key set does not verify");
    }
}

#[tokio::test]
async fn a_rotation_loses_no_request_and_no_verification() {
    let server = Arc::new(TestServer::open().await);
    let over = Arc::new(AtomicBool::new(false));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (server, over) = (server.clone(), over.clone());
        clients.spawn(async move {
            let mut verifier =
                Verifier { keys: server.key_set().await, fetched: server.clock.now() };
            let mut kids = Vec::new();
            // The last token is asked for after everything is over.
            let mut is_over = false;
            while !is_over {
                is_over = over.load(SeqCst);
                let token = server.token("billing", "invoices:read").await;
                verifier.verify(&server, &token).await;
                // Whoever is asked instead of verifying is told the same.
                assert_eq!(server.introspect("invoices-api", &token).await["active"], true);
                let kid = jsonwebtoken::decode_header(&token).unwrap().kid.unwrap();
                if kids.last() != Some(&kid) {
                    kids.push(kid);
                }
            }
            kids
        });
    }
    let mut made = Vec::new();
    for _ in 0..2 {
        let kid = server.add_key(SigningAlgorithm::Es256);
        crate::shared::eventually("the next key is published", async || {
            server.key_set().await.find(&kid).is_some()
        })
        .await;
        // Minute by minute, as time passes for those who cache.
        for _ in 0..12 {
            server.clock.advance(Duration::from_mins(1));
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        crate::shared::eventually("the next key signs", async || {
            let token = server.token("billing", "invoices:read").await;
            jsonwebtoken::decode_header(&token).unwrap().kid == Some(kid.clone())
        })
        .await;
        made.push(kid);
    }
    over.store(true, SeqCst);
    while let Some(kids) = clients.join_next().await {
        let kids = kids.expect("no request failed and every token was verified");
        assert_eq!(kids[1..], made, "in order, each once");
    }
    let Ok(server) = Arc::try_unwrap(server) else { panic!("nobody else holds it") };
    server.stop().await;
}
