//! What is asked for in detail (RFC 9396 §5): of types that the API of the request has, and that the client
//! may ask for, each as its type admits. That the types are known, and of one API, is seen with the target.

use super::{CheckedRequest, Draft};
use crate::http::answer::{authorization_error::AuthorizationError, error::Code};

pub fn check(asked: &CheckedRequest<'_>, draft: &mut Draft) -> Result<(), AuthorizationError> {
    let refuse = |why| Err(AuthorizationError::new(Code::InvalidAuthorizationDetails, why));
    let details = match &asked.details {
        Ok(details) => details,
        Err(why) => return refuse(why.description()),
    };
    if details.kinds().into_iter().any(|kind| !asked.client.may_ask_in_detail(kind)) {
        return refuse("the client was registered without a type of authorization_details");
    }
    let types = asked.target.as_ref().map_or(&[][..], |target| &target.types);
    if !details.iter().all(|detail| types.iter().any(|kind| kind.admits(detail))) {
        return refuse("one of the authorization_details is not what its type admits");
    }
    draft.details = details.clone();
    Ok(())
}
