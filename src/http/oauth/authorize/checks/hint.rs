//! An ID token of ours names the person who is meant (OIDC Core §3.1.2.1).

use super::{CheckedRequest, Draft, Hinted};
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    match &asked.hinted {
        Hinted::Nothing => Ok(()),
        Hinted::NotOurs => Err(AuthorizationError::invalid("the id_token_hint is not one of ours")),
        Hinted::Subject(subject) => {
            draft.hint = Some(subject.clone());
            Ok(())
        }
    }
}
