//! Ends what an account was signed in by in a former epoch: its sessions, and what it has granted to clients,
//! offline or not.
//!
//! The commit of a recovery, a sign-out everywhere or a deletion begins another epoch of the account: from then
//! on nothing of a former one confers anything, and nothing can be born of it. That each entity ends as well
//! keeps lists short, and has clients told of the logout.

use crate::{
    actors::HydrateError,
    domain::{
        Context,
        token_family::{self, FAMILIES},
    },
    http::{app::App, people::ending::Ending},
};

/// Ends what is listed, of each list some thousand at most. What the commit is for has happened: its answer does
/// not depend on this.
pub async fn after_commit(app: &App, context: &Context, account: &str) {
    match end_listed(app, context, account).await {
        Ok(0) => {}
        left => {
            let left = left.ok();
            tracing::error!(account, left, "what could not be ended rests on a former epoch");
        }
    }
}

async fn end_listed(app: &App, context: &Context, account: &str) -> Result<usize, HydrateError> {
    let sessions = Ending::sessions(app, context, account);
    let families = Ending {
        entities: &app.entities.families,
        views: &app.views.families,
        context,
        list: (FAMILIES, account),
        command: || token_family::Command::End,
    };
    Ok(sessions.all_but(None).await? + families.all_but(None).await?)
}
