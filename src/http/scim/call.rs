//! The guard before every operation, what it hands to the handler, and retries after conflicts.

use super::{
    operation::{Operation, PERMISSION},
    outcome::Answer,
};
use crate::{
    actors::{CommitError, HydrateError, MultiCommit},
    domain::{
        Context, Provisioned,
        membership::{self, Membership},
        organization, resource,
        scim::error::ScimError,
    },
    http::{
        answer::{error::Problem, scim::ScimRefusal},
        api::{self, AccessDenial, Authority, Caller, PresentedCredential, Tries},
        app::App,
        extract::{
            bearer::{self, Scheme},
            context::RequestContext,
            json,
            origin::Origin,
            possession,
        },
        routes,
    },
};
use axum::{
    extract::{FromRequestParts as _, RawPathParams, Request},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A call that the guard has let in.
#[derive(Clone)]
pub struct ScimCall {
    pub app: App,
    pub caller: Caller,
    /// The address under which everything of this organization lies.
    pub base: String,
    incoming: Arc<ScimCallHead>,
    pub body: Arc<Map<String, Value>>,
    guard: Arc<Guard>,
}

/// What the caller is judged by, once and again.
struct Guard {
    operation: &'static Operation,
    slug: String,
    context: Context,
    credential: PresentedCredential<'static>,
    headers: HeaderMap,
}

/// What a request says beside its body.
struct ScimCallHead {
    headers: HeaderMap,
    params: Vec<(String, String)>,
    query: Vec<(String, String)>,
}

impl ScimCall {
    pub fn param(&self, name: &str) -> &str {
        let found = self.incoming.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub fn query(&self) -> &[(String, String)] {
        &self.incoming.query
    }

    /// Judges the caller again: what they were let in by may have moved on, such as a key whose use was noted.
    pub async fn renew(&mut self) -> Result<(), ScimRefusal> {
        let judged = self.guard.authorize(&self.app).await;
        self.caller = judged.map_err(|denied| ScimRefusal::from(denied.into_parts().0))?;
        Ok(())
    }

    pub fn slug(&self) -> &str {
        &self.caller.organization
    }

    /// The same call with another body, and the version that it expects: a part of a bulk request.
    pub fn part(
        &self,
        id: Option<&str>,
        version: Option<&str>,
        body: Map<String, Value>,
    ) -> Result<Self, ScimRefusal> {
        let mut headers = HeaderMap::new();
        if let Some(version) = version {
            let refuse = |_| ScimError::invalid_value("`version` is an entity tag");
            headers.insert(header::IF_MATCH, version.parse().map_err(refuse)?);
        }
        let params = id.map(|id| ("id".to_owned(), id.to_owned())).into_iter().collect();
        let incoming = Arc::new(ScimCallHead { headers, params, query: Vec::new() });
        Ok(Self { incoming, body: Arc::new(body), ..self.clone() })
    }

    /// Notes a refusal of an operation, if an administrator must know of it.
    pub async fn note_refusal(
        &self,
        operation: &'static str,
        error: &ScimError,
    ) -> Result<(), Problem> {
        match noted(error) {
            Some(code) => api::note_refusal(&self.app, &self.caller, operation, code).await,
            None => Ok(()),
        }
    }

    /// Begins a change that happens only while the caller holds what they need.
    pub async fn begin(&self) -> Result<ScimChange, ScimRefusal> {
        let mut commit = self.app.multi_commit(&self.caller.context);
        let Authority { home, .. } = self.caller.authority(&mut commit).await?;
        Ok(ScimChange { commit, home, app: self.app.clone(), members: Vec::new() })
    }

    /// Refuses where a resource is at another version than the caller has seen, if they say which.
    pub fn expect(&self, version: &str) -> Result<(), ScimRefusal> {
        match self.tags(&header::IF_MATCH) {
            Some(tags) if !names(&tags, version) => {
                Err(ScimError::precondition_failed("it has changed since: read it again").into())
            }
            _ => Ok(()),
        }
    }

    /// Tells whether the caller expects a certain version.
    pub fn expects_version(&self) -> bool {
        self.tags(&header::IF_MATCH).is_some()
    }

    /// Tells whether the caller has this version already.
    pub fn has_seen(&self, version: &str) -> bool {
        self.tags(&header::IF_NONE_MATCH).is_some_and(|tags| names(&tags, version))
    }

    fn tags(&self, name: &header::HeaderName) -> Option<Vec<String>> {
        let lines = self.incoming.headers.get_all(name).iter();
        let lines = lines.map(|line| line.to_str().unwrap_or_default());
        let tags: Vec<String> =
            lines.flat_map(|line| line.split(',')).map(|tag| tag.trim().to_owned()).collect();
        (!tags.is_empty()).then_some(tags)
    }
}

/// Compares weakly: clients repeat a tag with or without its mark (RFC 9110 §8.8.3.2).
fn names(tags: &[String], version: &str) -> bool {
    let bare = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
    tags.iter().any(|tag| tag == "*" || bare(tag) == bare(version))
}

/// A change that is being decided.
pub struct ScimChange {
    pub commit: MultiCommit,
    /// The organization, as the commit requires it to be.
    pub home: organization::Known,
    app: App,
    /// The memberships that change.
    members: Vec<String>,
}

impl ScimChange {
    /// Decides on a membership.
    pub async fn decide(
        &mut self,
        id: &str,
        command: &membership::Command,
    ) -> Result<Result<Provisioned, membership::Refusal>, HydrateError> {
        self.members.push(id.to_owned());
        self.commit.decide::<Membership>(id, command).await
    }

    /// Commits what was decided. This node sees it at once.
    pub async fn finish(self) -> Result<(), ScimRefusal> {
        let Self { commit, home, app, members } = self;
        let committed = commit.commit().await;
        app.views.organizations.forget(&home.slug);
        for id in &members {
            app.views.memberships.forget(id);
        }
        committed.map_err(|error| match error {
            CommitError::Conflict | CommitError::Unmet { .. } => ScimRefusal::conflict(),
            CommitError::Taken { space } => super::user_change::taken(space),
            CommitError::Unavailable => Problem::UNAVAILABLE.into(),
            CommitError::Unknown => Problem::OUTCOME_UNKNOWN.into(),
        })
    }
}

impl Guard {
    /// Lets the caller in, or notes why not.
    async fn authorize(&self, app: &App) -> Result<Caller, AccessDenial> {
        let mut caller = Caller::of(app, self.context.clone(), &self.credential).await?;
        if let Err(why) = judge(app, &caller, &self.slug).await {
            caller.note_use(app);
            api::note_refusal(app, &caller, self.operation.name, why.problem.code).await?;
            return Err(why);
        }
        if caller.is_administrator() {
            caller.context = caller.context.because(api::reason(&self.headers)?);
        }
        Ok(caller)
    }
}

/// Answers a request for an operation.
pub async fn serve(
    operation: &'static Operation,
    app: App,
    params: RawPathParams,
    request: Request,
) -> Response {
    let params: Vec<(String, String)> =
        params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let answered = admit(operation, app, params, request).await;
    answered.map_or_else(ScimRefusal::into_response, super::outcome::Outcome::into_response)
}

/// Lets a caller in, and has the operation answer.
async fn admit(
    operation: &'static Operation,
    app: App,
    params: Vec<(String, String)>,
    request: Request,
) -> Answer {
    let (mut head, body) = request.into_parts();
    let Ok(RequestContext(context)) = RequestContext::from_request_parts(&mut head, &app).await;
    let Ok(Origin(address)) = Origin::from_request_parts(&mut head, &app).await;
    let slug = params.iter().find(|(name, _)| name == "organization");
    let slug = slug.map(|(_, slug)| slug.clone()).unwrap_or_default();
    let scheme = bearer::presented(&head.headers).map_or(Scheme::Bearer, |one| one.scheme);
    let denied = |denied: AccessDenial| refusal(&app, &slug, scheme, denied);
    let base = resource::scim_identifier(&app.issuer, &slug);
    let (guard, mut caller) = {
        let _permit = app.limits.request_permits.work(address).map_err(Problem::from)?;
        let presented = PresentedCredential::of(&app, &context, &head, |aud| aud == base).await;
        let credential = presented.map_err(denied)?.into_owned();
        let (slug, headers) = (slug.clone(), head.headers.clone());
        let guard = Guard { operation, slug, context, credential, headers };
        let caller = guard.authorize(&app).await.map_err(denied)?;
        (Arc::new(guard), caller)
    };
    if caller.is_administrator() {
        api::administered(&app, &caller, &slug, operation.name).await?;
    }
    let (body, _permit) = if operation.takes_body {
        json::scim_members(&head, body, &app.limits.request_permits).await?
    } else {
        (Map::new(), app.limits.request_permits.work(address).map_err(Problem::from)?)
    };
    // No id has such a character, and not every database could be asked for one.
    if params.iter().any(|(_, value)| value.contains('\0')) {
        return Err(ScimError::not_found("there is nothing here").into());
    }
    let query = head.uri.query().unwrap_or_default();
    let query = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let headers = head.headers.clone();
    let incoming = Arc::new(ScimCallHead { headers, params, query });
    let body = Arc::new(body);
    let mut tries = Tries::start();
    let answer = loop {
        let answer = (operation.handle)(ScimCall {
            app: app.clone(),
            caller: caller.clone(),
            base: base.clone(),
            incoming: incoming.clone(),
            body: body.clone(),
            guard: guard.clone(),
        });
        let answer = answer.await;
        if !tries.go_on_if(is_conflict(&answer)) {
            break answer;
        }
        // Nothing happened: it is decided again on what is true now, by a caller who is still let in.
        caller = guard.authorize(&app).await.map_err(denied)?;
    };
    if let Err(refused) = &answer
        && let Some(code) = noted(&refused.error)
    {
        api::note_refusal(&app, &caller, operation.name, code).await?;
    }
    caller.note_use(&app);
    answer
}

/// Tells whether another change came between.
pub fn is_conflict(answer: &Answer) -> bool {
    answer.as_ref().is_err_and(|refused| refused.is_conflict)
}

/// Says in one word what was refused that an administrator must know of: a directory tries such a thing again and again.
fn noted(error: &ScimError) -> Option<&'static str> {
    match error.status {
        400 | 403 | 409 | 413 => Some(error.scim_type.unwrap_or("refused")),
        _ => None,
    }
}

/// Judges whether the caller may provision this organization.
async fn judge(app: &App, caller: &Caller, slug: &str) -> Result<(), AccessDenial> {
    // The same for an organization that exists and one that does not.
    if caller.organization != slug {
        return Err(OTHER_ORGANIZATION.into());
    }
    let home = app.views.organizations.look(slug).await.map_err(Problem::from)?;
    let known = home.machine.known().ok_or(OTHER_ORGANIZATION)?;
    caller.is_sure_enough(known)?;
    if !caller.may(PERMISSION) {
        let challenge = format!(", error=\"insufficient_scope\", scope=\"{PERMISSION}\"");
        return Err(AccessDenial::challenged(api::PERMISSION_REQUIRED, challenge));
    }
    if caller.is_delegate() {
        return Err(api::IN_PERSON.into());
    }
    Ok(())
}

const OTHER_ORGANIZATION: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "other_organization",
    "the key or token speaks for another organization",
);

/// Refuses in the form of SCIM, and says where clients learn who guards this (RFC 9728 §5.1).
fn refusal(app: &App, slug: &str, scheme: Scheme, denied: AccessDenial) -> ScimRefusal {
    let (problem, challenge) = denied.into_parts();
    let metadata = format!("{}{}/{slug}", app.issuer, routes::PROTECTED_SCIM_PREFIX);
    let challenge = challenge.map(|rest| {
        let metadata = format!(", resource_metadata=\"{metadata}\"{rest}");
        possession::challenge(scheme, &metadata)
    });
    ScimRefusal { challenge, ..problem.into() }
}
