//! Browsers in which a person signed in before, whatever way: an allowance of their own for wrong
//! passwords and codes, so that others who guess cannot keep the person out; and, where the operator wants
//! it, no question for the second factor for a while (adr/0056).
//!
//! The browser holds a sealed cookie that names the account and a drawn id. It is no factor and
//! proves nothing: it only says against which allowance an attempt is counted. It is void when the
//! password has changed since, or the person is in another epoch. Our own pages greet the person whom it names, and alerts
//! recognise the browser by it, in the same epoch (adr/0141).

use crate::{
    actors::HydrateError,
    crypto::draw_id,
    domain::{Timestamp, account, assurance::Level, person::Person},
    http::{
        app::App, extract::request_source::RequestSource, people::account_reading::AccountReading,
    },
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
    /// The id by which alerts recognise the browser, whichever person signs in. Older cookies have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    d: Option<String>,
    /// When the person signed in.
    t: Timestamp,
    /// The epoch of the person then. Older cookies do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    e: Option<u64>,
    /// When they last proved two factors here. A sign-in that was spared the question keeps it as it
    /// was: else a browser would be remembered for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    f: Option<TwoFactorProof>,
}

/// Two factors of a person, proved in this browser.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct TwoFactorProof {
    t: Timestamp,
    /// The epoch of the person: a recovery and a sign-out by an operator end what was remembered before.
    e: u64,
}

/// Returns the id by which alerts recognise this browser; a new one, where it has none.
pub fn device(app: &App, source: &RequestSource) -> String {
    let known = read(app, source).and_then(|statement| statement.d);
    known.unwrap_or_else(|| draw_id(&*app.dice))
}

/// Returns the cookie of a browser in which this person has just proved who they are.
pub async fn remember(app: &App, source: &RequestSource, person: &Person) -> HeaderValue {
    let device = device(app, source);
    remember_device(app, source, person, device).await
}

/// The same, under this id.
pub async fn remember_device(
    app: &App,
    source: &RequestSource,
    person: &Person,
    device: String,
) -> HeaderValue {
    let statement = Statement {
        a: person.account.clone(),
        b: draw_id(&*app.dice),
        d: Some(device),
        t: app.clock.now(),
        e: Some(person.epoch),
        f: both_proved(app, source, person).await,
    };
    let content = serde_json::to_vec(&statement).expect("plain data with text keys is JSON");
    let sealed = app.crypto.vault.now().seal(PURPOSE, &[], &content, &*app.dice);
    app.settings.cookies.keep_known_browser(&URL_SAFE_NO_PAD.encode(sealed), KNOWN_FOR)
}

/// Says when two factors were last proved in this browser, where the operator lets that count.
async fn both_proved(app: &App, source: &RequestSource, person: &Person) -> Option<TwoFactorProof> {
    app.settings.lifetimes.remember_device?;
    let now = app.clock.now();
    if person.evidence.level(now) >= Some(Level::Aal2) {
        // Where it cannot be read the browser is not remembered, and the person is asked again.
        let seen = AccountReading::of(app, &person.account).await.ok()?;
        return seen.epoch().map(|epoch| TwoFactorProof { t: now, e: epoch });
    }
    read(app, source).filter(|former| former.a == person.account)?.f
}

/// Returns the id under which attempts of this browser against this account are counted, if the person signed in here
/// since the password was set, in the epoch that they act in now: a recovery, a report and a sign-out by an operator
/// forget every browser.
pub async fn find(app: &App, source: &RequestSource, account: &account::Known) -> Option<String> {
    let statement = read(app, source)?;
    let since = account.credentials.password_since();
    // Where it cannot be read the browser is not known.
    let epoch = account.person_epoch(app.sign_outs().await.ok()?);
    // An older cookie is of the first epoch, if of any.
    let good = since.is_none_or(|since| statement.t >= since) && statement.e.unwrap_or(0) == epoch;
    (statement.a == account.id && good).then_some(statement.b)
}

/// Returns the id of the account that signed in here last. It names a person to themselves, in this
/// browser, and proves nothing.
pub fn account(app: &App, source: &RequestSource) -> Option<String> {
    read(app, source).map(|statement| statement.a)
}

/// Tells whether this person need not be asked for a second factor in this browser: two were proved
/// here not long ago, neither of them was changed since, the account was not recovered, and no operator has ended
/// their sessions.
pub async fn is_remembered(
    app: &App,
    source: &RequestSource,
    account: &str,
) -> Result<bool, HydrateError> {
    let Some(kept) = app.settings.lifetimes.remember_device else { return Ok(false) };
    let statement = read(app, source).filter(|statement| statement.a == account);
    let Some(proved) = statement.and_then(|statement| statement.f) else { return Ok(false) };
    let seen = AccountReading::of(app, account).await?;
    let Some(known) = seen.account.machine.known() else { return Ok(false) };
    let changed = [known.credentials.password_since(), known.credentials.totp_since()];
    let unchanged = changed.into_iter().flatten().all(|at| at <= proved.t);
    let is_recent = app.clock.now().since(proved.t) < kept;
    Ok(unchanged && is_recent && Some(proved.e) == seen.epoch())
}

/// Reads the cookie, if it is one of ours.
fn read(app: &App, source: &RequestSource) -> Option<Statement> {
    let cookie = source.known_browser.as_ref().filter(|cookie| cookie.len() <= LONGEST)?;
    let sealed = URL_SAFE_NO_PAD.decode(cookie.as_bytes()).ok()?;
    let content = app.crypto.vault.now().open(PURPOSE, &[], &sealed).ok()?;
    serde_json::from_slice(content.expose()).ok()
}
