//! Tokens that are bound to a key of their client (RFC 9449): what is stolen is worthless.

use crate::{
    api_caller::{EVERYTHING, directory},
    exchange::AGENTS,
    http::Answer,
    impersonation,
    key_holder::{KeyHolder, hash, without},
    person::{claims, parameter, redirect, text},
    races::Pair,
    signing_client::RsaClientKey,
    support::TestServer,
};
use hyper::Method;
use jsonwebtoken::Algorithm;
use porteiro::domain::Clock as _;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

pub const ANA: &str = "ana@acme.test";
pub const TOKEN: &str = "/connect/token";
pub const USERINFO: &str = "/connect/userinfo";
const PAR: &str = "/connect/par";

pub fn holder(server: &TestServer) -> KeyHolder {
    KeyHolder::new(server.issuer(), server.clock.now().seconds())
}

/// What a client gets for a code, with a proof of this key.
async fn tokens(server: &TestServer, client: &str, holder: &KeyHolder, scope: &str) -> Value {
    let session = server.sign_in(ANA).await;
    let code = server.code(&session, client, scope).await;
    let proof = holder.proof("POST", TOKEN, json!({}));
    let answer = server.redeem_proved(client, &code, &[&proof]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Asks userinfo with a token, by these means.
pub async fn userinfo(server: &TestServer, authorization: &str, proofs: &[&str]) -> Answer {
    server.present_token((Method::GET, USERINFO), authorization, proofs).await
}

#[tokio::test]
async fn a_token_that_was_asked_for_with_a_proof_is_bound_to_its_key() {
    let server = TestServer::open().await;
    let owner = holder(&server);
    let issued = tokens(&server, "web", &owner, "openid").await;
    assert_eq!(issued["token_type"], "DPoP");
    let token = text(&issued["access_token"]);
    assert_eq!(claims(&issued["access_token"])["cnf"], json!({ "jkt": owner.thumbprint() }));
    let proof = owner.proof_with("GET", USERINFO, token);
    let told = userinfo(&server, &format!("DPoP {token}"), &[&proof]).await;
    assert_eq!((told.status.as_u16(), told.json()["sub"].is_string()), (200, true), "{told:?}");
    let proof = owner.proof_with("GET", USERINFO, token);
    assert_eq!(userinfo(&server, &format!("dPOP {token}"), &[&proof]).await.status, 200);
    let proof = owner.proof_with("POST", USERINFO, token);
    let bound = format!("DPoP {token}");
    let posted = server.present_token((Method::POST, USERINFO), &bound, &[&proof]).await;
    assert_eq!(posted.status, 200);
    // The resource hears of the binding as well.
    let told = server.introspect("web", token).await;
    assert_eq!(told["cnf"], json!({ "jkt": owner.thumbprint() }));
    assert_eq!(told["token_type"], "DPoP");
    server.stop().await;
}

#[tokio::test]
async fn a_stolen_token_is_worthless() {
    let server = TestServer::open().await;
    let (owner, thief) = (holder(&server), holder(&server));
    let issued = tokens(&server, "web", &owner, "openid").await;
    let token = text(&issued["access_token"]);
    let (bound, bearer) = (format!("DPoP {token}"), format!("Bearer {token}"));
    let refused = userinfo(&server, &bearer, &[]).await;
    refused.refused(401, "invalid_token");
    let by_thief = thief.proof_with("GET", USERINFO, token);
    let by_owner = owner.proof_with("GET", USERINFO, token);
    for (authorization, proofs) in [
        (&bound, &[][..]),
        (&bound, &[&*by_thief][..]),
        (&bearer, &[&*by_owner]),
        (&bearer, &[&*by_thief]),
    ] {
        let refused = userinfo(&server, authorization, proofs).await;
        refused.refused(401, "invalid_token");
    }
    let refused = userinfo(&server, &bound, &[]).await;
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(
        challenge.starts_with("DPoP realm=\"porteiro\", algs=\"ES256 EdDSA PS256\""),
        "{challenge}"
    );
    // In a form there is no scheme for it.
    let form = server.post(USERINFO, &[("access_token", token)]).await;
    form.refused(401, "invalid_token");
    // The proof of the owner was not used by any of that.
    assert_eq!(userinfo(&server, &bound, &[&by_owner]).await.status, 200);
    // A token that is not bound does not become so.
    let free = server.tokens(ANA, "web", "openid").await;
    let token = text(&free["access_token"]);
    assert_eq!(
        (&free["token_type"], &claims(&free["access_token"])["cnf"]),
        (&json!("Bearer"), &Value::Null)
    );
    let proof = owner.proof_with("GET", USERINFO, token);
    userinfo(&server, &format!("DPoP {token}"), &[&proof]).await.refused(401, "invalid_token");
    assert_eq!(userinfo(&server, &format!("Bearer {token}"), &[]).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_proof_is_for_one_request_of_one_kind_at_one_place() {
    let server = TestServer::open().await;
    let owner = holder(&server);
    let issued = tokens(&server, "web", &owner, "openid").await;
    let token = text(&issued["access_token"]);
    let bound = format!("DPoP {token}");
    let ath = hash(token);
    let sign = |header: &Value, otherwise: Value| {
        let mut usual = json!({ "ath": ath });
        usual.as_object_mut().unwrap().extend(otherwise.as_object().unwrap().clone());
        owner.key.sign_under(header, &owner.claims("GET", USERINFO, usual))
    };
    let header = owner.header();
    let with = |name: &str, value: Value| {
        let mut header = header.clone();
        header[name] = value;
        header
    };
    let private = {
        let mut jwk = owner.jwk();
        jwk["d"] = json!("AAAA");
        jwk
    };
    let elsewhere = format!("{}{TOKEN}", server.issuer());
    let (early, late) = (owner.now + 3_600, owner.now - 3_600);
    let mut bad = vec![
        String::new(),
        "a".to_owned(),
        "a.b.c".to_owned(),
        sign(&without(&header, "typ"), json!({})),
        sign(&without(&header, "jwk"), json!({})),
        sign(&without(&header, "alg"), json!({})),
        sign(&with("typ", json!("JWT")), json!({})),
        sign(&with("alg", json!("none")), json!({})),
        sign(&with("alg", json!("HS256")), json!({})),
        sign(&with("alg", json!("RS256")), json!({})),
        sign(&with("alg", json!("EdDSA")), json!({})),
        sign(&with("jwk", private), json!({})),
        sign(&with("jwk", json!("a")), json!({})),
        sign(&with("jwk", holder(&server).jwk()), json!({})),
        sign(&with("crit", json!(["exp"])), json!({})),
        sign(&with("jku", json!("https://keys.example")), json!({})),
        sign(&header, json!({ "htm": "POST" })),
        sign(&header, json!({ "htm": "get" })),
        sign(&header, json!({ "htu": elsewhere })),
        sign(&header, json!({ "htu": "https://elsewhere.example/connect/userinfo" })),
        sign(&header, json!({ "htu": 7 })),
        sign(&header, json!({ "iat": early })),
        sign(&header, json!({ "iat": late })),
        sign(&header, json!({ "iat": "now" })),
        sign(&header, json!({ "nbf": early })),
        sign(&header, json!({ "exp": late })),
        sign(&header, json!({ "ath": hash("another token") })),
        sign(&header, json!({ "ath": token })),
        sign(&header, json!({ "jti": "" })),
        sign(&header, json!({ "jti": "j".repeat(513) })),
        sign(&header, json!({ "jti": 7 })),
        owner.key.sign_text(&header, r#"{"jti":"a","jti":"b"}"#),
    ];
    for claim in ["jti", "htm", "htu", "iat", "ath"] {
        bad.push(sign(&header, json!({ claim: null })));
    }
    let good = sign(&header, json!({}));
    let mut altered = good.clone();
    altered.pop();
    bad.push(altered);
    // RS256 is a signature of a real key here, and is not accepted all the same.
    let rsa = RsaClientKey::new("k");
    bad.push(rsa.sign(Algorithm::RS256, &owner.claims("GET", USERINFO, json!({ "ath": ath }))));
    for bad in &bad {
        let refused = userinfo(&server, &bound, &[bad]).await;
        let description = refused.refused(401, "invalid_dpop_proof");
        assert_eq!(description, "the DPoP proof is not good for this request", "{bad}");
    }
    userinfo(&server, &bound, &[&good, &good]).await.refused(401, "invalid_dpop_proof");
    assert_eq!(userinfo(&server, &bound, &[&good]).await.status, 200);
    let again = userinfo(&server, &bound, &[&good]).await.refused(401, "invalid_dpop_proof");
    assert!(again.contains("used before"), "{again}");
    // What more it says is of no interest, nor how the place is spelled.
    let more = json!({ "htu": format!("{}{USERINFO}?a=b#c", server.issuer()), "foo": "bar",
        "nbf": owner.now, "exp": owner.now + 300 });
    for good in [
        sign(&with("kid", json!("of no interest")), more),
        sign(&header, json!({ "iat": owner.now - 10 })),
        sign(&header, json!({ "iat": owner.now + 10 })),
    ] {
        assert_eq!(userinfo(&server, &bound, &[&good]).await.status, 200, "{good}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_megabyte_of_proof_is_refused_and_nothing_breaks() {
    let server = TestServer::open().await;
    let owner = holder(&server);
    let issued = tokens(&server, "web", &owner, "openid").await;
    let token = text(&issued["access_token"]);
    let huge =
        owner.proof("GET", USERINFO, json!({ "ath": hash(token), "jti": "j".repeat(20_000) }));
    let refused = userinfo(&server, &format!("DPoP {token}"), &[&huge]).await;
    assert!([401, 431].contains(&refused.status.as_u16()), "{refused:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_code_is_redeemed_by_the_key_that_asked_for_it() {
    let server = TestServer::open().await;
    let (owner, thief) = (holder(&server), holder(&server));
    let session = server.sign_in(ANA).await;
    let key = owner.thumbprint();
    let code = async || {
        let answer = server.authorize_in(&session, "web", &[("dpop_jkt", &key)]).await;
        parameter(&redirect(&answer), "code").unwrap()
    };
    let stolen = code().await;
    let by_thief = thief.proof("POST", TOKEN, json!({}));
    for proofs in [&[][..], &[&*by_thief]] {
        let refused = server.redeem_proved("web", &stolen, proofs).await;
        refused.refused(400, "invalid_grant");
    }
    // The code is as good as before for the client that holds the key.
    let proof = owner.proof("POST", TOKEN, json!({}));
    assert_eq!(server.redeem_proved("web", &stolen, &[&proof]).await.status, 200);
    // In a flow as in a session.
    let flow = server.authorize("web", &[("dpop_jkt", &key)]).await;
    let done = server.prove(&flow.json(), ANA).await;
    let code = parameter(&redirect(&done), "code").unwrap();
    server.redeem_proved("web", &code, &[]).await.refused(400, "invalid_grant");
    let proof = owner.proof("POST", TOKEN, json!({}));
    assert_eq!(server.redeem_proved("web", &code, &[&proof]).await.status, 200);
    for bad in ["a", &key[1..], &format!("{key}a"), "é"] {
        let refused = server.authorize_in(&session, "web", &[("dpop_jkt", bad)]).await;
        let error = parameter(&redirect(&refused), "error");
        assert_eq!(error.as_deref(), Some("invalid_request"), "{bad}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_pushed_request_is_bound_by_its_proof() {
    let server = TestServer::open().await;
    let (owner, thief) = (holder(&server), holder(&server));
    let session = server.sign_in(ANA).await;
    let (key, other) = (owner.thumbprint(), thief.thumbprint());
    let push = async |more: &[(&str, &str)], proof: &str| {
        let query = crate::person::asking("web", more);
        let fields: Vec<(String, String)> =
            url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let fields: Vec<(&str, &str)> = fields.iter().map(|(n, v)| (&**n, &**v)).collect();
        server.post_proved("web", PAR, (&fields, &[proof])).await
    };
    for more in [&[][..], &[("dpop_jkt", &*key)]] {
        let proof = owner.proof("POST", PAR, json!({}));
        let pushed = push(more, &proof).await;
        assert_eq!(pushed.status, 201, "{pushed:?}");
        push(more, &proof).await.refused(400, "invalid_dpop_proof");
        let uri = text(&pushed.json()["request_uri"]).to_owned();
        let done = crate::par::present(*server, "web", &uri, Some(&session)).await;
        let code = parameter(&redirect(&done), "code").unwrap();
        let by_thief = thief.proof("POST", TOKEN, json!({}));
        server.redeem_proved("web", &code, &[&by_thief]).await.refused(400, "invalid_grant");
        let proof = owner.proof("POST", TOKEN, json!({}));
        assert_eq!(server.redeem_proved("web", &code, &[&proof]).await.status, 200);
    }
    let proof = owner.proof("POST", PAR, json!({}));
    push(&[("dpop_jkt", &other)], &proof).await.refused(400, "invalid_dpop_proof");
    push(&[], &owner.proof("POST", TOKEN, json!({}))).await.refused(400, "invalid_dpop_proof");
    server.stop().await;
}

#[tokio::test]
async fn refresh_tokens_of_a_public_client_are_bound_and_those_of_a_confidential_one_are_its_own() {
    let server = TestServer::open().await;
    server.apply("[[client]]\nclient_id = \"app\"\ntrusted = true\n").await;
    let (owner, other) = (holder(&server), holder(&server));
    let proof = |holder: &KeyHolder| holder.proof("POST", TOKEN, json!({}));
    let scope = "openid offline_access";
    let issued = tokens(&server, "app", &owner, scope).await;
    let first = text(&issued["refresh_token"]).to_owned();
    for proofs in [&[][..], &[&*proof(&other)]] {
        server.refresh_proved("app", &first, proofs).await.refused(400, "invalid_grant");
    }
    let next = server.refresh_proved("app", &first, &[&proof(&owner)]).await;
    assert_eq!((next.status.as_u16(), &next.json()["token_type"]), (200, &json!("DPoP")));
    let second = text(&next.json()["refresh_token"]).to_owned();
    // A thief without the key proves nothing by a spent token, and ends nothing.
    for proofs in [&[][..], &[&*proof(&other)]] {
        server.refresh_proved("app", &first, proofs).await.refused(400, "invalid_grant");
    }
    let third = server.refresh_proved("app", &second, &[&proof(&owner)]).await;
    assert_eq!(third.status, 200, "{third:?}");
    // By its own key it was stolen in earnest.
    server.refresh_proved("app", &first, &[&proof(&owner)]).await.refused(400, "invalid_grant");
    let third = text(&third.json()["refresh_token"]).to_owned();
    server.refresh_proved("app", &third, &[&proof(&owner)]).await.refused(400, "invalid_grant");
    // A confidential client may come with another key (RFC 9449 §5), and no other client may come.
    let issued = tokens(&server, "web", &owner, scope).await;
    let first = text(&issued["refresh_token"]);
    let again = proof(&owner);
    server.refresh_proved("app", first, &[&again]).await.refused(400, "invalid_grant");
    let next = server.refresh_proved("web", first, &[&proof(&other)]).await;
    assert_eq!(next.status, 200, "{next:?}");
    let bound = &claims(&next.json()["access_token"])["cnf"];
    assert_eq!(*bound, json!({ "jkt": other.thumbprint() }));
    server.stop().await;
}

#[tokio::test]
async fn a_proof_leads_to_one_token_by_every_grant() {
    let server = TestServer::open().await;
    server.apply(AGENTS).await;
    let owner = holder(&server);
    let session = server.sign_in(ANA).await;
    let code = async || server.code(&session, "web", "openid offline_access").await;
    let proof = owner.proof("POST", TOKEN, json!({}));
    let issued = server.redeem_proved("web", &code().await, &[&proof]).await;
    assert_eq!(issued.status, 200, "{issued:?}");
    let refresh = text(&issued.json()["refresh_token"]).to_owned();
    let access = text(&issued.json()["access_token"]).to_owned();
    let used = |answer: Answer| {
        let description = answer.refused(400, "invalid_dpop_proof");
        assert!(description.contains("used before"), "{description}");
    };
    let another = code().await;
    used(server.redeem_proved("web", &another, &[&proof]).await);
    used(server.refresh_proved("web", &refresh, &[&proof]).await);
    let own = [("grant_type", "client_credentials")];
    used(server.post_proved("billing", TOKEN, (&own, &[&proof])).await);
    let exchange = [
        ("grant_type", "token-exchange"),
        ("subject_token", &*access),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
    ];
    used(server.post_proved("agent", TOKEN, (&exchange, &[&proof])).await);
    // Nothing of that was spent by it.
    let fresh = || owner.proof("POST", TOKEN, json!({}));
    assert_eq!(server.redeem_proved("web", &another, &[&fresh()]).await.status, 200);
    assert_eq!(server.refresh_proved("web", &refresh, &[&fresh()]).await.status, 200);
    let own_token = server.post_proved("billing", TOKEN, (&own, &[&fresh()])).await;
    assert_eq!(own_token.json()["token_type"], "DPoP", "{own_token:?}");
    assert_eq!(server.post_proved("agent", TOKEN, (&exchange, &[&fresh()])).await.status, 200);
    // A proof is forgotten when it is too old to be used.
    server.clock.advance(Duration::from_mins(6));
    let late = server.post_proved("billing", TOKEN, (&own, &[&proof])).await;
    late.refused(400, "invalid_dpop_proof");
    server.stop().await;
}

#[tokio::test]
async fn a_bound_subject_token_is_exchanged_by_its_key_alone() {
    let server = TestServer::open().await;
    server.apply(AGENTS).await;
    let (owner, thief) = (holder(&server), holder(&server));
    let issued = tokens(&server, "web", &owner, "openid invoices:read").await;
    let exchange = [
        ("grant_type", "token-exchange"),
        ("subject_token", text(&issued["access_token"])),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
    ];
    let by_thief = thief.proof("POST", TOKEN, json!({}));
    for proofs in [&[][..], &[&*by_thief]] {
        let refused = server.post_proved("agent", TOKEN, (&exchange, proofs)).await;
        refused.refused(400, "invalid_request");
    }
    let proof = owner.proof("POST", TOKEN, json!({}));
    let exchanged = server.post_proved("agent", TOKEN, (&exchange, &[&proof])).await;
    assert_eq!(exchanged.status, 200, "{exchanged:?}");
    let exchanged = exchanged.json();
    assert_eq!(exchanged["token_type"], "DPoP");
    assert_eq!(claims(&exchanged["access_token"])["cnf"], json!({ "jkt": owner.thumbprint() }));
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_demands_bound_tokens_gets_no_others() {
    let server = TestServer::open().await;
    server
        .apply(
            "[[client]]\nclient_id = \"web\"\ndpop_bound_access_tokens = true\n\
                [[client]]\nclient_id = \"billing\"\ndpop_bound_access_tokens = true\n",
        )
        .await;
    let owner = holder(&server);
    let session = server.sign_in(ANA).await;
    let code = server.code(&session, "web", "openid").await;
    server.redeem_proved("web", &code, &[]).await.refused(400, "invalid_dpop_proof");
    let proof = owner.proof("POST", TOKEN, json!({}));
    assert_eq!(server.redeem_proved("web", &code, &[&proof]).await.status, 200);
    server.ask("billing", &[]).await.refused(400, "invalid_dpop_proof");
    let registered = server
        .post_json(
            "/connect/register",
            &json!({ "redirect_uris": ["https://a.example/cb"],
            "dpop_bound_access_tokens": true }),
            &[],
        )
        .await;
    assert_eq!(registered.json()["dpop_bound_access_tokens"], true, "{registered:?}");
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["dpop_signing_alg_values_supported"], json!(["ES256", "EdDSA", "PS256"]));
    server.stop().await;
}

#[tokio::test]
async fn the_management_api_takes_a_bound_token_with_its_proof() {
    let server = directory().await;
    let (owner, thief) = (holder(&server), holder(&server));
    let proof = owner.proof("POST", TOKEN, json!({}));
    let fields = [("grant_type", "client_credentials"), ("scope", "audit:read")];
    let issued = server.post_proved("robot", TOKEN, (&fields, &[&proof])).await;
    assert_eq!(issued.status, 200, "{issued:?}");
    let token = text(&issued.json()["access_token"]).to_owned();
    let path = "/api/organizations/acme/audit";
    let bound = format!("DPoP {token}");
    let ask = async |authorization: &str, proofs: &[&str]| {
        server.present_token((Method::GET, path), authorization, proofs).await
    };
    let proof = owner.proof_with("GET", path, &token);
    assert_eq!(ask(&bound, &[&proof]).await.status, 200);
    let again = ask(&bound, &[&proof]).await;
    again.problem(401, "invalid_dpop_proof");
    assert!(again.header("www-authenticate").unwrap().starts_with("DPoP "), "{again:?}");
    ask(&format!("Bearer {token}"), &[]).await.problem(401, "invalid_token");
    ask(&bound, &[]).await.problem(401, "invalid_token");
    let by_thief = thief.proof_with("GET", path, &token);
    ask(&bound, &[&by_thief]).await.problem(401, "invalid_token");
    let elsewhere = owner.proof_with("GET", "/api/organizations/acme/members", &token);
    ask(&bound, &[&elsewhere]).await.problem(401, "invalid_dpop_proof");
    // With a query too: it is no part of the place.
    let proof = owner.proof_with("GET", path, &token);
    let paged =
        server.present_token((Method::GET, &format!("{path}?limit=1")), &bound, &[&proof]).await;
    assert_eq!(paged.status, 200, "{paged:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_proof_is_used_once_on_two_nodes() {
    let pair = Pair::start().await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_secs()).unwrap();
    let [node, other] = pair.nodes;
    let issuer =
        text(&node.get("/.well-known/openid-configuration").await.json()["issuer"]).to_owned();
    let owner = KeyHolder::new(&issuer, now);
    let own = [("grant_type", "client_credentials")];
    for _ in 0..5 {
        let proof = owner.proof("POST", TOKEN, json!({}));
        let mut racers = JoinSet::new();
        for at in [node, other, node, other] {
            let proof = proof.clone();
            racers.spawn(async move { at.post_proved("billing", TOKEN, (&own, &[&proof])).await });
        }
        let answers = racers.join_all().await;
        let good = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(good, 1, "{answers:?}");
        for refused in answers.iter().filter(|answer| answer.status != 200) {
            refused.refused(400, "invalid_dpop_proof");
        }
    }
}

#[tokio::test]
async fn an_impersonation_is_bound_as_the_token_that_asks_for_it() {
    let server = impersonation::scene().await;
    let owner = holder(&server);
    let (session, api) = impersonation::sofia(&server).await;
    let member = impersonation::membership_of(&api, "carla@acme.test").await;
    let scope = format!("{EVERYTHING} accounts:write");
    let asked = [("scope", scope.as_str()), ("organization", "acme")];
    let answer = server.authorize_in(&session, "web", &asked).await;
    let code = parameter(&redirect(&answer), "code").unwrap();
    let proof = owner.proof("POST", TOKEN, json!({}));
    let issued = server.redeem_proved("web", &code, &[&proof]).await.json();
    let token = text(&issued["access_token"]);
    let path = format!("/api/organizations/acme/members/{member}/impersonation");
    let (bound, proof) = (format!("DPoP {token}"), owner.proof_with("POST", &path, token));
    let headers = [("authorization", &*bound), ("dpop", &*proof)];
    let answer = server.post_json(&path, &impersonation::wanted(), &headers).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["token_type"]), (201, &json!("DPoP")));
    let cnf = &claims(&answer.json()["access_token"])["cnf"];
    assert_eq!(*cnf, json!({ "jkt": owner.thumbprint() }));
    server.stop().await;
}
