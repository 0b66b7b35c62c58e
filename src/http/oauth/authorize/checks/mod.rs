//! What every authorization request must satisfy, in this order: one file a check.
//!
//! Client and redirect URI have been proved before the first of them, so what is refused here can be
//! told to the client by a redirect.

mod acr_values;
mod client;
mod hint;
mod max_age;
mod nonce;
mod organization;
mod pkce;
mod prompt;
mod repeated;
mod request_object;
mod resource;
mod response_mode;
mod response_type;
mod scope;
mod state;

pub use state::LONGEST as LONGEST_STATE;

use super::proof::Proven;
use crate::{
    domain::{
        Fingerprint,
        assurance::Acr,
        authority::{Audience, MalformedScope, Scopes},
        authorization::{Prompt, Request},
        client::KnownClient,
    },
    http::{
        answer::{
            authorization_error::AuthorizationError,
            error::{Code, OAuthError},
        },
        app::App,
        extract::form::Form,
        facts::target::{self, Target},
    },
};

/// What a check looks at.
pub struct Asked<'a> {
    form: &'a Form,
    client: &'a KnownClient,
    scopes: Result<Scopes, MalformedScope>,
    /// Looked up before, since looking takes time.
    target: Result<Target, OAuthError>,
    hinted: Hinted,
}

/// What an `id_token_hint` comes to.
enum Hinted {
    Nothing,
    NotOurs,
    /// The subject it names.
    Subject(String),
}

/// What the checks make of it.
#[derive(Default)]
pub struct Draft {
    challenge: Option<Fingerprint>,
    scopes: Scopes,
    audience: Option<Audience>,
    organization: Option<String>,
    state: Option<String>,
    nonce: Option<String>,
    prompt: Prompt,
    max_age: Option<u32>,
    hint: Option<String>,
    acr_values: Vec<Acr>,
}

type Check = fn(&Asked<'_>, &mut Draft) -> Result<(), AuthorizationError>;

/// The table: to read it is to know in which order a request is judged.
const CHECKS: [Check; 15] = [
    repeated::check,
    client::check,
    response_type::check,
    response_mode::check,
    request_object::check,
    pkce::check,
    state::check,
    scope::check,
    resource::check,
    organization::check,
    nonce::check,
    prompt::check,
    max_age::check,
    acr_values::check,
    hint::check,
];

pub async fn run(app: &App, form: &Form, proven: &Proven) -> Result<Request, AuthorizationError> {
    let scopes = Scopes::parse(form.get("scope").unwrap_or_default());
    let target = match (&scopes, form.resource()) {
        (Ok(scopes), Ok(resource)) => target::find(app, resource, scopes).await,
        (Err(_), _) => Err(OAuthError::new(Code::InvalidScope, "a scope is malformed")),
        (_, Err(error)) => Err(error),
    };
    let client = proven.client();
    let hinted = match form.get("id_token_hint") {
        None => Hinted::Nothing,
        Some(token) => {
            app.subject_of_id_token(token, client).map_or(Hinted::NotOurs, Hinted::Subject)
        }
    };
    let asked = Asked { form, client, scopes, target, hinted };
    let mut draft = Draft::default();
    for check in CHECKS {
        check(&asked, &mut draft)?;
    }
    let (Some(challenge), Some(audience)) = (draft.challenge, draft.audience) else {
        return Err(AuthorizationError::invalid("the request is incomplete"));
    };
    Ok(Request {
        client_id: client.client_id.clone(),
        redirect_uri: proven.redirect_uri.clone(),
        state: draft.state,
        nonce: draft.nonce,
        challenge,
        scopes: draft.scopes,
        audience,
        organization: draft.organization,
        prompt: draft.prompt,
        max_age: draft.max_age,
        hint: draft.hint,
        acr_values: draft.acr_values,
    })
}
