//! `GET /me/connections`: the other providers of which the person may link an identity (adr/0139).

use super::{Items, caller::SignedIn};
use crate::{
    actors::{Bound, HydrateError},
    domain::connection::{CONNECTIONS, Known, MOST_CONNECTIONS},
    http::{answer::error::Problem, app::App, people::belonging::Belonging},
};
use axum::extract::State;
use serde::Serialize;

const READ: Bound = Bound::new(MOST_CONNECTIONS);

/// The connections of so many organizations are listed; one that is named can be linked all the same.
const MOST_ORGANIZATIONS: usize = 50;

#[derive(Serialize)]
pub struct Linkable {
    id: String,
    name: String,
    kind: &'static str,
    /// The slug; absent for one of no organization.
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<String>,
}

impl From<Known> for Linkable {
    fn from(known: Known) -> Self {
        let Known { id, name, kind, organization, .. } = known;
        Self { id, name, kind: kind.name(), organization }
    }
}

pub async fn list(
    State(app): State<App>,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Items<Linkable>, Problem> {
    let mut items = listed(&app, "").await?;
    let belongings = Belonging::of_account(&app, caller.account()).await?;
    let enabled = belongings.iter().filter(|one| one.organization.enabled);
    for belonging in enabled.take(MOST_ORGANIZATIONS) {
        items.extend(listed(&app, &belonging.organization.slug).await?);
    }
    Ok(Items::whole(items))
}

async fn listed(app: &App, owner: &str) -> Result<Vec<Linkable>, HydrateError> {
    let list = app.views.connections.list_if(false, (CONNECTIONS, owner), READ).await?;
    Ok(list.iter().filter_map(|one| one.machine.known().cloned().map(Linkable::from)).collect())
}
