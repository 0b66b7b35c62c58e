//! Which connections a flow offers: those of its organization, of the organization that has proved the domain of the
//! identifier, and those of no organization. Whether an account exists plays no part.

use crate::{
    actors::{Bound, Entry, HydrateError},
    domain::{
        connection::{CONNECTIONS, Connection, Known, MOST_CONNECTIONS},
        flow::{Open, Seed, SignOnOffer},
        upstream::Kind,
    },
    http::app::App,
};
use serde::Serialize;

const READ: Bound = Bound::new(MOST_CONNECTIONS);

/// A connection that a person can choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConnectionChoice {
    pub id: String,
    pub name: String,
    pub kind: &'static str,
    /// It is an organization's, and not one for accounts outside of any. For pages alone.
    #[serde(skip)]
    pub of_organization: bool,
}

/// What a flow offers of single sign-on.
#[derive(Default)]
pub struct SignOnChoices {
    pub offer: SignOnOffer,
    pub connections: Vec<ConnectionChoice>,
}

/// Says what a flow offers by what it began with.
pub async fn of_seed(app: &App, seed: &Seed) -> Result<SignOnOffer, HydrateError> {
    let Some(slug) = organization(seed) else { return Ok(SignOnOffer::None) };
    let home = app.views.organizations.look(slug).await?;
    let requires = home.machine.known().is_some_and(|home| !home.required_connections.is_empty());
    Ok(if requires { SignOnOffer::Only } else { SignOnOffer::None })
}

/// Lists what a flow offers now.
pub async fn choices(app: &App, open: &Open) -> Result<SignOnChoices, HydrateError> {
    if let Some(id) = &open.seed.connection {
        // The one that the person wants to link an identity of.
        let seen = app.views.connections.look(id).await?;
        let connections = seen.machine.known().cloned().map(choice).into_iter().collect();
        return Ok(SignOnChoices { offer: SignOnOffer::None, connections });
    }
    if !open.may_sign_on(&app.settings.flow_rules) {
        return Ok(SignOnChoices::default());
    }
    let mut offer = of_seed(app, &open.seed).await?;
    let mut connections = Vec::new();
    let named = open.sign_on.as_deref().or(organization(&open.seed));
    if let Some(slug) = named {
        connections = of_organization(app, slug).await?;
    } else if let Some(identifier) = &open.identifier
        && let Some(vouching) = app.domain_holders().of_address(identifier).await?
    {
        connections = of_organization(app, &vouching.organization).await?;
    }
    // An organization that requires one takes none of the others.
    let requires = connections.iter().any(|known| known.required);
    if named.is_some() && requires {
        connections.retain(|known| known.required);
    } else if open.sign_on.is_none() && !requires {
        connections.extend(connections_of(app, "").await?);
    }
    if open.most_age().is_some() {
        // It cannot be asked for a proof anew.
        connections.retain(|known| known.kind != Kind::GitHub);
    }
    if connections.is_empty() {
        offer = SignOnOffer::None;
    } else if offer == SignOnOffer::None {
        offer = SignOnOffer::Beside;
    }
    Ok(SignOnChoices { offer, connections: connections.into_iter().map(choice).collect() })
}

fn choice(known: Known) -> ConnectionChoice {
    ConnectionChoice {
        of_organization: known.organization.is_some(),
        kind: known.kind.name(),
        id: known.id,
        name: known.name,
    }
}

/// The organization that a flow is for, if it is for one.
fn organization(seed: &Seed) -> Option<&str> {
    let asked = seed.request.as_ref().and_then(|request| request.wanted.organization.as_deref());
    asked.or(seed.organization.as_deref())
}

/// Lists the connections of an organization that is not suspended.
async fn of_organization(app: &App, slug: &str) -> Result<Vec<Known>, HydrateError> {
    let home = app.views.organizations.look(slug).await?;
    if !home.machine.known().is_some_and(|home| home.enabled) {
        return Ok(Vec::new());
    }
    connections_of(app, slug).await
}

/// Lists the connections of an organization, or of none.
pub async fn connections_of(app: &App, owner: &str) -> Result<Vec<Known>, HydrateError> {
    let list = app.views.connections.list_if(false, (CONNECTIONS, owner), READ).await?;
    let known = |entry: &Entry<Connection>| entry.machine.known().cloned();
    Ok(list.iter().filter_map(known).collect())
}
