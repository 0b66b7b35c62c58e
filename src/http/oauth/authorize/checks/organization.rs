//! The one organization that tokens will speak for. Whether there is one of that name, and the person
//! belongs to it, is said only to a person who has signed in.

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;

/// No slug is longer.
const LONGEST: usize = 63;

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let Some(slug) = asked.form.get("organization").or_else(|| of_scim(asked)) else {
        return Ok(());
    };
    if slug.len() > LONGEST {
        return Err(AuthorizationError::invalid("the organization is not a slug"));
    }
    draft.organization = Some(slug.to_owned());
    Ok(())
}

/// SCIM is that of one organization, which tokens for it speak for.
fn of_scim<'a>(asked: &'a CheckedRequest<'_>) -> Option<&'a str> {
    let target = asked.target.as_ref().ok()?;
    asked.app.scim_organization(target.audience.claim(&asked.app.issuer))
}
