//! Assertions of clients (`private_key_jwt`).

use super::{
    run::Run,
    talk::{Call, PAR},
};
use crate::dpop::TOKEN;
use serde_json::{Value, json};

/// A request to the token endpoint that is right but for its assertion.
async fn redeeming(run: &Run) -> Call<'_> {
    let code = run.code(&run.one, &run.asked(&run.one)).await;
    run.redeeming(&run.one, &code)
}

async fn redeeming_with(run: &Run, otherwise: Value) -> crate::http::Answer {
    let assertion = run.one.signer.sign(&run.assertion(&run.one, otherwise));
    redeeming(run).await.asserting(assertion).send().await
}

async fn pushing_with(run: &Run, otherwise: Value) -> crate::http::Answer {
    let assertion = run.one.signer.sign(&run.assertion(&run.one, otherwise));
    run.pushing(&run.one, &run.asked(&run.one)).asserting(assertion).send().await
}

const CODES: [&str; 2] = ["invalid_client", "invalid_request"];

pub async fn rs256(run: &Run) {
    let weak = || run.one.signer.sign_weakly(&run.assertion(&run.one, json!({})));
    let answer = redeeming(run).await.asserting(weak()).send().await;
    run.refused(&answer, &["invalid_client"]);
    let pushed = run.pushing(&run.one, &run.asked(&run.one)).asserting(weak()).send().await;
    run.refused(&pushed, &["invalid_client"]);
}

pub async fn none(run: &Run) {
    let answer = redeeming(run).await.unauthenticated(&run.one).send().await;
    run.refused(&answer, &CODES);
}

pub async fn expired(run: &Run) {
    let (now, past) = (run.now() - 360, run.now() - 300);
    run.refused(&redeeming_with(run, json!({ "iat": now, "exp": past })).await, &CODES);
}

pub async fn wrong_audience(run: &Run) {
    run.refused(&redeeming_with(run, json!({ "aud": "https://other.example" })).await, &CODES);
}

pub async fn no_subject(run: &Run) {
    run.refused(&redeeming_with(run, json!({ "sub": null })).await, &["invalid_client"]);
}

pub async fn soon(run: &Run) {
    let soon = run.now() + 8;
    run.taken(&pushing_with(run, json!({ "iat": soon, "nbf": soon })).await);
}

pub async fn too_early(run: &Run) {
    let early = run.now() + 70;
    let claims = json!({ "iat": early, "nbf": early, "exp": early + 60 });
    run.refused(&pushing_with(run, claims).await, &CODES);
}

pub async fn several_audiences(run: &Run) {
    let several = json!({ "aud": [run.server.issuer(), "https://other.example"] });
    run.refused(&pushing_with(run, several).await, &CODES);
    // Alone in a list it is no better: the plan's text wants one word.
    let listed = json!({ "aud": [run.server.issuer()] });
    run.refused(&pushing_with(run, listed).await, &CODES);
}

/// Insists that the address of an endpoint is no audience, wherever the endpoint is found.
async fn endpoint_as_audience(run: &Run, path: &str) {
    for audience in [format!("{}{path}", run.server.issuer()), run.url(path)] {
        run.refused(&pushing_with(run, json!({ "aud": audience })).await, &CODES);
    }
}

pub async fn par_endpoint_as_audience(run: &Run) {
    endpoint_as_audience(run, PAR).await;
}

pub async fn token_endpoint_as_audience(run: &Run) {
    endpoint_as_audience(run, TOKEN).await;
}
