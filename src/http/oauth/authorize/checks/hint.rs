//! An ID token of ours names the person who is meant (OIDC Core §3.1.2.1).

use super::{CheckedRequest, Draft, IdTokenHint};
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    match &asked.hinted {
        IdTokenHint::Nothing => Ok(()),
        IdTokenHint::NotOurs => {
            Err(AuthorizationError::invalid("the id_token_hint is not one of ours"))
        }
        IdTokenHint::Subject(subject) => {
            draft.hint = Some(subject.clone());
            Ok(())
        }
    }
}
