//! What an installation knows of flows: which proofs can be asked for, and which kinds there are.

use super::{Goal, goal};
use crate::domain::assurance::Worth;
use std::fmt;

/// A step by which a person proves who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProofStep {
    /// The name of the step.
    pub name: &'static str,
    pub worth: Worth,
    pub role: Role,
}

/// When a proof can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// As the first proof, of the account that the identifier names.
    First,
    /// After a first proof, of an account that has enrolled it.
    Second,
}

/// The proofs and kinds that flows are made of; the same for every flow of an installation.
#[derive(Default)]
pub struct Rules {
    proofs: Vec<ProofStep>,
    goals: Vec<&'static dyn Goal>,
}

impl Rules {
    /// The kinds of this product, with these proofs.
    pub fn new(proofs: impl IntoIterator<Item = ProofStep>) -> Self {
        Self { proofs: proofs.into_iter().collect(), goals: goal::ALL.to_vec() }
    }

    /// Adds a kind.
    pub fn with_goal(mut self, goal: &'static dyn Goal) -> Self {
        self.goals.push(goal);
        self
    }

    /// Returns the goal of a kind.
    pub fn goal(&self, kind: &str) -> Option<&'static dyn Goal> {
        self.goals.iter().copied().find(|goal| goal.kind() == kind)
    }

    /// Lists the proofs of a role.
    pub fn proofs(&self, role: Role) -> impl Iterator<Item = &ProofStep> {
        self.proofs.iter().filter(move |proof| proof.role == role)
    }

    /// Returns what the proof of this step is worth.
    pub fn worth(&self, step: &str) -> Option<Worth> {
        self.proofs.iter().find(|proof| proof.name == step).map(|proof| proof.worth)
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let goals: Vec<&str> = self.goals.iter().map(|goal| goal.kind()).collect();
        f.debug_struct("Rules").field("proofs", &self.proofs).field("goals", &goals).finish()
    }
}
