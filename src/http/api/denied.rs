//! A refusal before an operation is reached, and how the caller may do better (RFC 6750 §3).

use crate::http::{
    answer::error::Problem,
    extract::{bearer::Scheme, possession},
    routes,
};
use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};

pub struct AccessDenial {
    /// Boxed: it is large, and rare.
    pub problem: Box<Problem>,
    /// What follows the realm.
    challenge: Option<String>,
}

impl AccessDenial {
    pub fn challenged(problem: Problem, challenge: String) -> Self {
        Self { problem: Box::new(problem), challenge: Some(challenge) }
    }

    /// Takes apart the refusal and what follows the realm.
    pub fn into_parts(self) -> (Problem, Option<String>) {
        (*self.problem, self.challenge)
    }

    /// Answers with it to a caller that presented something by this scheme, and says where clients learn who guards this API (RFC 9728 §5.1).
    pub fn answer(self, issuer: &str, scheme: Scheme) -> Response {
        let mut response = (*self.problem).into_response();
        let metadata = format!("resource_metadata=\"{issuer}{}\"", routes::PROTECTED_API);
        let text = self.challenge;
        let text = text.map(|rest| possession::challenge(scheme, &format!(", {metadata}{rest}")));
        if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}

impl From<Problem> for AccessDenial {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), challenge: None }
    }
}
