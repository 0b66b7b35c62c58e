//! Who a client says it is, and by what.

use super::run::{CIBA, Run};
use crate::{dpop::TOKEN, person::text};
use serde_json::json;

const ANY: [&str; 3] = ["access_denied", "invalid_request", "invalid_client"];

pub async fn other_client_id_than_issuer(run: &Run) {
    let object = run.one.signer.sign(&run.request(&run.one, &json!({})));
    let answer = run.asking(&run.one, &object).named(&run.two.id).send().await;
    run.refused(&answer, &["invalid_client"]);
}

pub async fn wrong_client_id_at_token_endpoint(run: &Run) {
    let begun = run.begin(&run.one, &json!({})).await;
    let call = run.redeeming(&run.one, text(&begun["auth_req_id"]));
    run.refused(&call.named(&run.two.id).send().await, &["invalid_client"]);
}

pub async fn wrong_client_id_at_backchannel(run: &Run) {
    // All of it names the second client, but the certificate and the key are those of the first.
    let object = run.one.signer.sign(&run.request(&run.two, &json!({})));
    let answer = run.asking(&run.one, &object).named(&run.two.id).send().await;
    run.refused(&answer, &ANY);
}

pub async fn without_assertion_at_token_endpoint(run: &Run) {
    let begun = run.begin(&run.one, &json!({})).await;
    let call = run.redeeming(&run.one, text(&begun["auth_req_id"]));
    let answer = call.unauthenticated(&run.one).send().await;
    run.refused(&answer, &["invalid_request", "invalid_client"]);
}

pub async fn without_assertion_at_backchannel(run: &Run) {
    let object = run.one.signer.sign(&run.request(&run.one, &json!({})));
    let answer = run.asking(&run.one, &object).unauthenticated(&run.one).send().await;
    run.refused(&answer, &ANY);
}

fn weak(run: &Run, path: &str) -> String {
    run.one.signer.sign_weakly(&run.assertion(&run.one, json!({ "aud": run.url(path) })))
}

pub async fn rs256_at_backchannel(run: &Run) {
    let object = run.one.signer.sign(&run.request(&run.one, &json!({})));
    let answer = run.asking(&run.one, &object).asserting(weak(run, CIBA)).send().await;
    run.refused(&answer, &ANY);
}

pub async fn rs256_at_token_endpoint(run: &Run) {
    let begun = run.begin(&run.one, &json!({})).await;
    let call = run.redeeming(&run.one, text(&begun["auth_req_id"]));
    run.refused(&call.asserting(weak(run, TOKEN)).send().await, &["invalid_client"]);
}

pub async fn issuer_as_audience(run: &Run) {
    let issuer = run.server.issuer().to_owned();
    for audience in [issuer.clone(), format!("{issuer}{TOKEN}"), run.url(TOKEN)] {
        let begun = run.begin(&run.one, &json!({})).await;
        run.say(&run.one, "approve").await;
        let claims = run.assertion(&run.one, json!({ "aud": audience }));
        let call = run.redeeming(&run.one, text(&begun["auth_req_id"]));
        let answer = call.asserting(run.one.signer.sign(&claims)).send().await;
        assert_eq!(answer.status, 200, "{run}: {audience}: {answer:?}");
    }
}
