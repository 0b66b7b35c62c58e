//! Groups that a filter admits, and pages of them: an organization has few, and they are one row.

use super::{call::ScimCall, group_view, turns::Turns, user_view::Member};
use crate::{
    domain::{
        organization::{self, Role},
        scim::{
            filter::{Filter, MemberNeed},
            query::Query,
        },
    },
    http::answer::scim::ScimRefusal,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use tokio::task::yield_now;

/// A Group that a list admits.
pub struct AdmittedGroup<'a> {
    pub role: &'a Role,
    /// Without its members, or with those that the filter looked at.
    document: Map<String, Value>,
}

/// Lists the Groups that a filter admits, in the order that is asked for; else by their names.
pub async fn admitted<'a>(
    call: &ScimCall,
    home: &'a organization::Known,
    query: &Query,
) -> Result<Vec<AdmittedGroup<'a>>, ScimRefusal> {
    let mut roles: Vec<&Role> = home.roles.iter().collect();
    roles.sort_by(|one, other| one.name.cmp(&other.name));
    let mut found = Vec::new();
    if let Some(filter) = &query.filter {
        let mut members = LookedAt::of(call, filter).await?;
        let mut turns = Turns::new(filter.comparisons());
        for role in roles {
            let members = members.in_role(call, role).await?;
            let document = group_view::document(&call.base, role, members.as_deref());
            if turns.count(&document) {
                yield_now().await;
            }
            if filter.matches(&document) {
                found.push(AdmittedGroup { role, document });
            }
        }
    } else {
        let document = |role| group_view::document(&call.base, role, None);
        found
            .extend(roles.into_iter().map(|role| AdmittedGroup { role, document: document(role) }));
    }
    if let Some(sort) = &query.sort {
        found.sort_by_cached_key(|one| sort.place(&one.document, one.role.name.clone()));
    }
    Ok(found)
}

/// Returns the first of these, at most `count`, with their members where they are asked for: the page ends before it has
/// more members than an answer shows. `before` says how many resources of another type are on it.
pub async fn page(
    call: &ScimCall,
    query: &Query,
    found: &[AdmittedGroup<'_>],
    (count, before): (usize, usize),
) -> Result<Vec<Map<String, Value>>, ScimRefusal> {
    let mut left = call.app.limits.scim.shown_members;
    let mut page = Vec::new();
    for AdmittedGroup { role, .. } in found.iter().take(count) {
        if !query.projection.wants("members") {
            page.push(group_view::document(&call.base, role, None));
            continue;
        }
        match group_view::members(call, &role.name, left).await? {
            Some(members) => {
                left -= members.len();
                page.push(group_view::document(&call.base, role, Some(&members)));
            }
            None if page.len() + before > 0 => break,
            // It alone has more.
            None => return Err(group_view::too_many(call)),
        }
    }
    Ok(page)
}

/// The members that a filter looks at.
enum LookedAt {
    None,
    /// The Users that it names, each with the roles that it holds.
    These(BTreeMap<String, BTreeSet<String>>),
    /// All, as long as there are so many.
    All {
        left: usize,
    },
}

impl LookedAt {
    async fn of(call: &ScimCall, filter: &Filter) -> Result<Self, ScimRefusal> {
        match filter.member_need() {
            MemberNeed::None => Ok(Self::None),
            MemberNeed::All => Ok(Self::All { left: call.app.limits.scim.shown_members }),
            // Each is read once, however many Groups there are.
            MemberNeed::These(ids) => {
                let mut held = BTreeMap::new();
                for id in ids {
                    let seen = call.app.views.memberships.peek(&id).await?;
                    let member = Member::of(&seen.machine, call.slug());
                    let roles = member.map(|member| member.roles().iter().cloned().collect());
                    held.insert(id, roles.unwrap_or_default());
                }
                Ok(Self::These(held))
            }
        }
    }

    /// Returns those of them who are in a Group.
    async fn in_role(
        &mut self,
        call: &ScimCall,
        role: &Role,
    ) -> Result<Option<Vec<String>>, ScimRefusal> {
        match self {
            Self::None => Ok(None),
            Self::These(held) => {
                let is_in = held.iter().filter(|(_, roles)| roles.contains(&role.name));
                Ok(Some(is_in.map(|(id, _)| id.clone()).collect()))
            }
            Self::All { left } => {
                let members = group_view::members(call, &role.name, *left).await?;
                let members = members.ok_or_else(|| group_view::too_many(call))?;
                *left -= members.len();
                Ok(Some(members))
            }
        }
    }
}
