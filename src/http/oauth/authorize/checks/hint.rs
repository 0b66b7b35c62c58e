//! An ID token of ours names the person who is meant (OIDC Core §3.1.2.1).

use super::{Asked, AuthorizationError, Draft};

pub fn check(asked: &Asked<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    match &asked.hinted {
        None => Ok(()),
        Some(None) => Err(AuthorizationError::invalid("the id_token_hint is not one of ours")),
        Some(Some(subject)) => {
            draft.hint = Some(subject.clone());
            Ok(())
        }
    }
}
