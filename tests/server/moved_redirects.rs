//! Redirect URIs that change after people have consented: the client is asked about again (adr/0110).

use crate::{
    api_caller::{Api, EVERYTHING},
    client_control::{CLIENTS, made, scene},
    http::Answer,
    managed::{put, registered, with_id},
    nodes::views_agree,
    person::{parameter, redirect, text},
    support::{TestServer, basic, form},
};
use hyper::Method;
use serde_json::{Value, json};

const USUAL: &str = "https://web.example.com/cb";
const ELSEWHERE: &str = "https://thief.example.com/cb";

/// A client, and how it proves itself.
struct Client<'a> {
    server: &'a TestServer,
    id: String,
    secret: String,
}

impl Client<'_> {
    async fn asks(&self, session: &str, uri: &str, more: &[(&str, &str)]) -> Answer {
        let mut asked = vec![("client_id", &*self.id), ("redirect_uri", uri)];
        asked.extend(more);
        self.server.authorize_in(session, "web", &asked).await
    }

    /// The error that a silent request gets, if it gets no code.
    async fn silent_error(&self, session: &str, uri: &str) -> Option<String> {
        let to = redirect(&self.asks(session, uri, &[("prompt", "none")]).await);
        assert!(to.as_str().starts_with(uri), "{to}");
        assert_eq!(parameter(&to, "error").is_some(), parameter(&to, "code").is_none(), "{to}");
        parameter(&to, "error")
    }

    async fn token(&self, fields: &[(&str, &str)]) -> Answer {
        let request = self
            .server
            .request(Method::POST, "/connect/token")
            .header("authorization", basic(&self.id, &self.secret))
            .header("content-type", "application/x-www-form-urlencoded");
        self.server.send(request.body(form(fields)).unwrap()).await
    }

    /// Has the person consent, and redeems the code.
    async fn allowed(&self, session: &str, uri: &str) -> Value {
        let flow = self.asks(session, uri, &[]).await.json();
        assert_eq!(flow["state"], "consent", "{flow}");
        let path = format!("/flows/{}/consent", text(&flow["id"]));
        let allow = json!({ "decision": "allow" });
        let headers = [("x-session-token", session)];
        let done = self.server.post_json(&path, &allow, &headers).await;
        let code = parameter(&redirect(&done), "code").unwrap_or_else(|| panic!("{done:?}"));
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", uri),
            ("code_verifier", crate::person::VERIFIER),
        ];
        let tokens = self.token(&fields).await;
        assert_eq!(tokens.status, 200, "{tokens:?}");
        views_agree().await;
        tokens.json()
    }
}

#[tokio::test]
async fn a_consent_is_void_after_the_redirect_uris_of_an_organizations_client_changed() {
    let server = scene().await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let (id, secret) = made(&rita, json!([])).await;
    let client = Client { server: &server, id, secret };
    let session = server.sign_in("ana@acme.test").await;
    let tokens = client.allowed(&session, USUAL).await;
    assert_eq!(client.silent_error(&session, USUAL).await, None, "it is remembered");
    let rui = Api::of(&server, "rui@acme.test", "clients:read clients:write").await;
    let path = format!("{CLIENTS}/{}", client.id);
    let named = rui.change(Method::PATCH, &path, Some(&json!({ "client_name": "Other" }))).await;
    assert_eq!(named.status, 200, "{named:?}");
    assert_eq!(client.silent_error(&session, USUAL).await, None, "only its name is another");
    let moved = json!({ "redirect_uris": [USUAL, ELSEWHERE] });
    assert_eq!(rui.change(Method::PATCH, &path, Some(&moved)).await.status, 200);
    views_agree().await;
    for uri in [ELSEWHERE, USUAL] {
        let error = client.silent_error(&session, uri).await;
        assert_eq!(error.as_deref(), Some("consent_required"), "{uri}");
    }
    let flow = client.asks(&session, ELSEWHERE, &[]).await.json();
    assert_eq!(
        (&flow["state"], &flow["client"]["redirect_host"]),
        (&json!("consent"), &json!("thief.example.com"))
    );
    // What the client got at the former address is its own yet.
    let refresh = text(&tokens["refresh_token"]);
    let again = client.token(&[("grant_type", "refresh_token"), ("refresh_token", refresh)]).await;
    assert_eq!(again.status, 200, "{again:?}");
    client.allowed(&session, USUAL).await;
    assert_eq!(client.silent_error(&session, USUAL).await, None, "it is remembered again");
    // Records of one instant are in no order among writers.
    let trail = rita.get("/api/organizations/acme/audit?event=client.changed").await.json();
    let moved = |item: &&Value| item["detail"].get("redirects_added").is_some();
    let detail = &trail["items"].as_array().unwrap().iter().find(moved).unwrap()["detail"];
    assert_eq!(
        (text(&detail["fields"]), text(&detail["redirects_added"])),
        ("redirect_uris", "thief.example.com")
    );
    let of_rui = crate::person::claims(&json!(rui.token));
    assert_eq!(detail["context"]["actor"]["id"], of_rui["sub"], "{trail}");
    server.stop().await;
}

#[tokio::test]
async fn a_consent_is_void_after_a_client_that_registered_itself_has_moved() {
    let server = TestServer::open().await;
    let told = registered(&server, &json!({ "redirect_uris": [USUAL] })).await;
    let (id, secret) =
        (text(&told["client_id"]).to_owned(), text(&told["client_secret"]).to_owned());
    let client = Client { server: &server, id, secret };
    let session = server.sign_in("ana@acme.test").await;
    client.allowed(&session, USUAL).await;
    let renamed = json!({ "redirect_uris": [USUAL], "client_name": "Other" });
    let told = put(&server, &told, &with_id(&told, renamed)).await.json();
    assert_eq!(client.silent_error(&session, USUAL).await, None);
    let moved = json!({ "redirect_uris": [ELSEWHERE] });
    let told = put(&server, &told, &with_id(&told, moved)).await.json();
    views_agree().await;
    // It left its secret out, and was given another each time.
    let client = Client { secret: text(&told["client_secret"]).to_owned(), ..client };
    let error = client.silent_error(&session, ELSEWHERE).await;
    assert_eq!(error.as_deref(), Some("consent_required"));
    client.allowed(&session, ELSEWHERE).await;
    assert_eq!(client.silent_error(&session, ELSEWHERE).await, None);
    server.stop().await;
}

#[tokio::test]
async fn a_consent_to_a_client_of_the_operator_goes_on_when_the_operator_moves_it() {
    let server = TestServer::open().await;
    let file = |uris: &str| {
        format!(
            "[[client]]\nclient_id = \"shop\"\nclient_secret = \"{}\"\nredirect_uris = [{uris}]\n",
            crate::support::SECRET
        )
    };
    server.apply(&file(&format!("\"{USUAL}\""))).await;
    let (id, secret) = ("shop".to_owned(), crate::support::SECRET.to_owned());
    let client = Client { server: &server, id, secret };
    let session = server.sign_in("ana@acme.test").await;
    client.allowed(&session, USUAL).await;
    server.apply(&file(&format!("\"{USUAL}\", \"{ELSEWHERE}\""))).await;
    crate::shared::eventually("the other address is known", async || {
        client.asks(&session, ELSEWHERE, &[]).await.status == 200
    })
    .await;
    assert_eq!(client.silent_error(&session, ELSEWHERE).await, None);
    server.stop().await;
}
