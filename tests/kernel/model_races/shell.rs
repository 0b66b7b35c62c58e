//! The shell around machines, as `src/actors/entity.rs`, `deciding.rs` and `multi_commit.rs` have it, one step at a
//! time: a change there is made here as well.
//!
//! | production | here |
//! |---|---|
//! | an actor opens a request | [`Action::Begin`]: only while no other request is open at the actor |
//! | it reads its row, or remembers it | [`Stage::Reading`]; one that it remembers is decided on at once |
//! | rows that a decision commands are read | [`Stage::Commanding`]: a step of its own |
//! | `check`: nothing is written, is the row still the one? | [`Stage::Checking`] |
//! | the commit, and its verdict | [`Stage::Committing`]: lands, conflicts, is unmet, or a name is taken |
//! | an unknown commit ends the actor | [`Action::LoseTrack`]: it may land later, or never |
//! | a handler reads facts anew where they have changed | a request waits and reads them when it begins |
//! | a commit of `/api` or of a worker | the same without memory, so many tries, no check of what it refuses |
//!
//! Left out: allowances and mailboxes (they delay), actors that rest (as one that was not awake), a decision
//! with a version to be at, and a third attempt after a conflict.

use super::{
    asks::{By, Slot},
    rules::{Bug, Rules, Verdict},
    scene::View,
    store::Outcome,
    world::{Action, Call, Fate, Held, Row, Stage, State, Word, Work, World},
};

/// How often a decision is made anew after losing to another.
const ATTEMPTS: u8 = 2;

/// How often a handler reads facts anew.
const REREADS: u8 = 1;

/// The world after a step.
pub struct Step<'a> {
    pub(super) rules: &'a mut Rules,
    pub world: World,
    pub violated: Option<&'static str>,
    /// What was told to a caller.
    pub told: Option<(u8, Word)>,
}

/// Takes one step, if it is possible.
pub fn take<'a>(rules: &'a mut Rules, world: &World, action: Action) -> Option<Step<'a>> {
    let mut step = Step { rules, world: world.clone(), violated: None, told: None };
    match action {
        Action::Tick => step.world.clock += 1,
        Action::Forget(slot) => step.forget(slot)?,
        Action::Crash(node) => step.crash(node),
        Action::Begin(place, node) => step.begin(place, node)?,
        Action::Go(place, fate) => step.go_on(place, fate)?,
        Action::LoseTrack(place) => step.lose_track(place)?,
        Action::Land(place) => step.land_stray(place),
    }
    step.drop_hopeless_strays();
    if step.violated.is_none() {
        let standing = step.rules.scene.standing;
        step.violated = standing(&View { rules: step.rules, world: &step.world });
    }
    Some(step)
}

impl Step<'_> {
    fn call(&mut self, place: u8) -> &mut Call {
        &mut self.world.calls[usize::from(place)]
    }

    pub(super) fn row(&self, slot: Slot) -> Row {
        self.world.rows[usize::from(slot)]
    }

    fn held(&mut self, node: u8, slot: Slot) -> &mut Option<Held> {
        &mut self.world.held[usize::from(node)][usize::from(slot)]
    }

    fn work(&self, place: u8) -> Option<Work> {
        match &self.world.calls[usize::from(place)].state {
            State::Working(work) => Some(work.clone()),
            _ => None,
        }
    }

    fn is_by_actor(&self, work: &Work) -> bool {
        !matches!(self.rules.ask(work.ask).by, By::Commit(_))
    }

    /// Tells whether the actor of an entity is at work on a node.
    fn is_busy(&self, node: u8, slot: Slot) -> bool {
        self.world.calls.iter().any(|call| match &call.state {
            State::Working(work) => {
                let ask = self.rules.ask(work.ask);
                work.node == node && ask.of == slot && self.is_by_actor(work)
            }
            _ => false,
        })
    }

    fn begin(&mut self, place: u8, node: u8) -> Option<()> {
        let Call { request, tries, state, .. } = self.call(place).clone();
        let State::Waiting { ask, .. } = state else { return None };
        let (by, of) = (self.rules.ask(ask).by, self.rules.ask(ask).of);
        let by_actor = !matches!(by, By::Commit(_));
        if by_actor && self.is_busy(node, of) {
            return None;
        }
        let facts = self.rules.ask(ask).reads.iter().map(|slot| self.row(*slot)).collect();
        let (secret, at) = (request * 8 + tries, self.world.clock);
        let work = Work { node, ask, attempt: 0, at, secret, facts, stage: Stage::Reading };
        let held = *self.held(node, of);
        match held {
            Some(held) if by_actor => {
                *self.held(node, of) = None;
                self.decide(place, work, (held.row, held.seen), false);
            }
            _ => self.call(place).state = State::Working(work),
        }
        Some(())
    }

    fn go_on(&mut self, place: u8, fate: Fate) -> Option<()> {
        let work = self.work(place)?;
        let of = self.rules.ask(work.ask).of;
        match work.stage.clone() {
            Stage::Reading => {
                let row = self.row(of);
                let now = self.world.clock;
                self.decide(place, work, (row, now), true);
            }
            Stage::Commanding(basis, fresh) => {
                let Verdict::Commands(slots) = self.rules.decide(&work, basis, None) else {
                    return None;
                };
                let rows: Vec<Row> = slots.iter().map(|slot| self.row(*slot)).collect();
                // What was remembered is checked in any case.
                self.decided(place, work, (basis, 0), (fresh, Some(rows)));
            }
            Stage::Checking(..) => self.check(place, &work),
            Stage::Committing(..) => {
                let tries = self.call(place).tries;
                self.commit(place, &work, fate);
                if fate == Fate::Lost {
                    // There was an answer to lose.
                    (self.call(place).tries > tries).then_some(())?;
                    self.world.losses += 1;
                }
            }
        }
        Some(())
    }

    /// Decides on a row that was just read, or is remembered since an instant.
    fn decide(&mut self, place: u8, work: Work, (basis, seen): (Row, u8), fresh: bool) {
        match self.rules.decide(&work, basis, None) {
            Verdict::Commands(_) => {
                let stage = Stage::Commanding(basis, fresh);
                self.call(place).state = State::Working(Work { stage, ..work });
            }
            Verdict::Plan(_) => self.decided(place, work, (basis, seen), (fresh, None)),
        }
    }

    fn decided(
        &mut self,
        place: u8,
        work: Work,
        (basis, seen): (Row, u8),
        (fresh, commanded): (bool, Option<Vec<Row>>),
    ) {
        let Verdict::Plan(plan) = self.rules.decide(&work, basis, commanded.as_deref()) else {
            panic!("what is commanded was read")
        };
        let of = self.rules.ask(work.ask).of;
        let by = self.rules.ask(work.ask).by;
        if let Some(kind) = plan.unmet {
            self.hold(&work, basis);
            return self.unmet(place, &work, kind);
        }
        if plan.own.is_some() {
            let stage = Stage::Committing(basis, commanded);
            let work = Work { stage, ..work };
            if self.rules.has(Bug::AnsweredBeforeCommit) {
                let request = self.call(place).request;
                self.world.strays.push((request, work.clone()));
                return self.answer(place, &work, plan.word, Fate::Delivered);
            }
            self.call(place).state = State::Working(work);
            return;
        }
        // Within an instant no second passes.
        let young = by == By::TolerantActor && seen == self.world.clock;
        let trusted = fresh || young;
        let checks = matches!(by, By::Actor | By::TolerantActor)
            && !(trusted && plan.requirements.is_empty());
        if checks {
            let stage = Stage::Checking(basis, commanded);
            self.call(place).state = State::Working(Work { stage, ..work });
            return;
        }
        if self.is_by_actor(&work) {
            *self.held(work.node, of) = Some(Held { row: basis, seen });
        }
        self.answer(place, &work, plan.word, Fate::Delivered);
    }

    fn check(&mut self, place: u8, work: &Work) {
        let (basis, plan) = self.rules.plan_of(work);
        if self.row(self.rules.ask(work.ask).of).version != basis.version {
            return self.retry(place, work);
        }
        match self.first_unmet(&plan, work.at) {
            Some(slot) if plan.commanded.contains(&slot) => self.retry(place, work),
            Some(slot) => {
                self.hold(work, basis);
                self.unmet(place, work, slot);
            }
            None => {
                self.hold(work, basis);
                self.answer(place, work, plan.word, Fate::Delivered);
            }
        }
    }

    fn commit(&mut self, place: u8, work: &Work, fate: Fate) {
        let (basis, plan) = self.rules.plan_of(work);
        let request = self.call(place).request;
        let stands = |step: &Self| step.row(step.rules.ask(work.ask).of).version == basis.version;
        match self.land(request, work, basis, &plan) {
            Outcome::Done(row) => {
                self.hold(work, row);
                self.answer(place, work, plan.word, fate);
            }
            Outcome::Conflict => self.retry(place, work),
            Outcome::Unmet(slot) if plan.commanded.contains(&slot) => self.retry(place, work),
            // Said on the strength of a version that may be past: if so, it is decided again.
            Outcome::Unmet(_) | Outcome::Taken if !stands(self) => self.retry(place, work),
            Outcome::Unmet(slot) => {
                self.hold(work, basis);
                self.unmet(place, work, slot);
            }
            Outcome::Taken => {
                self.hold(work, basis);
                self.fail(place, work, "taken");
            }
        }
    }

    /// The actor remembers a row that was just the store's.
    fn hold(&mut self, work: &Work, row: Row) {
        if self.is_by_actor(work) {
            let (of, seen) = (self.rules.ask(work.ask).of, self.world.clock);
            *self.held(work.node, of) = Some(Held { row, seen });
        }
    }

    fn retry(&mut self, place: u8, work: &Work) {
        let attempts = match self.rules.ask(work.ask).by {
            By::Commit(tries) => tries,
            By::Actor | By::TolerantActor => ATTEMPTS,
        };
        if work.attempt + 1 >= attempts {
            return self.fail(place, work, "contended");
        }
        let (attempt, at, stage) = (work.attempt + 1, self.world.clock, Stage::Reading);
        self.call(place).state = State::Working(Work { attempt, at, stage, ..work.clone() });
    }

    /// What the handler had read has changed: it reads again, and asks again with the same secret.
    fn unmet(&mut self, place: u8, work: &Work, slot: Slot) {
        let may_reread = self.call(place).rereads < REREADS;
        if !(self.rules.ask(work.ask).reads.contains(&slot) && may_reread) {
            return self.fail(place, work, "unmet");
        }
        self.call(place).rereads += 1;
        self.call(place).state = State::Waiting { ask: work.ask, node: Some(work.node) };
    }

    fn fail(&mut self, place: u8, work: &Work, said: &'static str) {
        let word = self.rules.word(said);
        self.answer(place, work, word, Fate::Delivered);
    }

    fn answer(&mut self, place: u8, work: &Work, word: Word, fate: Fate) {
        let next = (self.rules.ask(work.ask).next)(self.rules.said(word));
        match (next, fate) {
            (Some(next), _) => {
                let (ask, node) = (u8::try_from(next).unwrap(), Some(work.node));
                self.call(place).state = State::Waiting { ask, node };
            }
            (None, Fate::Delivered) => {
                self.told = Some((work.ask, word));
                self.call(place).state = State::Done(word);
            }
            (None, Fate::Lost) => self.ask_anew(place),
        }
    }

    /// The caller has heard nothing, and asks from the beginning, at whichever node.
    fn ask_anew(&mut self, place: u8) {
        let request = usize::from(self.call(place).request);
        let ask = u8::try_from(self.rules.scene.requests[request]).unwrap();
        let call = self.call(place);
        (call.tries, call.rereads) = (call.tries + 1, 0);
        call.state = State::Waiting { ask, node: None };
    }

    fn lose_track(&mut self, place: u8) -> Option<()> {
        let work = self.work(place)?;
        let Stage::Committing(..) = work.stage else { return None };
        self.world.losses += 1;
        let (of, request) = (self.rules.ask(work.ask).of, self.call(place).request);
        *self.held(work.node, of) = None;
        self.call(place).state = State::Waiting { ask: work.ask, node: Some(work.node) };
        self.world.strays.push((request, work));
        Some(())
    }

    fn crash(&mut self, node: u8) {
        self.world.losses += 1;
        self.world.held[usize::from(node)].fill(None);
        for place in 0..u8::try_from(self.world.calls.len()).unwrap() {
            let call = self.call(place).clone();
            match call.state {
                State::Working(work) if work.node == node => {
                    if let Stage::Committing(..) = work.stage {
                        self.world.strays.push((call.request, work));
                    }
                    self.ask_anew(place);
                }
                State::Waiting { node: Some(on), .. } if on == node => self.ask_anew(place),
                _ => {}
            }
        }
    }
}
