//! Tokens that lock themselves, hang, or cannot do what others can: a module stands between Porteiro and `SoftHSM`
//! (`tests/pkcs11/module.c`).

use crate::{
    binary::said,
    http::get,
    outside::Outside,
    person::text,
    shared::eventually,
    token_scene::{Scene, write_pin},
};
use jsonwebtoken::decode_header;
use serde_json::Value;
use std::path::Path;
use tokio::task::JoinSet;

/// How often a call stands in a list of them.
fn times(calls: &[String], wanted: &str) -> usize {
    calls.iter().filter(|call| *call == wanted).count()
}

#[tokio::test]
async fn a_command_opens_a_token_once_and_one_that_signs_nothing_never() {
    let Some(scene) = Scene::misbehaving().await else { return };
    scene.install();
    let calls = scene.calls();
    // By `keys generate`; `apply`, which came after it, signs nothing.
    assert_eq!((times(&calls, "login"), times(&calls, "finalize")), (1, 1), "{calls:?}");
    let ends_nothing: [&[&str]; 6] = [
        &["account", "list", "--json"],
        &["organization", "list"],
        &["client", "list"],
        &["session", "end", "--everyone", "--dry-run", "--reason", "a drill"],
        &["log", "verify"],
        &["apply", "file.toml"],
    ];
    for command in ends_nothing {
        let done = scene.run_with(&[], command);
        assert!(done.status.success(), "{command:?}: {}", said(&done));
        assert_eq!(scene.calls(), [""; 0], "{command:?} called the token");
    }
    for command in [&["doctor"][..], &["keys", "list"], &["keys", "rotate", "--algorithm", "ES256"]]
    {
        let done = scene.run_with(&[], command);
        assert!(done.status.success(), "{command:?}: {}", said(&done));
        let calls = scene.calls();
        assert_eq!(times(&calls, "login"), 1, "{command:?}: {calls:?}");
        assert_eq!(calls.last().map(String::as_str), Some("finalize"), "{command:?}: {calls:?}");
    }
    // A wrong PIN is tried once by each.
    let wrong = scene.installation.path().join("wrong-pin").display().to_string();
    write_pin(Path::new(&wrong), "no-pin-at-all");
    for command in [&["doctor"][..], &["serve"], &["keys", "list"], &["keys", "rotate"]] {
        let refused = scene.run_with(&[("PORTEIRO_KEYS__PKCS11_PIN_FILE", &wrong)], command);
        assert!(!refused.status.success());
        let calls = scene.calls();
        assert_eq!(times(&calls, "login"), 1, "{command:?}: {calls:?}");
        assert_eq!(calls.last().map(String::as_str), Some("finalize"), "{command:?}: {calls:?}");
    }
}

#[tokio::test]
async fn a_pin_that_would_lock_its_token_is_not_tried() {
    let Some(scene) = Scene::misbehaving().await else { return };
    scene.install();
    scene.calls();
    let cases = [
        ("final", "one more wrong PIN would lock the token, and so none is tried"),
        ("locked", "the PIN is locked: the token's security officer must set it anew"),
    ];
    for (way, why) in cases {
        scene.misbehave(way);
        for (command, code) in [("serve", 78), ("doctor", 1)] {
            let refused = scene.run_with(&[], &[command]);
            let told = format!("{}{}", String::from_utf8_lossy(&refused.stdout), said(&refused));
            assert_eq!(refused.status.code(), Some(code), "{told}");
            assert!(told.contains(why), "{told}");
            assert_eq!(times(&scene.calls(), "login"), 0, "{command} {way}");
        }
        scene.behave(way);
    }
    scene.succeed(&["doctor"]);
}

#[tokio::test]
async fn a_token_that_hangs_is_waited_for_by_no_caller_and_by_no_other_request() {
    let Some(scene) = Scene::misbehaving().await else { return };
    scene.install();
    let (serving, server) = scene.serve();
    let operator = scene.installation.operator;
    let session = server.sign_in("ana@acme.test").await;
    let code = server.code(&session, "web", "openid").await;
    scene.calls();
    scene.misbehave("hang");
    // More than there are threads for the module, and far more than there are for requests.
    let mut asked = JoinSet::new();
    for _ in 0..40 {
        asked.spawn(async move {
            server.ask("billing", &[("scope", "invoices:read")]).await.status.as_u16()
        });
    }
    eventually("a call that hangs", async || scene.calls().iter().any(|call| call == "sign")).await;
    assert_eq!(server.get("/connect/jwks").await.status, 200);
    assert_eq!(asked.join_all().await, [503; 40]);
    // From now on no caller waits, and nothing is spent.
    assert_eq!(get(operator, "/readyz").await.text(), "the signing keys are out of reach\n");
    let early = server.redeem("web", &code).await;
    assert_eq!(
        (early.status.as_u16(), &early.json()["error"]),
        (503, &"temporarily_unavailable".into())
    );
    scene.behave("hang");
    serving.signal("-HUP");
    eventually("the token", async || get(operator, "/readyz").await.status == 200).await;
    let late = server.redeem("web", &code).await;
    assert_eq!(late.status, 200, "the code was not spent: {late:?}");
    serving.signal("-TERM");
    let (code, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(0), "{log:?}");
    assert_eq!(scene.calls().last().map(String::as_str), Some("finalize"));
}

/// The algorithms that discovery says ID tokens are signed by.
async fn listed(server: &Outside) -> Vec<String> {
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    let listed = metadata["id_token_signing_alg_values_supported"].as_array().unwrap().iter();
    listed.map(|name| text(name).to_owned()).collect()
}

#[tokio::test]
async fn what_a_token_does_not_sign_by_is_not_said_to_be_offered() {
    let Some(scene) = Scene::misbehaving().await else { return };
    scene.install();
    let with_it = ["RS256", "PS256", "ES256", "EdDSA"];
    let without = ["RS256", "ES256", "EdDSA"];
    {
        let (serving, server) = scene.serve();
        assert_eq!(listed(&server).await, with_it);
        // It listed the mechanism and refuses it now: one request learns that, and no other loses what it has.
        scene.misbehave("no-pss");
        let session = server.sign_in("ana@acme.test").await;
        let refused = async |code: String| {
            let answer = server.redeem("ps", &code).await;
            (answer.status.as_u16(), answer.json()["error"].clone())
        };
        let unavailable = (503, Value::from("temporarily_unavailable"));
        let (first, second) = (
            server.code(&session, "ps", "openid").await,
            server.code(&session, "ps", "openid").await,
        );
        assert_eq!(refused(first).await, unavailable);
        assert_eq!(refused(second).await, unavailable);
        assert_eq!(listed(&server).await, without);
        // The token is not away for that.
        assert_eq!(get(scene.installation.operator, "/readyz").await.status, 200);
        let issued = server.tokens("ana@acme.test", "web", "openid").await;
        let header = decode_header(text(&issued["id_token"])).unwrap();
        assert_eq!(format!("{:?}", header.alg), "RS256");
        drop(serving);
    }
    let told = scene.succeed(&["doctor"]);
    assert!(told.contains("it does not sign by PS256, which is not offered"), "{told}");
    let rotated = scene.run_with(&[], &["keys", "rotate", "--algorithm", "PS256"]);
    let why = "does not sign by PS256, for which it was made";
    assert!(!rotated.status.success() && said(&rotated).contains(why), "{}", said(&rotated));
    assert_eq!(scene.keys().len(), 4, "a key that cannot sign was kept");
    let (serving, server) = scene.serve();
    assert_eq!(listed(&server).await, without);
    drop(serving);
}
