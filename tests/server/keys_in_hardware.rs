//! Signing keys in a token that speaks PKCS#11: `SoftHSM` of Debian, by the binary that an operator runs.
//!
//! Where it is missing the tests say so and pass; `PORTEIRO_TEST_REQUIRE_PROGRAMS=1` makes that a failure.

use crate::{
    binary::{Installation, Serving, porteiro, said},
    http::get,
    outside::Outside,
    person::text,
    programs::there_are,
    shared::eventually,
    support::{ACME, SECRET},
};
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use serde_json::Value;
use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const PIN: &str = "7410-pin-of-the-user";

/// An installation whose signing keys lie in a token.
struct Scene {
    installation: Installation,
    variables: Vec<(&'static str, String)>,
}

impl Scene {
    /// Makes an empty token, if there is what makes one.
    async fn new() -> Option<Self> {
        if !there_are(&["softhsm2-util"]) {
            return None;
        }
        let installation = Installation::new().await;
        let path = |name: &str| installation.path().join(name);
        std::fs::create_dir(path("tokens")).unwrap();
        let folder = path("tokens").display().to_string();
        let settings = format!("directories.tokendir = {folder}\nlog.level = ERROR\n");
        std::fs::write(path("softhsm2.conf"), settings).unwrap();
        write_pin(&path("pin"), PIN);
        let text = |path: PathBuf| path.display().to_string();
        let variables = vec![
            ("SOFTHSM2_CONF", text(path("softhsm2.conf"))),
            ("PORTEIRO_KEYS__DIR", text(path("hardware"))),
            ("PORTEIRO_KEYS__PKCS11_MODULE", "/usr/lib/softhsm/libsofthsm2.so".to_owned()),
            ("PORTEIRO_KEYS__PKCS11_TOKEN", "porteiro".to_owned()),
            ("PORTEIRO_KEYS__PKCS11_PIN_FILE", text(path("pin"))),
        ];
        let scene = Self { installation, variables };
        let made = Command::new("softhsm2-util")
            .args(["--init-token", "--free", "--label", "porteiro"])
            .args(["--pin", PIN, "--so-pin", "of-the-officer"])
            .envs(scene.variables.iter().cloned())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", said(&made));
        Some(scene)
    }

    fn run_with(&self, more: &[(&str, &str)], arguments: &[&str]) -> Output {
        let arguments = [&["--config", "porteiro.toml"], arguments].concat();
        let mut command = porteiro(self.installation.path(), &arguments);
        command.envs(self.variables.iter().cloned()).envs(more.iter().copied());
        let output = command.output().unwrap();
        let all = [output.stdout.clone(), output.stderr.clone()].concat();
        assert!(!String::from_utf8_lossy(&all).contains(PIN), "{arguments:?} tells the PIN");
        output
    }

    #[track_caller]
    fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run_with(&[], arguments);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {told}{}", said(&output));
        told
    }

    /// Makes the keys and knows Acme.
    fn install(&self) -> String {
        let made = self.succeed(&["keys", "generate"]);
        std::fs::write(self.installation.path().join("file.toml"), acme()).unwrap();
        self.succeed(&["apply", "file.toml"]);
        made
    }

    fn serve(&self) -> (Serving, Outside) {
        let variables: Vec<(&str, &str)> =
            self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let serving = self.installation.serve_with(&variables);
        (serving, Outside { address: self.installation.address })
    }

    fn keys(&self) -> Vec<Value> {
        let listed = self.succeed(&["keys", "list", "--json"]);
        listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn write_pin(path: &Path, pin: &str) {
    std::fs::write(path, format!("{pin}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Acme, and a client for each algorithm that ID tokens are signed with.
fn acme() -> String {
    let client = |(id, algorithm): (&str, &str)| {
        format!(
            "[[client]]\nclient_id = \"{id}\"\nclient_secret = \"{SECRET}\"\ntrusted = true\n\
             redirect_uris = [\"https://{id}.example.com/cb\"]\n\
             id_token_signed_response_alg = \"{algorithm}\"\n"
        )
    };
    let clients = [("ps", "PS256"), ("es", "ES256"), ("ed", "EdDSA")].map(client);
    format!("{ACME}\n{}", clients.concat())
}

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
    // What an operator does on the worst day does not wait for the token.
    let away = [("PORTEIRO_KEYS__PKCS11_TOKEN", "another")];
    let listed = scene.run_with(&away, &["account", "list", "--json"]);
    assert!(listed.status.success(), "{}", said(&listed));
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
