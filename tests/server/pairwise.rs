//! Clients that know people by subjects of their own: OIDC Core §8, OIDC Registration §5.

use crate::{
    device,
    http::Answer,
    outside::Outside,
    person::{VERIFIER, claims, parameter, redirect, text},
    sector_host::{HOSTS, SectorHost},
    support::{SECRET, TestOptions, TestServer, basic, form},
};
use hyper::Method;
use serde_json::{Value, json};
use url::Url;

async fn open(host: &SectorHost) -> TestServer {
    let client_documents = Some(host.fetcher());
    TestServer::open_in(TestOptions { client_documents, ..TestOptions::default() }).await
}

async fn register(server: &TestServer, members: &Value) -> Answer {
    server.post_json("/connect/register", members, &[]).await
}

async fn registered(server: &TestServer, members: &Value) -> Value {
    let answer = register(server, members).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn pairwise(redirect_uri: &str) -> Value {
    json!({ "redirect_uris": [redirect_uri], "subject_type": "pairwise" })
}

async fn post_as(server: &TestServer, told: &Value, path: &str, fields: &[(&str, &str)]) -> Answer {
    let request = server
        .request(Method::POST, path)
        .header("authorization", basic(text(&told["client_id"]), text(&told["client_secret"])))
        .header("content-type", "application/x-www-form-urlencoded");
    server.send(request.body(form(fields)).unwrap()).await
}

/// Has a person allow a client what it asks, and returns the tokens.
async fn tokens_of(server: &TestServer, told: &Value, email: &str, scope: &str) -> Value {
    let uri = text(&told["redirect_uris"][0]);
    let asked = [("client_id", text(&told["client_id"])), ("redirect_uri", uri), ("scope", scope)];
    let begun = server.authorize("web", &asked).await.json();
    let answer = server.prove(&begun, email).await;
    let done = match text(&answer.json()["state"]) {
        "consent" => server.step(&answer.json(), "consent", json!({ "decision": "allow" })).await,
        _ => answer,
    };
    let code = parameter(&redirect(&done), "code").unwrap();
    let grant = ("grant_type", "authorization_code");
    let fields = [grant, ("code", &code), ("code_verifier", VERIFIER)];
    let answer = post_as(server, told, "/connect/token", &fields).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

async fn tokens(server: &TestServer, told: &Value) -> Value {
    tokens_of(server, told, "ana@acme.test", "openid offline_access invoices:read").await
}

fn subject(token: &Value) -> String {
    text(&claims(token)["sub"]).to_owned()
}

#[tokio::test]
async fn a_person_is_the_same_to_one_sector_and_another_to_every_other() {
    let server = TestServer::open().await;
    let one = registered(&server, &pairwise("https://web.example.com/cb")).await;
    let same = registered(&server, &pairwise("https://web.example.com/second")).await;
    let other = registered(&server, &pairwise("https://elsewhere.example/cb")).await;
    assert_eq!(one["subject_type"], "pairwise");
    let open =
        registered(&server, &json!({ "redirect_uris": ["https://web.example.com/cb"] })).await;
    let ana = subject(&tokens(&server, &one).await["id_token"]);
    assert_eq!(subject(&tokens(&server, &one).await["id_token"]), ana);
    assert_eq!(subject(&tokens(&server, &same).await["id_token"]), ana);
    let there = subject(&tokens(&server, &other).await["id_token"]);
    let public = subject(&tokens(&server, &open).await["id_token"]);
    assert!(there != ana && public != ana && public != there, "{ana} {there} {public}");
    let clara = tokens_of(&server, &one, "clara@nowhere.test", "openid").await;
    assert_ne!(subject(&clara["id_token"]), ana);
    server.stop().await;
}

#[tokio::test]
async fn a_subject_is_the_same_wherever_the_client_meets_it_and_the_account_is_nowhere() {
    let server = TestServer::open().await;
    let told = registered(&server, &pairwise("https://web.example.com/cb")).await;
    let open =
        registered(&server, &json!({ "redirect_uris": ["https://web.example.com/cb"] })).await;
    let account = subject(&tokens(&server, &open).await["id_token"]);
    let got = tokens(&server, &told).await;
    let ana = subject(&got["id_token"]);
    assert_eq!(subject(&got["access_token"]), ana);
    let access = text(&got["access_token"]);
    let userinfo = server.userinfo(access).await;
    assert_eq!((userinfo.status.as_u16(), text(&userinfo.json()["sub"])), (200, &*ana));
    let introspected = server.introspect("invoices-api", access).await;
    assert_eq!((&introspected["active"], text(&introspected["sub"])), (&json!(true), &*ana));
    let refresh = text(&got["refresh_token"]);
    let path = "/connect/introspect";
    let introspected = post_as(&server, &told, path, &[("token", refresh)]).await.json();
    assert_eq!((&introspected["active"], text(&introspected["sub"])), (&json!(true), &*ana));
    let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
    let again = post_as(&server, &told, "/connect/token", &fields).await.json();
    assert_eq!((subject(&again["access_token"]), subject(&again["id_token"])), (ana.clone(), ana));
    for token in ["access_token", "id_token"] {
        assert!(!claims(&again[token]).to_string().contains(&account), "{token}");
    }
    // Without a scope of an API the token does not name the membership either.
    let bare = tokens_of(&server, &told, "ana@acme.test", "openid").await;
    assert_eq!(server.userinfo(text(&bare["access_token"])).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_token_with_such_a_subject_ends_with_its_account_and_its_family() {
    let server = TestServer::open().await;
    let told = registered(&server, &pairwise("https://web.example.com/cb")).await;
    let got = tokens(&server, &told).await;
    let access = text(&got["access_token"]);
    let fields = [("token", text(&got["refresh_token"]))];
    assert_eq!(post_as(&server, &told, "/connect/revoke", &fields).await.status, 200);
    server.userinfo(access).await.refused(401, "invalid_token");
    assert_eq!(server.introspect("invoices-api", access).await, json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn a_hint_with_such_a_subject_names_the_person() {
    let server = TestServer::open().await;
    let told = registered(&server, &pairwise("https://web.example.com/cb")).await;
    let other = registered(&server, &pairwise("https://elsewhere.example/cb")).await;
    let hint = tokens(&server, &told).await["id_token"].clone();
    let foreign = tokens(&server, &other).await["id_token"].clone();
    let id = text(&told["client_id"]);
    let ask = async |session: &str, hint: &Value| {
        let more = [
            ("client_id", id),
            ("prompt", "none"),
            ("id_token_hint", text(hint)),
            ("scope", "openid invoices:read"),
        ];
        redirect(&server.authorize_in(session, "web", &more).await)
    };
    let ana = server.sign_in("ana@acme.test").await;
    assert!(parameter(&ask(&ana, &hint).await, "code").is_some());
    let bruno = server.sign_in("bruno@acme.test").await;
    let refused = ask(&bruno, &hint).await;
    assert_eq!(parameter(&refused, "error").as_deref(), Some("login_required"));
    let refused = ask(&ana, &foreign).await;
    assert_eq!(parameter(&refused, "error").as_deref(), Some("invalid_request"));
    server.stop().await;
}

#[tokio::test]
async fn a_sector_is_proved_by_a_list_of_every_redirect_uri() {
    let host = SectorHost::open().await;
    let server = open(&host).await;
    let uris = ["https://one.example/cb", "https://two.example/cb"];
    let listed = host.page("/list", 200, json!([uris[0], uris[1], "https://three.example/"]));
    let asked = |uri: &str| json!({ "redirect_uris": uris, "subject_type": "pairwise", "sector_identifier_uri": uri });
    let told = registered(&server, &asked(&listed)).await;
    assert_eq!(told["sector_identifier_uri"], *listed);
    let third = json!({ "redirect_uris": ["https://three.example/"], "subject_type": "pairwise",
                        "sector_identifier_uri": listed });
    let third = registered(&server, &third).await;
    let ana = subject(&tokens(&server, &told).await["id_token"]);
    assert_eq!(subject(&tokens(&server, &third).await["id_token"]), ana, "one sector");
    let elsewhere = registered(&server, &asked(&host.at(HOSTS[1], "/list"))).await;
    assert_ne!(subject(&tokens(&server, &elsewhere).await["id_token"]), ana, "another host");
    // A client may name its sector without pairwise subjects, and must prove it all the same.
    let public =
        json!({ "redirect_uris": ["https://four.example/"], "sector_identifier_uri": listed });
    register(&server, &public).await.refused(400, "invalid_client_metadata");
    server.stop().await;
}

#[tokio::test]
async fn a_sector_that_is_not_proved_is_refused_and_the_answer_tells_nothing_more() {
    let host = SectorHost::open().await;
    let server = open(&host).await;
    let uris = ["https://one.example/cb", "https://two.example/cb"];
    let list = json!(uris);
    let long = format!("{}{}", " ".repeat(100_000), list);
    host.page("/list", 200, &list);
    let port = Url::parse(&host.at(HOSTS[0], "/")).unwrap().port().unwrap();
    let mut said = std::collections::BTreeSet::new();
    for uri in [
        host.page("/fewer", 200, json!([uris[0]])),
        host.page("/others", 200, json!(["https://one.example/cb/", "https://TWO.example/cb"])),
        host.page("/object", 200, json!({ "redirect_uris": uris })),
        host.page("/numbers", 200, json!([uris[0], uris[1], 7])),
        host.page("/html", 200, "<html>"),
        host.page("/empty", 200, ""),
        host.page("/gone", 410, &list),
        host.page("/moved", 302, &list),
        host.page("/long", 200, long),
        host.at(HOSTS[0], "/missing"),
        // Where clouds keep their credentials: by name, and by address.
        format!("https://metadata.example:{port}/list"),
        format!("https://169.254.169.254:{port}/list"),
        // A certificate for another name, and a port that no server has.
        format!("https://wrong.example:{port}/list"),
        "https://sector.example:1/list".to_owned(),
    ] {
        let asked = json!({ "redirect_uris": uris, "subject_type": "pairwise",
                            "sector_identifier_uri": uri });
        let refused = register(&server, &asked).await;
        said.insert(refused.refused(400, "invalid_client_metadata"));
    }
    assert_eq!(said.len(), 1, "{said:?}");
    for uri in [
        "http://sector.example/list",
        "https://ana:x@sector.example/",
        "file:///etc/passwd",
        "https://sector.example/#x",
        "sector.example",
    ] {
        let asked = json!({ "redirect_uris": uris, "sector_identifier_uri": uri });
        register(&server, &asked).await.refused(400, "invalid_client_metadata");
    }
    let unsaid = json!({ "redirect_uris": uris, "subject_type": "pairwise" });
    let description = register(&server, &unsaid).await.refused(400, "invalid_client_metadata");
    assert!(description.contains("sector_identifier_uri"), "{description}");
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_may_not_call_private_networks_proves_no_sector_there() {
    let server = TestServer::open().await;
    for uri in ["https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "https://localhost/"] {
        let asked = json!({ "redirect_uris": ["https://one.example/cb"],
                            "sector_identifier_uri": uri });
        register(&server, &asked).await.refused(400, "invalid_client_metadata");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_replacement_proves_its_sector_again() {
    let host = SectorHost::open().await;
    let server = open(&host).await;
    let uri = host.page("/list", 200, json!(["https://one.example/cb"]));
    let mut asked = json!({ "redirect_uris": ["https://one.example/cb"],
                            "subject_type": "pairwise", "sector_identifier_uri": uri });
    let told = registered(&server, &asked).await;
    asked["client_id"] = told["client_id"].clone();
    asked["redirect_uris"] = json!(["https://one.example/cb", "https://evil.example/cb"]);
    let path = format!("/connect/register/{}", text(&told["client_id"]));
    let token = format!("Bearer {}", text(&told["registration_access_token"]));
    let request = server
        .request(Method::PUT, &path)
        .header("content-type", "application/json")
        .header("authorization", token);
    let answer = server.send(request.body(asked.to_string().into()).unwrap()).await;
    answer.refused(400, "invalid_client_metadata");
    server.stop().await;
}

#[tokio::test]
async fn a_provisioned_client_may_have_subjects_of_its_own_and_metadata_says_so() {
    let server = TestServer::open().await;
    let file = format!(
        "[[client]]\nclient_id = \"pair\"\nclient_secret = \"{SECRET}\"\n\
         redirect_uris = [\"https://pair.example.com/cb\"]\nsubject_type = \"pairwise\"\n\
         trusted = true\n"
    );
    server.apply(&file).await;
    let tokens = server.tokens("ana@acme.test", "pair", "openid").await;
    let open = server.tokens("ana@acme.test", "web", "openid").await;
    assert_ne!(subject(&tokens["id_token"]), subject(&open["id_token"]));
    assert_eq!(subject(&tokens["access_token"]), subject(&tokens["id_token"]));
    let document = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(document["subject_types_supported"], json!(["public", "pairwise"]));
    server.stop().await;
}

/// Has a person approve a device of a client, and returns its tokens.
async fn by_device(server: &TestServer, told: &Value) -> Value {
    let scope = [("scope", "openid")];
    let begun = post_as(server, told, "/connect/device", &scope).await.json();
    let node = Outside { address: server.address };
    device::allow(node, text(&begun["user_code"]), "ana@acme.test").await;
    let grant = ("grant_type", "urn:ietf:params:oauth:grant-type:device_code");
    let fields = [grant, ("device_code", text(&begun["device_code"]))];
    let answer = post_as(server, told, "/connect/token", &fields).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[tokio::test]
async fn a_client_that_is_not_answered_at_a_redirect_does_not_learn_the_subjects_of_its_host() {
    let host = SectorHost::open().await;
    let server = open(&host).await;
    let uri = "https://web.example.com/cb";
    let honest = registered(&server, &pairwise(uri)).await;
    let ana = subject(&tokens(&server, &honest).await["id_token"]);
    let mut thief = pairwise(uri);
    thief["grant_types"] =
        json!(["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"]);
    let own = registered(&server, &thief).await;
    let learned = subject(&by_device(&server, &own).await["id_token"]);
    assert_ne!(learned, ana);
    // It is a sector by itself, and the same to each of its grants.
    let by_code = tokens_of(&server, &own, "ana@acme.test", "openid").await;
    assert_eq!(subject(&by_code["id_token"]), learned);
    // A document of the sector that names the redirect URI is no proof of such a client either.
    thief["sector_identifier_uri"] = json!(host.page("/list", 200, json!([uri])));
    let mut named = pairwise(uri);
    named["sector_identifier_uri"] = thief["sector_identifier_uri"].clone();
    let named = registered(&server, &named).await;
    let ana = subject(&tokens(&server, &named).await["id_token"]);
    let other = registered(&server, &thief).await;
    assert_ne!(subject(&by_device(&server, &other).await["id_token"]), ana);
    server.stop().await;
}
