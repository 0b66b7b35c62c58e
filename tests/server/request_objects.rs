//! Requests that the client has signed (RFC 9101, OIDC Core §6), by value and by reference.

use crate::{
    http::Answer,
    person::{VERIFIER, asking, claims as claims_of, parameter, redirect, text},
    signing_client::{ClientKey, claims, in_toml, key_set, message},
    site::{Conduct, Site},
    support::{TestOptions, TestServer, form},
};
use hyper::{Method, StatusCode};
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use porteiro::{client_documents::Fetcher, domain::Clock as _};
use serde_json::{Map, Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";
const CALLBACK: &str = "https://jar.example.com/cb";

/// A client that signs requests; `more` are lines of TOML.
async fn provision(server: &TestServer, key: &ClientKey, more: &str) {
    let text = format!(
        "[[client]]\nclient_id = \"jar\"\nredirect_uris = [\"{CALLBACK}\"]\ntrusted = true\n\
         token_endpoint_auth_method = \"private_key_jwt\"\njwks = {}\n{more}\n",
        in_toml(&key_set(&[&key.jwk]))
    );
    server.apply(&text).await;
}

async fn scene() -> (TestServer, ClientKey) {
    let (server, key) = (TestServer::open().await, ClientKey::new("one"));
    provision(&server, &key, "").await;
    (server, key)
}

/// The claims of an object that is right, unless a test says otherwise; null leaves one out.
fn object(server: &TestServer, otherwise: Value) -> Value {
    let asked = asking("jar", &[]);
    let asked = url::form_urlencoded::parse(asked.as_bytes()).into_owned();
    let mut object: Map<String, Value> = asked.map(|(name, value)| (name, value.into())).collect();
    let now = server.clock.now().seconds();
    let of_token = json!({ "iss": "jar", "aud": server.issuer(), "exp": now + 60, "nbf": now });
    object.extend(of_token.as_object().unwrap().clone());
    let Value::Object(otherwise) = otherwise else { panic!("claims are an object") };
    object.extend(otherwise);
    object.retain(|_, value| !value.is_null());
    Value::Object(object)
}

/// Asks with exactly these parameters, as a program.
async fn ask(server: &TestServer, session: Option<&str>, fields: &[(&str, &str)]) -> Answer {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let path = format!("/connect/authorize?{}", query.extend_pairs(fields).finish());
    let mut request = server.request(Method::GET, &path).header("accept", "application/json");
    if let Some(session) = session {
        request = request.header("x-session-token", session);
    }
    server.send(request.body(form(&[])).unwrap()).await
}

#[track_caller]
fn refused(answer: &Answer, error: &str, what: &str) {
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["state"]),
        (200, &json!("failed")),
        "{what}"
    );
    let to = redirect(answer);
    assert!(to.as_str().starts_with(&format!("{CALLBACK}?")), "{what}: {to}");
    assert_eq!(parameter(&to, "error").as_deref(), Some(error), "{what}");
    assert!(parameter(&to, "code").is_none(), "{what}");
}

#[tokio::test]
async fn a_signed_request_is_the_whole_request() {
    let (server, key) = scene().await;
    let session = server.sign_in(ANA).await;
    for typ in [None, Some("JWT"), Some("oauth-authz-req+jwt")] {
        let mut header = key.header();
        if let Some(typ) = typ {
            header["typ"] = typ.into();
        }
        let signed = key.sign_under(&header, &object(&server, json!({ "max_age": 3600 })));
        // What stands beside it says nothing.
        let answer = ask(
            &server,
            Some(&session),
            &[
                ("client_id", "jar"),
                ("request", &signed),
                ("state", "of another"),
                ("nonce", "of another"),
                ("scope", "openid email"),
                ("redirect_uri", "https://evil.example/cb"),
                ("code_challenge", "of another"),
                ("prompt", "login"),
            ],
        )
        .await;
        let to = redirect(&answer);
        assert!(to.as_str().starts_with(CALLBACK), "{to}");
        assert_eq!(parameter(&to, "state").as_deref(), Some("af0ifjsldkj"));
        let code = parameter(&to, "code").unwrap();
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ];
        let assertion = key.sign(&claims(&server, "jar", json!({})));
        let tokens = server.assert_at("/connect/token", &assertion, &fields).await;
        assert_eq!(tokens.status, 200, "{tokens:?}");
        assert_eq!(tokens.json()["scope"], "openid");
        assert_eq!(claims_of(&tokens.json()["id_token"])["nonce"], "n-0S6_WzA2Mj");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_is_only_beside_a_signed_request_is_not_used() {
    let (server, key) = scene().await;
    let session = server.sign_in(ANA).await;
    let bare = key.sign(&object(&server, json!({ "state": null })));
    let fields = [("client_id", "jar"), ("request", &bare), ("state", "beside")];
    let to = redirect(&ask(&server, Some(&session), &fields).await);
    assert_eq!((parameter(&to, "state"), parameter(&to, "code").is_some()), (None, true));
    // Nor is a code challenge.
    let without = json!({ "code_challenge": null, "code_challenge_method": null });
    let without = key.sign(&object(&server, without));
    let whole = asking("jar", &[("request", &without)]);
    let whole: Vec<_> = url::form_urlencoded::parse(whole.as_bytes()).into_owned().collect();
    let whole: Vec<(&str, &str)> = whole.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    refused(&ask(&server, Some(&session), &whole).await, "invalid_request", "no challenge");
    // Where the answer goes is the object's to say, and must be the client's own.
    let elsewhere = json!({ "redirect_uri": "https://evil.example/cb" });
    let elsewhere = key.sign(&object(&server, elsewhere));
    let fields = [("client_id", "jar"), ("request", &elsewhere), ("redirect_uri", CALLBACK)];
    ask(&server, Some(&session), &fields).await.refused(400, "invalid_request");
    // The client is named outside, as ever.
    let signed = key.sign(&object(&server, json!({})));
    ask(&server, None, &[("request", &signed)]).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn every_wrong_object_is_refused() {
    let (server, key) = scene().await;
    let stranger = ClientKey::new("one");
    let now = server.clock.now().seconds();
    let said = |otherwise: Value| object(&server, otherwise);
    let mut wrong = vec![("another key of the same name", stranger.sign(&said(json!({}))))];
    for (what, otherwise) in [
        ("another issuer", json!({ "iss": "web" })),
        ("another client", json!({ "client_id": "web" })),
        ("a client of another type", json!({ "client_id": ["jar"] })),
        ("a client's assertion", json!({ "sub": "jar" })),
        ("another audience", json!({ "aud": "https://other.example" })),
        ("other audiences", json!({ "aud": ["https://other.example"] })),
        ("an end in the past", json!({ "exp": now - 10 })),
        ("an end in words", json!({ "exp": "tomorrow" })),
        ("not before long", json!({ "nbf": now + 61 })),
        ("an object in it", json!({ "request": "e30.e30.e30" })),
        ("an address in it", json!({ "request_uri": "https://jar.example.com/r" })),
    ] {
        wrong.push((what, key.sign(&said(otherwise))));
    }
    for (what, name, value) in [
        ("an unknown key", "kid", json!("unheard-of")),
        ("the type of something else", "typ", json!("at+jwt")),
        ("a critical header", "crit", json!(["exp"])),
        ("a key in the header", "jwk", stranger.jwk.clone()),
        ("the address of keys in the header", "jku", json!("https://x.example/jwks")),
        ("the algorithm none", "alg", json!("none")),
        ("another algorithm", "alg", json!("RS256")),
    ] {
        let mut header = key.header();
        header[name] = value;
        wrong.push((what, key.sign_under(&header, &said(json!({})))));
    }
    let unsigned = message(&json!({ "alg": "none" }), &said(json!({})));
    wrong.push(("no signature", format!("{unsigned}.")));
    let confused = message(&json!({ "alg": "HS256", "kid": "one" }), &said(json!({})));
    let secret = EncodingKey::from_secret(key.jwk.to_string().as_bytes());
    let mac = crypto::sign(confused.as_bytes(), &secret, Algorithm::HS256).unwrap();
    wrong.push(("a public key taken for a secret", format!("{confused}.{mac}")));
    wrong.push(("five parts", "e30.e30.e30.e30.e30".to_owned()));
    let twice = r#"{"client_id":"jar","scope":"openid","scope":"openid email"}"#;
    let twice = key.sign_text(&key.header(), twice);
    wrong.push(("a claim twice", twice));
    for (what, signed) in &wrong {
        let answer = ask(&server, None, &[("client_id", "jar"), ("request", signed)]).await;
        refused(&answer, "invalid_request_object", what);
        // Pushed, it is refused as well, and told at once.
        let assertion = key.sign(&claims(&server, "jar", json!({})));
        let answer = server.assert_at("/connect/par", &assertion, &[("request", signed)]).await;
        answer.refused(400, "invalid_request_object");
    }
    // Times and audiences that are right.
    for right in [
        json!({ "aud": ["https://x", server.issuer()] }),
        json!({ "nbf": now + 8 }),
        json!({ "iss": null, "aud": null, "exp": null, "nbf": null }),
    ] {
        let signed = key.sign(&said(right));
        let answer = ask(&server, None, &[("client_id", "jar"), ("request", &signed)]).await;
        assert_eq!(answer.json()["state"], "identify", "{answer:?}");
    }
    // A browser without a proven destination stays here.
    let fields =
        [("client_id", "jar"), ("request", "x"), ("redirect_uri", "https://evil.example/cb")];
    ask(&server, None, &fields).await.refused(400, "invalid_request_object");
    let both = [("client_id", "jar"), ("request", "x"), ("request_uri", "https://x.example/r")];
    refused(&ask(&server, None, &both).await, "invalid_request", "both");
    let twice = [("client_id", "jar"), ("request", "x"), ("request", "y")];
    refused(&ask(&server, None, &twice).await, "invalid_request", "twice");
    server.stop().await;
}

#[tokio::test]
async fn the_algorithm_of_objects_is_the_one_that_was_registered() {
    for (algorithm, state) in [("PS256", "failed"), ("ES256", "identify")] {
        let (server, key) = (TestServer::open().await, ClientKey::new("one"));
        let more = format!("request_object_signing_alg = \"{algorithm}\"");
        provision(&server, &key, &more).await;
        let signed = key.sign(&object(&server, json!({})));
        let answer = ask(&server, None, &[("client_id", "jar"), ("request", &signed)]).await;
        assert_eq!(answer.json()["state"], state, "{algorithm}: {answer:?}");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_client_that_signs_its_requests_makes_no_others() {
    let (server, key) = (TestServer::open().await, ClientKey::new("one"));
    provision(&server, &key, "require_signed_request_object = true").await;
    let session = server.sign_in(ANA).await;
    let answer = server.authorize_in(&session, "jar", &[]).await;
    refused(&answer, "invalid_request", "an unsigned request");
    let asked = asking("jar", &[]);
    let asked: Vec<_> = url::form_urlencoded::parse(asked.as_bytes()).into_owned().collect();
    let asked: Vec<(&str, &str)> = asked.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let assertion = || key.sign(&claims(&server, "jar", json!({})));
    let unsigned = server.assert_at("/connect/par", &assertion(), &asked).await;
    unsigned.refused(400, "invalid_request");
    // Signed, it may be pushed: what is sealed is what was signed.
    let signed = key.sign(&object(&server, json!({})));
    let more = [("request", signed.as_str()), ("scope", "openid email")];
    let pushed = server.assert_at("/connect/par", &assertion(), &more).await;
    assert_eq!(pushed.status, 201, "{pushed:?}");
    let uri = text(&pushed.json()["request_uri"]).to_owned();
    for fields in [
        [("client_id", "jar"), ("request", &signed)],
        [("client_id", "jar"), ("request_uri", &uri)],
    ] {
        let to = redirect(&ask(&server, Some(&session), &fields).await);
        assert!(parameter(&to, "code").is_some(), "{to}");
    }
    let asked = json!({
        "redirect_uris": ["https://rp.example/cb"], "require_signed_request_object": true,
        "jwks": key_set(&[&key.jwk]),
    });
    assert_eq!(server.post_json("/connect/register", &asked, &[]).await.status, 201);
    server.stop().await;
}

/// A server whose client has its objects at the site.
async fn by_reference(site: &Site, fetcher: Fetcher) -> (TestServer, ClientKey) {
    let options = TestOptions { client_documents: Some(fetcher), ..TestOptions::default() };
    let (server, key) = (TestServer::open_in(options).await, ClientKey::new("one"));
    provision(&server, &key, &format!("request_uris = [\"{}#of-some-hash\"]", site.url)).await;
    (server, key)
}

#[tokio::test]
async fn an_object_lies_at_an_address_that_the_client_registered() {
    let site = Site::new(Conduct::Hang).await;
    let (server, key) = by_reference(&site, site.fetcher(Duration::from_mins(1))).await;
    let signed = key.sign(&object(&server, json!({})));
    site.now(Conduct::Answer(StatusCode::OK, format!("{signed}\n")));
    let session = server.sign_in(ANA).await;
    let present = async |uri: &str| {
        ask(&server, Some(&session), &[("client_id", "jar"), ("request_uri", uri)]).await
    };
    for uri in [site.url.clone(), format!("{}#of-some-hash", site.url), format!("{}#b", site.url)] {
        let to = redirect(&present(&uri).await);
        assert!(parameter(&to, "code").is_some(), "{to}");
    }
    assert_eq!(site.asked(), 3);
    let long = format!("{}#{}", site.url, "x".repeat(512));
    let others = [
        format!("{}/", site.url),
        format!("{}?a=b", site.url),
        site.url.replace("https", "http"),
        long,
    ];
    for uri in others {
        refused(&present(&uri).await, "invalid_request_uri", &uri);
    }
    let foreign = [("client_id", "web"), ("request_uri", site.url.as_str())];
    let answer = ask(&server, Some(&session), &foreign).await;
    assert_eq!(parameter(&redirect(&answer), "error").as_deref(), Some("invalid_request_uri"));
    assert_eq!(site.asked(), 3, "none of these was called");
    for (status, body, error) in [
        (StatusCode::NOT_FOUND, signed.clone(), "invalid_request_uri"),
        (StatusCode::FOUND, signed.clone(), "invalid_request_uri"),
        (StatusCode::OK, "x".repeat(70_000), "invalid_request_uri"),
        (StatusCode::OK, "<html>".to_owned(), "invalid_request_object"),
        (
            StatusCode::OK,
            ClientKey::new("one").sign(&object(&server, json!({}))),
            "invalid_request_object",
        ),
    ] {
        site.now(Conduct::Answer(status, body));
        refused(&present(&site.url).await, error, status.as_str());
    }
    // It cannot be pushed.
    let assertion = key.sign(&claims(&server, "jar", json!({})));
    let pushed = server.assert_at("/connect/par", &assertion, &[("request_uri", &site.url)]).await;
    pushed.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn an_address_that_hangs_or_never_ends_is_given_up_on_and_called_at_a_pace() {
    let site = Site::new(Conduct::Hang).await;
    let (server, _) = by_reference(&site, site.fetcher(Duration::from_secs(2))).await;
    let fields = [("client_id", "jar"), ("request_uri", site.url.as_str())];
    for conduct in [Conduct::Hang, Conduct::Endless] {
        site.now(conduct);
        refused(&ask(&server, None, &fields).await, "invalid_request_uri", "a bad site");
    }
    site.now(Conduct::Answer(StatusCode::NOT_FOUND, String::new()));
    for _ in 0..80 {
        refused(&ask(&server, None, &fields).await, "invalid_request_uri", "a flood");
    }
    // One that was given up on may never have come to the site.
    assert!((40..=60).contains(&site.asked()), "{}", site.asked());
    server.stop().await;
}

#[tokio::test]
async fn an_address_inside_our_own_network_is_not_called() {
    let site = Site::new(Conduct::Hang).await;
    let (server, _) = by_reference(&site, Fetcher::default()).await;
    let fields = [("client_id", "jar"), ("request_uri", site.url.as_str())];
    refused(&ask(&server, None, &fields).await, "invalid_request_uri", "an address inside");
    assert_eq!(site.asked(), 0);
    server.stop().await;
}
