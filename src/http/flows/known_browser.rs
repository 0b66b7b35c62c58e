//! Browsers in which a person signed in before: an allowance of their own for wrong passwords, so
//! that others who guess cannot keep the person out.
//!
//! The browser holds a sealed cookie that names the account and a drawn id. It is no factor and
//! proves nothing: it only says against which allowance an attempt is counted. It is void when the
//! password has changed since.

use crate::{
    crypto::draw_id,
    domain::{Timestamp, account, grant::Person},
    http::{app::App, extract::request_source::RequestSource},
};
use axum::http::HeaderValue;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

/// What the cookie is sealed for.
const PURPOSE: &str = "known browser";

/// How long a browser is known: about as long as people leave a product and come back.
const KNOWN_FOR: u64 = 180 * 24 * 60 * 60;

/// No cookie of ours is longer.
const LONGEST: usize = 512;

#[derive(Serialize, Deserialize)]
struct Statement {
    /// The id of the account.
    a: String,
    /// The id under which attempts are counted.
    b: String,
    /// When the person signed in.
    t: Timestamp,
}

/// Returns the cookie of a browser in which this person has just signed in.
pub fn remember(app: &App, person: &Person) -> HeaderValue {
    let statement =
        Statement { a: person.account.clone(), b: draw_id(&*app.dice), t: app.clock.now() };
    let content = serde_json::to_vec(&statement).expect("plain data with text keys is JSON");
    let sealed = app.vault.now().seal(PURPOSE, &[], &content, &*app.dice);
    app.cookies.keep_known_browser(&URL_SAFE_NO_PAD.encode(sealed), KNOWN_FOR)
}

/// Returns the id under which attempts of this browser against this account are counted, if the
/// person signed in here since the password was set.
pub fn find(app: &App, source: &RequestSource, account: &account::Known) -> Option<String> {
    let cookie = source.known_browser.as_ref().filter(|cookie| cookie.len() <= LONGEST)?;
    let sealed = URL_SAFE_NO_PAD.decode(cookie.as_bytes()).ok()?;
    let content = app.vault.now().open(PURPOSE, &[], &sealed).ok()?;
    let statement: Statement = serde_json::from_slice(content.expose()).ok()?;
    let since = account.credentials.password_since()?;
    (statement.a == account.id && statement.t >= since).then_some(statement.b)
}
