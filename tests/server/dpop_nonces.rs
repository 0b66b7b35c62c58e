//! Nonces of the server in the proofs of clients (RFC 9449 §8), and proofs of programs in browsers.

use crate::{
    dpop::{ANA, TOKEN, USERINFO, holder, userinfo},
    http::Answer,
    key_holder::hash,
    person::text,
    support::{TestOptions, TestServer, form},
};
use hyper::Method;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn where_proofs_need_a_nonce_one_comes_with_the_refusal_and_the_clock_does_not_matter() {
    let options = TestOptions { dpop_nonce: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let owner = holder(&server);
    let own = [("grant_type", "client_credentials")];
    let ask = async |more: Value| {
        let proof = owner.proof("POST", TOKEN, more);
        server.post_proved("billing", TOKEN, (&own, &[&proof])).await
    };
    let nonce = |answer: &Answer| answer.header("dpop-nonce").unwrap().to_owned();
    let refused = ask(json!({})).await;
    refused.refused(400, "use_dpop_nonce");
    let first = nonce(&refused);
    for bad in ["", "of another server", &first[1..]] {
        ask(json!({ "nonce": bad })).await.refused(400, "use_dpop_nonce");
    }
    ask(json!({ "nonce": 7 })).await.refused(400, "invalid_dpop_proof");
    let granted = ask(json!({ "nonce": first })).await;
    assert_eq!(granted.json()["token_type"], "DPoP", "{granted:?}");
    assert_ne!(nonce(&granted), first, "the next one comes with the answer");
    // The clock of the client may be days off: the nonce tells the time.
    for off in [-100_000, 100_000] {
        let answer = ask(json!({ "nonce": first, "iat": owner.now + off })).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let fixed = json!({ "nonce": first, "jti": "once" });
    assert_eq!(ask(fixed.clone()).await.status, 200);
    ask(fixed).await.refused(400, "invalid_dpop_proof");
    // Where a token is presented it is the same.
    let session = server.sign_in(ANA).await;
    let code = server.code(&session, "web", "openid").await;
    let proof = owner.proof("POST", TOKEN, json!({ "nonce": first }));
    let issued = server.redeem_proved("web", &code, &[&proof]).await.json();
    let token = text(&issued["access_token"]);
    let bound = format!("DPoP {token}");
    let refused = userinfo(&server, &bound, &[&owner.proof_with("GET", USERINFO, token)]).await;
    refused.refused(401, "use_dpop_nonce");
    assert!(refused.header("www-authenticate").unwrap().contains("error=\"use_dpop_nonce\""));
    let with = json!({ "ath": hash(token), "nonce": nonce(&refused) });
    let proof = owner.proof("GET", USERINFO, with);
    assert_eq!(userinfo(&server, &bound, &[&proof]).await.status, 200);
    // A nonce is over after three minutes, long before its uses are forgotten.
    server.clock.advance(Duration::from_mins(3));
    ask(json!({ "nonce": first, "jti": "once" })).await.refused(400, "use_dpop_nonce");
    // A caller without a proof is given none.
    assert_eq!(server.ask("billing", &[]).await.header("dpop-nonce"), None);
    server.stop().await;
}

#[tokio::test]
async fn a_page_of_another_site_may_send_a_proof_and_read_the_nonce() {
    let options = TestOptions { dpop_nonce: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let asks = server
        .request(Method::OPTIONS, TOKEN)
        .header("origin", "https://app.example.com")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "dpop");
    let may = server.send(asks.body(form(&[])).unwrap()).await;
    assert!(may.header("access-control-allow-headers").unwrap().contains("dpop"), "{may:?}");
    let proof = holder(&server).proof("POST", TOKEN, json!({}));
    let request = server
        .request(Method::POST, TOKEN)
        .header("origin", "https://app.example.com")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("dpop", proof);
    let body = "grant_type=authorization_code&client_id=app&code=x";
    let refused = server.send(request.body(body.into()).unwrap()).await;
    refused.refused(400, "use_dpop_nonce");
    let exposed = refused.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("dpop-nonce") && refused.header("dpop-nonce").is_some(), "{exposed}");
    server.stop().await;
}
