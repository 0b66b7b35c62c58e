//! Claims that are asked for one by one (OIDC Core §5.5). It comes after `acr_values` and the hint,
//! which it can say as well.

use super::{CheckedRequest, Draft};
use crate::{
    domain::requested_claims::ClaimsParameter,
    http::answer::{authorization_error::AuthorizationError, error::Code},
};

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let Some(text) = asked.form.get("claims") else { return Ok(()) };
    let parameter = ClaimsParameter::parse(text).map_err(|_| {
        AuthorizationError::invalid("the parameter claims is no JSON object of requests for claims")
    })?;
    if parameter.acr_is_essential && parameter.acr_values.is_empty() {
        let why = "none of the values of acr that are asked for is offered";
        return Err(AuthorizationError::new(Code::UnmetAuthenticationRequirements, why));
    }
    if !parameter.acr_values.is_empty() {
        (draft.acr_values, draft.acr_is_essential) =
            (parameter.acr_values, parameter.acr_is_essential);
    }
    if let Some(subject) = parameter.subject {
        // One that is no account's is that of no person who signs in.
        let subject = asked.app.account_of(asked.client, &subject).unwrap_or(subject);
        if draft.hint.as_ref().is_some_and(|hint| *hint != subject) {
            return Err(AuthorizationError::invalid("two different subjects are asked for"));
        }
        draft.hint = Some(subject);
    }
    draft.claims = parameter.claims;
    Ok(())
}
