//! Begins a token family in a session that is open.

use super::session::Present;
use crate::{
    actors::{Answer, CommitError, Failure, Replied},
    domain::{
        Context, Machine as _,
        client::KnownClient,
        session::{self, Session},
        token_family::{Command, TokenFamily},
    },
    http::app::App,
};

/// A family that is to begin.
pub struct Beginning<'a> {
    pub id: &'a str,
    pub command: Command,
    /// It may have begun already: an ask before this one was left without an answer.
    pub again: bool,
    pub present: &'a Present,
    pub client: &'a KnownClient,
}

/// Begins it. A client that is told when the session ends is noted in the session by the same commit,
/// the first time that the person signs into it there.
pub async fn begin(app: &App, context: &Context, beginning: Beginning<'_>) -> Answer<TokenFamily> {
    let Beginning { id, command, again, present, client } = beginning;
    if client.hears_of_logout() && !present.tells(&client.client_id) {
        return begin_and_note(app, context, (id, command), (present, client)).await;
    }
    if again {
        app.families.ask(context, id, command).await
    } else {
        app.families.ask_new(context, id, command).await
    }
}

async fn begin_and_note(
    app: &App,
    context: &Context,
    (id, command): (&str, Command),
    (present, client): (&Present, &KnownClient),
) -> Answer<TokenFamily> {
    let mut commit = app.multi_commit(context);
    let note = session::Command::SignInto {
        session: present.id.clone(),
        client_id: client.client_id.clone(),
    };
    let noted = commit.decide::<Session>(&present.id, &note).await;
    let noted = noted.map_err(|_| Failure::Unavailable)?;
    noted.map_err(|_| Failure::Unmet { kind: Session::KIND })?;
    let begun = commit.decide::<TokenFamily>(id, &command).await;
    let reply = begun.map_err(|_| Failure::Unavailable)?.map_err(Failure::Refused)?;
    let committed = commit.commit().await;
    // The next sign-in sees that it is noted.
    app.session_views.forget(&present.id);
    match committed {
        Ok(()) => Ok(Replied { reply, version: 0 }),
        // Another request has changed the session.
        Err(CommitError::Conflict) => Err(Failure::Unmet { kind: Session::KIND }),
        Err(CommitError::Unmet { kind }) => Err(Failure::Unmet { kind }),
        Err(CommitError::Taken { space }) => Err(Failure::Taken { space }),
        Err(CommitError::Unavailable) => Err(Failure::Unavailable),
        Err(CommitError::Unknown) => Err(Failure::Unknown),
    }
}
