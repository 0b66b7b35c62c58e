//! Unlinks the identities of connections that were removed (adr/0139). They lead nowhere from the removal on; what is left
//! of them is forgotten in the sweeps that follow.

use super::{
    batches::{BatchInterruption, Batches},
    services::Services,
};
use crate::{
    domain::{
        connection::{self, Connection, REMOVED_CONNECTIONS},
        external_identity::{CONNECTION_IDENTITIES, Cause, Command, ExternalIdentity},
    },
    store::ListRow,
};
use std::sync::Arc;

/// Connections that are looked at in one sweep.
const BATCH: u32 = 20;

/// Unlinks what is left of each connection that was removed.
pub(super) async fn purge(services: &Arc<Services>) {
    let removed = services.store.list_for_worker(REMOVED_CONNECTIONS, "", ("", ""), BATCH).await;
    let removed = match removed {
        Ok(removed) => removed,
        Err(error) => {
            tracing::warn!(%error, "the connections that were removed could not be listed");
            return;
        }
    };
    for ListRow { id, .. } in &removed {
        // Another node may have done it: the next sweep tells.
        if let Err(error) = unlink(services, id).await {
            tracing::warn!(%error, connection = id, "identities could not be unlinked");
        }
    }
}

async fn unlink(services: &Arc<Services>, id: &str) -> Result<(), BatchInterruption> {
    let mut batches = Batches::<Connection>::begin(services, id, None).await?;
    let unlink = Command::Unlink { cause: Cause::Connection };
    batches.end_listed::<ExternalIdentity>((CONNECTION_IDENTITIES, id), &unlink).await?;
    batches.finish(&connection::Command::Purged).await
}
