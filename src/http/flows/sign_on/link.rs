//! Which identities of other providers a person may link to their account (adr/0139).

use super::{
    SSO_REFUSED,
    identity::{IDENTITY_ALREADY_LINKED, MEMBERSHIP_DISABLED},
};
use crate::{
    actors::{Bound, HydrateError},
    crypto::draw_uuid,
    domain::{
        connection::{Known, is_id},
        external_identity::{
            ACCOUNT_IDENTITIES, EXTERNAL_IDENTITIES, Linked, MOST_IDENTITIES, identity_name,
            is_subject,
        },
        flow::{LinkedMember, PendingLink},
        membership::{MEMBERSHIP_PAIRS, pair},
        upstream::UpstreamPerson,
    },
    http::{answer::error::Problem, app::App, flows::problems::ORGANIZATION_SUSPENDED},
};
use axum::http::StatusCode;

const READ: Bound = Bound::new(MOST_IDENTITIES);

const TOO_MANY_IDENTITIES: Problem = Problem::new(
    StatusCode::CONFLICT,
    "too_many_identities",
    "the account has as many identities as one may: unlink another one first",
);

/// A connection whose identities may be linked to an account.
struct Linkable {
    known: Known,
    version: i64,
    member: Option<LinkedMember>,
}

/// Returns the id of the connection that a person names, if they may link an identity of it.
pub async fn linkable(app: &App, account: &str, named: Option<&str>) -> Result<String, Problem> {
    let id = named.ok_or_else(|| Problem::wrong_member("#/connection", "is missing"))?;
    Ok(find(app, account, id).await?.known.id)
}

/// Lists the identities that are linked to an account.
pub async fn identities_of(app: &App, account: &str) -> Result<Vec<Linked>, HydrateError> {
    let list = (ACCOUNT_IDENTITIES, account);
    let listed = app.views.external_identities.list_if(true, list, READ).await?;
    Ok(listed.iter().filter_map(|entry| entry.machine.linked().cloned()).collect())
}

/// Returns what a person may link who is signed in: the identity leads to no account yet.
pub async fn pending(
    app: &App,
    account: &str,
    connection: &Known,
    person: &UpstreamPerson,
) -> Result<PendingLink, Problem> {
    let linkable = find(app, account, &connection.id).await?;
    if identities_of(app, account).await?.len() >= MOST_IDENTITIES as usize {
        return Err(TOO_MANY_IDENTITIES);
    }
    believed(app, linkable, connection, person).await?.ok_or(IDENTITY_ALREADY_LINKED)
}

/// Returns what a person may link who makes an account, where the identity leads to none.
pub async fn applying(
    app: &App,
    connection: &Known,
    person: &UpstreamPerson,
) -> Result<Option<PendingLink>, Problem> {
    let seen = app.views.connections.look_anew(&connection.id).await?;
    let known = seen.machine.known().cloned().ok_or(SSO_REFUSED)?;
    let linkable = Linkable { known, version: seen.version, member: None };
    believed(app, linkable, connection, person).await
}

async fn find(app: &App, account: &str, id: &str) -> Result<Linkable, Problem> {
    let unknown = || Problem::wrong_member("#/connection", "is none that you can link");
    if !is_id(id) {
        return Err(unknown());
    }
    let seen = app.views.connections.look_anew(id).await?;
    let known = seen.machine.known().cloned().ok_or_else(unknown)?;
    let member = match &known.organization {
        None => None,
        Some(slug) => Some(member(app, account, slug).await?),
    };
    Ok(Linkable { known, version: seen.version, member })
}

/// Finds the membership of a person; their organization vouches for nothing of others.
async fn member(app: &App, account: &str, slug: &str) -> Result<LinkedMember, Problem> {
    let found = app.store.find(MEMBERSHIP_PAIRS, &pair(account, slug)).await?;
    let (_, membership) = found.ok_or(MEMBERSHIP_DISABLED)?;
    let seen = app.views.memberships.look_anew(&membership).await?;
    if !seen.machine.known().is_some_and(|known| known.enabled) {
        return Err(MEMBERSHIP_DISABLED);
    }
    let home = app.views.organizations.look_anew(slug).await?;
    if !home.machine.known().is_some_and(|home| home.enabled) {
        return Err(ORGANIZATION_SUSPENDED);
    }
    Ok(LinkedMember { organization: slug.to_owned(), membership })
}

/// Returns what waits to be linked; none where the identity leads to an account. `judged` is the connection by which the
/// provider was believed.
async fn believed(
    app: &App,
    linkable: Linkable,
    judged: &Known,
    person: &UpstreamPerson,
) -> Result<Option<PendingLink>, Problem> {
    let Linkable { known, version, member } = linkable;
    // Another client may stand for other subjects.
    if known != *judged || !is_subject(&person.subject) {
        return Err(SSO_REFUSED);
    }
    let name = identity_name(&known.id, &person.subject);
    if app.store.find(EXTERNAL_IDENTITIES, &name).await?.is_some() {
        return Ok(None);
    }
    Ok(Some(PendingLink {
        identity: draw_uuid(&*app.dice),
        connection: known.id,
        version,
        subject: person.subject.clone(),
        email: person.email.clone(),
        member,
    }))
}
