//! An authenticator application, and a person who enrols one.

use crate::{http::Answer, outside::Outside, person::text};
use porteiro::{crypto::decode_base32, domain::Timestamp};
use serde_json::{Value, json};

/// An application that was told a secret.
#[derive(Clone, Debug)]
pub struct Authenticator(Vec<u8>);

impl Authenticator {
    /// Takes a secret as a person types it.
    pub fn new(base32: &str) -> Self {
        Self(decode_base32(base32).unwrap().expose().to_vec())
    }

    /// The one that Dora was provisioned with.
    pub fn of_dora() -> Self {
        Self(b"12345678901234567890".to_vec())
    }

    /// The code that it shows now.
    pub fn code(&self, now: Timestamp) -> String {
        let secret = totp_rs::Secret::new(self.0.as_slice().into());
        let application = totp_rs::Builder::new().with_secret(secret).build_noncompliant();
        application.generate(now.seconds().cast_unsigned()).to_string()
    }
}

impl Outside {
    pub async fn begin_in(&self, session: &str, kind: &str) -> Answer {
        self.post_json("/flows", &json!({ "kind": kind }), &[("x-session-token", session)]).await
    }

    /// Takes a step in a session, as a program does.
    pub async fn step_in(&self, session: &str, flow: &Value, step: &str, body: Value) -> Answer {
        let path = format!("/flows/{}/{step}", text(&flow["id"]));
        self.post_json(&path, &body, &[("x-session-token", session)]).await
    }

    /// Enrols an application, and returns it with the flow's last document.
    pub async fn enrol_totp(&self, session: &str, now: Timestamp) -> (Authenticator, Value) {
        let flow = self.begin_in(session, "enroll_totp").await.json();
        let options = self.step_in(session, &flow, "totp/options", json!({})).await.json();
        let application = Authenticator::new(text(&options["secret"]));
        let code = json!({ "code": application.code(now) });
        let done = self.step_in(session, &flow, "totp", code).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
        (application, done.json())
    }

    /// Signs in as far as the second factor is asked for.
    pub async fn asks_second_factor(&self, email: &str) -> Value {
        let flow = self.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        let asked = self.prove(&flow, email).await;
        assert_eq!(asked.json()["state"], "second_factor", "{asked:?}");
        asked.json()
    }
}

/// The recovery codes that a document shows.
#[track_caller]
pub fn recovery_codes(document: &Value) -> Vec<String> {
    let codes = document["result"]["recovery_codes"].as_array();
    let codes = codes.unwrap_or_else(|| panic!("{document}"));
    codes.iter().map(|code| text(code).to_owned()).collect()
}
