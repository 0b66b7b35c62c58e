//! Finds clients: those that are stored, and those that are known by a document of theirs (adr/0092).
//!
//! | where | a document is |
//! |---|---|
//! | where a grant begins: authorize, PAR, device, CIBA | fetched at the expense of the caller's address |
//! | in a flow, which has begun for a client | fetched again where this node has lost it |
//! | everywhere else | what this node has in memory; a client without that is its row, or none |
//!
//! So a caller that names an address at the token endpoint has nothing fetched (adr/0114).

pub mod client_keys;

use crate::{
    actors::{EntitySnapshot, Failure, HydrateError},
    client_documents::MissingDocument,
    domain::{
        Context,
        client::{Client, Command, KnownClient, is_document_address},
        installation::SelfService,
    },
    http::{
        answer::error::OAuthError,
        app::App,
        limits::{purpose::Purpose, registrations::RegistrationRefusal},
    },
};
use std::{net::IpAddr, sync::Arc};

type Seen = Arc<EntitySnapshot<Client>>;

/// Returns a client as it is now, where `anew`, or was a second ago; nothing is fetched. One that is known
/// by a document alone has the version 0: it is no row yet.
pub async fn find(app: &App, client_id: &str, anew: bool) -> Result<Seen, HydrateError> {
    let seen = app.views.clients.look_if(anew, client_id).await?;
    if !is_no_row(app, &seen, client_id).await? {
        return Ok(seen);
    }
    match app.documents.metadata.cached(client_id) {
        Some(known) => Ok(by_document(&known)),
        None if anew => Ok(seen),
        // Another node may have made a row of it within this second.
        None => app.views.clients.look_anew(client_id).await,
    }
}

/// Returns the client of a flow. A flow begins for clients that were known then, so that no caller
/// chooses what is fetched here.
pub async fn find_in_flow(app: &App, client_id: &str, anew: bool) -> Result<Seen, HydrateError> {
    let seen = app.views.clients.look_if(anew, client_id).await?;
    if !is_no_row(app, &seen, client_id).await? {
        return Ok(seen);
    }
    match app.documents.metadata.get(client_id).await {
        Ok(known) => Ok(by_document(&known)),
        Err(MissingDocument::Absent) => Ok(seen),
        Err(MissingDocument::Busy) => Err(HydrateError::Busy),
    }
}

/// Returns a client at the beginning of a grant; where its document says something else than is stored,
/// that is stored first. What has to be fetched is charged to the caller's address.
pub async fn find_to_begin(app: &App, client_id: &str, caller: IpAddr) -> Result<Seen, OAuthError> {
    let seen = app.views.clients.look(client_id).await?;
    if is_no_row(app, &seen, client_id).await? {
        let document = document(app, client_id, caller).await?;
        return Ok(document.map_or(seen, |known| by_document(&known)));
    }
    let Some(held) = seen.machine.known().filter(|held| held.document().is_some()) else {
        return Ok(seen);
    };
    if !serves(app, client_id).await? {
        return Ok(seen);
    }
    // What is stored serves where the document cannot be looked at.
    match document(app, client_id, caller).await {
        Ok(Some(known)) if known.metadata != held.metadata => {
            let command = Command::Keep(Box::new((*known).clone()));
            let kept = app.entities.clients.ask(&Context::node(), client_id, command).await;
            if let Err(failure) = kept {
                tracing::warn!(why = %failure, "the document of a client could not be kept");
            }
            Ok(app.views.clients.look_anew(client_id).await?)
        }
        _ => Ok(seen),
    }
}

/// Looks at the document of a client for a caller, which is charged for a fetch before it is made.
async fn document(
    app: &App,
    client_id: &str,
    caller: IpAddr,
) -> Result<Option<Arc<KnownClient>>, OAuthError> {
    if app.documents.metadata.needs_fetch(client_id) {
        app.limits.pace.take(Purpose::Document, caller, app.clock.now())?;
    }
    match app.documents.metadata.get(client_id).await {
        Ok(known) => Ok(Some(known)),
        Err(MissingDocument::Absent) => Ok(None),
        Err(MissingDocument::Busy) => {
            Err(OAuthError::unavailable().because("too many documents are being fetched"))
        }
    }
}

/// Tells whether a client is not stored, but may be known by a document.
async fn is_no_row(
    app: &App,
    seen: &EntitySnapshot<Client>,
    client_id: &str,
) -> Result<bool, HydrateError> {
    Ok(matches!(seen.machine, Client::Unborn) && serves(app, client_id).await?)
}

/// Documents are for clients that register themselves, where they may.
async fn serves(app: &App, client_id: &str) -> Result<bool, HydrateError> {
    Ok(is_document_address(client_id) && app.is_open(SelfService::Registration).await?)
}

fn by_document(known: &KnownClient) -> Seen {
    Arc::new(EntitySnapshot { machine: Client::Known(Box::new(known.clone())), version: 0 })
}

/// Makes a row of a client that is known by a document alone; tells whether there was one to be made.
pub async fn keep(app: &App, context: &Context, client_id: &str) -> Result<bool, HydrateError> {
    let seen = find_in_flow(app, client_id, true).await?;
    let Some(known) = seen.machine.known().filter(|_| seen.version == 0) else { return Ok(false) };
    Ok(store(app, context, known.clone()).await)
}

/// Makes a row of a client that is about to wait for a person: it will ask any node what became of that,
/// and is looked up there without its document. It counts as one that has registered itself.
pub async fn keep_to_wait(
    app: &App,
    context: &Context,
    seen: &EntitySnapshot<Client>,
    caller: IpAddr,
) -> Result<(), OAuthError> {
    let Some(known) = seen.machine.known().filter(|_| seen.version == 0) else { return Ok(()) };
    let now = app.clock.now();
    app.limits.registrations.take(caller, now)?;
    let kept_for =
        app.limits.registrations.add(&app.store, now).await.map_err(|why| match why {
            RegistrationRefusal::Full(wait) => OAuthError::from(wait),
            RegistrationRefusal::Unavailable(error) => {
                OAuthError::unavailable().because(error.to_string())
            }
        })?;
    if store(app, context, known.clone().with_kept_until(now + kept_for)).await {
        Ok(())
    } else {
        Err(OAuthError::unavailable())
    }
}

async fn store(app: &App, context: &Context, known: KnownClient) -> bool {
    let client_id = known.client_id.clone();
    match app.entities.clients.ask(context, &client_id, Command::Keep(Box::new(known))).await {
        Ok(_) => {
            app.views.clients.forget(&client_id);
            true
        }
        Err(Failure::Refused(_)) => false,
        Err(failure) => {
            tracing::warn!(why = %failure, "a client could not be kept");
            false
        }
    }
}
