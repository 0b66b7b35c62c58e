//! Where the parameters of an authorization request are: in the request itself, in an object that the
//! client has signed (RFC 9101), or in a request that it has pushed before (RFC 9126 §4). What stands
//! beside a signed or a pushed request is ignored.

use super::{pushed, request_object};
use crate::{
    domain::{client::KnownClient, pushed_request::Pushed},
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::form::Form,
    },
};

/// The parameters of a request, and where they were.
pub struct Source<'a> {
    held: FormPlace<'a>,
    /// The request was pushed.
    pub pushed: Option<Pushed>,
    /// The client has signed the request.
    pub is_signed: bool,
    /// Why a signed request was not taken. The parameters are then those beside it: they may say where
    /// the error goes.
    pub flaw: Option<OAuthError>,
}

enum FormPlace<'a> {
    Here(&'a Form),
    Elsewhere(Form),
}

impl<'a> Source<'a> {
    pub fn form(&self) -> &Form {
        match &self.held {
            FormPlace::Here(form) => form,
            FormPlace::Elsewhere(form) => form,
        }
    }

    fn here(form: &'a Form, flaw: Option<OAuthError>) -> Self {
        Self { held: FormPlace::Here(form), pushed: None, is_signed: false, flaw }
    }
}

pub async fn resolve<'a>(
    app: &App,
    client: &KnownClient,
    form: &'a Form,
) -> Result<Source<'a>, OAuthError> {
    const ONE: OAuthError =
        OAuthError::new(Code::InvalidRequest, "there is one request or request_uri");
    let is_repeated = form.is_repeated("request") || form.is_repeated("request_uri");
    let signed = match (form.get("request"), form.get("request_uri")) {
        (None, None) if !is_repeated => return Ok(Source::here(form, None)),
        (None, Some(request_uri)) if pushed::is_pushed(request_uri) && !is_repeated => {
            let (form, pushed, is_signed) =
                pushed::open(app, &client.client_id, request_uri).await?;
            let (held, pushed) = (FormPlace::Elsewhere(form), Some(pushed));
            return Ok(Source { held, pushed, is_signed, flaw: None });
        }
        (Some(object), None) if !is_repeated => request_object::given(app, client, object).await,
        (None, Some(uri)) if !is_repeated => request_object::fetched(app, client, uri).await,
        _ => Err(ONE),
    };
    Ok(match signed {
        Ok(form) => {
            Source { held: FormPlace::Elsewhere(form), pushed: None, is_signed: true, flaw: None }
        }
        Err(flaw) => Source::here(form, Some(flaw)),
    })
}

/// Finds the parameters of a backchannel authentication request: in the request itself, or in an object
/// that the client has signed (CIBA Core §7.1.1).
pub async fn of_back_channel<'a>(
    app: &App,
    client: &KnownClient,
    form: &'a Form,
) -> Result<Source<'a>, OAuthError> {
    let Some(object) = form.get("request") else {
        // CIBA Core §4: a client that registered how it signs always does.
        if client.metadata.backchannel_authentication_request_signing_alg.is_some() {
            return Err(OAuthError::new(Code::InvalidRequest, "the client signs its requests"));
        }
        return Ok(Source::here(form, None));
    };
    let form = request_object::of_back_channel(app, client, object).await?;
    Ok(Source { held: FormPlace::Elsewhere(form), pushed: None, is_signed: true, flaw: None })
}
