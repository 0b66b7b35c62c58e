//! What a client that registered itself may see of itself (RFC 7592).

use crate::{
    http::Answer,
    person::text,
    support::{TestServer, form},
};
use hyper::Method;
use serde_json::json;

async fn read(server: &TestServer, client_id: &str, token: &str) -> Answer {
    let request = server.request(Method::GET, &format!("/connect/register/{client_id}"));
    let request = request.header("authorization", format!("Bearer {token}"));
    server.send(request.body(form(&[])).unwrap()).await
}

#[tokio::test]
async fn a_client_that_declines_what_is_not_offered_may_register_and_sign_people_in() {
    let server = TestServer::open().await;
    let asked = json!({
        "redirect_uris": ["https://web.example.com/cb"],
        "dpop_bound_access_tokens": false,
        "tls_client_certificate_bound_access_tokens": false,
        "require_pushed_authorization_requests": false,
        "require_signed_request_object": false,
    });
    let answer = server.post_json("/connect/register", &asked, &[]).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let told = answer.json();
    let begun = server.authorize("web", &[("client_id", text(&told["client_id"]))]).await;
    assert_eq!(begun.json()["state"], "identify", "{begun:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_reads_what_it_is_registered_with_and_no_other_does() {
    let server = TestServer::open().await;
    let asked = json!({ "redirect_uris": ["https://rp.example/cb"], "client_name": "Ours" });
    let ours = server.post_json("/connect/register", &asked, &[]).await.json();
    let other = server.post_json("/connect/register", &asked, &[]).await.json();
    let (id, token) = (text(&ours["client_id"]), text(&ours["registration_access_token"]));
    let uri = text(&ours["registration_client_uri"]);
    assert_eq!(uri, format!("{}/connect/register/{id}", server.issuer()));
    let answer = read(&server, id, token).await;
    assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (200, Some("no-store")));
    let told = answer.json();
    for name in ["client_id", "client_id_issued_at", "client_name", "redirect_uris", "grant_types"]
    {
        assert_eq!(told[name], ours[name], "{name}");
    }
    assert!(told.get("client_secret").is_none(), "it is told once");
    let foreign = text(&other["registration_access_token"]);
    for (id, token) in [(id, foreign), (id, "prt_x"), (id, ""), ("web", token), ("no-such", token)]
    {
        read(&server, id, token).await.refused(401, "invalid_token");
    }
    let bare = server.get(&format!("/connect/register/{id}")).await;
    bare.refused(401, "invalid_token");
    assert!(bare.header("www-authenticate").unwrap().starts_with("Bearer"));
    server.stop().await;
}
