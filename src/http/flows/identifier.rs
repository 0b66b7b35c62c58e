//! `identifier`: who a person says they are. Nobody is looked up: there is nothing to be learnt here.

use super::{
    document::Document,
    ending,
    opened::{FlowId, Opened},
    problems::invalid,
};
use crate::{
    domain::flow::Step,
    http::{
        answer::error::Problem,
        app::App,
        extract::{json::ProblemPosted, origin::Origin},
        limits::purpose::Purpose,
    },
};
use axum::extract::State;

/// The longest e-mail address has 254 characters; nobody is called anything longer.
const LONGEST: usize = 254;

pub async fn post(
    State(app): State<App>,
    FlowId(id): FlowId,
    Origin(address): Origin,
    posted: ProblemPosted,
) -> Result<Document, Problem> {
    let opened = Opened::of(&app, id, &posted.headers)?;
    let identifier = posted.body.get("identifier").and_then(|text| text.as_str()).map(str::trim);
    let identifier = identifier.ok_or(invalid("the member identifier is missing"))?;
    if identifier.is_empty() || identifier.len() > LONGEST {
        return Err(invalid("the identifier has 1 to 254 characters"));
    }
    if identifier.chars().any(char::is_control) {
        return Err(invalid("the identifier contains a control character"));
    }
    app.pace.take(Purpose::Flow, address, app.clock.now())?;
    let reply = opened.ask(&app, Step::Identify { identifier: identifier.to_owned() }).await?;
    ending::standing(&app, &opened, &reply.flow).await
}
