//! What has happened, kept for the properties alone, and the properties themselves.

use super::{
    rules::{Rules, Verdict},
    scene::{self, Ask, Asker, Request},
    world::{Fate, Tokens, World, Write, time},
};
use porteiro::domain::Timestamp;
use std::fmt;

/// What must hold at every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    RedeemedOnce,
    RotatedOnce,
    OverAfterTheft,
    NothingLost,
    InTime,
    WithinLimits,
    NotWithoutSession,
    NoneAccusedFalsely,
    NoReplayUnnoticed,
}

/// What must happen somewhere, lest the rest be true of nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Witness {
    Redeemed,
    Rotated,
    EndedByReplay,
    EndedByReuse,
    Revoked,
    /// A decision lost to the other node and was made again.
    DecidedAgain,
    /// It lost so often that its actor gave up.
    Contended,
    /// The commit of a dead actor landed.
    StrayLanded,
    /// A commit of unknown fate lost to a later one, which was acknowledged.
    StrayBeaten,
    SessionUnmet,
    IssuedAfterSession,
    LimitsUnmet,
    RefusedWidening,
    RefusedLate,
    /// A token was accepted when the family's first one would have been over.
    Slid,
    Forgotten,
    /// A request that had been carried out was asked again and answered as the first time.
    AnsweredAgain,
}

/// The past, as far as a property speaks of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Chronicle {
    /// A redemption was committed.
    redeemed: bool,
    /// How many askers have heard of a redemption, up to two.
    redemptions_heard: u8,
    /// Replaced by a committed rotation.
    spent: Tokens,
    /// The token that the row holds, and those that it came from.
    lineage: Tokens,
    /// When the last of them was issued.
    issued_at: u8,
    /// Delivered to the caller.
    acknowledged: Tokens,
    /// A caller has heard that the code was replayed, or a token reused.
    theft_heard: bool,
}

impl Chronicle {
    /// Tells whether what `ask` bears has been spent.
    fn is_spent(self, ask: Ask) -> bool {
        match ask {
            Ask::Redeem(_) => self.redeemed,
            Ask::Refresh(_, token) => self.spent.contains(token),
            Ask::Revoke => false,
        }
    }

    /// Tells whether a request must end the family: what it bears was spent by another request, and
    /// the client it was issued to bears it.
    pub fn replays(self, request: Request) -> bool {
        let Request { ask, number, .. } = request;
        let by_client = matches!(ask, Ask::Redeem(Asker::Client) | Ask::Refresh(Asker::Client, _));
        by_client && self.is_spent(ask) && !self.lineage.contains(number)
    }

    /// Writes down that an asker heard the verdict.
    pub fn heard(&mut self, request: Request, verdict: &Verdict) -> Option<Property> {
        self.theft_heard |= verdict.accuses();
        if !verdict.issues() {
            return None;
        }
        self.acknowledged = self.acknowledged.with(request.number);
        if matches!(request.ask, Ask::Redeem(_)) {
            self.redemptions_heard = 2.min(self.redemptions_heard + 1);
        }
        (self.redemptions_heard > 1).then_some(Property::RedeemedOnce)
    }
}

/// Judges a commit that is about to land in `world`, and writes it down.
pub fn landed(world: &mut World, rules: &Rules, write: Write, verdict: &Verdict) -> Vec<Property> {
    let mut violated = Vec::new();
    let mut demand = |holds: bool, property| {
        if !holds {
            violated.push(property);
        }
    };
    let spent = world.past.is_spent(write.request.ask);
    let replays = world.past.replays(write.request);
    demand(replays || !verdict.accuses(), Property::NoneAccusedFalsely);
    if !verdict.issues() {
        return violated;
    }
    let present = rules.look(world.row.stored).present;
    let (past, number, now) = (&mut world.past, write.request.number, time(write.at));
    match write.request.ask {
        Ask::Refresh(_, token) => {
            demand(!spent, Property::RotatedOnce);
            demand(now < scene::token_until(past.issued_at), Property::InTime);
            past.spent = past.spent.with(token);
            let kept = if present == Some(token) { past.lineage } else { Tokens::default() };
            past.lineage = kept.with(number);
        }
        Ask::Redeem(_) | Ask::Revoke => {
            demand(!spent, Property::RedeemedOnce);
            demand(now < scene::code_until(), Property::InTime);
            past.redeemed = true;
            past.lineage = Tokens::default().with(number);
        }
    }
    past.issued_at = write.at;
    demand(!past.theft_heard, Property::OverAfterTheft);
    demand(verdict.covered && write.request.limit == world.limit, Property::WithinLimits);
    let session = !world.session_ended && now < rules.session_until(false);
    demand(rules.offline || session, Property::NotWithoutSession);
    violated
}

/// Judges what must hold between steps.
pub fn standing(world: &World, rules: &Rules) -> Vec<Property> {
    let (look, past) = (rules.look(world.row.stored), &world.past);
    let mut violated = Vec::new();
    if past.theft_heard && look.live_until > time(world.clock) {
        violated.push(Property::OverAfterTheft);
    }
    let lost = !look.over && !past.acknowledged.within(past.lineage);
    if lost || look.live_until < good_until(world, rules) {
        violated.push(Property::NothingLost);
    }
    violated
}

/// Until when the row's code or token is good, by the model's own reckoning.
pub fn good_until(world: &World, rules: &Rules) -> Timestamp {
    let look = rules.look(world.row.stored);
    match look.present {
        _ if look.over => Timestamp::NEVER,
        None => scene::code_until(),
        Some(_) => scene::token_until(world.past.issued_at),
    }
}

/// The fates of an answer that differ in what follows from them.
pub fn differs(fate: Fate, verdict: &Verdict) -> bool {
    match fate {
        Fate::Delivered => true,
        Fate::Lost => verdict.issues() || verdict.accuses(),
        Fate::Stolen => verdict.issues(),
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RedeemedOnce => "a code is redeemed at most once, and at most one asker hears so",
            Self::RotatedOnce => "a refresh token is rotated at most once",
            Self::OverAfterTheft => "after a replay or reuse was answered nothing of it lives",
            Self::NothingLost => "what was acknowledged stays good until it expires or is ended",
            Self::InTime => "what is accepted has not expired",
            Self::WithinLimits => "what is issued lies within the grant and what is held",
            Self::NotWithoutSession => "only an offline family issues without its session",
            Self::NoneAccusedFalsely => "a family is ended for a replay only if there was one",
            Self::NoReplayUnnoticed => "what was spent is not presented again without an end",
        })
    }
}
