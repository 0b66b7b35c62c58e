//! No endpoint and no grant forgets to ask which key a caller holds. The rows are the endpoints that are served and the grants that are
//! offered: one that is added and not thought of here fails.

use crate::{
    api_caller::DIRECTORY,
    ciba, device,
    dpop::{ANA, TOKEN, holder},
    key_holder::KeyHolder,
    person::{callback, claims, redeeming, text},
    support::{SECRET, TestServer},
};
use hyper::Method;
use porteiro::http::router::{Extras, Takes, taking};
use serde_json::{Value, json};

const METHODS: [Method; 5] =
    [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// A path with something for each of its parameters.
fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "{organization}" => "acme",
        part if part.starts_with('{') => "something",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

fn everything() -> impl Iterator<Item = (&'static str, Takes)> {
    taking(Extras::ALL)
}

const ROLES: &str = "
[[organization.role]]
name = \"auditor\"
permissions = [\"audit:read\"]
[[organization.role]]
name = \"manager\"
permissions = [\"invoices:*\"]
[[organization.role]]
name = \"provisioner\"
permissions = [\"scim:provision\"]
";

/// A client that may use every grant, and wants bound tokens alone.
async fn scene() -> TestServer {
    let server = TestServer::open().await;
    server.apply(DIRECTORY).await;
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    server
        .apply(&format!(
            "[[organization]]\nslug = \"acme\"\n{ROLES}\
             [[client]]\nclient_id = \"every\"\nclient_secret = \"{SECRET}\"\ntrusted = true\n\
             organization = \"acme\"\nroles = [\"auditor\", \"provisioner\"]\ndpop_bound_access_tokens = true\n\
             redirect_uris = [\"https://every.example.com/cb\"]\ngrant_types = {}\n",
            metadata["grant_types_supported"]
        ))
        .await;
    server
}

/// Gets a token that is bound to the key of this holder.
async fn bound(server: &TestServer, holder: &KeyHolder, fields: &[(&str, &str)]) -> Value {
    let proof = holder.proof("POST", TOKEN, json!({}));
    let issued = server.post_proved("every", TOKEN, (fields, &[&proof])).await;
    assert_eq!(issued.status, 200, "{issued:?}");
    assert_eq!(
        claims(&issued.json()["access_token"])["cnf"],
        json!({ "jkt": holder.thumbprint() })
    );
    issued.json()
}

async fn of_person(server: &TestServer, holder: &KeyHolder, scope: &str) -> Value {
    let session = server.sign_in(ANA).await;
    let (code, callback) = (server.code(&session, "every", scope).await, callback("every"));
    bound(server, holder, &redeeming(&code, &callback)).await
}

#[tokio::test]
async fn every_endpoint_that_takes_a_token_takes_a_bound_one_from_its_holder_alone() {
    let server = scene().await;
    let (owner, thief) = (holder(&server), holder(&server));
    let of_person = of_person(&server, &owner, "openid").await;
    let own = [("grant_type", "client_credentials"), ("scope", "audit:read")];
    let of_machine = bound(&server, &owner, &own).await;
    let own = [("grant_type", "client_credentials"), ("scope", "scim:provision")];
    let of_directory = bound(&server, &owner, &own).await;
    let mut seen = 0;
    for (path, _) in everything().filter(|(_, takes)| *takes == Takes::Token) {
        let issued = match path {
            path if path.starts_with("/api") => &of_machine,
            path if path.starts_with("/scim") => &of_directory,
            _ => &of_person,
        };
        let token = text(&issued["access_token"]);
        let path = filled(path);
        for method in METHODS {
            let send = async |authorization: String, proofs: &[&str]| {
                server.present_token((method.clone(), &path), &authorization, proofs).await
            };
            let by = |holder: &KeyHolder| holder.proof_with(method.as_str(), &path, token);
            let good = send(format!("DPoP {token}"), &[&by(&owner)]).await;
            if good.status == 405 {
                continue;
            }
            seen += 1;
            assert_ne!(good.status, 401, "{method} {path} {good:?}");
            for (authorization, proofs) in [
                (format!("Bearer {token}"), vec![]),
                (format!("Bearer {token}"), vec![by(&owner)]),
                (format!("DPoP {token}"), vec![]),
                (format!("DPoP {token}"), vec![by(&thief)]),
            ] {
                let proofs: Vec<&str> = proofs.iter().map(String::as_str).collect();
                let stolen = send(authorization.clone(), &proofs).await;
                assert_eq!(stolen.status, 401, "{method} {path} {authorization} {stolen:?}");
            }
        }
    }
    assert!(seen > 40, "only {seen} operations take tokens");
    server.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_says_it_takes_no_token_looks_at_none() {
    let server = scene().await;
    let token = server.tokens(ANA, "web", "openid").await;
    let bearer = format!("Bearer {}", text(&token["access_token"]));
    for (path, _) in everything().filter(|(_, takes)| *takes == Takes::Open) {
        let path = filled(path);
        for method in METHODS {
            let ask = async |authorization: Option<&str>| {
                let mut request = server.request(method.clone(), &path);
                if let Some(authorization) = authorization {
                    request = request.header("authorization", authorization);
                }
                server.send(request.body(crate::support::form(&[])).unwrap()).await.status
            };
            assert_eq!(ask(Some(&bearer)).await, ask(None).await, "{method} {path}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn every_grant_binds_what_it_issues_and_issues_nothing_without_a_proof() {
    let server = scene().await;
    let owner = holder(&server);
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    for grant in metadata["grant_types_supported"].as_array().unwrap() {
        let grant = text(grant);
        let callback = callback("every");
        let session = server.sign_in(ANA).await;
        let presented: String;
        let fields: Vec<(&str, &str)> = match grant {
            "authorization_code" => {
                presented = server.code(&session, "every", "openid").await;
                redeeming(&presented, &callback).to_vec()
            }
            "refresh_token" => {
                let issued = of_person(&server, &owner, "openid offline_access").await;
                presented = text(&issued["refresh_token"]).to_owned();
                vec![("grant_type", grant), ("refresh_token", &presented)]
            }
            "client_credentials" => vec![("grant_type", grant), ("scope", "audit:read")],
            "urn:ietf:params:oauth:grant-type:device_code" => {
                let codes = device::start(*server, "every", &[]).await;
                device::allow(*server, &codes.user, ANA).await;
                presented = codes.device;
                vec![("grant_type", grant), ("device_code", &presented)]
            }
            "urn:openid:params:grant-type:ciba" => {
                presented = ciba::start(*server, "every", ANA, &[]).await;
                ciba::say(&server, &session, "approve").await;
                vec![("grant_type", grant), ("auth_req_id", &presented)]
            }
            "urn:ietf:params:oauth:grant-type:token-exchange" => {
                let issued = of_person(&server, &owner, "openid").await;
                presented = text(&issued["access_token"]).to_owned();
                let kind = "urn:ietf:params:oauth:token-type:access_token";
                vec![
                    ("grant_type", grant),
                    ("subject_token", &presented),
                    ("subject_token_type", kind),
                ]
            }
            other => panic!("say here how {other} is used: what it issues must be bound"),
        };
        let unproved = server.post_proved("every", TOKEN, (&fields, &[])).await;
        assert!(
            unproved.status == 400 && unproved.json()["access_token"].is_null(),
            "{grant} {unproved:?}"
        );
        bound(&server, &owner, &fields).await;
    }
    server.stop().await;
}
