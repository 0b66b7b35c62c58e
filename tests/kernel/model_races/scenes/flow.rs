//! One step of a sign-in is taken twice, while the password is changed, a wrong one is tried, and the flow expires.

use super::{
    flows::{self, seed, step},
    grants::{self, ACCOUNT, END, LATE, NOW},
};
use crate::model_races::{
    asks::{Ask, Reading, Said},
    scene::{Entity, Landing, NO_ROW, Scene, View},
};
use porteiro::domain::{
    Decision, Fingerprint, Machine as _,
    account::Account,
    authorization::{ReplyTo, Request, ResponseMode},
    flow::{AccountProof, Flow, Fresh, Refusal, Reply, SIGN_IN, Seed, Step},
    session::Session,
    token_family::TokenFamily,
};
use std::time::Duration;

/// A mistake in the rules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// A flow that is over is gone on with.
    OverGoneOnWith,
    /// What was judged on the account is not required of it.
    AccountNotRequired,
    /// The expiry of the flow is not looked at.
    ExpiryIgnored,
}

const PASSWORD: u8 = 5;
/// The session and the family that each try would begin.
const BORN: [(u8, u8); 2] = [(1, 2), (3, 4)];

pub const ENDED_TWICE: &str = "a flow begins one session";
pub const SUPERSEDED: &str = "a password that was changed signs nobody in";
pub const HALF: &str = "a session and the code of its client are born together";
pub const SIGN_IN_LOST: &str = "a person who was told that they are signed in is";

pub fn scene(wrong: Option<Wrong>) -> Scene {
    Scene {
        entities: vec![
            Entity::of::<Flow>("f", flows::word).beginning_as(&identified()),
            Entity::of::<Session>("s0", grants::session_word),
            Entity::of::<TokenFamily>("c0", grants::family_word),
            Entity::of::<Session>("s1", grants::session_word),
            Entity::of::<TokenFamily>("c1", grants::family_word),
            Entity::fact(Account::KIND, ACCOUNT, &["this password", "another password"]),
        ],
        fixed: &[],
        instants: vec![NOW, END, END + Duration::from_mins(5)],
        asks: vec![
            Ask::bent::<Flow>(("prove", 0), prove, said, move |flow, decision, reading| {
                bend(wrong, flow, decision, reading)
            })
            .reading(&[PASSWORD]),
            Ask::of::<Flow>(("try a wrong password", 0), |_| step(sign_in(), wrong_one()), said),
            Ask::fact(("change the password", PASSWORD), "another password"),
        ],
        requests: &[0, 0, 1, 2],
        standing,
        landing,
    }
}

fn sign_in() -> Seed {
    let request = Request {
        wanted: grants::wanted(),
        reply_to: ReplyTo {
            redirect_uri: "https://app.example/cb".to_owned(),
            state: None,
            mode: ResponseMode::Query,
        },
        nonce: None,
        challenge: Fingerprint::of(b"verifier"),
        key: None,
        login_hint: None,
        ui_locales: None,
        pushed: None,
    };
    Seed { request: Some(request), ..seed(SIGN_IN) }
}

/// A flow in which the person has said who they are.
fn identified() -> Flow {
    let mut flow = Flow::default();
    let identify = Step::Identify { identifier: "ana@acme.test".to_owned() };
    flows::take(&mut flow, &step(sign_in(), identify));
    flow
}

fn wrong_one() -> Step {
    Step::Disprove { step: "password", account: Some(ACCOUNT.to_owned()) }
}

/// The password is right while it is the account's.
fn prove(reading: &Reading<'_>) -> porteiro::domain::flow::Command {
    let account = reading.facts[0];
    if account.state != Some("this password") {
        return step(sign_in(), wrong_one());
    }
    let number = reading.secret / 8;
    let fresh = Fresh {
        session_id: format!("s{number}"),
        family_id: format!("c{number}"),
        code: Fingerprint::of(&[number]),
        ..flows::fresh()
    };
    let proved = AccountProof {
        step: "password",
        account: ACCOUNT.to_owned(),
        version: Some(account.version),
        methods: Vec::new(),
        spends: None,
        worth: None,
        by: None,
        uses: None,
        sign_on: None,
    };
    let material = flows::material(fresh, account.version);
    step(sign_in(), Step::Prove { proved, material })
}

fn bend(
    wrong: Option<Wrong>,
    flow: &Flow,
    mut decision: Decision<Flow>,
    reading: &Reading<'_>,
) -> Decision<Flow> {
    match (wrong, &decision.outcome) {
        (Some(Wrong::OverGoneOnWith), Err(Refusal::Over)) => {
            identified().decide(&prove(reading), reading.now)
        }
        (Some(Wrong::ExpiryIgnored), Err(Refusal::Expired)) => flow.decide(&prove(reading), NOW),
        (Some(Wrong::AccountNotRequired), Ok(_)) => {
            decision.effects.requirements.retain(|fact| fact.kind() != Account::KIND);
            decision
        }
        _ => decision,
    }
}

fn said(outcome: &Result<Reply, Refusal>) -> Said {
    match outcome {
        Ok(Reply { flow: Flow::Over(over), .. }) if over.denial.is_none() => "signed in",
        Ok(_) => "goes on",
        Err(Refusal::Over) => "over",
        Err(Refusal::Expired) => "expired",
        Err(_) => "refused",
    }
}

fn standing(view: &View<'_>) -> Option<&'static str> {
    let is_born = BORN.map(|(session, _)| view.word(session) != NO_ROW);
    if is_born == [true, true] {
        return Some(ENDED_TWICE);
    }
    if view.landings("prove", "signed in") > 1 {
        return Some(ENDED_TWICE);
    }
    for (number, (session, family)) in (0..).zip(BORN) {
        if (view.word(session) == NO_ROW) != (view.word(family) == NO_ROW) && view.now() == NOW {
            return Some(HALF);
        }
        if view.heard(number) == Some("signed in") && view.word(session) != "open" {
            return Some(SIGN_IN_LOST);
        }
    }
    let mut steps = view.landed().filter(|one| one.ask != "change the password");
    steps.any(|one| one.at >= END).then_some(LATE)
}

fn landing(view: &View<'_>, landing: &Landing) -> Option<&'static str> {
    let is_his = landing.facts.iter().all(|fact| *fact == "this password")
        && view.word(PASSWORD) == "this password";
    (landing.said == "signed in" && !is_his).then_some(SUPERSEDED)
}
