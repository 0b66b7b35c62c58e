//! Accounts that are recovered by a link which an operator has made: once, by its holder alone, and
//! never without a new credential.

use crate::{
    authenticator::recovery_codes,
    binary::Installation,
    http::Answer,
    mails::{link, mails, names, wait_for},
    outside::Outside,
    passkey_device::Device,
    passkeys::kept,
    person::{PASSWORD, parameter, text},
    recovery::{NEW, choose, sign_in_with},
    security_log::records,
    shared::eventually,
    support::{ACME, TestOptions, TestServer},
};
use porteiro::{
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    domain::{Clock as _, Locale, account::RECOVERY_LINK_LIFETIME},
    provisioning::{Recover, RecoverError, recover},
    system::Workbench,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::JoinSet;
use url::Url;

const ANA: &str = "ana@acme.test";
const DORA: &str = "dora@acme.test";

async fn open() -> TestServer {
    TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await
}

/// Makes a link as the command does, and returns its token.
async fn try_issuing(server: &TestServer, email: &str) -> Result<String, RecoverError> {
    let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
    let (clock, dice) = (server.clock.clone(), Arc::new(SystemDice));
    let workbench = Workbench::open(&server.url, &folder, clock, dice).await.unwrap();
    let page = |name: &str, token: &str| format!("https://id.example.com/r?{name}={token}");
    let asked = Recover {
        email,
        link: &|token| page("token", token),
        stop: &|token| page("stop", token),
        mail: Some(Locale::English),
    };
    let issued = recover(&workbench, &asked).await;
    workbench.close().await;
    let issued = issued?;
    assert_eq!(issued.expires_at, server.clock.now() + RECOVERY_LINK_LIFETIME);
    assert!(!format!("{issued:?}").contains("prl_"), "{issued:?}");
    Ok(parameter(&Url::parse(&issued.link).unwrap(), "token").unwrap())
}

pub async fn issued(server: &TestServer, email: &str) -> String {
    try_issuing(server, email).await.unwrap()
}

async fn present(server: &Outside, token: &str) -> Answer {
    server.post_json("/flows", &json!({ "kind": "recovery", "token": token }), &[]).await
}

pub async fn begun(server: &Outside, token: &str) -> Value {
    let begun = present(server, token).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    begun.json()
}

#[tokio::test]
async fn a_link_of_an_operator_replaces_every_credential_and_ends_every_session() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let (_, enrolled) = server.enrol_totp(&session, server.clock.now()).await;
    let saved = recovery_codes(&enrolled);
    let code = server.code(&session, "web", "openid offline_access invoices:read").await;
    let tokens = server.redeem("web", &code).await.json();

    let token = issued(&server, ANA).await;
    assert_eq!(records(&server, "account.recovery_issued").await.len(), 1);
    eventually("the mail that tells of it", async || {
        let told = mails(&server).await;
        assert!(told.iter().all(|mail| mail["to"] == ANA), "{told:?}");
        assert!(!told.iter().any(|mail| mail.to_string().contains(&token)), "{told:?}");
        told.iter().any(|mail| text(&mail["subject"]).contains("link to recover"))
    })
    .await;
    let flow = begun(&server, &token).await;
    assert_eq!((text(&flow["kind"]), text(&flow["state"])), ("recovery", "credential"));
    let offered = ["passkey/create_options", "passkey/create", "new_password"];
    assert_eq!(names(&flow), offered, "{flow}");
    assert!(flow.get("result").is_none(), "{flow}");
    assert!(!flow.to_string().contains(ANA), "{flow}");
    let looked = server.authorize_in(&session, "web", &[]).await;
    assert!(looked.text().contains("code="), "nothing has happened yet: {looked:?}");

    let done = choose(&server, &flow).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert!(done.json()["result"].get("session_token").is_none(), "{done:?}");
    assert!(done.header("set-cookie").is_none(), "{done:?}");
    let asked = server.authorize_in(&session, "web", &[]).await.json();
    assert_eq!(asked["state"], "identify", "the session is over: {asked}");
    let refused = server.refresh("web", text(&tokens["refresh_token"])).await;
    assert_eq!(refused.json()["error"], "invalid_grant", "{refused:?}");
    sign_in_with(&server, ANA, PASSWORD).await.problem(401, "invalid_credentials");
    // Neither the application nor saved codes are left: they may be in other hands.
    let done = sign_in_with(&server, ANA, NEW).await.json();
    assert_eq!(done["state"], "done", "{done}");
    let session = text(&done["result"]["session_token"]).to_owned();
    let (_, anew) = server.enrol_totp(&session, server.clock.now()).await;
    assert!(recovery_codes(&anew).iter().all(|code| !saved.contains(code)));
    let recovered = records(&server, "account.recovered").await;
    assert!(recovered.len() == 1 && recovered[0].contains("operator"), "{recovered:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_new_passkey_takes_the_place_of_a_lost_one() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let mut lost = Device::new(server.issuer());
    let former = recovery_codes(&server.add_passkey(&session, &mut lost).await);
    let flow = begun(&server, &issued(&server, ANA).await).await;
    let mut device = Device::new(server.issuer());
    let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
    // The device of the former one may be used again.
    assert_eq!(options["publicKey"]["excludeCredentials"], json!([]));
    let made = device.create(&options).await;
    let done = server.step(&flow, "passkey/create", json!({ "credential": made })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    let codes = recovery_codes(&done);
    assert!(codes.len() == 10 && codes.iter().all(|code| !former.contains(code)));
    assert_eq!(kept(&server, ANA).await.len(), 1);
    let (flow, options) = server.passkey_options().await;
    let refused = server.present(&flow, lost.get(&options).await).await;
    refused.problem(401, "invalid_credentials");
    server.sign_in_by_passkey(&mut device).await;
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_link_or_not_good_any_more_is_refused_alike() {
    let server = open().await;
    let session = server.sign_in(ANA).await;
    let first = issued(&server, ANA).await;
    let second = issued(&server, ANA).await;
    let unknown = present(&server, "prl_nothing").await;
    unknown.problem(400, "recovery_not_valid");
    let refused = async |token: &str| {
        let answer = present(&server, token).await;
        assert_eq!((answer.status, answer.text()), (unknown.status, unknown.text()), "{token}");
    };
    let stop = parameter(&link(&wait_for(&server, 2).await[0]), "stop").unwrap();
    let last = second.chars().last().unwrap();
    let forged = format!("{}{}", &second[..second.len() - 1], if last == 'A' { 'Q' } else { 'A' });
    let other_kind = second.replacen("prl_", "piv_", 1);
    for wrong in ["", &*first, &*stop, &*forged, &*session, &*other_kind, &"x".repeat(10_000)] {
        refused(wrong).await;
    }
    // Other kinds do not begin with it.
    let invitation = json!({ "kind": "invitation", "token": second });
    server.post_json("/flows", &invitation, &[]).await.problem(400, "invitation_not_valid");
    let sign_in = json!({ "kind": "sign_in", "token": second });
    let flow = server.post_json("/flows", &sign_in, &[]).await.json();
    assert_eq!(flow["state"], "identify", "{flow}");
    // Foreign pages do not begin flows.
    let foreign = [("origin", "https://evil.example")];
    let body = json!({ "kind": "recovery", "token": second });
    assert_eq!(server.post_json("/flows", &body, &foreign).await.status, 403);

    // Opened twice, used once.
    let (one, other) = (begun(&server, &second).await, begun(&server, &second).await);
    assert_eq!(choose(&server, &one).await.json()["state"], "done");
    choose(&server, &one).await.problem(409, "flow_over");
    choose(&server, &other).await.problem(409, "account_changed");
    refused(&second).await;

    let third = issued(&server, ANA).await;
    let late = begun(&server, &third).await;
    server.clock.advance(RECOVERY_LINK_LIFETIME);
    refused(&third).await;
    assert_ne!(choose(&server, &late).await.status, 200);
    let nobody = try_issuing(&server, "eva@acme.test").await;
    assert!(matches!(nobody, Err(RecoverError::NoSuchAccount)), "{nobody:?}");
    server.stop().await;
}

#[tokio::test]
async fn the_holder_of_the_address_can_stop_it_before_and_after_the_link_was_opened() {
    let server = open().await;
    for (round, opened_first) in [false, true].into_iter().enumerate() {
        let session = server.sign_in(ANA).await;
        let token = issued(&server, ANA).await;
        let mail = wait_for(&server, 2 * round + 1).await.swap_remove(0);
        let page = link(&mail);
        let stop = parameter(&page, "stop").unwrap();
        let flows = if opened_first {
            let (one, other) = (begun(&server, &token).await, begun(&server, &token).await);
            let options = server.step(&other, "passkey/create_options", json!({})).await.json();
            Some((one, other, options))
        } else {
            None
        };
        // A mail scanner stops nothing, nor does what recovers.
        server.get(&format!("{}?{}", page.path(), page.query().unwrap())).await;
        let forged = format!("{}A", &stop[..stop.len() - 1]);
        for wrong in [&*token, &*forged].into_iter().filter(|wrong| *wrong != stop) {
            let refused = server.post_json("/flows/stop", &json!({ "token": wrong }), &[]).await;
            refused.problem(404, "flow_not_found");
        }
        assert_eq!(present(&server, &token).await.status, 201);
        let foreign = [("origin", "https://evil.example")];
        let body = json!({ "token": stop });
        assert_eq!(server.post_json("/flows/stop", &body, &foreign).await.status, 403);
        let stopped = server.post_json("/flows/stop", &body, &[]).await;
        assert_eq!(stopped.status, 204, "{stopped:?}");
        server.post_json("/flows/stop", &body, &[]).await.problem(409, "flow_over");
        present(&server, &token).await.problem(400, "recovery_not_valid");
        if let Some((one, other, options)) = flows {
            choose(&server, &one).await.problem(409, "account_changed");
            let made = Device::new(server.issuer()).create(&options).await;
            let body = json!({ "credential": made });
            let late = server.step(&other, "passkey/create", body).await;
            late.problem(409, "account_changed");
        }
        // Nothing has changed, and no session has ended.
        server.code(&session, "web", "openid").await;
        // The next link is not stopped by the former's token.
        let next = issued(&server, ANA).await;
        server.post_json("/flows/stop", &body, &[]).await.problem(409, "flow_over");
        assert_eq!(present(&server, &next).await.status, 201);
        wait_for(&server, 2 * round + 2).await;
    }
    assert_eq!(records(&server, "recovery.stopped").await.len(), 2);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_uses_of_one_link_of_an_operator_one_succeeds() {
    let server = open().await;
    let token = issued(&server, DORA).await;
    let mut flows = Vec::new();
    for _ in 0..50 {
        flows.push(begun(&server, &token).await);
    }
    let mut racers = JoinSet::new();
    for flow in flows {
        let node = *server;
        racers.spawn(async move { choose(&node, &flow).await });
    }
    let answers = racers.join_all().await;
    let won = answers.iter().filter(|answer| answer.status == 200).count();
    assert!(won <= 1, "{answers:?}");
    let known = |answer: &Answer| [200, 409, 503].contains(&answer.status.as_u16());
    assert!(answers.iter().all(known), "{answers:?}");
    let recovered = records(&server, "account.recovered").await;
    assert_eq!(recovered.len(), 1, "{answers:?}");
    present(&server, &token).await.problem(400, "recovery_not_valid");
    server.stop().await;
}

#[tokio::test]
async fn the_command_prints_a_link_that_recovers_the_account_once() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let output = installation.run(&["account", "recover", DORA, "--json"]);
    assert!(output.status.success(), "{output:?}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed.as_object().unwrap().len(), 3, "{printed}");
    assert_eq!(text(&printed["account"]).len(), 36, "{printed}");
    assert!(text(&printed["expires_at"]).ends_with('Z'), "{printed}");
    let url = Url::parse(text(&printed["url"])).unwrap();
    assert_eq!(url.path(), "/reset-password");
    let former = parameter(&url, "token").unwrap();
    let output = installation.run(&["account", "recover", DORA]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Mail is not configured"), "{said}");
    let url = said.lines().find(|line| line.starts_with("http://localhost:")).unwrap();
    let token = parameter(&Url::parse(url).unwrap(), "token").unwrap();
    let unknown = installation.run(&["account", "recover", "nobody@acme.test"]);
    assert_eq!(unknown.status.code(), Some(1), "{unknown:?}");

    let _serving = installation.serve();
    let node = Outside { address: installation.address };
    present(&node, &former).await.problem(400, "recovery_not_valid");
    let flow = begun(&node, &token).await;
    assert_eq!(choose(&node, &flow).await.json()["state"], "done");
    present(&node, &token).await.problem(400, "recovery_not_valid");
}
