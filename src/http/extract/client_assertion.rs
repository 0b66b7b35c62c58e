//! `private_key_jwt`: a client signs who it is (RFC 7523, OIDC Core §9).
//!
//! First what costs nothing is judged, then the signature, and only then is the use written down: a
//! caller without the client's key has us commit nothing.

use super::{
    signed_claims::{SignedClaims, SignedClaimsFault, needed, use_once},
    unauthenticated::{AuthenticationFailure, Disbelief},
};
use crate::{
    crypto::{ClientEvidence, Jws},
    domain::{
        Context,
        client::KnownClient,
        client_assertion::{Claims, Rules},
    },
    http::{app::App, clients::client_keys, routes},
};

/// What an assertion may call itself: nothing that says it is something else (RFC 8725 §3.11).
const TYPES: [&str; 2] = ["jwt", "client-authentication+jwt"];

/// An assertion that nothing is believed of yet.
pub struct Assertion<'a> {
    jws: Jws<'a>,
    claims: Claims,
}

/// The place where an assertion was presented.
pub struct AssertionPlace<'a> {
    pub context: &'a Context,
    /// The path that was called.
    pub path: &'a str,
}

impl<'a> Assertion<'a> {
    pub fn read(text: &'a str) -> Result<Self, SignedClaimsFault> {
        let jws = Jws::read(text)?;
        if !jws.is_typed(&TYPES) {
            return Err(SignedClaimsFault::OtherType);
        }
        let read = SignedClaims::read(&jws.payload)?;
        let text = |name| needed(name, read.text(name)?).map(str::to_owned);
        let claims = Claims {
            issuer: text("iss")?,
            subject: text("sub")?,
            audience: needed("aud", read.audience()?)?,
            jti: text("jti")?,
            expires: needed("exp", read.time("exp")?)?,
            not_before: read.time("nbf")?,
            issued: read.time("iat")?,
        };
        Ok(Self { jws, claims })
    }

    /// Whom it says it is from.
    pub fn client_id(&self) -> &str {
        &self.claims.subject
    }

    /// Believes it if it is this client's, good now and here, and was never used.
    pub async fn judge(
        &self,
        app: &App,
        client: &KnownClient,
        presented: AssertionPlace<'_>,
    ) -> Result<(), AuthenticationFailure> {
        let origins = app.settings.client_origins.iter();
        let at = |origin| [routes::TOKEN, presented.path].map(|path| format!("{origin}{path}"));
        let endpoints: Vec<String> = origins.flat_map(at).collect();
        let endpoints: Vec<&str> = endpoints.iter().map(String::as_str).collect();
        let (client_id, profile) = (&*client.client_id, client.require_profile);
        let rules = Rules { client_id, profile, issuer: &app.issuer, endpoints: &endpoints };
        let checked = self.claims.check(&rules, app.clock.now());
        let expires_at = checked.map_err(SignedClaimsFault::from)?;
        let registered = client.metadata.token_endpoint_auth_signing_alg;
        let algorithm = self.jws.algorithm;
        if registered.is_some_and(|one| one != algorithm) || !client.rules().allows(algorithm) {
            return Err(SignedClaimsFault::OtherAlgorithm.into());
        }
        let verified = client_keys::verify(app, client, ClientEvidence::Signature(&self.jws)).await;
        let by_key = |why| Disbelief::Assertion(SignedClaimsFault::from(why));
        verified.map_err(|why| AuthenticationFailure::by_key(why, by_key))?;
        let used = (&*self.claims.id(), expires_at);
        match use_once(app, presented.context, used).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(SignedClaimsFault::UsedBefore.into()),
            Err(error) => Err(AuthenticationFailure::Failed(error)),
        }
    }
}
