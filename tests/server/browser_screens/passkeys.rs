//! Passkeys that are kept right: a real browser is told which are good, and makes one by itself.

use super::{ANA, visitor::Visitor};
use crate::{person::PASSWORD, shared::eventually};
use serde_json::{Value, json};

/// Notes what a page says to the browser, and passes it on where the browser takes it. A browser without a password
/// manager, as it is here, waits for one for ever: its authenticator makes the passkey instead, without a press of a button.
const RECORDER: &str = "
    const note = (name, said) => {
        const calls = JSON.parse(localStorage.getItem('calls') ?? '[]');
        localStorage.setItem('calls', JSON.stringify([...calls, [name, said]]));
    };
    for (const name of ['signalUnknownCredential', 'signalAllAcceptedCredentials', 'signalCurrentUserDetails']) {
        const real = PublicKeyCredential[name]?.bind(PublicKeyCredential);
        PublicKeyCredential[name] = async (said) => {
            await real?.(said);
            note(name, { ...said, passed: Boolean(real) });
        };
    }
    const capabilities = PublicKeyCredential.getClientCapabilities?.bind(PublicKeyCredential);
    PublicKeyCredential.getClientCapabilities = async () => {
        const real = (await capabilities?.()) ?? {};
        note('getClientCapabilities', real);
        return { ...real, conditionalCreate: true };
    };
    const create = navigator.credentials.create.bind(navigator.credentials);
    navigator.credentials.create = async ({ mediation, ...options }) => {
        note('create', { mediation, userVerification: options.publicKey.authenticatorSelection.userVerification });
        return create(options);
    };";

/// What the pages of one site have said, and to which of the browser's functions.
async fn calls(visitor: &Visitor) -> Vec<(String, Value)> {
    let said = visitor.browser.evaluate("return localStorage.getItem('calls') ?? '[]'").await;
    serde_json::from_str(said.as_str().unwrap()).unwrap()
}

/// Waits for something that a page says, and returns it.
async fn called(visitor: &Visitor, name: &'static str, when: impl Fn(&Value) -> bool) -> Value {
    let mut found = None;
    eventually(name, async || {
        let calls = calls(visitor).await;
        found = calls.into_iter().rev().find(|(known, said)| known == name && when(said));
        found.is_some()
    })
    .await;
    found.unwrap().1
}

#[tokio::test]
async fn a_browser_is_told_of_passkeys_and_makes_one_by_itself() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    let authenticator = browser.add_authenticator().await;
    let source = json!({ "source": RECORDER });
    browser.order("Page.addScriptToEvaluateOnNewDocument", source).await;
    visitor.open("/sign-in").await;
    // A passkey of which the server never heard: its registration was cut off.
    let session = server.sign_in(ANA).await;
    let flow = server.begin("enroll_passkey", &[("x-session-token", &session)]).await.json();
    let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
    let lost = browser.create(&options).await;
    assert_eq!(browser.credentials(&authenticator).await.len(), 1, "{lost}");
    browser.press("form[data-passkey=get] button").await;
    visitor
        .until(
            "document.querySelector('#error')?.innerText",
            "That passkey did not work here. Try again, or use another way.",
        )
        .await;
    let unknown = called(&visitor, "signalUnknownCredential", |_| true).await;
    assert_eq!((&unknown["rpId"], &unknown["credentialId"]), (&json!("localhost"), &lost["id"]));
    if unknown["passed"] == true {
        eventually("the end of the passkey", async || {
            browser.credentials(&authenticator).await.is_empty()
        })
        .await;
    }
    // A password, and the passkey is there without a question.
    browser.fill("#identifier", ANA).await;
    browser.press("main form .primary").await;
    visitor.until("String(document.querySelector('#password') !== null)", "true").await;
    browser.fill("#password", PASSWORD).await;
    browser.press("main form .primary").await;
    visitor.sees("Keep these recovery codes").await;
    let silent = |said: &Value| said["mediation"] == "conditional";
    let made = called(&visitor, "create", silent).await;
    assert_eq!(made["userVerification"], "preferred", "{made}");
    browser.press("main .primary").await;
    visitor.is_at("/account").await;
    let kept = crate::passkeys::kept(server, ANA).await;
    assert_eq!(kept.len(), 1, "{kept:?}");
    let accepted = called(&visitor, "signalAllAcceptedCredentials", |_| true).await;
    assert_eq!(accepted["allAcceptedCredentialIds"], json!([kept[0].id]));
    let details = called(&visitor, "signalCurrentUserDetails", |_| true).await;
    assert_eq!((&details["name"], &details["displayName"]), (&json!(ANA), &json!("Ana")));
    // A name that is changed here is changed there.
    browser.fill("#given_name", "Ana Maria").await;
    browser.press("main form .primary").await;
    let changed = |said: &Value| said["displayName"] == "Ana Maria";
    let details = called(&visitor, "signalCurrentUserDetails", changed).await;
    assert_eq!(details["userId"], accepted["userId"]);
    visitor.leave().await;
}
