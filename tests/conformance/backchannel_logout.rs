//! Back-Channel Logout OP: `oidcc-backchannel-rp-initiated-logout-certification-test-plan`.

use crate::{
    backchannel::{metric, open, verified},
    logout::{BYE, is_signed_in, link, tokens},
    person::{claims, text},
    shared::eventually,
    support::TestServer,
};
use serde_json::json;

#[tokio::test]
async fn oidcc_backchannel_logout_discovery_endpoint_verification() {
    let server = TestServer::open().await;
    let document = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(document["backchannel_logout_supported"], true);
    assert_eq!(document["backchannel_logout_session_supported"], true);
    assert!(document["end_session_endpoint"].is_string());
    server.stop().await;
}

#[tokio::test]
async fn oidcc_backchannel_rp_initiated_logout() {
    let (server, receiver) = open().await;
    let session = server.sign_in("ana@acme.test").await;
    let issued = tokens(&server, &session, "web").await;
    let asked = [
        ("id_token_hint", text(&issued["id_token"])),
        ("post_logout_redirect_uri", BYE),
        ("state", "s"),
    ];
    let cookie = format!("porteiro={session}");
    let left = link(&server, &asked, &[("accept", "text/html"), ("cookie", &cookie)]).await;
    let bye = format!("{BYE}?state=s");
    assert_eq!((left.status.as_u16(), left.header("location")), (303, Some(&*bye)));
    let said = verified(&server, &receiver.token(1).await, "RS256").await;
    let id_token = claims(&issued["id_token"]);
    for name in ["iss", "sub", "aud", "sid"] {
        assert_eq!(said[name], id_token[name], "{name}");
    }
    let event = "http://schemas.openid.net/event/backchannel-logout";
    assert_eq!(said["events"], json!({ event: {} }));
    assert!(said["nonce"].is_null() && text(&said["jti"]).len() >= 16, "{said}");
    assert_eq!(said["iat"], 1_800_000_000);
    assert_eq!(said["exp"], 1_800_000_120);
    assert!(!is_signed_in(&server, &session).await);
    eventually("the count", async || metric(&server, "outcome=\"delivered\"} 1").await).await;
    assert_eq!(receiver.count(), 1);
    server.stop().await;
}
