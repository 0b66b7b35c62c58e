//! What the person must be asked, or must not (OIDC Core §3.1.2.1).

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let given = asked.form.get("prompt").unwrap_or_default();
    for word in given.split(' ').filter(|word| !word.is_empty()) {
        match word {
            "none" => draft.prompt.none = true,
            "login" => draft.prompt.login = true,
            "consent" => draft.prompt.consent = true,
            "select_account" => draft.prompt.select_account = true,
            _ => return Err(AuthorizationError::invalid("the prompt is not one that is known")),
        }
    }
    let prompt = &draft.prompt;
    if prompt.none && (prompt.login || prompt.consent || prompt.select_account) {
        return Err(AuthorizationError::invalid("the prompt none stands alone"));
    }
    Ok(())
}
