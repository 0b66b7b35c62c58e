//! What a flow has come to at the callback of a provider, for the page of the flow that the browser opens next (adr/0138).
//!
//! The callback is a redirect, so it cannot show the code that a client waits for. The browser carries it to the page,
//! sealed to the flow, in a cookie that the page has it forget.

use super::{document::Document, parts::Outcome};
use crate::{
    domain::{
        Timestamp,
        flow::{Flow, Seed},
    },
    http::{
        app::App, authorization::response::AuthorizationResponse,
        extract::request_source::RequestSource,
    },
};
use axum::http::HeaderValue;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

const PURPOSE: &str = "callback result";

/// No cookie of ours is longer.
const LONGEST: usize = 2_048;

#[derive(Serialize, Deserialize)]
struct CallbackResult {
    #[serde(rename = "e")]
    expires_at: Timestamp,
    /// Where a client waits for one.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    code: Option<Zeroizing<String>>,
}

/// Has the browser carry what a flow has come to, if it is over.
pub fn carry(app: &App, name: &str, document: &Document) -> Option<HeaderValue> {
    if !["done", "failed"].contains(&document.state) {
        return None;
    }
    let lifetime = app.settings.lifetimes.authorization_code;
    let result = CallbackResult {
        expires_at: app.clock.now() + lifetime,
        code: document.result.as_ref().and_then(|result| result.code.clone()),
    };
    let text = serde_json::to_vec(&result).expect("plain data with text keys is JSON");
    let text = Zeroizing::new(text);
    let sealed = app.crypto.vault.now().seal(PURPOSE, name.as_bytes(), &text, &*app.dice);
    let cookies = app.settings.cookies;
    Some(cookies.keep(cookies.callback, &URL_SAFE_NO_PAD.encode(sealed), lifetime.as_secs()))
}

/// Has the browser forget it.
pub fn forget(app: &App) -> HeaderValue {
    app.settings.cookies.keep(app.settings.cookies.callback, "", 0)
}

impl Document {
    /// Shows what the flow has come to at a callback, to the browser that carries it.
    pub(super) fn with_callback_result(
        mut self,
        app: &App,
        (name, seed, flow): (&str, &Seed, &Flow),
        source: &RequestSource,
    ) -> Self {
        let Some(carried) = open(app, name, source) else { return self };
        let Flow::Over(over) = flow else { return self };
        self.is_from_callback = true;
        let granted = over.finished.as_ref().is_some_and(|finished| finished.granted);
        if let (Some(request), Some(code)) =
            (seed.request.as_ref().filter(|_| granted), carried.code)
            && let Ok(to) = AuthorizationResponse::code(app, &request.reply_to, &code)
        {
            let redirect_to = Some(to.address(app));
            self.result = Some(Outcome { redirect_to, ..Outcome::default() });
        }
        self
    }
}

fn open(app: &App, name: &str, source: &RequestSource) -> Option<CallbackResult> {
    let text = source.callback.as_ref().filter(|text| text.len() <= LONGEST)?;
    let sealed = URL_SAFE_NO_PAD.decode(text.as_str()).ok()?;
    let text = app.crypto.vault.now().open(PURPOSE, name.as_bytes(), &sealed).ok()?;
    let result: CallbackResult = serde_json::from_slice(text.expose()).ok()?;
    (app.clock.now() < result.expires_at).then_some(result)
}
