//! What flows are for: one file a kind, and one line in [`ALL`].

mod sign_in;
mod sign_out;

use super::{Open, Seed, Stage};
use crate::domain::{
    Requirement, Timestamp,
    assurance::Level,
    authorization::{AuthorizationFacts, ConsentQuestion, Denial},
    grant::{Grant, Person},
};

/// Every kind of flow.
pub const ALL: [&dyn Goal; 2] = [&sign_in::SignIn, &sign_out::SignOut];

/// What a flow of one kind needs, and what it ends in.
pub trait Goal: Send + Sync {
    /// The name of the kind (contract §6).
    fn kind(&self) -> &'static str;

    /// What a person who is signed in already is asked first; `None` where the flow begins without
    /// a session.
    fn first_in_session(&self) -> Option<Stage> {
        None
    }

    /// Returns the level that is asked for.
    fn required(&self, _seed: &Seed) -> Level {
        Level::Aal1
    }

    /// Says what is still missing, or what the flow ends in.
    fn next(&self, open: &Open, case: &Case<'_>) -> Next;
}

/// What a goal looks at beside the flow itself.
pub struct Case<'a> {
    pub person: &'a Person,
    /// The session in which the flow goes on, or that it would begin.
    pub session: &'a str,
    /// What decides about the client's request, if there is one.
    pub facts: Option<&'a AuthorizationFacts>,
    /// What the person has said in this very step to a question of yes or no.
    pub allowed: bool,
    pub now: Timestamp,
}

/// What follows from all that is known.
pub enum Next {
    Ask(Question),
    Fail(Denial),
    End(Ending),
}

/// What only the person can say.
pub enum Question {
    Organization,
    /// Whether the client may have what it asks for.
    Consent(Box<ConsentQuestion>),
    Confirm,
}

/// What a flow ends in.
pub struct Ending {
    pub session: SessionEnding,
    /// What the client is granted: a token family is born, with a code.
    pub grant: Option<Box<Grant>>,
    /// What was read and must still be so.
    pub requirements: Vec<Requirement>,
}

/// What becomes of the person's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnding {
    /// They are signed in: a session begins, or theirs goes on.
    SignedIn,
    /// The session that the flow began in ends.
    SignedOut,
    Untouched,
}
