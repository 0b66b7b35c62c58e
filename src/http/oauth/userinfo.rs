//! What a person has let a client know of them: OIDC Core §5.3.
//!
//! Any live token with the scope `openid` will do, whatever API it is for (adr/0025).

use super::protected_resource;
use crate::{
    domain::{
        Context, access_token::Claims, account, authority::GROUPS, client::ClientMetadata,
        requested_claims::SCOPE_CLAIMS,
    },
    http::{
        answer::{
            error::{Code, OAuthError},
            never_stored, private_json,
        },
        app::App,
        extract::{
            bearer::{MissingToken, PresentedToken, Scheme, presented},
            client_certificate::RequestCertificate,
            context::RequestContext,
            form::{self, Form},
            origin::Origin,
            possession::{self, HeldToken, ProofPlace},
        },
        grants::{
            added_claims::{self, About, Place},
            token_validity,
        },
        limits::request_permits::WorkPermit,
        people::belonging,
        reading::read_token::ReadToken,
        routes,
    },
};
use axum::{
    extract::{FromRequestParts as _, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde_json::{Map, Value};
use std::sync::Arc;

const INVALID_TOKEN: OAuthError =
    OAuthError::new(Code::InvalidToken, "the access token is not good, or no longer");

pub async fn get(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    certificate: RequestCertificate,
    headers: HeaderMap,
) -> Response {
    let at = ProofPlace {
        method: &Method::GET,
        path: routes::USERINFO,
        headers: &headers,
        token: None,
        certificate: certificate.0.as_deref(),
    };
    let asked = UserinfoRequest { app: &app, context: &context, at };
    match app.limits.request_permits.work(address) {
        Ok(permit) => asked.answer(presented(&headers), &permit).await,
        Err(stopped) => OAuthError::from(stopped).into_response(),
    }
}

/// OIDC Core §5.3.1: the token may come in a form as well (RFC 6750 §2.2).
pub async fn post(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    certificate: RequestCertificate,
    headers: HeaderMap,
    request: OptionalForm,
) -> Response {
    let at = ProofPlace {
        method: &Method::POST,
        path: routes::USERINFO,
        headers: &headers,
        token: None,
        certificate: certificate.0.as_deref(),
    };
    let asked = UserinfoRequest { app: &app, context: &context, at };
    let ReceivedForm { form, permit } = match request.0 {
        Ok(arrived) => arrived,
        Err(error) => return error.into_response(),
    };
    match (presented(&headers), form.get("access_token")) {
        (Ok(presented), Some(_)) => challenge(
            &app,
            presented.scheme,
            OAuthError::new(
                Code::InvalidRequest,
                "the access token is presented in more than one way",
            ),
        ),
        (Err(MissingToken::None), Some(token)) => {
            asked.answer(Ok(PresentedToken { token, scheme: Scheme::Bearer }), &permit).await
        }
        (presented, _) => asked.answer(presented, &permit).await,
    }
}

/// A request for what a token tells.
struct UserinfoRequest<'a> {
    app: &'a App,
    context: &'a Context,
    at: ProofPlace<'a>,
}

/// A form, which is empty where the request has none.
pub struct OptionalForm(Result<ReceivedForm, OAuthError>);

struct ReceivedForm {
    form: Form,
    permit: WorkPermit,
}

impl axum::extract::FromRequest<App> for OptionalForm {
    type Rejection = std::convert::Infallible;

    async fn from_request(
        request: axum::extract::Request,
        app: &App,
    ) -> Result<Self, Self::Rejection> {
        let (mut head, body) = request.into_parts();
        if !head.headers.contains_key(header::CONTENT_TYPE) {
            let Origin(address) = Origin::from_request_parts(&mut head, app).await?;
            let permit = app.limits.request_permits.work(address).map_err(OAuthError::from);
            return Ok(Self(permit.map(|permit| ReceivedForm { form: Form::default(), permit })));
        }
        Ok(Self(
            async {
                let (body, permit) = form::arrived(&head, body, app).await?;
                Ok(ReceivedForm { form: Form::parse(&body)?, permit })
            }
            .await,
        ))
    }
}

impl UserinfoRequest<'_> {
    /// Answers; the permit is held until the answer is there.
    async fn answer(
        &self,
        presented: Result<PresentedToken<'_>, MissingToken>,
        _: &WorkPermit,
    ) -> Response {
        let scheme = presented.map_or(Scheme::Bearer, |presented| presented.scheme);
        let told = match presented {
            Ok(presented) => self.tell(&presented).await,
            // RFC 6750 §3.1: a caller without a token is told only how to present one.
            Err(MissingToken::None) => {
                let mut response = INVALID_TOKEN.into_response();
                let named = format!(", {}", protected_resource::named(self.app));
                if let Ok(bare) = HeaderValue::try_from(possession::challenge(scheme, &named)) {
                    response.headers_mut().insert(header::WWW_AUTHENTICATE, bare);
                }
                return response;
            }
            Err(MissingToken::Malformed) => Err(INVALID_TOKEN),
        };
        told.unwrap_or_else(|error| challenge(self.app, scheme, error))
    }

    async fn tell(&self, presented: &PresentedToken<'_>) -> Result<Response, OAuthError> {
        let Self { app, context, at } = self;
        let HeldToken { claims, proof } =
            possession::read_presented(app, presented, at)?.ok_or(INVALID_TOKEN)?;
        possession::spend(app, context, proof.as_ref()).await?;
        tell(app, claims).await
    }
}

/// RFC 6750 §3: the challenge repeats what the body says.
fn challenge(app: &App, scheme: Scheme, error: OAuthError) -> Response {
    let rest = format!(
        ", {}, error=\"{}\", error_description=\"{}\"",
        protected_resource::named(app),
        error.code.name(),
        error.description
    );
    let text = possession::challenge(scheme, &rest);
    let error = match error.code {
        // RFC 9449 §7.1: at a resource it is a matter of the token.
        Code::InvalidDpopProof | Code::UseDpopNonce => error.with_status(StatusCode::UNAUTHORIZED),
        _ => error,
    };
    let mut response = error.into_response();
    if let Ok(value) = HeaderValue::try_from(text) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
    response
}

async fn tell(app: &App, claims: Arc<ReadToken>) -> Result<Response, OAuthError> {
    let good = token_validity::of_token(app, &claims, None).await?.ok_or(INVALID_TOKEN)?;
    if !claims.scope.split(' ').any(|scope| scope == "openid") {
        let why = "the token was not granted the scope openid";
        return Err(OAuthError::new(Code::InsufficientScope, why));
    }
    let account = good.account().ok_or(INVALID_TOKEN)?;
    let about = About {
        subject: &claims.sub,
        account: &account.id,
        client_id: &claims.client_id,
        organization: claims.org.as_deref(),
        scope: &claims.scope,
    };
    let mut told = told(&claims, account);
    if let Some(slug) = &claims.org
        && claims.scope.split(' ').any(|scope| scope == GROUPS)
    {
        let roles = belonging::roles(app, &account.id, slug).await?;
        told.insert(GROUPS.to_owned(), roles.into());
    }
    told.extend(added_claims::ask(app, Place::Userinfo, about).await?);
    let client = app.views.clients.look(&claims.client_id).await?;
    let metadata = client.machine.known().map(|known| &known.metadata);
    match metadata.and_then(|metadata: &ClientMetadata| metadata.userinfo_signed_response_alg) {
        None => Ok(private_json(&told)),
        Some(algorithm) => {
            // OIDC Core §5.3.2: signed, it says who says it and to whom.
            told.insert("iss".to_owned(), Value::from(app.issuer.as_str()));
            told.insert("aud".to_owned(), Value::from(&*claims.client_id));
            let signed = app.sign(algorithm, "JWT", &told)?;
            let kind = HeaderValue::from_static("application/jwt");
            let mut response = ([(header::CONTENT_TYPE, kind)], signed).into_response();
            never_stored(&mut response);
            Ok(response)
        }
    }
}

fn told(claims: &Claims<'_>, account: &account::Known) -> Map<String, Value> {
    let mut told = Map::new();
    told.insert("sub".to_owned(), Value::from(&*claims.sub));
    if let Some(org) = &claims.org {
        told.insert("org".to_owned(), Value::from(&**org));
    }
    let of_scope = |scope: &str| {
        let found = SCOPE_CLAIMS.iter().find(|(name, _)| *name == scope);
        found.map(|(_, claims)| *claims).unwrap_or_default()
    };
    let scopes = claims.scope.split(' ').flat_map(of_scope).copied();
    let named = claims.userinfo_claims.as_deref().unwrap_or_default().split(' ');
    let granted: Vec<&str> = scopes.chain(named).collect();
    told.extend(account.tell(&granted));
    told
}
