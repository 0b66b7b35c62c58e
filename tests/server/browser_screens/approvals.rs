//! What a client asks for by a back channel, approved in this browser.

use super::{
    ANA,
    visitor::{
        Look::{Dark, Light, Narrow},
        Visitor,
    },
};
use crate::{
    ciba::{AGENTS, TRANSFER, TYPES, poll, start},
    mails,
    me::records,
    person::{PASSWORD, claims, text},
};

/// What can be read on the page.
async fn reads(visitor: &Visitor) -> String {
    text(&visitor.browser.evaluate("return document.body.innerText").await).to_owned()
}

#[tokio::test]
async fn a_transfer_that_an_agent_asks_for_is_approved_with_a_passkey() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    server.apply(&format!("{TYPES}{AGENTS}")).await;
    browser.add_authenticator().await;
    visitor.open("/sign-in").await;
    browser.fill("#identifier", ANA).await;
    browser.press("main form .primary").await;
    visitor.until("String(document.querySelector('#password') !== null)", "true").await;
    browser.fill("#password", PASSWORD).await;
    browser.press("main form .primary").await;
    visitor.sees("Sign in faster next time").await;
    browser.press("form[data-passkey=create] button").await;
    visitor.sees("Keep these recovery codes").await;
    visitor.open("/sign-out").await;
    visitor.sees("Sign out?").await;
    browser.press("main form .primary").await;
    visitor.sees("You are signed out").await;

    let before = visitor.mails().await;
    let more = [("authorization_details", TRANSFER), ("binding_message", "Order 17")];
    let id = start(**server, "agent", ANA, &more).await;
    let mail = mails::wait_for(server, before + 1).await.swap_remove(0);
    browser.open(mails::link(&mail).as_str()).await;
    visitor
        .until("String(document.querySelector('form[data-passkey=get]') !== null)", "true")
        .await;
    assert!(!reads(&visitor).await.contains("Agent"), "{}", reads(&visitor).await);
    browser.press("form[data-passkey=get] button").await;
    visitor.sees("Agent asks for your approval").await;
    let page = reads(&visitor).await;
    for said in ["Transfer 50 EUR", "Order 17", "Acme Lda", ANA] {
        assert!(page.contains(said), "{said}: {page}");
    }
    visitor.look("approve", &[Light, Dark, Narrow]).await;
    poll(**server, "agent", &id).await.refused(400, "authorization_pending");
    browser.press("button[value=allow]").await;
    // The sign-in a moment ago is not this: the passkey signs what is shown.
    visitor.sees("Confirm that it is you").await;
    let page = reads(&visitor).await;
    assert!(page.contains("Transfer 50 EUR"), "{page}");
    visitor.look("approve-sign", &[Light, Narrow]).await;
    browser.press("form[data-passkey=get] button").await;
    visitor.sees("The request is approved").await;
    visitor.look("approved", &[Light]).await;
    let tokens = poll(**server, "agent", &id).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    assert_eq!(claims(&tokens.json()["access_token"])["acr"], "aal2");
    let given = records(server, "approval.given").await;
    assert!(given.len() == 1 && given[0]["asserted"] == true, "{given:?}");
    // The link leads to nothing any more.
    browser.open(mails::link(&mail).as_str()).await;
    visitor.sees("No request waits for you").await;
    visitor.look("approve-void", &[Light]).await;
    visitor.leave().await;
}
