//! The steps of the world: the entity shell, small, between a machine and a store.
//!
//! It mirrors `src/actors/entity.rs`, function by function:
//!
//! | here | there |
//! |---|---|
//! | `ask`, `again` | the head of the loop in `State::settle`: the time is taken, then what is held |
//! | `read` | `State::read` |
//! | `decide` | `settle` from `machine.decide` on, up to the commit: trusted, or to be checked |
//! | `check` | `State::check`, and `continue` where it says `StaleState` |
//! | `commit` | the commit and the `match` on its verdict |
//! | `lose_track` | `CommandOutcome::Unknown` and the `stop` in `handle`; a node that is gone |
//! | `forget` | the janitor, and a row that is not there read as version 0 |
//! | `land` | `Group::write` in `src/store/group.rs`: versions, requirements, then the swap |
//!
//! An actor that panics or is killed at work is gone with its memory and its command (`Die`).
//! `repeat` mirrors `Tries` in `src/http/reading/retries.rs`.
//!
//! Left out, because a run with it is also a run without it: mailboxes and envelopes (a queued
//! command is one that is asked later), *unavailable* (a command that did nothing), an answer's
//! way (heard at once, it obliges more and tells more), passivation's race (`rest` needs an actor
//! without work; `tests/kernel/entities.rs` has the rest), names, listings, births, log and outbox.
//! So is what `ask_new` presumes: worlds begin when the family has, and its commit expected no row
//! either way.
//! An answer that tolerates staleness may here be of any age. Clocks of nodes lag behind each other
//! (an instant is taken long before its commit), but none runs ahead.

use super::{
    chronicle::{self, Property, Witness},
    rules::{Bug, Rules, Verdict},
    scene::{Ask, Limit, MEMBERSHIP, Request, Token},
    world::{Action, Bounds, Fate, Node, Row, Stage, Work, World, Write, time},
};
use porteiro::domain::{
    Machine as _, Requirement, Timestamp,
    account::Account,
    session::Session,
    token_family::{Refusal, Reply},
};
use std::rc::Rc;

/// How often a decision is made; fewer than in production, so that giving up is within reach.
const ATTEMPTS: u8 = 2;

/// A world after a step, and what was seen on the way.
pub struct Step<'a> {
    rules: &'a mut Rules,
    /// Whether handlers that are in doubt ask again.
    repeats: bool,
    pub world: World,
    pub violated: Vec<Property>,
    pub seen: Vec<Witness>,
    /// What a caller was told.
    pub said: Option<Said>,
}

/// What an asker is told.
pub enum Said {
    /// With the number of the request.
    Verdict(Rc<Verdict>, Token),
    Unmet(&'static str),
    Contended,
}

enum Landing {
    Done(Row),
    Conflict,
    Unmet(&'static str),
}

/// Takes one step, if it is possible.
pub fn take<'a>(
    rules: &'a mut Rules,
    bounds: Bounds,
    world: &World,
    action: Action,
) -> Option<Step<'a>> {
    let (violated, seen, repeats) = (Vec::new(), Vec::new(), bounds.repeats);
    let mut step = Step { rules, repeats, world: *world, violated, seen, said: None };
    match action {
        Action::Tick => step.world.clock += 1,
        Action::LoseRole => step.world.limit = Limit::Shrunk,
        Action::EndSession => step.world.session_ended = true,
        Action::Ask(n, ask) => step.ask(n, ask),
        Action::Repeat(n) => step.repeat(n)?,
        Action::Read(n) => step.read(n)?,
        Action::Check(n) => step.check(n)?,
        Action::Commit(n, fate) => step.commit(n, fate)?,
        Action::Die(n) => step.die(n)?,
        Action::LoseTrack(n) => step.lose_track(n)?,
        Action::Rest(n) => step.node(n).held = None,
        Action::Land => step.land_stray()?,
        Action::Forget => step.forget()?,
    }
    step.drop_hopeless_stray();
    let violated = chronicle::standing(&step.world, step.rules);
    step.violated.extend(violated);
    Some(step)
}

impl Step<'_> {
    fn node(&mut self, n: u8) -> &mut Node {
        &mut self.world.nodes[usize::from(n)]
    }

    fn ask(&mut self, n: u8, ask: Ask) {
        let request = Request { ask, number: self.world.asked, limit: self.world.limit };
        self.world.asked += 1;
        self.take_up(n, request);
    }

    /// The handler asks the same again, with the secret it drew and the limits as they are now.
    fn repeat(&mut self, n: u8) -> Option<()> {
        let request = self.world.doubt.take()?;
        self.take_up(n, Request { limit: self.world.limit, ..request });
        Some(())
    }

    fn take_up(&mut self, n: u8, request: Request) {
        let replays = self.world.past.replays(request);
        let (at, stage) = (self.world.clock, Stage::Reading);
        let work = Work { request, at, attempt: 1, replays, stage };
        self.node(n).work = Some(work);
        if let Some(held) = self.node(n).held.take() {
            self.decide(n, work, held, false);
        }
    }

    fn read(&mut self, n: u8) -> Option<()> {
        let work = self.node(n).work?;
        self.decide(n, work, self.world.row, true);
        Some(())
    }

    fn decide(&mut self, n: u8, work: Work, held: Row, fresh: bool) {
        let verdict = self.rules.decide(held.stored, work.request, work.at);
        let Some(next) = verdict.next else {
            let trusted = fresh || self.rules.tolerates_stale(work.request);
            if trusted && verdict.requirements.is_empty() {
                self.node(n).held = Some(held);
                self.answer(n, work, verdict, Fate::Delivered);
            } else {
                self.node(n).work = Some(Work { stage: Stage::Checking(held), ..work });
            }
            return;
        };
        if self.rules.has(Bug::SpentInMemoryOnly) && matches!(work.request.ask, Ask::Redeem(_)) {
            self.node(n).held = Some(Row { stored: next, ..held });
            self.answer(n, work, verdict, Fate::Delivered);
            return;
        }
        if self.rules.has(Bug::AnsweredBeforeCommit) && work.attempt == 1 {
            self.hear(work.request, &verdict, Fate::Delivered);
        }
        self.node(n).work = Some(Work { stage: Stage::Committing(held), ..work });
    }

    fn check(&mut self, n: u8) -> Option<()> {
        let work = self.node(n).work?;
        let Stage::Checking(held) = work.stage else { return None };
        if self.world.row.version != held.version {
            self.again(n, work);
            return Some(());
        }
        let verdict = self.rules.decide(held.stored, work.request, work.at);
        let unmet = self.unmet(&verdict.requirements, work.at);
        self.node(n).held = Some(held);
        match unmet {
            Some(kind) => self.fail(n, Said::Unmet(kind)),
            None => self.answer(n, work, verdict, Fate::Delivered),
        }
        Some(())
    }

    fn commit(&mut self, n: u8, fate: Fate) -> Option<()> {
        let work = self.node(n).work?;
        let Stage::Committing(basis) = work.stage else { return None };
        let verdict = self.rules.decide(basis.stored, work.request, work.at);
        let rival = self.world.stray.is_some();
        let write = Write { basis, request: work.request, at: work.at };
        let landing = self.land(write, &verdict);
        let differs = match landing {
            Landing::Done(_) => chronicle::differs(fate, &verdict),
            Landing::Conflict | Landing::Unmet(_) => fate == Fate::Delivered,
        };
        if !differs {
            return None;
        }
        match landing {
            Landing::Done(row) => {
                self.node(n).held = Some(row);
                if work.attempt > 1 {
                    self.seen.push(Witness::DecidedAgain);
                }
                if rival && verdict.issues() && fate == Fate::Delivered {
                    self.seen.push(Witness::StrayBeaten);
                }
                self.answer(n, work, verdict, fate);
            }
            Landing::Conflict => self.again(n, work),
            Landing::Unmet(kind) => {
                self.node(n).held = Some(basis);
                self.fail(n, Said::Unmet(kind));
            }
        }
        Some(())
    }

    /// Begins the next attempt, if there is one left.
    fn again(&mut self, n: u8, work: Work) {
        if work.attempt == ATTEMPTS {
            self.seen.push(Witness::Contended);
            self.fail(n, Said::Contended);
            return;
        }
        let (at, attempt, stage) = (self.world.clock, work.attempt + 1, Stage::Reading);
        self.node(n).work = Some(Work { at, attempt, stage, ..work });
    }

    /// Nothing was written, but the handler cannot know.
    fn die(&mut self, n: u8) -> Option<()> {
        let Work { request, .. } = self.node(n).work?;
        *self.node(n) = Node::default();
        self.note_doubt(request);
        Some(())
    }

    /// Of two handlers in doubt the later one is followed.
    fn note_doubt(&mut self, request: Request) {
        if self.repeats && !matches!(request.ask, Ask::Revoke) {
            self.world.doubt = Some(request);
        }
    }

    fn lose_track(&mut self, n: u8) -> Option<()> {
        let Work { request, at, stage, .. } = self.node(n).work?;
        let Stage::Committing(basis) = stage else { return None };
        *self.node(n) = Node::default();
        self.note_doubt(request);
        if self.rules.has(Bug::MemoryKeptAfterUnknown) {
            let stored = self.rules.decide(basis.stored, request, at).next?;
            self.node(n).held = Some(Row { stored, version: basis.version + 1 });
        }
        self.world.stray = Some(Write { basis, request, at });
        Some(())
    }

    fn land_stray(&mut self) -> Option<()> {
        let write = self.world.stray.take()?;
        let verdict = self.rules.decide(write.basis.stored, write.request, write.at);
        let Landing::Done(_) = self.land(write, &verdict) else { return None };
        self.seen.push(Witness::StrayLanded);
        Some(())
    }

    /// Lets go of a stray commit that can never land: versions do not come back.
    fn drop_hopeless_stray(&mut self) {
        let version = self.world.row.version;
        if !self.rules.has(Bug::LastWriterWins) {
            self.world.stray = self.world.stray.filter(|stray| stray.basis.version == version);
        }
    }

    fn forget(&mut self) -> Option<()> {
        let (look, now) = (self.rules.look(self.world.row.stored), time(self.world.clock));
        if look.forget_at > now {
            return None;
        }
        if chronicle::good_until(&self.world, self.rules) > now {
            self.violated.push(Property::NothingLost);
        }
        self.world.row = Row { stored: self.rules.unborn(), version: 0 };
        self.seen.push(Witness::Forgotten);
        Some(())
    }

    fn land(&mut self, write: Write, verdict: &Verdict) -> Landing {
        let row = self.world.row;
        if row.version != write.basis.version && !self.rules.has(Bug::LastWriterWins) {
            return Landing::Conflict;
        }
        if let Some(kind) = self.unmet(&verdict.requirements, write.at) {
            return Landing::Unmet(kind);
        }
        let Some(stored) = verdict.next else { return Landing::Conflict };
        let violated = chronicle::landed(&mut self.world, self.rules, write, verdict);
        self.violated.extend(violated);
        self.see(write, verdict);
        let landed = Row { stored, version: row.version + 1 };
        self.world.row = landed;
        Landing::Done(landed)
    }

    fn see(&mut self, write: Write, verdict: &Verdict) {
        if verdict.issues() && self.world.session_ended {
            self.seen.push(Witness::IssuedAfterSession);
        }
        let refreshes = matches!(write.request.ask, Ask::Refresh(..));
        self.seen.extend(match &verdict.outcome {
            Ok(Reply::Issue(_)) if refreshes && write.at > 1 => Some(Witness::Slid),
            Ok(Reply::Revoked) => Some(Witness::Revoked),
            Err(Refusal::Replayed) => Some(Witness::EndedByReplay),
            Err(Refusal::Reused) => Some(Witness::EndedByReuse),
            _ => None,
        });
    }

    /// Returns the kind of a requirement that does not hold, if there is one.
    fn unmet(&self, requirements: &[Requirement], at: u8) -> Option<&'static str> {
        let World { limit, session_ended, .. } = self.world;
        let holds = |fact: &&Requirement| {
            let (version, live_until) = match fact.kind() {
                Session::KIND => {
                    (1 + i64::from(session_ended), self.rules.session_until(session_ended))
                }
                MEMBERSHIP => (limit.version(), Timestamp::FOREVER),
                // Nothing here happens to an account.
                Account::KIND => (1, Timestamp::FOREVER),
                other => panic!("the model has no {other}"),
            };
            fact.holds(version, live_until, time(at))
        };
        requirements.iter().find(|fact| !holds(fact)).map(Requirement::kind)
    }

    fn fail(&mut self, n: u8, said: Said) {
        self.node(n).work = None;
        self.seen.extend(match said {
            Said::Unmet(Session::KIND) => Some(Witness::SessionUnmet),
            Said::Unmet(MEMBERSHIP) => Some(Witness::LimitsUnmet),
            _ => None,
        });
        self.said = Some(said);
    }

    fn answer(&mut self, n: u8, work: Work, verdict: Rc<Verdict>, fate: Fate) {
        self.node(n).work = None;
        if work.replays && !self.rules.look(self.world.row.stored).over {
            self.violated.push(Property::NoReplayUnnoticed);
        }
        if !(self.rules.has(Bug::AnsweredBeforeCommit) && verdict.next.is_some()) {
            self.hear(work.request, &verdict, fate);
        }
        self.said = Some(Said::Verdict(verdict, work.request.number));
    }

    /// An answer leaves the server.
    fn hear(&mut self, request: Request, verdict: &Verdict, fate: Fate) {
        let redeems = matches!(request.ask, Ask::Redeem(_));
        if fate != Fate::Lost && verdict.issues() {
            self.world.known = self.world.known.with(request.number);
        }
        if fate != Fate::Delivered {
            return;
        }
        self.violated.extend(self.world.past.heard(request, verdict));
        self.seen.extend(match &verdict.outcome {
            Ok(Reply::Issue(_)) if verdict.next.is_none() => Some(Witness::AnsweredAgain),
            Ok(Reply::Issue(_)) if redeems => Some(Witness::Redeemed),
            Ok(Reply::Issue(_)) => Some(Witness::Rotated),
            Err(Refusal::Widening(_)) => Some(Witness::RefusedWidening),
            Err(Refusal::Expired) => Some(Witness::RefusedLate),
            _ => None,
        });
    }
}
