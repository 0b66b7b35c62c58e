//! Signed answers to authorization requests (JARM), read as a client would that has nothing but the key set.

use crate::{
    http::Answer,
    key_rotation::{is_published, kid_of},
    outside::Outside,
    par::{posted, present, push, pushed},
    person::{parameter, redirect, text},
    shared::eventually,
    signing_client::{ClientKey, in_toml, key_set},
    support::{TestServer, form},
};
use hyper::Method;
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use porteiro::domain::{Clock as _, signing_keys::SigningAlgorithm};
use serde_json::{Value, json};
use std::time::Duration;
use url::Url;

const ANA: &str = "ana@acme.test";
const MODES: [&str; 3] = ["jwt", "query.jwt", "form_post.jwt"];

/// What is said by a token of ours, and by which algorithm it is signed. A careful reader uses a key for the
/// algorithm alone that it names, if it names one.
async fn read(server: Outside, token: &str) -> (String, Value) {
    let set = server.get("/connect/jwks").await.json();
    let header = decode_header(token).unwrap();
    let name = format!("{:?}", header.alg);
    let kid = header.kid.unwrap();
    let published: Vec<&Value> =
        set["keys"].as_array().unwrap().iter().filter(|key| key["kid"] == kid).collect();
    assert_eq!(published.len(), 1, "{set}");
    assert!(published[0].get("alg").is_none_or(|alg| *alg == name), "{set}");
    let set: JwkSet = serde_json::from_value(set).unwrap();
    let mut validation = Validation::new(header.alg);
    (validation.validate_aud, validation.validate_exp) = (false, false);
    validation.required_spec_claims.clear();
    let key = DecodingKey::from_jwk(set.find(&kid).unwrap()).unwrap();
    (name, decode(token, &key, &validation).unwrap().claims)
}

/// The only parameter of an address, or of the page that it leads to.
async fn response_at(server: Outside, to: &Url, mode: &str, client: &str) -> String {
    if mode == "form_post.jwt" {
        assert_eq!(to.path(), "/connect/form_post");
        let page = server.get(&format!("{}?{}", to.path(), to.query().unwrap())).await;
        assert_eq!(page.status, 200, "{page:?}");
        return response_in(&page);
    }
    let callback = crate::person::callback(client);
    assert!(to.as_str().starts_with(&format!("{callback}?response=")), "{to}");
    assert_eq!((to.query_pairs().count(), to.fragment()), (1, None), "{to}");
    parameter(to, "response").unwrap()
}

/// The only field of a page that posts a form.
#[track_caller]
fn response_in(page: &Answer) -> String {
    let mut fields = posted(page);
    assert_eq!(fields.len(), 1, "{page:?}");
    assert!(!page.text().contains("pac_"), "{page:?}");
    let (name, value) = fields.remove(0);
    assert_eq!(name, "response");
    value
}

/// Insists on who says it, to whom and until when, and returns the rest.
#[track_caller]
fn told(server: &TestServer, mut claims: Value, client: &str) -> Value {
    let now = server.clock.now().seconds();
    let members = claims.as_object_mut().unwrap();
    assert_eq!(members.remove("iss").unwrap(), server.issuer());
    assert_eq!(members.remove("aud").unwrap(), client);
    let lives = members.remove("exp").unwrap().as_i64().unwrap() - now;
    assert!((60..=600).contains(&lives), "{lives}");
    claims
}

fn names(told: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Insists that nothing but this error is told.
#[track_caller]
fn is_error(told: &Value, error: &str) {
    assert_eq!(names(told), ["error", "error_description", "state"]);
    assert_eq!((&told["error"], &told["state"]), (&json!(error), &json!("af0ifjsldkj")));
}

async fn sign_by(server: &TestServer, algorithm: &str) {
    let text = format!(
        "[[client]]\nclient_id = \"web\"\nauthorization_signed_response_alg = \"{algorithm}\"\n"
    );
    server.apply(&text).await;
    server.clock.expire_views();
}

#[tokio::test]
async fn a_code_comes_signed_in_each_mode_by_each_algorithm() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    for named in [None, Some("RS256"), Some("PS256"), Some("ES256"), Some("EdDSA")] {
        if let Some(algorithm) = named {
            sign_by(&server, algorithm).await;
        }
        for mode in MODES {
            let answer = server.authorize_in(&session, "web", &[("response_mode", mode)]).await;
            let to = redirect(&answer);
            assert!(!to.as_str().contains("pac_"), "{to}");
            let response = response_at(*server, &to, mode, "web").await;
            let (algorithm, claims) = read(*server, &response).await;
            assert_eq!(algorithm, named.unwrap_or("RS256"), "{mode}");
            let told = told(&server, claims, "web");
            assert_eq!(names(&told), ["code", "state"]);
            assert_eq!(told["state"], "af0ifjsldkj");
            let tokens = server.redeem("web", text(&told["code"])).await;
            assert_eq!(tokens.status, 200, "{tokens:?}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_browser_gets_signed_answers_at_once() {
    let server = TestServer::open().await;
    let cookie = format!("porteiro={}", server.sign_in(ANA).await);
    let headers = [("accept", "text/html"), ("cookie", cookie.as_str())];
    for mode in ["jwt", "query.jwt"] {
        let found = server.authorize_with("web", &[("response_mode", mode)], &headers).await;
        assert_eq!(found.status, 303, "{found:?}");
        let to = Url::parse(found.header("location").unwrap()).unwrap();
        let response = response_at(*server, &to, mode, "web").await;
        let told = told(&server, read(*server, &response).await.1, "web");
        assert!(text(&told["code"]).starts_with("pac_"), "{told}");
    }
    let asked = [("response_mode", "form_post.jwt")];
    let page = server.authorize_with("web", &asked, &headers).await;
    assert_eq!((page.status.as_u16(), page.header("location")), (200, None), "{page:?}");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action https://web.example.com;"), "{policy}");
    assert!(page.text().contains("action=\"https://web.example.com/cb\""), "{page:?}");
    let told = told(&server, read(*server, &response_in(&page)).await.1, "web");
    assert_eq!(server.redeem("web", text(&told["code"])).await.status, 200);
    // What GET would do is outlined by HEAD, which issues nothing.
    for (mode, status) in [("jwt", 303), ("form_post.jwt", 200)] {
        let path = crate::person::asking("web", &[("response_mode", mode)]);
        let mut request = server.request(Method::HEAD, &format!("/connect/authorize?{path}"));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let head = server.send(request.body(form(&[])).unwrap()).await;
        assert_eq!((head.status.as_u16(), head.header("location")), (status, None));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_signs_in_on_the_way_takes_a_signed_answer_along() {
    let server = TestServer::open().await;
    sign_by(&server, "PS256").await;
    for mode in MODES {
        let flow = server.authorize("web", &[("response_mode", mode)]).await.json();
        let to = redirect(&server.prove(&flow, ANA).await);
        let response = response_at(*server, &to, mode, "web").await;
        let (algorithm, claims) = read(*server, &response).await;
        assert_eq!(algorithm, "PS256");
        let told = told(&server, claims, "web");
        assert_eq!(server.redeem("web", text(&told["code"])).await.status, 200);
    }
    server.stop().await;
}

#[tokio::test]
async fn errors_come_signed_in_each_mode() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    for mode in MODES {
        let asked = ("response_mode", mode);
        for (more, error) in [
            (("scope", "openid unheard:of"), "invalid_scope"),
            (("prompt", "none"), "login_required"),
            (("response_type", "token"), "unsupported_response_type"),
            (("code_challenge_method", "plain"), "invalid_request"),
        ] {
            let answer = server.authorize("app", &[asked, more]).await;
            assert_eq!(answer.json()["state"], "failed", "{answer:?}");
            let response = response_at(*server, &redirect(&answer), mode, "app").await;
            is_error(&told(&server, read(*server, &response).await.1, "app"), error);
            // The same, to a browser.
            let headers = [("accept", "text/html")];
            let page = server.authorize_with("app", &[asked, more], &headers).await;
            let response = match page.header("location") {
                Some(to) => response_at(*server, &Url::parse(to).unwrap(), mode, "app").await,
                None => response_in(&page),
            };
            is_error(&told(&server, read(*server, &response).await.1, "app"), error);
        }
        // The person says no, and it stays so when the document is read again.
        let flow = server.authorize_in(&session, "app", &[asked, ("prompt", "consent")]).await;
        let flow = flow.json();
        let denied = server.step(&flow, "consent", json!({ "decision": "deny" })).await;
        let path = format!("/flows/{}", text(&flow["id"]));
        for answer in [denied, server.get(&path).await] {
            let response = response_at(*server, &redirect(&answer), mode, "app").await;
            is_error(&told(&server, read(*server, &response).await.1, "app"), "access_denied");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_pushed_request_is_answered_in_the_mode_that_was_pushed() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    for mode in MODES {
        let uri = pushed(*server, "web", &[("response_mode", mode)]).await;
        let answer = present(*server, "web", &uri, Some(&session)).await;
        let response = response_at(*server, &redirect(&answer), mode, "web").await;
        let code = told(&server, read(*server, &response).await.1, "web");
        assert_eq!(server.redeem("web", text(&code["code"])).await.status, 200);
        // It is used up, and does not say any more where and how the answer goes.
        let again = present(*server, "web", &uri, Some(&session)).await;
        again.refused(400, "invalid_request_uri");
        // What is found wrong in it only then is told in its mode.
        let asked = [("response_mode", mode), ("prompt", "none")];
        let uri = pushed(*server, "web", &asked).await;
        let answer = present(*server, "web", &uri, None).await;
        let response = response_at(*server, &redirect(&answer), mode, "web").await;
        is_error(&told(&server, read(*server, &response).await.1, "web"), "login_required");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_signed_request_says_in_which_mode_it_is_answered() {
    let (server, key) = (TestServer::open().await, ClientKey::new("one"));
    server
        .apply(&format!(
            "[[client]]\nclient_id = \"jar\"\nredirect_uris = [\"https://jar.example.com/cb\"]\n\
             trusted = true\ntoken_endpoint_auth_method = \"private_key_jwt\"\njwks = {}\n\
             authorization_signed_response_alg = \"EdDSA\"\n",
            in_toml(&key_set(&[&key.jwk]))
        ))
        .await;
    let session = server.sign_in(ANA).await;
    let now = server.clock.now().seconds();
    for mode in MODES {
        let asked = crate::person::asking("jar", &[("response_mode", mode)]);
        let asked = url::form_urlencoded::parse(asked.as_bytes()).into_owned();
        let mut object: serde_json::Map<String, Value> =
            asked.map(|(name, value)| (name, value.into())).collect();
        let of_token = json!({ "iss": "jar", "aud": server.issuer(), "exp": now + 60 });
        object.extend(of_token.as_object().unwrap().clone());
        let object = key.sign(&object.into());
        // What stands beside the object says nothing.
        let query = [("client_id", "jar"), ("request", &object), ("response_mode", "query")];
        let mut path = url::form_urlencoded::Serializer::new(String::new());
        let path = format!("/connect/authorize?{}", path.extend_pairs(query).finish());
        let request = server.request(Method::GET, &path).header("accept", "application/json");
        let request = request.header("x-session-token", &session);
        let answer = server.send(request.body(form(&[])).unwrap()).await;
        let response = response_at(*server, &redirect(&answer), mode, "jar").await;
        let (algorithm, claims) = read(*server, &response).await;
        assert_eq!(algorithm, "EdDSA");
        assert!(text(&told(&server, claims, "jar")["code"]).starts_with("pac_"));
    }
    server.stop().await;
}

#[tokio::test]
async fn no_other_mode_is_taken() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    for mode in [
        "fragment",
        "fragment.jwt",
        "query.jwt.",
        "query.jwt ",
        "query.JWT",
        "JWT",
        ".jwt",
        "jwt.jwt",
        "query jwt",
        "form_post.jwt,query",
        "web_message.jwt",
    ] {
        let answer = server.authorize_in(&session, "web", &[("response_mode", mode)]).await;
        let to = redirect(&answer);
        assert_eq!(parameter(&to, "error").as_deref(), Some("invalid_request"), "{mode}: {to}");
        assert_eq!((parameter(&to, "response"), to.fragment()), (None, None), "{mode}: {to}");
        let refused = push(*server, "web", &[("response_mode", mode)]).await;
        let why = refused.refused(400, "invalid_request");
        assert!(why.contains("response mode"), "{mode}: {why}");
    }
    // Given twice it is none.
    let twice = [("response_mode", "jwt"), ("response_mode", "jwt")];
    let to = redirect(&server.authorize_in(&session, "web", &twice).await);
    assert_eq!(parameter(&to, "error").as_deref(), Some("invalid_request"), "{to}");
    assert!(parameter(&to, "code").is_none(), "{to}");
    server.stop().await;
}

#[tokio::test]
async fn a_signed_answer_is_no_token_and_hints_at_no_person() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    let answer = server.authorize_in(&session, "web", &[("response_mode", "jwt")]).await;
    let response = parameter(&redirect(&answer), "response").unwrap();
    let hint = [("id_token_hint", response.as_str())];
    let refused = redirect(&server.authorize_in(&session, "web", &hint).await);
    assert_eq!(parameter(&refused, "error").as_deref(), Some("invalid_request"), "{refused}");
    server.userinfo(&response).await.refused(401, "invalid_token");
    let introspected = server.post_as("web", "/connect/introspect", &[("token", &response)]).await;
    assert_eq!(introspected.json(), json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn a_state_of_any_shape_and_length_comes_back_as_it_was() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    for state in
        ["\"}],\"code\":\"x\\", "<\"&>' é \u{1f980}", &"s".repeat(2048), &"\"".repeat(2048)]
    {
        for mode in MODES {
            for more in [("max_age", "3600"), ("scope", "unheard:of")] {
                let asked = [("response_mode", mode), ("state", state), more];
                let answer = server.authorize_in(&session, "web", &asked).await;
                let response = response_at(*server, &redirect(&answer), mode, "web").await;
                let told = told(&server, read(*server, &response).await.1, "web");
                assert_eq!(told["state"], state, "{mode}");
                assert_eq!(told.as_object().unwrap().contains_key("code"), more.0 == "max_age");
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn no_code_is_issued_that_could_not_be_signed() {
    let server = TestServer::open().await;
    let session = server.sign_in(ANA).await;
    sign_by(&server, "EdDSA").await;
    server.remove_key(SigningAlgorithm::EdDsa).await;
    for mode in MODES {
        let answer = server.authorize_in(&session, "web", &[("response_mode", mode)]).await;
        answer.refused(503, "temporarily_unavailable");
        let refused = push(*server, "web", &[("response_mode", mode)]).await;
        refused.refused(503, "temporarily_unavailable");
    }
    // Other modes need no key of that kind.
    let to = redirect(&server.authorize_in(&session, "web", &[]).await);
    assert!(parameter(&to, "code").is_some(), "{to}");
    server.stop().await;
}

#[tokio::test]
async fn an_rsa_key_signs_ps256_until_there_is_a_key_for_it_alone() {
    let server = TestServer::open().await;
    server
        .apply(
            "[[client]]\nclient_id = \"web\"\nid_token_signed_response_alg = \"PS256\"\n\
             userinfo_signed_response_alg = \"PS256\"\n",
        )
        .await;
    server.clock.expire_views();
    let session = server.sign_in(ANA).await;
    let tokens = async || {
        let code = server.code(&session, "web", "openid").await;
        server.redeem("web", &code).await.json()
    };
    let first = tokens().await;
    let id_token = text(&first["id_token"]);
    assert_eq!(read(*server, id_token).await.0, "PS256");
    let told = server.userinfo(text(&first["access_token"])).await.text();
    assert_eq!(read(*server, &told).await.0, "PS256");
    // It is an ID token as good as any: it names the person who is meant.
    let hint = [("prompt", "none"), ("id_token_hint", id_token)];
    assert_eq!(server.authorize_in(&session, "web", &hint).await.json()["state"], "done");

    server.clock.advance(Duration::from_secs(1));
    let own = server.add_key(SigningAlgorithm::Ps256);
    server.running().system().reload_keys();
    eventually("publication", async || is_published(&server, &own)).await;
    let rsa = kid_of(id_token);
    assert_eq!(kid_of(text(&tokens().await["id_token"])), rsa, "it is not known everywhere yet");
    server.clock.advance(Duration::from_mins(10));
    let keys = server.running().system().keys();
    let signs = |algorithm| keys.borrow().signer(algorithm).unwrap().kid().to_owned();
    eventually("promotion", async || signs(SigningAlgorithm::Ps256) == own).await;
    assert_eq!(signs(SigningAlgorithm::Rs256), rsa);
    let later = tokens().await;
    assert_eq!(read(*server, text(&later["id_token"])).await.0, "PS256");
    assert_eq!(kid_of(text(&later["id_token"])), own);
    assert_eq!(server.authorize_in(&session, "web", &hint).await.json()["state"], "done");
    server.stop().await;
}
