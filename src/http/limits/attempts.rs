//! The rate limit of attempts against an authenticator of an identifier: they are charged before they are made,
//! whether or not an account has that identifier.

use crate::http::{
    answer::{
        error::{OAuthError, Problem},
        retry_after::RetryAfter,
    },
    limits::pace::{ApprovalLimits, InvitationLimits, Rates},
    vitals::Vitals,
};
use crate::{
    actors::{Entities, Failure, StartError},
    crypto::Pseudonyms,
    domain::{
        Clock, Context, Machine as _, Rate,
        throttle::{Command, MESSAGE, Pace, Refusal, Throttle, USER_CODE},
    },
    rate_limiter::RateLimiter,
    system::System,
};
use ipnet::IpNet;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How many failures in a row a browser has in which the person signed in before.
const KNOWN_BROWSER_FAILURES: u32 = 10;

/// Where attempts are charged.
pub struct Attempts {
    throttles: Entities<Throttle>,
    pseudonyms: Pseudonyms,
    clock: Arc<dyn Clock>,
    vitals: Arc<Vitals>,
    pace: Pace,
    /// How often one address is written to.
    messages: Pace,
    /// How much of that each network of strangers has had.
    shares: Mutex<Shares>,
    /// How often one account enters a wrong user code.
    user_codes: Pace,
    /// How much one client asks of one person; `None` where that is not limited.
    approvals: Option<ApprovalLimits>,
    /// How many people an organization invites; `None` where that is not limited.
    invitations: Option<InvitationLimits>,
}

/// How many invitations all organizations together send to one address in a day. Each has fewer: none takes what is left
/// for the others.
const INVITATIONS_TO_ONE_ADDRESS: u32 = 12;

/// How often the endpoints of one organization are tried: at once, and then some hundred a day.
const WEBHOOK_TESTS: Pace =
    Pace { burst: 30, refill: Duration::from_mins(15), most_failures: u32::MAX, day: None };

/// How often DNS is asked for the records of one organization's domains at the wish of callers: at once, and then
/// once in two minutes.
const DOMAIN_CHECKS: Pace =
    Pace { burst: 30, refill: Duration::from_mins(2), most_failures: u32::MAX, day: None };

/// How often the providers of one organization are asked for trials: at once, and then once in two minutes.
const CONNECTION_TRIALS: Pace =
    Pace { burst: 30, refill: Duration::from_mins(2), most_failures: u32::MAX, day: None };

/// How often one address is written to at the wish of strangers, and of each that is none: at once, then once
/// a minute, and at most sixty times in a day.
const MESSAGES: Pace = Pace {
    burst: 10,
    refill: Duration::from_mins(1),
    most_failures: u32::MAX,
    day: Some(Rate { burst: 30, refill: Duration::from_mins(48) }),
};
const UNLIMITED_MESSAGES: Pace = Pace { refill: Duration::ZERO, day: None, ..MESSAGES };

/// How much of that one network of strangers has: at once, and in a day.
const SHARE: Rate = Rate { burst: 5, refill: Duration::from_mins(2) };
const SHARE_OF_DAY: Rate = Rate { burst: 12, refill: Duration::from_hours(2) };

/// Who wants a person to be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSender<'a> {
    /// A caller of whom nothing is known but the network it comes from; `None` where that is not limited.
    Stranger(Option<IpNet>),
    /// A browser in which the person signed in before, by the id under which it is counted.
    KnownBrowser(&'a str),
    /// A person who has proved to be this account.
    Account(&'a str),
    /// A client that asks the person of this address for an approval.
    Client,
}

/// How many wrong user codes one account enters: at once, and then ten an hour. They are not failures to
/// prove who one is, and close nothing for longer.
const USER_CODES: Pace =
    Pace { burst: 10, refill: Duration::from_mins(6), most_failures: u32::MAX, day: None };
const UNLIMITED_USER_CODES: Pace = Pace { refill: Duration::ZERO, ..USER_CODES };

/// What networks of strangers have had sent to one address each.
#[derive(Default)]
struct Shares {
    now: RateLimiter<(String, IpNet)>,
    day: RateLimiter<(String, IpNet)>,
}

/// An attempt that may be made. It is charged already; one that is dropped before it was judged
/// gives itself back.
#[must_use = "say how the attempt went"]
pub struct Attempt {
    throttles: Entities<Throttle>,
    context: Context,
    pace: Pace,
    id: String,
    judged: bool,
}

/// Why an attempt may not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptRefusal {
    TooMany(RetryAfter),
    /// What cannot be counted is not done.
    Unavailable,
}

impl Attempts {
    /// Opens the door to the throttles; with no `limits` only failures in a row are bounded.
    pub async fn new(
        system: &System,
        vitals: Arc<Vitals>,
        limits: bool,
    ) -> Result<Self, StartError> {
        Ok(Self {
            throttles: system.host().await?,
            pseudonyms: system.pseudonyms(),
            clock: system.clock(),
            vitals,
            pace: if limits { Pace::default() } else { Pace::unhurried() },
            messages: if limits { MESSAGES } else { UNLIMITED_MESSAGES },
            shares: Mutex::default(),
            user_codes: if limits { USER_CODES } else { UNLIMITED_USER_CODES },
            approvals: limits.then(ApprovalLimits::default),
            invitations: limits.then(InvitationLimits::default),
        })
    }

    /// The same with other limits of approvals and invitations, where they are limited.
    pub fn limiting(self, rates: Option<Rates>) -> Self {
        let approvals = rates.map(|rates| rates.approvals);
        Self { approvals, invitations: rates.map(|rates| rates.invitations), ..self }
    }

    /// Charges an attempt against `authenticator` (such as `password`) of a normalised identifier.
    pub async fn charge(
        &self,
        context: &Context,
        authenticator: &'static str,
        identifier: &str,
    ) -> Result<Attempt, AttemptRefusal> {
        let id = self.pseudonyms.name(Throttle::KIND, &[authenticator, identifier]);
        self.charge_at(context, id, self.pace).await
    }

    /// Charges an attempt of a browser in which the person signed in before.
    pub async fn charge_known_browser(
        &self,
        context: &Context,
        authenticator: &'static str,
        browser: &str,
    ) -> Result<Attempt, AttemptRefusal> {
        let id = self.pseudonyms.name(Throttle::KIND, &[authenticator, "known browser", browser]);
        self.charge_at(context, id, Pace { most_failures: KNOWN_BROWSER_FAILURES, ..self.pace })
            .await
    }

    async fn charge_at(
        &self,
        context: &Context,
        id: String,
        pace: Pace,
    ) -> Result<Attempt, AttemptRefusal> {
        match self.throttles.ask(context, &id, Command::Charge { pace }).await {
            Ok(_) => {
                let (throttles, context) = (self.throttles.clone(), context.clone());
                Ok(Attempt { throttles, context, pace, id, judged: false })
            }
            Err(Failure::Refused(Refusal::TooMany { retry_at })) => {
                self.vitals.limited_identifier();
                Err(AttemptRefusal::TooMany(RetryAfter::until(retry_at, self.clock.now())))
            }
            Err(failure) => {
                tracing::warn!(%failure, "an attempt could not be charged");
                Err(AttemptRefusal::Unavailable)
            }
        }
    }

    /// Charges a message to the address it goes to, whether or not an account has it: an address must
    /// not be flooded, from however many others. A sender who is no stranger has an allowance of its own, which
    /// strangers do not use up (adr/0106).
    pub async fn charge_message(
        &self,
        context: &Context,
        to: &str,
        sender: MessageSender<'_>,
    ) -> Result<(), AttemptRefusal> {
        let strangers = self.pseudonyms.name(Throttle::KIND, &[MESSAGE, to]);
        let own = |parts: &[&str]| self.pseudonyms.name(Throttle::KIND, parts);
        let id = match sender {
            MessageSender::Stranger(network) => {
                self.take_share(&strangers, network)?;
                strangers
            }
            MessageSender::KnownBrowser(browser) => own(&[MESSAGE, "known browser", browser]),
            MessageSender::Account(account) => own(&[MESSAGE, "account", account]),
            MessageSender::Client => own(&[MESSAGE, "approval", to]),
        };
        let charged = self.charge_at(context, id, self.messages).await?;
        // It stays charged, and comes back with time.
        charged.failed();
        Ok(())
    }

    /// Takes from the share that one network has of what strangers may send to one address: so none takes all
    /// of it. It is kept in memory, on each node.
    fn take_share(&self, recipient: &str, network: Option<IpNet>) -> Result<(), AttemptRefusal> {
        let Some(network) = network.filter(|_| self.messages != UNLIMITED_MESSAGES) else {
            return Ok(());
        };
        let now = self.clock.now();
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let key = || (recipient.to_owned(), network);
        let taken = shares.day.take(key(), SHARE_OF_DAY, now);
        let taken = taken.and_then(|()| shares.now.take(key(), SHARE, now));
        drop(shares);
        taken.map_err(|retry_at| {
            self.vitals.limited_identifier();
            AttemptRefusal::TooMany(RetryAfter::until(retry_at, now))
        })
    }

    /// Charges a user code that is about to be looked up to the account that enters it.
    pub async fn charge_user_code(
        &self,
        context: &Context,
        account: &str,
    ) -> Result<Attempt, AttemptRefusal> {
        let id = self.pseudonyms.name(Throttle::KIND, &[USER_CODE, account]);
        self.charge_at(context, id, self.user_codes).await
    }

    /// Returns how many requests of one client wait for one person, where that is limited.
    pub fn most_pending_approvals(&self) -> Option<u32> {
        self.approvals.map(|limits| limits.pending)
    }

    /// Charges a request for an approval to the client and the person.
    pub async fn charge_approval(
        &self,
        context: &Context,
        client_id: &str,
        account: &str,
    ) -> Result<(), AttemptRefusal> {
        let Some(ApprovalLimits { rate, .. }) = self.approvals else { return Ok(()) };
        let Rate { burst, refill } = rate;
        let pace = Pace { burst, refill, most_failures: u32::MAX, day: None };
        let id = self.pseudonyms.name(Throttle::KIND, &["approval", client_id, account]);
        // It stays charged, and comes back with time.
        self.charge_at(context, id, pace).await?.failed();
        Ok(())
    }

    /// Charges an invitation to the organization that sends it and to the normalised address that it goes to, or to neither.
    /// It is given back unless it is said that it was sent.
    pub async fn charge_invitation(
        &self,
        context: &Context,
        organization: &str,
        to: &str,
    ) -> Result<Vec<Attempt>, AttemptRefusal> {
        let Some(InvitationLimits { per_day, to_one_address }) = self.invitations else {
            return Ok(Vec::new());
        };
        let mut charged = Vec::new();
        for (charged_to, most) in [
            (&["invitation", organization, to][..], to_one_address),
            (&["invitations to", to], INVITATIONS_TO_ONE_ADDRESS.max(to_one_address)),
            (&["invitations of", organization], per_day),
        ] {
            let id = self.pseudonyms.name(Throttle::KIND, charged_to);
            charged.push(self.charge_at(context, id, a_day(most)).await?);
        }
        Ok(charged)
    }

    /// Charges the try of an endpoint to its organization.
    pub async fn charge_webhook_test(
        &self,
        context: &Context,
        organization: &str,
    ) -> Result<(), AttemptRefusal> {
        self.charge_call(context, ["webhook tests of", organization], WEBHOOK_TESTS).await
    }

    /// Charges a question to DNS about a domain to its organization.
    pub async fn charge_domain_check(
        &self,
        context: &Context,
        organization: &str,
    ) -> Result<(), AttemptRefusal> {
        self.charge_call(context, ["domain checks of", organization], DOMAIN_CHECKS).await
    }

    /// Charges a trial of a connection to its organization.
    pub async fn charge_connection_trial(
        &self,
        context: &Context,
        organization: &str,
    ) -> Result<(), AttemptRefusal> {
        self.charge_call(context, ["connection trials of", organization], CONNECTION_TRIALS).await
    }

    /// Charges a call that the server makes for an organization.
    async fn charge_call(
        &self,
        context: &Context,
        of: [&str; 2],
        pace: Pace,
    ) -> Result<(), AttemptRefusal> {
        if self.invitations.is_none() {
            return Ok(());
        }
        let id = self.pseudonyms.name(Throttle::KIND, &of);
        // It stays charged, and comes back with time.
        self.charge_at(context, id, pace).await?.failed();
        Ok(())
    }

    /// Holds nothing against an identifier any more, after an attempt that was right.
    pub fn clear(&self, context: &Context, authenticator: &'static str, identifier: &str) {
        let id = self.pseudonyms.name(Throttle::KIND, &[authenticator, identifier]);
        self.throttles.tell(context, &id, Command::Clear);
    }
}

/// So many at once, and as many again in the course of a day.
fn a_day(most: u32) -> Pace {
    let refill = Duration::from_hours(24) / most.max(1);
    Pace { burst: most, refill, most_failures: u32::MAX, day: None }
}

impl Attempt {
    /// Says that it was wrong: it stays charged.
    pub fn failed(mut self) {
        self.judged = true;
    }

    /// Says that it was right, and whether the person has proved enough by it.
    pub fn was_right(self, authenticated: bool) {
        if authenticated { self.succeeded() } else { self.give_back() }
    }

    /// Says that it was right, and that the person is who they say they are: nothing is held against
    /// the identifier any more.
    pub fn succeeded(mut self) {
        self.judged = true;
        // What stays charged is at worst one failure too many.
        self.throttles.tell(&self.context, &self.id, Command::Clear);
    }

    /// Says that it was right, but that more must be proved: what was held before stays.
    pub fn give_back(self) {
        drop(self);
    }
}

impl Drop for Attempt {
    /// An attempt that was never judged, for a reason of our own, is not held against anyone.
    fn drop(&mut self) {
        if !self.judged {
            self.throttles.tell(&self.context, &self.id, Command::Refund { pace: self.pace });
        }
    }
}

impl From<AttemptRefusal> for OAuthError {
    fn from(why: AttemptRefusal) -> Self {
        match why {
            AttemptRefusal::TooMany(wait) => wait.into(),
            AttemptRefusal::Unavailable => Self::unavailable(),
        }
    }
}

impl From<AttemptRefusal> for Problem {
    fn from(why: AttemptRefusal) -> Self {
        match why {
            AttemptRefusal::TooMany(wait) => wait.into(),
            AttemptRefusal::Unavailable => Self::UNAVAILABLE,
        }
    }
}
