//! `PATCH /me`: what a person says of themselves, as a merge patch (RFC 7396) of standard claims.
//!
//! What they prove, such as addresses, is not said here.

use super::{caller::Caller, change::change, overview::Overview};
use crate::{
    domain::account::Command,
    http::{
        answer::error::Problem,
        app::App,
        extract::{context::RequestContext, json::Json},
    },
};
use axum::{extract::State, http::Method};
use serde_json::{Map, Value};

pub async fn patch(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    Json { headers, body, .. }: Json<Map<String, Value>>,
) -> Result<Overview, Problem> {
    let caller = Caller::of(&app, context, &Method::PATCH, &headers).await?;
    change(&app, &caller, Command::Describe(body)).await?;
    let known = caller.known(&app).await?;
    Ok(Overview::of(&app, &caller, known))
}
