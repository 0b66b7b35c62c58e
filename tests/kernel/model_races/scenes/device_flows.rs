//! Two flows decide on one device: in the one the person says yes twice, in the other no. Each commands the device's
//! grant in its own commit (adr/0124), while the session may end.

use super::{
    device, flows,
    grants::{self, ACCOUNT, END, NOW, WITHOUT_SESSION},
};
use crate::model_races::{
    asks::{Ask, Reading, Said},
    scene::{Entity, Landing, NO_ROW, Scene, View},
};
use porteiro::domain::{
    Decision, Device, Machine as _,
    account::Account,
    device_grant::{DeviceGrant, DeviceRequest},
    flow::{Command, DEVICE, EnteredDevice, Flow, Refusal, Reply, Seed, Step},
    session::Session,
    token_family::TokenFamily,
};

/// A mistake in the rules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// The flow ends and its device is not commanded.
    DeviceForgotten,
    /// The session that the flow goes on in is not required.
    SessionNotRequired,
}

const YES: u8 = 0;
const NO: u8 = 1;
const GRANT: u8 = 2;
const FAMILY: u8 = 3;
const SESSION: u8 = 4;
const ACCOUNT_READ: u8 = 5;

pub const SAID_AND_NOT_DONE: &str = "a flow that ends in an approval or a denial has decided";

pub fn scene(wrong: Option<Wrong>) -> Scene {
    Scene {
        entities: vec![
            Entity::of::<Flow>("yes", flows::word).beginning_as(&asked()),
            Entity::of::<Flow>("no", flows::word).beginning_as(&asked()),
            Entity::of::<DeviceGrant>("g", device::word).beginning_as(&device::pending()),
            Entity::of::<TokenFamily>("g", grants::family_word),
            grants::session(),
            Entity::fact(Account::KIND, ACCOUNT, &["as it is"]),
        ],
        fixed: &[],
        instants: vec![NOW, END],
        asks: vec![
            confirm(("confirm", YES), true, wrong),
            confirm(("refuse", NO), false, wrong),
            grants::end_session(SESSION),
        ],
        requests: &[0, 0, 1, 2],
        standing,
        landing,
    }
}

fn seed() -> Seed {
    let signed_in = Some(flows::signed_in(grants::SESSION));
    Seed { signed_in, user_code: Some("sealed".to_owned()), ..flows::seed(DEVICE) }
}

/// A flow in which the person was shown what the device asks for.
fn asked() -> Flow {
    let request =
        DeviceRequest { wanted: grants::wanted(), from: Device::default(), expires_at: END };
    let device = EnteredDevice { grant: "g".to_owned(), request, code: None };
    let material = flows::material(flows::fresh(), 1);
    let enter = Step::Enter { device: Some(Box::new(device)), material };
    let mut flow = Flow::default();
    flows::take(&mut flow, &flows::step(seed(), enter));
    assert_eq!(flows::word(&flow), "open");
    flow
}

fn confirm((name, of): (Said, u8), allow: bool, wrong: Option<Wrong>) -> Ask {
    let command = move |reading: &Reading<'_>| -> Command {
        let material = flows::material(flows::fresh(), reading.facts[0].version);
        flows::step(seed(), Step::Decide { step: "confirm", allow, material })
    };
    let bend = move |_: &Flow, mut decision: Decision<Flow>, _: &Reading<'_>| {
        match wrong {
            Some(Wrong::DeviceForgotten) => decision.commands.clear(),
            Some(Wrong::SessionNotRequired) => {
                decision.effects.requirements.retain(|fact| fact.kind() != Session::KIND);
            }
            None => {}
        }
        decision
    };
    Ask::bent::<Flow>((name, of), command, said, bend).reading(&[ACCOUNT_READ])
}

fn said(outcome: &Result<Reply, Refusal>) -> Said {
    match outcome {
        Ok(Reply { flow: Flow::Over(over), .. }) if over.denial.is_none() => "approved",
        Ok(Reply { flow: Flow::Over(_), .. }) => "denied",
        Ok(_) => "goes on",
        Err(Refusal::Over) => "over",
        Err(Refusal::Expired) => "expired",
        Err(Refusal::WrongUserCode) => "decided elsewhere",
        Err(_) => "refused",
    }
}

fn standing(view: &View<'_>) -> Option<&'static str> {
    let grant = view.word(GRANT);
    let done = (view.landings("confirm", "approved"), view.landings("refuse", "denied"));
    let agrees = match done {
        (0, 0) => grant == "pending",
        (1, 0) => grant == "approved" && view.word(FAMILY) == "pending",
        (0, 1) => grant == "denied" && view.word(FAMILY) == NO_ROW,
        // That is said of codes in any scene.
        _ => true,
    };
    if !agrees {
        return Some(SAID_AND_NOT_DONE);
    }
    grants::judge_code(view, (GRANT, FAMILY), (&["confirm"], &["refuse"]))
}

fn landing(view: &View<'_>, landing: &Landing) -> Option<&'static str> {
    (landing.said == "approved" && view.word(SESSION) != "open").then_some(WITHOUT_SESSION)
}
