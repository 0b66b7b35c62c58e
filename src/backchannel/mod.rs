//! Tells clients that a session has ended: OIDC Back-Channel Logout 1.0 (adr/0066). That a person has
//! decided on a request of theirs is told by [`ping`].
//!
//! 1. The commit that ends a session leaves a message in the outbox for each client that is told
//!    (`domain::session`).
//! 2. The courier looks the client up as it is now, makes a token and signs it with the key that signs
//!    now: after a pause of hours the token is as fresh as at the first try.
//! 3. It posts the token to the URI that the client registered, through the guarded client.
//! 4. An answer of 400 is for good (§2.8), as is a URI that must not be called and a client that is
//!    gone. All else is tried again until the message has expired; meanwhile the client is told nothing else.

mod ping;

pub use ping::{PingCourier, PingMeans};

use crate::{
    actors::{Courier, DeliveryFailure, DeliveryFuture, KeySnapshot, OutboxMessage, View},
    crypto::PairwiseSubjects,
    domain::{
        Clock,
        client::Client,
        logout::{LOGOUT_TOKEN, LogoutToken, Mint, SessionEnded},
    },
    outbound::{OutboundClient, OutboundError, Request},
};
use hyper::{
    StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{sync::watch, time::timeout};
use url::Url;

/// How long a client may take.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// The dependencies of the courier: what tokens are made of, once the server has started.
pub struct LogoutDependencies {
    pub issuer: String,
    pub keys: watch::Receiver<KeySnapshot>,
    pub clients: View<Client>,
    pub clock: Arc<dyn Clock>,
    pub pairwise: PairwiseSubjects,
}

/// Carries logout tokens.
pub struct LogoutCourier {
    outbound: Arc<OutboundClient>,
    means: OnceLock<LogoutDependencies>,
}

impl LogoutCourier {
    pub fn new(outbound: Arc<OutboundClient>) -> Self {
        Self { outbound, means: OnceLock::new() }
    }

    /// Gives it what it needs; before that it delivers nothing, and the first one counts.
    pub fn start(&self, means: LogoutDependencies) {
        let _ = self.means.set(means);
    }

    async fn tell(&self, message: &OutboxMessage) -> Result<(), DeliveryFailure> {
        let ended = SessionEnded::read(&message.payload);
        let ended = ended.ok_or_else(DeliveryFailure::of_newer_version)?;
        let means = self.means.get().ok_or_else(|| later("the server has not started yet"))?;
        let seen = means.clients.look(&ended.client_id).await;
        let seen = seen.map_err(|error| later(&error.to_string()))?;
        let gone = || never("the client is gone, or no longer wants to be told");
        let client = seen.machine.known().ok_or_else(gone)?;
        let uri = client.metadata.backchannel_logout_uri.as_deref().ok_or_else(gone)?;
        let uri = Url::parse(uri).map_err(|_| never("its uri cannot be called"))?;
        let signer = means.keys.borrow().signer(client.id_token_algorithm()).cloned();
        let signer = signer.ok_or_else(|| later("there is no key to sign with"))?;
        let subject = means.pairwise.known_to(client, &ended.account);
        // Each try has a token of its own: a client may refuse to see one twice (§2.6).
        let id = format!("{}-{}", message.id, message.attempt);
        let token = signer.sign(
            LOGOUT_TOKEN,
            &LogoutToken::from(Mint {
                issuer: &means.issuer,
                subject: &subject,
                ended: &ended,
                id: &id,
                now: means.clock.now(),
            }),
        );
        let token = token.map_err(|_| later("the token could not be signed"))?;
        self.post(uri, &token).await
    }

    async fn post(&self, uri: Url, token: &str) -> Result<(), DeliveryFailure> {
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        // Plain http is registered for loopback alone.
        let request = Request::post(uri, format!("logout_token={token}"))
            .header(CONTENT_TYPE, kind)
            .allow_plain_http();
        match in_time(self.outbound.send(request)).await {
            Ok(answer) if answer.status.is_success() => Ok(()),
            Ok(answer) => {
                let why = format!("the client answered {}", answer.status.as_u16());
                Err(if answer.status == StatusCode::BAD_REQUEST {
                    never(&why)
                } else {
                    fails(&why)
                })
            }
            Err(undelivered) => Err(undelivered),
        }
    }
}

/// Waits for a client, and no longer than it may take; an address that must not be called never will be.
async fn in_time<T>(
    call: impl Future<Output = Result<T, OutboundError>>,
) -> Result<T, DeliveryFailure> {
    let answered = timeout(TIME_LIMIT, call).await;
    let answered = answered.map_err(|_| fails("the client did not answer in time"))?;
    answered.map_err(|error| match error {
        OutboundError::Scheme
        | OutboundError::Credentials
        | OutboundError::BadUrl
        | OutboundError::Forbidden => never(&error.to_string()),
        _ => fails(&error.to_string()),
    })
}

/// The client takes nothing now: whatever else it is to be told waits.
fn fails(why: &str) -> DeliveryFailure {
    DeliveryFailure::QueueRests(None, why.to_owned())
}

fn later(why: &str) -> DeliveryFailure {
    DeliveryFailure::Later(why.to_owned())
}

fn never(why: &str) -> DeliveryFailure {
    DeliveryFailure::Never(why.to_owned())
}

impl Courier for LogoutCourier {
    fn deliver<'a>(&'a self, message: &'a OutboxMessage) -> DeliveryFuture<'a> {
        Box::pin(self.tell(message))
    }
}
