//! Answers of browsers in ceremonies of passkeys.

use super::Outcome;
use crate::{
    crypto::passkeys::{Ceremony, PasskeyError, Passkeys, PresentedPasskey, Registrant},
    domain::{
        account::{Passkey, PasskeyUse},
        strict_json,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;
use std::sync::LazyLock;

pub(super) const ISSUER: &str = "https://id.example.com";
pub(super) const ACCOUNT: &str = "00010203-0405-4607-8809-0a0b0c0d0e0f";

pub(super) static PASSKEYS: LazyLock<Passkeys> =
    LazyLock::new(|| Passkeys::new(ISSUER, []).expect("an issuer with a name"));

static SIGN_IN: LazyLock<Ceremony> =
    LazyLock::new(|| PASSKEYS.begin_sign_in().expect("a ceremony"));

static REGISTRATION: LazyLock<Ceremony> = LazyLock::new(registration);

pub(super) fn registration() -> Ceremony {
    let registrant = Registrant { account: ACCOUNT, email: "ana@acme.example", display_name: "" };
    PASSKEYS.begin_registration(registrant, []).expect("a ceremony")
}

/// Lets a ceremony have begun with the challenge that an answer says it answers: else nothing behind that check is reached.
fn asking_for(ceremony: &Ceremony, answer: &Value) -> Value {
    let given = answer.pointer("/response/clientDataJSON").and_then(Value::as_str);
    let data = given.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok()).unwrap_or_default();
    let data = serde_json::from_slice::<Value>(&data).unwrap_or_default();
    let drawn = ceremony.options["publicKey"]["challenge"].as_str().unwrap_or_default();
    match data.get("challenge").and_then(Value::as_str) {
        Some(challenge) if URL_SAFE_NO_PAD.decode(challenge).is_ok() => {
            let state = ceremony.state.to_string().replace(drawn, challenge);
            serde_json::from_str(&state).unwrap_or_default()
        }
        _ => ceremony.state.clone(),
    }
}

/// Finishes a registration with an answer.
fn register(body: &Value) -> Result<Passkey, PasskeyError> {
    let answer = body.get("credential").unwrap_or(&Value::Null);
    let state = asking_for(&REGISTRATION, answer);
    PASSKEYS.finish_registration(&state, answer, "a key")
}

/// Finishes a sign-in with an answer; `passkey` beside it is what the account holds.
fn sign_in(body: &Value) -> Result<PasskeyUse, PasskeyError> {
    let answer = body.get("credential").unwrap_or(&Value::Null);
    let held = body.get("passkey").cloned();
    let held = held.and_then(|held| serde_json::from_value::<Passkey>(held).ok());
    let presented = PresentedPasskey::read(answer)?;
    PASSKEYS.finish_sign_in(&asking_for(&SIGN_IN, answer), &presented, &held)
}

/// An answer to either ceremony.
pub(super) fn answer(bytes: &[u8]) -> Outcome {
    let Ok(body) = strict_json::value(bytes) else { return Outcome::NO_TEXT };
    let registered = register(&body);
    if let Ok(passkey) = &registered {
        assert!(!passkey.attested, "no maker is believed here");
        PASSKEYS.worth(passkey);
    }
    let registered = registered.map(|_| ()).map_err(words);
    let signed_in = sign_in(&body).map(|_| ()).map_err(words);
    Outcome::of(&registered).and(Outcome::of(&signed_in))
}

/// Which refusal it is, by what tells them apart.
fn words(why: PasskeyError) -> String {
    match why {
        PasskeyError::Library(why) => format!("{why:?}"),
        PasskeyError::Malformed(why) => why.to_owned(),
        why => why.to_string(),
    }
}

#[cfg(test)]
pub(super) fn is_registered(bytes: &[u8]) -> bool {
    strict_json::value(bytes).is_ok_and(|body| register(&body).is_ok())
}

#[cfg(test)]
pub(super) fn is_signed_in(bytes: &[u8]) -> bool {
    strict_json::value(bytes).is_ok_and(|body| sign_in(&body).is_ok())
}
