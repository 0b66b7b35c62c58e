//! A call of an operation: what the guard hands to the handler, and retries after conflicts.

use super::{
    admission::{
        Home, PERSON_REQUIRED, STEP_UP_REQUIRED, admitted, named, note_in, note_refusal, reason,
        reason_of_page,
    },
    caller::Caller,
    change::{CONFLICT, Change, version_tag},
    denied::AccessDenial,
    operation::Operation,
    presented::PresentedCredential,
    tries::Tries,
};
use crate::{
    domain::{Context, trail::Note},
    http::{
        answer::{error::Problem, private_json},
        app::App,
        extract::{
            bearer::{self, Scheme},
            context::RequestContext,
            json::{self, shaped},
            origin::Origin,
        },
    },
};
use axum::{
    extract::{FromRequestParts as _, RawPathParams, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a handler answers.
pub type Answer = Result<Response, Problem>;

/// A call that the guard has let in.
pub struct Call {
    pub app: App,
    pub caller: Caller,
    /// Of the caller, as it was a moment ago.
    pub home: Arc<Home>,
    incoming: Arc<CallHead>,
    body: Map<String, Value>,
}

/// What a request says beside its body.
struct CallHead {
    headers: HeaderMap,
    params: Vec<(String, String)>,
    query: Vec<(String, String)>,
    /// Why a person does it on a page of ours.
    reason: Option<String>,
}

/// Answers a request for an operation.
pub async fn serve(
    operation: &'static Operation,
    app: App,
    params: RawPathParams,
    request: Request,
) -> Response {
    let params = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let issuer = app.issuer.clone();
    let scheme = bearer::presented(request.headers()).map_or(Scheme::Bearer, |one| one.scheme);
    match admit(operation, app, params, request).await {
        Ok(answer) => answer.unwrap_or_else(Problem::into_response),
        Err(denied) => denied.answer(&issuer, scheme),
    }
}

/// Lets a caller in, and has the operation answer.
async fn admit(
    operation: &'static Operation,
    app: App,
    params: Vec<(String, String)>,
    request: Request,
) -> Result<Answer, AccessDenial> {
    let (mut head, body) = request.into_parts();
    let Ok(RequestContext(context)) = RequestContext::from_request_parts(&mut head, &app).await;
    let Ok(Origin(address)) = Origin::from_request_parts(&mut head, &app).await;
    let let_in = async |context: Context, presented: &PresentedCredential<'_>| {
        let mut caller = Caller::of(&app, context, presented).await?;
        let home = admitted(operation, &app, &caller, &params).await?;
        if caller.is_administrator() {
            caller.context = caller.context.because(reason(&head.headers)?);
        }
        Ok::<_, AccessDenial>((caller, home))
    };
    let (presented, (mut caller, mut home)) = {
        let _permit = app.limits.request_permits.work(address).map_err(Problem::from)?;
        let presented =
            PresentedCredential::of(&app, &context, &head, |aud| app.is_own_api(aud)).await?;
        let let_in = let_in(context.clone(), &presented).await?;
        (presented, let_in)
    };
    let query = read_query(operation, head.uri.query().unwrap_or_default())?;
    if caller.is_administrator() {
        let slug = named(&params).unwrap_or(&caller.organization);
        let note = Note::Administered { operation: operation.name };
        note_in(&app, &caller, slug, note).await?;
    }
    let (body, _permit) = match operation.takes {
        Some((_, rule)) => {
            let read = json::members(&head, body, &app.limits.request_permits, rule).await;
            read.map_err(Problem::from)?
        }
        None => (Map::new(), app.limits.request_permits.work(address).map_err(Problem::from)?),
    };
    let headers = head.headers.clone();
    let incoming = Arc::new(CallHead { headers, params: params.clone(), query, reason: None });
    let mut tries = Tries::start();
    let answer = loop {
        let call = Call::new(&app, (&caller, &home), &incoming, &body);
        let answer = (operation.handle)(call).await;
        if !tries.go_on_if(is_conflict(&answer)) {
            break answer;
        }
        // Nothing happened: it is decided again on what is true now, by a caller who is still let in.
        (caller, home) = let_in(context.clone(), &presented).await?;
    };
    caller.note_use(&app);
    if let Some(code) = forbidden(&answer) {
        note_refusal(&app, &caller, operation.name, code).await?;
    }
    Ok(answer)
}

/// Returns why an operation itself has refused the caller, if it was for want of authority.
fn forbidden(answer: &Answer) -> Option<&'static str> {
    let problem = answer.as_ref().err()?;
    (problem.status == StatusCode::FORBIDDEN).then_some(problem.code)
}

/// Tells whether another change came between.
fn is_conflict(answer: &Answer) -> bool {
    matches!(answer, Err(problem) if problem.code == CONFLICT.code)
}

/// A call of an operation by a page of ours.
#[derive(Default)]
pub struct PageCall {
    pub params: Vec<(String, String)>,
    /// As it stands in an address.
    pub query: String,
    pub body: Map<String, Value>,
    /// The version that was shown.
    pub if_match: Option<String>,
    /// Why the person does it, where they are asked.
    pub reason: Option<String>,
}

/// Answers a page of ours, which holds a work permit, as a program would be answered.
pub async fn serve_page(
    operation: &'static Operation,
    app: App,
    caller: Caller,
    asked: PageCall,
) -> Answer {
    let PageCall { params, query, body, if_match, reason } = asked;
    let query = read_query(operation, &query)?;
    let mut headers = HeaderMap::new();
    if let Some(tag) = if_match.and_then(|tag| HeaderValue::try_from(tag).ok()) {
        headers.insert(header::IF_MATCH, tag);
    }
    let incoming = Arc::new(CallHead { headers, params, query, reason });
    let mut tries = Tries::start();
    loop {
        let home = admitted(operation, &app, &caller, &incoming.params).await;
        let home = home.map_err(|denied| *denied.problem)?;
        let call = Call::new(&app, (&caller, &home), &incoming, &body);
        let answer = (operation.handle)(call).await;
        if !tries.go_on_if(is_conflict(&answer)) {
            if let Some(code) = forbidden(&answer) {
                note_refusal(&app, &caller, operation.name, code).await?;
            }
            return answer;
        }
    }
}

/// Reads the query; a parameter that the operation does not have is refused by name.
fn read_query(operation: &Operation, query: &str) -> Result<Vec<(String, String)>, Problem> {
    let mut read: Vec<(String, String)> = Vec::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let known = operation.query_parameters().any(|(known, _)| *known == name);
        let detail = if !known {
            "is not known"
        } else if read.iter().any(|(other, _)| *other == name) {
            "is repeated"
        } else if value.contains('\0') || value.len() > LONGEST_VALUE {
            "cannot be taken"
        } else {
            read.push((name.into_owned(), value.into_owned()));
            continue;
        };
        return Err(wrong_parameter(&name, detail));
    }
    Ok(read)
}

const LONGEST_VALUE: usize = 2_048;

/// Refuses a query parameter by its name; a name that is not ours is not repeated.
pub fn wrong_parameter(name: &str, detail: &str) -> Problem {
    let printable = |one: char| one.is_ascii_alphanumeric() || "_-.".contains(one);
    let name = if name.len() <= 64 && name.chars().all(printable) { name } else { "?" };
    let problem = Problem::wrong_member(format!("?{name}"), detail);
    Problem { detail: "a parameter of the address cannot be taken: look at errors", ..problem }
}

impl Call {
    fn new(
        app: &App,
        (caller, home): (&Caller, &Arc<Home>),
        incoming: &Arc<CallHead>,
        body: &Map<String, Value>,
    ) -> Self {
        let (caller, home) = (caller.clone(), home.clone());
        let (incoming, body) = (incoming.clone(), body.clone());
        Self { app: app.clone(), caller, home, incoming, body }
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.incoming.headers
    }

    /// Returns a parameter of the path.
    pub fn param(&self, name: &str) -> &str {
        let found = self.incoming.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Returns a parameter of the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.incoming.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Reads the body as what the operation takes.
    pub fn body<T: DeserializeOwned>(&mut self) -> Result<T, Problem> {
        shaped(std::mem::take(&mut self.body))
    }

    /// Returns the members of the body.
    pub fn members(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.body)
    }

    /// Begins a change that happens only while the caller holds what they hold now.
    pub async fn begin(&self) -> Result<Change, Problem> {
        Change::begin(self).await
    }

    /// Returns why the caller does this.
    pub fn reason(&self) -> Result<String, Problem> {
        match &self.incoming.reason {
            Some(given) => reason_of_page(given),
            None => reason(self.headers()),
        }
    }

    /// Tells whether the token may be used for this as well.
    pub fn may(&self, permission: &str) -> bool {
        self.caller.may(permission)
    }

    /// Tells whether the caller reaches across organizations.
    pub fn administers(&self) -> bool {
        self.caller.administers()
    }

    /// Refuses every caller but a person who is there in person and has proved two factors (contract §7).
    pub fn demand_person_at_aal2(&self) -> Result<(), Problem> {
        if !self.caller.is_person() || self.caller.is_delegate() {
            return Err(PERSON_REQUIRED);
        }
        if self.caller.is_at_aal2() { Ok(()) } else { Err(STEP_UP_REQUIRED) }
    }
}

/// Answers with an entity at a version.
pub fn shown(status: StatusCode, version: i64, body: &impl Serialize) -> Response {
    let mut response = private_json(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::ETAG, version_tag(version));
    response
}

/// Answers that something is gone.
pub fn gone() -> Response {
    StatusCode::NO_CONTENT.into_response()
}
