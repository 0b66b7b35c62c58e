//! What a client hears when it gets no code (RFC 6749 §4.1.2.1, OIDC Core §3.1.2.6).

use super::error::{Code, OAuthError, Subject};
use crate::domain::authorization::Denial;
use axum::http::StatusCode;
use std::borrow::Cow;

/// An error that goes to the client's redirect URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationError {
    pub code: Code,
    pub description: &'static str,
    /// What it is about.
    pub subject: Option<Subject>,
}

impl AuthorizationError {
    pub const fn new(code: Code, description: &'static str) -> Self {
        Self { code, description, subject: None }
    }

    /// Names the scope that is refused.
    pub fn naming(self, scope: impl Into<String>) -> Self {
        Self { subject: Some(Subject::scope(scope)), ..self }
    }

    /// What the client is told.
    pub fn text(&self) -> Cow<'static, str> {
        Subject::complete(self.subject.as_ref(), self.description)
    }

    pub const fn invalid(description: &'static str) -> Self {
        Self::new(Code::InvalidRequest, description)
    }

    pub const fn unavailable() -> Self {
        Self::new(Code::TemporarilyUnavailable, "please try again")
    }
}

impl From<OAuthError> for AuthorizationError {
    fn from(error: OAuthError) -> Self {
        let OAuthError { code, description, subject, .. } = error;
        Self { code, description, subject }
    }
}

/// Answers in JSON, where there is no browser to redirect (RFC 9126 §2.3).
impl From<AuthorizationError> for OAuthError {
    fn from(error: AuthorizationError) -> Self {
        let AuthorizationError { code, description, subject } = error;
        let answered = Self::new(code, description).about(subject);
        match code {
            Code::TemporarilyUnavailable => answered,
            _ => answered.with_status(StatusCode::BAD_REQUEST),
        }
    }
}

/// Says to a client why a person, or this server, said no.
pub fn refusal_of(denial: &Denial) -> AuthorizationError {
    let (code, description) = match denial {
        Denial::NotAMember => {
            (Code::AccessDenied, "the person does not speak for this organization")
        }
        Denial::ConsentRefused => (Code::AccessDenied, "the person refused"),
        Denial::OtherPerson => (Code::LoginRequired, "another person has signed in"),
        Denial::Stopped => (Code::AccessDenied, "it was stopped"),
        Denial::TooManyAttempts | Denial::Superseded => {
            (Code::AccessDenied, "the person did not sign in")
        }
        Denial::NotSureEnough => {
            (Code::AccessDenied, "more is required than the account of the person can prove")
        }
        Denial::DetailsNotHeld => {
            (Code::AccessDenied, "the person may not grant these authorization_details there")
        }
        Denial::DetailsNotOffered => (
            Code::InvalidAuthorizationDetails,
            "the authorization_details are not taken from this client, or not any more",
        ),
        Denial::TooMuch { scope: Some(scope) } => {
            let why = "a scope is more than the person or the client holds there";
            return AuthorizationError::new(Code::InvalidScope, why).naming(scope);
        }
        Denial::TooMuch { scope: None } => {
            (Code::InvalidTarget, "the person holds nothing that this resource offers")
        }
    };
    AuthorizationError::new(code, description)
}
