//! What several scenes have in common: a person, a client, what is granted, and a code that a client polls with.

use crate::model_races::{
    asks::{Ask, Reading, Said, Slot},
    scene::{Done, Entity, NO_ROW, View},
};
use porteiro::domain::{
    Decision, Device, Fingerprint, Machine, Timestamp,
    account::Account,
    assurance::{Evidence, Level, Method, Worth},
    authority::{Audience, Scopes},
    authorization::{Prompt, RequestedGrant},
    authorization_details::Details,
    awaited::{Awaited, Poll, PollRefusal, Polled},
    grant::{Grant, Limits},
    person::Person,
    possession::Possession,
    requested_claims::RequestedClaims,
    session::{self, Session},
    token_family::{self, Issuing, Lifetimes, Narrowing, Redeem, Reply, TokenFamily},
};
use std::time::Duration;

pub const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
pub const HOUR: Duration = Duration::from_hours(1);

/// When what waits for a person is over.
pub const END: Timestamp = Timestamp::from_millis(1_800_000_600_000);

pub const CLIENT: &str = "agent";
pub const ACCOUNT: &str = "ana";
pub const SESSION: &str = "s";

/// Nothing happens to the account.
pub const FIXED: &[&str] = &[Account::KIND];

pub fn code() -> Fingerprint {
    Fingerprint::of(b"code")
}

pub fn person() -> Person {
    let evidence = Evidence::of(Worth::PASSWORD.given(NOW));
    Person { account: ACCOUNT.to_owned(), epoch: 0, evidence }
}

pub fn wanted() -> RequestedGrant {
    RequestedGrant {
        client_id: CLIENT.to_owned(),
        scopes: Scopes::parse("openid").unwrap(),
        audience: Audience::Issuer,
        organization: None,
        prompt: Prompt::default(),
        max_age: None,
        hint: None,
        acr_values: Vec::new(),
        acr_is_essential: false,
        claims: RequestedClaims::default(),
        details: Details::default(),
    }
}

/// A grant that ends with its session.
pub fn grant() -> Grant {
    Grant {
        sign_on: None,
        client_id: CLIENT.to_owned(),
        account: Some(ACCOUNT.to_owned()),
        epoch: 0,
        session: Some(SESSION.to_owned()),
        parents: Vec::new(),
        membership: None,
        audience: Audience::Issuer,
        scopes: Scopes::parse("openid").unwrap(),
        claims: RequestedClaims::default(),
        details: Details::default(),
        authenticated_at: NOW,
        level: Level::Aal1,
        methods: vec![Method::Password],
        delegation: None,
    }
}

/// The session of the person.
pub fn session() -> Entity {
    let begin = session::Begin {
        person: person(),
        token: Fingerprint::of(b"session"),
        idle: 24 * HOUR,
        ceiling: 24 * HOUR,
        device: Device::default(),
        told: None,
    };
    let birth = Session::birth(SESSION, begin, NOW);
    Entity::of::<Session>(SESSION, session_word).beginning(birth.state)
}

pub fn session_word(session: &Session) -> Said {
    match session {
        Session::Unborn => "unborn",
        Session::Open(_) => "open",
        Session::Ended { .. } => "ended",
    }
}

pub fn family_word(family: &TokenFamily) -> Said {
    match family {
        TokenFamily::Unborn => "unborn",
        TokenFamily::Pending(_) => "pending",
        TokenFamily::Alive(_) => "alive",
        TokenFamily::Ended { .. } => "ended",
    }
}

pub fn end_session(of: Slot) -> Ask {
    Ask::of::<Session>(
        ("end session", of),
        |_| session::Command::End,
        |outcome| match outcome {
            Ok(()) => "over",
            Err(_) => "refused",
        },
    )
}

/// The client asks whether it was decided; if so, it asks `next`.
pub fn poll<M>(of: Slot, next: fn(Said) -> Option<usize>) -> Ask
where
    M: Awaited,
    M::Reply: Clone,
{
    let command = |_: &Reading<'_>| M::command(Poll { client_id: CLIENT.to_owned(), code: code() });
    Ask::of::<M>(("poll", of), command, said_of_poll::<M>).then(next)
}

fn said_of_poll<M>(outcome: &Result<M::Reply, M::Refusal>) -> Said
where
    M: Awaited,
    M::Reply: Clone,
{
    match outcome {
        Ok(reply) => match M::polled(reply.clone()) {
            Some(Polled::StillPending) => "pending",
            Some(Polled::Redeemable { .. }) => "redeemable",
            None => "another answer",
        },
        Err(refusal) => match M::refused(refusal) {
            Some(PollRefusal::Expired) => "expired",
            Some(PollRefusal::Denied(_)) => "denied",
            _ => "refused",
        },
    }
}

/// How redemption is bent by a planted bug.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RedeemedWrongly {
    /// A replay is refused and ends nothing.
    ReplayOnlyRefused,
    /// A code that was spent is accepted again.
    SpentCodeAccepted,
    /// The expiry of the code is not looked at.
    ExpiryIgnored,
}

/// The client redeems its code; another secret is drawn for each try.
pub fn redeem(of: Slot, wrongly: Option<RedeemedWrongly>) -> Ask {
    let command = |reading: &Reading<'_>| redeeming(reading.secret);
    let bend = move |_: &TokenFamily, decision: Decision<TokenFamily>, reading: &Reading<'_>| {
        let again = |family: &TokenFamily, now| family.decide(&redeeming(reading.secret), now);
        match (wrongly, &decision.outcome) {
            (Some(RedeemedWrongly::ReplayOnlyRefused), Err(token_family::Refusal::Replayed)) => {
                Decision::refuse(token_family::Refusal::Replayed)
            }
            (Some(RedeemedWrongly::SpentCodeAccepted), Err(token_family::Refusal::Replayed)) => {
                again(&approved_family(), reading.now)
            }
            (Some(RedeemedWrongly::ExpiryIgnored), Err(token_family::Refusal::Expired)) => {
                let family: TokenFamily = serde_json::from_str(reading.own.unwrap()).unwrap();
                again(&family, NOW)
            }
            _ => decision,
        }
    };
    Ask::bent::<TokenFamily>(("redeem", of), command, said_of_family, bend)
}

/// The family as it is born with an approval.
fn approved_family() -> TokenFamily {
    let begin = token_family::Begin::awaited(grant(), code(), END.since(NOW));
    serde_json::from_str(&TokenFamily::birth("g", begin, NOW).state).unwrap()
}

fn redeeming(secret: u8) -> token_family::Command {
    let issuing = Issuing {
        client_id: CLIENT.to_owned(),
        narrowing: Narrowing::default(),
        next: Fingerprint::of(&[secret]),
        limits: Limits::default(),
        requirements: Vec::new(),
        lifetimes: Lifetimes { access_token: HOUR, refresh_idle: HOUR, refresh_ceiling: HOUR },
        possession: Possession::default(),
    };
    token_family::Command::Redeem(Box::new(Redeem {
        code: code(),
        redirect_uri: None,
        verifier: Some(code()),
        refreshable: true,
        longest: None,
        issuing,
    }))
}

fn said_of_family(outcome: &Result<Reply, token_family::Refusal>) -> Said {
    match outcome {
        Ok(Reply::Issue(_)) => "issued",
        Ok(_) => "another answer",
        Err(token_family::Refusal::Expired) => "expired",
        Err(token_family::Refusal::Replayed) => "replayed",
        Err(token_family::Refusal::Ended) => "ended",
        Err(token_family::Refusal::Unknown) => "unknown",
        Err(_) => "refused",
    }
}

pub const TWO_DECISIONS: &str = "what waits for a person is decided at most once";
pub const ISSUED_TWICE: &str = "one code leads to tokens of one try alone";
pub const LATE: &str = "what is accepted has not expired";
pub const ISSUED_UNAPPROVED: &str = "nothing is issued without an approval";
pub const LIVES_AFTER_REPLAY: &str = "after a replay nothing of the code lives";
pub const ACCUSED_FALSELY: &str = "a family ends as replayed only where its code came twice";
pub const DECISION_LOST: &str = "a decision that was acknowledged stays";
pub const FAMILY_LOST: &str = "what is approved has a family that issues";
pub const WITHOUT_SESSION: &str = "nothing is granted or issued without its session";

/// What must hold of a code that a client polls with, whatever it is for: `waits` is what a person decides on,
/// `family` what is born with a yes.
pub fn judge_code(
    view: &View<'_>,
    (waits, family): (Slot, Slot),
    (approving, denying): (&[Said], &[Said]),
) -> Option<&'static str> {
    let of = |one: &Done, asks: &[Said], said: Said| asks.contains(&one.ask) && one.said == said;
    let (mut yes, mut no, mut issued, mut replayed) = (0, 0, Vec::new(), None);
    for one in view.landed() {
        if of(&one, approving, "approved") {
            yes += 1;
        } else if of(&one, denying, "denied") {
            no += 1;
        } else if of(&one, &["redeem"], "issued") {
            if yes == 0 {
                return Some(ISSUED_UNAPPROVED);
            }
            issued.push(one.secret);
        } else if of(&one, &["redeem"], "replayed") {
            if issued.iter().all(|secret| *secret == one.secret) {
                return Some(ACCUSED_FALSELY);
            }
            replayed = Some(issued.len());
        } else {
            continue;
        }
        if one.at >= END && one.said != "replayed" {
            return Some(LATE);
        }
    }
    if yes + no > 1 {
        return Some(TWO_DECISIONS);
    }
    if issued.len() > 1 || view.hearing("issued") > 1 {
        return Some(ISSUED_TWICE);
    }
    if (replayed.is_some() || view.hearing("replayed") > 0)
        && !matches!(view.word(family), "ended" | NO_ROW)
    {
        return Some(LIVES_AFTER_REPLAY);
    }
    if yes == 1 && view.word(family) == NO_ROW && view.now() == NOW {
        return Some(FAMILY_LOST);
    }
    // What the callers have heard is what the store has, while the row is kept.
    let lost = (view.hearing("approved") > 0 && view.word(waits) != "approved")
        || (view.hearing("denied") > 0 && view.word(waits) != "denied")
        || (view.hearing("issued") > 0 && issued.is_empty());
    lost.then_some(DECISION_LOST)
}
