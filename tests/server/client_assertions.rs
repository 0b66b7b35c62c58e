//! Clients that sign who they are: `private_key_jwt` (RFC 7523, OIDC Core §9).

use crate::{
    nodes::EACH_LIMITS,
    outside::Outside,
    person::text,
    signing_client::{ClientKey, JWT_BEARER, claims, in_toml, key_set, message, provision},
    support::{SECRET, TestOptions, TestServer, basic, form},
};
use hyper::Method;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use porteiro::{
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder, Generator, Origin, Purpose},
    },
    domain::{Clock as _, signing_keys::SigningAlgorithm},
    server::Issuer,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;

/// A server, and a client of Acme with a registered key.
async fn scene() -> (TestServer, ClientKey) {
    scene_in(TestOptions::default()).await
}

async fn scene_in(options: TestOptions) -> (TestServer, ClientKey) {
    let server = TestServer::open_in(options).await;
    let key = ClientKey::new("one");
    provision(&server, "signer", &registered(&key)).await;
    (server, key)
}

fn registered(key: &ClientKey) -> String {
    format!("jwks = {}", in_toml(&key_set(&[&key.jwk])))
}

#[tokio::test]
async fn a_client_signs_who_it_is_by_every_algorithm() {
    let server = TestServer::open().await;
    let folder = tempfile::tempdir().unwrap();
    let generator = Generator {
        folder: folder.path(),
        origin: Origin::Generate,
        created_at: server.clock.now(),
        dice: &SystemDice,
    };
    generator.generate(Purpose::Secret).unwrap();
    for algorithm in SigningAlgorithm::ALL {
        generator.generate(Purpose::Signing(algorithm)).unwrap();
    }
    let keys = Folder::load(folder.path(), DevKeys::Refused).unwrap();
    let public: Vec<Value> = keys.observed().into_iter().map(|key| key.public_jwk).collect();
    let set = key_set(&public.iter().collect::<Vec<_>>());
    provision(&server, "signer", &format!("jwks = {}", in_toml(&set))).await;
    let mut signed = 0;
    for file in keys.signing() {
        let assertion = file.signer.sign("JWT", &claims(&server, "signer", json!({}))).unwrap();
        let answer = server.assert(&assertion, &[("scope", "invoices:read")]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["scope"], "invoices:read");
        signed += 1;
    }
    assert_eq!(signed, 4);
    server.stop().await;
}

#[tokio::test]
async fn an_assertion_serves_at_every_endpoint_and_may_name_it() {
    let (server, key) = scene().await;
    let issuer = server.issuer();
    for path in ["/connect/token", "/connect/introspect", "/connect/revoke"] {
        let url = |path: &str| json!(format!("{issuer}{path}"));
        for audience in
            [json!(issuer), url("/connect/token"), url(path), json!(["https://x", issuer])]
        {
            for more in [&[][..], &[("client_id", "signer")]] {
                let said = claims(&server, "signer", json!({ "aud": audience }));
                let fields = [&[("grant_type", "client_credentials"), ("token", "x")], more];
                let answer = server.assert_at(path, &key.sign(&said), &fields.concat()).await;
                assert_eq!(answer.status, 200, "{path} {audience}: {answer:?}");
            }
        }
    }
    // The path that was called, and no other.
    let other = json!({ "aud": format!("{issuer}/connect/introspect") });
    let answer = server.assert(&key.sign(&claims(&server, "signer", other)), &[]).await;
    answer.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn an_assertion_is_used_once_wherever_and_however_often_it_is_presented() {
    let (server, key) = scene().await;
    let assertion = key.sign(&claims(&server, "signer", json!({})));
    assert_eq!(server.assert(&assertion, &[]).await.status, 200);
    server.assert(&assertion, &[]).await.refused(401, "invalid_client");
    let introspected = server.assert_at("/connect/introspect", &assertion, &[("token", "x")]);
    introspected.await.refused(401, "invalid_client");
    // Signed anew, it is the same one.
    let repeated = json!({ "jti": "once" });
    let signed = || key.sign(&claims(&server, "signer", repeated.clone()));
    assert_eq!(server.assert(&signed(), &[]).await.status, 200);
    server.assert(&signed(), &[]).await.refused(401, "invalid_client");
    // Each client has ids of its own.
    let other = ClientKey::new("two");
    provision(&server, "other-signer", &registered(&other)).await;
    let same = other.sign(&claims(&server, "other-signer", repeated));
    assert_eq!(server.assert(&same, &[]).await.status, 200);
    // It expires before it is forgotten.
    for minutes in [1, 1, 5, 60] {
        server.clock.advance(Duration::from_mins(minutes));
        server.assert(&assertion, &[]).await.refused(401, "invalid_client");
    }
    server.stop().await;
}

/// Presents one assertion fifty times at once to these nodes, and says how often it was believed.
async fn at_once(nodes: &[Outside], assertion: &str) -> usize {
    let mut uses = JoinSet::new();
    for number in 0..50 {
        let (node, assertion) = (nodes[number % nodes.len()], assertion.to_owned());
        uses.spawn(async move { node.assert(&assertion, &[]).await.status.as_u16() });
    }
    let answers = uses.join_all().await;
    assert!(answers.iter().all(|status| [200, 401, 503].contains(status)), "{answers:?}");
    answers.into_iter().filter(|status| *status == 200).count()
}

#[tokio::test]
async fn of_fifty_uses_at_once_one_is_believed() {
    let (server, key) = scene().await;
    let assertion = key.sign(&claims(&server, "signer", json!({})));
    let node = Outside { address: server.address };
    assert_eq!(at_once(&[node], &assertion).await, 1);
    server.stop().await;
}

#[tokio::test]
async fn of_fifty_uses_at_two_nodes_one_is_believed() {
    let options = || TestOptions {
        issuer: Issuer::Named("https://id.example.com".to_owned()),
        ..TestOptions::default()
    };
    let (server, key) = scene_in(options()).await;
    let second = server.beside(options()).await;
    let nodes = [server.address, second.address].map(|address| Outside { address });
    for _ in 0..3 {
        let assertion = key.sign(&claims(&server, "signer", json!({})));
        assert_eq!(at_once(&nodes, &assertion).await, 1);
    }
    let assertion = key.sign(&claims(&server, "signer", json!({})));
    assert_eq!(nodes[0].assert(&assertion, &[]).await.status, 200);
    nodes[1].assert(&assertion, &[]).await.refused(401, "invalid_client");
    second.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn every_wrong_assertion_is_refused_and_has_us_write_nothing() {
    let (server, key) = scene().await;
    let stranger = ClientKey::new("one");
    let other = ClientKey::new("two");
    provision(&server, "other-signer", &registered(&other)).await;
    let now = server.clock.now().seconds();
    let said = |otherwise: Value| claims(&server, "signer", otherwise);
    let mut wrong = vec![
        ("another key of the same name", stranger.sign(&said(json!({})))),
        (
            "client 2's name by client 1's key",
            key.sign(&claims(&server, "other-signer", json!({}))),
        ),
        ("client 1's name by client 2's key", other.sign(&said(json!({})))),
        ("an unknown client", key.sign(&claims(&server, "unheard-of", json!({})))),
    ];
    for (what, otherwise) in [
        ("another issuer", json!({ "iss": "other-signer" })),
        ("another subject", json!({ "sub": "other-signer" })),
        ("no issuer", json!({ "iss": null })),
        ("no subject", json!({ "sub": null })),
        ("a subject of another type", json!({ "sub": ["signer"] })),
        ("no audience", json!({ "aud": null })),
        ("another audience", json!({ "aud": "https://other.example" })),
        ("a longer audience", json!({ "aud": format!("{}/", server.issuer()) })),
        ("no audience at all", json!({ "aud": [] })),
        ("no end", json!({ "exp": null })),
        ("an end in the past", json!({ "exp": now - 10 })),
        ("an end five minutes ago", json!({ "exp": now - 300 })),
        ("an end in words", json!({ "exp": "tomorrow" })),
        ("an end far away", json!({ "exp": now + 7_200 })),
        ("an end beyond all time", json!({ "exp": 1e300 })),
        ("not before long", json!({ "nbf": now + 61 })),
        ("made in the future", json!({ "iat": now + 61 })),
        ("no jti", json!({ "jti": null })),
        ("an empty jti", json!({ "jti": "" })),
        ("a jti of another type", json!({ "jti": 7 })),
    ] {
        wrong.push((what, key.sign(&said(otherwise))));
    }
    for (what, name, value) in [
        ("an unknown key", "kid", json!("unheard-of")),
        ("the type of something else", "typ", json!("oauth-authz-req+jwt")),
        ("a critical header", "crit", json!(["exp"])),
        ("an unencoded payload", "b64", json!(false)),
        ("a key in the header", "jwk", stranger.jwk.clone()),
        ("a certificate in the header", "x5c", json!(["MIIB"])),
        ("the address of keys in the header", "jku", json!("https://x.example/jwks")),
        ("the address of certificates in the header", "x5u", json!("https://x.example/c")),
        ("the algorithm none", "alg", json!("none")),
        ("another algorithm", "alg", json!("RS256")),
        ("no algorithm", "alg", json!("")),
    ] {
        let mut header = key.header();
        header[name] = value;
        wrong.push((what, key.sign_under(&header, &said(json!({})))));
    }
    let unsigned = message(&json!({ "alg": "none" }), &said(json!({})));
    wrong.push(("no signature", format!("{unsigned}.")));
    let whole = key.sign(&said(json!({})));
    wrong.push(("a part of a signature", whole[..whole.len() - 8].to_owned()));
    let (head, _) = whole.rsplit_once('.').unwrap();
    wrong.push(("another signature", format!("{head}.{}", "A".repeat(86))));
    // Alg confusion: the public key as if it were a shared secret, in every form it is published in.
    let point = key.jwk["x"].as_str().unwrap();
    for secret in [key.jwk.to_string(), key_set(&[&key.jwk]).to_string(), point.to_owned()] {
        let header = json!({ "alg": "HS256", "kid": "one" });
        let message = message(&header, &said(json!({})));
        let secret = EncodingKey::from_secret(secret.as_bytes());
        let mac = crypto::sign(message.as_bytes(), &secret, Algorithm::HS256).unwrap();
        wrong.push(("a public key taken for a secret", format!("{message}.{mac}")));
    }
    server.quiet().await;
    let before = server.running().system().store_report().commits;
    for (what, assertion) in wrong {
        let answer = server.assert(&assertion, &[]).await;
        assert_eq!(answer.status, 401, "{what}: {answer:?}");
        answer.refused(401, "invalid_client");
    }
    assert_eq!(server.running().system().store_report().commits, before);
    // What is only a little ahead is taken (FAPI 2.0 §5.3.2.1).
    let ahead = said(json!({ "nbf": now + 8, "iat": now + 8 }));
    assert_eq!(server.assert(&key.sign(&ahead), &[]).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_client_authenticates_in_one_way_and_that_is_its_own() {
    let (server, key) = scene().await;
    let assertion = || key.sign(&claims(&server, "signer", json!({})));
    let given = assertion();
    let asked = |with_header: bool, more: &[(&str, &str)]| {
        let mut request = server
            .request(Method::POST, "/connect/token")
            .header("content-type", "application/x-www-form-urlencoded");
        if with_header {
            request = request.header("authorization", basic("signer", SECRET));
        }
        let grant = ("grant_type", "client_credentials");
        request.body(form(&[&[grant], more].concat())).unwrap()
    };
    let whole = [("client_assertion_type", JWT_BEARER), ("client_assertion", given.as_str())];
    let several = [
        asked(true, &whole),
        asked(false, &[&whole[..], &[("client_secret", SECRET)]].concat()),
        asked(false, &whole[..1]),
        asked(false, &whole[1..]),
        asked(false, &[&whole[..], &whole[1..]].concat()),
    ];
    for request in several {
        server.send(request).await.refused(400, "invalid_request");
    }
    let saml = "urn:ietf:params:oauth:client-assertion-type:saml2-bearer";
    for request in [
        asked(false, &[("client_assertion_type", saml), whole[1]]),
        asked(false, &[&whole[..], &[("client_id", "billing")]].concat()),
        asked(false, &[("client_id", "signer")]),
        asked(false, &[("client_id", "signer"), ("client_secret", SECRET)]),
        asked(true, &[]),
    ] {
        server.send(request).await.refused(401, "invalid_client");
    }
    // A client that has a secret has no use for an assertion.
    for other in ["billing", "nobody", "app"] {
        let signed = key.sign(&claims(&server, other, json!({})));
        server.assert(&signed, &[]).await.refused(401, "invalid_client");
    }
    assert_eq!(server.assert(&given, &[]).await.status, 200, "none of that has spent it");
    server.stop().await;
}

#[tokio::test]
async fn the_algorithm_is_the_one_that_was_registered() {
    let (server, key) = scene().await;
    let line = |algorithm: &str| {
        format!("{}\ntoken_endpoint_auth_signing_alg = \"{algorithm}\"", registered(&key))
    };
    provision(&server, "strict", &line("PS256")).await;
    let signed = key.sign(&claims(&server, "strict", json!({})));
    server.assert(&signed, &[]).await.refused(401, "invalid_client");
    provision(&server, "exact", &line("ES256")).await;
    let signed = key.sign(&claims(&server, "exact", json!({})));
    assert_eq!(server.assert(&signed, &[]).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn clients_of_a_profile_name_exactly_the_issuer() {
    let (server, key) = scene().await;
    let line = format!("{}\nrequire_profile = \"fapi2\"", registered(&key));
    provision(&server, "careful", &line).await;
    let issuer = server.issuer().to_owned();
    for audience in
        [json!(format!("{issuer}/connect/token")), json!([issuer]), json!([issuer, "x"])]
    {
        let said = claims(&server, "careful", json!({ "aud": audience }));
        let signed = key.sign(&said);
        let answer = server.assert_at("/connect/introspect", &signed, &[("token", "x")]).await;
        answer.refused(401, "invalid_client");
    }
    let signed = key.sign(&claims(&server, "careful", json!({})));
    let answer = server.assert_at("/connect/introspect", &signed, &[("token", "x")]).await;
    assert_eq!(answer.json(), json!({ "active": false }), "{answer:?}");
    server.stop().await;
}

#[tokio::test]
async fn wrong_assertions_are_told_to_wait_and_the_right_one_never_is() {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let (server, key) = scene_in(TestOptions { proxies, ..TestOptions::default() }).await;
    server.on_one_node(EACH_LIMITS);
    let stranger = ClientKey::new("one");
    let wrong = stranger.sign(&claims(&server, "signer", json!({})));
    for _ in 0..100 {
        server.assert(&wrong, &[]).await.refused(401, "invalid_client");
    }
    server.assert(&wrong, &[]).await.refused(429, "temporarily_unavailable");
    let right = key.sign(&claims(&server, "signer", json!({})));
    assert_eq!(server.assert(&right, &[]).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_client_registers_itself_with_keys_and_gets_no_secret() {
    let server = TestServer::open().await;
    let key = ClientKey::new("one");
    let asked = json!({
        "redirect_uris": ["https://rp.example/cb"],
        "token_endpoint_auth_method": "private_key_jwt",
        "jwks": key_set(&[&key.jwk]),
    });
    let told = server.post_json("/connect/register", &asked, &[]).await;
    assert_eq!(told.status, 201, "{told:?}");
    let told = told.json();
    assert_eq!(told["token_endpoint_auth_method"], "private_key_jwt");
    assert!(told.get("client_secret").is_none());
    let signed = key.sign(&claims(&server, text(&told["client_id"]), json!({})));
    let answer = server.assert_at("/connect/introspect", &signed, &[("token", "x")]).await;
    assert_eq!(answer.json(), json!({ "active": false }), "{answer:?}");
    let weak = json!({ "kty": "RSA", "n": "_".repeat(168), "e": "AQAB" });
    for keys in [json!(null), key_set(&[&weak])] {
        let mut bad = asked.clone();
        bad["jwks"] = keys;
        let answer = server.post_json("/connect/register", &bad, &[]).await;
        answer.refused(400, "invalid_client_metadata");
    }
    let document = server.get("/.well-known/openid-configuration").await.json();
    for endpoint in ["token", "introspection", "revocation"] {
        let list = |name: &str| document[format!("{endpoint}_endpoint_{name}")].clone();
        let methods = list("auth_methods_supported");
        assert!(methods.as_array().unwrap().contains(&json!("private_key_jwt")), "{methods}");
        let algorithms = list("auth_signing_alg_values_supported");
        assert_eq!(algorithms, json!(["RS256", "PS256", "ES256", "EdDSA"]));
    }
    server.stop().await;
}

#[tokio::test]
async fn what_is_presented_twice_makes_no_group_of_commits_run_twice() {
    let named = || TestOptions {
        issuer: Issuer::Named("https://id.example.com".to_owned()),
        ..TestOptions::default()
    };
    let (server, key) = scene_in(named()).await;
    let other = server.beside(named()).await;
    let assertion = key.sign(&claims(&server, "signer", json!({})));
    assert_eq!(server.assert(&assertion, &[]).await.status, 200);
    let token = server.token("billing", "invoices:read").await;
    let revoke = async |node: &TestServer| {
        node.post_as("billing", "/connect/revoke", &[("token", &token)]).await.status
    };
    assert_eq!(revoke(&server).await, 200);
    // The other node has seen neither, and would make a row of each.
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let (outside, assertion) = (*other, assertion.clone());
        callers.spawn(async move {
            outside.assert(&assertion, &[]).await.refused(401, "invalid_client");
        });
        let outside = *other;
        callers.spawn(async move {
            outside.token("billing", "invoices:read").await;
        });
    }
    callers.join_all().await;
    assert_eq!(revoke(&other).await, 200);
    let report = other.running().system().store().report();
    assert_eq!(report.contested, 0, "each was found before anything was written");
    other.stop().await;
    server.stop().await;
}
