//! Authorization requests that are unusual or wrong.

use super::{
    grants::{Asked, NONCE, Outcome, STATE},
    run::{Client, Run},
};
use crate::person::claims;

/// Insists that a request is refused when it is pushed, or else when it is opened.
async fn refused(run: &Run, client: &Client, asked: &Asked, codes: &[&str]) {
    let pushed = run.pushing(client, asked).send().await;
    if pushed.status == 201 {
        let uri = run.taken(&pushed);
        let outcome = run.present(client, &uri, &[]).await;
        return run.failed(outcome, codes);
    }
    run.refused(&pushed, codes);
}

pub async fn other_nonce_outside(run: &Run) {
    let uri = run.push(&run.one, &run.asked(&run.one)).await;
    let outcome = run.present(&run.one, &uri, &[("nonce", "of another")]).await;
    let code = run.code_in(outcome, Some(STATE));
    let tokens = run.redeeming(&run.one, &code).send().await.json();
    assert_eq!(claims(&tokens["id_token"])["nonce"], NONCE, "{run}: the pushed one counts");
}

pub async fn other_state_outside(run: &Run) {
    let uri = run.push(&run.one, &run.asked(&run.one)).await;
    let outcome = run.present(&run.one, &uri, &[("state", "of another")]).await;
    run.code_in(outcome, Some(STATE));
}

pub async fn state_outside_only(run: &Run) {
    let uri = run.push(&run.one, &run.asked(&run.one).without("state")).await;
    let outcome = run.present(&run.one, &uri, &[("state", "of another")]).await;
    run.code_in(outcome, None);
}

pub async fn long_nonce(run: &Run) {
    let nonce = "n-0S6_WzA2Mj".repeat(32);
    let asked = run.asked(&run.one).with("nonce", &nonce);
    let pushed = run.pushing(&run.one, &asked).send().await;
    if pushed.status != 201 {
        return run.refused(&pushed, &["invalid_request", "invalid_request_object"]);
    }
    // Taken, it comes back whole.
    run.tokens(&run.one, &asked).await;
}

pub async fn long_state(run: &Run) {
    let state = "x".repeat(1_100);
    run.code(&run.one, &run.asked(&run.one).with("state", &state)).await;
}

pub async fn without_redirect_uri(run: &Run) {
    let asked = run.asked(&run.one).without("redirect_uri");
    refused(run, &run.one, &asked, &["invalid_request", "invalid_request_object"]).await;
}

pub async fn redirect_uri_in_request(run: &Run) {
    // The second client has one address as well, but with a query.
    let asked = run.asked(&run.two).without("redirect_uri");
    refused(run, &run.two, &asked, &["invalid_request", "invalid_request_object"]).await;
}

pub async fn unregistered_redirect_uri(run: &Run) {
    let elsewhere = format!("{}/elsewhere", run.one.callback);
    let asked = run.asked(&run.one).with("redirect_uri", &elsewhere);
    let pushed = run.pushing(&run.one, &asked).send().await;
    run.refused(&pushed, &["invalid_request", "invalid_request_object"]);
}

pub async fn without_pushing(run: &Run) {
    let fields = run.asked(&run.one).fields();
    let fields: Vec<(&str, &str)> = fields.iter().map(|(n, v)| (&**n, &**v)).collect();
    let begun = run.open(&fields).await;
    let outcome = run.walk(&run.one, begun, "allow").await;
    run.failed(outcome, &["invalid_request"]);
}

const TYPE_REFUSALS: [&str; 3] =
    ["unsupported_response_type", "invalid_request", "unauthorized_client"];

pub async fn response_type_code_id_token(run: &Run) {
    let asked = run.asked(&run.one).with("response_type", "code id_token");
    refused(run, &run.one, &asked, &TYPE_REFUSALS).await;
}

pub async fn response_type_token(run: &Run) {
    let asked = run.asked(&run.one).with("response_type", "token");
    refused(run, &run.one, &asked, &TYPE_REFUSALS).await;
}

pub async fn without_pkce(run: &Run) {
    let asked = run.asked(&run.one).without("code_challenge").without("code_challenge_method");
    refused(run, &run.one, &asked, &["invalid_request"]).await;
}

pub async fn plain_pkce(run: &Run) {
    let verifier = super::grants::VERIFIER;
    let plain = run.asked(&run.one).with("code_challenge_method", "plain");
    for asked in [plain.clone().with("code_challenge", verifier), plain] {
        refused(run, &run.one, &asked, &["invalid_request"]).await;
    }
    // Without a method it would be a plain one.
    let asked = run.asked(&run.one).without("code_challenge_method");
    refused(run, &run.one, &asked, &["invalid_request"]).await;
}

pub async fn used_request_uri(run: &Run) {
    let uri = run.push(&run.one, &run.asked(&run.one)).await;
    let outcome = run.present(&run.one, &uri, &[]).await;
    run.code_in(outcome, Some(STATE));
    let again = run.present(&run.one, &uri, &[]).await;
    assert!(matches!(again, Outcome::Page(_)), "{run}: {again:?}");
    run.failed(again, &[]);
}

pub async fn opened_twice(run: &Run) {
    let uri = run.push(&run.one, &run.asked(&run.one)).await;
    let left = run.open(&[("client_id", &run.one.id), ("request_uri", &uri)]).await;
    assert_eq!(left.json()["state"], "identify", "{run}: {left:?}");
    let outcome = run.present(&run.one, &uri, &[]).await;
    run.code_in(outcome, Some(STATE));
}

pub async fn expired_request_uri(run: &Run) {
    let pushed = run.pushing(&run.one, &run.asked(&run.one)).send().await;
    let uri = run.taken(&pushed);
    let lives = pushed.json()["expires_in"].as_u64().unwrap();
    run.server.clock.advance(std::time::Duration::from_secs(lives + 1));
    let outcome = run.present(&run.one, &uri, &[]).await;
    run.failed(outcome, &["invalid_request_uri"]);
}

pub async fn request_uri_of_another(run: &Run) {
    let uri = run.push(&run.one, &run.asked(&run.one)).await;
    let outcome = run.present(&run.two, &uri, &[]).await;
    let codes = ["invalid_request", "invalid_request_object", "invalid_request_uri"];
    run.failed(outcome, &codes);
}

pub async fn nothing_beside(run: &Run) {
    // Opened with the client's name and the address alone, as `authorize` does it.
    let tokens = run.tokens(&run.one, &run.asked(&run.one)).await;
    run.spend(&run.one, crate::person::text(&tokens["access_token"])).await;
}
