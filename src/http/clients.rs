//! Finds clients: those that are stored, and those that are known by a document of theirs (adr/0092).

use crate::{
    actors::{Failure, HydrateError, Hydrated},
    domain::{
        Context,
        client::{Client, Command, is_document_address},
    },
    http::app::App,
};
use std::sync::Arc;

/// Returns a client as it is now, where `anew`, or was a second ago. One that is known by a document alone
/// has the version 0: it is no row yet.
pub async fn find(
    app: &App,
    client_id: &str,
    anew: bool,
) -> Result<Arc<Hydrated<Client>>, HydrateError> {
    let seen = app.clients.look_if(anew, client_id).await?;
    if !matches!(seen.machine, Client::Unborn) || !serves(app, client_id) {
        return Ok(seen);
    }
    Ok(match app.metadata_documents.get(client_id).await {
        Err(_missing) => seen,
        Ok(known) => {
            Arc::new(Hydrated { machine: Client::Known(Box::new((*known).clone())), version: 0 })
        }
    })
}

/// Documents are for clients that register themselves, where they may.
fn serves(app: &App, client_id: &str) -> bool {
    app.registration && is_document_address(client_id)
}

/// Returns a client at the beginning of a request; where its document says something else than is stored,
/// that is stored first.
pub async fn find_first(app: &App, client_id: &str) -> Result<Arc<Hydrated<Client>>, HydrateError> {
    let seen = find(app, client_id, false).await?;
    let Some(held) = seen.machine.known().filter(|one| one.document().is_some()) else {
        return Ok(seen);
    };
    if seen.version == 0 || !serves(app, client_id) {
        return Ok(seen);
    }
    match app.metadata_documents.get(client_id).await {
        Ok(known) if known.metadata != held.metadata => {
            let command = Command::Keep(Box::new((*known).clone()));
            let kept = app.registry.ask(&Context::node(), client_id, command).await;
            if let Err(failure) = kept {
                tracing::warn!(why = %failure, "the document of a client could not be kept");
            }
            app.clients.look_anew(client_id).await
        }
        _ => Ok(seen),
    }
}

/// Makes a row of a client that is known by a document alone; tells whether there was one to be made.
pub async fn keep(app: &App, context: &Context, client_id: &str) -> Result<bool, HydrateError> {
    let seen = find(app, client_id, true).await?;
    let Some(known) = seen.machine.known().filter(|_| seen.version == 0) else { return Ok(false) };
    let command = Command::Keep(Box::new(known.clone()));
    match app.registry.ask(context, client_id, command).await {
        Ok(_) => {
            app.clients.forget(client_id);
            Ok(true)
        }
        Err(Failure::Refused(_)) => Ok(false),
        Err(failure) => {
            tracing::warn!(why = %failure, "a client could not be kept");
            Ok(false)
        }
    }
}
