//! The answer to an authorization request: a code or an error, `state` and `iss`, on its way to the
//! client (RFC 6749 §4.1.2, RFC 9207 §2, OAuth 2.0 Form Post Response Mode §2, JARM §2).
//!
//! In the mode `query` a browser is redirected. In the mode `form_post` a page of ours posts a form. A
//! caller that drives a browser by JSON learns one address in both modes: that of the client, or that
//! of the page, which holds the form sealed and for a short time. In the modes that end with `jwt` all of it
//! is in one signed parameter, and nothing stands beside it.

use crate::{
    domain::{
        Timestamp,
        authorization::{Carrier, ReplyTo, ResponseJwt},
    },
    http::{
        answer::{authorization_error::AuthorizationError, error::OAuthError, redirect},
        app::App,
        authorization::form_post,
    },
};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};
use zeroize::Zeroizing;

/// JARM names no type; ours are told apart by what they say, and no reader of another takes them.
const TYPE: &str = "JWT";

/// JARM §2.1 recommends ten minutes at most.
const LONGEST: Duration = Duration::from_mins(10);

/// Time for a slow browser, though a code may live for less.
const SHORTEST: Duration = Duration::from_mins(1);

/// What a client is told, and where.
#[derive(Clone, Serialize, Deserialize)]
pub struct AuthorizationResponse {
    #[serde(rename = "u")]
    pub redirect_uri: String,
    #[serde(rename = "m")]
    carrier: Carrier,
    #[serde(rename = "p")]
    pub parameters: Vec<(String, Zeroizing<String>)>,
    /// After this it is not shown again.
    #[serde(rename = "e")]
    pub expires_at: Timestamp,
}

/// A signed answer (JARM §2.1).
#[derive(Serialize)]
struct SignedResponse<'a> {
    iss: &'a str,
    aud: &'a str,
    exp: i64,
    #[serde(flatten)]
    told: BTreeMap<&'a str, &'a str>,
}

impl AuthorizationResponse {
    pub fn code(app: &App, reply_to: &ReplyTo, code: &str) -> Result<Self, OAuthError> {
        Self::of(app, reply_to, &[("code", code)], app.settings.lifetimes.authorization_code)
    }

    pub fn error(
        app: &App,
        reply_to: &ReplyTo,
        error: &AuthorizationError,
    ) -> Result<Self, OAuthError> {
        let description = error.text();
        let told = [("error", error.code.name()), ("error_description", &*description)];
        Self::of(app, reply_to, &told, app.settings.lifetimes.flow)
    }

    fn of(
        app: &App,
        to: &ReplyTo,
        told: &[(&str, &str)],
        lives: Duration,
    ) -> Result<Self, OAuthError> {
        let state = to.state.as_deref().map(|state| ("state", state));
        let told = told.iter().copied().chain(state);
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned().into());
        let (parameters, lives) = match to.mode.jwt() {
            None => (told.chain([("iss", app.issuer.as_str())]).map(owned).collect(), lives),
            Some(jwt) => {
                let lives = lives.min(LONGEST);
                let signed = signed(app, jwt, told.collect(), lives.max(SHORTEST))?;
                (vec![("response".to_owned(), signed)], lives)
            }
        };
        Ok(Self {
            redirect_uri: to.redirect_uri.clone(),
            carrier: to.mode.carrier(),
            parameters,
            expires_at: app.clock.now() + lives,
        })
    }

    /// Returns the address that a browser must be led to.
    pub fn address(&self, app: &App) -> Zeroizing<String> {
        match self.carrier {
            Carrier::Query => {
                let pairs = self.parameters.iter();
                let pairs = pairs.map(|(name, value)| (name.as_str(), value.as_str()));
                redirect::with_query(&self.redirect_uri, pairs).into()
            }
            Carrier::FormPost => form_post::address(app, self),
        }
    }

    /// Answers a browser that is here.
    pub fn give(&self, app: &App) -> Result<Response, OAuthError> {
        match self.carrier {
            Carrier::Query => redirect::see_other(&self.address(app)),
            Carrier::FormPost => form_post::page(self),
        }
    }
}

/// Signs what the client alone is to believe.
fn signed(
    app: &App,
    jwt: &ResponseJwt,
    told: BTreeMap<&str, &str>,
    lives: Duration,
) -> Result<Zeroizing<String>, OAuthError> {
    let exp = (app.clock.now() + lives).seconds();
    let claims = SignedResponse { iss: &app.issuer, aud: &jwt.audience, exp, told };
    app.sign(jwt.algorithm, TYPE, &claims).map(Zeroizing::new)
}
