//! Every refusal a caller can see, in the form its endpoint speaks: OAuth JSON, problem+json or a SCIM error.
//!
//! Precise inside, coarse outside: the reason goes to the log, the description is for the developer
//! of the client and is a constant of ours, so that no value of a request can leak into it. One kind of
//! value is named with it: the scope that is refused.

pub use super::{code::Code, stopped::RequestFailure};

use super::{private_json, retry_after::RetryAfter, scim::ScimRefusal};
use crate::{actors::HydrateError, store::views::ReadError};
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A refusal of an OAuth endpoint (RFC 6749 §5.2).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {description}", code.name())]
pub struct OAuthError {
    pub code: Code,
    pub description: &'static str,
    status: StatusCode,
    retry_after: Option<RetryAfter>,
    /// For the log alone.
    reason: Option<String>,
    /// What it is about.
    pub subject: Option<Subject>,
}

/// The value of a request that a refusal is about, where its developer must know which one it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A well-formed scope: printable ASCII without quotes. The description names it.
    Scope(String),
    /// An address, as it was given, and those that the client has registered. A page for people shows the first
    /// to developers; the log has both.
    RedirectUri { given: String, registered: Vec<String> },
}

/// How many characters of a scope are told.
const MOST_TOLD: usize = 200;

impl Subject {
    pub fn scope(scope: impl Into<String>) -> Self {
        let mut scope = scope.into();
        if let Some((end, _)) = scope.char_indices().nth(MOST_TOLD) {
            scope.truncate(end);
        }
        Self::Scope(scope)
    }

    /// Adds to a sentence of ours what it is about.
    pub fn complete(subject: Option<&Self>, description: &'static str) -> Cow<'static, str> {
        match subject {
            Some(Self::Scope(scope)) => format!("{description}: {scope}").into(),
            Some(Self::RedirectUri { .. }) | None => description.into(),
        }
    }
}

#[derive(Serialize)]
struct OAuthBody {
    error: &'static str,
    error_description: Cow<'static, str>,
}

impl OAuthError {
    pub const fn new(code: Code, description: &'static str) -> Self {
        let (retry_after, reason, subject) = (None, None, None);
        Self { code, description, status: code.status(), retry_after, reason, subject }
    }

    /// Names the scope that is refused.
    pub fn naming(self, scope: impl Into<String>) -> Self {
        self.about(Some(Subject::scope(scope)))
    }

    /// Says what it is about.
    pub fn about(self, subject: Option<Subject>) -> Self {
        Self { subject, ..self }
    }

    /// The same, where it is known which one it is.
    pub fn naming_if(self, scope: Option<&str>) -> Self {
        match scope {
            Some(scope) => self.naming(scope),
            None => self,
        }
    }

    /// Answers with another status than the code's own: 405, 408, 413.
    pub const fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Says more to the operator than to the caller; never a secret.
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// The request may have been carried out. What it presented may be spent, so it is not told to
    /// come back: there is no `Retry-After`.
    pub const OUTCOME_UNKNOWN: Self = Self::new(
        Code::ServerError,
        "it is not known whether this was carried out: begin anew, and do not repeat it",
    );

    /// Nothing is wrong with the request; the same may succeed later.
    pub const fn unavailable() -> Self {
        Self::new(Code::TemporarilyUnavailable, "please try again")
    }

    /// Says when it is worth trying again.
    pub const fn after(mut self, wait: RetryAfter) -> Self {
        self.retry_after = Some(wait);
        self
    }
}

/// What could not be looked at may be there the next time.
impl From<HydrateError> for OAuthError {
    fn from(error: HydrateError) -> Self {
        Self::unavailable().because(error.to_string())
    }
}

impl From<ReadError> for OAuthError {
    fn from(error: ReadError) -> Self {
        Self::unavailable().because(error.to_string())
    }
}

/// A caller asks more often than is allowed (RFC 6585 §4).
impl From<RetryAfter> for OAuthError {
    fn from(wait: RetryAfter) -> Self {
        let refused = Self::new(Code::TemporarilyUnavailable, Problem::TOO_MANY_REQUESTS.detail);
        Self { retry_after: Some(wait), ..refused.with_status(StatusCode::TOO_MANY_REQUESTS) }
    }
}

pub(super) fn is_for_later(status: StatusCode) -> bool {
    matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS)
}

/// Marks an answer as a refusal, for the metrics and the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalMark {
    pub code: Code,
    pub description: &'static str,
    pub reason: Option<String>,
    /// The client that asked, where an endpoint knows it and the address of a browser says little.
    pub client_id: Option<String>,
    pub subject: Option<Subject>,
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        let error_description = Subject::complete(self.subject.as_ref(), self.description);
        let body = OAuthBody { error: self.code.name(), error_description };
        let mut response = private_json(&body);
        *response.status_mut() = self.status;
        let Self { code, description, reason, subject, .. } = self;
        let refused = RefusalMark { code, description, reason, client_id: None, subject };
        response.extensions_mut().insert(refused);
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            // RFC 6749 §5.2, RFC 6750 §3 and RFC 9110 §11.6.1.
            let challenge = match code {
                Code::InvalidToken => "Bearer realm=\"porteiro\", error=\"invalid_token\"",
                _ => "Basic realm=\"porteiro\", charset=\"UTF-8\"",
            };
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        RetryAfter::tell(self.retry_after, &mut response);
        response
    }
}

/// A refusal of everything that is not an OAuth endpoint (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct Problem {
    pub status: StatusCode,
    /// Stable: programs may rely on it.
    pub code: &'static str,
    pub detail: &'static str,
    pub retry_after: Option<RetryAfter>,
    /// The member of the body that is wrong, if it is one.
    pub member: Option<WrongMember>,
    /// The kinds of flows in which the person enrols what is missing.
    pub enroll: &'static [&'static str],
}

/// A member of a body that cannot be taken, as RFC 9457 §3 shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrongMember {
    /// Where it is: a JSON pointer in a URI fragment (RFC 6901 §6).
    pub pointer: String,
    /// What is wrong with it; never its value.
    pub detail: String,
}

#[derive(Serialize)]
struct ProblemBody {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    code: &'static str,
    detail: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: Vec<WrongMember>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    enroll: &'static [&'static str],
    #[serde(flatten)]
    more: Map<String, Value>,
}

impl Problem {
    pub const NOT_FOUND: Self =
        Self::new(StatusCode::NOT_FOUND, "not_found", "there is nothing here");
    pub const METHOD_NOT_ALLOWED: Self = Self::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this resource does not take that method",
    );
    /// Nothing is wrong with the request; the same may succeed later.
    pub const UNAVAILABLE: Self =
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", "please try again");
    /// It may have been carried out, so the caller is not told to come back: no `Retry-After`.
    pub const OUTCOME_UNKNOWN: Self = Self::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "outcome_unknown",
        "it is not known whether this was carried out: look before you repeat it",
    );
    pub const TOO_MANY_REQUESTS: Self = Self::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too_many_requests",
        "too many requests: please wait before the next",
    );

    pub const fn new(status: StatusCode, code: &'static str, detail: &'static str) -> Self {
        Self { status, code, detail, retry_after: None, member: None, enroll: &[] }
    }

    /// Says in which kinds of flows the person enrols what is missing.
    pub const fn mended_by(mut self, kinds: &'static [&'static str]) -> Self {
        self.enroll = kinds;
        self
    }

    /// Refuses a body because of one of its members.
    pub fn wrong_member(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        let member = WrongMember { pointer: pointer.into(), detail: detail.into() };
        let detail = "a member of the body cannot be taken: look at errors";
        let problem = Self::new(StatusCode::BAD_REQUEST, "invalid_request", detail);
        Self { member: Some(member), ..problem }
    }

    /// Answers with one member more (RFC 9457 §3.2).
    pub fn with_member(self, name: &'static str, value: Value) -> Response {
        self.respond([(name.to_owned(), value)].into_iter().collect())
    }

    fn respond(self, more: Map<String, Value>) -> Response {
        let Self { status, code, detail, retry_after, member, enroll } = self;
        let title = status.canonical_reason().unwrap_or("Error");
        // A type that says nothing is about:blank (RFC 9457 §4.2.1); the code tells them apart.
        let body = ProblemBody {
            r#type: "about:blank",
            title,
            status: status.as_u16(),
            code,
            detail,
            errors: member.into_iter().collect(),
            enroll,
            more,
        };
        let mut response = private_json(&body);
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        RetryAfter::tell(retry_after, &mut response);
        response
    }
}

/// A caller asks more often than is allowed (RFC 6585 §4).
impl From<RetryAfter> for Problem {
    fn from(wait: RetryAfter) -> Self {
        Self { retry_after: Some(wait), ..Self::TOO_MANY_REQUESTS }
    }
}

/// The same refusal where it is not told to a client.
impl From<OAuthError> for Problem {
    fn from(error: OAuthError) -> Self {
        let problem = Self::new(error.status, error.code.name(), error.description);
        Self { retry_after: error.retry_after, ..problem }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.respond(Map::new())
    }
}

/// The format in which a family of endpoints words its refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorFormat {
    OAuth,
    Problem,
    Scim,
}

impl ErrorFormat {
    /// Words what stopped a request before its endpoint could.
    pub fn word(self, stopped: RequestFailure) -> Response {
        match self {
            Self::OAuth => OAuthError::from(stopped).into_response(),
            Self::Problem => Problem::from(stopped).into_response(),
            Self::Scim => ScimRefusal::from(stopped).into_response(),
        }
    }
}
