//! `/api/organizations`: what an organization is.

use super::{
    call::{Answer, Call, shown},
    caller::SUSPENDED,
    change::EXISTS,
    page::PageRequest,
    words::Name,
};
use crate::{
    domain::{
        assurance::Acr,
        authority::ADMINISTER,
        organization::{Command, Draft, Known, ORGANIZATIONS, Organization as Machine, Refusal},
    },
    http::answer::error::Problem,
};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An organization.
#[derive(Serialize, ToSchema)]
pub struct Organization {
    /// It never changes, and is never used again.
    slug: String,
    name: String,
    /// A suspended organization confers no authority and accepts no change.
    enabled: bool,
    /// What people must have proved before tokens speak for it: `aal1`, `aal2`, `aal3`, `phr`, `phrh`.
    required_acr: String,
    /// Whether its administrators may act as its members.
    impersonation: bool,
}

/// An organization that is to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOrganization {
    slug: String,
    #[serde(default)]
    #[schema(value_type = Option<String>, nullable = false)]
    name: Option<Name>,
}

/// What is to change of an organization.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OrganizationChange {
    #[serde(default)]
    #[schema(value_type = Option<String>, nullable = false)]
    name: Option<Name>,
    /// `false` suspends it; only a holder of `organizations:administer` may say it.
    #[serde(default)]
    #[schema(nullable = false)]
    enabled: Option<bool>,
    #[serde(default)]
    #[schema(value_type = Option<String>, nullable = false)]
    required_acr: Option<RequiredAcr>,
    #[serde(default)]
    #[schema(nullable = false)]
    impersonation: Option<bool>,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct RequiredAcr(Acr);

impl TryFrom<String> for RequiredAcr {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let known = || format!("must be one of {}", Acr::ALL.map(Acr::name).join(", "));
        Acr::by_name(&text).map(Self).ok_or_else(known)
    }
}

impl From<&Known> for Organization {
    fn from(known: &Known) -> Self {
        Self {
            slug: known.slug.clone(),
            name: known.name.clone(),
            enabled: known.enabled,
            required_acr: known.required_acr.name().to_owned(),
            impersonation: known.impersonation,
        }
    }
}

const ADMINISTERED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "permission_required",
    "only a holder of organizations:administer suspends and enables organizations",
);

const DELETING: Problem = Problem::new(
    StatusCode::CONFLICT,
    "organization_deleting",
    "the organization was deleted: only the operator's command takes it back",
);

pub async fn list(call: Call) -> Answer {
    let asked = PageRequest::of(&call, ORGANIZATIONS)?;
    if !call.administers() {
        let own = call.home.machine.known().map(Organization::from);
        return Ok(asked.answer(own.into_iter().collect(), None));
    }
    let after = asked.after_rank();
    let page = call.app.views.organizations.page(ORGANIZATIONS, "", after, asked.bound()).await?;
    let last = asked.last(&page);
    let known = page.iter().filter_map(|(_, one)| one.machine.known());
    Ok(asked.answer(known.map(Organization::from).collect(), last))
}

pub async fn show(call: Call) -> Answer {
    let known = call.home.machine.known().ok_or(Problem::NOT_FOUND)?;
    Ok(shown(StatusCode::OK, call.home.version, &Organization::from(known)))
}

pub async fn create(mut call: Call) -> Answer {
    let NewOrganization { slug, name } = call.body()?;
    let mut change = call.begin().await?;
    if !change.authority.grantor.held.covers(ADMINISTER) {
        return Err(ADMINISTERED);
    }
    // The same whether it is there now or was once: a slug is never used again.
    if change.commit.look::<Machine>(&slug).await?.known().is_some() {
        return Err(EXISTS);
    }
    let draft = Draft { slug: slug.clone(), name: name.map(|Name(name)| name), ..Draft::default() };
    let decided = change.commit.decide::<Machine>(&slug, &Command::Provision(draft)).await?;
    decided.map_err(|refusal| refused(&refusal))?;
    change.finish().await?;
    let made = call.app.views.organizations.look_anew(&slug).await?;
    let known = made.machine.known().ok_or(Problem::NOT_FOUND)?;
    Ok(shown(StatusCode::CREATED, made.version, &Organization::from(known)))
}

pub async fn change(mut call: Call) -> Answer {
    let OrganizationChange { name, enabled, required_acr, impersonation } = call.body()?;
    let slug = call.param("organization").to_owned();
    let mut change = call.begin().await?;
    let is_own = slug == change.authority.home.slug;
    let may_turn = change.authority.grantor.held.covers(ADMINISTER) && call.administers();
    if enabled.is_some() && !may_turn {
        return Err(ADMINISTERED);
    }
    let is_known = change.commit.look::<Machine>(&slug).await?.known().is_some();
    // Of another organization all that can be changed is that it is enabled again.
    let only_enables = enabled == Some(true)
        && name.is_none()
        && required_acr.is_none()
        && impersonation.is_none();
    if !is_known || !(is_own || only_enables) {
        return Err(Problem::NOT_FOUND);
    }
    change.expect::<Machine>(&call, &slug).await?;
    let draft = Draft {
        slug: slug.clone(),
        name: name.map(|Name(name)| name),
        enabled,
        required_acr: required_acr.map(|RequiredAcr(acr)| acr),
        impersonation,
        ..Draft::default()
    };
    let decided = change.commit.decide::<Machine>(&slug, &Command::Provision(draft)).await?;
    decided.map_err(|refusal| refused(&refusal))?;
    change.finish().await?;
    let changed = call.app.views.organizations.look_anew(&slug).await?;
    let known = changed.machine.known().ok_or(Problem::NOT_FOUND)?;
    Ok(shown(StatusCode::OK, changed.version, &Organization::from(known)))
}

/// Words why an organization did not change.
pub fn refused(refusal: &Refusal) -> Problem {
    match refusal {
        Refusal::Suspended => SUSPENDED,
        Refusal::Deleting | Refusal::ErasureDue => DELETING,
        Refusal::Erased => EXISTS,
        Refusal::NotKnown | Refusal::NotDue => Problem::NOT_FOUND,
        Refusal::Slug => Problem::wrong_member("#/slug", refusal.to_string()),
        Refusal::RoleName(_) | Refusal::RepeatedRole(_) => {
            Problem::wrong_member("#/name", "is no role name, or is given twice")
        }
        Refusal::ForbiddenPermission(_) => {
            Problem::wrong_member("#/permissions", "no role may contain organizations:administer")
        }
    }
}
