//! Whether this client may ask for codes at all, and wants nothing that is not offered.

use super::{Asked, AuthorizationError, Draft};
use crate::{
    domain::client::{GrantType, KnownClient, ResponseType, SubjectType},
    http::error::Code,
};

pub fn check(asked: &Asked<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    may_ask(asked.client)
}

/// Tells whether a client may ask for codes; said again when one is about to be issued.
pub fn may_ask(client: &KnownClient) -> Result<(), AuthorizationError> {
    let metadata = &client.metadata;
    let refuse = |why| Err(AuthorizationError::new(Code::UnauthorizedClient, why));
    let asks_for_codes =
        metadata.response_types(client.organization.is_some()).contains(&ResponseType::Code);
    if !client.may_use(GrantType::AuthorizationCode) || !asks_for_codes {
        return refuse("the client is not registered for authorization codes");
    }
    // Whoever wants more than is offered must not get less.
    if client.demands_bound_tokens() {
        return refuse("the client wants bound tokens, which are not offered yet");
    }
    if metadata.subject_type == Some(SubjectType::Pairwise) {
        return refuse("the client wants pairwise subjects, which are not offered yet");
    }
    if metadata.require_pushed_authorization_requests || metadata.require_signed_request_object {
        return refuse("the client wants its requests pushed or signed, which is not offered yet");
    }
    Ok(())
}
