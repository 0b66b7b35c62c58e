//! What the client would like, in the order of its preference (OIDC Core §3.1.2.1), or what it has
//! registered to like (OIDC Registration §2).
//!
//! It is a wish: a person who cannot reach it signs in all the same, and the tokens say what was
//! reached.

use super::{CheckedRequest, Draft};
use crate::{domain::assurance::Acr, http::answer::authorization_error::AuthorizationError};

#[expect(clippy::unnecessary_wraps, reason = "it is a row of the table of checks")]
pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let known = |values: &mut dyn Iterator<Item = &str>| {
        let mut wishes: Vec<Acr> = Vec::new();
        for acr in values.filter_map(Acr::by_name) {
            if !wishes.contains(&acr) {
                wishes.push(acr);
            }
        }
        wishes
    };
    draft.acr_values = match asked.form.get("acr_values") {
        Some(given) => known(&mut given.split(' ')),
        None => known(&mut asked.client.metadata.default_acr_values.iter().map(String::as_str)),
    };
    Ok(())
}
