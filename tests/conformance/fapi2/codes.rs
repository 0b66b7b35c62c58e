//! Codes at the token endpoint.

use super::{
    grants::{STATE, VERIFIER},
    run::Run,
    tls,
};
use crate::person::text;
use std::time::Duration;

pub async fn client_id_of_another(run: &Run) {
    let code = run.code(&run.one, &run.asked(&run.one)).await;
    let mut call = run.redeeming(&run.one, &code).named(&run.two.id);
    if run.variant.private_key_jwt() {
        // The assertion names the second client, by the key of the first.
        let claims = run.assertion(&run.two, serde_json::json!({}));
        call = call.asserting(run.one.signer.sign(&claims));
    }
    run.refused(&call.send().await, &["invalid_client", "invalid_grant"]);
    let tokens = run.redeeming(&run.one, &code).send().await;
    assert_eq!(tokens.status, 200, "{run}: {tokens:?}");
}

pub async fn holder_of_key(run: &Run) {
    let code = run.code(&run.one, &run.asked(&run.one)).await;
    let answer = run.redeeming(&run.one, &code).unbound().send().await;
    let codes: &[&str] = if run.variant.dpop() {
        &["invalid_request", "invalid_grant", "invalid_dpop_proof"]
    } else {
        &["invalid_client", "invalid_request", "invalid_grant"]
    };
    run.refused(&answer, codes);
    tls::scan(run).await;
}

pub async fn code_of_another(run: &Run) {
    let code = run.code(&run.one, &run.asked(&run.one)).await;
    let call = run.redeeming(&run.two, &code).without("redirect_uri");
    let stolen = call.with("redirect_uri", &run.one.callback).send().await;
    run.refused(&stolen, &["invalid_grant"]);
}

pub async fn used_code(run: &Run) {
    let code = run.code(&run.one, &run.asked(&run.one)).await;
    let tokens = run.redeeming(&run.one, &code).send().await.json();
    let token = text(&tokens["access_token"]);
    run.spend(&run.one, token).await;
    run.server.clock.advance(Duration::from_secs(1));
    run.refused(&run.redeeming(&run.one, &code).send().await, &["invalid_grant"]);
    assert!(run.is_over(&run.one, token).await, "{run}: what came of it ends");
}

pub async fn expired_code(run: &Run) {
    let code = run.code(&run.one, &run.asked(&run.one)).await;
    run.server.clock.advance(Duration::from_secs(62));
    run.refused(&run.redeeming(&run.one, &code).send().await, &["invalid_grant"]);
}

pub async fn without_verifier(run: &Run) {
    let code = run.code(&run.one, &run.asked(&run.one)).await;
    let answer = run.redeeming(&run.one, &code).without("code_verifier").send().await;
    run.refused(&answer, &["invalid_grant"]);
}

pub async fn wrong_verifier(run: &Run) {
    let uri = run.push(&run.one, &run.asked(&run.one)).await;
    let outcome = run.present(&run.one, &uri, &[]).await;
    let code = run.code_in(outcome, Some(STATE));
    let other: String = VERIFIER.chars().rev().collect();
    let call = run.redeeming(&run.one, &code).without("code_verifier");
    run.refused(&call.with("code_verifier", &other).send().await, &["invalid_grant"]);
}
