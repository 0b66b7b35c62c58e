//! How long ago the person may have proved who they are (OIDC Core §3.1.2.1).

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    draft.max_age = match asked.form.get("max_age") {
        None => asked.client.metadata.default_max_age,
        Some(seconds) if seconds.bytes().all(|byte| byte.is_ascii_digit()) => {
            // More than can be counted is as good as any age.
            Some(seconds.parse().unwrap_or(u32::MAX))
        }
        Some(_) => {
            return Err(AuthorizationError::invalid("max_age is a whole number of seconds"));
        }
    };
    Ok(())
}
