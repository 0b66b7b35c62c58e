//! What the scenes with flows have in common.

use super::grants::{END, HOUR, NOW, person};
use crate::model_races::asks::Said;
use porteiro::domain::{
    Device, Fingerprint, Machine as _,
    assurance::{AuthenticatorId, Authenticators, Method, Worth},
    authorization::{AuthorizationFacts, ConsentRule},
    flow::{
        AccountSeen, Channel, Command, Flow, Fresh, Material, ProofStep, Role, Rules, Seed,
        SignOnOffer, SignedIn, Stage, Step,
    },
    token_family::CodeLifetimes,
};
use std::{sync::Arc, time::Duration};

pub fn seed(kind: &str) -> Seed {
    Seed {
        kind: kind.to_owned(),
        channel: Channel::Program,
        expires_at: END,
        request: None,
        later: None,
        stage: Stage::Identify,
        signed_in: None,
        invited: None,
        user_code: None,
        operator_link: None,
        organization: None,
        connection: None,
        approval: None,
        report: None,
        selects: false,
        back: None,
    }
}

/// A person who is signed in already.
pub fn signed_in(session: &str) -> SignedIn {
    SignedIn {
        sign_on: None,
        person: person(),
        session: session.to_owned(),
        stage: Stage::Confirm,
        question: None,
        methods: vec![Method::Password],
        wanted: None,
    }
}

pub fn step(seed: Seed, step: Step) -> Command {
    let roles: &'static [Role] = &[Role::First];
    let password = ProofStep { name: "password", preparing: &[], worth: Worth::PASSWORD, roles };
    let rules = Arc::new(Rules::new([password]));
    Command { rules, seed, step, sign_on: SignOnOffer::None }
}

/// Takes a step before the scene begins.
pub fn take(flow: &mut Flow, command: &Command) {
    let decision = flow.decide(command, NOW);
    decision.outcome.unwrap();
    decision.events.iter().for_each(|event| flow.apply(event));
}

pub fn word(flow: &Flow) -> Said {
    match flow {
        Flow::Unborn => "unborn",
        Flow::Open(_) => "open",
        Flow::Over(_) => "over",
    }
}

pub fn fresh() -> Fresh {
    Fresh {
        session_id: "fresh".to_owned(),
        session_token: Fingerprint::of(b"session"),
        session_idle: 24 * HOUR,
        session_ceiling: 24 * HOUR,
        device: Device::default(),
        remembered: false,
        offers_passkey: false,
        family_id: "fresh".to_owned(),
        code: Fingerprint::of(b"fresh"),
        lives: CodeLifetimes { code: Duration::from_mins(1), access_token: Duration::from_mins(5) },
        present: None,
    }
}

/// What a step is given: the account at this version, and a client of the operator's own.
pub fn material(fresh: Fresh, version: i64) -> Box<Material> {
    let password = AuthenticatorId::credential(Method::Password, NOW);
    let authenticators = Authenticators::default().with(Method::Password, Some(password));
    let account = AccountSeen { version, epoch: 0, sign_outs: 0, deleting: false, authenticators };
    let facts = AuthorizationFacts {
        ceiling: None,
        resource: None,
        offered: Vec::new(),
        types: Vec::new(),
        memberships: Vec::new(),
        members_of: None,
        consent: ConsentRule::FirstParty,
        consent_epoch: 0,
        remembers: None,
        hears_of_logout: false,
        requirements: Vec::new(),
    };
    Box::new(Material {
        facts: Some(facts),
        approval: None,
        fresh,
        account,
        methods: Vec::new(),
        notices: Vec::new(),
        identities: Vec::new(),
        joining: None,
        sign_in: None,
    })
}
