//! What an installation knows of flows: which proofs can be asked for, and which kinds there are.

use super::{Goal, goal};
use crate::domain::assurance::{Method, Worth};
use std::fmt;

/// A step by which a person proves who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProofStep {
    /// The name of the step.
    pub name: &'static str,
    /// The steps that prepare it, such as the one that sends a code; offered beside it.
    pub preparing: &'static [&'static str],
    pub worth: Worth,
    /// When it can be asked for.
    pub roles: &'static [Role],
}

/// When a proof can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// As the first proof, by a person who has not said who they are.
    Unnamed,
    /// As the first proof, of the account that the identifier names.
    First,
    /// After a first proof, of an account that has enrolled it.
    Second,
    /// That an e-mail address is the person's.
    Address,
}

impl ProofStep {
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Lists the steps by which it is given.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.preparing.iter().copied().chain([self.name])
    }
}

/// The proofs and kinds that flows are made of; the same for every flow of an installation.
#[derive(Default)]
pub struct Rules {
    proofs: Vec<ProofStep>,
    /// The names of steps that are served.
    served: Vec<&'static str>,
    goals: Vec<&'static dyn Goal>,
    /// Passkeys whose hardware was attested count for more than others.
    attests: bool,
}

impl Rules {
    /// The kinds of this product, with these proofs.
    pub fn new(proofs: impl IntoIterator<Item = ProofStep>) -> Self {
        let (proofs, served) = (proofs.into_iter().collect(), Vec::new());
        Self { proofs, served, goals: goal::ALL.to_vec(), attests: false }
    }

    /// Says whether passkeys whose hardware was attested count for more than others.
    pub fn attesting(self, attests: bool) -> Self {
        Self { attests, ..self }
    }

    /// Says which steps are served: an installation without mail serves none that sends one.
    pub fn serving(mut self, steps: impl IntoIterator<Item = &'static str>) -> Self {
        self.served.extend(steps);
        self
    }

    pub(super) fn serves(&self, step: &str) -> bool {
        self.served.contains(&step)
    }

    /// Adds a kind.
    pub fn with_goal(mut self, goal: &'static dyn Goal) -> Self {
        self.goals.push(goal);
        self
    }

    /// Returns the goal of a kind, if all that it needs is served.
    pub fn goal(&self, kind: &str) -> Option<&'static dyn Goal> {
        let named = self.goals.iter().copied().find(|goal| goal.kind() == kind);
        named.filter(|goal| goal.needs().iter().all(|step| self.serves(step)))
    }

    /// Lists the proofs of a role.
    pub fn proofs(&self, role: Role) -> impl Iterator<Item = &ProofStep> {
        self.proofs.iter().filter(move |proof| proof.has(role))
    }

    /// Lists every proof.
    pub fn all_proofs(&self) -> &[ProofStep] {
        &self.proofs
    }

    /// Tells whether one of these methods can be asked for after a first proof.
    pub fn has_second_factor(&self, methods: &[Method]) -> bool {
        self.proofs(Role::Second).any(|proof| methods.contains(&proof.worth.method))
    }

    /// Lists those of these methods that can be asked for here.
    pub fn served(&self, methods: &[Method]) -> Vec<Method> {
        let asked_for = |wanted: Method| self.proofs.iter().any(|one| one.worth.method == wanted);
        let served = |method: &&Method| match method {
            // It is proved by the step of any passkey.
            Method::AttestedPasskey => self.attests && asked_for(Method::Passkey),
            other => asked_for(**other),
        };
        methods.iter().filter(served).copied().collect()
    }

    /// Returns what the proof of this step is worth.
    pub fn worth(&self, step: &str) -> Option<Worth> {
        self.proofs.iter().find(|proof| proof.name == step).map(|proof| proof.worth)
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let goals: Vec<&str> = self.goals.iter().map(|goal| goal.kind()).collect();
        f.debug_struct("Rules")
            .field("proofs", &self.proofs)
            .field("served", &self.served)
            .field("goals", &goals)
            .field("attests", &self.attests)
            .finish()
    }
}
