//! What a caller of the management API presents: an access token, with the proof of its key where it is bound, or an API key.

use super::{caller::INVALID_TOKEN, denied::AccessDenial};
use crate::{
    crypto::API_KEY_PREFIX,
    domain::Context,
    http::{
        answer::error::{Code, OAuthError, Problem},
        app::App,
        extract::{
            bearer::{MissingToken, PresentedToken, Scheme, presented},
            client_certificate::RequestCertificate,
            possession::{self, HeldToken, ProofPlace},
        },
        reading::read_token::ReadToken,
    },
};
use axum::http::{StatusCode, request::Parts};
use std::{borrow::Cow, sync::Arc};

const INVALID_PROOF: Problem = Problem::new(
    StatusCode::UNAUTHORIZED,
    "invalid_dpop_proof",
    "the DPoP proof is not good for this request, or was used before",
);

const USE_NONCE: Problem = Problem::new(
    StatusCode::UNAUTHORIZED,
    "use_dpop_nonce",
    "the DPoP proof needs the nonce of the header DPoP-Nonce: sign another with it",
);

pub enum PresentedCredential<'a> {
    Key(Cow<'a, str>),
    Token(Arc<ReadToken>),
}

impl<'a> PresentedCredential<'a> {
    /// The same, of which nothing is the request's.
    pub fn into_owned(self) -> PresentedCredential<'static> {
        match self {
            Self::Key(text) => PresentedCredential::Key(Cow::Owned(text.into_owned())),
            Self::Token(token) => PresentedCredential::Token(token),
        }
    }

    /// Reads it, once for each request: its proof is used up. A token must be for an audience that is taken.
    pub async fn of(
        app: &App,
        context: &Context,
        head: &'a Parts,
        is_audience: impl Fn(&str) -> bool,
    ) -> Result<Self, AccessDenial> {
        let given = presented(&head.headers).map_err(|missing| match missing {
            // RFC 6750 §3.1: a caller without a token is told only how to present one.
            MissingToken::None => AccessDenial::challenged(INVALID_TOKEN, String::new()),
            MissingToken::Malformed => invalid_token(),
        })?;
        let PresentedToken { token, scheme } = given;
        if token.starts_with(API_KEY_PREFIX) && scheme == Scheme::Bearer {
            return Ok(Self::Key(Cow::Borrowed(token)));
        }
        let (method, path, headers) = (&head.method, head.uri.path(), &head.headers);
        let RequestCertificate(certificate) = RequestCertificate::of(head);
        let certificate = certificate.as_deref();
        let place = ProofPlace { method, path, headers, token: None, certificate };
        let read = possession::read_presented(app, &given, &place).map_err(|why| refused(&why))?;
        let read = read.filter(|held| is_audience(&held.claims.aud));
        let HeldToken { claims, proof } = read.ok_or_else(invalid_token)?;
        let spent = possession::spend(app, context, proof.as_ref()).await;
        spent.map_err(|why| refused(&why))?;
        Ok(Self::Token(claims))
    }
}

/// Refuses a token that is not good, or not with what was proved.
pub fn invalid_token() -> AccessDenial {
    let challenge = format!(", error=\"{}\"", Code::InvalidToken.name());
    AccessDenial::challenged(INVALID_TOKEN, challenge)
}

fn refused(why: &OAuthError) -> AccessDenial {
    let problem = match why.code {
        Code::InvalidDpopProof => INVALID_PROOF,
        Code::UseDpopNonce => USE_NONCE,
        _ => return AccessDenial::from(Problem::from(why.clone())),
    };
    AccessDenial::challenged(problem, format!(", error=\"{}\"", why.code.name()))
}
