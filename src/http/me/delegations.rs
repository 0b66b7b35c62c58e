//! `/me/delegations`: what clients hold of the person now, as a tree, and how a link is ended (adr/0098).

use super::{EntryId, Items, caller::SignedIn, step_up};
use crate::{
    actors::{Bound, Failure},
    domain::token_family::{Command, FAMILIES, HELD_BY_OTHERS},
    http::{
        answer::error::Problem,
        app::App,
        grants::delegation_tree::{Branch, DelegationTree},
    },
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};

/// No id of a family is longer.
const LONGEST_ID: usize = 64;

/// As many are looked at of each list.
const MOST: Bound = Bound::new(500);

pub async fn list(
    State(app): State<App>,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Items<Branch>, Problem> {
    let mut tree = DelegationTree::default();
    for list in [FAMILIES, HELD_BY_OTHERS] {
        for (_, entry) in &app.views.families.page(list, caller.account(), ("", ""), MOST).await? {
            let grant = entry.machine.grant();
            if grant.is_some_and(|grant| caller.reaches(grant.organization())) {
                tree.add(&app, &entry.id, &entry.machine).await?;
            }
        }
    }
    Ok(Items::whole(tree.grown()))
}

/// Ends what a client holds of the person, and everything below it.
pub async fn delete(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
    id: EntryId,
) -> Result<Response, Problem> {
    if let Some(refused) = step_up::demand_own(&app, &mut caller).await? {
        return Ok(refused);
    }
    let id = id.read(LONGEST_ID)?;
    let seen = app.views.families.look_anew(&id).await?;
    // Of another account is as good as none.
    let own = seen.machine.grant().and_then(|grant| grant.account.as_deref());
    if own != Some(caller.account()) {
        return Err(Problem::NOT_FOUND);
    }
    // It is carried out though the caller hangs up.
    match app.entities.families.ask_detached(&caller.context, &id, Command::End).await {
        Ok(_) | Err(Failure::Refused(_)) => {}
        Err(failure) if failure.may_have_happened() => return Err(Problem::OUTCOME_UNKNOWN),
        Err(_) => return Err(Problem::UNAVAILABLE),
    }
    app.views.families.forget(&id);
    Ok(StatusCode::NO_CONTENT.into_response())
}
