//! What this server can do, in the words of RFC 8414 and OpenID Connect Discovery.
//!
//! It tells the truth: what is not served is not listed, and a list without entries is left out
//! (RFC 8414 §3.2).

use super::token;
use crate::{
    actors::Bound,
    crypto::passkeys::Passkeys,
    domain::{
        assurance::Acr,
        authority::OIDC_SCOPES,
        authorization::ResponseMode,
        client::{AuthMethod, DeliveryMode, GrantType},
        dpop,
        installation::SelfService,
        requested_claims,
        resource::RESOURCES,
        signing_keys::SigningAlgorithm,
    },
    http::{app::App, options::MutualTls, routes},
};
use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use std::ops::Not;

/// Lists the ways in which a client may authenticate that are served.
pub fn auth_methods(mutual_tls: Option<&MutualTls>) -> Vec<AuthMethod> {
    let by_authority = mutual_tls.is_some_and(|mutual_tls| mutual_tls.authorities.is_some());
    let always =
        [AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost, AuthMethod::PrivateKeyJwt];
    let by_certificate = [
        by_authority.then_some(AuthMethod::TlsClientAuth),
        mutual_tls.map(|_| AuthMethod::SelfSignedTlsClientAuth),
    ];
    always.into_iter().chain(by_certificate.into_iter().flatten()).collect()
}

/// What every ID token may say.
const TOKEN_CLAIMS: [&str; 11] =
    ["iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "sid", "org"];

#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a member that the standards define")]
struct Metadata<'a> {
    issuer: &'a str,
    authorization_endpoint: String,
    token_endpoint: String,
    userinfo_endpoint: String,
    jwks_uri: String,
    pushed_authorization_request_endpoint: String,
    device_authorization_endpoint: String,
    backchannel_authentication_endpoint: String,
    backchannel_token_delivery_modes_supported: Vec<&'static str>,
    backchannel_authentication_request_signing_alg_values_supported: Vec<&'static str>,
    backchannel_user_code_parameter_supported: bool,
    introspection_endpoint: String,
    revocation_endpoint: String,
    end_session_endpoint: String,
    backchannel_logout_supported: bool,
    backchannel_logout_session_supported: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_endpoint: Option<String>,
    /// A `client_id` may be the address of a document.
    client_id_metadata_document_supported: bool,
    scopes_supported: [&'static str; 7],
    response_types_supported: [&'static str; 1],
    response_modes_supported: [&'static str; 5],
    grant_types_supported: Vec<&'static str>,
    code_challenge_methods_supported: [&'static str; 1],
    authorization_response_iss_parameter_supported: bool,
    subject_types_supported: [&'static str; 2],
    acr_values_supported: Vec<&'static str>,
    prompt_values_supported: [&'static str; 4],
    claim_types_supported: [&'static str; 1],
    claims_supported: Vec<&'static str>,
    claims_parameter_supported: bool,
    request_parameter_supported: bool,
    request_uri_parameter_supported: bool,
    require_request_uri_registration: bool,
    request_object_signing_alg_values_supported: Vec<&'static str>,
    token_endpoint_auth_methods_supported: Vec<&'static str>,
    token_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    introspection_endpoint_auth_methods_supported: Vec<&'static str>,
    introspection_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    revocation_endpoint_auth_methods_supported: Vec<&'static str>,
    revocation_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    dpop_signing_alg_values_supported: [&'static str; 3],
    #[serde(skip_serializing_if = "Not::not")]
    tls_client_certificate_bound_access_tokens: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtls_endpoint_aliases: Option<Aliases>,
}

/// The endpoints where clients come with certificates (RFC 8705 §5): each that authenticates a client or takes a token.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "they are the names of the standards")]
struct Aliases {
    token_endpoint: String,
    pushed_authorization_request_endpoint: String,
    userinfo_endpoint: String,
    introspection_endpoint: String,
    revocation_endpoint: String,
    device_authorization_endpoint: String,
    backchannel_authentication_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_endpoint: Option<String>,
}

impl Aliases {
    fn at(url: &str, registration: bool) -> Self {
        let at = |path: &str| format!("{url}{path}");
        Self {
            token_endpoint: at(routes::TOKEN),
            pushed_authorization_request_endpoint: at(routes::PAR),
            userinfo_endpoint: at(routes::USERINFO),
            introspection_endpoint: at(routes::INTROSPECT),
            revocation_endpoint: at(routes::REVOKE),
            device_authorization_endpoint: at(routes::DEVICE),
            backchannel_authentication_endpoint: at(routes::CIBA),
            registration_endpoint: registration.then(|| at(routes::REGISTER)),
        }
    }
}

/// What an installation offers or does not.
struct Offer<'a> {
    /// Clients may register themselves.
    registration: bool,
    /// Hardware is vouched for.
    attests: bool,
    mutual_tls: Option<&'a MutualTls>,
}

/// What can change while we run: the keys, and what is provisioned.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "they are the names that the standards give")]
struct ChangingMetadata<'a> {
    id_token_signing_alg_values_supported: &'a [&'static str],
    userinfo_signing_alg_values_supported: &'a [&'static str],
    introspection_signing_alg_values_supported: &'a [&'static str],
    authorization_signing_alg_values_supported: &'a [&'static str],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization_details_types_supported: Vec<String>,
}

/// Writes what cannot change of the document of an issuer.
fn document(issuer: &str, offer: &Offer<'_>) -> String {
    let Offer { registration, attests, mutual_tls } = *offer;
    let reachable = |acr: &Acr| attests || *acr != Acr::Aal3;
    let at = |path: &str| format!("{issuer}{path}");
    // What clients sign is verified with keys of theirs.
    let theirs = || SigningAlgorithm::ALL.map(SigningAlgorithm::name).to_vec();
    let confidential =
        || auth_methods(mutual_tls).into_iter().map(AuthMethod::name).collect::<Vec<_>>();
    let alias = mutual_tls.and_then(|mutual_tls| mutual_tls.url.as_deref());
    let delivery_modes = DeliveryMode::ALL.iter().copied().map(DeliveryMode::name);
    let metadata = Metadata {
        issuer,
        authorization_endpoint: at(routes::AUTHORIZE),
        token_endpoint: at(routes::TOKEN),
        userinfo_endpoint: at(routes::USERINFO),
        jwks_uri: at(routes::JWKS),
        pushed_authorization_request_endpoint: at(routes::PAR),
        device_authorization_endpoint: at(routes::DEVICE),
        backchannel_authentication_endpoint: at(routes::CIBA),
        backchannel_token_delivery_modes_supported: delivery_modes.collect(),
        backchannel_authentication_request_signing_alg_values_supported: theirs(),
        backchannel_user_code_parameter_supported: false,
        introspection_endpoint: at(routes::INTROSPECT),
        revocation_endpoint: at(routes::REVOKE),
        end_session_endpoint: at(routes::LOGOUT),
        backchannel_logout_supported: true,
        // Every ID token and every logout token names the session.
        backchannel_logout_session_supported: true,
        registration_endpoint: registration.then(|| at(routes::REGISTER)),
        client_id_metadata_document_supported: registration,
        scopes_supported: OIDC_SCOPES,
        // Neither implicit nor hybrid exist.
        response_types_supported: ["code"],
        response_modes_supported: ResponseMode::NAMES,
        grant_types_supported: token::grants().map(GrantType::name).collect(),
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        subject_types_supported: ["public", "pairwise"],
        acr_values_supported: Acr::ALL.into_iter().filter(reachable).map(Acr::name).collect(),
        prompt_values_supported: ["none", "login", "consent", "select_account"],
        claim_types_supported: ["normal"],
        claims_supported: TOKEN_CLAIMS.into_iter().chain(requested_claims::all()).collect(),
        claims_parameter_supported: true,
        request_parameter_supported: true,
        request_uri_parameter_supported: true,
        require_request_uri_registration: true,
        request_object_signing_alg_values_supported: theirs(),
        // A public client names itself and proves nothing (OAuth 2.1 §2.1).
        token_endpoint_auth_methods_supported: [confidential(), vec!["none"]].concat(),
        token_endpoint_auth_signing_alg_values_supported: theirs(),
        introspection_endpoint_auth_methods_supported: confidential(),
        introspection_endpoint_auth_signing_alg_values_supported: theirs(),
        // A public client may take back its own tokens (RFC 7009 §2.1).
        revocation_endpoint_auth_methods_supported: [confidential(), vec!["none"]].concat(),
        revocation_endpoint_auth_signing_alg_values_supported: theirs(),
        dpop_signing_alg_values_supported: dpop::ALGORITHMS.map(SigningAlgorithm::name),
        tls_client_certificate_bound_access_tokens: mutual_tls.is_some(),
        mtls_endpoint_aliases: alias.map(|url| Aliases::at(url, registration)),
    };
    serde_json::to_string(&metadata).expect("text and lists of it are JSON")
}

pub async fn get(State(app): State<App>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300")),
    ];
    let attests = app.crypto.passkeys.as_ref().is_some_and(Passkeys::asks_for_attestation);
    let mutual_tls = app.settings.mutual_tls.as_ref();
    // Where it cannot be read just now, clients still find the rest.
    let registration = app.is_open(SelfService::Registration).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "whether registration is open could not be read");
        false
    });
    let offer = Offer { registration, attests, mutual_tls };
    let document = || document(&app.issuer, &offer).into();
    let fixed = app.fixed.metadata[usize::from(registration)].get_or_init(document).clone();
    let signed = signed_with(&app);
    let changing = ChangingMetadata {
        id_token_signing_alg_values_supported: &signed,
        userinfo_signing_alg_values_supported: &signed,
        introspection_signing_alg_values_supported: &signed,
        authorization_signing_alg_values_supported: &signed,
        authorization_details_types_supported: types(&app).await,
    };
    let changing = serde_json::to_vec(&changing).expect("lists of texts are JSON");
    // Two objects become one.
    let (fixed, changing) = (fixed.strip_suffix(b"}"), changing.strip_prefix(b"{"));
    let whole = [fixed.unwrap_or_default(), b",", changing.unwrap_or_default()].concat();
    (headers, whole).into_response()
}

/// Lists the algorithms that this node can sign with now.
fn signed_with(app: &App) -> Vec<&'static str> {
    let keys = app.crypto.keys.borrow();
    let signs =
        |algorithm: &SigningAlgorithm| keys.signer(*algorithm).is_some_and(|one| one.signs());
    SigningAlgorithm::ALL.into_iter().filter(signs).map(SigningAlgorithm::name).collect()
}

/// As many APIs are looked at.
const APIS: Bound = Bound::new(Bound::MOST);

/// Lists the types of `authorization_details` that some API has (RFC 9396 §10). Where they cannot be read
/// just now, clients still find the rest.
async fn types(app: &App) -> Vec<String> {
    let resources = match app.views.resources.list_if(false, (RESOURCES, ""), APIS).await {
        Ok(resources) => resources,
        Err(error) => {
            tracing::warn!(%error, "the types of authorization_details could not be read");
            return Vec::new();
        }
    };
    let known = resources.iter().filter_map(|entry| entry.machine.known());
    let types = known.flat_map(|known| &known.authorization_details);
    let mut names: Vec<String> = types.map(|kind| kind.name.clone()).collect();
    names.sort_unstable();
    names
}
