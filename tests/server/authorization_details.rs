//! What is asked for in detail (RFC 9396): pushed, consented to, in codes and tokens; never more than was
//! granted, or than the person holds.

use crate::{
    http::Answer,
    nodes::views_agree,
    person::{VERIFIER, asking, callback, claims, parameter, redirect, text},
    step_up::{code, dora},
    support::{INVOICES, TestServer, apply, form},
};
use hyper::Method;
use porteiro::{domain::Clock as _, provisioning::ApplyError};
use serde_json::{Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";

const TYPES: &str = r#"
[[resource]]
identifier = "https://api.example.com/invoices"
[[resource.authorization_details]]
type = "payment"
permission = "invoices:approve"
subset = { amount = "at_most", actions = "subset" }
text.en = "Pay up to {amount} EUR to {to}"
text.pt = "Pagar até {amount} EUR a {to}"
[resource.authorization_details.schema]
type = "object"
required = ["amount", "to"]
additionalProperties = false
[resource.authorization_details.schema.properties]
amount = { type = "integer", minimum = 1, maximum = 1000 }
to = { type = "string", maxLength = 40, pattern = "^[A-Za-z ]+$" }
actions = { type = "array", items = { enum = ["pay", "see"] } }
[[resource.authorization_details]]
type = "transfer"
schema = { required = ["amount"] }
permission = "invoices:approve"
irreversible = true

[[resource]]
identifier = "https://api.example.com/orders"
[[resource.authorization_details]]
type = "order"
schema = true
"#;

async fn open() -> TestServer {
    let server = TestServer::open().await;
    server.apply(TYPES).await;
    server
}

fn payment(amount: u32) -> Value {
    json!({ "type": "payment", "amount": amount, "to": "Bob" })
}

async fn ask(server: &TestServer, session: &str, client: &str, details: &Value) -> Answer {
    let details = details.to_string();
    server.authorize_in(session, client, &[("authorization_details", &details)]).await
}

async fn push(server: &TestServer, otherwise: &[(&str, &str)]) -> Answer {
    let asked = asking("web", otherwise);
    let fields: Vec<(String, String)> =
        url::form_urlencoded::parse(asked.as_bytes()).into_owned().collect();
    let fields: Vec<(&str, &str)> = fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    server.post_as("web", "/connect/par", &fields).await
}

fn error(answer: &Answer) -> String {
    parameter(&redirect(answer), "error").unwrap_or_else(|| panic!("{answer:?}"))
}

/// Redeems the code of an answer, with something beside it.
async fn redeem(
    server: &TestServer,
    client: &str,
    done: &Answer,
    beside: &[(&str, &str)],
) -> Answer {
    let code = parameter(&redirect(done), "code").unwrap_or_else(|| panic!("{done:?}"));
    let callback = callback(client);
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", &callback),
        ("code_verifier", VERIFIER),
    ];
    server.token_as(client, &[&fields, beside].concat()).await
}

async fn refresh(server: &TestServer, client: &str, token: &Value, details: &Value) -> Answer {
    let details = details.to_string();
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", text(token)),
        ("authorization_details", &details),
    ];
    server.token_as(client, &fields).await
}

#[tokio::test]
async fn details_go_through_consent_code_refresh_and_introspection() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let asked =
        json!([payment(100), { "type": "payment", "amount": 5, "to": "Eve", "actions": ["see"] }]);
    let flow = ask(&server, &session, "app", &asked).await.json();
    assert_eq!((&flow["state"], &flow["resource"]), (&json!("consent"), &json!(INVOICES)));
    let shown = &flow["authorization_details"];
    assert_eq!((&shown[0]["type"], &shown[0]["amount"]), (&json!("payment"), &json!(100)));
    assert_eq!(shown[0]["text"]["en"], "Pay up to 100 EUR to Bob");
    assert_eq!(shown[1]["text"]["pt"], "Pagar até 5 EUR a Eve (actions see)");
    let done = server.step_in(&session, &flow, "consent", json!({ "decision": "allow" })).await;
    let tokens = redeem(&server, "app", &done, &[]).await.json();
    assert_eq!(tokens["authorization_details"], asked, "{tokens}");
    let said = claims(&tokens["access_token"]);
    assert_eq!((&said["aud"], &said["authorization_details"]), (&json!(INVOICES), &asked));
    assert_eq!((said.get("role"), said.get("membership")), (None, None));
    assert!(claims(&tokens["id_token"]).get("authorization_details").is_none());
    let active = server.introspect("invoices-api", text(&tokens["access_token"])).await;
    assert_eq!((&active["active"], &active["authorization_details"]), (&json!(true), &asked));
    let next = server.refresh("app", text(&tokens["refresh_token"])).await.json();
    assert_eq!(next["authorization_details"], asked);
    assert_eq!(claims(&next["access_token"])["authorization_details"], asked);
    // To consent to details once is not to consent to them again.
    assert_eq!(ask(&server, &session, "app", &asked).await.json()["state"], "consent");
    let asked = asked.to_string();
    let silent = [("authorization_details", asked.as_str()), ("prompt", "none")];
    let silent = server.authorize_in(&session, "app", &silent).await;
    assert_eq!(error(&silent), "consent_required");
    server.stop().await;
}

#[tokio::test]
async fn pushed_details_lead_to_tokens_with_them_and_denied_ones_to_none() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let asked = json!([payment(7)]);
    let pushed = push(&server, &[("authorization_details", &asked.to_string())]).await;
    assert_eq!(pushed.status, 201, "{pushed:?}");
    let pushed = pushed.json();
    let query = [("client_id", "web"), ("request_uri", text(&pushed["request_uri"]))];
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    let path = format!("/connect/authorize?{query}");
    let request = server.request(Method::GET, &path).header("accept", "application/json");
    let request = request.header("x-session-token", &*session);
    let done = server.send(request.body(form(&[])).unwrap()).await;
    let tokens = redeem(&server, "web", &done, &[]).await.json();
    assert_eq!(tokens["authorization_details"], asked, "{tokens}");
    // A client that asked for none has none.
    let code = server.code(&session, "web", "openid").await;
    let bare = server.redeem("web", &code).await.json();
    assert!(bare.get("authorization_details").is_none());
    assert!(claims(&bare["access_token"]).get("authorization_details").is_none());
    let flow = ask(&server, &session, "app", &asked).await.json();
    let denied = server.step_in(&session, &flow, "consent", json!({ "decision": "deny" })).await;
    assert_eq!(error(&denied), "access_denied");
    server.stop().await;
}

#[tokio::test]
async fn less_may_be_asked_for_at_the_token_endpoint_and_never_more() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let whole = json!({ "type": "payment", "amount": 100, "to": "Bob", "actions": ["pay", "see"] });
    let with = |name: &str, value: Value| {
        let mut part = whole.clone();
        part[name] = value;
        part
    };
    let done = ask(&server, &session, "web", &json!([whole])).await;
    let more = json!([with("amount", json!(101))]).to_string();
    let refused = redeem(&server, "web", &done, &[("authorization_details", &more)]).await;
    refused.refused(400, "invalid_authorization_details");
    // The code was not spent by that.
    let less = json!([with("actions", json!(["see"]))]);
    let beside = [("authorization_details", &*less.to_string())];
    let first = redeem(&server, "web", &done, &beside).await.json();
    assert_eq!(first["authorization_details"], less, "{first}");
    let token = &first["refresh_token"];
    for more in [
        json!([with("amount", json!(101))]),
        json!([with("to", json!("Eve"))]),
        json!([with("actions", json!(["pay", "see", "steal"]))]),
        json!([with("amount", json!(-1))]),
        json!([payment(100)]),
        json!([with("amount", json!(50)), with("amount", json!(50))]),
        json!([whole, { "type": "transfer", "amount": 1 }]),
        json!([{ "type": "order" }]),
        json!([{ "type": "unheard_of" }]),
        json!([]),
        json!("x"),
    ] {
        let refused = refresh(&server, "web", token, &more).await;
        assert!(refused.status == 400, "{more}: {refused:?}");
        let code = refused.json()["error"].clone();
        // What is less by the rules and yet not of the type was never granted either.
        assert!(code == "invalid_authorization_details" || code == "invalid_grant", "{code}");
    }
    let more = json!([with("amount", json!(101))]);
    refresh(&server, "web", token, &more).await.refused(400, "invalid_authorization_details");
    // Another client has nothing of it, whatever it asks for.
    let other = refresh(&server, "app", token, &json!([whole])).await;
    other.refused(400, "invalid_grant");
    let less = json!([with("amount", json!(99))]);
    let second = refresh(&server, "web", token, &less).await.json();
    assert_eq!(claims(&second["access_token"])["authorization_details"], less);
    // What was granted is whole again when it is not narrowed.
    let third = server.refresh("web", text(&second["refresh_token"])).await.json();
    assert_eq!(third["authorization_details"], json!([whole]));
    server.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_refused_by_name_before_a_person_is_asked() {
    let server = open().await;
    let nested = format!("[{{\"type\":\"order\",\"a\":{}{}}}]", "[".repeat(900), "]".repeat(900));
    let many = json!(vec![json!({ "type": "order" }); 1_000]).to_string();
    let eleven = json!(vec![json!({ "type": "order" }); 11]).to_string();
    for bad in [
        many.as_str(),
        &eleven,
        &nested,
        "x",
        "{}",
        "[]",
        "[1]",
        "[{}]",
        "[{\"type\":\"unheard_of\"}]",
        "[{\"type\":\"payment\"}]",
        "[{\"type\":\"payment\",\"amount\":0,\"to\":\"Bob\"}]",
        "[{\"type\":\"payment\",\"amount\":1001,\"to\":\"Bob\"}]",
        "[{\"type\":\"payment\",\"amount\":\"1\",\"to\":\"Bob\"}]",
        "[{\"type\":\"payment\",\"amount\":1,\"to\":\"<b>\"}]",
        "[{\"type\":\"payment\",\"amount\":1,\"to\":\"Bob\",\"unheard_of\":1}]",
        "[{\"type\":\"payment\",\"amount\":1,\"amount\":1000,\"to\":\"Bob\"}]",
        "[{\"type\":\"order\",\"text\":{\"en\":\"Nothing at all\"}}]",
        "[{\"type\":\"order\"},{\"type\":\"unheard_of\"}]",
    ] {
        let pushed = push(&server, &[("authorization_details", bad)]).await;
        pushed.refused(400, "invalid_authorization_details");
        if bad.len() < 4_000 {
            let answer = server.authorize("web", &[("authorization_details", bad)]).await;
            assert_eq!(error(&answer), "invalid_authorization_details", "{bad}");
        }
    }
    let (invoice, order) = (json!([payment(1)]).to_string(), "[{\"type\":\"order\"}]");
    let both = json!([payment(1), { "type": "order" }]).to_string();
    for otherwise in [
        &[("authorization_details", both.as_str())][..],
        &[("authorization_details", order), ("resource", INVOICES)],
        &[("authorization_details", order), ("scope", "openid invoices:read")],
        &[("authorization_details", &invoice), ("scope", "orders:read")],
    ] {
        push(&server, otherwise).await.refused(400, "invalid_target");
    }
    let fits = [("authorization_details", &*invoice), ("resource", INVOICES)];
    assert_eq!(push(&server, &fits).await.status, 201);
    let own = [("grant_type", "client_credentials"), ("authorization_details", order)];
    let own = server.post_as("billing", "/connect/token", &own).await;
    own.refused(400, "invalid_authorization_details");
    server.stop().await;
}

#[tokio::test]
async fn a_person_grants_what_their_roles_let_them_grant() {
    let server = open().await;
    let asked = json!([payment(1)]).to_string();
    for (email, organization) in [("bruno@acme.test", Some("acme")), ("clara@nowhere.test", None)] {
        let session = server.sign_in(email).await;
        let mut otherwise = vec![("authorization_details", asked.as_str())];
        otherwise.extend(organization.map(|slug| ("organization", slug)));
        let denied = server.authorize_in(&session, "web", &otherwise).await;
        assert_eq!(error(&denied), "access_denied", "{email}");
    }
    // A type that demands nothing is granted by those who hold nothing.
    let session = server.sign_in("clara@nowhere.test").await;
    let done = ask(&server, &session, "web", &json!([{ "type": "order" }])).await;
    let tokens = redeem(&server, "web", &done, &[]).await.json();
    assert_eq!(claims(&tokens["access_token"])["aud"], "https://api.example.com/orders");
    server.stop().await;
}

#[tokio::test]
async fn what_a_person_has_lost_or_an_api_has_dropped_is_over_at_once() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let tokens = async || {
        let done = ask(&server, &session, "web", &json!([payment(1)])).await;
        redeem(&server, "web", &done, &[]).await.json()
    };
    let active = async |tokens: &Value| {
        let token = text(&tokens["access_token"]);
        server.introspect("invoices-api", token).await["active"].clone()
    };
    let roles = |role: &str| {
        format!(
            "[[account]]\nemail = \"{ANA}\"\n\
             memberships = [{{ organization = \"acme\", roles = [\"{role}\"] }}]\n"
        )
    };
    let first = tokens().await;
    assert_eq!(active(&first).await, true);
    server.apply(&roles("clerk")).await;
    assert_eq!(active(&first).await, false);
    let refused = server.refresh("web", text(&first["refresh_token"])).await;
    refused.refused(400, "invalid_grant");
    server.apply(&roles("manager")).await;
    views_agree().await;
    assert_eq!(active(&first).await, true);
    let again = server.refresh("web", text(&first["refresh_token"])).await;
    assert_eq!(again.status, 200, "{again:?}");
    server
        .apply(&format!("[[resource]]\nidentifier = \"{INVOICES}\"\nauthorization_details = []\n"))
        .await;
    assert_eq!(active(&again.json()).await, false);
    let refused = server.refresh("web", text(&again.json()["refresh_token"])).await;
    refused.refused(400, "invalid_grant");
    server.stop().await;
}

#[tokio::test]
async fn what_cannot_be_taken_back_is_granted_by_two_factors() {
    let server = open().await;
    let transfer = json!([{ "type": "transfer", "amount": 1 }]);
    // Ana has a password alone.
    let ana = server.sign_in(ANA).await;
    for client in ["web", "app"] {
        assert_eq!(error(&ask(&server, &ana, client, &transfer).await), "access_denied");
    }
    let member = "[[account]]\nemail = \"dora@acme.test\"\n\
                  memberships = [{ organization = \"acme\", roles = [\"manager\"] }]\n";
    server.apply(member).await;
    let session = dora(&server).await;
    let done = ask(&server, &session, "web", &transfer).await;
    assert_eq!(redeem(&server, "web", &done, &[]).await.json()["authorization_details"], transfer);
    // Her second factor has lapsed: she proves it again before she is asked.
    server.clock.advance(Duration::from_mins(61));
    let flow = ask(&server, &session, "app", &transfer).await.json();
    assert_eq!(flow["state"], "second_factor", "{flow}");
    let right = json!({ "code": code(server.clock.now()) });
    let asked = server.step_in(&session, &flow, "totp", right).await.json();
    assert_eq!(asked["state"], "consent", "{asked}");
    assert_eq!(asked["authorization_details"][0]["text"]["en"], "transfer: amount 1");
    server.stop().await;
}

#[tokio::test]
async fn clients_learn_which_types_there_are_and_ask_for_those_they_registered() {
    let server = open().await;
    let document = server.get("/.well-known/oauth-authorization-server").await.json();
    let types = json!(["order", "payment", "transfer"]);
    assert_eq!(document["authorization_details_types_supported"], types);
    let register = async |types: Value| {
        let members = json!({ "redirect_uris": ["https://new.example.com/cb"],
            "authorization_details_types": types });
        server.post_json("/connect/register", &members, &[]).await
    };
    let known = register(json!(["payment"])).await;
    assert_eq!(
        (known.status.as_u16(), &known.json()["authorization_details_types"]),
        (201, &json!(["payment"]))
    );
    register(json!(["payment", "unheard_of"])).await.refused(400, "invalid_client_metadata");
    let limited = "[[client]]\nclient_id = \"limited\"\nredirect_uris = [\"https://limited.example.com/cb\"]\n\
                   token_endpoint_auth_method = \"none\"\nauthorization_details_types = [\"order\"]\n";
    server.apply(limited).await;
    let asked = json!([payment(1)]).to_string();
    let refused = server.authorize("limited", &[("authorization_details", &asked)]).await;
    assert_eq!(error(&refused), "invalid_authorization_details");
    let asked = [("authorization_details", "[{\"type\":\"order\"}]")];
    assert_eq!(server.authorize("limited", &asked).await.json()["state"], "identify");
    server.stop().await;
}

#[tokio::test]
async fn a_type_that_cannot_be_judged_is_not_provisioned() {
    let server = open().await;
    for (line, said) in [
        ("schema = { \"$ref\" = \"https://evil.example/s\" }", "`$ref` is not understood"),
        ("schema = { pattern = \"(?=a)\" }", "the keyword `pattern`"),
        ("schema = { properties = { text = true } }", "no member `text`"),
        ("schema = true\nsubset = { type = \"at_most\" }", "`type` names no member"),
        ("schema = true\ntext.en = \"{amount\"", "a text has at most"),
    ] {
        let text = format!(
            "[[resource]]\nidentifier = \"https://new.example/\"\n\
             [[resource.authorization_details]]\ntype = \"new\"\n{line}\n"
        );
        let refused = apply(&server.url, &server.keys(), &text).await;
        let Err(ApplyError::Refused(complaints)) = refused else { panic!("{line} was taken") };
        let words = format!("{complaints:?}");
        assert!(words.contains("`new`") && words.contains(said), "{words}");
    }
    let client = "[[client]]\nclient_id = \"c\"\nauthorization_details_types = [\"unheard_of\"]\n";
    let refused = apply(&server.url, &server.keys(), client).await;
    assert!(matches!(refused, Err(ApplyError::Refused(_))), "{refused:?}");
    server.stop().await;
}
