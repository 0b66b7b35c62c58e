//! `/api/organizations/{organization}/webhooks`: where the trail of the organization is sent (adr/0083).

use super::{
    call::{Answer, Call, gone, shown},
    caller::SUSPENDED,
    change::{Change as Changing, EXISTS, NOT_HELD},
    page::PageRequest,
};
use crate::{
    crypto::{draw_text, draw_uuid, draw_webhook_secret, webhook_secret_text},
    domain::{
        account::SealedSecret,
        webhook::{
            Change, Command, Create, MOST_WEBHOOKS, Order, Refusal, SECRET_PURPOSE, WEBHOOKS,
            Webhook as Machine,
        },
    },
    http::{answer::error::Problem, app::App, time::rfc3339},
};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;
use zeroize::Zeroizing;

/// An endpoint that the trail is sent to.
#[derive(Serialize, ToSchema)]
pub struct Webhook {
    id: String,
    url: String,
    /// The events that it is sent; all, where none is named.
    events: Vec<String>,
    enabled: bool,
    created_at: String,
    /// When its first delivery failed, if none has succeeded after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    failing_since: Option<String>,
    /// Why the server has disabled it, if it has: `failing` or `gone`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    disabled_because: Option<String>,
    /// Until when the secret before signs as well, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    former_secret_until: Option<String>,
    /// Shown in the answer that made it, and never again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    secret: Option<Zeroizing<String>>,
}

/// An endpoint that is to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// https; plain http on loopback alone.
    url: String,
    /// `noun.verb`, or `noun.*` for all of a noun; all events, where none is named.
    #[serde(default)]
    events: Vec<String>,
}

/// What is to change of an endpoint.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookChange {
    #[serde(default)]
    #[schema(nullable = false)]
    url: Option<String>,
    /// Replaces the events that were named.
    #[serde(default)]
    #[schema(nullable = false)]
    events: Option<Vec<String>>,
    #[serde(default)]
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

/// How a secret is rotated.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretRotation {
    /// For how many seconds the former secret signs as well; none unless it is said.
    #[serde(default)]
    overlap: u32,
}

const TOO_MANY: Problem = Problem::new(
    StatusCode::CONFLICT,
    "too_many_webhooks",
    "an organization has ten endpoints at most: delete one first",
);

const DISABLED: Problem = Problem::new(
    StatusCode::CONFLICT,
    "webhook_disabled",
    "a disabled endpoint is sent nothing: enable it first",
);

impl Webhook {
    fn of(call: &Call, machine: &Machine, secret: Option<Zeroizing<String>>) -> Option<Self> {
        let known = machine.known().filter(|one| one.organization == call.caller.organization)?;
        let now = call.app.clock.now();
        let former = machine.secrets().and_then(|secrets| secrets.former.as_ref());
        let former = former.filter(|former| now < former.signs_until);
        Some(Self {
            id: known.id.clone(),
            url: known.url.clone(),
            events: known.events.clone(),
            enabled: known.enabled,
            created_at: rfc3339(known.created_at),
            failing_since: known.failing_since.map(rfc3339),
            disabled_because: known.disabled_because.map(|why| why.name().to_owned()),
            former_secret_until: former.map(|former| rfc3339(former.signs_until)),
            secret,
        })
    }
}

/// A new secret, as it is shown and as it is kept.
struct FreshSecret {
    text: Zeroizing<String>,
    sealed: SealedSecret,
}

impl FreshSecret {
    fn of(app: &App, id: &str) -> Self {
        let secret = draw_webhook_secret(&*app.dice);
        let vault = app.crypto.vault.now();
        let sealed = vault.seal(SECRET_PURPOSE, id.as_bytes(), secret.expose(), &*app.dice);
        Self { text: webhook_secret_text(&secret), sealed: SealedSecret::new(sealed) }
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = PageRequest::of(&call, WEBHOOKS)?;
    let (slug, after) = (&call.caller.organization, asked.after_rank());
    let page = call.app.views.webhooks.page(WEBHOOKS, slug, after, asked.bound()).await?;
    let last = asked.last(&page);
    let webhooks = page.iter().filter_map(|(_, one)| Webhook::of(&call, &one.machine, None));
    Ok(asked.answer(webhooks.collect(), last))
}

pub async fn show(call: Call) -> Answer {
    let id = call.param("webhook").to_owned();
    answer(&call, StatusCode::OK, &id, None).await
}

pub async fn create(mut call: Call) -> Answer {
    let NewWebhook { url, events } = call.body()?;
    let mut changing = begin(&call).await?;
    let (id, place) = (draw_uuid(&*call.app.dice), free_place(&call).await?);
    let FreshSecret { text, sealed } = FreshSecret::of(&call.app, &id);
    let create = Create { id: id.clone(), place, url, events, secret: sealed };
    decide(&mut changing, &id, Order::Create(create)).await?;
    changing.finish().await?;
    answer(&call, StatusCode::CREATED, &id, Some(text)).await
}

pub async fn change(mut call: Call) -> Answer {
    let WebhookChange { url, events, enabled } = call.body()?;
    let (mut changing, id) = (begin(&call).await?, call.param("webhook").to_owned());
    own(&call, &mut changing, &id).await?;
    changing.expect::<Machine>(&call, &id).await?;
    decide(&mut changing, &id, Order::Change(Change { url, events, enabled })).await?;
    changing.finish().await?;
    answer(&call, StatusCode::OK, &id, None).await
}

pub async fn rotate(mut call: Call) -> Answer {
    let SecretRotation { overlap } = call.body()?;
    let (mut changing, id) = (begin(&call).await?, call.param("webhook").to_owned());
    own(&call, &mut changing, &id).await?;
    let FreshSecret { text, sealed } = FreshSecret::of(&call.app, &id);
    let overlap = Duration::from_secs(overlap.into());
    decide(&mut changing, &id, Order::Rotate { secret: sealed, overlap }).await?;
    changing.finish().await?;
    answer(&call, StatusCode::OK, &id, Some(text)).await
}

pub async fn test(call: Call) -> Answer {
    let (mut changing, id) = (begin(&call).await?, call.param("webhook").to_owned());
    own(&call, &mut changing, &id).await?;
    let caller = &call.caller;
    call.app.limits.attempts.charge_webhook_test(&caller.context, &caller.organization).await?;
    let message = format!("test_{}", draw_text(&*call.app.dice, 16));
    decide(&mut changing, &id, Order::Test { message }).await?;
    // The endpoint itself does not change: its row is written again, with the message.
    changing.commit.touch::<Machine>(&id).await?;
    changing.finish().await?;
    Ok(gone())
}

pub async fn delete(call: Call) -> Answer {
    let (mut changing, id) = (call.begin().await?, call.param("webhook").to_owned());
    own(&call, &mut changing, &id).await?;
    changing.expect::<Machine>(&call, &id).await?;
    decide(&mut changing, &id, Order::Delete).await?;
    changing.finish().await?;
    Ok(gone())
}

/// Begins a change that directs the trail somewhere: only of a caller who may read it.
async fn begin(call: &Call) -> Result<Changing, Problem> {
    if !call.may("audit:read") {
        return Err(NOT_HELD);
    }
    call.begin().await
}

/// Insists that an endpoint is one of the caller's organization.
async fn own(call: &Call, changing: &mut Changing, id: &str) -> Result<(), Problem> {
    let known = changing.commit.look::<Machine>(id).await?.known();
    let own = known.is_some_and(|one| one.organization == call.caller.organization);
    if own { Ok(()) } else { Err(Problem::NOT_FOUND) }
}

/// Finds a place that no endpoint has; of two callers who find the same one, the second loses.
async fn free_place(call: &Call) -> Result<u8, Problem> {
    let page = call.app.views.webhooks.first_page(WEBHOOKS, &call.caller.organization).await?;
    let taken = |place: &u8| {
        page.iter().filter_map(|one| one.machine.known()).any(|one| one.place == *place)
    };
    (0..MOST_WEBHOOKS).find(|place| !taken(place)).ok_or(TOO_MANY)
}

async fn decide(changing: &mut Changing, id: &str, order: Order) -> Result<(), Problem> {
    let command = Command::order(order, &changing.authority.home);
    let decided = changing.commit.decide::<Machine>(id, &command).await?;
    decided.map(drop).map_err(|refusal| refused(&refusal))
}

async fn answer(
    call: &Call,
    status: StatusCode,
    id: &str,
    secret: Option<Zeroizing<String>>,
) -> Answer {
    let seen = call.app.views.webhooks.look_anew(id).await?;
    let webhook = Webhook::of(call, &seen.machine, secret).ok_or(Problem::NOT_FOUND)?;
    Ok(shown(status, seen.version, &webhook))
}

fn refused(refusal: &Refusal) -> Problem {
    let wrong = |pointer: String| Problem::wrong_member(pointer, refusal.to_string());
    match refusal {
        Refusal::LongUrl | Refusal::Url(_) => wrong("#/url".to_owned()),
        Refusal::ManyEvents => wrong("#/events".to_owned()),
        Refusal::Event { place } => wrong(format!("#/events/{place}")),
        Refusal::Overlap => wrong("#/overlap".to_owned()),
        Refusal::Suspended => SUSPENDED,
        Refusal::Disabled => DISABLED,
        Refusal::Exists => EXISTS,
        Refusal::NotKnown => Problem::NOT_FOUND,
    }
}
