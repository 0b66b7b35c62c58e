//! The parameters of a backchannel authentication request that no other request has (CIBA Core §7.1).

use crate::{
    domain::{account::normalise_email, client::KnownClient, is_hidden},
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::form::Form,
    },
};
use std::time::Duration;

/// Characters.
const LONGEST_MESSAGE: usize = 200;

/// CIBA Core §7.1: characters of a notification token.
const LONGEST_TOKEN: usize = 1_024;

const fn invalid(why: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidRequest, why)
}

/// What a request says beside what it asks for.
pub(super) struct Parameters {
    pub hint: Hint,
    pub binding_message: Option<String>,
    /// How long the request waits.
    pub lives: Duration,
    /// Of a client that is pinged.
    pub notification_token: Option<String>,
}

/// Who is meant.
pub(super) enum Hint {
    /// The person who has this address, normalised.
    Email(String),
    /// The account of this id.
    Account(String),
}

impl Parameters {
    pub(super) fn read(app: &App, client: &KnownClient, form: &Form) -> Result<Self, OAuthError> {
        Ok(Self {
            hint: hint(app, client, form)?,
            binding_message: message(form.get("binding_message"))?,
            lives: lives(form.get("requested_expiry"), app.settings.lifetimes.ciba)?,
            notification_token: if client.is_pinged() {
                Some(notification_token(form.get("client_notification_token"))?)
            } else {
                None
            },
        })
    }
}

fn hint(app: &App, client: &KnownClient, form: &Form) -> Result<Hint, OAuthError> {
    let given = ["login_hint", "login_hint_token", "id_token_hint"].map(|name| form.get(name));
    if given.iter().flatten().count() != 1 {
        return Err(invalid("there is exactly one of login_hint and id_token_hint"));
    }
    match given {
        [Some(email), ..] => {
            // What is not an address belongs to no account, and costs the same.
            let email = normalise_email(email).unwrap_or_else(|| email.to_lowercase());
            Ok(Hint::Email(email))
        }
        [_, Some(_), _] => Err(invalid("login_hint_token has no meaning here: use login_hint")),
        [.., Some(token)] => match app.subject_of_id_token(token, client) {
            Some(account) => Ok(Hint::Account(account)),
            None => Err(invalid("the id_token_hint is not one of ours for this client")),
        },
        [None, None, None] => Err(invalid("the person is not named")),
    }
}

/// What people read to compare must not say another thing than it shows.
fn message(given: Option<&str>) -> Result<Option<String>, OAuthError> {
    let Some(text) = given else { return Ok(None) };
    let printable = !text.trim().is_empty() && !text.chars().any(is_hidden);
    if !printable || text.chars().count() > LONGEST_MESSAGE {
        return Err(OAuthError::new(
            Code::InvalidBindingMessage,
            "the binding_message has 1 to 200 printable characters",
        ));
    }
    Ok(Some(text.to_owned()))
}

/// Within what the operator allows.
fn lives(given: Option<&str>, longest: Duration) -> Result<Duration, OAuthError> {
    let Some(text) = given else { return Ok(longest) };
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    // More than can be counted is as good as the longest.
    let seconds = digits.then(|| text.parse().unwrap_or(u64::MAX)).filter(|seconds| *seconds > 0);
    let seconds = seconds.ok_or(invalid("requested_expiry is a positive number of seconds"))?;
    Ok(longest.min(Duration::from_secs(seconds)))
}

/// It is sent back as a bearer token, so it has the form of one (RFC 6750 §2.1).
fn notification_token(given: Option<&str>) -> Result<String, OAuthError> {
    let missing = invalid("a client that is pinged sends a client_notification_token");
    let token = given.ok_or(missing)?;
    let body = token.trim_end_matches('=');
    let of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    if token.len() > LONGEST_TOKEN || body.is_empty() || !body.bytes().all(of_token) {
        let why = "the client_notification_token is no bearer token of at most 1024 characters";
        return Err(invalid(why));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_what_it_shows() {
        let longest = "é".repeat(200);
        for good in ["7", "Pagar 12,50 € a José", "株式会社 №7", longest.as_str()] {
            assert_eq!(message(Some(good)).unwrap().as_deref(), Some(good));
        }
        assert_eq!(message(None).unwrap(), None);
        let long = "é".repeat(201);
        let turned = "Pay 1\u{202e}000 EUR";
        for bad in [" ", "a\nb", "a\u{200b}b", turned, "\u{2066}x", "a\u{7f}", long.as_str()] {
            let refused = message(Some(bad)).unwrap_err();
            assert_eq!(refused.code, Code::InvalidBindingMessage, "{bad:?}");
        }
    }

    #[test]
    fn an_expiry_is_honoured_within_what_is_allowed() {
        let longest = Duration::from_mins(5);
        let lives = |text| lives(Some(text), longest).map(|lives| lives.as_secs()).ok();
        assert_eq!((lives("1"), lives("30"), lives("300")), (Some(1), Some(30), Some(300)));
        assert_eq!((lives("301"), lives("99999999999999999999999")), (Some(300), Some(300)));
        for bad in ["0", "-1", "1.5", "ten", "+5", " 5"] {
            assert_eq!(lives(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_notification_token_has_the_form_of_a_bearer_token() {
        let longest = "a".repeat(1_024);
        for good in ["abc", "a-._~+/b==", longest.as_str()] {
            assert_eq!(notification_token(Some(good)).unwrap(), good);
        }
        let long = "a".repeat(1_025);
        for bad in [None, Some("="), Some("a b"), Some("a\r\nb"), Some("é"), Some(&*long)] {
            assert!(notification_token(bad).is_err(), "{bad:?}");
        }
    }
}
