//! Two holders of one device code poll and redeem it, while the person says yes in one place and no in another.

use super::grants::{
    self, ACCOUNT, CLIENT, END, FIXED, NOW, RedeemedWrongly, WITHOUT_SESSION, code, grant,
};
use crate::model_races::{
    asks::{Ask, Reading, Said},
    scene::{Entity, Landing, NO_ROW, Scene, View},
};
use porteiro::domain::{
    Decision, Device, Machine as _,
    authorization::Denial,
    device_grant::{Command, DeviceGrant, DeviceRequest, Pending, Refusal, Reply},
    token_family::TokenFamily,
};
use std::time::Duration;

/// A mistake in the rules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// What was decided is decided again.
    DecidedAgain,
    Redeemed(RedeemedWrongly),
}

const GRANT: u8 = 0;
const FAMILY: u8 = 1;
const SESSION: u8 = 2;

const REDEEM: usize = 1;

pub fn scene(wrong: Option<Wrong>) -> Scene {
    let redeemed = match wrong {
        Some(Wrong::Redeemed(wrongly)) => Some(wrongly),
        _ => None,
    };
    Scene {
        entities: vec![
            Entity::of::<DeviceGrant>("g", word).beginning_as(&pending()),
            Entity::of::<TokenFamily>("g", grants::family_word),
            grants::session(),
        ],
        fixed: FIXED,
        // A row that has ended is kept for five minutes.
        instants: vec![NOW, END, END + Duration::from_mins(5)],
        asks: vec![
            grants::poll::<DeviceGrant>(GRANT, |said| (said == "redeemable").then_some(REDEEM)),
            grants::redeem(FAMILY, redeemed),
            decide("approve", wrong, || Command::Approve {
                id: "g".to_owned(),
                grant: Box::new(grant()),
            }),
            decide("deny", wrong, || Command::Deny {
                account: ACCOUNT.to_owned(),
                why: Denial::ConsentRefused,
            }),
            grants::end_session(SESSION),
        ],
        requests: &[0, 0, 2, 3, 4],
        standing,
        landing,
    }
}

pub fn pending() -> DeviceGrant {
    let request =
        DeviceRequest { wanted: grants::wanted(), from: Device::default(), expires_at: END };
    let waiting = Pending { code: code(), user_code: "hashed".to_owned(), request };
    assert_eq!(waiting.request.wanted.client_id, CLIENT);
    DeviceGrant::Pending(Box::new(waiting))
}

fn decide(name: Said, wrong: Option<Wrong>, command: fn() -> Command) -> Ask {
    let bend = move |seen: &DeviceGrant, decision: Decision<DeviceGrant>, reading: &Reading<'_>| {
        if wrong == Some(Wrong::DecidedAgain) && seen.pending(reading.now).is_none() {
            return pending().decide(&command(), reading.now);
        }
        decision
    };
    Ask::bent::<DeviceGrant>((name, GRANT), move |_| command(), said, bend)
}

fn said(outcome: &Result<Reply, Refusal>) -> Said {
    match outcome {
        Ok(Reply::Approved) => "approved",
        Ok(Reply::Denied) => "denied",
        Ok(_) => "another answer",
        Err(_) => "refused",
    }
}

pub fn word(grant: &DeviceGrant) -> Said {
    match grant {
        DeviceGrant::Unborn => "unborn",
        DeviceGrant::Pending(_) => "pending",
        DeviceGrant::Approved(_) => "approved",
        DeviceGrant::Denied { .. } => "denied",
    }
}

fn standing(view: &View<'_>) -> Option<&'static str> {
    // The rows of a grant that is over are forgotten.
    if view.word(GRANT) == NO_ROW {
        return None;
    }
    grants::judge_code(view, (GRANT, FAMILY), (&["approve"], &["deny"]))
}

fn landing(view: &View<'_>, landing: &Landing) -> Option<&'static str> {
    let issues = landing.ask == "redeem" && landing.said == "issued";
    (issues && view.word(SESSION) != "open").then_some(WITHOUT_SESSION)
}
