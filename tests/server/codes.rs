//! Codes and links that are sent: single use, bound to the flow that asked, the same for known and
//! unknown addresses.

use crate::{
    binary::{Installation, free_port},
    http::Answer,
    outside::Outside,
    person::{claims, parameter, redirect, text},
    shared::eventually,
    support::{ACME, TestOptions, TestServer},
};
use porteiro::domain::Clock as _;
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Duration};
use tokio::task::JoinSet;
use url::Url;

const RUI: &str = r#"
[[account]]
email = "rui@acme.test"
locale = "pt-PT"
phone_number = "+351911111111"
phone_number_verified = true
"#;

async fn open() -> TestServer {
    let server = TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await;
    server.apply(RUI).await;
    server
}

async fn begin(server: &Outside, email: &str) -> Value {
    let begun = server.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
    server.step(&begun, "identifier", json!({ "identifier": email })).await.json()
}

/// Takes the first half of a step, and returns what was sent.
async fn sent(server: &TestServer, flow: &Value, step: &str) -> Value {
    let before = mails(server).await.len();
    let answer = server.step(flow, step, json!({})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut items = Vec::new();
    eventually("the message", async || {
        items = mails(server).await;
        items.len() > before
    })
    .await;
    items.swap_remove(0)
}

async fn mails(server: &TestServer) -> Vec<Value> {
    server.get("/mailbox").await.json()["items"].as_array().unwrap().clone()
}

/// The line of a text that is nothing but a code.
fn code(message: &Value) -> String {
    let body = text(&message["text"]);
    let digits = |line: &&str| line.len() == 6 && line.bytes().all(|one| one.is_ascii_digit());
    body.lines().find(digits).unwrap_or_else(|| panic!("{message}")).to_owned()
}

fn sms_code(message: &Value) -> String {
    let words = text(&message["text"]).split(|one: char| !one.is_ascii_digit());
    words.filter(|word| word.len() == 6).map(str::to_owned).next().unwrap()
}

/// The line of a text that is nothing but a link.
fn link(message: &Value) -> Url {
    let line = text(&message["text"]).lines().find(|line| line.starts_with("http"));
    line.unwrap_or_else(|| panic!("{message}")).parse().unwrap()
}

fn names(flow: &Value) -> Vec<&str> {
    flow["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect()
}

#[tokio::test]
async fn a_person_signs_in_with_a_code_that_was_mailed() {
    let server = open().await;
    let flow = begin(&server, "ana@acme.test").await;
    for step in ["email_code/send", "email_code", "magic_link/send", "magic_link", "sms_code"] {
        assert!(names(&flow).contains(&step), "{flow}");
    }
    let early = server.step(&flow, "email_code", json!({ "code": "123456" })).await;
    early.problem(401, "invalid_credentials");
    let mail = sent(&server, &flow, "email_code/send").await;
    assert_eq!(text(&mail["to"]), "ana@acme.test");
    let code = code(&mail);
    let spaced = format!("{} {}", &code[..3], &code[3..]);
    let done = server.step(&flow, "email_code", json!({ "code": spaced })).await.json();
    assert_eq!((text(&done["state"]), text(&done["assurance"]["reached"])), ("done", "aal1"));
    assert_eq!(done["assurance"]["methods"], json!(["otp"]));
    let session = text(&done["result"]["session_token"]);
    let answer = server.authorize_in(session, "web", &[]).await;
    let tokens = server.redeem("web", &parameter(&redirect(&answer), "code").unwrap()).await.json();
    assert_eq!(claims(&tokens["id_token"])["acr"], "aal1");
    let again = server.step(&flow, "email_code", json!({ "code": code })).await;
    again.problem(409, "flow_over");
    server.stop().await;
}

#[tokio::test]
async fn a_link_is_consumed_by_its_flow_alone_and_never_by_looking() {
    let server = open().await;
    let (flow, other) =
        (begin(&server, "ana@acme.test").await, begin(&server, "ana@acme.test").await);
    sent(&server, &other, "magic_link/send").await;
    let link = link(&sent(&server, &flow, "magic_link/send").await);
    assert_eq!(parameter(&link, "flow").as_deref(), flow["id"].as_str());
    let token = parameter(&link, "token").unwrap();
    // A mail scanner opens it, twice.
    let path = format!("{}?{}", link.path(), link.query().unwrap());
    for _ in 0..2 {
        server.get(&path).await;
        server.get(&format!("/flows/{}", text(&flow["id"]))).await;
    }
    let crossed = server.step(&other, "magic_link", json!({ "token": token })).await;
    crossed.problem(401, "invalid_credentials");
    // A browser does not go on with what a program began.
    let path = format!("/flows/{}/magic_link", text(&flow["id"]));
    let origin = [("origin", server.issuer()), ("sec-fetch-site", "same-origin")];
    let foreign = server.post_json(&path, &json!({ "token": token }), &origin).await;
    foreign.problem(403, "wrong_channel");
    let done = server.step(&flow, "magic_link", json!({ "token": token })).await.json();
    assert_eq!(text(&done["state"]), "done");
    server.stop().await;
}

#[tokio::test]
async fn a_code_for_one_flow_step_or_name_is_wrong_in_another() {
    let server = open().await;
    let (flow, other) =
        (begin(&server, "ana@acme.test").await, begin(&server, "ana@acme.test").await);
    let of_other = code(&sent(&server, &other, "email_code/send").await);
    let first = code(&sent(&server, &flow, "email_code/send").await);
    let wrong = async |step: &str, body: Value| {
        server.step(&flow, step, body).await.problem(401, "invalid_credentials");
    };
    if of_other != first {
        wrong("email_code", json!({ "code": of_other })).await;
    }
    wrong("magic_link", json!({ "token": first })).await;
    wrong("sms_code", json!({ "code": first })).await;
    // Another one is sent: the former is not revived by anything.
    let second = code(&sent(&server, &flow, "email_code/send").await);
    if second != first {
        wrong("email_code", json!({ "code": first })).await;
    }
    // Another name: what was sent to the first is void.
    server.step(&flow, "identifier", json!({ "identifier": "bruno@acme.test" })).await;
    wrong("email_code", json!({ "code": second })).await;
    // And a code is good for ten minutes.
    let last = code(&sent(&server, &flow, "email_code/send").await);
    server.clock.advance(Duration::from_mins(10));
    wrong("email_code", json!({ "code": last })).await;
    server.stop().await;
}

#[tokio::test]
async fn an_unknown_address_gets_the_same_answers_and_no_mail() {
    let server = open().await;
    let mut shown = Vec::new();
    for email in ["ana@acme.test", "clara@nowhere.test", "eve@nowhere.test", "no address"] {
        let flow = begin(&server, email).await;
        let mut answers = vec![flow.clone()];
        for step in ["email_code/send", "magic_link/send", "sms_code/send"] {
            server.quiet().await;
            let before = server.running().system().store().report().commits;
            let answer = server.step(&flow, step, json!({})).await;
            assert_eq!(answer.status, 200, "{email} {step} {answer:?}");
            answers.push(answer.json());
            let commits = server.running().system().store().report().commits - before;
            answers.push(json!(commits.min(2)));
        }
        for (step, member) in [("email_code", "code"), ("magic_link", "token")] {
            let answer = server.step(&flow, step, json!({ member: "000000" })).await;
            answer.problem(401, "invalid_credentials");
        }
        let plain = |document: &Value| {
            let mut document = document.clone();
            for varying in ["id", "steps", "expires_at"] {
                document[varying] = Value::Null;
            }
            document
        };
        let names: Vec<String> = names(&flow).into_iter().map(str::to_owned).collect();
        let plain: Vec<Value> = answers
            .iter()
            .map(|one| if one.is_object() { plain(one) } else { one.clone() })
            .collect();
        shown.push((names, plain));
    }
    for other in &shown[1..] {
        assert_eq!(*other, shown[0]);
    }
    server.quiet().await;
    let to: Vec<String> =
        mails(&server).await.iter().map(|mail| text(&mail["to"]).to_owned()).collect();
    assert!(to.iter().all(|to| to == "ana@acme.test" || to == "clara@nowhere.test"), "{to:?}");
    server.stop().await;
}

#[tokio::test]
async fn an_sms_goes_to_a_verified_phone_alone() {
    let server = open().await;
    let flow = begin(&server, "rui@acme.test").await;
    let message = sent(&server, &flow, "sms_code/send").await;
    assert_eq!((text(&message["channel"]), text(&message["to"])), ("sms", "+351911111111"));
    let code = sms_code(&message);
    let done = server.step(&flow, "sms_code", json!({ "code": code })).await.json();
    assert_eq!((text(&done["state"]), text(&done["assurance"]["reached"])), ("done", "aal1"));
    assert_eq!(done["assurance"]["methods"], json!(["sms"]));
    // Ana's number was never verified.
    let flow = begin(&server, "ana@acme.test").await;
    assert_eq!(server.step(&flow, "sms_code/send", json!({})).await.status, 200);
    server.quiet().await;
    assert_eq!(mails(&server).await.len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn mail_is_in_the_language_of_the_person() {
    let server = open().await;
    let english = sent(&server, &begin(&server, "ana@acme.test").await, "email_code/send").await;
    let portuguese = sent(&server, &begin(&server, "rui@acme.test").await, "email_code/send").await;
    assert_ne!(english["subject"], portuguese["subject"]);
    assert!(text(&portuguese["subject"]).contains("código"), "{portuguese}");
    // Ana has not said hers: her program says which she likes.
    let flow = begin(&server, "ana@acme.test").await;
    let path = format!("/flows/{}/email_code/send", text(&flow["id"]));
    server.post_json(&path, &json!({}), &[("accept-language", "pt-PT, en;q=0.5")]).await;
    eventually("a third mail", async || mails(&server).await.len() == 3).await;
    assert_eq!(mails(&server).await[0]["subject"], portuguese["subject"]);
    server.stop().await;
}

#[tokio::test]
async fn an_account_with_an_authenticator_application_is_asked_for_it_after_a_mail() {
    let server = open().await;
    let flow = begin(&server, "dora@acme.test").await;
    let code = code(&sent(&server, &flow, "email_code/send").await);
    let asked = server.step(&flow, "email_code", json!({ "code": code })).await.json();
    assert_eq!((text(&asked["state"]), names(&asked)), ("second_factor", vec!["totp"]));
    assert!(asked.get("result").is_none());
    let secret = totp_rs::Secret::new_stack(*b"12345678901234567890");
    let application = totp_rs::Builder::new().with_secret(secret).build_noncompliant();
    let now = application.generate(server.clock.now().seconds().cast_unsigned()).to_string();
    let done = server.step(&flow, "totp", json!({ "code": now })).await.json();
    assert_eq!(text(&done["state"]), "done");
    // Mail is no factor: two steps, one factor.
    assert_eq!(text(&done["assurance"]["reached"]), "aal1");
    server.stop().await;
}

#[tokio::test]
async fn a_person_proves_that_the_address_of_their_account_is_theirs() {
    let server = open().await;
    let session = server.sign_in("bruno@acme.test").await;
    let verified = async || {
        let answer = server
            .authorize_in(&session, "web", &[("scope", "openid email"), ("organization", "acme")])
            .await;
        let code = parameter(&redirect(&answer), "code").unwrap();
        let tokens = server.redeem("web", &code).await.json();
        server.userinfo(text(&tokens["access_token"])).await.json()["email_verified"].clone()
    };
    assert_eq!(verified().await, false);
    let kind = json!({ "kind": "verify_email" });
    server.post_json("/flows", &kind, &[]).await.problem(401, "session_required");
    let held = [("x-session-token", session.as_str())];
    let flow = server.post_json("/flows", &kind, &held).await.json();
    assert_eq!(text(&flow["state"]), "proof");
    assert_eq!(names(&flow), ["email_code/send", "email_code", "magic_link/send", "magic_link"]);
    let mail = sent(&server, &flow, "email_code/send").await;
    assert_eq!(text(&mail["to"]), "bruno@acme.test");
    let path = format!("/flows/{}/email_code", text(&flow["id"]));
    let done = server.post_json(&path, &json!({ "code": code(&mail) }), &held).await.json();
    assert_eq!(text(&done["state"]), "done", "{done}");
    assert!(done["result"].get("session_token").is_none(), "the session is as it was");
    assert_eq!(verified().await, true);
    server.stop().await;
}

#[tokio::test]
async fn a_mail_that_was_read_proves_the_address() {
    let server = open().await;
    let flow = begin(&server, "clara@nowhere.test").await;
    let code = code(&sent(&server, &flow, "email_code/send").await);
    let done = server.step(&flow, "email_code", json!({ "code": code })).await.json();
    let session = text(&done["result"]["session_token"]);
    eventually("the address counts as verified", async || {
        let answer = server.authorize_in(session, "web", &[("scope", "openid email")]).await;
        let code = parameter(&redirect(&answer), "code").unwrap();
        let tokens = server.redeem("web", &code).await.json();
        let told = server.userinfo(text(&tokens["access_token"])).await.json();
        told["email_verified"] == true
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn ten_wrong_codes_are_the_end_however_many_race() {
    let server = open().await;
    let flow = begin(&server, "ana@acme.test").await;
    let right = code(&sent(&server, &flow, "email_code/send").await);
    let mut racers = JoinSet::new();
    for number in 0..50 {
        let (node, flow) = (*server, flow.clone());
        let guess = if number == 49 { right.clone() } else { format!("{number:06}") };
        racers.spawn(async move {
            // The right one is the last of fifty.
            tokio::time::sleep(Duration::from_millis(if number == 49 { 300 } else { 0 })).await;
            node.step(&flow, "email_code", json!({ "code": guess })).await
        });
    }
    let answers = racers.join_all().await;
    assert!(answers.iter().all(|answer| answer.status != 200), "{answers:?}");
    let wrong = answers.iter().filter(|answer| answer.status == 401).count();
    assert!(wrong <= 10, "{wrong} were judged");
    server.stop().await;
}

#[tokio::test]
async fn without_mail_nothing_that_needs_it_is_offered() {
    let server = TestServer::open().await;
    let flow = begin(&server, "ana@acme.test").await;
    let offered = names(&flow).join(" ");
    assert!(!offered.contains("email") && !offered.contains("magic"), "{offered}");
    server.step(&flow, "email_code/send", json!({})).await.problem(404, "not_found");
    server.stop().await;
}

/// Uses one code fifty times at once, on these nodes in turn.
async fn race(nodes: &[Outside], flow: &Value, (step, body): (&'static str, Value)) -> Vec<Answer> {
    let mut racers = JoinSet::new();
    for number in 0..50 {
        let (node, flow, body) = (nodes[number % nodes.len()], flow.clone(), body.clone());
        racers.spawn(async move { node.step(&flow, step, body).await });
    }
    racers.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_uses_of_one_code_or_link_one_succeeds() {
    let server = open().await;
    for (send, step, member) in
        [("email_code/send", "email_code", "code"), ("magic_link/send", "magic_link", "token")]
    {
        let flow = begin(&server, "ana@acme.test").await;
        let mail = sent(&server, &flow, send).await;
        let secret = match step {
            "email_code" => code(&mail),
            _ => parameter(&link(&mail), "token").unwrap(),
        };
        let answers = race(&[*server], &flow, (step, json!({ member: secret }))).await;
        let won = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(won, 1, "{step}: {answers:?}");
        let rest = answers
            .iter()
            .all(|answer| [200, 401, 409, 429, 503].contains(&answer.status.as_u16()));
        assert!(rest, "{answers:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_agree_on_one_use_of_a_code() {
    let installation = Installation::new().await;
    let folder = installation.path().join("mail");
    std::fs::create_dir(&folder).unwrap();
    installation.configure(&format!(
        "[limits]\nenabled = false\n[mail]\ntransport = \"file://{}\"\nfrom = \"id@example.com\"\n",
        folder.display()
    ));
    installation.apply(ACME);
    let other: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    let nodes = [installation.address, other].map(|address| Outside { address });
    let _serving = nodes.map(|node| installation.serve_at(node.address));
    for _ in 0..3 {
        let flow = begin(&nodes[0], "ana@acme.test").await;
        for file in std::fs::read_dir(&folder).unwrap() {
            std::fs::remove_file(file.unwrap().path()).unwrap();
        }
        assert_eq!(nodes[0].step(&flow, "email_code/send", json!({})).await.status, 200);
        let mut found = None;
        eventually("the mail", async || {
            let files = std::fs::read_dir(&folder).unwrap().filter_map(Result::ok);
            let eml =
                |file: &std::fs::DirEntry| file.path().extension().is_some_and(|end| end == "eml");
            let text = files.filter(eml).find_map(|file| std::fs::read_to_string(file.path()).ok());
            let digits =
                |line: &&str| line.len() == 6 && line.bytes().all(|one| one.is_ascii_digit());
            found = text.and_then(|text| text.lines().find(digits).map(str::to_owned));
            found.is_some()
        })
        .await;
        let answers = race(&nodes, &flow, ("email_code", json!({ "code": found.unwrap() }))).await;
        let won = answers.iter().filter(|answer| answer.status == 200).count();
        assert!(won <= 1, "{answers:?}");
        assert!(answers.iter().all(|answer| answer.status != 500), "{answers:?}");
    }
}

/// What a thief of a number gets: one factor, and no way to another.
#[tokio::test]
async fn a_password_and_a_code_by_sms_are_two_factors_where_there_is_no_better_one() {
    let server = open().await;
    let proved = |email: &str| {
        format!(
            "[[account]]\nemail = \"{email}\"\nphone_number = \"+351922222222\"\n\
             phone_number_verified = true\n"
        )
    };
    server.apply(&proved("clara@nowhere.test")).await;
    server.apply(&proved("dora@acme.test")).await;
    // It is asked for where two factors are wanted, and not otherwise.
    let flow = server.authorize("web", &[]).await.json();
    let done = server.prove(&flow, "clara@nowhere.test").await.json();
    assert_eq!(done["state"], "done", "{done}");
    let flow = server.authorize("web", &[("acr_values", "aal2")]).await.json();
    let asked = server.prove(&flow, "clara@nowhere.test").await.json();
    assert_eq!(text(&asked["state"]), "second_factor", "{asked}");
    assert_eq!(names(&asked), ["sms_code/send", "sms_code"]);
    let code = sms_code(&sent(&server, &flow, "sms_code/send").await);
    let done = server.step(&flow, "sms_code", json!({ "code": code })).await;
    let tokens = parameter(&redirect(&done), "code").unwrap();
    let tokens = server.redeem("web", &tokens).await.json();
    let claims = claims(&tokens["id_token"]);
    assert_eq!((&claims["acr"], &claims["amr"]), (&json!("aal2"), &json!(["pwd", "sms"])));
    // An application that is enrolled is not replaced by a number.
    let flow = server.authorize("web", &[("acr_values", "aal2")]).await.json();
    let asked = server.prove(&flow, "dora@acme.test").await.json();
    assert_eq!((text(&asked["state"]), names(&asked)), ("second_factor", vec!["totp"]));
    server.stop().await;
}

#[tokio::test]
async fn a_number_that_was_taken_over_is_no_second_factor() {
    let server = open().await;
    let proved = "[[account]]\nemail = \"dora@acme.test\"\n\
                  phone_number = \"+351922222222\"\nphone_number_verified = true\n";
    server.apply(proved).await;
    let flow = begin(&server, "dora@acme.test").await;
    let code = sms_code(&sent(&server, &flow, "sms_code/send").await);
    let asked = server.step(&flow, "sms_code", json!({ "code": code })).await.json();
    assert_eq!((text(&asked["state"]), names(&asked)), ("second_factor", vec!["totp"]));
    // Where there is no second factor the number signs in, and changes nothing of a passkey or another.
    let flow = begin(&server, "rui@acme.test").await;
    let code = sms_code(&sent(&server, &flow, "sms_code/send").await);
    let done = server.step(&flow, "sms_code", json!({ "code": code })).await.json();
    assert_eq!(text(&done["assurance"]["reached"]), "aal1");
    server.stop().await;
}
