//! A person who comes back: the browser says, sealed, which account signed in here last. What is shown
//! of it depends on that cookie alone, and never on what was typed.

use super::initials;
use crate::{
    domain::account::{Known, normalise_email},
    http::{
        app::App,
        extract::request_source::RequestSource,
        flows::{Document, known_account},
    },
    wording::quotable,
};
use serde_json::Value;

/// Who signed in here last.
pub struct ReturningPerson {
    pub name: String,
    pub email: String,
    pub initials: String,
    pub has_passkey: bool,
    pub has_password: bool,
}

impl ReturningPerson {
    /// Finds who signed in here last, where the flow asks who the person is.
    pub async fn of(app: &App, source: &RequestSource, document: &Document) -> Option<Self> {
        let asks = document.state == "identify"
            && ["sign_in", "device", "approval"].contains(&&*document.kind)
            && document.identifier.is_none();
        let account = known_account(app, source).filter(|_| asks)?;
        // Without it the page asks as it asks everyone.
        let seen = app.views.accounts.peek(&account).await.ok()?;
        let known = seen.machine.known()?;
        // A client that thinks of another person may be right.
        let hint = document.login_hint.as_deref();
        let other =
            hint.is_some_and(|hint| normalise_email(hint) != Some(known.normalised_email()));
        (!other).then(|| Self::from(known))
    }
}

impl From<&Known> for ReturningPerson {
    fn from(known: &Known) -> Self {
        let claim = |name| known.claim(name).as_ref().and_then(Value::as_str).map(quotable);
        let named = ["given_name", "name", "nickname"].into_iter().find_map(claim);
        let name = named.filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| known.email.clone());
        Self {
            initials: initials(&name),
            name,
            email: known.email.clone(),
            has_passkey: known.credentials.passkeys().next().is_some(),
            has_password: known.credentials.password().is_some(),
        }
    }
}
