//! A token family: the grant it stands for, its authorization code, and every refresh token after it.
//!
//! All of it lives in one machine, so that "the code was presented twice, hence everything that came of
//! its first use ends" is one decision and one commit.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | begin | pending: its code is out | |
//! | unborn | start | alive, without a code; it stands for what was asked of the grant | more authority than is held now |
//! | pending | redeem | alive | the code has expired; another client, redirect URI, verifier or key; more authority than is held now. The code stays as it is |
//! | alive | redeem, the same code | **ended**: replayed | always; another client or verifier ends nothing |
//! | alive | refresh, the present token | alive, with the next token | expired; another client, or another key where it is bound; more than was granted, or than is held now. The token stays as it is |
//! | alive | refresh, a former token | **ended**: reused | always; another client or key ends nothing, nor does a client whose tokens stay |
//! | alive | refresh without rotation, the present token | alive, with the same token for longer | as above |
//! | any but unborn | revoke | ended | another client |
//! | any but unborn | end | ended: over | |
//! | ended | anything | ended | always |
//!
//! A command that is carried out already, and is asked again with the same `next` or code, is answered
//! as the first time and changes nothing, which is idempotent: so a handler that does not know what came of its ask asks again.
//!
//! The caller has seen by a MAC that what is presented was issued for this family; a former token is
//! therefore recognised without a list of them. What is accepted is compared by its hash.

mod command;
mod issuing;
mod outcome;
mod state;

pub use command::{
    Begin, CodeLifetimes, Command, Issuing, Lifetimes, Malformed, Narrowing, Redeem, Refresh, Start,
};
pub use outcome::{Born, FamilyView, Issue, Refusal, Reply};
pub use state::{Alive, End, FirstIssue, Pending, Redeemed, RefreshToken};

use super::{
    Birth, CLOCK_SKEW, ClientRank, Decision, Listing, Machine, SubCommand, Timestamp,
    delegation::Delegation,
    grant::Grant,
    pushed_request::PushedRequest,
    session::{self, Session},
};
use serde::{Deserialize, Serialize};

/// The families of an account, those of one client together ([`ClientRank`]), the last used first.
pub const FAMILIES: &str = "families";

/// So many live families of an account and a client are kept; beyond that the longest unused ends.
pub const MOST_FAMILIES: u32 = 1_000;

/// Why one ended that was beyond them.
const TOO_MANY: &str = "too_many";

/// The grants of an account that other parties hold for it, in the order of their birth.
pub const HELD_BY_OTHERS: &str = "held_by_others";

/// The grants that a party holds for others, in the order of their birth.
pub const HELD_FOR_OTHERS: &str = "held_for_others";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenFamily {
    #[default]
    Unborn,
    /// A code is out and has not been redeemed.
    Pending(Box<Pending>),
    Alive(Box<Alive>),
    Ended {
        why: End,
        /// The client that the family belonged to.
        client_id: String,
        forget_at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Begun(Box<Pending>),
    Started(Box<Alive>),
    Redeemed(Redeemed),
    Rotated { access_until: Timestamp, refresh: RefreshToken },
    Ended { why: End },
}

impl TokenFamily {
    /// Describes the birth of a family with a code in the commit of another entity.
    pub fn birth(id: impl Into<String>, begin: Begin, now: Timestamp) -> Birth {
        Birth::of(id, &Self::Pending(Box::new(begin.pending(now))))
    }

    /// Describes the birth of a family without a code in the commit of another entity.
    pub fn birth_alive(
        id: impl Into<String>,
        start: &Start,
        now: Timestamp,
    ) -> Result<Born, Refusal> {
        let Start { grant, issuing, .. } = start;
        let granted = grant.pass_on(issuing)?;
        let alive = start.alive(&granted, now);
        let issue = Issue { grant: alive.grant.clone(), granted };
        let birth = Birth::of(id, &Self::Alive(Box::new(alive)));
        let requirements = grant.requirements(&issuing.requirements).collect();
        Ok(Born { birth, issue, requirements })
    }

    /// Returns the grant it stands for, while it lives; it never changes.
    pub fn grant(&self) -> Option<&Grant> {
        match self {
            Self::Unborn | Self::Ended { .. } => None,
            Self::Pending(pending) => Some(&pending.grant),
            Self::Alive(alive) => Some(&alive.grant),
        }
    }

    /// Returns when the grant was given, while it lives.
    pub fn born_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unborn | Self::Ended { .. } => None,
            Self::Pending(pending) => Some(pending.born_at),
            Self::Alive(alive) => Some(alive.born_at),
        }
    }

    /// Tells whether it is a code that was not redeemed yet.
    pub fn is_code(&self) -> bool {
        matches!(self, Self::Pending(_))
    }

    fn client_id(&self) -> &str {
        match self {
            Self::Ended { client_id, .. } => client_id,
            other => other.grant().map_or("", |grant| &grant.client_id),
        }
    }

    fn begin(&self, begin: &Begin, now: Timestamp) -> Decision<Self> {
        match self {
            Self::Unborn => {
                let pending = begin.clone().pending(now);
                let begun = Event::Begun(Box::new(pending));
                let record = begin.grant.record("authorization.granted");
                let mut decision = Decision::accept(vec![begun], Reply::Begun).recording(record);
                if let Some(pushed) = &begin.pushed {
                    decision = decision.bearing(PushedRequest::used(pushed));
                }
                if let Some(session) = &begin.noted_in {
                    let (session, client_id) = (session.clone(), begin.grant.client_id.clone());
                    let note = session::Command::SignInto { session: session.clone(), client_id };
                    let note =
                        SubCommand::insisting::<Session>(session, note, |_| Refusal::SessionOver);
                    decision = decision.commanding(note);
                }
                begin.grant.require(decision, &begin.requirements)
            }
            Self::Pending(pending) if pending.code == begin.code => {
                Decision::accept(Vec::new(), Reply::Begun)
            }
            // Ids are drawn: no family begins twice.
            _ => Decision::refuse(Refusal::Unknown),
        }
    }

    fn start(&self, start: &Start, now: Timestamp) -> Decision<Self> {
        let Start { grant, issuing, .. } = start;
        match self {
            Self::Unborn => {}
            Self::Alive(alive) if alive.code.is_none() && alive.issued_for(issuing) => {
                return grant.issue(issuing, Vec::new());
            }
            // Ids are drawn: no family begins twice.
            _ => return Decision::refuse(Refusal::Unknown),
        }
        let granted = match grant.pass_on(issuing) {
            Ok(granted) => granted,
            Err(why) => return Decision::refuse(why),
        };
        let alive = start.alive(&granted, now);
        let event = match grant.delegation.as_deref() {
            None => "authorization.granted",
            Some(Delegation { administrator: Some(_), .. }) => "impersonation.began",
            Some(_) => "token.exchanged",
        };
        let record = alive.grant.record(event).with("scope", granted.scopes().to_string());
        let issue = Issue { grant: alive.grant.clone(), granted };
        let started = vec![Event::Started(Box::new(alive))];
        let decision = Decision::accept(started, Reply::Issue(Box::new(issue))).recording(record);
        grant.require(decision, &issuing.requirements)
    }

    fn show(&self) -> Decision<Self> {
        let shown = match self {
            Self::Unborn => return Decision::refuse(Refusal::Unknown),
            Self::Ended { .. } => return Decision::refuse(Refusal::Ended),
            Self::Pending(pending) => FamilyView {
                grant: pending.grant.clone(),
                born_at: pending.born_at,
                refresh: None,
                nonce: pending.nonce.clone(),
                // The code of a device was sent nowhere.
                redirect_uri: Some(pending.redirect_uri.clone()).filter(|uri| !uri.is_empty()),
            },
            Self::Alive(alive) => FamilyView {
                grant: alive.grant.clone(),
                born_at: alive.born_at,
                refresh: alive.refresh,
                nonce: None,
                redirect_uri: None,
            },
        };
        Decision::accept(Vec::new(), Reply::Shown(Box::new(shown)))
    }

    fn redeem(&self, redeem: &Redeem, now: Timestamp) -> Decision<Self> {
        let issuing = &redeem.issuing;
        let pending = match self {
            Self::Ended { .. } => return Decision::refuse(Refusal::Ended),
            Self::Alive(alive) if alive.code == Some(redeem.code) => {
                if let Err(why) = alive.admit_again(redeem) {
                    return Decision::refuse(why);
                }
                if alive.issued_for(issuing) {
                    return alive.grant.issue(issuing, Vec::new());
                }
                // OAuth 2.1 §4.1.3: everything that came of the first use ends with the second.
                return alive.grant.end(End::Replayed, Refusal::Replayed);
            }
            Self::Unborn | Self::Alive(_) => return Decision::refuse(Refusal::Unknown),
            Self::Pending(pending) => pending,
        };
        if let Err(why) = pending.admit(redeem, now) {
            return Decision::refuse(why);
        }
        let issued = if redeem.refreshable {
            FirstIssue::Refreshable(issuing.token(pending.born_at, now))
        } else {
            FirstIssue::Once(issuing.next)
        };
        let access_until = issuing.access_until(now);
        let redeemed = Redeemed { access_until, issued, bound: issuing.possession.of_refresh() };
        pending.grant.issue(issuing, vec![Event::Redeemed(redeemed)])
    }

    fn refresh(&self, refresh: &Refresh, now: Timestamp) -> Decision<Self> {
        let alive = match self {
            Self::Unborn | Self::Pending(_) => return Decision::refuse(Refusal::Unknown),
            Self::Ended { .. } => return Decision::refuse(Refusal::Ended),
            Self::Alive(alive) => alive,
        };
        let (grant, issuing) = (&alive.grant, &refresh.issuing);
        let Some(present) = &alive.refresh else { return Decision::refuse(Refusal::Unknown) };
        // Before anything is ended: a client that was never given the token proves nothing by it.
        if grant.client_id != issuing.client_id {
            return Decision::refuse(Refusal::WrongClient);
        }
        if !alive.is_held_by(&issuing.possession.held) {
            return Decision::refuse(Refusal::WrongKey);
        }
        if alive.issued_for(issuing) {
            return grant.issue(issuing, Vec::new());
        }
        // RFC 9700 §4.14.2: two callers hold this family's tokens, and one of them stole them. Where tokens stay, one that is
        // not the present one is from before they did, and tells nothing of the kind.
        if present.fingerprint != refresh.token {
            return if refresh.rotates {
                grant.end(End::Reused, Refusal::Reused)
            } else {
                Decision::refuse(Refusal::Unknown)
            };
        }
        if now >= present.expires_at {
            return Decision::refuse(Refusal::Expired);
        }
        let access_until = issuing.access_until(now);
        let next = if refresh.rotates {
            issuing.token(alive.born_at, now)
        } else {
            issuing.staying(present.fingerprint, alive.born_at, now)
        };
        grant.issue(issuing, vec![Event::Rotated { access_until, refresh: next }])
    }

    fn revoke(&self, asking: &str) -> Decision<Self> {
        if let Self::Unborn = self {
            return Decision::refuse(Refusal::Unknown);
        }
        if self.client_id() != asking {
            return Decision::refuse(Refusal::WrongClient);
        }
        // What has ended has no grant any more, and is not ended again.
        let Some(grant) = self.grant() else {
            return Decision::accept(Vec::new(), Reply::Revoked);
        };
        Decision::accept(vec![Event::Ended { why: End::Revoked }], Reply::Revoked)
            .recording(grant.record("token_family.revoked"))
    }

    /// Ends it, whichever client it belongs to.
    fn end(&self, because: Option<&'static str>) -> Decision<Self> {
        if let Self::Unborn = self {
            return Decision::refuse(Refusal::Unknown);
        }
        let Some(grant) = self.grant() else {
            return Decision::accept(Vec::new(), Reply::Revoked);
        };
        let record = grant.record("token_family.ended");
        let record = match because {
            Some(because) => record.with("because", because),
            None => record,
        };
        Decision::accept(vec![Event::Ended { why: End::Over }], Reply::Revoked).recording(record)
    }

    /// When it was last used, to the minute: lists need not be written anew with each refresh.
    fn listed_at(&self) -> Timestamp {
        const MINUTE: i64 = 60_000;
        let at = match self {
            Self::Unborn | Self::Ended { .. } => Timestamp::NEVER,
            Self::Pending(pending) => pending.listed_at.unwrap_or(pending.born_at),
            // Tokens of one family live equally long: what was issued last ends last.
            Self::Alive(alive) => alive.access_until,
        };
        Timestamp::from_millis(at.millis() / MINUTE * MINUTE)
    }

    /// Until when anything of it could be good.
    fn over_at(&self) -> Timestamp {
        match self {
            Self::Unborn | Self::Ended { .. } => Timestamp::NEVER,
            Self::Pending(pending) => pending.expires_at,
            Self::Alive(alive) => alive.over_at(),
        }
    }
}

impl Machine for TokenFamily {
    const KIND: &'static str = "token_family";
    /// 2: the epoch of a membership; families without a code, under other families, and without a
    /// session. 3: ended with its account. 4: an organization without a membership. 5: held for another
    /// party. 6: bound to a key.
    const REVISION: u32 = 6;
    const IS_JUDGED_AGAIN: bool = true;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Begin(begin) => self.begin(begin, now),
            Command::Start(start) => self.start(start, now),
            Command::Show | Command::ShowNow => self.show(),
            Command::Redeem(redeem) => self.redeem(redeem, now),
            Command::Refresh(refresh) => self.refresh(refresh, now),
            Command::Revoke { client_id } => self.revoke(client_id),
            Command::End => self.end(None),
            Command::MakeRoom => self.end(Some(TOO_MANY)),
        }
    }

    fn apply(&mut self, event: &Event) {
        match (&mut *self, event) {
            (_, Event::Begun(pending)) => *self = Self::Pending(pending.clone()),
            (_, Event::Started(alive)) => *self = Self::Alive(alive.clone()),
            (Self::Pending(pending), Event::Redeemed(redeemed)) => {
                *self = Self::Alive(Box::new(pending.redeemed(redeemed)));
            }
            (Self::Alive(alive), Event::Rotated { access_until, refresh }) => {
                // Lifetimes may be shortened, and nodes' clocks differ: an earlier token may end later.
                alive.access_until = alive.access_until.max(*access_until);
                alive.refresh = Some(*refresh);
            }
            (_, Event::Ended { why }) => {
                let forget_at = self.over_at() + CLOCK_SKEW;
                *self =
                    Self::Ended { why: *why, client_id: self.client_id().to_owned(), forget_at };
            }
            // No such pair is ever decided.
            (_, Event::Redeemed(_) | Event::Rotated { .. }) => {}
        }
    }

    fn live_until(&self) -> Timestamp {
        self.over_at()
    }

    /// A token whose family is gone is as good as one whose family has ended.
    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unborn => None,
            Self::Ended { forget_at, .. } => Some(*forget_at),
            // Each refresh puts off the end. The hour is the same for most of them, and what is indexed by it stays.
            Self::Alive(alive) if alive.refresh.is_some() => {
                Some((self.over_at() + CLOCK_SKEW).end_of_hour())
            }
            Self::Pending(_) | Self::Alive(_) => Some(self.over_at() + CLOCK_SKEW),
        }
    }

    fn listings(&self) -> Vec<Listing> {
        let Some(born_at) = self.born_at() else { return Vec::new() };
        let Some(grant) = self.grant() else { return Vec::new() };
        let account = grant.account.as_deref();
        let listed = |list, rank: String| account.map(|account| Listing::new(list, account, rank));
        match &grant.delegation {
            None => {
                let rank = ClientRank::of(&grant.client_id).used_at(self.listed_at());
                listed(FAMILIES, rank).into_iter().collect()
            }
            Some(delegation) => {
                let rank = format!("{:015}", born_at.millis());
                let holder = Listing::new(HELD_FOR_OTHERS, &*delegation.act.sub, rank.clone());
                listed(HELD_BY_OTHERS, rank).into_iter().chain([holder]).collect()
            }
        }
    }

    /// What a family shows is only where to look; what it decides is decided on its newest version.
    fn tolerates_stale(command: &Command) -> bool {
        matches!(command, Command::Show)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_possession;
