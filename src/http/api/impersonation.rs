//! `…/members/{membership}/impersonation`: an administrator acts as another member (adr/0089).
//!
//! What is issued is a delegation and says so: `sub` is the member, `act` the administrator. It lives for
//! minutes, rests on the administrator's own token and session, and is good for no API of ours, so that
//! it changes no credential, gives no consent and approves nothing.

use super::{
    admission::LONGEST_REASON,
    call::{Answer, Call},
    caller::{Holder, Token},
    change::NOT_HELD,
};
use crate::{
    actors::Failure,
    domain::{
        Timestamp,
        account::Account,
        assurance::Level,
        authority::{Audience, Scopes},
        authorization_details::Details,
        client::KnownClient,
        consent::Parties,
        delegation::{Act, Administrator, Delegation, Root},
        grant::{Grant, MembershipRef},
        is_hidden,
        membership::{Known, Membership},
        organization,
        possession::{HeldKeys, Possession},
        requested_claims::RequestedClaims,
        token_family::Narrowing,
    },
    http::{
        answer::{error::Problem, private_json},
        grants::target::{self, Sought},
        issuing::{self, DelegatedGrant, IssuanceFailure, TokenResponse},
        people::account_reading::AccountReading,
        reading::retries::FinalFailure,
    },
};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;

/// Why an administrator acts as another member, and for what.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Customers read it in their trail: 1 to 500 characters.
    #[schema(value_type = String)]
    reason: Reason,
    /// Scopes of one API, separated by spaces.
    scope: String,
    /// Seconds; never longer than access tokens live.
    #[serde(default)]
    #[schema(nullable = false, minimum = 1)]
    expires_in: Option<u32>,
}

/// A reason as it stands in the log.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Reason(String);

impl TryFrom<String> for Reason {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let text = text.trim();
        let fits = (1..=LONGEST_REASON).contains(&text.chars().count());
        // Rows of the log hold no addresses.
        if !fits || text.chars().any(|one| is_hidden(one) || one == '@') {
            return Err("has 1 to 500 characters that can be seen, and no @".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

/// A token to act as a member.
#[derive(Serialize, ToSchema)]
pub struct Impersonation {
    access_token: String,
    token_type: &'static str,
    expires_in: u64,
    scope: String,
}

const OFF: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "impersonation_off",
    "the organization does not let its administrators act as its members",
);

const BY_TOKEN: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "person_required",
    "only a person with a token of their own acts as another member",
);

const UNBOUND: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "binding_required",
    "the client may hold bound tokens alone, and the token of the caller is not bound: get another",
);

const ONESELF: Problem =
    Problem::new(StatusCode::CONFLICT, "oneself", "the member is the caller: act as yourself");

pub async fn begin(mut call: Call) -> Answer {
    let Wanted { reason, scope, expires_in } = call.body()?;
    let Holder::Member { account, membership } = call.caller.holder.clone() else {
        return Err(BY_TOKEN);
    };
    let token = call.caller.token.clone().ok_or(BY_TOKEN)?;
    let scopes = Scopes::parse(&scope).map_err(|_| wrong_scope("is malformed"))?;
    if scopes.is_empty() || scopes.iter().count() != scopes.of_apis().count() {
        return Err(wrong_scope("names scopes of an API, and no others"));
    }
    let administrator = Party { account, membership };
    let member = member(&call, &administrator).await?;
    let seen = call.app.views.clients.look(&token.client_id).await?;
    let client = seen.machine.known().ok_or(BY_TOKEN)?;
    let organization = Some(call.caller.organization.as_str());
    let sought = Sought { client, scopes: &scopes, details: &Details::default(), organization };
    let target = target::find(&call.app, None, sought).await;
    let target = target.map_err(|_| wrong_scope("names scopes of one API"))?;
    if call.app.is_built_in(target.audience.claim(&call.app.issuer)) {
        return Err(wrong_scope("is for this API: use a token of your own"));
    }
    let home = call.home.machine.known().ok_or(Problem::NOT_FOUND)?;
    let asked = expires_in.map(|seconds| Duration::from_secs(seconds.into()));
    let longest = call.app.settings.lifetimes.access_token;
    let until = call.app.clock.now() + asked.unwrap_or(longest).min(longest);
    let wanted =
        ImpersonationGrant { administrator, member, audience: target.audience, scopes, until };
    let grant = grant(&call, home, (&token, client), wanted).await?;
    let context = call.caller.context.clone().because(reason.0);
    let narrowing = Narrowing::default();
    // By the key that the administrator has just proved to hold: what is issued is no looser than what was presented, nor than
    // what the client may hold by now.
    let held = token.bound.map(HeldKeys::of).unwrap_or_default();
    let bound = client.binding_rules().bind(&held).map_err(|_| UNBOUND)?.or(token.bound);
    let possession = Possession { bound, ..Possession::default() };
    let starting = DelegatedGrant { grant, narrowing, token: None, possession };
    let issued = issuing::start(&call.app, (&context, &seen), starting).await;
    let TokenResponse { access_token, token_type, expires_in, scope, .. } =
        issued.map_err(refused)?;
    let body = Impersonation { access_token, token_type, expires_in, scope };
    let mut response = private_json(&body);
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Who acts: an account and its membership.
struct Party {
    account: String,
    membership: String,
}

/// The grant of an impersonation, which is to be issued.
struct ImpersonationGrant {
    administrator: Party,
    member: Known,
    audience: Audience,
    scopes: Scopes,
    until: Timestamp,
}

/// Returns the member whom the caller may act as: one who holds nothing that the caller does not.
async fn member(call: &Call, administrator: &Party) -> Result<Known, Problem> {
    let mut change = call.begin().await?;
    if !change.authority.home.impersonation {
        return Err(OFF);
    }
    let id = call.param("membership");
    let member = change.commit.look::<Membership>(id).await?.known().cloned();
    let belongs = |one: &Known| one.enabled && one.organization == change.authority.home.slug;
    let member = member.filter(belongs).ok_or(Problem::NOT_FOUND)?;
    if member.account == administrator.account {
        return Err(ONESELF);
    }
    let account = change.commit.look::<Account>(&member.account).await?.known();
    if account.ok_or(Problem::NOT_FOUND)?.administers {
        return Err(NOT_HELD);
    }
    // Nothing is given away: what is issued is good for no API of ours.
    let confers = change.authority.home.confers(&member.roles);
    match change.authority.grantor.held.missing(confers.iter()) {
        Some(_) => Err(NOT_HELD),
        None => Ok(member),
    }
}

async fn grant(
    call: &Call,
    home: &organization::Known,
    (token, client): (&Token, &KnownClient),
    begun: ImpersonationGrant,
) -> Result<Grant, Problem> {
    let ImpersonationGrant { administrator, member, audience, scopes, until } = begun;
    let app = &call.app;
    let own = app.views.memberships.look_anew(&administrator.membership).await?;
    let own = own.machine.known().ok_or(BY_TOKEN)?;
    let account = AccountReading::of(app, &administrator.account).await?;
    let own_epoch = account.epoch().ok_or(BY_TOKEN)?;
    let person = AccountReading::of(app, &member.account).await?;
    let person_epoch = person.epoch().ok_or(Problem::NOT_FOUND)?;
    let parties = Parties {
        account: member.account.clone(),
        client_id: client.client_id.clone(),
        organization: Some(home.slug.clone()),
    };
    let consent = app.views.consents.look_anew(&parties.id()).await?;
    // What the administrator came by ends what they do by it.
    let own_family = match token.families.last() {
        Some(id) => Some(app.views.families.look(id).await?),
        None => None,
    };
    let sign_on = own_family.as_ref().and_then(|seen| seen.machine.grant()?.sign_on.clone());
    let delegation = Delegation {
        root: Root::Token(token.id.clone()),
        through: Vec::new(),
        act: Act { sub: administrator.account.clone(), act: None },
        until,
        subject: None,
        administrator: Some(Administrator {
            epoch: own.person_epoch_at(home).saturating_add(own_epoch),
            account: administrator.account,
            membership: administrator.membership,
        }),
    };
    Ok(Grant {
        client_id: client.client_id.clone(),
        epoch: [
            person_epoch,
            consent.machine.epoch(),
            client.epoch,
            sign_on.as_ref().map_or(0, |sign_on| sign_on.epoch),
        ]
        .into_iter()
        .fold(0, u64::saturating_add),
        session: token.session.clone(),
        parents: token.families.clone(),
        membership: Some(MembershipRef {
            epoch: member.person_epoch_at(home),
            id: Some(member.id),
            organization: home.slug.clone(),
        }),
        account: Some(member.account),
        audience,
        scopes,
        claims: RequestedClaims::default(),
        details: Details::default(),
        authenticated_at: app.clock.now(),
        level: Level::Aal1,
        methods: Vec::new(),
        sign_on,
        delegation: Some(Box::new(delegation)),
    })
}

fn wrong_scope(detail: &'static str) -> Problem {
    Problem::wrong_member("#/scope", detail)
}

fn refused(why: IssuanceFailure) -> Problem {
    match why {
        IssuanceFailure::Over { .. } => BY_TOKEN,
        IssuanceFailure::Failed(error) => Problem::from(error),
        IssuanceFailure::Exhausted(_)
        | IssuanceFailure::Stopped(FinalFailure::Failed(Failure::Refused(_))) => NOT_HELD,
        IssuanceFailure::Stopped(FinalFailure::Unknown) => Problem::OUTCOME_UNKNOWN,
        IssuanceFailure::Stopped(_) => Problem::UNAVAILABLE,
    }
}
