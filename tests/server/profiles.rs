//! Clients that are held to a profile (adr/0130): what they must do, and what they get. The modules of the certification plans are
//! in `tests/conformance`.

use crate::{
    dpop::{ANA, TOKEN, holder},
    http::Answer,
    key_holder::KeyHolder,
    par::present,
    person::{asking, callback, claims as token_claims, parameter, redeeming, redirect, text},
    signing_client::{ClientKey, JWT_BEARER, claims, in_toml, key_set},
    support::{LIFETIMES, SECRET, TestOptions, TestServer, form},
};
use hyper::Method;
use porteiro::{http::Lifetimes, provisioning::ApplyError};
use serde_json::{Value, json};
use std::time::Duration;

const PAR: &str = "/connect/par";

/// A client under a profile: the key of its assertions, and the one of its proofs.
struct Bank {
    server: TestServer,
    key: ClientKey,
    holder: KeyHolder,
}

impl Bank {
    async fn open(profile: &str) -> Self {
        Self::open_in(profile, TestOptions::default()).await
    }

    async fn open_in(profile: &str, options: TestOptions) -> Self {
        let server = TestServer::open_in(options).await;
        let key = ClientKey::new("bank");
        server
            .apply(&format!(
                "[[client]]\nclient_id = \"bank\"\ntrusted = true\nrequire_profile = \"{profile}\"\n\
                 redirect_uris = [\"https://bank.example.com/cb\"]\n\
                 token_endpoint_auth_method = \"private_key_jwt\"\njwks = {}\n",
                in_toml(&key_set(&[&key.jwk]))
            ))
            .await;
        let holder = holder(&server);
        Self { server, key, holder }
    }

    /// Posts as the client, with a proof of its key or without.
    async fn post(&self, path: &str, fields: &[(&str, &str)], proved: bool) -> Answer {
        self.post_by(path, fields, proved.then_some(&self.holder)).await
    }

    async fn post_by(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        holder: Option<&KeyHolder>,
    ) -> Answer {
        let assertion = self.key.sign(&claims(&self.server, "bank", json!({})));
        let given = [("client_assertion_type", JWT_BEARER), ("client_assertion", &assertion)];
        let mut request = self
            .server
            .request(Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded");
        if let Some(holder) = holder {
            request = request.header("dpop", holder.proof("POST", path, json!({})));
        }
        self.server.send(request.body(form(&[&given, fields].concat())).unwrap()).await
    }

    async fn push(&self, otherwise: &[(&str, &str)]) -> Answer {
        let asked = asking("bank", otherwise);
        let fields: Vec<(String, String)> =
            url::form_urlencoded::parse(asked.as_bytes()).into_owned().collect();
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.post(PAR, &fields, true).await
    }

    /// Gets a code for Ana.
    async fn code(&self) -> String {
        let pushed = self.push(&[]).await;
        assert_eq!(pushed.status, 201, "{pushed:?}");
        let uri = text(&pushed.json()["request_uri"]).to_owned();
        let session = self.server.sign_in(ANA).await;
        let done = present(*self.server, "bank", &uri, Some(&session)).await;
        parameter(&redirect(&done), "code").unwrap()
    }
}

#[tokio::test]
async fn under_fapi2_requests_are_pushed_tokens_are_bound_and_refresh_tokens_stay() {
    let bank = Bank::open("fapi2").await;
    let server = &bank.server;
    let front = format!("/connect/authorize?{}", asking("bank", &[]));
    let request = server.request(Method::GET, &front).header("accept", "application/json");
    let refused = server.send(request.body(form(&[])).unwrap()).await;
    assert_eq!(parameter(&redirect(&refused), "error").as_deref(), Some("invalid_request"));
    bank.push(&[("-redirect_uri", "")]).await.refused(400, "invalid_request");

    let code = bank.code().await;
    let callback = callback("bank");
    let fields = redeeming(&code, &callback);
    bank.post(TOKEN, &fields, false).await.refused(400, "invalid_request");
    let issued = bank.post(TOKEN, &fields, true).await;
    assert_eq!(issued.status, 200, "{issued:?}");
    let issued = issued.json();
    assert_eq!(issued["token_type"], "DPoP");
    let thumbprint = bank.holder.thumbprint();
    assert_eq!(token_claims(&issued["access_token"])["cnf"], json!({ "jkt": thumbprint }));
    let header: Value = {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        let first = text(&issued["id_token"]).split('.').next().unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(first).unwrap()).unwrap()
    };
    assert_eq!(header["alg"], "ES256", "no profile knows RS256");

    let refresh = text(&issued["refresh_token"]).to_owned();
    let fields = [("grant_type", "refresh_token"), ("refresh_token", &*refresh)];
    bank.post(TOKEN, &fields, false).await.refused(400, "invalid_request");
    for _ in 0..3 {
        server.clock.advance(Duration::from_mins(1));
        let next = holder(server);
        let answer = bank.post_by(TOKEN, &fields, Some(&next)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["refresh_token"], json!(refresh), "it stays");
        let bound = json!({ "jkt": next.thumbprint() });
        assert_eq!(token_claims(&answer.json()["access_token"])["cnf"], bound, "to the new key");
    }
    bank.server.stop().await;
}

#[tokio::test]
async fn a_code_lives_a_minute_whatever_is_configured() {
    let lifetimes = Lifetimes { authorization_code: Duration::from_mins(10), ..LIFETIMES };
    let bank = Bank::open_in("fapi2", TestOptions { lifetimes, ..TestOptions::default() }).await;
    let code = bank.code().await;
    bank.server.clock.advance(Duration::from_mins(1));
    let callback = callback("bank");
    bank.post(TOKEN, &redeeming(&code, &callback), true).await.refused(400, "invalid_grant");
    bank.server.stop().await;
}

#[tokio::test]
async fn under_message_signing_what_is_not_signed_is_refused() {
    let bank = Bank::open("fapi2-message-signing").await;
    let refused = bank.push(&[]).await;
    assert_eq!(refused.refused(400, "invalid_request"), "the client signs its requests");
    let now = holder(&bank.server).now;
    let object = |otherwise: Value| {
        let query = asking("bank", &[]);
        let mut object = json!({
            "iss": "bank", "aud": bank.server.issuer(), "nbf": now, "exp": now + 300,
        });
        let members = object.as_object_mut().unwrap();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            members.insert(name.into_owned(), json!(value));
        }
        members.extend(otherwise.as_object().unwrap().clone());
        members.retain(|_, value| !value.is_null());
        bank.key.sign(&object)
    };
    let push =
        async |otherwise: Value| bank.post(PAR, &[("request", &object(otherwise))], true).await;
    for (otherwise, code) in [
        (json!({ "response_mode": "query" }), "invalid_request"),
        (json!({ "response_mode": "form_post" }), "invalid_request"),
        (json!({ "nbf": null }), "invalid_request_object"),
        (json!({ "exp": null }), "invalid_request_object"),
        (json!({ "exp": now + 4_200 }), "invalid_request_object"),
        (json!({ "nbf": now - 4_200 }), "invalid_request_object"),
    ] {
        push(otherwise).await.refused(400, code);
    }
    // Where no mode is named, the answer is signed all the same.
    for otherwise in [json!({}), json!({ "response_mode": "jwt" })] {
        let pushed = push(otherwise).await;
        assert_eq!(pushed.status, 201, "{pushed:?}");
        let uri = text(&pushed.json()["request_uri"]).to_owned();
        let session = bank.server.sign_in(ANA).await;
        let done = redirect(&present(*bank.server, "bank", &uri, Some(&session)).await);
        let names: Vec<String> = done.query_pairs().map(|(name, _)| name.into_owned()).collect();
        assert_eq!(names, ["response"], "{done}");
        let answer = token_claims(&json!(parameter(&done, "response").unwrap()));
        assert_eq!((&answer["aud"], answer["code"].is_string()), (&json!("bank"), true));
    }
    bank.server.stop().await;
}

#[tokio::test]
async fn a_client_that_cannot_fit_its_profile_is_not_provisioned() {
    let server = TestServer::open().await;
    let base =
        "[[client]]\nclient_id = \"bank\"\nredirect_uris = [\"https://bank.example.com/cb\"]\n";
    for (profile, unfit, named) in [
        ("fapi2", "token_endpoint_auth_method = \"none\"", "token_endpoint_auth_method"),
        ("fapi2", &*format!("client_secret = \"{SECRET}\""), "token_endpoint_auth_method"),
        (
            "fapi2",
            "token_endpoint_auth_method = \"private_key_jwt\"\njwks_uri = \"https://bank.example.com/keys\"\n\
             id_token_signed_response_alg = \"RS256\"",
            "id_token_signed_response_alg",
        ),
        (
            "fapi-ciba",
            "token_endpoint_auth_method = \"private_key_jwt\"\njwks_uri = \"https://bank.example.com/keys\"\n\
             backchannel_authentication_request_signing_alg = \"EdDSA\"",
            "backchannel_authentication_request_signing_alg",
        ),
        (
            "fapi2-message-signing",
            "token_endpoint_auth_method = \"tls_client_auth\"\ntls_client_auth_san_dns = \"a.example\"",
            "jwks",
        ),
    ] {
        let text = format!("{base}{unfit}\nrequire_profile = \"{profile}\"\n");
        let refused = crate::support::apply(&server.url, &server.keys(), &text).await;
        let Err(ApplyError::Refused(complaints)) = refused else { panic!("{unfit}: {refused:?}") };
        let said = format!("{complaints:?}");
        assert!(said.contains(named), "{unfit}: {said}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_request_that_was_made_before_a_client_was_held_to_signing_gets_no_answer_in_clear() {
    let bank = Bank::open("fapi2").await;
    let push = async || text(&bank.push(&[]).await.json()["request_uri"]).to_owned();
    let (pushed, begun) = (push().await, push().await);
    let flow = present(*bank.server, "bank", &begun, None).await.json();
    bank.server
        .apply("[[client]]\nclient_id = \"bank\"\nrequire_profile = \"fapi2-message-signing\"\n")
        .await;
    // A client may be seen for a second as it was.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let session = bank.server.sign_in(ANA).await;
    let refused = redirect(&present(*bank.server, "bank", &pushed, Some(&session)).await);
    let names: Vec<String> = refused.query_pairs().map(|(name, _)| name.into_owned()).collect();
    assert_eq!(names, ["response"], "{refused}");
    let told = token_claims(&json!(parameter(&refused, "response").unwrap()));
    assert_eq!((&told["error"], &told["code"]), (&json!("invalid_request"), &Value::Null));
    let ended = bank.server.prove(&flow, ANA).await;
    assert!(!ended.text().contains("code="), "{ended:?}");
    bank.server.stop().await;
}
