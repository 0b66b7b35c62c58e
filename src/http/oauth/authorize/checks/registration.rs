//! OIDC Core §3.1.2.6: what is not taken is refused by its name, for it may have said something else.

use super::{CheckedRequest, Draft};
use crate::http::answer::authorization_error::AuthorizationError;
use crate::http::answer::error::Code;

pub fn check(asked: &CheckedRequest<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    let refuse = |code, why| Err(AuthorizationError::new(code, why));
    if asked.form.get("registration").is_some() {
        return refuse(Code::RegistrationNotSupported, "register at the registration endpoint");
    }
    Ok(())
}
