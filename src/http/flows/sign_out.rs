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
    actors::{Failure, MultiCommit},
    domain::{
        Context,
        session::{self, SESSIONS, Session},
        token_family::{self, FAMILIES, TokenFamily},
    },
    http::{answer::error::Problem, app::App},
};

/// How often the lists are read until they are empty.
const ROUNDS: usize = 8;

/// Ends all of it through the entities, and does not return before the lists are empty.
pub async fn everywhere(app: &App, context: &Context, account: &str) -> Result<(), Problem> {
    for _ in 0..ROUNDS {
        let sessions = app.session_views.list_if(true, SESSIONS, account).await?;
        let families = app.family_views.list_if(true, FAMILIES, account).await?;
        if sessions.is_empty() && families.is_empty() {
            return Ok(());
        }
        for session in &*sessions {
            let ended = app.sessions.ask(context, &session.id, session::Command::End).await;
            let gone = matches!(ended, Err(Failure::Refused(session::Refusal::Unknown)));
            ended.map(drop).or_else(|failure| if gone { Ok(()) } else { Err(failed(&failure)) })?;
        }
        for family in &*families {
            let ended = app.families.ask(context, &family.id, token_family::Command::End).await;
            let gone = matches!(ended, Err(Failure::Refused(token_family::Refusal::Unknown)));
            ended.map(drop).or_else(|failure| if gone { Ok(()) } else { Err(failed(&failure)) })?;
        }
    }
    Err(UNAVAILABLE)
}

fn failed(failure: &dyn std::fmt::Display) -> Problem {
    tracing::warn!(why = %failure, "a session or a family could not be ended");
    UNAVAILABLE
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

/// Ends what is listed now in the commit of another entity.
pub async fn within(app: &App, commit: &mut MultiCommit, account: &str) -> Result<(), NotTaken> {
    let sessions = app.session_views.list_if(true, SESSIONS, account).await.map_err(unreadable)?;
    for session in &*sessions {
        let end = session::Command::End;
        // One that is gone meanwhile needs no end.
        let _gone = commit.decide::<Session>(&session.id, &end).await.map_err(unreadable)?;
    }
    let families = app.family_views.list_if(true, FAMILIES, account).await.map_err(unreadable)?;
    for family in &*families {
        let end = token_family::Command::End;
        let _gone = commit.decide::<TokenFamily>(&family.id, &end).await.map_err(unreadable)?;
    }
    Ok(())
}
