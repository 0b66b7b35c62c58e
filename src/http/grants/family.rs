//! Begins a token family in a session that is open.

use crate::{
    actors::{Answer, Failure},
    domain::{
        Context, Machine as _,
        client::KnownClient,
        session::Session,
        token_family::{Command, Refusal, TokenFamily},
    },
    http::{app::App, people::session::Present},
};

/// A family that is to begin.
pub struct Beginning<'a> {
    pub id: &'a str,
    pub command: Command,
    /// It may have begun already: an ask before this one was left without an answer.
    pub again: bool,
    /// The session that notes its client, by the same commit.
    pub noted_in: Option<&'a str>,
}

/// The session that is to note the client: one that is told when the session ends, the first time that the
/// person signs into it there.
pub fn noted_in(present: &Present, client: &KnownClient) -> Option<String> {
    let notes = client.hears_of_logout() && !present.tells(&client.client_id);
    notes.then(|| present.id.clone())
}

/// Begins it.
pub async fn begin(app: &App, context: &Context, beginning: Beginning<'_>) -> Answer<TokenFamily> {
    let Beginning { id, command, again, noted_in } = beginning;
    let answer = if again {
        app.entities.families.ask(context, id, command).await
    } else {
        app.entities.families.ask_new(context, id, command).await
    };
    if let Some(session) = noted_in {
        // The next sign-in sees that it is noted.
        app.views.sessions.forget(session);
    }
    match answer {
        // The session has ended, or sign-ins of other clients have changed it: it is looked at anew.
        Err(Failure::Refused(Refusal::SessionOver)) => Err(Failure::Unmet { kind: Session::KIND }),
        Err(Failure::Contended) if noted_in.is_some() => {
            Err(Failure::Unmet { kind: Session::KIND })
        }
        answer => answer,
    }
}
