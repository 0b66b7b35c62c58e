//! What every authorization request must satisfy, in this order: one file a check.
//!
//! A request comes to several endpoints; a column says at which of them a check is made. At the
//! authorization endpoint client and redirect URI have been proved before the first of them, so what is
//! refused here can be told to the client by a redirect; at the others it is told in JSON.

mod acr_values;
mod authorization_details;
mod claims;
mod client;
mod dpop_jkt;
mod hint;
mod login_hint;
mod max_age;
mod nonce;
mod openid;
mod organization;
mod pkce;
mod prompt;
mod pushed;
mod registration;
mod repeated;
mod resource;
mod response_mode;
mod response_type;
mod scope;
mod signed;
mod state;

pub use state::LONGEST as LONGEST_STATE;

use super::{proof::ProvenClient, source::Source};
use crate::{
    domain::{
        Fingerprint,
        assurance::Acr,
        authority::{Audience, MalformedScope, Scopes},
        authorization::{Prompt, Request, RequestedGrant},
        authorization_details::{Details, MalformedDetails},
        client::KnownClient,
        requested_claims::RequestedClaims,
    },
    http::{
        answer::{
            authorization_error::AuthorizationError,
            error::{Code, OAuthError},
        },
        app::App,
        extract::form::Form,
        grants::target::{self, Sought, Target},
    },
};

/// The request that checks look at.
pub struct CheckedRequest<'a> {
    app: &'a App,
    form: &'a Form,
    client: &'a KnownClient,
    is_pushed: bool,
    is_signed: bool,
    /// Why a signed request was not taken.
    flaw: Option<&'a OAuthError>,
    scopes: Result<Scopes, MalformedScope>,
    /// None where none are asked for.
    details: Result<Details, MalformedDetails>,
    /// Looked up before, since looking takes time.
    target: Result<Target, OAuthError>,
    hinted: IdTokenHint,
}

/// What an `id_token_hint` comes to.
enum IdTokenHint {
    Nothing,
    NotOurs,
    /// The subject it names.
    Subject(String),
}

/// What the checks make of it.
#[derive(Default)]
pub struct Draft {
    challenge: Option<Fingerprint>,
    key: Option<Fingerprint>,
    scopes: Scopes,
    audience: Option<Audience>,
    organization: Option<String>,
    nonce: Option<String>,
    login_hint: Option<String>,
    ui_locales: Option<String>,
    prompt: Prompt,
    max_age: Option<u32>,
    hint: Option<String>,
    acr_values: Vec<Acr>,
    acr_is_essential: bool,
    claims: RequestedClaims,
    details: Details,
}

/// Where a request comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Authorize,
    /// RFC 9126.
    Pushed,
    /// RFC 8628.
    Device,
    /// CIBA Core §7.1.
    BackChannel,
}

use Endpoint::{Authorize, BackChannel, Device, Pushed};

type Check = fn(&CheckedRequest<'_>, &mut Draft) -> Result<(), AuthorizationError>;

/// Where a code is asked for.
const CODE: &[Endpoint] = &[Authorize, Pushed];
const EVERYWHERE: &[Endpoint] = &[Authorize, Pushed, Device, BackChannel];

/// The table: to read it is to know in which order a request is judged, and where.
const CHECKS: [(&[Endpoint], Check); 24] = [
    // What stands beside a request object is not the request: nothing else is said of it.
    (EVERYWHERE, signed::check),
    (EVERYWHERE, repeated::check),
    (CODE, client::check),
    (&[Device], client::check_device),
    (&[BackChannel], client::check_ciba),
    (&[Authorize], pushed::check),
    (CODE, response_type::check),
    (CODE, response_mode::check),
    (EVERYWHERE, registration::check),
    (CODE, pkce::check),
    (CODE, dpop_jkt::check),
    (CODE, state::check),
    (EVERYWHERE, scope::check),
    (&[BackChannel], openid::check),
    (EVERYWHERE, resource::check),
    (EVERYWHERE, authorization_details::check),
    (EVERYWHERE, organization::check),
    (CODE, nonce::check),
    (CODE, prompt::check),
    (CODE, max_age::check),
    (EVERYWHERE, acr_values::check),
    (CODE, hint::check),
    (CODE, claims::check),
    (CODE, login_hint::check),
];

/// Checks a request for a code.
pub async fn run(
    app: &App,
    source: &Source<'_>,
    proven: &ProvenClient,
    endpoint: Endpoint,
) -> Result<Request, AuthorizationError> {
    let mut draft = draft(app, source, proven.client(), endpoint).await?;
    let incomplete = AuthorizationError::invalid("the request is incomplete");
    let (challenge, key) = (draft.challenge.ok_or(incomplete)?, draft.key);
    let (nonce, login_hint) = (draft.nonce.take(), draft.login_hint.take());
    let (ui_locales, reply_to) = (draft.ui_locales.take(), proven.reply_to.clone());
    let (pushed, wanted) = (source.pushed.clone(), draft.wanted(proven.client())?);
    Ok(Request { wanted, reply_to, nonce, challenge, key, login_hint, ui_locales, pushed })
}

/// Checks a request that leads to no code: it names no redirect URI.
pub async fn run_without_code(
    app: &App,
    source: &Source<'_>,
    client: &KnownClient,
    endpoint: Endpoint,
) -> Result<RequestedGrant, AuthorizationError> {
    draft(app, source, client, endpoint).await?.wanted(client)
}

async fn draft(
    app: &App,
    source: &Source<'_>,
    client: &KnownClient,
    endpoint: Endpoint,
) -> Result<Draft, AuthorizationError> {
    let form = source.form();
    let scopes = Scopes::parse(form.get("scope").unwrap_or_default());
    let details = form.get("authorization_details").map_or(Ok(Details::default()), Details::parse);
    let none = Details::default();
    let target = match (&scopes, form.resource()) {
        (Ok(scopes), Ok(resource)) => {
            let details = details.as_ref().unwrap_or(&none);
            let organization = form.get("organization");
            let sought = Sought { client, scopes, details, organization };
            target::find(app, resource, sought).await
        }
        (Err(_), _) => Err(OAuthError::new(Code::InvalidScope, "a scope is malformed")),
        (_, Err(error)) => Err(error),
    };
    let hinted = match form.get("id_token_hint") {
        None => IdTokenHint::Nothing,
        Some(token) => app
            .subject_of_id_token(token, client)
            .map_or(IdTokenHint::NotOurs, IdTokenHint::Subject),
    };
    let is_pushed = source.pushed.is_some();
    let (is_signed, flaw) = (source.is_signed, source.flaw.as_ref());
    let asked = CheckedRequest {
        app,
        form,
        client,
        is_pushed,
        is_signed,
        flaw,
        scopes,
        details,
        target,
        hinted,
    };
    let mut draft = Draft::default();
    for (_, check) in CHECKS.iter().filter(|(endpoints, _)| endpoints.contains(&endpoint)) {
        check(&asked, &mut draft)?;
    }
    Ok(draft)
}

impl Draft {
    fn wanted(self, client: &KnownClient) -> Result<RequestedGrant, AuthorizationError> {
        let incomplete = AuthorizationError::invalid("the request is incomplete");
        Ok(RequestedGrant {
            client_id: client.client_id.clone(),
            scopes: self.scopes,
            audience: self.audience.ok_or(incomplete)?,
            organization: self.organization,
            prompt: self.prompt,
            max_age: self.max_age,
            hint: self.hint,
            acr_values: self.acr_values,
            acr_is_essential: self.acr_is_essential,
            claims: self.claims,
            details: self.details,
        })
    }
}
