//! An answer of a provider that came by a form (OAuth 2.0 Form Post Response Mode §2).
//!
//! A form of another site comes without our cookies (`SameSite=Lax`), so it is not known whose browser sends it. The
//! browser is sent on to a link with the same answer, sealed, to which the cookies come. No node keeps anything: the
//! link is good for a minute, at the address of its connection, and once, since the flow takes one answer.

use crate::{
    crypto::draw_id,
    domain::{
        Timestamp,
        upstream::{Callback, CallbackAnswer},
    },
    http::app::App,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use url::form_urlencoded;
use zeroize::Zeroizing;

const PURPOSE: &str = "posted answer";

/// The parameter of the link.
const PARAMETER: &str = "posted=";

/// How long the part is that the rest is sealed to.
const NAME: usize = 22;

/// Characters of a link: it must fit into an address.
const LONGEST: usize = 12_000;

const LIFETIME: Duration = Duration::from_mins(1);

#[derive(Serialize, Deserialize)]
struct PostedAnswer {
    #[serde(rename = "e")]
    expires_at: Timestamp,
    /// What is read of the form, as a query.
    #[serde(rename = "q")]
    query: Zeroizing<String>,
}

/// Returns the query of the link that brings the same answer, unless it is too long for one.
pub fn seal(app: &App, connection: &str, callback: &Callback) -> Option<String> {
    let expires_at = app.clock.now() + LIFETIME;
    let content = serde_json::to_vec(&PostedAnswer { expires_at, query: query(callback) });
    let content = Zeroizing::new(content.expect("plain data with text keys is JSON"));
    let name = draw_id(&*app.dice);
    let sealed_to = [&*name, connection].concat();
    let vault = app.crypto.vault.now();
    let sealed = vault.seal(PURPOSE, sealed_to.as_bytes(), &content, &*app.dice);
    let link = format!("{PARAMETER}{name}{}", URL_SAFE_NO_PAD.encode(sealed));
    (link.len() <= LONGEST).then_some(link)
}

/// Tells whether a query is that of such a link.
pub fn is_one(query: &str) -> bool {
    query.starts_with(PARAMETER)
}

/// Returns the answer of a link that is still good at this connection, as a query.
pub fn open(app: &App, connection: &str, query: &str) -> Option<Zeroizing<String>> {
    let text = query.strip_prefix(PARAMETER).filter(|_| query.len() <= LONGEST)?;
    let (name, sealed) = text.split_at_checked(NAME)?;
    let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
    let sealed_to = [name, connection].concat();
    let content = app.crypto.vault.now().open(PURPOSE, sealed_to.as_bytes(), &sealed).ok()?;
    let answer: PostedAnswer = serde_json::from_slice(content.expose()).ok()?;
    (app.clock.now() < answer.expires_at).then_some(answer.query)
}

/// Writes what was read of a form; the rest, which a provider may add without end, is left out.
fn query(callback: &Callback) -> Zeroizing<String> {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("state", callback.state());
    if let Some(iss) = callback.iss() {
        query.append_pair("iss", iss);
    }
    match callback.answer() {
        CallbackAnswer::Code(code) => {
            let code = std::str::from_utf8(code.expose()).unwrap_or_default();
            query.append_pair("code", code);
        }
        CallbackAnswer::Error(error) => {
            query.append_pair("error", &error.code);
            if let Some(description) = &error.description {
                query.append_pair("error_description", description);
            }
        }
    }
    Zeroizing::new(query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_of_a_form_reads_the_same_from_the_link() {
        for form in [
            "code=a%26b&state=s+t&iss=https%3A%2F%2Flogin.acme.test&session_state=x",
            "error=access_denied&error_description=No+%C3%A9&state=s",
        ] {
            let callback = Callback::read(form).unwrap();
            let again = Callback::read(&query(&callback)).unwrap();
            assert_eq!(again.state(), callback.state());
            assert_eq!(again.iss(), callback.iss());
            match (again.answer(), callback.answer()) {
                (CallbackAnswer::Code(one), CallbackAnswer::Code(other)) => {
                    assert_eq!(one.expose(), other.expose());
                }
                (CallbackAnswer::Error(one), CallbackAnswer::Error(other)) => {
                    assert_eq!(one, other);
                }
                _ => panic!("one has a code, the other an error"),
            }
        }
    }
}
