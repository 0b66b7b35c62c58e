//! Refresh tokens, which stay.

use super::{
    run::{Client, Run},
    talk::Call,
};
use crate::{
    dpop::TOKEN,
    person::{claims, text},
};
use serde_json::json;
use std::time::Duration;

fn refreshing<'a>(run: &'a Run, client: &'a Client, token: &str) -> Call<'a> {
    run.call(client, TOKEN, &[("grant_type", "refresh_token"), ("refresh_token", token)])
}

pub async fn refresh_token(run: &Run) {
    let (one, two) = (&run.one, &run.two);
    let tokens = run.tokens(one, &run.asked(one)).await;
    let token = text(&tokens["refresh_token"]);
    let mut call = refreshing(run, one, token);
    let other = run.other_holder();
    if run.variant.dpop() {
        call = call.proving(vec![run.proof(&other, TOKEN)]);
    }
    let answer = call.send().await;
    assert_eq!(answer.status, 200, "{run}: {answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{run}");
    let renewed = answer.json();
    assert_eq!(renewed["token_type"], tokens["token_type"], "{run}");
    let bound = if run.variant.dpop() {
        json!({ "jkt": other.thumbprint() })
    } else {
        run.confirmation(one)
    };
    assert_eq!(claims(&renewed["access_token"])["cnf"], bound, "{run}");
    // FAPI 2.0 §5.3.2.1: it does not rotate. What came is used on, after a while, over and over.
    let same = &renewed["refresh_token"];
    assert!(same.is_null() || same == token, "{run}: {renewed}");
    for _ in 0..2 {
        run.server.clock.advance(Duration::from_secs(30));
        let again = refreshing(run, one, token).send().await;
        assert_eq!(again.status, 200, "{run}: {again:?}");
        run.spend(one, text(&again.json()["access_token"])).await;
    }
    let answer = refreshing(run, one, token).unauthenticated(one).send().await;
    run.refused(&answer, &["invalid_client", "invalid_grant", "invalid_request"]);
    let codes: &[&str] = if run.variant.dpop() {
        &["invalid_request", "invalid_grant", "invalid_dpop_proof"]
    } else {
        &["invalid_client", "invalid_request", "invalid_grant"]
    };
    run.refused(&refreshing(run, one, token).unbound().send().await, codes);
    let others = run.tokens(two, &run.asked(two)).await;
    let stolen = refreshing(run, one, text(&others["refresh_token"])).send().await;
    run.refused(&stolen, &["invalid_grant"]);
    // None of that has ended it.
    assert_eq!(refreshing(run, one, token).send().await.status, 200, "{run}");
}
