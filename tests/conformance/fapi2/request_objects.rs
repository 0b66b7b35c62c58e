//! Signed requests, which are pushed.

use super::{
    run::Run,
    signer::{broken, unsigned},
};
use serde_json::{Value, json};

const OBJECT: &[&str] = &["invalid_request_object"];

/// Pushes a signed request that says this.
async fn pushed(run: &Run, otherwise: &Value) -> crate::http::Answer {
    let object = run.object(&run.one, &run.asked(&run.one), otherwise);
    run.pushing_object(&run.one, &run.one.signer.sign_request(&object)).send().await
}

async fn taken(run: &Run, otherwise: &Value) {
    run.taken(&pushed(run, otherwise).await);
}

async fn refused(run: &Run, otherwise: &Value) {
    run.refused(&pushed(run, otherwise).await, OBJECT);
}

pub async fn several_audiences(run: &Run) {
    taken(run, &json!({ "aud": ["https://other.example", run.server.issuer()] })).await;
}

pub async fn soon(run: &Run) {
    taken(run, &json!({ "nbf": run.now() + 8, "iat": run.now() + 8 })).await;
}

pub async fn without_exp(run: &Run) {
    refused(run, &json!({ "exp": null })).await;
}

pub async fn without_nbf(run: &Run) {
    refused(run, &json!({ "nbf": null })).await;
}

pub async fn expired(run: &Run) {
    refused(run, &json!({ "exp": run.now() - 300, "nbf": run.now() - 600 })).await;
}

pub async fn wrong_audience(run: &Run) {
    refused(run, &json!({ "aud": "https://other.example" })).await;
}

pub async fn too_long(run: &Run) {
    refused(run, &json!({ "exp": run.now() + 4_200 })).await;
    taken(run, &json!({ "exp": run.now() + 3_600 })).await;
}

pub async fn too_old(run: &Run) {
    let past = run.now() - 4_200;
    refused(run, &json!({ "nbf": past, "iat": past, "exp": run.now() + 300 })).await;
}

pub async fn rs256(run: &Run) {
    let object = run.object(&run.one, &run.asked(&run.one), &json!({}));
    let weak = run.one.signer.sign_weakly(&object);
    run.refused(&run.pushing_object(&run.one, &weak).send().await, OBJECT);
}

pub async fn none(run: &Run) {
    let object = run.object(&run.one, &run.asked(&run.one), &json!({}));
    run.refused(&run.pushing_object(&run.one, &unsigned(&object)).send().await, OBJECT);
}

pub async fn invalid_signature(run: &Run) {
    let object = run.object(&run.one, &run.asked(&run.one), &json!({}));
    let bad = broken(&run.one.signer.sign_request(&object));
    run.refused(&run.pushing_object(&run.one, &bad).send().await, OBJECT);
}

pub async fn key_of_another(run: &Run) {
    let object = run.object(&run.one, &run.asked(&run.one), &json!({}));
    let foreign = run.two.signer.sign_request(&object);
    let answer = run.pushing_object(&run.one, &foreign).send().await;
    run.refused(&answer, &["invalid_request_object", "invalid_request"]);
}

pub async fn unsigned_request(run: &Run) {
    let answer = run.pushing_bare(&run.one, &run.asked(&run.one)).send().await;
    run.refused(&answer, &["invalid_request"]);
}

pub async fn request_uri_inside(run: &Run) {
    refused(run, &json!({ "request_uri": "https://suite.example.com/request" })).await;
}
