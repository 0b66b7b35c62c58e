//! Proofs, and codes that are bound to their keys (RFC 9449).

use super::{
    grants::{Asked, STATE},
    run::Run,
    talk::PAR,
};
use crate::{dpop::TOKEN, http::Answer, key_holder::KeyHolder, person::text};
use serde_json::{Value, json};

/// Goes the whole way with proofs that say this.
async fn whole_way(run: &Run, otherwise: Value) {
    let client = &run.one;
    let said = |path| client.holder.proof("POST", path, otherwise.clone());
    let asked = run.asked(client);
    let pushed = run.pushing(client, &asked).proving(vec![said(PAR)]).send().await;
    let uri = run.taken(&pushed);
    let outcome = run.present(client, &uri, &[]).await;
    let code = run.code_in(outcome, Some(STATE));
    let answer = run.redeeming(client, &code).proving(vec![said(TOKEN)]).send().await;
    let tokens = run.check(client, &answer, &asked).await;
    let token = text(&tokens["access_token"]);
    run.spend(client, token).await;
    if run.variant.own_resource() {
        let proof = run.proof_for(&client.holder, token, &otherwise);
        let answer = run.visit(client, token).proving(&[proof]).send().await;
        assert_eq!(answer.status, 200, "{run}: {answer:?}");
    }
}

pub async fn nbf_and_exp(run: &Run) {
    let now = run.now();
    whole_way(run, json!({ "iat": now, "nbf": now, "exp": now + 300 })).await;
}

pub async fn ten_seconds_before(run: &Run) {
    whole_way(run, json!({ "iat": run.now() - 10 })).await;
}

pub async fn ten_seconds_after(run: &Run) {
    whole_way(run, json!({ "iat": run.now() + 10 })).await;
}

/// Pushes a request, with a proof if there is one, and redeems the code by a key.
async fn redeem(
    run: &Run,
    asked: &Asked,
    pusher: Option<&KeyHolder>,
    redeemer: &KeyHolder,
) -> Answer {
    let proofs = pusher.map(|holder| run.proof(holder, PAR)).into_iter().collect();
    let pushed = run.pushing(&run.one, asked).proving(proofs).send().await;
    let uri = run.taken(&pushed);
    let outcome = run.present(&run.one, &uri, &[]).await;
    let code = run.code_in(outcome, Some(STATE));
    let proof = run.proof(redeemer, TOKEN);
    run.redeeming(&run.one, &code).proving(vec![proof]).send().await
}

pub async fn mismatched_jkt(run: &Run) {
    let asked = run.asked(&run.one).with("dpop_jkt", &run.other_holder().thumbprint());
    let proof = run.proof(&run.one.holder, PAR);
    let answer = run.pushing(&run.one, &asked).proving(vec![proof]).send().await;
    run.refused(&answer, &["invalid_request", "invalid_dpop_proof"]);
}

const MISMATCH: [&str; 3] = ["invalid_request", "invalid_grant", "invalid_dpop_proof"];

pub async fn other_key_than_pushed(run: &Run) {
    let (asked, holder) = (run.asked(&run.one), &run.one.holder);
    let answer = redeem(run, &asked, Some(holder), &run.other_holder()).await;
    run.refused(&answer, &MISMATCH);
}

pub async fn other_key_than_named(run: &Run) {
    let asked = run.asked(&run.one).with("dpop_jkt", &run.one.holder.thumbprint());
    run.refused(&redeem(run, &asked, None, &run.other_holder()).await, &MISMATCH);
}

pub async fn same_key_as_pushed(run: &Run) {
    let (asked, holder) = (run.asked(&run.one), &run.one.holder);
    let answer = redeem(run, &asked, Some(holder), holder).await;
    run.check(&run.one, &answer, &asked).await;
}

pub async fn same_key_as_named(run: &Run) {
    let holder = &run.one.holder;
    let asked = run.asked(&run.one).with("dpop_jkt", &holder.thumbprint());
    let answer = redeem(run, &asked, None, holder).await;
    run.check(&run.one, &answer, &asked).await;
}
