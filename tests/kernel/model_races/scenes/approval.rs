//! A person decides one request in two places, with and without a block, while they lose the role that it rests on
//! and the client asks for something else in the same place.

use super::{
    backchannel::{approve, deny, pending, said, word},
    grants::{self, ACCOUNT, END, LATE, NOW, TWO_DECISIONS},
};
use crate::model_races::{
    asks::{Ask, Reading, Said},
    scene::{Entity, Landing, Scene, View},
};
use porteiro::domain::{
    Decision, Fingerprint, Machine as _, Requirement,
    account::Account,
    approval_block::ApprovalBlock,
    authorization::Denial,
    backchannel_request::{BackchannelRequest, Command, Pending},
    membership::Membership,
    session::Session,
    token_family::TokenFamily,
};
use std::time::Duration;

/// A mistake in the rules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// What was decided is decided again.
    DecidedAgain,
    /// The role is not asked for once more.
    RoleNotRequired,
}

const REQUEST: u8 = 0;
const FAMILY: u8 = 1;
const BLOCK: u8 = 2;
const ROLE: u8 = 3;
const NEXT: u8 = 4;

/// Between the person and the client.
const BLOCK_ID: &str = "ana:agent";

pub const BEYOND_ROLE: &str = "nothing is approved that the person does not hold";
pub const BLOCK_LOST: &str = "a client that was blocked stays blocked";
pub const TWO_IN_ONE_PLACE: &str = "no more requests wait than there are places";
pub const BLOCKED_AND_APPROVED: &str = "what is approved was not denied with a block";
pub const HALF: &str = "a family is born with the approval, and never without";

pub fn scene(wrong: Option<Wrong>) -> Scene {
    Scene {
        entities: vec![
            Entity::of::<BackchannelRequest>("r", word)
                .beginning_as(&BackchannelRequest::Pending(Box::new(pending()))),
            Entity::of::<TokenFamily>("r", grants::family_word),
            Entity::of::<ApprovalBlock>(BLOCK_ID, |block| match block.blocked() {
                Some(_) => "blocked",
                None => "not blocked",
            }),
            Entity::fact(Membership::KIND, "m", &["held", "lost"]),
            Entity::of::<BackchannelRequest>("r2", word),
        ],
        fixed: &[Account::KIND, Session::KIND],
        instants: vec![NOW, END, END + Duration::from_mins(5)],
        asks: vec![
            say_yes(wrong),
            Ask::of::<BackchannelRequest>(("deny, block", REQUEST), |_| deny(true), said),
            Ask::fact(("lose the role", ROLE), "lost"),
            Ask::of::<BackchannelRequest>(("begin", NEXT), |_| begin(), said),
        ],
        requests: &[0, 0, 1, 2, 3],
        standing,
        landing,
    }
}

/// The person says yes. A handler that sees that they may not grant it denies it.
fn say_yes(wrong: Option<Wrong>) -> Ask {
    let command = move |reading: &Reading<'_>| {
        let role = reading.facts[0];
        if role.state == Some("held") {
            let version = role.version;
            let id = "m".to_owned();
            let role = Requirement::Unchanged { kind: Membership::KIND, id, version };
            let role = Some(role).filter(|_| wrong != Some(Wrong::RoleNotRequired));
            return approve(role.into_iter().collect());
        }
        Command::Deny { account: ACCOUNT.to_owned(), why: Denial::NotAMember, block: false }
    };
    let bend = move |_: &BackchannelRequest, decision: Decision<_>, reading: &Reading<'_>| {
        if wrong == Some(Wrong::DecidedAgain) && decision.outcome.is_err() {
            let fresh = BackchannelRequest::Pending(Box::new(pending()));
            return fresh.decide(&command(reading), NOW);
        }
        decision
    };
    Ask::bent::<BackchannelRequest>(("approve", REQUEST), command, said, bend).reading(&[ROLE])
}

/// The client asks for something else, in the place that it has.
fn begin() -> Command {
    let pending = Pending { code: Fingerprint::of(b"next code"), ..pending() };
    Command::Begin { pending: Box::new(pending), message: None }
}

fn standing(view: &View<'_>) -> Option<&'static str> {
    let decided = |said: Said| view.landings("approve", said) + view.landings("deny, block", said);
    let (approved, denied) = (decided("approved"), decided("denied"));
    if approved + denied > 1 {
        return Some(TWO_DECISIONS);
    }
    if view.landed().any(|one| matches!(one.said, "approved" | "denied") && one.at >= END) {
        return Some(LATE);
    }
    if view.word(REQUEST) == "pending" && view.word(NEXT) == "pending" {
        return Some(TWO_IN_ONE_PLACE);
    }
    let blocks = view.landings("deny, block", "denied") > 0;
    let blocked = view.word(BLOCK) == "blocked";
    if view.heard(2) == Some("denied") && !blocked {
        return Some(BLOCK_LOST);
    }
    if blocked && (approved > 0 || !blocks) {
        return Some(BLOCKED_AND_APPROVED);
    }
    let is_half = (view.word(REQUEST) == "approved") != (view.word(FAMILY) == "pending");
    (is_half && view.now() == NOW).then_some(HALF)
}

fn landing(view: &View<'_>, landing: &Landing) -> Option<&'static str> {
    let held = landing.facts.iter().all(|fact| *fact == "held") && view.word(ROLE) == "held";
    (landing.said == "approved" && !held).then_some(BEYOND_ROLE)
}
