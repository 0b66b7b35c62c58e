//! Signed requests that are wrong.

use super::run::{CIBA, Run};
use crate::{
    ciba::ANA,
    conformance::fapi2::signer::{broken, unsigned},
};
use serde_json::{Value, json};

const REQUEST: &[&str] = &["invalid_request"];

/// Insists that a request with this otherwise is refused, and one without is not.
async fn refused(run: &Run, otherwise: Value) {
    for client in [&run.one, &run.two] {
        run.begin(client, &json!({})).await;
        run.refused(&run.ask(client, &otherwise).await, REQUEST);
    }
}

/// Insists that what was made of a good request is refused.
async fn sent(run: &Run, object: &str) {
    run.refused(&run.asking(&run.one, object).send().await, REQUEST);
}

fn good(run: &Run) -> Value {
    run.request(&run.one, &json!({}))
}

pub async fn missing_aud(run: &Run) {
    refused(run, json!({ "aud": null })).await;
}

pub async fn bad_aud(run: &Run) {
    refused(run, json!({ "aud": "https://other.example" })).await;
}

pub async fn missing_iss(run: &Run) {
    refused(run, json!({ "iss": null })).await;
}

pub async fn bad_iss(run: &Run) {
    refused(run, json!({ "iss": "invoices-api" })).await;
}

pub async fn missing_exp(run: &Run) {
    refused(run, json!({ "exp": null })).await;
}

pub async fn expired(run: &Run) {
    refused(run, json!({ "exp": run.now() - 300, "nbf": run.now() - 600 })).await;
}

pub async fn exp_in_70_minutes(run: &Run) {
    refused(run, json!({ "exp": run.now() + 4_200 })).await;
}

pub async fn missing_iat(run: &Run) {
    refused(run, json!({ "iat": null })).await;
}

pub async fn missing_nbf(run: &Run) {
    refused(run, json!({ "nbf": null })).await;
}

pub async fn nbf_in_10_minutes(run: &Run) {
    refused(run, json!({ "nbf": run.now() + 600, "exp": run.now() + 900 })).await;
}

pub async fn nbf_70_minutes_ago(run: &Run) {
    refused(run, json!({ "nbf": run.now() - 4_200 })).await;
}

pub async fn missing_jti(run: &Run) {
    refused(run, json!({ "jti": null })).await;
}

pub async fn none(run: &Run) {
    sent(run, &unsigned(&good(run))).await;
}

pub async fn bad_signature(run: &Run) {
    sent(run, &broken(&run.one.signer.sign(&good(run)))).await;
}

pub async fn rs256(run: &Run) {
    sent(run, &run.one.signer.sign_weakly(&good(run))).await;
}

pub async fn key_of_another(run: &Run) {
    sent(run, &run.two.signer.sign(&good(run))).await;
}

pub async fn several_hints(run: &Run) {
    refused(run, json!({ "id_token_hint": "a.b.c" })).await;
}

pub async fn unsigned_request(run: &Run) {
    let fields = [("scope", "openid"), ("login_hint", ANA)];
    let mut call = run.form(&run.one, CIBA, &fields);
    if run.ping {
        call = call.with("client_notification_token", super::run::NOTIFICATION_TOKEN);
    }
    run.refused(&call.send().await, REQUEST);
}
