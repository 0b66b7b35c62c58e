//! Mails the digests of alerts: how many were counted, and not mailed, in the hour after a mail (adr/0141).
//!
//! Every node looks for those that are due. The account's alerts decide, so that of two nodes one sends the mail.

use super::report_link;
use crate::{
    actors::{Bound, Failure, HydrateError, RepeatedWork},
    domain::{
        Context,
        account_alerts::{ALERT_DIGESTS, Command, rank},
    },
    http::app::App,
};
use std::{sync::Arc, time::Duration};

/// How many are sent in one turn.
const PART: Bound = Bound::new(200);

/// Returns the work of the worker that sends digests.
pub fn sending(app: App, every: Duration) -> RepeatedWork {
    let turn = move || -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        let app = app.clone();
        Box::pin(async move { send_due(&app).await })
    };
    RepeatedWork { name: "alert digests", every, turn: Arc::new(turn) }
}

async fn send_due(app: &App) {
    let now = rank(app.clock.now());
    let due = (("", ""), Some(now.as_str()));
    let page = match app.views.account_alerts.page_below((ALERT_DIGESTS, ""), due, PART).await {
        Ok(page) => page,
        Err(error) => {
            tracing::warn!(%error, "digests of alerts could not be listed");
            return;
        }
    };
    for (_, entry) in &page {
        if let Err(error) = send(app, &entry.id).await {
            tracing::warn!(%error, account = entry.id, "a digest was not sent");
        }
    }
}

async fn send(app: &App, account: &str) -> Result<(), HydrateError> {
    let seen = app.views.accounts.peek(account).await?;
    let known = seen.machine.known().filter(|known| known.admits(app.clock.now()));
    let to = known.and_then(|known| report_link::recipient(app, known));
    let send = Command::SendDigest { account: account.to_owned(), to };
    match app.entities.account_alerts.ask(&Context::node(), account, send).await {
        // Another node was first, or the next mail has told it.
        Ok(_) | Err(Failure::Refused(_)) => {}
        Err(error) => tracing::warn!(%error, account, "a digest was not sent: a later turn tries"),
    }
    Ok(())
}
