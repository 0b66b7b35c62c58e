//! Whether this client may ask for codes at all, and wants nothing that is not offered.

use super::{CheckedRequest, Draft};
use crate::http::{
    answer::{authorization_error::AuthorizationError, error::Code},
    issuing,
};

pub fn check(asked: &CheckedRequest<'_>, _draft: &mut Draft) -> Result<(), AuthorizationError> {
    let why = "the client is not registered for authorization codes";
    asked.client.may_ask_for_codes().map_err(|_| unregistered(why))?;
    offered(asked)
}

/// The same of a device.
pub fn check_device(
    asked: &CheckedRequest<'_>,
    _draft: &mut Draft,
) -> Result<(), AuthorizationError> {
    asked.client.may_ask_by_device().map_err(|_| unregistered(OTHER_GRANT))?;
    offered(asked)
}

/// The same of a client that asks a person by a back channel.
pub fn check_ciba(
    asked: &CheckedRequest<'_>,
    _draft: &mut Draft,
) -> Result<(), AuthorizationError> {
    asked.client.may_ask_by_back_channel().map_err(|_| unregistered(OTHER_GRANT))?;
    offered(asked)
}

const OTHER_GRANT: &str = "the client is not registered for this grant type";

fn unregistered(why: &'static str) -> AuthorizationError {
    AuthorizationError::new(Code::UnauthorizedClient, why)
}

/// Refuses a client whose tokens could not be issued, before a person is asked.
fn offered(asked: &CheckedRequest<'_>) -> Result<(), AuthorizationError> {
    Ok(issuing::check_client(asked.app, asked.client)?)
}
