//! An agent that is suspended, expires, or whose person or organization is, while something of it is under
//! way: a request that waits comes to nothing, and what was exchanged is void at once.

use crate::{
    api_caller::{Api, EVERYTHING, directory},
    ciba::{self, poll},
    exchange::{AGENTS, token_of},
    me::get_in,
    person::text,
    shared::eventually,
    support::TestServer,
};
use hyper::Method;
use porteiro::{
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    provisioning::{ClientChange, SuspensionChange, change_client, suspend},
    system::Workbench,
};
use serde_json::json;
use std::sync::Arc;

const ANA: &str = "ana@acme.test";

/// It asks for approvals, and acts for others.
const BOTH: &str = r#"
[[client]]
client_id = "agent"
grant_types = ["urn:openid:params:grant-type:ciba", "token-exchange", "client_credentials"]
[client.agent]
purpose = "Pays invoices"
expires_at = "2100-01-01T00:00:00Z"
"#;

async fn open() -> TestServer {
    let server = directory().await;
    server.apply(AGENTS).await;
    server.apply(BOTH).await;
    server
}

async fn workbench(server: &TestServer) -> Workbench {
    let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
    let (clock, dice) = (server.clock.clone(), Arc::new(SystemDice));
    Workbench::open(&server.url, &folder, clock, dice).await.unwrap()
}

#[derive(Clone, Copy, Debug)]
enum End {
    Suspended,
    Deleted,
    Expired,
    PersonSuspended,
    MembershipEnded,
    OrganizationSuspended,
}

async fn end(server: &TestServer, end: End) {
    let bench = workbench(server).await;
    match end {
        End::Suspended => {
            assert!(change_client(&bench, "agent", ClientChange::Suspend, None).await.unwrap());
        }
        End::Deleted => {
            assert!(change_client(&bench, "agent", ClientChange::Delete, None).await.unwrap());
        }
        End::PersonSuspended => {
            suspend(&bench, ANA, SuspensionChange::Suspend, None).await.unwrap();
        }
        End::Expired => {
            let file = "[[client]]\nclient_id = \"agent\"\n[client.agent]\npurpose = \"Over\"\n\
                        expires_at = \"2020-01-01T00:00:00Z\"\n";
            server.apply(file).await;
        }
        End::MembershipEnded => {
            let api = Api::of(server, "rita@acme.test", EVERYTHING).await;
            let found = api.get("/api/organizations/acme/members?email=ana@acme.test").await.json();
            let ana = format!("/api/organizations/acme/members/{}", text(&found["items"][0]["id"]));
            let ended = json!({ "enabled": false });
            assert_eq!(api.change(Method::PATCH, &ana, Some(&ended)).await.status, 200);
        }
        End::OrganizationSuspended => {
            server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
        }
    }
    bench.close().await;
}

#[tokio::test]
async fn what_was_exchanged_is_void_at_once_whatever_ends() {
    for how in [
        End::Suspended,
        End::Deleted,
        End::Expired,
        End::PersonSuspended,
        End::MembershipEnded,
        End::OrganizationSuspended,
    ] {
        let server = open().await;
        let token = token_of(&server, ANA, "invoices:read").await;
        let held = server.exchanged("agent", &token, "").await;
        let below = server.exchanged("second", &held, "").await;
        assert!(server.is_active(&held).await && server.is_active(&below).await, "{how:?}");
        end(&server, how).await;
        assert!(!server.is_active(&held).await && !server.is_active(&below).await, "{how:?}");
        // Nothing is exchanged for it either.
        let refused = server.exchange("second", &held, &[]).await;
        assert_eq!(refused.status, 400, "{how:?}: {refused:?}");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_request_that_waits_comes_to_nothing_whatever_ends() {
    for how in [
        End::Suspended,
        End::Deleted,
        End::Expired,
        End::PersonSuspended,
        End::MembershipEnded,
        End::OrganizationSuspended,
    ] {
        let server = open().await;
        let session = server.sign_in(ANA).await;
        let asked = [("scope", "openid invoices:read"), ("organization", "acme")];
        let id = ciba::start(*server, "agent", ANA, &asked).await;
        let waiting = get_in(&server, &session, "/me/approvals").await.json();
        let approval = text(&waiting["items"][0]["id"]).to_owned();
        poll(*server, "agent", &id).await.refused(400, "authorization_pending");
        end(&server, how).await;
        let approve = json!({ "decision": "approve" });
        let path = format!("/me/approvals/{approval}");
        let said = server.post_json(&path, &approve, &[("x-session-token", &session)]).await;
        let polled = poll(*server, "agent", &id).await;
        assert_ne!(polled.status, 200, "{how:?}: {said:?} {polled:?}");
        if let End::Suspended | End::Deleted | End::Expired = how {
            eventually("the client is seen anew", async || {
                poll(*server, "agent", &id).await.status == 401
            })
            .await;
        }
        server.stop().await;
    }
}
