//! What may be done in a flow, and what is answered.

use super::{Flow, Open, Seed};
use crate::domain::{
    Fingerprint,
    assurance::Method,
    authorization::AuthorizationFacts,
    grant::{Grant, Person},
};
use std::time::Duration;

/// A step, and the seed of the flow it is meant for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub seed: Seed,
    pub step: Step,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Shows the flow and changes nothing.
    Look,
    Identify {
        identifier: String,
    },
    /// A credential was wrong; whose it would have been, if anybody's.
    Disprove {
        account: Option<String>,
    },
    /// A credential was right.
    Prove {
        person: Person,
        /// Whether the account has enrolled one; then it is asked for.
        second_factor: bool,
        /// Needed where a client asks for something.
        facts: Option<Box<AuthorizationFacts>>,
        fresh: Box<Fresh>,
    },
    /// The second factor was right.
    Confirm {
        method: Method,
        facts: Option<Box<AuthorizationFacts>>,
        fresh: Box<Fresh>,
    },
    Choose {
        organization: String,
        facts: Box<AuthorizationFacts>,
        fresh: Box<Fresh>,
    },
    Decide {
        allow: bool,
        facts: Box<AuthorizationFacts>,
        fresh: Box<Fresh>,
    },
}

/// What a flow that comes to its end needs to bear: ids and fingerprints drawn for it alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fresh {
    pub session_id: String,
    pub session_token: Fingerprint,
    pub session_idle: Duration,
    pub session_ceiling: Duration,
    pub family_id: String,
    pub code: Fingerprint,
    pub code_lives: Duration,
    /// The live session of this very person that the caller holds; it goes on.
    pub present: Option<String>,
}

/// The flow as it stands after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub flow: Flow,
    /// What it has come to in this very step.
    pub finished: Option<Finished>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    pub session: String,
    /// It was born now.
    pub new_session: bool,
    /// The person signed in here, and not before.
    pub proved_here: bool,
    /// The person has consented in this very step.
    pub consented: bool,
    /// What the family that was born stands for; its code is good.
    pub granted: Option<Box<Grant>>,
}

impl Reply {
    pub(super) fn standing(open: Open) -> Self {
        Self { flow: Flow::Open(Box::new(open)), finished: None }
    }
}
