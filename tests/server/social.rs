//! People come by a provider of no organization: what leads to an account, and what never does (adr/0139).

use crate::{
    http::Answer,
    mails::{begin, mails, names, prove_by_mail, wait_for},
    me::{ask, delete_in, get_in},
    other_provider::{OtherProvider, speaking},
    person::{PASSWORD, text},
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::http::SignUp;
use serde_json::{Value, json};

const ANA: &str = "ana@acme.test";

async fn open() -> (TestServer, OtherProvider, String) {
    let (ours, other) = (TestServer::open_in(speaking()).await, OtherProvider::open().await);
    let connection = other.connect(&ours, None).await;
    (ours, other, connection)
}

/// Comes by the other provider in a new flow, and returns the flow with the answer.
async fn come(ours: &TestServer, other: &OtherProvider, email: &str) -> (Value, Answer) {
    let flow = begin(ours, "sign_in").await;
    let answer = other.sign_on(ours, &flow, email).await;
    (flow, answer)
}

async fn identities(server: &TestServer, session: &str) -> usize {
    let listed = get_in(server, session, "/me/identities").await.json();
    listed["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_person_signs_up_by_another_provider_and_comes_back_by_it() {
    let (ours, other, connection) = open().await;
    let flow = begin(&ours, "sign_in").await;
    let choice = json!([{ "id": connection, "name": "Other", "kind": "oidc" }]);
    assert_eq!(flow["connections"], choice, "it is offered before a person says who they are");
    let applied = other.sign_on(&ours, &flow, "clara@nowhere.test").await;
    let applied = applied.json();
    let seen = (text(&applied["kind"]), text(&applied["state"]), names(&applied));
    assert_eq!(seen, ("sign_up", "profile", vec!["profile"]), "{applied}");
    assert_eq!(applied["identity"]["email"], "clara@nowhere.test");
    let shown = ours.get(&format!("/flows/{}", text(&flow["id"]))).await.json();
    assert_eq!(shown["kind"], "sign_up", "the same flow goes on: {shown}");
    // The address is the one that they write, and our own code proves it.
    let described = ours.step(&flow, "profile", json!({ "email": "eva@new.test" })).await.json();
    assert_eq!(described["state"], "proof", "{described}");
    assert_eq!(prove_by_mail(&ours, &flow).await.json()["state"], "credential");
    let done = ours.step(&flow, "skip", json!({})).await.json();
    assert_eq!((text(&done["state"]), &done["kind"]), ("done", &json!("sign_up")), "{done}");
    let session = text(&done["result"]["session_token"]).to_owned();
    assert_eq!(identities(&ours, &session).await, 1);
    assert_eq!(get_in(&ours, &session, "/me").await.json()["email"], "eva@new.test");

    let (_, came) = come(&ours, &other, "clara@nowhere.test").await;
    let came = came.json();
    assert_eq!((text(&came["state"]), text(&came["assurance"]["reached"])), ("done", "aal1"));
    let by_other = text(&came["result"]["session_token"]).to_owned();
    let account = get_in(&ours, &by_other, "/me").await.json();
    assert_eq!(account["email"], "eva@new.test", "not who has the asserted address");
    // It is the account's own, and changes no credential.
    let code = ours.code(&by_other, "web", "openid offline_access").await;
    let tokens = ours.redeem("web", &code).await.json();
    let path = format!("/me/identities/{}", {
        let listed = get_in(&ours, &by_other, "/me/identities").await.json();
        text(&listed["items"][0]["id"]).to_owned()
    });
    for (method, path) in
        [(Method::DELETE, &*path), (Method::DELETE, "/me"), (Method::GET, "/me/export")]
    {
        let refused = ask(&ours, method, path, &[("x-session-token", &by_other)]).await;
        refused.problem(403, "step_up_required");
        assert!(!names(&refused.json()["flow"]).contains(&"sso"), "{refused:?}");
    }
    // What rests on it ends with it.
    assert_eq!(delete_in(&ours, &session, &path).await.status, 204);
    get_in(&ours, &by_other, "/me").await.problem(401, "session_required");
    ours.refresh("web", text(&tokens["refresh_token"])).await.refused(400, "invalid_grant");
    assert_eq!(ours.introspect("web", text(&tokens["access_token"])).await["active"], false);
    assert_eq!(get_in(&ours, &session, "/me").await.status, 200, "the own session goes on");
    other.server.stop().await;
    ours.stop().await;
}

#[tokio::test]
async fn no_account_that_was_there_is_found_or_linked_by_its_address() {
    let (ours, other, _) = open().await;
    // At the other provider they have the very address of an account of ours.
    let (flow, applied) = come(&ours, &other, ANA).await;
    assert_eq!(applied.json()["kind"], "sign_up", "no account is found by it");
    let before = mails(&ours).await.len();
    let known = ours.step(&flow, "profile", json!({ "email": ANA })).await.json();
    let (unknown_flow, _) = come(&ours, &other, "clara@nowhere.test").await;
    let unknown = json!({ "email": "eva@new.test" });
    let unknown = ours.step(&unknown_flow, "profile", unknown).await.json();
    let told = |document: &Value| (document["state"].clone(), names(document).join(" "));
    assert_eq!(told(&known), told(&unknown), "it is not said who has an account");
    // The person who has the address is told; no code of theirs makes another the owner.
    let sent = ours.step(&flow, "email_code/send", json!({})).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let mail = wait_for(&ours, before + 1).await.swap_remove(0);
    let digits = |line: &str| line.len() == 6 && line.bytes().all(|one| one.is_ascii_digit());
    assert!(!text(&mail["text"]).lines().any(digits), "{mail}");
    for code in ["000000", "123456"] {
        let refused = ours.step(&flow, "email_code", json!({ "code": code })).await;
        refused.problem(401, "invalid_credentials");
    }
    ours.step(&flow, "skip", json!({})).await.problem(409, "step_not_available");
    let ana = ours.sign_in(ANA).await;
    assert_eq!(identities(&ours, &ana).await, 0);
    other.server.stop().await;
    ours.stop().await;
}

#[tokio::test]
async fn an_attacker_who_signs_up_first_gains_nothing_and_one_identity_makes_one_account() {
    let (ours, other, connection) = open().await;
    // The attacker has begun with the victim's address, and cannot read the victim's mail.
    let (attacker, _) = come(&ours, &other, "clara@nowhere.test").await;
    ours.step(&attacker, "profile", json!({ "email": "victim@new.test" })).await;
    let sent = ours.step(&attacker, "email_code/send", json!({})).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let wrong = ours.step(&attacker, "email_code", json!({ "code": "000000" })).await;
    wrong.problem(401, "invalid_credentials");
    // The victim makes the account meanwhile; nothing of the attacker's is in it.
    let victim = begin(&ours, "sign_up").await;
    ours.step(&victim, "profile", json!({ "email": "victim@new.test" })).await;
    prove_by_mail(&ours, &victim).await;
    let done = ours.step(&victim, "new_password", json!({ "password": PASSWORD })).await.json();
    let session = text(&done["result"]["session_token"]).to_owned();
    assert_eq!(identities(&ours, &session).await, 0);
    // The victim links what the attacker holds in two flows: it makes no second account.
    let (late, _) = come(&ours, &other, ANA).await;
    ours.step(&late, "profile", json!({ "email": "late@new.test" })).await;
    assert_eq!(prove_by_mail(&ours, &late).await.json()["state"], "credential");
    let wish = json!({ "kind": "link", "connection": connection });
    let link = ours.post_json("/flows", &wish, &[("x-session-token", &session)]).await.json();
    assert_eq!(other.sign_on(&ours, &link, ANA).await.json()["state"], "confirm");
    let linked = ours.step(&link, "confirm", json!({ "decision": "allow" })).await;
    assert_eq!(linked.json()["state"], "done", "{linked:?}");
    ours.step(&late, "skip", json!({})).await.problem(409, "identity_already_linked");
    let none = begin(&ours, "sign_in").await;
    ours.step(&none, "identifier", json!({ "identifier": "late@new.test" })).await;
    let none = ours.step(&none, "password", json!({ "password": PASSWORD })).await;
    none.problem(401, "invalid_credentials");
    other.server.stop().await;
    ours.stop().await;
}

#[tokio::test]
async fn where_sign_up_is_closed_an_unknown_identity_is_refused() {
    let sign_up = SignUp { open: false, proof_of_work_bits: 0 };
    let ours = TestServer::open_in(TestOptions { sign_up, ..speaking() }).await;
    let other = OtherProvider::open().await;
    other.connect(&ours, None).await;
    for email in [ANA, "clara@nowhere.test"] {
        let (flow, refused) = come(&ours, &other, email).await;
        refused.problem(403, "account_not_vouched");
        let shown = ours.get(&format!("/flows/{}", text(&flow["id"]))).await.json();
        assert_eq!((text(&shown["kind"]), text(&shown["state"])), ("sign_in", "identify"));
    }
    other.server.stop().await;
    ours.stop().await;
}

#[tokio::test]
async fn an_identity_of_no_organization_is_a_way_in_and_the_last_one_stays() {
    // No mail is sent: there is no other way in beside it.
    let ours = TestServer::open_in(TestOptions { mailbox: false, ..speaking() }).await;
    let other = OtherProvider::open().await;
    let connection = other.connect(&ours, None).await;
    let session = ours.sign_in(ANA).await;
    delete_in(&ours, &session, "/me/password").await.problem(409, "last_way_in");
    let wish = json!({ "kind": "link", "connection": connection });
    let link = ours.post_json("/flows", &wish, &[("x-session-token", &session)]).await.json();
    other.sign_on(&ours, &link, "clara@nowhere.test").await;
    let done = ours.step(&link, "confirm", json!({ "decision": "allow" })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    let listed = get_in(&ours, &session, "/me/identities").await.json();
    let path = format!("/me/identities/{}", text(&listed["items"][0]["id"]));
    // Two removals at once leave one of them.
    let (one, two) =
        tokio::join!(delete_in(&ours, &session, "/me/password"), delete_in(&ours, &session, &path));
    let statuses = [one.status.as_u16(), two.status.as_u16()];
    assert!(statuses.contains(&204) && statuses != [204, 204], "{one:?} {two:?}");
    let refused = if one.status == 204 { two } else { one };
    assert!([403, 409, 503].contains(&refused.status.as_u16()), "{refused:?}");
    other.server.stop().await;
    ours.stop().await;
}
