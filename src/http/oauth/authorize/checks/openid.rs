//! A client that asks by a back channel asks who the person is (CIBA Core §7.1): `openid` is among the
//! scopes.

use super::{CheckedRequest, Draft};
use crate::http::answer::{authorization_error::AuthorizationError, error::Code};

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    if asked.form.get("scope").is_none() {
        return Err(AuthorizationError::invalid("the parameter scope is missing"));
    }
    if !draft.scopes.contains("openid") {
        return Err(AuthorizationError::new(Code::InvalidScope, "the scope openid is missing"));
    }
    Ok(())
}
