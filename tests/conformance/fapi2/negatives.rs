//! Proofs that a resource must not believe, and those that it must.

use super::run::Run;
use crate::{
    key_holder::{hash, without},
    person::text,
    signing_client::{RsaClientKey, message},
};
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

pub async fn dpop_negative_tests(run: &Run) {
    let (client, holder) = (&run.one, &run.one.holder);
    let tokens = run.tokens(client, &run.asked(client)).await;
    let token = text(&tokens["access_token"]);
    let header = holder.header();
    let said = |otherwise: Value| {
        let mut usual = json!({ "ath": hash(token), "iat": run.now() });
        usual.as_object_mut().unwrap().extend(otherwise.as_object().unwrap().clone());
        holder.claims("GET", run.resource(), usual)
    };
    let with = |name: &str, value: Value| {
        let mut header = header.clone();
        header[name] = value;
        header
    };
    let sign = |header: &Value, otherwise: Value| holder.key.sign_under(header, &said(otherwise));
    let good = || sign(&header, json!({}));
    let mut private = holder.jwk();
    private["d"] = private["x"].clone();
    let other = run.other_holder();
    let (early, late) = (run.now() + 3_600, run.now() - 3_600);
    let rsa = RsaClientKey::new("k");
    let weak = {
        let mut jwk = rsa.jwk.clone();
        jwk.as_object_mut().unwrap().retain(|name, _| ["kty", "n", "e"].contains(&&**name));
        let header = json!({ "typ": "dpop+jwt", "alg": "RS256", "jwk": jwk });
        rsa.sign_under(Algorithm::RS256, &header, &said(json!({})))
    };
    let mut bad = vec![
        ("malformed", "a.b.c".to_owned()),
        ("no typ", sign(&without(&header, "typ"), json!({}))),
        ("no alg", sign(&without(&header, "alg"), json!({}))),
        ("no jwk", sign(&without(&header, "jwk"), json!({}))),
        ("another typ", sign(&with("typ", json!("JWT")), json!({}))),
        ("RS256", weak),
        ("none", format!("{}.", message(&with("alg", json!("none")), &said(json!({}))))),
        ("a bad signature", super::signer::broken(&good())),
        ("a private key", sign(&with("jwk", private), json!({}))),
        ("another method", sign(&header, json!({ "htm": "POST" }))),
        ("another place", sign(&header, json!({ "htu": run.url("/connect/token") }))),
        ("too early", sign(&header, json!({ "iat": early }))),
        ("too late", sign(&header, json!({ "iat": late }))),
        ("another token", sign(&header, json!({ "ath": hash("another") }))),
        ("another key", run.proof_for(&other, token, &json!({}))),
    ];
    for claim in ["jti", "htm", "htu", "iat", "ath"] {
        bad.push((claim, sign(&header, json!({ claim: null }))));
    }
    for (what, proof) in &bad {
        let answer = run.visit(client, token).proving(std::slice::from_ref(proof)).send().await;
        assert!([400, 401].contains(&answer.status.as_u16()), "{run}: {what}: {answer:?}");
    }
    for (what, proofs) in [("two proofs", vec![good(), good()]), ("no proof", Vec::new())] {
        let answer = run.visit(client, token).proving(&proofs).send().await;
        assert!([400, 401].contains(&answer.status.as_u16()), "{run}: {what}: {answer:?}");
    }
    for proofs in [Vec::new(), vec![good()]] {
        let visit = run.visit(client, token).saying(format!("Bearer {token}"));
        let answer = visit.proving(&proofs).send().await;
        assert!([400, 401].contains(&answer.status.as_u16()), "{run}: Bearer: {answer:?}");
    }
    let place = run.url(run.resource());
    let right = [
        ("a query and a fragment", sign(&header, json!({ "htu": format!("{place}?a=b#c") }))),
        ("more than is asked", sign(&with("more", json!("b")), json!({ "more": true }))),
        ("a good one", good()),
    ];
    for (what, proof) in &right {
        let answer = run.visit(client, token).proving(std::slice::from_ref(proof)).send().await;
        assert_eq!(answer.status, 200, "{run}: {what}: {answer:?}");
        let again = run.visit(client, token).proving(std::slice::from_ref(proof)).send().await;
        assert!([400, 401].contains(&again.status.as_u16()), "{run}: {what} again: {again:?}");
    }
    let answer = run.visit(client, token).saying(format!("DPOP {token}")).send().await;
    assert_eq!(answer.status, 200, "{run}: {answer:?}");
}
