//! `/api/organizations/{organization}/domains`: which domains the organization has proved to be its own (adr/0131).

use super::{
    call::{Answer, Call, gone, shown},
    caller::SUSPENDED,
    change::{CONFLICT, Change as Changing, EXISTS},
    page::PageRequest,
};
use crate::{
    actors::CommitError,
    crypto::{draw_text, draw_uuid},
    domain::{
        DomainName,
        domain_claim::{
            Add, CLAIMED_DOMAINS, Command, DOMAINS, DomainClaim, Finding, Known, MOST_DOMAINS,
            Order, Refusal, Standing, TOKEN_BYTES, claimed_name,
        },
    },
    http::{answer::error::Problem, time::rfc3339},
};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A domain of the organization.
#[derive(Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the contract calls it so")]
pub struct Domain {
    id: String,
    /// In lower case and without a trailing dot, as DNS has it.
    domain: String,
    /// `pending`, `verified` or `lost`.
    state: &'static str,
    record: DomainRecord,
    created_at: String,
    /// Since when it is proved, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    verified_at: Option<String>,
    /// Since when the record of a verified domain is not there: after seven days the domain is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    missing_since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    lost_at: Option<String>,
    /// Why it was lost, if it was: `record_missing` or `dns_unanswered`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    lost_because: Option<&'static str>,
}

/// The record that proves the domain, and that must stay.
#[derive(Serialize, ToSchema)]
pub struct DomainRecord {
    name: String,
    r#type: &'static str,
    value: String,
}

/// A domain that is to be proved.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDomain {
    domain: String,
}

const TOO_MANY: Problem = Problem::new(
    StatusCode::CONFLICT,
    "too_many_domains",
    "an organization has a hundred domains at most: remove one first",
);

const RECORD_MISSING: Problem = Problem::new(
    StatusCode::CONFLICT,
    "record_missing",
    "the TXT record is not there, or not yet: publish it as `record` says",
);

const UNANSWERED: Problem = Problem::new(
    StatusCode::CONFLICT,
    "dns_unanswered",
    "DNS does not say whether the record is there: try again later",
);

const HELD_ELSEWHERE: Problem = Problem::new(
    StatusCode::CONFLICT,
    "domain_held",
    "another organization has proved that the domain is its own",
);

impl Domain {
    fn of(known: &Known) -> Self {
        let (mut verified_at, mut missing_since, mut lost) = (None, None, None);
        match &known.standing {
            Standing::Pending => {}
            Standing::Verified(held) => {
                verified_at = Some(rfc3339(held.since));
                missing_since = held.missing_since.map(rfc3339);
            }
            Standing::Lost { at, because } => lost = Some((rfc3339(*at), because.name())),
        }
        let (lost_at, lost_because) = lost.unzip();
        let (name, value) = (known.domain.challenge(), known.value());
        Self {
            id: known.id.clone(),
            domain: known.domain.to_string(),
            state: known.state(),
            record: DomainRecord { name, r#type: "TXT", value },
            created_at: rfc3339(known.created_at),
            verified_at,
            missing_since,
            lost_at,
            lost_because,
        }
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = PageRequest::of(&call, DOMAINS)?;
    let (slug, after) = (&call.caller.organization, asked.after_rank());
    let page = call.app.views.domain_claims.page(DOMAINS, slug, after, asked.bound()).await?;
    let last = asked.last(&page);
    let known = page.iter().filter_map(|(_, one)| one.machine.known());
    Ok(asked.answer(known.map(Domain::of).collect(), last))
}

pub async fn show(call: Call) -> Answer {
    answer(&call, StatusCode::OK, call.param("domain")).await
}

pub async fn add(mut call: Call) -> Answer {
    let NewDomain { domain } = call.body()?;
    let domain = DomainName::parse(&domain)
        .map_err(|why| Problem::wrong_member("#/domain", why.to_string()))?;
    let mut changing = call.begin().await?;
    let claimed = claimed_name(&call.caller.organization, &domain);
    if call.app.store.find(CLAIMED_DOMAINS, &claimed).await?.is_some() {
        return Err(EXISTS);
    }
    let (id, place) = (draw_uuid(&*call.app.dice), free_place(&call).await?);
    let token = draw_text(&*call.app.dice, TOKEN_BYTES);
    decide(&mut changing, &id, Order::Add(Add { id: id.clone(), domain, place, token })).await?;
    // Another caller may have taken the place, or have added the same domain: it is looked at again.
    finish(changing, CONFLICT).await?;
    answer(&call, StatusCode::CREATED, &id).await
}

pub async fn verify(call: Call) -> Answer {
    let id = call.param("domain").to_owned();
    let seen = call.app.views.domain_claims.look_anew(&id).await?;
    let claim = own(&call, seen.machine.known())?;
    let caller = &call.caller;
    call.app.limits.attempts.charge_domain_check(&caller.context, &caller.organization).await?;
    let finding = call.app.domain_records.find_for_caller(claim).await;
    let finding: Finding = finding.ok_or(Problem::UNAVAILABLE)?;
    // Only now: DNS may have taken its time, and the caller may hold less than before.
    let mut changing = call.begin().await?;
    decide(&mut changing, &id, Order::Verify(finding)).await?;
    finish(changing, HELD_ELSEWHERE).await?;
    answer(&call, StatusCode::OK, &id).await
}

pub async fn remove(call: Call) -> Answer {
    let (mut changing, id) = (call.begin().await?, call.param("domain").to_owned());
    own(&call, changing.commit.look::<DomainClaim>(&id).await?.known())?;
    changing.expect::<DomainClaim>(&call, &id).await?;
    decide(&mut changing, &id, Order::Remove).await?;
    finish(changing, CONFLICT).await?;
    Ok(gone())
}

/// Insists that a claim is one of the caller's organization.
fn own<'a>(call: &Call, known: Option<&'a Known>) -> Result<&'a Known, Problem> {
    known.filter(|one| one.organization == call.caller.organization).ok_or(Problem::NOT_FOUND)
}

/// Finds a place that no claim of the organization has.
async fn free_place(call: &Call) -> Result<u8, Problem> {
    let slug = &call.caller.organization;
    let page = call.app.views.domain_claims.first_page(DOMAINS, slug).await?;
    let taken = |place: &u8| {
        page.iter().filter_map(|one| one.machine.known()).any(|one| one.place == *place)
    };
    (0..MOST_DOMAINS).find(|place| !taken(place)).ok_or(TOO_MANY)
}

async fn decide(changing: &mut Changing, id: &str, order: Order) -> Result<(), Problem> {
    let command = Command::order(order, &changing.authority.home);
    let decided = changing.commit.decide::<DomainClaim>(id, &command).await?;
    decided.map_err(|refusal| match refusal {
        Refusal::Suspended => SUSPENDED,
        Refusal::Exists => EXISTS,
        Refusal::NotKnown => Problem::NOT_FOUND,
        Refusal::RecordMissing => RECORD_MISSING,
        Refusal::Unanswered => UNANSWERED,
        Refusal::NotDue => CONFLICT,
    })
}

/// Commits; `taken` is what is answered where a name has another holder.
async fn finish(changing: Changing, taken: Problem) -> Result<(), Problem> {
    changing.commit.commit().await.map_err(|error| match error {
        CommitError::Conflict | CommitError::Unmet { .. } => CONFLICT,
        CommitError::Taken { .. } => taken,
        CommitError::Unavailable => Problem::UNAVAILABLE,
        CommitError::Unknown => Problem::OUTCOME_UNKNOWN,
    })
}

async fn answer(call: &Call, status: StatusCode, id: &str) -> Answer {
    let seen = call.app.views.domain_claims.look_anew(id).await?;
    let known = own(call, seen.machine.known())?;
    Ok(shown(status, seen.version, &Domain::of(known)))
}
