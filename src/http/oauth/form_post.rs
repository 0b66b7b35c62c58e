//! `GET /connect/form_post`: the page that posts an authorization response, for a browser that a flow
//! leads there.

use crate::http::{
    answer::error::{Code, OAuthError},
    app::App,
    authorization::form_post,
    extract::origin::Origin,
};
use axum::{
    extract::{RawQuery, State},
    response::Response,
};

pub async fn get(
    State(app): State<App>,
    Origin(address): Origin,
    RawQuery(query): RawQuery,
) -> Result<Response, OAuthError> {
    const GONE: OAuthError =
        OAuthError::new(Code::InvalidRequest, "this address is none of ours, or too old");
    let _permit = app.limits.request_permits.work(address)?;
    let query = query.unwrap_or_default();
    let held = query.strip_prefix("response=").ok_or(GONE)?;
    form_post::page(&form_post::open(&app, held).ok_or(GONE)?)
}
