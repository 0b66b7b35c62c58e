//! A device without a browser of its own, connected in this one.

use super::{
    ANA,
    visitor::{
        Look::{Light, Narrow},
        Visitor,
    },
};
use crate::person::{PASSWORD, text};

#[tokio::test]
async fn a_device_is_connected() {
    let Some(visitor) = Visitor::arrive().await else { return };
    let Visitor { browser, server, .. } = &visitor;
    let asked = [("client_id", "television"), ("scope", "openid profile invoices:read")];
    let asked = server.post("/connect/device", &asked).await.json();
    visitor.open("/device").await;
    visitor.sees("Sign in").await;
    visitor.sign_in(ANA, PASSWORD).await;
    visitor.sees("Connect a device").await;
    visitor.look("device-code", &[Light]).await;
    browser.fill("#user_code", "BCDF-GHJK").await;
    browser.press("main form .primary").await;
    visitor.is_told_at("user_code").await;
    visitor.look("device-code-wrong", &[]).await;
    browser.fill("#user_code", text(&asked["user_code"])).await;
    browser.press("main form .primary").await;
    visitor.sees("Connect Acme Television?").await;
    visitor.look("device", &[Light, Narrow]).await;
    browser.press("button[value=allow]").await;
    visitor.sees("Your device is connected").await;
    visitor.look("device-connected", &[Light]).await;
    let fields = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("client_id", "television"),
        ("device_code", text(&asked["device_code"])),
    ];
    let tokens = server.post("/connect/token", &fields).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    visitor.leave().await;
}
