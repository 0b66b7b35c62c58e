//! Where the parameters of an authorization request are: in the request itself, or in one that the
//! client has pushed before (RFC 9126 §4). What stands beside a pushed request is ignored.

use super::pushed;
use crate::{
    domain::{client::KnownClient, pushed_request::Pushed},
    http::{answer::error::OAuthError, app::App, extract::form::Form},
};

/// The parameters of a request, and where they were.
pub struct Source<'a> {
    held: Held<'a>,
    /// The request was pushed.
    pub pushed: Option<Pushed>,
}

enum Held<'a> {
    Here(&'a Form),
    Elsewhere(Form),
}

impl Source<'_> {
    pub fn form(&self) -> &Form {
        match &self.held {
            Held::Here(form) => form,
            Held::Elsewhere(form) => form,
        }
    }
}

pub async fn resolve<'a>(
    app: &App,
    client: &KnownClient,
    form: &'a Form,
) -> Result<Source<'a>, OAuthError> {
    match form.get("request_uri").filter(|uri| pushed::is_pushed(uri)) {
        Some(request_uri) => {
            let (form, pushed) = pushed::open(app, &client.client_id, request_uri).await?;
            Ok(Source { held: Held::Elsewhere(form), pushed: Some(pushed) })
        }
        None => Ok(Source { held: Held::Here(form), pushed: None }),
    }
}
