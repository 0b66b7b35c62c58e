//! Who asks: a person in a live session, by cookie or by `X-Session-Token`.

use crate::{
    actors::HydrateError,
    domain::{Actor, Context, account::Known},
    http::{
        answer::error::Problem,
        app::App,
        extract::{
            context::RequestContext,
            origin::Origin,
            request_source::{RequestSource, check_csrf},
        },
        limits::request_permits::WorkPermit,
        people::{
            belonging::Belonging,
            session::{self, Present},
        },
    },
};
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, Method, StatusCode, request::Parts},
};

pub const SESSION_REQUIRED: Problem =
    Problem::new(StatusCode::UNAUTHORIZED, "session_required", "sign in first");

/// A person in a live session.
pub struct Caller {
    pub present: Present,
    pub source: RequestSource,
    /// Of the request; the person acts.
    pub context: Context,
}

impl Caller {
    /// Finds the session that a request with these headers comes with. A page of another site finds
    /// none, unless it only reads: it cannot see the answer.
    pub async fn of(
        app: &App,
        context: Context,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Self, Problem> {
        if !method.is_safe() {
            check_csrf(app, headers)?;
        }
        let source = RequestSource::of(headers, app.settings.cookies);
        // A session that was ended a moment ago on another node is over here as well.
        let present = session::find(app, &context, &source, true).await?.ok_or(SESSION_REQUIRED)?;
        let context = context.by(Actor::Person(present.person.account.clone()));
        Ok(Self { present, source, context })
    }

    /// The id of the account.
    pub fn account(&self) -> &str {
        &self.present.person.account
    }

    /// Tells whether what is of this organization, or of none, is shown to the caller and decided by them (adr/0148).
    pub fn reaches(&self, organization: Option<&str>) -> bool {
        self.present.person.evidence.reaches(organization)
    }

    /// Lists the organizations that the caller belongs to and reaches.
    pub async fn belongings(&self, app: &App) -> Result<Vec<Belonging>, HydrateError> {
        let mut belongings = Belonging::of_account(app, self.account()).await?;
        belongings.retain(|one| self.reaches(Some(&one.organization.slug)));
        Ok(belongings)
    }

    /// Reads the account as it is now.
    pub async fn known(&self, app: &App) -> Result<Known, Problem> {
        let seen = app.views.accounts.look_anew(self.account()).await?;
        seen.machine.known().cloned().ok_or(SESSION_REQUIRED)
    }
}

/// The caller of a request without a body, who holds a work permit until it is answered.
pub struct SignedIn {
    pub caller: Caller,
    _permit: WorkPermit,
}

impl FromRequestParts<App> for SignedIn {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Ok(Origin(address)) = Origin::from_request_parts(head, app).await;
        let permit = app.limits.request_permits.work(address)?;
        let Ok(RequestContext(context)) = RequestContext::from_request_parts(head, app).await;
        let caller = Caller::of(app, context, &head.method, &head.headers).await?;
        Ok(Self { caller, _permit: permit })
    }
}
