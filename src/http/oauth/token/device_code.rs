//! A device code for tokens: RFC 8628 §3.4, §3.5.

use super::{
    Grant,
    polled::{self, PolledParameter},
};
use crate::{
    crypto::OpaqueKind,
    domain::client::GrantType,
    http::answer::error::{Code, OAuthError},
};

pub const GRANT: Grant = Grant {
    kind: GrantType::DeviceCode,
    serve: |app, caller, form| {
        let by = (caller, caller.client());
        Box::pin(polled::redeem(
            app,
            by,
            form,
            (&app.entities.device_grants, &app.views.device_grants, DEVICE_CODE),
        ))
    },
};

const DEVICE_CODE: PolledParameter = PolledParameter {
    kind: OpaqueKind::DeviceCode,
    name: "device_code",
    missing: OAuthError::new(Code::InvalidRequest, "the parameter device_code is missing"),
    pending: OAuthError::new(Code::AuthorizationPending, "no person has decided yet: ask again"),
    expired: OAuthError::new(Code::ExpiredToken, "the device code has expired: begin again"),
};
