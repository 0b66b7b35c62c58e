//! Proof of possession: which keys a caller holds. Every endpoint that issues or takes a token asks here, once, before
//! anything is granted (RFC 9449 §4.3).
//!
//! First what costs nothing is judged, then the signature. The use of a proof is written down last, by the commit that it leads
//! to or by [`spend`]: a caller that could be anyone has us commit nothing.

use super::{
    bearer::{PresentedToken, Scheme},
    signed_claims::{SignedClaims, SignedClaimsFault, needed, use_once},
};
use crate::{
    crypto::{ClientCertificate, SignedProof, is_dpop_nonce, mint_dpop_nonce},
    domain::{
        Context, Fingerprint,
        dpop::{ALGORITHMS, Claims, ProofUse, Rules, TYPE},
        possession::{Confirmation, HeldKeys},
        signing_keys::SigningAlgorithm,
    },
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        reading::read_token::ReadToken,
    },
};
use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, Method},
    response::Response,
};
use std::sync::Arc;

/// Where a proof is (RFC 9449 §4.1).
pub const DPOP: HeaderName = HeaderName::from_static("dpop");

/// A proof that is not believed; why is for the log alone.
pub const INVALID_PROOF: OAuthError =
    OAuthError::new(Code::InvalidDpopProof, "the DPoP proof is not good for this request");

/// A proof that another request has used up.
pub const USED_BEFORE: OAuthError = OAuthError::new(
    Code::InvalidDpopProof,
    "the DPoP proof was used before: sign one for each request",
);

/// A certificate that is not good now; its connection is older.
const UNTIMELY: OAuthError = OAuthError::new(
    Code::InvalidRequest,
    "the certificate of the connection has expired, or is not valid yet",
);

/// Where a nonce for the next proof is (RFC 9449 §8).
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The answer to a proof without a nonce of ours, or with one that is over; a fresh one comes with it.
const USE_NONCE: OAuthError = OAuthError::new(
    Code::UseDpopNonce,
    "the DPoP proof needs the nonce of the header DPoP-Nonce: sign another with it",
);

/// Gives a caller that sent a proof a nonce for the next one, where proofs need one.
pub fn give_nonce(app: &App, response: &mut Response) {
    let nonce = mint_dpop_nonce(&app.crypto.vault.now(), app.clock.now(), &*app.dice);
    if let Ok(nonce) = HeaderValue::try_from(nonce) {
        response.headers_mut().insert(DPOP_NONCE, nonce);
    }
}

/// The request that is to be proved for.
#[derive(Clone, Copy)]
pub struct ProofPlace<'a> {
    pub method: &'a Method,
    /// The path that was called.
    pub path: &'a str,
    pub headers: &'a HeaderMap,
    /// The access token that comes with it, where one does.
    pub token: Option<&'a str>,
    /// The certificate of the connection.
    pub certificate: Option<&'a ClientCertificate>,
}

/// What a request has proved.
#[derive(Clone, Debug, Default)]
pub struct ProofOfPossession {
    pub held: HeldKeys,
    /// To be used up, where there is a proof.
    pub proof: Option<ProofUse>,
}

/// Reads which keys the caller holds.
pub fn prove(app: &App, place: &ProofPlace<'_>) -> Result<ProofOfPossession, OAuthError> {
    let certificate = held_certificate(app, place)?;
    let ProofOfPossession { held, proof } = prove_by_signature(app, place)?;
    Ok(ProofOfPossession { held: HeldKeys { certificate, ..held }, proof })
}

/// Reads the certificate of the connection: the handshake has proved that the caller has its key.
fn held_certificate(app: &App, place: &ProofPlace<'_>) -> Result<Option<Fingerprint>, OAuthError> {
    let Some(certificate) = place.certificate else { return Ok(None) };
    match certificate.check_time(app.clock.now()) {
        Ok(()) => Ok(Some(certificate.print)),
        Err(why) => Err(UNTIMELY.because(why.to_string())),
    }
}

fn prove_by_signature(app: &App, place: &ProofPlace<'_>) -> Result<ProofOfPossession, OAuthError> {
    let mut given = place.headers.get_all(DPOP).iter();
    let text = match (given.next(), given.next()) {
        (None, _) => return Ok(ProofOfPossession::default()),
        (Some(one), None) => one.to_str().map_err(|_| INVALID_PROOF.because("it is no text"))?,
        (Some(_), Some(_)) => return Err(INVALID_PROOF.because("there are several")),
    };
    let (held, proof) = judge(app, place, text).map_err(|why| match why {
        SignedClaimsFault::NoNonce => USE_NONCE,
        why => INVALID_PROOF.because(why.to_string()),
    })?;
    Ok(ProofOfPossession { held, proof: Some(proof) })
}

fn judge(
    app: &App,
    place: &ProofPlace<'_>,
    text: &str,
) -> Result<(HeldKeys, ProofUse), SignedClaimsFault> {
    let proof = SignedProof::read(text)?;
    if proof.jws.typ.is_none() || !proof.jws.is_typed(&[TYPE]) {
        return Err(SignedClaimsFault::OtherType);
    }
    if !ALGORITHMS.contains(&proof.jws.algorithm) {
        return Err(SignedClaimsFault::OtherAlgorithm);
    }
    let read = SignedClaims::read(&proof.jws.payload)?;
    let claims = read_claims(&read)?;
    let nonce = read.text("nonce")?;
    let is_ours = |nonce| is_dpop_nonce(&app.crypto.vault.now(), nonce, app.clock.now());
    if app.settings.dpop_nonce && !nonce.is_some_and(is_ours) {
        return Err(SignedClaimsFault::NoNonce);
    }
    let rules = Rules {
        is_timed: app.settings.dpop_nonce,
        method: place.method.as_str(),
        origins: &app.settings.client_origins,
        path: place.path,
        token: place.token,
    };
    let expires_at = claims.check(&rules, app.clock.now())?;
    proof.verify()?;
    let held = HeldKeys { key: Some(proof.key), certificate: None };
    Ok((held, ProofUse { id: claims.id(proof.key), expires_at }))
}

/// Reads what a proof says of its request; judges nothing.
pub(crate) fn read_claims(read: &SignedClaims) -> Result<Claims, SignedClaimsFault> {
    let text = |name| needed(name, read.text(name)?).map(str::to_owned);
    Ok(Claims {
        jti: text("jti")?,
        method: text("htm")?,
        url: text("htu")?,
        issued: needed("iat", read.time("iat")?)?,
        not_before: read.time("nbf")?,
        expires: read.time("exp")?,
        token: read.text("ath")?.map(str::to_owned),
    })
}

/// Uses a proof up, where there is one, by a commit of its own.
pub async fn spend(
    app: &App,
    context: &Context,
    proof: Option<&ProofUse>,
) -> Result<(), OAuthError> {
    let Some(ProofUse { id, expires_at }) = proof else { return Ok(()) };
    if use_once(app, context, (id, *expires_at)).await? { Ok(()) } else { Err(USED_BEFORE) }
}

/// An access token whose key the caller holds, if it is bound to one.
pub struct HeldToken {
    pub claims: Arc<ReadToken>,
    /// To be used up, where there is a proof.
    pub proof: Option<ProofUse>,
}

/// Reads an access token of ours that a request presents. One that is bound is read only with its key, and by its scheme.
///
/// Its proof is used up by the caller of this, with [`spend`], once.
pub fn read_presented(
    app: &App,
    presented: &PresentedToken<'_>,
    place: &ProofPlace<'_>,
) -> Result<Option<HeldToken>, OAuthError> {
    let ProofOfPossession { held, proof } = match presented.scheme {
        Scheme::Bearer => {
            let certificate = held_certificate(app, place)?;
            ProofOfPossession { held: HeldKeys { key: None, certificate }, proof: None }
        }
        Scheme::Dpop => prove(app, &ProofPlace { token: Some(presented.token), ..*place })?,
    };
    let Some(claims) = app.read_held_token(presented.token, &held) else { return Ok(None) };
    let by_key = matches!(claims.cnf, Some(Confirmation::Key(_)));
    Ok((by_key == (presented.scheme == Scheme::Dpop)).then_some(HeldToken { claims, proof }))
}

/// Writes the challenge for a scheme, with what follows the realm (RFC 6750 §3, RFC 9449 §7.1).
pub fn challenge(scheme: Scheme, rest: &str) -> String {
    match scheme {
        Scheme::Bearer => format!("Bearer realm=\"porteiro\"{rest}"),
        Scheme::Dpop => {
            let algorithms = ALGORITHMS.map(SigningAlgorithm::name).join(" ");
            format!("DPoP realm=\"porteiro\", algs=\"{algorithms}\"{rest}")
        }
    }
}
