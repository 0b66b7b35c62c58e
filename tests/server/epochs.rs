//! What ended with an organization or a membership stays ended when that is enabled again.

use crate::{
    person::{claims, text},
    shared::eventually,
    support::TestServer,
};
use serde_json::Value;

const SUSPEND: &str = "[[organization]]\nslug = \"acme\"\nenabled = false\n";
const ENABLE: &str = "[[organization]]\nslug = \"acme\"\nenabled = true\n";
const LEAVE: &str = "[[account]]\nemail = \"ana@acme.test\"\nmemberships = []\n";
const RETURN: &str = "[[account]]\nemail = \"ana@acme.test\"\n\
                      memberships = [{ organization = \"acme\", roles = [\"manager\"] }]\n";

const SCOPE: &str = "openid offline_access invoices:read";

/// Insists that nothing of these tokens is good.
async fn assert_dead(server: &TestServer, tokens: &Value) {
    let (access, refresh) = (text(&tokens["access_token"]), text(&tokens["refresh_token"]));
    for caller in ["web", "invoices-api"] {
        assert_eq!(server.introspect(caller, access).await["active"], false, "{caller}");
    }
    assert_eq!(server.introspect("web", refresh).await["active"], false);
    server.userinfo(access).await.refused(401, "invalid_token");
    server.refresh("web", refresh).await.refused(400, "invalid_grant");
}

/// Waits for tokens of Ana that are good: what is issued may rest on a view a second old.
async fn live_tokens(server: &TestServer, session: &str) -> Value {
    let mut live = Value::Null;
    eventually("a good token", async || {
        let answer = server.authorize_in(session, "web", &[("scope", SCOPE)]).await;
        let to = answer.json()["result"]["redirect_to"].as_str().map(str::to_owned);
        let to = to.and_then(|to| url::Url::parse(&to).ok());
        let Some(code) = to.and_then(|to| crate::person::parameter(&to, "code")) else {
            return false;
        };
        live = server.redeem("web", &code).await.json();
        let access = live["access_token"].as_str().unwrap_or_default();
        server.introspect("invoices-api", access).await["active"] == true
    })
    .await;
    live
}

#[tokio::test]
async fn an_organization_that_is_enabled_again_revives_no_token_issued_before() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    for round in 0..2 {
        let tokens = live_tokens(&server, &session).await;
        let code = server.code(&session, "web", SCOPE).await;
        let own = server.token("billing", "invoices:read").await;
        assert_eq!(server.introspect("billing", &own).await["active"], true, "round {round}");
        server.apply(SUSPEND).await;
        assert_dead(&server, &tokens).await;
        server.apply(ENABLE).await;
        assert_dead(&server, &tokens).await;
        assert_eq!(server.introspect("billing", &own).await["active"], false);
        server.redeem("web", &code).await.refused(400, "invalid_grant");
        eventually("a good token of a client in its own name", async || {
            let fields = [("grant_type", "client_credentials"), ("scope", "invoices:read")];
            let issued = server.token_as("billing", &fields).await.json();
            let own = issued["access_token"].as_str().unwrap_or_default();
            server.introspect("billing", own).await["active"] == true
        })
        .await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_membership_that_is_given_again_revives_no_token_issued_before() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let before = live_tokens(&server, &session).await;
    server.apply(LEAVE).await;
    server.apply(RETURN).await;
    assert_dead(&server, &before).await;
    let after = live_tokens(&server, &session).await;
    let membership = |tokens: &Value| claims(&tokens["access_token"])["membership"].clone();
    assert_eq!(membership(&before), membership(&after), "it is the same membership");
    let refreshed = server.refresh("web", text(&after["refresh_token"])).await;
    assert_eq!(refreshed.status, 200, "{refreshed:?}");
    let access = refreshed.json()["access_token"].clone();
    assert_eq!(server.userinfo(text(&access)).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn what_rests_on_another_organization_is_not_ended_by_it() {
    let server = TestServer::open().await;
    let tokens = server.tokens("clara@nowhere.test", "web", "openid").await;
    server.apply(SUSPEND).await;
    server.apply(ENABLE).await;
    assert_eq!(server.userinfo(text(&tokens["access_token"])).await.status, 200);
    assert_eq!(server.refresh("web", text(&tokens["refresh_token"])).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_change_of_an_account_that_ends_nothing_refuses_no_refresh() {
    let server = TestServer::open().await;
    let session = server.sign_in("ana@acme.test").await;
    let mut tokens = server.redeem("web", &server.code(&session, "web", SCOPE).await).await.json();
    for name in ["Ana", "Ana Maria", "Ana M."] {
        // It has seen the account, and sees it so for as long as the clock stands.
        let refreshed = server.refresh("web", text(&tokens["refresh_token"])).await;
        assert_eq!(refreshed.status, 200, "{refreshed:?}");
        tokens = refreshed.json();
        let account = format!("[[account]]\nemail = \"ana@acme.test\"\ngiven_name = \"{name}\"\n");
        server.apply(&account).await;
        let refreshed = server.refresh("web", text(&tokens["refresh_token"])).await;
        assert_eq!(refreshed.status, 200, "{refreshed:?}");
        tokens = refreshed.json();
    }
    server.stop().await;
}
