//! The offer of a passkey to a person who came by a password: made where their browser can make one,
//! and not again for a while after they did not want it. What follows from it is the flow's to decide
//! (adr/0073).

use crate::http::{
    app::App,
    extract::{cookies::cookie, form::Form},
    flows::Document,
};
use axum::http::{HeaderMap, HeaderValue};

/// For how long a person is not asked again.
const REST: u64 = 30 * 24 * 60 * 60;

/// Tells whether a passkey may be offered: the script of the page says that one can be made here, and
/// the person has not declined lately.
pub fn is_due(app: &App, headers: &HeaderMap, form: &Form) -> bool {
    form.get("passkeys") == Some("yes") && cookie(headers, app.settings.cookies.offered).is_none()
}

/// Has the browser keep that the person does not want one now.
pub fn declined(app: &App, step: &str, document: &Document) -> Option<HeaderValue> {
    let declined = step == "skip" && document.kind == "sign_in";
    declined.then(|| app.settings.cookies.keep(app.settings.cookies.offered, "declined", REST))
}
