//! What of a message may be shown: names of secrets, and never their values.

use crate::domain::strict_json;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};
use url::Url;
use zeroize::Zeroizing;

pub(super) const MASKED: &str = "[masked]";

/// Parameters of a request that are no secrets; every other one is masked.
const SHOWN_PARAMETERS: [&str; 4] =
    ["grant_type", "redirect_uri", "client_id", "client_assertion_type"];

/// Members of a token answer that are no secrets; every other one is masked.
const SHOWN_MEMBERS: [&str; 6] =
    ["token_type", "expires_in", "scope", "error", "error_description", "error_uri"];

/// A text that is shorter is found in any other by chance.
const SHORTEST_SECRET: usize = 8;

/// Writes the parameters of a request to the token endpoint.
pub(super) fn form(parameters: &[(&'static str, String)]) -> String {
    let shown = |(name, value): &(&'static str, String)| {
        let value = if SHOWN_PARAMETERS.contains(name) { value } else { MASKED };
        format!("{name}={value}")
    };
    parameters.iter().map(shown).collect::<Vec<_>>().join("&")
}

/// Writes an address; the values of `secret` parameters are masked.
pub(super) fn query(url: &Url, secret: &[&str]) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let pairs: Vec<(&str, &str)> = pairs
        .iter()
        .map(|(name, value)| {
            let is_secret = secret.contains(&name.as_str());
            (name.as_str(), if is_secret { MASKED } else { value.as_str() })
        })
        .collect();
    format!("{shown}?{}", joined(&pairs))
}

/// Writes parameters as people read them.
pub(super) fn joined(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// Writes the answer of a token endpoint: tokens are masked, an ID token is taken apart.
pub(super) fn token_answer(body: &[u8]) -> String {
    let Ok(members) = strict_json::object(body) else {
        return format!("[{} bytes that are not a JSON object]", body.len());
    };
    let shown = members.into_iter().map(|(name, value)| {
        let value = match value {
            Value::String(token) if name == "id_token" => token_parts(&token),
            value if SHOWN_MEMBERS.contains(&name.as_str()) && !value.is_object() => value,
            _ => MASKED.into(),
        };
        (name, value)
    });
    Value::Object(shown.collect()).to_string()
}

/// Shows a token by its header and its claims: without the signature it is of no use.
pub(super) fn token_parts(token: &str) -> Value {
    let mut parts = token.split('.').map(|part| {
        let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
        strict_json::object(&bytes).ok()
    });
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(header), Some(mut claims)) => {
            mask_member(&mut claims, "nonce");
            json!({ "header": header, "claims": claims })
        }
        _ => MASKED.into(),
    }
}

fn mask_member(members: &mut Map<String, Value>, name: &str) {
    if let Some(value) = members.get_mut(name) {
        *value = MASKED.into();
    }
}

/// Masks texts wherever they stand, as where an error repeats the code that it is about.
pub(super) fn hide(text: &str, secrets: &[&str]) -> String {
    let long = secrets.iter().filter(|secret| secret.len() >= SHORTEST_SECRET);
    long.fold(text.to_owned(), |text, secret| {
        let text = text.replace(*secret, MASKED);
        // As JSON has it; the quotes around it are no part of it.
        let quoted = Zeroizing::new(Value::from(*secret).to_string());
        match &quoted[1..quoted.len() - 1] {
            same if same == *secret => text,
            escaped => text.replace(escaped, MASKED),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_shows_what_is_no_secret() {
        let parameters = [
            ("grant_type", "authorization_code"),
            ("code", "verysecret"),
            ("client_id", "porteiro"),
            ("client_secret", "verysecret"),
            ("client_assertion", "verysecret"),
            ("code_verifier", "verysecret"),
        ];
        let shown = form(&parameters.map(|(name, value)| (name, value.to_owned())));
        assert!(!shown.contains("verysecret"));
        assert!(
            shown.starts_with("grant_type=authorization_code&code=[masked]&client_id=porteiro")
        );
    }

    #[test]
    fn an_address_shows_everything_but_what_binds_it() {
        let url =
            Url::parse("https://a.test/authorize?p=1&state=verysecret&nonce=verysecret").unwrap();
        let shown = query(&url, &["state", "nonce"]);
        assert_eq!(shown, "https://a.test/authorize?p=1&state=[masked]&nonce=[masked]");
    }

    #[test]
    fn of_a_token_answer_only_what_is_known_to_be_harmless_is_shown() {
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = part(json!({ "alg": "ES256", "kid": "k1" }));
        let claims = part(json!({ "sub": "ana", "nonce": "verysecret" }));
        let answer = json!({
            "access_token": "verysecret", "refresh_token": "verysecret", "token_type": "Bearer",
            "expires_in": 300, "id_token": format!("{header}.{claims}.verysecret"),
            "foo": "verysecret", "scope": { "a": "verysecret" },
        });
        let shown = token_answer(answer.to_string().as_bytes());
        assert!(!shown.contains("verysecret"), "{shown}");
        let read: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read["id_token"]["header"], json!({ "alg": "ES256", "kid": "k1" }));
        assert_eq!(read["id_token"]["claims"], json!({ "sub": "ana", "nonce": MASKED }));
        assert_eq!((&read["token_type"], &read["expires_in"]), (&json!("Bearer"), &json!(300)));
        for odd in ["", "verysecret", "a.b.c", "..", "e30.verysecret"] {
            assert_eq!(token_parts(odd), json!(MASKED), "{odd}");
        }
        assert_eq!(token_answer(b"<html>verysecret"), "[16 bytes that are not a JSON object]");
    }

    #[test]
    fn a_secret_that_an_error_repeats_is_hidden() {
        let hidden = hide("code abcdefgh is unknown, a", &["abcdefgh", "a", ""]);
        assert_eq!(hidden, "code [masked] is unknown, a");
        let odd = "se\"cret\\of\nmany";
        let shown = json!({ "error_description": format!("{odd} is wrong") }).to_string();
        assert_eq!(hide(&shown, &[odd]), r#"{"error_description":"[masked] is wrong"}"#);
    }
}
