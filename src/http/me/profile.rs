//! `PATCH /me`: what a person says of themselves, as a merge patch (RFC 7396) of standard claims.
//!
//! What they prove, such as addresses, is not said here.

use super::{caller::Caller, change::change, overview::Overview, step_up};
use crate::{
    domain::account::Command,
    http::{
        answer::error::Problem,
        app::App,
        extract::{context::RequestContext, json::Json},
    },
};
use axum::{
    extract::State,
    http::Method,
    response::{IntoResponse as _, Response},
};
use serde_json::{Map, Value};

pub async fn patch(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    Json { headers, body, .. }: Json<Map<String, Value>>,
) -> Result<Response, Problem> {
    let mut caller = Caller::of(&app, context, &Method::PATCH, &headers).await?;
    if let Some(refused) = step_up::demand_own(&app, &mut caller).await? {
        return Ok(refused);
    }
    change(&app, &caller, Command::Describe(body)).await?;
    let known = caller.known(&app).await?;
    Ok(Overview::of(&app, &caller, known).into_response())
}
