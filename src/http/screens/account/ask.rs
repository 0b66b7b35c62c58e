//! Operations under `/me`, called for a person at a page of ours (adr/0086).
//!
//! What an operation gets is the request of the browser with another method, path and body, so guard,
//! handler, commit and records are those of a program's call. What it answers is drawn, and what it
//! refuses is said.

use crate::{
    http::{answer::error::Problem, app::App, extract::context::RequestId, me},
    transport::Peer,
};
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tower::ServiceExt as _;
use url::form_urlencoded::byte_serialize;

/// The operations under `/me`, for the browser that asks for a page or sends its form.
pub struct Operations<'a> {
    pub app: &'a App,
    pub head: &'a Parts,
}

/// A method and a path of the router's table.
pub type Operation = (Method, &'static str);

/// A request for an operation.
#[derive(Default)]
pub struct OperationRequest<'a> {
    /// The id of an entry.
    pub id: Option<&'a str>,
    /// As it stands in an address.
    pub query: String,
    pub body: Option<Map<String, Value>>,
}

/// The answer of an operation.
pub struct OperationAnswer {
    pub body: Value,
    /// What the browser is to keep, or to forget.
    pub cookies: Vec<HeaderValue>,
}

/// Why an operation refused.
#[derive(Debug)]
pub struct OperationRefusal {
    pub status: StatusCode,
    pub code: String,
    /// The member of the body that was wrong.
    pub pointer: Option<String>,
    /// In how many seconds it may be tried again.
    pub wait: Option<String>,
}

impl From<OperationRefusal> for Problem {
    /// For a page that cannot be drawn without the answer: its status says enough.
    fn from(refused: OperationRefusal) -> Self {
        match refused.status {
            StatusCode::NOT_FOUND => Self::NOT_FOUND,
            StatusCode::TOO_MANY_REQUESTS => Self::TOO_MANY_REQUESTS,
            status if status.is_client_error() => {
                Self::new(status, "invalid_request", "this page cannot be shown")
            }
            _ => Self::UNAVAILABLE,
        }
    }
}

impl Operations<'_> {
    /// Calls an operation, and hands over its answer as it is.
    pub async fn send(&self, (method, path): Operation, asked: OperationRequest<'_>) -> Response {
        let Some(request) = self.request(method, path, asked) else {
            return Problem::NOT_FOUND.into_response();
        };
        let served = Router::new().route(path, me::methods(path)).with_state(self.app.clone());
        served.oneshot(request).await.into_response()
    }

    /// Calls an operation, and reads what it answers.
    pub async fn call(
        &self,
        operation: Operation,
        asked: OperationRequest<'_>,
    ) -> Result<OperationAnswer, OperationRefusal> {
        let (head, body) = self.send(operation, asked).await.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let cookies = head.headers.get_all(header::SET_COOKIE).iter().cloned().collect();
        if head.status.is_success() {
            return Ok(OperationAnswer { body, cookies });
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let wait = head.headers.get(header::RETRY_AFTER).and_then(|wait| wait.to_str().ok());
        Err(OperationRefusal {
            status: head.status,
            code: text(&body["code"]).unwrap_or_else(|| Problem::NOT_FOUND.code.to_owned()),
            pointer: text(&body["errors"][0]["pointer"]),
            wait: wait.map(str::to_owned),
        })
    }

    /// Reads what is at a path.
    pub async fn read<T: DeserializeOwned>(
        &self,
        path: &'static str,
        query: String,
    ) -> Result<T, Problem> {
        let asked = OperationRequest { query, ..OperationRequest::default() };
        let OperationAnswer { body, .. } = self.call((Method::GET, path), asked).await?;
        serde_json::from_value(body).map_err(|_| Problem::UNAVAILABLE)
    }

    /// Makes the request that the operation gets; none where an id does not fit into an address.
    fn request(&self, method: Method, path: &str, asked: OperationRequest<'_>) -> Option<Request> {
        let OperationRequest { id, query, body } = asked;
        let mut address = path.to_owned();
        if let Some(id) = id {
            let id: String = byte_serialize(id.as_bytes()).collect();
            address = address.replace("{id}", &id);
        }
        if !query.is_empty() {
            address = format!("{address}?{query}");
        }
        let content = match &body {
            Some(members) => Body::from(serde_json::to_vec(members).ok()?),
            None => Body::empty(),
        };
        let mut request = Request::builder().method(method).uri(address).body(content).ok()?;
        let headers = request.headers_mut();
        headers.clone_from(&self.head.headers);
        for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONTENT_TYPE] {
            headers.remove(name);
        }
        if body.is_some() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let extensions = request.extensions_mut();
        if let Some(peer) = self.head.extensions.get::<Peer>() {
            extensions.insert(*peer);
        }
        if let Some(id) = self.head.extensions.get::<RequestId>() {
            extensions.insert(id.clone());
        }
        Some(request)
    }
}
