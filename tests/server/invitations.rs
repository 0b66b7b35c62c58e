//! People who were invited become members, once, and only they.

use crate::{
    binary::Installation,
    mails::{begin, link, names, wait_for},
    outside::Outside,
    person::{PASSWORD, claims, parameter, text},
    support::{TestOptions, TestServer},
};
use porteiro::{
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    domain::Locale,
    provisioning::{Invite, InviteError, invite},
    system::Workbench,
};
use serde_json::{Value, json};
use std::sync::Arc;
use url::Url;

const NEW: &str = "a long enough new password";

async fn open() -> TestServer {
    TestServer::open_in(TestOptions { mailbox: true, ..TestOptions::default() }).await
}

async fn try_inviting(
    server: &TestServer,
    email: &str,
    organization: &str,
    (roles, administrator): (&[&str], bool),
) -> Result<String, InviteError> {
    let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
    let dice = Arc::new(SystemDice);
    let workbench =
        Workbench::open(&server.url, &folder, server.clock.clone(), dice).await.unwrap();
    let roles: Vec<String> = roles.iter().map(|&role| role.to_owned()).collect();
    let link = |token: &str| format!("https://id.example.com/sign-up?token={token}");
    let (link, mail) = (&link, Some(Locale::English));
    let invited = invite(
        &workbench,
        &Invite { email, organization, roles: &roles, administrator, link, mail },
    )
    .await;
    workbench.close().await;
    invited.map(|invited| {
        let link = Url::parse(&invited.link).unwrap();
        parameter(&link, "token").unwrap()
    })
}

pub async fn invited(server: &TestServer, email: &str, roles: &[&str]) -> String {
    try_inviting(server, email, "acme", (roles, false)).await.unwrap()
}

async fn accept(server: &TestServer, token: &str) -> crate::http::Answer {
    server.post_json("/flows", &json!({ "kind": "invitation", "token": token }), &[]).await
}

/// What a token for the API says of the person's roles.
async fn roles_of(server: &TestServer, session: &str) -> Value {
    let code = server.code(session, "web", "openid invoices:read").await;
    let tokens = server.redeem("web", &code).await.json();
    claims(&tokens["access_token"])["role"].clone()
}

#[tokio::test]
async fn a_person_without_an_account_accepts_and_is_a_member() {
    let server = open().await;
    let token = invited(&server, "Eva@acme.test", &["clerk"]).await;
    let mail = wait_for(&server, 1).await.swap_remove(0);
    assert_eq!(mail["to"], "Eva@acme.test");
    assert_eq!(parameter(&link(&mail), "token").as_deref(), Some(&*token));
    // Whoever looks at the link spends nothing.
    let (looked, flow) = (accept(&server, &token).await, accept(&server, &token).await);
    assert_eq!((looked.status.as_u16(), flow.status.as_u16()), (201, 201), "{flow:?}");
    let flow = flow.json();
    assert_eq!((text(&flow["state"]), names(&flow)), ("profile", vec!["profile"]), "{flow}");
    let other = server.step(&flow, "profile", json!({ "email": "ida@acme.test" })).await;
    other.problem(400, "invalid_request");
    let body = json!({ "email": "eva@acme.test", "given_name": "Eva" });
    let described = server.step(&flow, "profile", body).await.json();
    assert_eq!(described["state"], "credential", "the token proves the address: {described}");
    let done = server.step(&flow, "new_password", json!({ "password": NEW })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    let session = text(&done["result"]["session_token"]);
    assert_eq!(roles_of(&server, session).await, "clerk");

    accept(&server, &token).await.problem(400, "invitation_not_valid");
    // The one that was begun before ends in nothing.
    let looked = looked.json();
    server.step(&looked, "profile", json!({ "email": "eva@acme.test" })).await;
    let late = server.step(&looked, "skip", json!({})).await;
    late.problem(400, "invitation_not_valid");
    server.stop().await;
}

#[tokio::test]
async fn an_account_accepts_after_its_own_sign_in_and_keeps_its_roles() {
    let server = open().await;
    let token = invited(&server, "bruno@acme.test", &["manager"]).await;
    let flow = accept(&server, &token).await.json();
    assert_eq!(flow["state"], "credential", "{flow}");
    assert!(!names(&flow).contains(&"identifier"), "{flow}");
    assert!(!names(&flow).contains(&"new_password"), "{flow}");
    let done = server.step(&flow, "password", json!({ "password": PASSWORD })).await.json();
    assert_eq!(done["state"], "done", "{done}");
    let session = server.sign_in("bruno@acme.test").await;
    let more = [("scope", "openid invoices:read"), ("organization", "acme")];
    let answer = server.authorize_in(&session, "web", &more).await;
    let code = parameter(&crate::person::redirect(&answer), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    assert_eq!(claims(&tokens["access_token"])["role"], "clerk manager");

    // A second factor is asked for as always.
    let token = invited(&server, "dora@acme.test", &["clerk"]).await;
    let flow = accept(&server, &token).await.json();
    let asked = server.step(&flow, "password", json!({ "password": PASSWORD })).await.json();
    assert_eq!(asked["state"], "second_factor", "{asked}");
    server.stop().await;
}

#[tokio::test]
async fn of_two_requests_that_accept_one_is_late() {
    let server = open().await;
    let token = invited(&server, "clara@nowhere.test", &["clerk"]).await;
    let (one, other) = (accept(&server, &token).await.json(), accept(&server, &token).await.json());
    let password = json!({ "password": PASSWORD });
    let (first, second) = tokio::join!(
        server.step(&one, "password", password.clone()),
        server.step(&other, "password", password),
    );
    let done = [&first, &second].iter().filter(|answer| answer.status == 200).count();
    assert_eq!(done, 1, "{first:?} {second:?}");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_invitation_or_not_good_any_more_is_refused_alike() {
    let server = open().await;
    let token = invited(&server, "eva@acme.test", &[]).await;
    let session = server.sign_in("ana@acme.test").await;
    let forged = format!("{}A", &token[..token.len() - 1]);
    for wrong in ["", "piv_nothing", &*forged, &*session, &"x".repeat(10_000)] {
        if wrong != token {
            accept(&server, wrong).await.problem(400, "invitation_not_valid");
        }
    }
    let missing = server.post_json("/flows", &json!({ "kind": "invitation" }), &[]).await;
    missing.problem(400, "invalid_request");
    server.clock.advance(porteiro::domain::invitation::LIFETIME);
    accept(&server, &token).await.problem(400, "invitation_not_valid");
    server.stop().await;
}

#[tokio::test]
async fn a_suspended_organization_takes_no_one_in_and_roles_must_exist() {
    let server = open().await;
    let token = invited(&server, "clara@nowhere.test", &["clerk"]).await;
    let flow = accept(&server, &token).await.json();
    let unknown = try_inviting(&server, "eva@acme.test", "acme", (&["owner"], false)).await;
    assert!(matches!(unknown, Err(InviteError::NoSuchRole { .. })), "{unknown:?}");
    let nowhere = try_inviting(&server, "eva@acme.test", "nowhere", (&[], false)).await;
    assert!(matches!(nowhere, Err(InviteError::NoSuchOrganization(_))), "{nowhere:?}");
    let address = try_inviting(&server, "eva", "acme", (&[], false)).await;
    assert!(matches!(address, Err(InviteError::Email(_))), "{address:?}");
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    let suspended = try_inviting(&server, "eva@acme.test", "acme", (&[], true)).await;
    assert!(matches!(suspended, Err(InviteError::Suspended(_))), "{suspended:?}");
    accept(&server, &token).await.problem(403, "organization_suspended");
    let late = server.step(&flow, "password", json!({ "password": PASSWORD })).await;
    late.problem(403, "organization_suspended");
    server.stop().await;
}

#[tokio::test]
async fn an_administrator_holds_a_role_that_is_made_once_and_never_widened() {
    let server = open().await;
    let token = try_inviting(&server, "eva@acme.test", "acme", (&[], true)).await.unwrap();
    let again = try_inviting(&server, "ida@acme.test", "acme", (&["clerk"], true)).await;
    assert!(again.is_ok(), "{again:?}");
    let flow = accept(&server, &token).await.json();
    server.step(&flow, "profile", json!({ "email": "eva@acme.test" })).await;
    let done = server.step(&flow, "skip", json!({})).await.json();
    assert_eq!(done["state"], "done", "{done}");
    // A role of that name which confers less is the operator's to change.
    let narrow = "[[organization]]\nslug = \"other\"\n[[organization.role]]\n\
                  name = \"administrator\"\npermissions = [\"accounts:read\"]\n";
    server.apply(narrow).await;
    let refused = try_inviting(&server, "eva@acme.test", "other", (&[], true)).await;
    assert!(matches!(refused, Err(InviteError::OtherAdministrator(_))), "{refused:?}");
    server.stop().await;
}

#[tokio::test]
async fn the_command_prints_the_link_of_an_invitation() {
    let installation = Installation::new().await;
    installation.apply("[[organization]]\nslug = \"acme\"\n");
    let arguments =
        ["account", "invite", "--administrator", "eva@acme.test", "--organization", "acme"];
    let output = installation.run(&[&arguments[..], &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(text(&printed["link"]).contains("/sign-up?token=piv_"), "{printed}");
    assert!(printed["id"].is_string());
    let output = installation.run(&arguments);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.lines().any(|line| line.starts_with("http://localhost:")), "{said}");
    let output = installation.run(&["account", "invite", "eva@acme.test", "--organization", "no"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[tokio::test]
async fn the_commands_list_invitations_and_withdraw_one() {
    let installation = Installation::new().await;
    let slugs = "[[organization]]\nslug = \"acme\"\n[[organization]]\nslug = \"other\"\n";
    installation.apply(slugs);
    let json = |arguments: &[&str]| {
        let output = installation.run(&[&["account"], arguments, &["--json"]].concat());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(json(&["invitations"]), json!([]));
    let invite = |email: &str, home: &str| json(&["invite", email, "--organization", home]);
    let eva = invite("eva@acme.test", "acme");
    let (ida, rui) = (invite("ida@acme.test", "other"), invite("rui@acme.test", "acme"));
    let ids = |listed: &Value| {
        let ids = listed.as_array().unwrap().iter().map(|one| text(&one["id"]).to_owned());
        ids.collect::<Vec<_>>()
    };
    let of = |invited: &Value| text(&invited["id"]).to_owned();
    assert_eq!(ids(&json(&["invitations"])), [of(&eva), of(&rui), of(&ida)]);
    let listed = json(&["invitations", "--organization", "acme"]);
    assert_eq!(ids(&listed), [of(&eva), of(&rui)]);
    let members = ["id", "email", "organization", "roles", "created_at", "expires_at"];
    assert!(members.iter().all(|name| listed[0].get(name).is_some()), "{listed}");
    assert!(!listed.to_string().contains("piv_"), "no token is shown again: {listed}");
    assert_eq!((&listed[0]["email"], &listed[0]["roles"]), (&json!("eva@acme.test"), &json!([])));

    let withdrawn = json(&["uninvite", &of(&eva)]);
    assert_eq!(withdrawn["email"], "eva@acme.test", "{withdrawn}");
    assert_eq!(ids(&json(&["invitations"])), [of(&rui), of(&ida)]);
    for wrong in [&*of(&eva), "nothing", ""] {
        let refused = installation.run(&["account", "uninvite", wrong]);
        assert_eq!(refused.status.code(), Some(1), "{wrong}: {refused:?}");
    }
    let nowhere = installation.run(&["account", "invitations", "--organization", "nowhere"]);
    assert_eq!(nowhere.status.code(), Some(1), "{nowhere:?}");

    let _serving = installation.serve();
    let node = Outside { address: installation.address };
    for (invited, status) in [(&eva, 400), (&rui, 201)] {
        let token = parameter(&Url::parse(text(&invited["link"])).unwrap(), "token").unwrap();
        let body = json!({ "kind": "invitation", "token": token });
        let answer = node.post_json("/flows", &body, &[]).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
}

#[tokio::test]
async fn a_sign_in_is_no_way_to_accept() {
    let server = open().await;
    let flow = begin(&server, "sign_in").await;
    let refused = server.step(&flow, "profile", json!({ "email": "eva@acme.test" })).await;
    refused.problem(409, "step_not_available");
    server.stop().await;
}
