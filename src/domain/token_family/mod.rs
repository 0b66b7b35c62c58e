//! A token family: the authorization code it is born from, and every refresh token after it.
//!
//! Both live in one machine, so that "the code was presented twice, hence everything that came of its
//! first use ends" is one decision and one commit.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | begin | pending: its code is out | |
//! | pending | redeem | alive | the code has expired; another client, redirect URI or verifier; more authority than is held now. The code stays as it is |
//! | alive | redeem, the same code | **ended**: replayed | always |
//! | alive | refresh, the present token | alive, with the next token | expired; another client; more than was granted, or than is held now. The token stays as it is |
//! | alive | refresh, a former token | **ended**: reused | always |
//! | any but unborn | revoke | ended | another client |
//! | ended | anything | ended | always |
//!
//! Whoever asks has seen by a MAC that what is presented was issued for this family; a former token is
//! therefore recognised without a list of them. What is accepted is compared by its hash.

mod command;
mod outcome;

pub use command::{Begin, Command, Lifetimes, Nonsense, Redeem, Refresh, Repeated};
pub use outcome::{Issue, Refusal, Reply, Shown};

use super::{
    Birth, CLOCK_SKEW, Decision, Fingerprint, Machine, Record, Requirement, Timestamp,
    authority::Granted,
    grant::{Grant, Limits},
};
use serde::{Deserialize, Serialize};

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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    pub grant: Grant,
    pub born_at: Timestamp,
    pub code: Fingerprint,
    pub expires_at: Timestamp,
    /// Where the code was sent.
    pub redirect_uri: String,
    /// SHA-256 of the verifier (RFC 7636 §4.2, S256).
    pub challenge: Fingerprint,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alive {
    pub grant: Grant,
    pub born_at: Timestamp,
    /// The code it came from: to see it again ends the family.
    code: Fingerprint,
    /// When its last access token expires.
    access_until: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh: Option<RefreshToken>,
}

/// The one refresh token that is good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RefreshToken {
    fingerprint: Fingerprint,
    expires_at: Timestamp,
}

/// Why a family has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Its code was presented a second time.
    Replayed,
    /// A refresh token was presented after it had been replaced.
    Reused,
    /// The client gave it back.
    Revoked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Begun(Box<Pending>),
    Redeemed { access_until: Timestamp, refresh: Option<(Fingerprint, Timestamp)> },
    Rotated { access_until: Timestamp, refresh: (Fingerprint, Timestamp) },
    Ended { why: End },
}

impl TokenFamily {
    /// Describes the birth of a family in somebody else's commit.
    pub fn birth(id: impl Into<String>, begin: Begin, now: Timestamp) -> Birth {
        Birth::of(id, &Self::Pending(Box::new(begin.pending(now))))
    }

    fn client_id(&self) -> &str {
        match self {
            Self::Unborn => "",
            Self::Pending(pending) => &pending.grant.client_id,
            Self::Alive(alive) => &alive.grant.client_id,
            Self::Ended { client_id, .. } => client_id,
        }
    }

    fn show(&self) -> Decision<Self> {
        let (grant, born_at, refresh) = match self {
            Self::Unborn => return Decision::refuse(Refusal::Unknown),
            Self::Ended { .. } => return Decision::refuse(Refusal::Ended),
            Self::Pending(pending) => (&pending.grant, pending.born_at, None),
            Self::Alive(alive) => {
                let refresh = alive.refresh.as_ref();
                let refresh = refresh.map(|token| (token.fingerprint, token.expires_at));
                (&alive.grant, alive.born_at, refresh)
            }
        };
        let shown = Shown { grant: grant.clone(), born_at, refresh };
        Decision::accept(Vec::new(), Reply::Shown(Box::new(shown)))
    }

    fn redeem(&self, redeem: &Redeem, now: Timestamp) -> Decision<Self> {
        let pending = match self {
            Self::Ended { .. } => return Decision::refuse(Refusal::Ended),
            // OAuth 2.1 §4.1.3: everything that came of the first use ends with the second.
            Self::Alive(alive) if alive.code == redeem.code => {
                return alive.grant.end(End::Replayed, Refusal::Replayed);
            }
            Self::Unborn | Self::Alive(_) => return Decision::refuse(Refusal::Unknown),
            Self::Pending(pending) => pending,
        };
        if let Err(why) = pending.admit(redeem, now) {
            return Decision::refuse(why);
        }
        let granted = match pending.grant.pass_on(&redeem.said, &redeem.limits) {
            Ok(granted) => granted,
            Err(why) => return Decision::refuse(why),
        };
        let access_until = now + redeem.lifetimes.access_token;
        let expires_at = redeem.lifetimes.refresh_until(pending.born_at, now);
        let refresh = redeem.refresh.map(|token| (token, expires_at));
        let nonce = pending.nonce.clone();
        let issue = Issue { grant: pending.grant.clone(), granted, nonce };
        let decision = Decision::accept(
            vec![Event::Redeemed { access_until, refresh }],
            Reply::Issue(Box::new(issue)),
        );
        pending.grant.require(decision, &redeem.requirements)
    }

    fn refresh(&self, refresh: &Refresh, now: Timestamp) -> Decision<Self> {
        let alive = match self {
            Self::Unborn | Self::Pending(_) => return Decision::refuse(Refusal::Unknown),
            Self::Ended { .. } => return Decision::refuse(Refusal::Ended),
            Self::Alive(alive) => alive,
        };
        let Some(present) = &alive.refresh else { return Decision::refuse(Refusal::Unknown) };
        // RFC 9700 §4.14.2: one of the two who hold this family's tokens stole them.
        if present.fingerprint != refresh.token {
            return alive.grant.end(End::Reused, Refusal::Reused);
        }
        if alive.grant.client_id != refresh.client_id {
            return Decision::refuse(Refusal::WrongClient);
        }
        if now >= present.expires_at {
            return Decision::refuse(Refusal::Expired);
        }
        let granted = match alive.grant.pass_on(&refresh.said, &refresh.limits) {
            Ok(granted) => granted,
            Err(why) => return Decision::refuse(why),
        };
        let access_until = now + refresh.lifetimes.access_token;
        let expires_at = refresh.lifetimes.refresh_until(alive.born_at, now);
        let issue = Issue { grant: alive.grant.clone(), granted, nonce: None };
        let rotated = Event::Rotated { access_until, refresh: (refresh.next, expires_at) };
        let decision = Decision::accept(vec![rotated], Reply::Issue(Box::new(issue)));
        alive.grant.require(decision, &refresh.requirements)
    }

    fn revoke(&self, asking: &str) -> Decision<Self> {
        let grant = match self {
            Self::Unborn => return Decision::refuse(Refusal::Unknown),
            Self::Ended { client_id, .. } if client_id == asking => {
                return Decision::accept(Vec::new(), Reply::Revoked);
            }
            Self::Ended { .. } => return Decision::refuse(Refusal::WrongClient),
            Self::Pending(pending) => &pending.grant,
            Self::Alive(alive) => &alive.grant,
        };
        if grant.client_id != asking {
            return Decision::refuse(Refusal::WrongClient);
        }
        Decision::accept(vec![Event::Ended { why: End::Revoked }], Reply::Revoked)
            .recording(grant.record("token_family.revoked"))
    }

    /// Until when anything of it could be good.
    fn over_at(&self) -> Timestamp {
        match self {
            Self::Unborn | Self::Ended { .. } => Timestamp::NEVER,
            Self::Pending(pending) => pending.expires_at,
            Self::Alive(alive) => {
                let refresh = alive.refresh.as_ref().map(|token| token.expires_at);
                refresh.map_or(alive.access_until, |until| until.max(alive.access_until))
            }
        }
    }
}

impl Pending {
    /// Checks everything that a code is bound to.
    fn admit(&self, redeem: &Redeem, now: Timestamp) -> Result<(), Refusal> {
        if self.code != redeem.code {
            return Err(Refusal::Unknown);
        }
        if now >= self.expires_at {
            return Err(Refusal::Expired);
        }
        if self.grant.client_id != redeem.client_id {
            return Err(Refusal::WrongClient);
        }
        // OAuth 2.1 §10.2: a client need not repeat it, but what it repeats must be the same.
        if redeem.redirect_uri.as_ref().is_some_and(|uri| *uri != self.redirect_uri) {
            return Err(Refusal::WrongRedirectUri);
        }
        // RFC 7636 §4.6
        if redeem.verifier != Some(self.challenge) {
            return Err(Refusal::WrongVerifier);
        }
        Ok(())
    }
}

impl Grant {
    pub(super) fn record(&self, event: &'static str) -> Record {
        let record = Record::new(event)
            .with("client_id", self.client_id.as_str())
            .with("account", self.account.as_str());
        match self.organization() {
            Some(slug) => record.in_organization(slug),
            None => record,
        }
    }

    /// Grants what is asked of it, if that is a part of it and still covered.
    fn pass_on(&self, said: &Repeated, limits: &Limits) -> Result<Granted, Refusal> {
        match said.nonsense {
            Some(Nonsense::Scope) => return Err(Refusal::MalformedScope),
            Some(Nonsense::Target) => return Err(Refusal::OtherAudience),
            None => {}
        }
        if said.audience.as_ref().is_some_and(|audience| *audience != self.audience) {
            return Err(Refusal::OtherAudience);
        }
        if said.organization.is_some() && said.organization.as_deref() != self.organization() {
            return Err(Refusal::OtherOrganization);
        }
        Ok(self.narrow(said.scopes.as_ref(), limits)?)
    }

    fn end(&self, why: End, refusal: Refusal) -> Decision<TokenFamily> {
        let event = match why {
            End::Replayed => "authorization_code.replayed",
            End::Reused => "refresh_token.reused",
            End::Revoked => "token_family.revoked",
        };
        Decision::refuse_and_record(vec![Event::Ended { why }], refusal)
            .recording(self.record(event))
    }

    fn require(
        &self,
        decision: Decision<TokenFamily>,
        facts: &[Requirement],
    ) -> Decision<TokenFamily> {
        self.ancestors()
            .into_iter()
            .chain(facts.iter().cloned())
            .fold(decision, Decision::requiring)
    }
}

impl Machine for TokenFamily {
    const KIND: &'static str = "token_family";
    // 2: the epoch of a seat
    const REVISION: u32 = 2;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Begin(begin) => match self {
                Self::Unborn => {
                    let pending = begin.clone().pending(now);
                    let record = pending.grant.record("authorization.granted");
                    let grant = pending.grant.clone();
                    let begun = Event::Begun(Box::new(pending));
                    let decision = Decision::accept(vec![begun], Reply::Begun).recording(record);
                    grant.require(decision, &begin.requirements)
                }
                // Ids are drawn: nobody begins a family twice.
                _ => Decision::refuse(Refusal::Unknown),
            },
            Command::Show | Command::ShowNow => self.show(),
            Command::Redeem(redeem) => self.redeem(redeem, now),
            Command::Refresh(refresh) => self.refresh(refresh, now),
            Command::Revoke { client_id } => self.revoke(client_id),
        }
    }

    fn apply(&mut self, event: &Event) {
        let token = |(fingerprint, expires_at): (Fingerprint, Timestamp)| RefreshToken {
            fingerprint,
            expires_at,
        };
        match (&mut *self, event) {
            (_, Event::Begun(pending)) => *self = Self::Pending(pending.clone()),
            (Self::Pending(pending), Event::Redeemed { access_until, refresh }) => {
                *self = Self::Alive(Box::new(Alive {
                    grant: pending.grant.clone(),
                    born_at: pending.born_at,
                    code: pending.code,
                    access_until: *access_until,
                    refresh: refresh.map(token),
                }));
            }
            (Self::Alive(alive), Event::Rotated { access_until, refresh }) => {
                // Lifetimes may be shortened, and nodes' clocks differ: an earlier token may end later.
                alive.access_until = alive.access_until.max(*access_until);
                alive.refresh = Some(token(*refresh));
            }
            (_, Event::Ended { why }) => {
                let forget_at = self.over_at() + CLOCK_SKEW;
                *self =
                    Self::Ended { why: *why, client_id: self.client_id().to_owned(), forget_at };
            }
            // No such pair is ever decided.
            (_, Event::Redeemed { .. } | Event::Rotated { .. }) => {}
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
            Self::Pending(_) | Self::Alive(_) => Some(self.over_at() + CLOCK_SKEW),
        }
    }

    /// What a family shows is only where to look; what it decides is decided on its newest version.
    fn tolerates_stale(command: &Command) -> bool {
        matches!(command, Command::Show)
    }
}

#[cfg(test)]
mod tests;
