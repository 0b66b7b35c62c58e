//! `GET /me/connections`: the other providers of which the person may link an identity (adr/0139).

use super::{Items, caller::SignedIn};
use crate::{
    domain::connection::Known,
    http::{answer::error::Problem, app::App, flows::sign_on::connections_of},
};
use axum::extract::State;
use serde::Serialize;

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
    let mut known = connections_of(&app, "").await?;
    let belongings = caller.belongings(&app).await?;
    let enabled = belongings.iter().filter(|one| one.organization.enabled);
    for belonging in enabled.take(MOST_ORGANIZATIONS) {
        known.extend(connections_of(&app, &belonging.organization.slug).await?);
    }
    Ok(Items::whole(known.into_iter().map(Linkable::from).collect()))
}
