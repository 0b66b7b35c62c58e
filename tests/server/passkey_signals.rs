//! What pages tell password managers of passkeys, and the passkey that a password manager makes by itself.

use crate::{
    mails,
    me::{delete_in, get_in},
    passkey_device::{Device, Lies, altered, unattended},
    passkeys::{ANA, device_of, id_of, kept},
    person::{PASSWORD, text},
    screens_sign_in::{named, open, signed_in},
    support::TestServer,
    tab::{Page, Tab},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hyper::Method;
use serde_json::{Value, json};

const NEW: &str = "a long enough new password";

/// What a page tells.
fn told(page: &Page) -> Value {
    let told = page.meta("passkeys");
    told.map_or(Value::Null, |told| serde_json::from_str(&told).unwrap())
}

/// Begins a sign-in in a tab and presents what the device answers, after `change`.
async fn present(
    tab: &mut Tab<'_>,
    device: &mut Device,
    change: impl FnOnce(Value) -> Value,
) -> Page {
    let page = tab.open("/sign-in").await;
    let options = tab.fetch(&format!("/flows/{}/passkey/options", page.flow())).await;
    let answer = change(device.get(&options).await).to_string();
    tab.step(&page, "passkey", &[("credential", &answer)]).await
}

async fn remove(server: &TestServer, device: &mut Device) -> String {
    let session = server.sign_in_by_passkey(device).await;
    let session = text(&session["result"]["session_token"]).to_owned();
    let id = kept(server, ANA).await[0].id.clone();
    let removed = delete_in(server, &session, &format!("/me/passkeys/{id}")).await;
    assert_eq!(removed.status, 204, "{removed:?}");
    let listed = get_in(server, &session, "/me/passkeys").await.json();
    assert_eq!(listed["signal"]["allAcceptedCredentialIds"], json!([]), "{listed}");
    id
}

#[tokio::test]
async fn a_passkey_that_no_account_has_is_told_to_the_browser_that_presented_it_alone() {
    let server = open().await;
    let mut device = device_of(&server, ANA).await;
    let tab = &mut Tab::new(&server);
    // A passkey that is there is never said to be unknown, whatever is wrong with the answer.
    let forged = |it: Value| altered(&it, "/response/signature", |bytes| bytes[9] ^= 1);
    let refused = present(tab, &mut device, forged).await;
    assert!(refused.text.contains("That passkey did not work here."), "{refused:?}");
    assert_eq!(told(&refused), Value::Null);
    // Nor is what is no answer at all.
    let refused = present(tab, &mut device, |_| json!({ "id": 1 })).await;
    assert_eq!(told(&refused), Value::Null);

    let id = remove(&server, &mut device).await;
    let refused = present(tab, &mut device, |it| it).await;
    assert!(refused.text.contains("That passkey did not work here."), "the words are the same");
    let unknown = json!({ "rpId": "localhost", "credentialId": id });
    assert_eq!(told(&refused), json!({ "unknown": unknown }));
    // The word of another flow, or of no one, says nothing; so no link takes a passkey away.
    let sealed = refused.address.split_once("&unknown=").unwrap().1.to_owned();
    let flow = refused.flow();
    let other = tab.open("/sign-in").await.flow();
    for (flow, sealed) in [(&other, &*sealed), (&flow, &*id), (&flow, ""), (&flow, "%00")] {
        let path = format!("/sign-in?flow={flow}&problem=invalid_credentials&step=passkey");
        let page = tab.open(&format!("{path}&unknown={sealed}")).await;
        assert_eq!(told(&page), Value::Null, "{sealed}");
    }
    // A program is answered in the same words as ever.
    let (flow, options) = server.passkey_options().await;
    let answer = server.present(&flow, device.get(&options).await).await;
    answer.problem(401, "invalid_credentials");
    assert!(!answer.text().contains("unknown"), "{answer:?}");
    server.stop().await;
}

#[tokio::test]
async fn the_passkey_of_a_suspended_account_is_not_said_to_be_unknown() {
    let server = open().await;
    let mut device = device_of(&server, ANA).await;
    server.apply(&format!("[[account]]\nemail = \"{ANA}\"\nenabled = false\n")).await;
    let refused = present(&mut Tab::new(&server), &mut device, |it| it).await;
    assert!(refused.text.contains("That passkey did not work here."), "{refused:?}");
    assert_eq!(told(&refused), Value::Null, "it may come back");
    server.stop().await;
}

#[tokio::test]
async fn the_pages_of_an_account_tell_which_passkeys_are_good_and_who_the_person_is() {
    let server = open().await;
    device_of(&server, ANA).await;
    let tab = &mut Tab::new(&server);
    signed_in(tab, ANA).await;
    let account = id_of(&server, ANA).await.replace('-', "");
    let bytes = (0..16).map(|at| u8::from_str_radix(&account[2 * at..2 * at + 2], 16).unwrap());
    let mut signal = json!({
        "rpId": "localhost",
        "userId": URL_SAFE_NO_PAD.encode(bytes.collect::<Vec<_>>()),
        "allAcceptedCredentialIds": [kept(&server, ANA).await[0].id],
        "name": ANA,
        "displayName": "Ana",
    });
    for path in ["/account", "/account/security"] {
        assert_eq!(told(&tab.open(path).await), json!({ "account": signal }), "{path}");
    }
    for path in ["/account/sessions", "/account/data", "/sign-out"] {
        assert_eq!(told(&tab.open(path).await), Value::Null, "{path}");
    }
    // A page of one's own reads the same, and names follow the profile.
    let session = server.sign_in(ANA).await;
    assert_eq!(get_in(&server, &session, "/me/passkeys").await.json()["signal"], signal);
    let page = tab.open("/account").await;
    let done = tab.step(&page, "describe", &[("given_name", "Ana Maria")]).await;
    signal["displayName"] = "Ana Maria".into();
    assert_eq!(told(&done), json!({ "account": signal }), "{done:?}");
    // A stranger is told nothing.
    assert_eq!(told(&Tab::new(&server).open("/account/security").await), Value::Null);
    server.stop().await;
}

#[tokio::test]
async fn a_recovery_tells_which_passkeys_are_left() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = tab.open("/reset-password").await;
    let before = mails::mails(&server).await.len();
    let page = tab.step(&page, "identifier", &[("identifier", ANA)]).await;
    assert_eq!(told(&page), Value::Null);
    let code = mails::code(&mails::wait_for(&server, before + 1).await[0]);
    let page = tab.step(&page, "email_code", &[("code", &code)]).await;
    assert_eq!(told(&page), Value::Null, "nothing was recovered yet");
    let page = tab.open(&page.link("/reset-password?flow=")).await;
    let done = tab.step(&page, "new_password", &[("password", NEW)]).await;
    done.is(200, "Your account is yours again");
    assert_eq!(told(&done)["account"]["allAcceptedCredentialIds"], json!([]), "{done:?}");
    assert_eq!(told(&done)["account"]["name"], ANA);
    server.stop().await;
}

#[tokio::test]
async fn a_password_manager_makes_a_passkey_by_itself_beside_a_sign_in_alone() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = named(tab, ANA).await;
    let sent = [("password", PASSWORD), ("passkeys", "yes")];
    let offer = tab.step(&page, "password", &sent).await;
    offer.is(200, "Sign in faster next time");
    assert!(offer.text.contains("data-upgrades"), "{offer:?}");
    let path = format!("/flows/{}/passkey/create_options", offer.flow());
    let wish = json!({ "mediation": "conditional" });
    let options = tab.fetch_with(&path, &wish).await;
    assert_eq!(options.status, 200, "{options:?}");
    let options = options.json();
    assert_eq!(options["mediation"], "conditional");
    let asked = &options["publicKey"];
    assert_eq!(asked["authenticatorSelection"]["userVerification"], "preferred");
    assert_eq!(asked["authenticatorSelection"]["residentKey"], "required");
    assert_eq!(asked.get("extensions"), None, "browsers refuse their protection beside it");
    let mut device = Device::new(server.issuer());
    let made = unattended(&device.create(&options).await, "localhost").to_string();
    let form = offer.form("passkey/create");
    tab.send(&form, &[("credential", &made)]).await.is(200, "Keep these recovery codes");
    assert_eq!(kept(&server, ANA).await.len(), 1);
    // Its uses ask the person as any other's do.
    let (flow, options) = server.passkey_options().await;
    let unverified = Lies { unverified: true, ..Lies::default() };
    let answer = device.get_lying(&options, &unverified).await;
    server.present(&flow, answer).await.problem(401, "invalid_credentials");
    server.sign_in_by_passkey(&mut device).await;

    // Elsewhere the person is asked.
    let session = server.sign_in("bruno@acme.test").await;
    let headers = [("x-session-token", &*session)];
    let flow = server.begin("enroll_passkey", &headers).await.json();
    let refused = server.step(&flow, "passkey/create_options", wish).await;
    refused.problem(409, "step_not_available");
    for wrong in [json!("silent"), json!(true), json!(["conditional"])] {
        let wish = json!({ "mediation": wrong });
        let refused = server.step(&flow, "passkey/create_options", wish).await;
        refused.problem(400, "invalid_request");
    }
    let options = server.step(&flow, "passkey/create_options", json!({})).await.json();
    let made = unattended(&Device::new(server.issuer()).create(&options).await, "localhost");
    let refused = server.step(&flow, "passkey/create", json!({ "credential": made })).await;
    refused.problem(401, "invalid_credentials");
    assert!(kept(&server, "bruno@acme.test").await.is_empty());
    // A page of another site asks for nothing.
    let foreign = [("origin", "https://evil.test"), ("sec-fetch-site", "cross-site")];
    let kind = [("content-type", "application/json")];
    let headers: Vec<_> = foreign.into_iter().chain(kind).collect();
    let stolen = tab.request((Method::POST, &path), &headers, "{}".to_owned()).await;
    assert_eq!(stolen.status, 403, "{stolen:?}");
    server.stop().await;
}
