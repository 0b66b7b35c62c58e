//! `/api/organizations/{organization}/members`: who belongs to the organization.

use super::{
    call::{Answer, Call, shown, wrong_parameter},
    caller::SUSPENDED,
    change::{Change, NOT_HELD},
    page::PageRequest,
};
use crate::{
    actors::Entry,
    domain::{
        account::{EMAIL_ADDRESSES, normalise_email},
        membership::{
            Command, Draft, Known, MEMBERS, MEMBERSHIP_PAIRS, MOST_ROLES, Membership as Machine,
            Refusal, Word, pair,
        },
        message::MailContent,
    },
    http::{answer::error::Problem, people::inviter, time::rfc3339},
};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What an account is in the organization.
#[derive(Serialize, ToSchema)]
pub struct Member {
    /// What tokens call `membership`.
    id: String,
    /// The id of the account, which tokens call `sub`.
    account: String,
    /// To callers with `accounts:read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    email: Option<String>,
    roles: Vec<String>,
    /// An ended membership confers nothing.
    enabled: bool,
    created_at: String,
}

/// What is to change of a membership.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberChange {
    /// Replaces the roles that are held.
    #[serde(default)]
    #[schema(nullable = false)]
    roles: Option<Vec<String>>,
    #[serde(default)]
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

const LEFT: Problem = Problem::new(
    StatusCode::CONFLICT,
    "member_left",
    "the person has left the organization by themself: invite them again",
);

impl Member {
    async fn of(call: &Call, known: &Known) -> Result<Self, Problem> {
        let email = if call.may("accounts:read") {
            let account = call.app.views.accounts.look(&known.account).await?;
            account.machine.known().map(|account| account.email.clone())
        } else {
            None
        };
        Ok(Self {
            id: known.id.clone(),
            account: known.account.clone(),
            email,
            roles: known.roles.clone(),
            enabled: known.enabled,
            created_at: rfc3339(known.created_at),
        })
    }
}

/// Which members are asked for.
struct Filter<'a> {
    role: Option<&'a str>,
    enabled: Option<bool>,
}

impl<'a> Filter<'a> {
    fn of(call: &'a Call) -> Result<Self, Problem> {
        let enabled = match call.query("enabled") {
            None => None,
            Some("true") => Some(true),
            Some("false") => Some(false),
            Some(_) => return Err(wrong_parameter("enabled", "is `true` or `false`")),
        };
        Ok(Self { role: call.query("role"), enabled })
    }

    fn admits(&self, known: &Known) -> bool {
        self.role.is_none_or(|role| known.roles.iter().any(|held| held == role))
            && self.enabled.is_none_or(|enabled| known.enabled == enabled)
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = PageRequest::of(&call, MEMBERS)?;
    let filter = Filter::of(&call)?;
    if let Some(email) = call.query("email") {
        let found = by_email(&call, email).await?;
        let mut items = Vec::new();
        for known in found.iter().filter(|known| filter.admits(known)) {
            items.push(Member::of(&call, known).await?);
        }
        return Ok(asked.answer(items, None));
    }
    let slug = &call.caller.organization;
    let page =
        call.app.views.memberships.page(MEMBERS, slug, asked.after_rank(), asked.bound()).await?;
    let last = asked.last(&page);
    let mut items = Vec::new();
    for (_, Entry { machine, .. }) in &page {
        if let Some(known) = machine.known().filter(|known| filter.admits(known)) {
            items.push(Member::of(&call, known).await?);
        }
    }
    Ok(asked.answer(items, last))
}

/// Finds the membership of the account with this address; it takes the permission to read accounts.
pub async fn by_email(call: &Call, email: &str) -> Result<Option<Known>, Problem> {
    if !call.may("accounts:read") {
        return Err(wrong_parameter("email", "needs the permission accounts:read"));
    }
    let address = normalise_email(email);
    let address = address.ok_or_else(|| wrong_parameter("email", "is no e-mail address"))?;
    let found = call.app.store.find(EMAIL_ADDRESSES, &address).await?;
    match found {
        None => Ok(None),
        Some((_, account)) => of_account(call, &account).await,
    }
}

/// Finds the membership of an account.
pub async fn of_account(call: &Call, account: &str) -> Result<Option<Known>, Problem> {
    let name = pair(account, &call.caller.organization);
    let Some((_, id)) = call.app.store.find(MEMBERSHIP_PAIRS, &name).await? else {
        return Ok(None);
    };
    let seen = call.app.views.memberships.look_anew(&id).await?;
    Ok(seen.machine.known().cloned())
}

pub async fn show(call: Call) -> Answer {
    let id = call.param("membership");
    let seen = call.app.views.memberships.look_anew(id).await?;
    let known = seen.machine.known().filter(|known| known.organization == call.caller.organization);
    let known = known.ok_or(Problem::NOT_FOUND)?;
    Ok(shown(StatusCode::OK, seen.version, &Member::of(&call, known).await?))
}

pub async fn change(mut call: Call) -> Answer {
    let MemberChange { roles, enabled } = call.body()?;
    let id = call.param("membership").to_owned();
    let mut change = call.begin().await?;
    let known = change.commit.look::<Machine>(&id).await?.known().cloned();
    let known = known.filter(|known| known.organization == call.caller.organization);
    let known = known.ok_or(Problem::NOT_FOUND)?;
    change.expect::<Machine>(&call, &id).await?;
    let added = judge(&change, &known, roles.as_deref(), enabled)?;
    let home = Some(change.authority.home.clone());
    let (account, organization) = (known.account.clone(), known.organization.clone());
    let draft = Draft {
        id: id.clone(),
        account,
        organization,
        roles,
        mapped: None,
        enabled,
        entry: None,
        word: Word::Managers,
    };
    let command = Command::Provision { draft, home };
    let decided = change.commit.decide::<Machine>(&id, &command).await?;
    decided.map_err(|refusal| refused(&refusal))?;
    if known.enabled && enabled == Some(false) {
        // What was sent before would bring them back.
        let (slug, account) = (&known.organization, &known.account);
        let invitation = inviter::pending_for(&call.app, slug, account).await?;
        change.withdraw(invitation).await?;
    }
    if !added.is_empty() {
        let (organization, role) = (change.authority.home.name.clone(), added.join(", "));
        let content = MailContent::RoleGranted { organization, role };
        change.tell(&call, &known.account, content).await?;
    }
    change.finish().await?;
    let seen = call.app.views.memberships.look_anew(&id).await?;
    let known = seen.machine.known().ok_or(Problem::NOT_FOUND)?;
    Ok(shown(StatusCode::OK, seen.version, &Member::of(&call, known).await?))
}

/// Refuses roles that confer more than the caller holds: those that are added, or all of a member who
/// comes back. Returns them.
fn judge(
    change: &Change,
    known: &Known,
    roles: Option<&[String]>,
    enabled: Option<bool>,
) -> Result<Vec<String>, Problem> {
    let next = roles.unwrap_or(&known.roles);
    if next.len() > MOST_ROLES {
        return Err(Problem::wrong_member("#/roles", "holds more than 100 roles"));
    }
    let comes_back = !known.enabled && enabled == Some(true);
    let is_kept = |role: &&String| known.roles.contains(role) && !comes_back;
    // Named by their place in the body.
    for (place, role) in next.iter().enumerate().filter(|(_, role)| !is_kept(role)) {
        if !change.authority.home.has_role(role) {
            let pointer = format!("#/roles/{place}");
            return Err(Problem::wrong_member(pointer, "is no role of the organization"));
        }
    }
    if comes_back && change.by_delegate {
        return Err(NOT_HELD);
    }
    let added: Vec<String> = next.iter().filter(|role| !is_kept(role)).cloned().collect();
    change.grants_roles(&added, "#/roles")?;
    Ok(added)
}

fn refused(refusal: &Refusal) -> Problem {
    match refusal {
        Refusal::Suspended(_) => SUSPENDED,
        Refusal::NoSuchRole { .. } => {
            Problem::wrong_member("#/roles", "holds a role that the organization does not have")
        }
        Refusal::Left => LEFT,
        Refusal::NoSuchOrganization(_) | Refusal::OtherPair | Refusal::OtherState => {
            Problem::NOT_FOUND
        }
    }
}
