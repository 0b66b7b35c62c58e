//! The flow in which a person proves once more who they are, begun on a page and ending there.

use super::leading::{path_of, to};
use crate::http::{
    answer::error::Problem,
    app::App,
    extract::cookies::with_cookie,
    me::{Caller, begin_step_up},
};
use axum::response::Response;

/// Leads to the flow; when it is done, the person is at the page of this address again (adr/0086).
pub async fn prove(app: &App, mut caller: Caller, back: String) -> Result<Response, Problem> {
    caller.source = caller.source.of_page();
    let known = caller.known(app).await?;
    let (document, cookie) = begin_step_up(app, &mut caller, &known, Some(back)).await?;
    let page = to(path_of(&document.kind, document.state), &[("flow", &document.id)]);
    Ok(with_cookie(page, cookie))
}
