//! What the store does with a commit, and without one.

use super::{
    asks::Slot,
    rules::{Bug, Plan},
    scene::{Landing, NO_ROW, View},
    shell::Step,
    world::{Landed, Row, Stage, Work},
};
use porteiro::domain::Name;

/// What the store says of a commit.
pub enum Outcome {
    Done(Row),
    Conflict,
    Unmet(Slot),
    Taken,
}

impl Step<'_> {
    pub(super) fn land_stray(&mut self, place: u8) {
        let (request, work) = self.world.strays.remove(usize::from(place));
        let (basis, plan) = self.rules.plan_of(&work);
        let _ = self.land(request, &work, basis, &plan);
    }

    /// Lets go of commits that can never land: versions do not come back.
    pub(super) fn drop_hopeless_strays(&mut self) {
        if self.rules.has(Bug::LastWriterWins) {
            return;
        }
        let (rows, rules) = (&self.world.rows, &self.rules);
        self.world.strays.retain(|(_, work)| {
            let (Stage::Checking(basis, _) | Stage::Committing(basis, _)) = &work.stage else {
                return false;
            };
            rows[usize::from(rules.ask(work.ask).of)].version == basis.version
        });
    }

    pub(super) fn forget(&mut self, slot: Slot) -> Option<()> {
        let look = self.rules.look(self.row(slot))?;
        if look.forget_at.is_none_or(|at| at > self.rules.time(self.world.clock)) {
            return None;
        }
        self.world.rows[usize::from(slot)] = Row::default();
        Some(())
    }

    /// Has the store take a commit.
    pub(super) fn land(&mut self, request: u8, work: &Work, basis: Row, plan: &Plan) -> Outcome {
        let Some(own) = plan.own else { return Outcome::Conflict };
        let of = self.rules.ask(work.ask).of;
        let mut changes = vec![(of, basis.version, own)];
        changes.extend(&plan.others);
        let moved = |(slot, version, _): &(Slot, u8, u16)| self.row(*slot).version != *version;
        if !self.rules.has(Bug::LastWriterWins) && changes.iter().any(moved) {
            return Outcome::Conflict;
        }
        if let Some(slot) = self.first_unmet(plan, work.at) {
            return Outcome::Unmet(slot);
        }
        let version = self.world.writes + 1;
        let next = |stored| Row { stored, version };
        if !self.rules.has(Bug::NamesNotUnique) && self.takes_held_name(&changes, version) {
            return Outcome::Taken;
        }
        self.judge_landing(work, plan);
        let word = plan.word;
        let Work { ask, at, secret, .. } = *work;
        let messages = plan.messages;
        self.world.landed.push(Landed { request, ask, word, at, secret, messages });
        self.world.writes = version;
        let written = if self.rules.has(Bug::TornCommit) { 1 } else { changes.len() };
        for (slot, _, stored) in changes.into_iter().take(written) {
            self.world.rows[usize::from(slot)] = next(stored);
        }
        Outcome::Done(next(own))
    }

    fn judge_landing(&mut self, work: &Work, plan: &Plan) {
        let read = |row: &Row| self.rules.look(*row).map_or(NO_ROW, |look| look.word);
        let landing = Landing {
            ask: self.rules.ask(work.ask).name,
            said: self.rules.said(plan.word),
            facts: work.facts.iter().map(read).collect(),
        };
        let judge = self.rules.scene.landing;
        let violated = judge(&View { rules: self.rules, world: &self.world }, &landing);
        self.violated = self.violated.or(violated);
    }

    /// Returns the entity of a requirement that does not hold, if there is one.
    pub(super) fn first_unmet(&self, plan: &Plan, at: u8) -> Option<Slot> {
        if self.rules.has(Bug::RequirementsIgnored) {
            return None;
        }
        let now = self.rules.time(at);
        plan.requirements.iter().find_map(|(slot, fact)| {
            let slot = (*slot)?;
            let row = self.row(slot);
            let look = self.rules.look(row);
            let holds =
                look.is_some_and(|look| fact.holds(row.version.into(), look.live_until, now));
            (!holds).then_some(slot)
        })
    }

    /// Tells whether a name that would be taken has another holder.
    fn takes_held_name(&self, changes: &[(Slot, u8, u16)], version: u8) -> bool {
        let names = |row| self.rules.look(row).map_or(&[] as &[Name], |look| &look.names);
        let is_changed = |slot: Slot| changes.iter().any(|change| change.0 == slot);
        let taken: Vec<_> = changes
            .iter()
            .flat_map(|(_, _, stored)| names(Row { stored: *stored, version }))
            .collect();
        let rows = (0..).zip(&self.world.rows).filter(|(slot, _)| !is_changed(*slot));
        let mut held = rows.flat_map(|(_, row)| names(*row));
        held.any(|name| taken.contains(&name))
    }
}
