//! OAuth 2.1 §4.1.1: a code, and nothing else.

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;
use crate::http::answer::error::Code;

pub fn check(asked: &CheckedRequest<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    match asked.form.get("response_type") {
        Some("code") => Ok(()),
        Some(_) => Err(AuthorizationError::new(
            Code::UnsupportedResponseType,
            "the response type is code: neither implicit nor hybrid exist",
        )),
        None => Err(AuthorizationError::invalid("the parameter response_type is missing")),
    }
}
