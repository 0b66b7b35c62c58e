//! Operations of the management API that a page of ours calls for a person in a session (adr/0082).
//!
//! The person acts as a member of one organization: with what the membership confers now, and with what
//! was proved in the session. The guard is the same as for programs, and so is the trail.

use super::{
    call::{PageCall, serve_page},
    caller::Caller,
    operation::Operation,
    operations::OPERATIONS,
};
use crate::{
    domain::Context,
    http::{
        answer::error::Problem,
        app::App,
        people::{belonging::Belonging, session::Present},
    },
};
use axum::{body::to_bytes, http::header, response::Response};
use serde_json::{Map, Value};

/// A person in a session, as a member of one organization.
pub struct MemberInSession {
    app: App,
    caller: Caller,
}

/// The answer of an operation to a page of ours.
pub struct PageAnswer {
    pub body: Value,
    /// The version of what is shown.
    pub tag: Option<String>,
}

impl MemberInSession {
    /// Makes the person of a session act for an organization; a suspended one is refused.
    pub fn of(
        app: &App,
        context: Context,
        present: &Present,
        belonging: &Belonging,
    ) -> Result<Self, Problem> {
        let Belonging { organization, membership } = belonging;
        let now = app.clock.now();
        let caller = Caller::by_session(context, (present, now), membership, organization)?;
        Ok(Self { app: app.clone(), caller })
    }

    /// Tells whether the person holds what an operation needs.
    pub fn may(&self, operation: &str) -> bool {
        find(operation).is_ok_and(|operation| self.caller.may(operation.needs))
    }

    /// Calls an operation by its name, in the organization, and hands over its answer as it is.
    pub async fn send(&self, operation: &str, mut asked: PageCall) -> Result<Response, Problem> {
        let operation = find(operation)?;
        asked.params.push(("organization".to_owned(), self.caller.organization.clone()));
        serve_page(operation, self.app.clone(), self.caller.clone(), asked).await
    }

    /// Calls an operation by its name, in the organization, and reads what it answers.
    pub async fn call(&self, operation: &str, asked: PageCall) -> Result<PageAnswer, Problem> {
        let (head, body) = self.send(operation, asked).await?.into_parts();
        let tag = head.headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
        let tag = tag.map(str::to_owned);
        let bytes = to_bytes(body, usize::MAX).await.map_err(|_| Problem::UNAVAILABLE)?;
        let body = if bytes.is_empty() {
            Value::Object(Map::new())
        } else {
            serde_json::from_slice(&bytes).map_err(|_| Problem::UNAVAILABLE)?
        };
        Ok(PageAnswer { body, tag })
    }
}

fn find(name: &str) -> Result<&'static Operation, Problem> {
    OPERATIONS.iter().find(|operation| operation.name == name).ok_or(Problem::NOT_FOUND)
}
