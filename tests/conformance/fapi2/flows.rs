//! Flows that must succeed, and the person who says no.

use super::{
    grants::{Outcome, STATE},
    run::Run,
};
use crate::person::{claims, text};
use http_body_util::Full;
use hyper::Method;
use serde_json::json;

pub async fn happy_flow(run: &Run) {
    let (one, two) = (&run.one, &run.two);
    let first = run.tokens(one, &run.asked(one)).await;
    let first = text(&first["access_token"]);
    run.spend(one, first).await;
    let mut asked = run.asked(two);
    if run.variant.dpop() {
        asked = asked.with("dpop_jkt", &two.holder.thumbprint());
    }
    let second = run.tokens(two, &asked).await;
    let second = text(&second["access_token"]);
    run.spend(two, second).await;
    // FAPI 2.0 §5.2.2: no script of another site reads the authorization endpoint.
    let path = "/connect/authorize?client_id=a";
    let request = run.server.request(Method::GET, path).header("origin", "https://other.example");
    let answer = run.server.send(request.body(Full::default()).unwrap()).await;
    assert_eq!(answer.header("access-control-allow-origin"), None, "{run}: {answer:?}");
    if !run.variant.own_resource() {
        return;
    }
    let refused = run.visit(one, first).in_query(first).send().await;
    assert!([400, 401, 414].contains(&refused.status.as_u16()), "{run}: {refused:?}");
    for accepted in ["application/json", "*/*", "application/json;charset=UTF-8, */*;q=0.1"] {
        let answer = run.visit(one, first).header("accept", accepted).send().await;
        assert_eq!(answer.status, 200, "{run}: {accepted} {answer:?}");
    }
    // The keys of the first client do not open what the second was given.
    let stolen = run.visit(one, second).send().await;
    assert!(stolen.status.is_client_error(), "{run}: {stolen:?}");
}

pub async fn user_rejects_authentication(run: &Run) {
    let asked = run.asked(&run.one);
    let uri = run.push(&run.one, &asked).await;
    let begun = run.open(&[("client_id", &run.one.id), ("request_uri", &uri)]).await;
    let outcome = run.walk(&run.one, begun, "deny").await;
    let Outcome::Response(said) = outcome else { panic!("{run}: {outcome:?}") };
    assert_eq!((&*said["error"], &*said["state"]), ("access_denied", STATE), "{run}: {said:?}");
    assert_eq!(said.get("code"), None, "{run}");
}

pub async fn without_state(run: &Run) {
    let tokens = run.tokens(&run.one, &run.asked(&run.one).without("state")).await;
    run.spend(&run.one, text(&tokens["access_token"])).await;
}

pub async fn without_nonce(run: &Run) {
    run.tokens(&run.one, &run.asked(&run.one).without("nonce")).await;
}

pub async fn nonce_of_64(run: &Run) {
    let nonce = "aB3-".repeat(16);
    run.tokens(&run.one, &run.asked(&run.one).with("nonce", &nonce)).await;
}

pub async fn other_scope_order(run: &Run) {
    let tokens = run.tokens(&run.one, &run.asked(&run.one).with("scope", "email openid")).await;
    run.spend(&run.one, text(&tokens["access_token"])).await;
}

pub async fn claims_parameter(run: &Run) {
    let metadata = run.server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["claims_parameter_supported"], true, "{run}");
    let wanted = json!({
        "id_token": { "given_name": { "essential": true }, "unheard_of": null },
        "userinfo": { "phone_number": null, "unheard_of": { "essential": true } },
    });
    let asked = run.asked(&run.one).with("scope", "openid").with("claims", &wanted.to_string());
    let tokens = run.tokens(&run.one, &asked).await;
    assert_eq!(claims(&tokens["id_token"])["given_name"], "Ana", "{run}");
    let told = run.visit(&run.one, text(&tokens["access_token"])).send().await;
    assert_eq!(told.json()["phone_number"], "+351910000000", "{run}: {told:?}");
    assert_eq!(told.json().get("unheard_of"), None, "{run}");
}

pub async fn scheme_in_other_case(run: &Run) {
    let tokens = run.tokens(&run.one, &run.asked(&run.one)).await;
    let token = text(&tokens["access_token"]);
    let scheme = if run.variant.dpop() { "dPOP" } else { "bEARER" };
    let answer = run.visit(&run.one, token).saying(format!("{scheme} {token}")).send().await;
    assert_eq!(answer.status, 200, "{run}: {answer:?}");
}
