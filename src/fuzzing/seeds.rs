//! Inputs that only a key can make: they are in the corpus, and get as far as a genuine one does.
//!
//! To write them anew: `PORTEIRO_WRITE_CORPUS=1 cargo nextest run --lib fuzzing::seeds`.

use super::{
    TARGETS, passkeys,
    signed::{API_KEY, FLOW_IDS, OPAQUE_TOKENS},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::PathBuf};

#[path = "../../tests/shared/passkey_device.rs"]
#[expect(dead_code, reason = "an honest device is enough here")]
mod passkey_device;

fn path(target: &str, name: &str) -> PathBuf {
    assert!(TARGETS.iter().any(|one| one.name == target));
    ["fuzz/corpus", target, name].iter().collect()
}

/// What is the same each time.
fn sealed() -> BTreeMap<PathBuf, String> {
    let ids = FLOW_IDS.iter().zip(["over", "begun"]);
    let ids = ids.map(|(id, name)| (path("flow_ids", name), id.clone()));
    let tokens = OPAQUE_TOKENS.iter().enumerate();
    let tokens = tokens.map(|(at, token)| (path("opaque_tokens", &at.to_string()), token.clone()));
    ids.chain(tokens).chain([(path("api_keys", "ours"), API_KEY.clone())]).collect()
}

/// The answers of a device, and the passkey that it has made.
async fn answers() -> [Value; 2] {
    let mut device = passkey_device::Device::counting(passkeys::ISSUER);
    let registration = passkeys::registration();
    let created = device.create(&registration.options).await;
    let passkey = passkeys::PASSKEYS.finish_registration(&registration.state, &created, "key");
    let sign_in = passkeys::PASSKEYS.begin_sign_in().unwrap();
    let got = device.get(&sign_in.options).await;
    [json!({ "credential": created }), json!({ "credential": got, "passkey": passkey.unwrap() })]
}

#[tokio::test]
async fn what_only_a_key_can_make_is_in_the_corpus() {
    let writes = std::env::var_os("PORTEIRO_WRITE_CORPUS").is_some();
    for (path, text) in sealed() {
        if writes {
            fs::write(&path, &text).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{}", path.display());
    }
    let files = ["created", "used"].map(|name| path("passkey_answers", name));
    if writes {
        for (file, answer) in files.iter().zip(answers().await) {
            fs::write(file, answer.to_string()).unwrap();
        }
    }
    let [created, used] = files.map(|file| fs::read(file).unwrap());
    assert!(passkeys::is_registered(&created) && !passkeys::is_signed_in(&created));
    assert!(passkeys::is_signed_in(&used) && !passkeys::is_registered(&used));
}
