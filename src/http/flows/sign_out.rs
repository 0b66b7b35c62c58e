//! Ends everything that an account is signed in by: its sessions, and what it has granted to clients,
//! offline or not.
//!
//! A recovery does it three times (adr/0058). Before its commit, through the entities themselves, so
//! that no busy client can make the commit lose. Within its commit, for what is listed then. After it,
//! for what was born between that list and the commit. After the commit nothing can be born of what was
//! before: a session wants the account as it was read in the same step, a family wants a live session
//! or a live parent, and those have ended.

use super::{
    committing::{NotTaken, unreadable},
    problems::UNAVAILABLE,
};
use crate::{
    actors::MultiCommit,
    domain::{
        Context,
        session::{self, SESSIONS, Session},
        token_family::{self, FAMILIES, TokenFamily},
    },
    http::{answer::error::Problem, app::App, people::ending::Ending},
};

/// Ends all of it through the entities, as far as it is listed: of each list some thousand at most. What is left rests on a
/// former epoch once the commit has happened.
pub async fn everywhere(app: &App, context: &Context, account: &str) -> Result<(), Problem> {
    let sessions = Ending {
        entities: &app.entities.sessions,
        views: &app.views.sessions,
        context,
        list: (SESSIONS, account),
        command: || session::Command::End,
    };
    let families = Ending {
        entities: &app.entities.families,
        views: &app.views.families,
        context,
        list: (FAMILIES, account),
        command: || token_family::Command::End,
    };
    let left = sessions.all_but(None).await? + families.all_but(None).await?;
    if left > 0 {
        tracing::warn!(left, "sessions or families could not be ended");
        return Err(UNAVAILABLE);
    }
    Ok(())
}

/// Ends what was born before the commit and was not listed for it. What the commit is for has happened,
/// such as a recovery: its answer does not depend on this.
pub async fn after_commit(app: &App, context: &Context, account: &str) {
    if everywhere(app, context, account).await.is_err() {
        tracing::error!(
            account,
            "not everything could be ended: what is left rests on a former epoch"
        );
    }
}

/// Ends what is listed now in the commit of another entity, a hundred of each list at most: the commit begins another epoch,
/// which ends all of them.
pub async fn within(app: &App, commit: &mut MultiCommit, account: &str) -> Result<(), NotTaken> {
    for session in app.views.sessions.first_page(SESSIONS, account).await.map_err(unreadable)? {
        let end = session::Command::End;
        // One that is gone meanwhile needs no end.
        let _gone = commit.decide::<Session>(&session.id, &end).await.map_err(unreadable)?;
    }
    for family in app.views.families.first_page(FAMILIES, account).await.map_err(unreadable)? {
        let end = token_family::Command::End;
        let _gone = commit.decide::<TokenFamily>(&family.id, &end).await.map_err(unreadable)?;
    }
    Ok(())
}
