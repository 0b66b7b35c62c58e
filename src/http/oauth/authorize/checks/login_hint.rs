//! What the client knows of the person: a name to begin with, and languages. Both are only hints, so
//! what is no use is ignored (OIDC Core §3.1.2.1).

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

/// Bytes; no address and no list of languages is longer.
const LONGEST: usize = 254;

#[expect(clippy::unnecessary_wraps, reason = "a check among checks that refuse")]
pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let hint = |name| {
        let given = asked.form.get(name).filter(|given| given.len() <= LONGEST);
        given.filter(|given| !given.contains(char::is_control)).map(str::to_owned)
    };
    (draft.login_hint, draft.ui_locales) = (hint("login_hint"), hint("ui_locales"));
    Ok(())
}
