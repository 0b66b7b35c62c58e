//! `/api/organizations/{organization}/roles`: what roles confer.
//!
//! Roles are part of the organization: its version is theirs.

use super::{
    call::{Answer, Call, gone, shown},
    change::Change,
    organizations::refused,
    page::PageRequest,
    words::GivenPermission,
};
use crate::{
    domain::{
        authority::Permission,
        organization::{self, Command, Draft, MOST_ROLES, Organization as Machine, is_role_name},
    },
    http::answer::error::Problem,
};
use axum::http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A role, and what it confers.
#[derive(Serialize, ToSchema)]
pub struct Role {
    name: String,
    /// Statements `resource:action`; `resource:*` is all actions of a resource.
    permissions: Vec<String>,
}

/// What a role is to confer.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RolePermissions {
    #[schema(value_type = Vec<String>)]
    permissions: Vec<GivenPermission>,
}

/// No role confers more.
const MOST_PERMISSIONS: usize = 200;

impl From<&organization::Role> for Role {
    fn from(role: &organization::Role) -> Self {
        let permissions = role.permissions.iter().map(|one| one.as_str().to_owned()).collect();
        Self { name: role.name.clone(), permissions }
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = PageRequest::of(&call, "roles")?;
    let known = call.home.machine.known().ok_or(Problem::NOT_FOUND)?;
    let mut roles: Vec<&organization::Role> = known.roles.iter().collect();
    roles.sort_by(|one, other| one.name.cmp(&other.name));
    let after = asked.after.first();
    let rest = roles.into_iter().filter(|role| after.is_none_or(|after| role.name > *after));
    let page: Vec<Role> = rest.take(asked.limit as usize).map(Role::from).collect();
    let is_full = page.len() == asked.limit as usize;
    let last = page.last().filter(|_| is_full).map(|role| vec![role.name.clone()]);
    let mut response = asked.answer(page, last);
    let tag = super::change::version_tag(call.home.version);
    response.headers_mut().insert(header::ETAG, tag);
    Ok(response)
}

pub async fn show(call: Call) -> Answer {
    let known = call.home.machine.known().ok_or(Problem::NOT_FOUND)?;
    let role = known.roles.iter().find(|role| role.name == call.param("role"));
    let role = role.map(Role::from).ok_or(Problem::NOT_FOUND)?;
    Ok(shown(StatusCode::OK, call.home.version, &role))
}

pub async fn put(mut call: Call) -> Answer {
    let RolePermissions { permissions } = call.body()?;
    let mut permissions: Vec<Permission> = permissions.into_iter().map(|given| given.0).collect();
    if permissions.len() > MOST_PERMISSIONS {
        return Err(Problem::wrong_member("#/permissions", "holds more than 200 permissions"));
    }
    permissions.sort();
    permissions.dedup();
    let name = call.param("role").to_owned();
    if !is_role_name(&name) {
        return Err(Problem::NOT_FOUND);
    }
    let mut change = call.begin().await?;
    let mut roles = change.authority.home.roles.clone();
    // What members hold by it already is passed on as well: the caller stands for all of it.
    change.grants(&permissions)?;
    let held = roles.iter().position(|held| held.name == name);
    match held {
        Some(place) => roles[place].permissions = permissions,
        None if roles.len() < MOST_ROLES => {
            roles.push(organization::Role { name: name.clone(), permissions, group: None });
        }
        None => {
            return Err(Problem::new(StatusCode::CONFLICT, "too_many", "there are 500 roles"));
        }
    }
    replace(&call, &mut change, roles).await?;
    change.finish().await?;
    let home = call.app.views.organizations.look_anew(&call.caller.organization).await?;
    let known = home.machine.known().ok_or(Problem::NOT_FOUND)?;
    let role = known.roles.iter().find(|role| role.name == name).map(Role::from);
    let status = if held.is_some() { StatusCode::OK } else { StatusCode::CREATED };
    Ok(shown(status, home.version, &role.ok_or(Problem::NOT_FOUND)?))
}

pub async fn delete(call: Call) -> Answer {
    let name = call.param("role");
    let mut change = call.begin().await?;
    let mut roles = change.authority.home.roles.clone();
    if !roles.iter().any(|role| role.name == name) {
        return Err(Problem::NOT_FOUND);
    }
    roles.retain(|role| role.name != name);
    replace(&call, &mut change, roles).await?;
    change.finish().await?;
    call.app.views.organizations.forget(&call.caller.organization);
    Ok(gone())
}

async fn replace(
    call: &Call,
    change: &mut Change,
    roles: Vec<organization::Role>,
) -> Result<(), Problem> {
    let slug = change.authority.home.slug.clone();
    change.expect::<Machine>(call, &slug).await?;
    let draft = Draft { slug: slug.clone(), roles: Some(roles), ..Draft::default() };
    let decided = change.commit.decide::<Machine>(&slug, &Command::Provision(draft)).await?;
    decided.map(drop).map_err(|refusal| refused(&refusal))
}
