//! What may be done in a flow, and what is answered.

use super::{Flow, Open, Over, Rules, Seed};
use crate::domain::{
    Fingerprint, Requirement, account::Account, assurance::Method,
    authorization::AuthorizationFacts, grant::Grant,
};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};

/// A step, and the seed of the flow it is meant for.
#[derive(Clone, Debug)]
pub struct Command {
    pub rules: Arc<Rules>,
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
    /// A proof was wrong; of which account it was asked, if there is one.
    Disprove {
        /// The name of the step.
        step: &'static str,
        account: Option<String>,
    },
    /// A proof was right.
    Prove {
        proved: Proved,
        material: Box<Material>,
    },
    /// The person chose an organization.
    Choose {
        organization: String,
        material: Box<Material>,
    },
    /// The person said yes or no, to the question of this step.
    Decide {
        step: &'static str,
        allow: bool,
        material: Box<Material>,
    },
}

impl Step {
    /// Returns the name under which the step is offered; looking is never refused.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Look => None,
            Self::Identify { .. } => Some("identifier"),
            Self::Choose { .. } => Some("organization"),
            Self::Disprove { step, .. } | Self::Decide { step, .. } => Some(step),
            Self::Prove { proved, .. } => Some(proved.step),
        }
    }
}

/// A proof that was right, of the account that it was judged on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proved {
    /// The name of the step.
    pub step: &'static str,
    /// The id of the account.
    pub account: String,
    /// The version of the account that the proof was judged on; the commit requires it.
    pub version: i64,
    /// What the account has enrolled beside it; one of them is asked for after a single factor.
    pub second_factors: Vec<Method>,
}

impl Proved {
    pub(super) fn requirement(&self) -> Requirement {
        Requirement::unchanged::<Account>(&*self.account, self.version)
    }
}

/// What a flow that may end in this step is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Material {
    /// Needed where a client asks for something.
    pub facts: Option<AuthorizationFacts>,
    pub fresh: Fresh,
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

/// The flow after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub flow: Flow,
    /// What the family stands for that was born in this very step; its code is good.
    pub granted: Option<Box<Grant>>,
}

/// What a flow has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// The id that the request drew for the family: it tells which request has ended the flow, after
    /// a commit whose fate is not known as well.
    pub family_id: String,
    /// A family was born under that id.
    pub granted: bool,
    pub session: Option<FinishedSession>,
}

/// The session that a flow has ended with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedSession {
    pub id: String,
    pub change: SessionChange,
}

/// What has become of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionChange {
    /// It was born in the commit that ended the flow.
    Begun,
    /// The person proved more: it goes on under a new token.
    Renewed,
    /// Nothing new was proved in this flow.
    Kept,
    /// It is over.
    Ended,
}

impl Reply {
    pub(super) fn of(open: Open) -> Self {
        Self { flow: Flow::Open(Box::new(open)), granted: None }
    }

    pub(super) fn over(over: Over) -> Self {
        Self { flow: Flow::Over(Box::new(over)), granted: None }
    }
}
