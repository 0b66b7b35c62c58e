//! `…/clients/{client_id}/delegations` and `…/tree`: what a client holds for others now, what stands above
//! and below it, and how it is ended (adr/0088, adr/0098).

use super::{
    call::{Answer, Call, gone},
    page::PageRequest,
};
use crate::{
    actors::{Bound, Entry},
    domain::{
        Machine as _,
        token_family::{Command, HELD_BY_OTHERS, HELD_FOR_OTHERS, TokenFamily},
    },
    http::{answer::error::Problem, grants::delegation_tree::DelegationTree, time::rfc3339},
};
use serde::Serialize;
use std::collections::BTreeSet;
use utoipa::ToSchema;

/// A token that a client holds for another, and what stands above it.
#[derive(Serialize, ToSchema)]
pub struct Delegation {
    id: String,
    /// The id of the account that it speaks for, if that is a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    account: Option<String>,
    /// Whom it speaks for, if that is no person: a client, or an API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    subject: Option<String>,
    /// Those who act one after another, the client itself first.
    act: Vec<String>,
    /// The clients that held it before, the first of them first.
    through: Vec<String>,
    /// The delegations that it ends with, the first of them first.
    parents: Vec<String>,
    resource: String,
    scopes: Vec<String>,
    created_at: String,
    expires_at: String,
}

impl Delegation {
    fn of(call: &Call, id: &str, family: &TokenFamily) -> Option<Self> {
        let (grant, born_at) = (family.grant()?, family.born_at()?);
        let delegation = grant.delegation.as_deref()?;
        let is_here = grant.organization() == Some(&*call.caller.organization);
        if !is_here || family.live_until() <= call.app.clock.now() {
            return None;
        }
        Some(Self {
            id: id.to_owned(),
            account: grant.account.clone(),
            subject: delegation.subject.clone(),
            act: delegation.act.parties().map(str::to_owned).collect(),
            through: delegation.through.clone(),
            parents: grant.parents.clone(),
            resource: grant.audience.claim(&call.app.issuer).to_owned(),
            scopes: grant.scopes.iter().map(str::to_owned).collect(),
            created_at: rfc3339(born_at),
            expires_at: rfc3339(family.live_until()),
        })
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = PageRequest::of(&call, HELD_FOR_OTHERS)?;
    let holder = call.param("client_id");
    let families = &call.app.views.families;
    let page = families.page(HELD_FOR_OTHERS, holder, asked.after_rank(), asked.bound()).await?;
    let last = asked.last(&page);
    let held =
        page.iter().filter_map(|(_, Entry { id, machine, .. })| Delegation::of(&call, id, machine));
    Ok(asked.answer(held.collect(), last))
}

/// As many grants of the people of a page that others hold are looked at: they live for minutes.
const MOST_BELOW: u32 = 1_000;

/// Shows what a client holds with everything above it, and with what others hold through it.
///
/// What is held through it for no person is not found from here: it is in the trees of those who hold it.
pub async fn trees(call: Call) -> Answer {
    let asked = PageRequest::of(&call, "trees")?;
    let (app, holder) = (&call.app, call.param("client_id"));
    let after = asked.after_rank();
    let page = app.views.families.page(HELD_FOR_OTHERS, holder, after, asked.bound()).await?;
    let last = asked.last(&page);
    let mut tree = DelegationTree::default();
    let mut people: BTreeSet<String> = BTreeSet::new();
    for (_, Entry { id, machine, .. }) in &page {
        let Some(grant) = machine.grant().filter(|_| is_here(&call, machine)) else { continue };
        if !tree.add(app, id, machine).await? {
            continue;
        }
        people.extend(grant.account.clone());
        for above in &grant.parents {
            let seen = app.views.families.look(above).await?;
            if is_here(&call, &seen.machine) {
                tree.add(app, above, &seen.machine).await?;
            }
        }
    }
    let mut left = MOST_BELOW;
    for account in &people {
        if left == 0 {
            break;
        }
        let bound = Bound::asked(left);
        let below = app.views.families.page(HELD_BY_OTHERS, account, ("", ""), bound).await?;
        left = left.saturating_sub(u32::try_from(below.len()).unwrap_or(left));
        for (_, Entry { id, machine, .. }) in &below {
            let Some(grant) = machine.grant() else { continue };
            // Those above come first in the order of birth.
            let hangs = grant.parents.iter().any(|above| tree.holds_for(holder, above));
            if hangs && is_here(&call, machine) {
                tree.add(app, id, machine).await?;
            }
        }
    }
    Ok(asked.answer(tree.grown(), last))
}

/// Tells whether a family speaks for the caller's organization.
fn is_here(call: &Call, family: &TokenFamily) -> bool {
    let organization = family.grant().and_then(|grant| grant.organization());
    organization == Some(&*call.caller.organization)
}

/// Ends one, and everything below it.
pub async fn end(call: Call) -> Answer {
    let (holder, id) = (call.param("client_id"), call.param("delegation"));
    let mut change = call.begin().await?;
    let family = change.commit.look::<TokenFamily>(id).await?;
    let is_held = family.grant().is_some_and(|grant| {
        let acts = grant.delegation.as_deref().is_some_and(|one| one.act.sub == holder);
        acts && grant.organization() == Some(&*call.caller.organization)
    });
    if !is_held {
        return Err(Problem::NOT_FOUND);
    }
    let ended = change.commit.decide::<TokenFamily>(id, &Command::End).await?;
    ended.map_err(|_| Problem::NOT_FOUND)?;
    change.finish().await?;
    call.app.views.families.forget(id);
    Ok(gone())
}
