//! The answer to an authorization request: a code or an error, `state` and `iss`, on its way to the
//! client (RFC 6749 §4.1.2, RFC 9207 §2, OAuth 2.0 Form Post Response Mode §2).
//!
//! In the mode `query` a browser is redirected. In the mode `form_post` a page of ours posts a form. A
//! caller that drives a browser by JSON learns one address in both modes: that of the client, or that
//! of the page, which holds the form sealed and for a short time.

use crate::{
    domain::{
        Timestamp,
        authorization::{ReplyTo, ResponseMode},
    },
    http::{
        answer::{authorization_error::AuthorizationError, error::OAuthError, redirect},
        app::App,
        authorization::form_post,
    },
};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// What a client is told, and where.
#[derive(Clone, Serialize, Deserialize)]
pub struct AuthorizationResponse {
    #[serde(rename = "u")]
    pub redirect_uri: String,
    #[serde(rename = "m")]
    mode: ResponseMode,
    #[serde(rename = "p")]
    pub parameters: Vec<(String, Zeroizing<String>)>,
    /// After this it is not shown again.
    #[serde(rename = "e")]
    pub expires_at: Timestamp,
}

impl AuthorizationResponse {
    pub fn code(app: &App, reply_to: &ReplyTo, code: &str) -> Self {
        let expires_at = app.clock.now() + app.settings.lifetimes.authorization_code;
        Self::of(app, reply_to, &[("code", code)], expires_at)
    }

    pub fn error(app: &App, reply_to: &ReplyTo, error: &AuthorizationError) -> Self {
        let description = error.text();
        let told = [("error", error.code.name()), ("error_description", &*description)];
        Self::of(app, reply_to, &told, app.clock.now() + app.settings.lifetimes.flow)
    }

    fn of(app: &App, to: &ReplyTo, told: &[(&str, &str)], expires_at: Timestamp) -> Self {
        let state = to.state.as_deref().map(|state| ("state", state));
        let all = told.iter().copied().chain(state).chain([("iss", app.issuer.as_str())]);
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned().into());
        Self {
            redirect_uri: to.redirect_uri.clone(),
            mode: to.mode,
            parameters: all.map(owned).collect(),
            expires_at,
        }
    }

    /// Returns the address that a browser must be led to.
    pub fn address(&self, app: &App) -> Zeroizing<String> {
        match self.mode {
            ResponseMode::Query => {
                let pairs = self.parameters.iter();
                let pairs = pairs.map(|(name, value)| (name.as_str(), value.as_str()));
                redirect::with_query(&self.redirect_uri, pairs).into()
            }
            ResponseMode::FormPost => form_post::address(app, self),
        }
    }

    /// Answers a browser that is here.
    pub fn give(&self, app: &App) -> Result<Response, OAuthError> {
        match self.mode {
            ResponseMode::Query => redirect::see_other(&self.address(app)),
            ResponseMode::FormPost => form_post::page(self),
        }
    }
}
