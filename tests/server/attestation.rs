//! Passkeys whose hardware is attested by its maker, and what only looks like it.

use crate::{
    binary::Installation,
    me::get_in,
    outside::Outside,
    passkey_device::{Device, altered},
    passkeys::{ANA, kept},
    person::{claims, parameter, redirect, text},
    security_key::{MODEL, Maker, SecurityKey, Statement},
    support::{ACME, TestOptions, TestServer},
};
use porteiro::{
    crypto::passkeys::{AttestationPolicy, Ceremony, Passkeys, Registrant},
    domain::{account::Passkey, assurance::Worth},
};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

const ISSUER: &str = "https://id.example.com";
const WHO: Registrant<'static> =
    Registrant { account: "7f2c1ab4-51f7-4b6e-9d0c-0a5d3a1b2c3d", email: ANA, display_name: "Ana" };

fn believing(roots: &[&Maker], models: &[[u8; 16]]) -> AttestationPolicy {
    let pem: String = roots.iter().map(|maker| maker.root.as_str()).collect();
    let models = models.iter().copied().map(Uuid::from_bytes).collect();
    AttestationPolicy::read(pem.as_bytes(), models).unwrap()
}

fn passkeys(policy: Option<AttestationPolicy>) -> Passkeys {
    Passkeys::new(ISSUER, []).unwrap().believing(policy)
}

/// Registers the passkey of a key; `None` where it is refused.
fn register(passkeys: &Passkeys, key: &mut SecurityKey<'_>) -> Option<Passkey> {
    let Ceremony { options, state } = passkeys.begin_registration(WHO, []).unwrap();
    passkeys.finish_registration(&state, &key.create(&options), "Key").ok()
}

async fn open(maker: &Maker) -> TestServer {
    let attestation = Some(believing(&[maker], &[]));
    TestServer::open_in(TestOptions { attestation, ..TestOptions::default() }).await
}

impl Outside {
    /// Adds the passkey of a security key in a session.
    async fn add_security_key(&self, session: &str, key: &mut SecurityKey<'_>) -> Value {
        let flow = self.begin("enroll_passkey", &[("x-session-token", session)]).await.json();
        let options = self.step(&flow, "passkey/create_options", json!({})).await.json();
        assert_eq!(options["publicKey"]["attestation"], "direct");
        let made = key.create(&options);
        let done = self.step(&flow, "passkey/create", json!({ "credential": made })).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
        done.json()
    }

    async fn sign_in_by_key(&self, key: &mut SecurityKey<'_>) -> Value {
        let (flow, options) = self.passkey_options().await;
        let done = self.present(&flow, key.get(&options)).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
        done.json()
    }
}

#[test]
fn attestation_is_asked_for_where_a_maker_is_believed_and_nowhere_else() {
    let maker = Maker::new("Acme Keys");
    for (policy, asked) in [(None, "none"), (Some(believing(&[&maker], &[])), "direct")] {
        let passkeys = passkeys(policy);
        let Ceremony { options, .. } = passkeys.begin_registration(WHO, []).unwrap();
        assert_eq!(options["publicKey"]["attestation"], asked);
        let made = register(&passkeys, &mut SecurityKey::new(ISSUER, &maker)).unwrap();
        assert_eq!(made.attested, asked == "direct");
    }
}

#[test]
fn nothing_but_the_word_of_a_maker_who_is_believed_attests() {
    let (maker, other) = (Maker::new("Acme Keys"), Maker::new("Other Keys"));
    // Of the same name, and with another key.
    let (impostor, stranger) = (Maker::new("Acme Keys"), Maker::new("Any Keys"));
    let passkeys = passkeys(Some(believing(&[&other, &maker], &[MODEL])));
    let key = || SecurityKey::new(ISSUER, &maker);
    assert!(register(&passkeys, &mut key()).unwrap().attested, "the honest one");
    let hostile = [
        ("a maker of the same name", SecurityKey::new(ISSUER, &impostor)),
        ("a maker who is not believed", SecurityKey::new(ISSUER, &stranger)),
        ("no word", key().saying(Statement::None)),
        ("its own word", key().saying(Statement::OwnWord)),
        ("a passkey that may be copied", key().copyable()),
    ];
    for (what, mut key) in hostile {
        let made = register(&passkeys, &mut key).unwrap_or_else(|| panic!("{what}: refused"));
        assert!(!made.attested, "{what}");
        assert_ne!(passkeys.worth(&made), Worth::ATTESTED_PASSKEY, "{what}");
        // What was written down of it does not make it more.
        let lied = Passkey { attested: true, ..made };
        assert_ne!(passkeys.worth(&lied), Worth::ATTESTED_PASSKEY, "{what}");
    }
    // The certificate is of another model than the key says it is.
    assert!(register(&passkeys, &mut key().of_model([7; 16])).is_none());
}

#[test]
fn a_model_that_is_not_named_does_not_count_where_models_are() {
    let maker = Maker::new("Acme Keys");
    for (models, attested) in [(&[][..], true), (&[MODEL], true), (&[[7; 16]], false)] {
        let passkeys = passkeys(Some(believing(&[&maker], models)));
        let made = register(&passkeys, &mut SecurityKey::new(ISSUER, &maker)).unwrap();
        assert_eq!(made.attested, attested, "{models:?}");
    }
}

#[test]
fn the_word_for_another_passkey_is_refused() {
    let maker = Maker::new("Acme Keys");
    let passkeys = passkeys(Some(believing(&[&maker], &[])));
    let Ceremony { options, state } = passkeys.begin_registration(WHO, []).unwrap();
    let honest = SecurityKey::new(ISSUER, &maker).create(&options);
    let made = SecurityKey::new(ISSUER, &maker).saying(Statement::None).create(&options);
    // The statement of the honest key, over the data of the other.
    let object = |answer: &Value| {
        let text = answer["response"]["attestationObject"].as_str().unwrap();
        base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, text).unwrap()
    };
    let (honest_object, soft_object) = (object(&honest), object(&made));
    let find = |object: &[u8]| object.windows(8).position(|part| part == b"authData").unwrap();
    let mixed =
        [&honest_object[..find(&honest_object)], &soft_object[find(&soft_object)..]].concat();
    let stolen = altered(&made, "/response/attestationObject", |bytes| *bytes = mixed.clone());
    assert!(passkeys.finish_registration(&state, &stolen, "Key").is_err());
    // In another ceremony the honest answer is nothing either.
    let Ceremony { state, .. } = passkeys.begin_registration(WHO, []).unwrap();
    assert!(passkeys.finish_registration(&state, &honest, "Key").is_err());
}

#[test]
fn a_maker_who_is_not_believed_any_more_counts_for_nothing_at_the_next_use() {
    let (maker, other) = (Maker::new("Acme Keys"), Maker::new("Other Keys"));
    let made =
        register(&passkeys(Some(believing(&[&maker], &[]))), &mut SecurityKey::new(ISSUER, &maker))
            .unwrap();
    for (policy, worth) in [
        (Some(believing(&[&maker], &[])), Worth::ATTESTED_PASSKEY),
        (Some(believing(&[&other, &maker], &[MODEL])), Worth::ATTESTED_PASSKEY),
        (None, Worth::DEVICE_PASSKEY),
        (Some(believing(&[&other], &[])), Worth::DEVICE_PASSKEY),
        (Some(believing(&[&maker], &[[7; 16]])), Worth::DEVICE_PASSKEY),
    ] {
        assert_eq!(passkeys(policy).worth(&made), worth);
    }
}

#[tokio::test]
async fn a_key_that_its_maker_attests_is_the_highest_level_until_it_lapses() {
    let maker = Maker::new("Acme Keys");
    let server = open(&maker).await;
    let mut key = SecurityKey::new(server.issuer(), &maker);
    let session = server.sign_in(ANA).await;
    server.add_security_key(&session, &mut key).await;
    assert!(kept(&server, ANA).await[0].attested);
    let done = server.sign_in_by_key(&mut key).await;
    assert_eq!(done["assurance"]["reached"], "aal3");
    let session = text(&done["result"]["session_token"]).to_owned();
    for wish in ["aal3", "phrh", "phr", "aal2"] {
        let answer = server.authorize_in(&session, "web", &[("acr_values", wish)]).await;
        let code = parameter(&redirect(&answer), "code").unwrap_or_else(|| panic!("{answer:?}"));
        let id = claims(&server.redeem("web", &code).await.json()["id_token"]);
        assert_eq!((text(&id["acr"]), &id["amr"]), ("aal3", &json!(["hwk", "mfa"])), "{wish}");
    }
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    let supported = json!(["aal1", "aal2", "aal3", "phr", "phrh"]);
    assert_eq!(metadata["acr_values_supported"], supported);
    server.clock.advance(Duration::from_mins(16));
    let me = get_in(&server, &session, "/me").await.json();
    assert_eq!(me["assurance"]["reached"], "aal2", "a quarter of an hour without use");
    let asked = server.authorize_in(&session, "web", &[("acr_values", "aal3")]).await.json();
    assert_eq!((text(&asked["kind"]), text(&asked["state"])), ("step_up", "credential"));
    assert_eq!(asked["assurance"]["required"], "aal3");
    let options = server.step_in(&session, &asked, "passkey/options", json!({})).await.json();
    let answer = json!({ "credential": key.get(&options) });
    let done = server.step_in(&session, &asked, "passkey", answer).await;
    assert_eq!(done.json()["assurance"]["reached"], "aal3", "{done:?}");
    assert!(parameter(&redirect(&done), "code").is_some());
    server.stop().await;
}

#[tokio::test]
async fn what_does_not_attest_is_a_passkey_like_any_other() {
    let (maker, other) = (Maker::new("Acme Keys"), Maker::new("Other Keys"));
    let server = open(&maker).await;
    let session = server.sign_in(ANA).await;
    let mut device = Device::new(server.issuer());
    server.add_passkey(&session, &mut device).await;
    let session = token_of(&server.sign_in_by_passkey(&mut device).await);
    let mut foreign = SecurityKey::new(server.issuer(), &other);
    server.add_security_key(&session, &mut foreign).await;
    let kept = kept(&server, ANA).await;
    assert!(kept.len() == 2 && kept.iter().all(|passkey| !passkey.attested));
    let done = server.sign_in_by_key(&mut foreign).await;
    assert_eq!(done["assurance"]["reached"], "aal2");
    let session = token_of(&done);
    for wish in ["aal3", "phrh"] {
        let answer = server.authorize_in(&session, "web", &[("acr_values", wish)]).await;
        let code = parameter(&redirect(&answer), "code").expect("it is a wish");
        let id = claims(&server.redeem("web", &code).await.json()["id_token"]);
        assert_eq!((text(&id["acr"]), &id["amr"]), ("aal2", &json!(["hwk", "mfa"])), "{wish}");
    }
    server.stop().await;
}

fn token_of(done: &Value) -> String {
    text(&done["result"]["session_token"]).to_owned()
}

#[tokio::test]
async fn certificates_that_cannot_be_used_keep_the_server_from_starting() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let roots = installation.path().join("roots.pem");
    let file = format!("[passkeys]\nattestation = \"file://{}\"\n", roots.display());
    installation.configure(&file);
    let maker = Maker::new("Acme Keys");
    let leaf = rcgen::generate_simple_self_signed(["keys.test".to_owned()]).unwrap().cert.pem();
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (content, why) in [
        (None, "roots.pem: there is no such file"),
        (Some(String::new()), "roots.pem: holds no certificate in PEM"),
        (Some(format!("{}{broken}", maker.root)), "certificate 2 cannot be read"),
        (Some(format!("{}{leaf}", maker.root)), "certificate 2 is not one of an authority"),
    ] {
        if let Some(content) = content {
            std::fs::write(&roots, content).unwrap();
        }
        let refused = installation.run(&["serve"]);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(78), "{why}: {said}");
        assert!(said.contains("passkeys.attestation: ") && said.contains(why), "{why}: {said}");
        let looked = String::from_utf8(installation.run(&["doctor"]).stdout).unwrap();
        let found =
            looked.lines().any(|line| line.starts_with("mend  passkeys") && line.contains(why));
        assert!(found, "{why}: {looked}");
    }
    std::fs::write(&roots, &maker.root).unwrap();
    installation.configure(&format!("{file}attestation_aaguids = [\"no model\"]\n"));
    let refused = installation.run(&["serve"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(78) && said.contains("passkeys.attestation_aaguids"));
    let model = Uuid::from_bytes(MODEL);
    installation.configure(&format!("{file}attestation_aaguids = [\"{model}\"]\n"));
    let looked = String::from_utf8(installation.run(&["doctor"]).stdout).unwrap();
    assert!(looked.lines().any(|line| line.starts_with("ok    passkeys")), "{looked}");
    let serving = installation.serve();
    serving.signal("-TERM");
    let (code, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(0), "{log:?}");
}
