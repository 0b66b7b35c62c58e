//! Who may call an operation of `/api`, and what is noted of calls that are refused or need a reason.

use super::{
    caller::{Caller, unsure},
    denied::AccessDenial,
    operation::Operation,
};
use crate::{
    actors::EntitySnapshot,
    domain::{assurance::Acr, is_hidden, organization, reserved_names::ReservedNames, trail::Note},
    http::{answer::error::Problem, app::App, limits::refusals::RefusalKey},
};
use axum::http::{HeaderMap, StatusCode};
use std::sync::Arc;

pub(super) type Home = EntitySnapshot<organization::Organization>;
pub(super) type Params = [(String, String)];

/// Why a person who administers an organization looks at it or changes it; customers read it.
const REASON: &str = "x-reason";
pub const LONGEST_REASON: usize = 500;

/// Returns the organization of a caller who may do this; a refusal is noted in its trail.
pub(super) async fn admitted(
    operation: &Operation,
    app: &App,
    caller: &Caller,
    params: &Params,
) -> Result<Arc<Home>, AccessDenial> {
    let home = app.views.organizations.look(&caller.organization).await.map_err(Problem::from)?;
    let known = home.machine.known().ok_or(Problem::NOT_FOUND)?;
    let names = app.reserved_names().await.map_err(Problem::from)?;
    let judged =
        is_ours(operation, &names.machine).and_then(|()| judge(operation, caller, known, params));
    if let Err(denied) = judged {
        let code = denied.problem.code;
        caller.note_use(app);
        note_refusal(app, caller, operation.name, code).await?;
        return Err(denied);
    }
    Ok(home)
}

/// Notes a refusal in the trail of the caller's organization, unless it has been a moment ago.
pub async fn note_refusal(
    app: &App,
    caller: &Caller,
    operation: &'static str,
    code: &'static str,
) -> Result<(), Problem> {
    let refused = RefusalKey {
        organization: caller.organization.clone(),
        caller: format!("{:?}", caller.context.actor()),
        operation,
        code,
    };
    let Some(repeated) = app.limits.refusals.count(refused, app.clock.now()) else { return Ok(()) };
    let note = Note::Refused { operation, code, repeated };
    note_in(app, caller, &caller.organization, note).await
}

/// Returns the organization that a path names, if it names one.
pub(super) fn named(params: &Params) -> Option<&str> {
    let found = params.iter().find(|(name, _)| name == "organization");
    found.map(|(_, slug)| slug.as_str())
}

/// Refuses what is guarded by a name that an API of the operator's has in this installation: what was given
/// for that API opens nothing here (adr/0132).
fn is_ours(operation: &Operation, names: &ReservedNames) -> Result<(), AccessDenial> {
    let name = operation.needs.split_once(':').map_or("", |(name, _)| name);
    if names.is_open(name) { Ok(()) } else { Err(PERMISSION_REQUIRED.into()) }
}

/// Judges whether the caller may do this at all.
fn judge(
    operation: &Operation,
    caller: &Caller,
    home: &organization::Known,
    params: &Params,
) -> Result<(), AccessDenial> {
    let is_own = named(params).is_none_or(|slug| slug == home.slug);
    // What it may do in another organization its handler says.
    let across = operation.reaches_across && caller.administers();
    if !is_own && !across {
        return Err(OTHER_ORGANIZATION.into());
    }
    caller.is_sure_enough(home)?;
    if !caller.may(operation.needs) {
        let challenge = format!(", error=\"insufficient_scope\", scope=\"{}\"", operation.needs);
        return Err(AccessDenial::challenged(PERMISSION_REQUIRED, challenge));
    }
    if operation.in_person && caller.is_delegate() {
        return Err(IN_PERSON.into());
    }
    if operation.at_aal2 && !caller.is_at_aal2() {
        return Err(unsure(Acr::Aal2));
    }
    Ok(())
}

/// The same for an organization that exists and one that does not.
const OTHER_ORGANIZATION: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "other_organization",
    "the token speaks for another organization",
);

pub const PERSON_REQUIRED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "person_required",
    "a person does this, by a token of their own or on the page of the organization",
);

pub(super) const STEP_UP_REQUIRED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "step_up_required",
    "two factors are needed: sign in again with acr_values=aal2",
);

/// What it makes would outlive the chain that the token hangs on (adr/0111).
pub const IN_PERSON: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "delegation_refused",
    "a token that is held for another party does not do this: it takes one of the person's own",
);

pub const PERMISSION_REQUIRED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "permission_required",
    "the token was not granted the permission that this needs",
);

const REASON_REQUIRED: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "reason_required",
    "say why: X-Reason, 1 to 500 printable characters of ASCII",
);

/// Reads a reason as a person writes it on a page, in any script.
pub(super) fn reason_of_page(given: &str) -> Result<String, Problem> {
    let text = given.trim();
    let fits = (1..=LONGEST_REASON).contains(&text.chars().count());
    // Rows of the log hold no addresses.
    let is_plain = !text.chars().any(|one| is_hidden(one) || one == '@');
    if fits && is_plain { Ok(text.to_owned()) } else { Err(REASON_REQUIRED) }
}

/// Reads why a holder of `organizations:administer` looks at an organization or changes it.
pub fn reason(headers: &HeaderMap) -> Result<String, Problem> {
    let mut given = headers.get_all(REASON).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return Err(REASON_REQUIRED) };
    let text = value.to_str().map_err(|_| REASON_REQUIRED)?.trim();
    // Rows of the log hold no addresses.
    let fits = (1..=LONGEST_REASON).contains(&text.len()) && !text.contains('@');
    if fits { Ok(text.to_owned()) } else { Err(REASON_REQUIRED) }
}

/// Notes that a holder of `organizations:administer` has called an operation for this organization.
pub async fn administered(
    app: &App,
    caller: &Caller,
    slug: &str,
    operation: &'static str,
) -> Result<(), Problem> {
    note_in(app, caller, slug, Note::Administered { operation }).await
}

/// Writes into the trail of an organization what was done or refused there, before it is answered.
pub(super) async fn note_in(
    app: &App,
    caller: &Caller,
    slug: &str,
    note: Note,
) -> Result<(), Problem> {
    let exists = app.views.organizations.look(slug).await?.machine.known().is_some();
    if !exists {
        return Ok(());
    }
    app.entities.trails.ask(&caller.context, slug, note.of(slug)).await.map(drop).map_err(
        |failure| {
            tracing::warn!(why = %failure, "a use of the API could not be noted");
            Problem::UNAVAILABLE
        },
    )
}
