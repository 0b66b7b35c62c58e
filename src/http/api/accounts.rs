//! `/api/organizations/{organization}/accounts`: the people behind memberships, as the organization may
//! see them. An account is the person's own: an organization changes nothing of it.

use super::{
    call::{Answer, Call, shown},
    members,
    page::PageRequest,
};
use crate::{
    domain::{
        account::Known,
        export::SEEN_BY_ORGANIZATIONS,
        membership::{Known as Membership, MEMBERS},
    },
    http::{answer::error::Problem, time::rfc3339},
};
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The account of a member.
#[derive(Serialize, ToSchema)]
pub struct Account {
    /// What tokens call `sub`.
    id: String,
    email: String,
    email_verified: bool,
    /// The id of the membership.
    membership: String,
    /// A passkey, or an authenticator application, is enrolled.
    has_second_factor: bool,
    created_at: String,
    /// Standard claims by their names (OpenID Connect Core §5.1).
    claims: Map<String, Value>,
}

impl Account {
    fn of(known: &Known, membership: &Membership) -> Self {
        Self {
            id: known.id.clone(),
            email: known.email.clone(),
            email_verified: known.email_verified,
            membership: membership.id.clone(),
            has_second_factor: known.credentials.reach_aal2(),
            created_at: rfc3339(known.created_at),
            claims: known.tell(&SEEN_BY_ORGANIZATIONS),
        }
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = PageRequest::of(&call, "accounts")?;
    if let Some(email) = call.query("email") {
        let found = members::by_email(&call, email).await?;
        let mut items = Vec::new();
        for membership in found.iter().filter(|membership| membership.enabled) {
            items.extend(account(&call, membership).await?.map(|(_, account)| account));
        }
        return Ok(asked.answer(items, None));
    }
    let slug = &call.caller.organization;
    let page =
        call.app.views.memberships.page(MEMBERS, slug, asked.after_rank(), asked.bound()).await?;
    let last = asked.last(&page);
    let mut items = Vec::new();
    for membership in page.iter().filter_map(|(_, entry)| entry.machine.known()) {
        // A person who has left is not shown any more.
        if membership.enabled {
            items.extend(account(&call, membership).await?.map(|(_, account)| account));
        }
    }
    Ok(asked.answer(items, last))
}

pub async fn show(call: Call) -> Answer {
    let membership = members::of_account(&call, call.param("account")).await?;
    let membership =
        membership.filter(|membership| membership.enabled).ok_or(Problem::NOT_FOUND)?;
    let (version, account) = account(&call, &membership).await?.ok_or(Problem::NOT_FOUND)?;
    Ok(shown(StatusCode::OK, version, &account))
}

async fn account(call: &Call, membership: &Membership) -> Result<Option<(i64, Account)>, Problem> {
    let seen = call.app.views.accounts.look_anew(&membership.account).await?;
    let known = seen.machine.known();
    Ok(known.map(|known| (seen.version, Account::of(known, membership))))
}
