//! An `auth_req_id` for tokens: CIBA Core §10.1, §11.
//!
//! No claim of the ID token names the request: CIBA Core §10.3.1 has that for push alone.

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
    kind: GrantType::Ciba,
    serve: |app, caller, form| {
        Box::pin(async move {
            let by = (caller, caller.confidential()?);
            polled::redeem(
                app,
                by,
                form,
                (&app.entities.backchannel_requests, &app.views.backchannel_requests, REQUEST_ID),
            )
            .await
        })
    },
};

const REQUEST_ID: PolledParameter = PolledParameter {
    kind: OpaqueKind::BackchannelRequest,
    name: "auth_req_id",
    missing: OAuthError::new(Code::InvalidRequest, "the parameter auth_req_id is missing"),
    pending: OAuthError::new(
        Code::AuthorizationPending,
        "the person has not decided yet: ask again",
    ),
    expired: OAuthError::new(Code::ExpiredToken, "the auth_req_id has expired: begin again"),
};
