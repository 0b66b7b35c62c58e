//! Sends the trails of organizations to their endpoints, signed as Standard Webhooks has it (adr/0083).
//!
//! 1. The feed (`actors::feed`) leaves a message in the outbox for each endpoint that wants a row.
//! 2. The courier looks the endpoint and its organization up as they are now: what waits for an endpoint
//!    that is gone or disabled is not sent, and what waits for a suspended organization waits on.
//! 3. It signs with every secret that signs now, and posts through the guarded client.
//! 4. Only 2xx is a success. An endpoint that fails is left alone for as long as it has been failing, whatever waits
//!    for it, and is disabled after days; one that answers 410 is disabled at once.

use crate::{
    actors::{Courier, DeliveryFailure, DeliveryFuture, Entities, OutboxMessage, View},
    crypto::{SharedVault, sign_webhook},
    domain::{
        Clock, Context, Timestamp,
        organization::Organization,
        webhook::{Command, Delivery, Endpoint, Reply, SECRET_PURPOSE, Secrets, Webhook},
    },
    outbound::{OutboundClient, Request},
};
use hyper::{
    StatusCode,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::time::timeout;
use url::Url;

/// How long an endpoint may take.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// How long an endpoint that fails is left alone.
const SHORTEST_REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_hours(4);

/// When a message is looked at again whose organization is suspended.
const SUSPENDED: Duration = Duration::from_mins(10);

/// The dependencies of the courier: what deliveries are made with, once the server has started.
pub struct WebhookDependencies {
    pub webhooks: Entities<Webhook>,
    pub views: View<Webhook>,
    pub organizations: View<Organization>,
    pub vault: SharedVault,
    pub clock: Arc<dyn Clock>,
}

/// Carries messages to endpoints.
pub struct WebhookCourier {
    outbound: Arc<OutboundClient>,
    means: OnceLock<WebhookDependencies>,
}

/// Why an endpoint did not take a message.
enum Failure {
    /// Another try may succeed.
    Failed(String),
    /// It wants nothing more.
    Gone,
}

impl WebhookCourier {
    pub fn new(outbound: Arc<OutboundClient>) -> Self {
        Self { outbound, means: OnceLock::new() }
    }

    /// Gives it what it needs; before that it delivers nothing, and the first one counts.
    pub fn start(&self, means: WebhookDependencies) {
        let _ = self.means.set(means);
    }

    async fn tell(&self, message: &OutboxMessage) -> Result<(), DeliveryFailure> {
        let delivery = Delivery::read(&message.payload);
        let delivery = delivery.ok_or_else(DeliveryFailure::of_newer_version)?;
        let means = self.means.get().ok_or_else(|| later("the server has not started yet"))?;
        let seen = means.views.peek(&delivery.webhook).await;
        let seen = seen.map_err(|error| later(&error.to_string()))?;
        // Deleted or disabled since: there is nothing to deliver.
        let Some((endpoint, secrets)) = seen.machine.enabled() else { return Ok(()) };
        let home = means.organizations.peek(&endpoint.organization).await;
        let home = home.map_err(|error| later(&error.to_string()))?;
        if !home.machine.known().is_some_and(|home| home.enabled) {
            return Err(rests(SUSPENDED, "the organization is suspended"));
        }
        let request = signed(means, endpoint, secrets, &delivery)?;
        match self.post(request).await {
            Ok(()) => {
                if endpoint.failing_since.is_some() {
                    note(means, endpoint, Command::Delivered).await;
                }
                Ok(())
            }
            Err(Failure::Gone) => {
                note(means, endpoint, Command::RefusedForGood).await;
                Ok(())
            }
            Err(Failure::Failed(why)) => {
                let now = means.clock.now();
                let since = note(means, endpoint, Command::Failed).await;
                // Disabled by that: there is nothing to deliver any more.
                let seen = means.views.peek(&endpoint.id).await;
                if seen.is_ok_and(|seen| seen.machine.enabled().is_none()) {
                    return Ok(());
                }
                Err(rests(rest(since.unwrap_or(now), now), &why))
            }
        }
    }

    /// Tells whether the endpoint of a queue still fails, or its organization is suspended: one that was enabled again, or
    /// has taken a message of another node since, is called at once.
    async fn is_failing(&self, queue: &str) -> bool {
        let (Some(means), Some((slug, endpoint))) = (self.means.get(), queue.split_once('/'))
        else {
            return true;
        };
        let home = means.organizations.look(slug).await;
        if home.is_ok_and(|home| !home.machine.known().is_some_and(|home| home.enabled)) {
            return true;
        }
        let seen = means.views.look(endpoint).await;
        seen.map_or(true, |seen| {
            seen.machine.enabled().is_some_and(|(endpoint, _)| endpoint.failing_since.is_some())
        })
    }

    async fn post(&self, request: Request) -> Result<(), Failure> {
        let failed = |why: &str| Failure::Failed(why.to_owned());
        let answered = timeout(TIME_LIMIT, self.outbound.send(request)).await;
        let answered = answered.map_err(|_| failed("the endpoint did not answer in time"))?;
        let answer = answered.map_err(|error| failed(&error.to_string()))?;
        match answer.status {
            status if status.is_success() => Ok(()),
            StatusCode::GONE => Err(Failure::Gone),
            status => Err(Failure::Failed(format!("the endpoint answered {}", status.as_u16()))),
        }
    }
}

/// Makes the request of one try.
fn signed(
    means: &WebhookDependencies,
    endpoint: &Endpoint,
    secrets: &Secrets,
    delivery: &Delivery,
) -> Result<Request, DeliveryFailure> {
    let Delivery { id, body, .. } = delivery;
    let (now, vault) = (means.clock.now(), means.vault.now());
    let mut signatures = Vec::new();
    for sealed in secrets.that_sign(now) {
        let opened = vault.open(SECRET_PURPOSE, endpoint.id.as_bytes(), sealed.expose());
        let secret = opened.map_err(|error| later(&format!("its secret is {error}")))?;
        signatures.push(sign_webhook(&secret, id, now, body));
    }
    let url = Url::parse(&endpoint.url).map_err(|_| later("its url cannot be called"))?;
    let header =
        |text: &str| HeaderValue::from_str(text).map_err(|_| later("a header cannot be written"));
    // Plain http stands for loopback alone, which the guard lets through by configuration only.
    Ok(Request::post(url, body.clone())
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .header(HeaderName::from_static("webhook-id"), header(id)?)
        .header(HeaderName::from_static("webhook-timestamp"), header(&now.seconds().to_string())?)
        .header(HeaderName::from_static("webhook-signature"), header(&signatures.join(" "))?)
        .allow_plain_http())
}

/// Notes how an endpoint fares; returns since when it fails.
async fn note(
    means: &WebhookDependencies,
    endpoint: &Endpoint,
    command: Command,
) -> Option<Timestamp> {
    let Ok(replied) = means.webhooks.ask(&Context::node(), &endpoint.id, command).await else {
        tracing::warn!(webhook = endpoint.id, "how an endpoint fares could not be noted");
        return endpoint.failing_since;
    };
    match replied.reply {
        Reply::Failing(since) => since,
        Reply::Done => None,
    }
}

fn later(why: &str) -> DeliveryFailure {
    DeliveryFailure::Later(why.to_owned())
}

fn rests(rest: Duration, why: &str) -> DeliveryFailure {
    DeliveryFailure::QueueRests(Some(rest), why.to_owned())
}

/// An endpoint is left alone for as long as it has been failing.
fn rest(since: Timestamp, now: Timestamp) -> Duration {
    now.since(since).clamp(SHORTEST_REST, LONGEST_REST)
}

impl Courier for WebhookCourier {
    fn deliver<'a>(&'a self, message: &'a OutboxMessage) -> DeliveryFuture<'a> {
        Box::pin(self.tell(message))
    }

    fn must_rest<'a>(&'a self, queue: &'a str) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        Box::pin(self.is_failing(queue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_is_as_long_as_the_failing() {
        let start = Timestamp::from_millis(1_000_000);
        for (seconds, expected) in [(0, 5), (5, 5), (60, 60), (100_000, 4 * 3_600)] {
            let rested = rest(start, start + Duration::from_secs(seconds));
            assert_eq!(rested, Duration::from_secs(expected), "{seconds}");
        }
    }
}
