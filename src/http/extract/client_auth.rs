//! Which client is speaking: RFC 6749 §2.3, OAuth 2.1 §2.4.
//!
//! A client presents a secret in the Authorization header or in the body, a signed assertion, or the certificate of its
//! connection; one of these, and only in the way it was registered for. A caller that fails is told the same, whatever was wrong, and costs the
//! same; one that fails too often is told to wait, and is judged all the same.

use super::{
    client_assertion::AssertionPlace,
    client_certificate,
    client_credentials::{ClientCredentials, FAILED},
    form::PostedForm,
    possession::{self, ProofOfPossession, ProofPlace},
    unauthenticated::{AuthenticationFailure, Disbelief},
};
use crate::http::{
    answer::error::{Code, OAuthError},
    app::App,
    clients,
    limits::client_failures::Proof,
};
use crate::{
    actors::EntitySnapshot,
    domain::{
        Actor, Context, Fingerprint, Machine as _,
        client::{AuthMethod, Client, KnownClient, LONGEST_ID},
        possession::{Possession, Unbound},
    },
};
use axum::http::Method;
use std::{net::IpAddr, sync::Arc};

/// A client that has proved who it is, or a public one, which cannot.
pub struct Caller {
    seen: Arc<EntitySnapshot<Client>>,
    pub confidential: bool,
    /// Of the request; the client acts.
    pub context: Context,
    /// The keys that it holds.
    pub proved: ProofOfPossession,
}

impl Caller {
    pub fn client(&self) -> &KnownClient {
        self.seen.machine.known().expect("an unknown client is never authenticated")
    }

    /// The client as it was seen.
    pub fn seen(&self) -> &Arc<EntitySnapshot<Client>> {
        &self.seen
    }

    /// Says what a token is bound to that is issued to it now, or why it gets none.
    pub fn possession(&self) -> Result<Possession, OAuthError> {
        let ProofOfPossession { held, proof } = &self.proved;
        let bound = self.client().binding_rules().bind(held).map_err(unbound)?;
        Ok(Possession {
            held: *held,
            bound,
            binds_refresh: !self.confidential,
            proof: proof.clone(),
        })
    }

    /// The same where no commit uses the proof up: it is used up now.
    pub async fn possession_spent(&self, app: &App) -> Result<Possession, OAuthError> {
        let possession = self.possession()?;
        possession::spend(app, &self.context, possession.proof.as_ref()).await?;
        Ok(Possession { proof: None, ..possession })
    }

    /// Insists on a client that has proved who it is.
    pub fn confidential(&self) -> Result<&KnownClient, OAuthError> {
        if self.confidential { Ok(self.client()) } else { Err(FAILED) }
    }
}

fn unbound(why: Unbound) -> OAuthError {
    let code = match why {
        Unbound::NoProof => Code::InvalidDpopProof,
        Unbound::NoCertificate | Unbound::Neither => Code::InvalidRequest,
    };
    OAuthError::new(code, why.description())
}

/// Finds out which client is speaking; nothing is fetched to know it.
pub async fn authenticate(
    app: &App,
    context: Context,
    posted: &PostedForm,
) -> Result<Caller, OAuthError> {
    let find = async |id: &str| Ok(clients::find(app, id, false).await?);
    authenticate_by(app, context, posted, find).await
}

/// The same where a grant begins: a client may be known by a document that has to be fetched.
pub async fn authenticate_to_begin(
    app: &App,
    context: Context,
    posted: &PostedForm,
) -> Result<Caller, OAuthError> {
    let find = async |id: &str| clients::find_to_begin(app, id, posted.address).await;
    authenticate_by(app, context, posted, find).await
}

async fn authenticate_by(
    app: &App,
    context: Context,
    posted: &PostedForm,
    find: impl AsyncFnOnce(&str) -> Result<Arc<EntitySnapshot<Client>>, OAuthError>,
) -> Result<Caller, OAuthError> {
    let presented = ClientCredentials::read(&posted.headers, &posted.form)?;
    if presented.client_id.len() > LONGEST_ID {
        return Err(refusal(app, &presented, posted.address, &Disbelief::UnknownClient));
    }
    let seen = find(&presented.client_id).await?;
    believe(app, context, posted, (&presented, seen)).await
}

/// Believes a request to be from the client that it names, if that is proved.
async fn believe(
    app: &App,
    context: Context,
    posted: &PostedForm,
    (presented, seen): (&ClientCredentials<'_>, Arc<EntitySnapshot<Client>>),
) -> Result<Caller, OAuthError> {
    let context = context.by(Actor::Client(presented.client_id.clone()));
    let known = seen.machine.known().filter(|_| seen.machine.live_until() > app.clock.now());
    let confidential = match judge(app, &context, posted, (presented, known)).await {
        Ok(confidential) => confidential,
        Err(AuthenticationFailure::Disbelieved(why)) => {
            return Err(refusal(app, presented, posted.address, &why));
        }
        Err(AuthenticationFailure::Failed(error)) => return Err(error),
    };
    let place = ProofPlace {
        method: &Method::POST,
        path: &posted.path,
        headers: &posted.headers,
        token: None,
        certificate: posted.certificate.as_deref(),
    };
    let proved = possession::prove(app, &place)?;
    Ok(Caller { seen, confidential, context, proved })
}

/// Tells whether the client has proved itself, or is one that cannot.
async fn judge(
    app: &App,
    context: &Context,
    posted: &PostedForm,
    (presented, known): (&ClientCredentials<'_>, Option<&KnownClient>),
) -> Result<bool, AuthenticationFailure> {
    // A hash for each secret whether or not there is something to compare it with.
    let prints = presented.secrets.iter().map(|secret| Fingerprint::of(secret.expose()));
    let prints: Vec<Fingerprint> = prints.collect();
    let client = known.ok_or(Disbelief::UnknownClient)?;
    let method = presented.method_of(known);
    if !client.authenticates_by(method) {
        return Err(Disbelief::OtherMethod.into());
    }
    match method {
        AuthMethod::None => return Ok(false),
        AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost => {
            if !client.has_secret(&prints, app.clock.now()) {
                return Err(Disbelief::WrongSecret.into());
            }
        }
        // Boxed, as most callers come with a secret.
        AuthMethod::PrivateKeyJwt => {
            let assertion = presented.assertion.as_ref().ok_or(Disbelief::OtherMethod)?;
            let place = AssertionPlace { context, path: &posted.path };
            Box::pin(assertion.judge(app, client, place)).await?;
        }
        AuthMethod::TlsClientAuth | AuthMethod::SelfSignedTlsClientAuth => {
            let certificate = posted.certificate.as_ref().ok_or(Disbelief::NoCertificate)?;
            Box::pin(client_certificate::judge(app, client, method, certificate)).await?;
        }
    }
    Ok(true)
}

/// Counts a failure, and says the same of all of them until there are too many.
fn refusal(
    app: &App,
    presented: &ClientCredentials<'_>,
    address: IpAddr,
    why: &Disbelief,
) -> OAuthError {
    // Of an unknown client too, or the limit would tell which clients exist.
    let failures = &app.limits.client_failures;
    let counted = failures.count(Proof::Secret, &presented.client_id, address, app.clock.now());
    let refused = counted.map_or_else(OAuthError::from, |()| FAILED);
    // A client id is public; the secret is not even in reach.
    refused.because(format!("{why}: {} from {address}", presented.told()))
}
