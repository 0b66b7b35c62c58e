//! The outcome of a step, for programs and screens alike.

use super::document::Document;
use crate::http::{answer::private_json, extract::cookies::with_cookies};
use axum::{
    http::HeaderValue,
    response::{IntoResponse, Response},
};
use serde_json::Value;

/// The outcome of a step.
pub enum StepOutcome {
    /// The flow goes on, or is over.
    Flow(Box<FlowAnswer>),
    /// The first half of a step, with what the person's device needs for the second.
    Options(Value),
}

/// A flow after a step, and what a browser is to keep or to forget with it.
pub struct FlowAnswer {
    pub document: Document,
    pub cookies: Vec<HeaderValue>,
}

impl From<Document> for StepOutcome {
    fn from(document: Document) -> Self {
        FlowAnswer { document, cookies: Vec::new() }.into()
    }
}

impl From<FlowAnswer> for StepOutcome {
    fn from(answer: FlowAnswer) -> Self {
        Self::Flow(Box::new(answer))
    }
}

impl IntoResponse for FlowAnswer {
    fn into_response(self) -> Response {
        with_cookies(self.document, self.cookies)
    }
}

impl IntoResponse for StepOutcome {
    fn into_response(self) -> Response {
        match self {
            Self::Flow(answer) => answer.into_response(),
            Self::Options(options) => private_json(&options),
        }
    }
}
