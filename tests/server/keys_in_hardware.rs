//! Signing keys in a token that speaks PKCS#11: made there, signing there, replaced there, and out of reach.

use crate::{
    binary::{porteiro, said},
    http::get,
    outside::Outside,
    person::text,
    shared::eventually,
    token_scene::{PIN, Scene, write_pin},
};
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use serde_json::Value;
use std::{os::unix::fs::PermissionsExt as _, path::Path};

/// Verifies a token with the published keys alone, and says which algorithm and key have signed it.
async fn verified(server: &Outside, token: &str) -> (String, String) {
    let set = server.get("/connect/jwks").await.json();
    let set: JwkSet = serde_json::from_value(set).unwrap();
    let header = decode_header(token).unwrap();
    let kid = header.kid.unwrap();
    let key = DecodingKey::from_jwk(set.find(&kid).unwrap()).unwrap();
    let mut validation = Validation::new(header.alg);
    validation.validate_aud = false;
    decode::<Value>(token, &key, &validation).unwrap();
    (format!("{:?}", header.alg), kid)
}

#[tokio::test]
async fn keys_are_made_in_a_token_sign_there_and_are_replaced_there() {
    let Some(scene) = Scene::new().await else { return };
    let made = scene.install();
    let in_token = made.lines().filter(|line| line.contains(" pkcs11:token=porteiro;object="));
    assert_eq!(in_token.count(), 3, "{made}");
    let folder = scene.installation.path().join("hardware");
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|one| one.unwrap()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].file_name().to_string_lossy().starts_with("secret-"), "{files:?}");
    let again = scene.run_with(&[], &["keys", "generate"]);
    assert_eq!(again.status.code(), Some(78), "{}", said(&again));

    let (serving, server) = scene.serve();
    let token = server.token("billing", "invoices:read").await;
    assert_eq!(verified(&server, &token).await.0, "ES256");
    for (client, algorithm) in [("web", "RS256"), ("ps", "PS256"), ("es", "ES256"), ("ed", "EdDSA")]
    {
        let issued = server.tokens("ana@acme.test", client, "openid").await;
        assert_eq!(verified(&server, text(&issued["id_token"])).await.0, algorithm);
    }
    // The next keys are published before they sign.
    let before = scene.keys();
    let next = scene.succeed(&["keys", "rotate", "--algorithm", "ES256"]);
    let kid = next.split(' ').nth(2).unwrap().to_owned();
    serving.signal("-HUP");
    eventually("publication", async || server.get("/connect/jwks").await.text().contains(&kid))
        .await;
    let state = |kid: &str| {
        let found = scene.keys().into_iter().find(|key| key["kid"] == kid).unwrap();
        text(&found["state"]).to_owned()
    };
    assert_eq!(state(&kid), "next");
    // A leaked one is gone at once, and its successor signs.
    let current = before.iter().find(|key| key["use"] == "ES256").unwrap();
    scene.succeed(&["keys", "revoke", text(&current["kid"])]);
    serving.signal("-HUP");
    eventually("the successor", async || {
        let token = server.token("billing", "invoices:read").await;
        decode_header(&token).unwrap().kid.as_deref() == Some(&*kid)
    })
    .await;
    assert_eq!(state(text(&current["kid"])), "revoked");
    let healthy = scene.run_with(&[], &["doctor"]);
    let told = String::from_utf8_lossy(&healthy.stdout);
    assert!(told.contains("token porteiro by /usr/lib/softhsm/libsofthsm2.so: 4 keys"), "{told}");
    drop(serving);
}

#[tokio::test]
async fn what_is_wrong_with_a_token_is_said_at_the_start_and_by_doctor() {
    let Some(scene) = Scene::new().await else { return };
    scene.install();
    let other = |name: &str| scene.installation.path().join(name).display().to_string();
    let (wrong, open) = (other("wrong-pin"), other("open-pin"));
    write_pin(Path::new(&wrong), "no-pin-at-all");
    write_pin(Path::new(&open), PIN);
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    let pin_file = "PORTEIRO_KEYS__PKCS11_PIN_FILE";
    let cases = [
        ((pin_file, &*wrong), "the PIN in keys.pkcs11_pin_file is wrong"),
        ((pin_file, &open), "is readable by others"),
        ((pin_file, "nowhere"), "there is no such file"),
        (
            ("PORTEIRO_KEYS__PKCS11_TOKEN", "another"),
            "no token named another; the module has porteiro",
        ),
        (("PORTEIRO_KEYS__PKCS11_MODULE", "Cargo.toml"), "the PKCS#11 module cannot be loaded"),
    ];
    for (variable, why) in cases {
        for command in ["serve", "doctor"] {
            let refused = scene.run_with(&[variable], &[command]);
            let told = format!("{}{}", String::from_utf8_lossy(&refused.stdout), said(&refused));
            assert!(told.contains(why), "{command} {variable:?}: {told}");
            let code = if command == "serve" { 78 } else { 1 };
            assert_eq!(refused.status.code(), Some(code), "{told}");
        }
    }
    // What an operator does on the worst day does not ask for the token.
    let away = [("PORTEIRO_KEYS__PKCS11_TOKEN", "another")];
    let listed = scene.run_with(&away, &["account", "list", "--json"]);
    assert!(listed.status.success(), "{}", said(&listed));
    assert!(!said(&listed).contains("token"), "{}", said(&listed));
    // One of the three settings needs the others.
    let alone = scene.installation.run(&["config"]);
    assert!(alone.status.success());
    let mut command = porteiro(scene.installation.path(), &["--config", "porteiro.toml", "serve"]);
    let refused = command.env("PORTEIRO_KEYS__PKCS11_TOKEN", "porteiro").output().unwrap();
    assert_eq!(refused.status.code(), Some(78));
    let why = "keys.pkcs11_module: is not set, and keys.pkcs11_token needs it";
    assert!(said(&refused).contains(why), "{}", said(&refused));
}

#[tokio::test]
async fn a_token_that_is_unplugged_spends_nothing_and_signs_again_when_it_is_back() {
    let Some(scene) = Scene::new().await else { return };
    scene.install();
    let (serving, server) = scene.serve();
    let operator = scene.installation.operator;
    let session = server.sign_in("ana@acme.test").await;
    let code = server.code(&session, "web", "openid").await;
    assert_eq!(get(operator, "/readyz").await.status, 200);
    let (here, away) =
        (scene.installation.path().join("tokens"), scene.installation.path().join("drawer"));
    std::fs::rename(&here, &away).unwrap();
    let refused = async || {
        let answer = server.ask("billing", &[("scope", "invoices:read")]).await;
        (answer.status.as_u16(), answer.json()["error"].clone())
    };
    eventually("the refusal", async || refused().await.0 == 503).await;
    assert_eq!(refused().await.1, "temporarily_unavailable");
    let ready = get(operator, "/readyz").await;
    assert_eq!(ready.text(), "the signing keys are out of reach\n");
    let early = server.redeem("web", &code).await;
    assert_eq!(early.status, 503, "{early:?}");
    // Keys are published all the same: what was signed before is verified.
    assert_eq!(server.get("/connect/jwks").await.status, 200);
    std::fs::rename(&away, &here).unwrap();
    serving.signal("-HUP");
    eventually("the token", async || get(operator, "/readyz").await.status == 200).await;
    let late = server.redeem("web", &code).await;
    assert_eq!(late.status, 200, "the code was not spent: {late:?}");
    verified(&server, text(&late.json()["id_token"])).await;
    serving.signal("-TERM");
    let (_, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    for told in ["the signing keys are out of reach", "the signing keys are in reach again"] {
        assert_eq!(log.iter().filter(|line| line.contains(told)).count(), 1, "{told}: {log:?}");
    }
    assert!(!log.iter().any(|line| line.contains(PIN)));
}
