//! What a person and their clients hold when a store is copied, and what of it is good afterwards.

use crate::{
    binary::{Installation, printed},
    outside::Outside,
    person::{PASSWORD, parameter, text},
    shared::eventually,
};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use tokio::task::JoinSet;
use url::Url;

pub const ANA: &str = "ana@acme.test";
pub const SCOPE: &str = "openid offline_access invoices:read";

/// What Ana and her clients hold.
pub struct Held {
    pub session: String,
    pub refresh: String,
    code: String,
    /// A sign-in that has come as far as the address.
    flow: Value,
    recovery: String,
    invitation: String,
}

impl Held {
    pub async fn by_ana(installation: &Installation, node: &Outside) -> Self {
        let session = node.sign_in(ANA).await;
        let tokens = node.redeem("web", &node.code(&session, "web", SCOPE).await).await.json();
        let flow = node.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        let named = node.step(&flow, "identifier", json!({ "identifier": ANA })).await;
        assert_eq!(named.status, 200, "{named:?}");
        let link = |arguments: &[&str], (member, name): (&str, &str)| {
            let said: Value = serde_json::from_str(&printed(&installation.run(arguments))).unwrap();
            let link = Url::parse(text(&said[member])).unwrap();
            parameter(&link, name).unwrap()
        };
        Self {
            refresh: text(&tokens["refresh_token"]).to_owned(),
            flow,
            recovery: link(&["account", "recover", ANA, "--json"], ("url", "token")),
            invitation: link(
                &["account", "invite", "eva@acme.test", "--organization", "acme", "--json"],
                ("link", "token"),
            ),
            // Last: it is good for a minute.
            code: node.code(&session, "web", SCOPE).await,
            session,
        }
    }

    /// Tries what is good for one use; none of it is good any more.
    pub async fn assert_spent(&self, node: &Outside) {
        for (step, data) in [
            ("password", json!({ "password": PASSWORD })),
            // It does not begin anew either.
            ("identifier", json!({ "identifier": ANA })),
        ] {
            node.step(&self.flow, step, data).await.problem(409, "flow_over");
        }
        self.assert_spent_but_for_the_flow(node).await;
    }

    pub async fn assert_spent_but_for_the_flow(&self, node: &Outside) {
        node.redeem("web", &self.code).await.refused(400, "invalid_grant");
        for (kind, token) in [("recovery", &self.recovery), ("invitation", &self.invitation)] {
            let begun =
                node.post_json("/flows", &json!({ "kind": kind, "token": token }), &[]).await;
            assert!(begun.status.is_client_error(), "{kind}: {begun:?}");
        }
    }
}

/// Finds the invitation that was held in a list of a command, and returns its id.
pub fn invitation_in(listed: &str) -> &str {
    let line = listed.lines().find(|line| line.contains("eva@acme.test")).unwrap();
    line.split(' ').next().unwrap()
}

/// Signs people in and refreshes tokens until it is told to stop, and counts.
async fn work(node: Outside, over: Arc<AtomicBool>, done: Arc<AtomicUsize>) {
    while !over.load(Ordering::Relaxed) {
        let tokens = node.tokens(ANA, "web", SCOPE).await;
        let next = node.refresh("web", text(&tokens["refresh_token"])).await;
        assert_eq!(next.status, 200, "{next:?}");
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Two who work while a store is copied.
pub struct Load {
    workers: JoinSet<()>,
    over: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
}

impl Load {
    pub async fn begin(node: Outside) -> Self {
        let (over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let workers = (0..2).map(|_| work(node, over.clone(), done.clone())).collect();
        let load = Self { workers, over, done };
        load.goes_on().await;
        load
    }

    /// Waits for more of it.
    pub async fn goes_on(&self) {
        let wanted = self.done.load(Ordering::Relaxed) + 2;
        eventually("more work", async || self.done.load(Ordering::Relaxed) >= wanted).await;
    }

    pub async fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        self.workers.join_all().await;
    }
}
