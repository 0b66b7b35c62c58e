//! A client polls twice with one `auth_req_id`, while the person approves and the session in which they do may end.

use super::grants::{
    self, ACCOUNT, END, FIXED, NOW, RedeemedWrongly, SESSION as SESSION_ID, WITHOUT_SESSION, code,
    grant,
};
use crate::model_races::{
    asks::{Ask, Said},
    scene::{Entity, Landing, NO_ROW, Scene, View},
};
use porteiro::domain::{
    Device, Fingerprint, Requirement,
    authorization::Denial,
    backchannel_request::{
        Approval, ApprovalRequest, BackchannelRequest, Command, Pending, Refusal, Reply,
    },
    session::Session,
    token_family::TokenFamily,
};
use std::time::Duration;

const REQUEST: u8 = 0;
const FAMILY: u8 = 1;
const SESSION: u8 = 2;

const REDEEM: usize = 1;

pub const PINGED_TWICE: &str = "a client is pinged once for one decision";

pub fn scene(wrong: Option<RedeemedWrongly>) -> Scene {
    Scene {
        entities: vec![
            Entity::of::<BackchannelRequest>("r", word)
                .beginning_as(&BackchannelRequest::Pending(Box::new(pending()))),
            Entity::of::<TokenFamily>("r", grants::family_word),
            grants::session(),
        ],
        fixed: FIXED,
        // A row that has ended is kept for five minutes.
        instants: vec![NOW, END, END + Duration::from_mins(5)],
        asks: vec![
            grants::poll::<BackchannelRequest>(REQUEST, |said| {
                (said == "redeemable").then_some(REDEEM)
            }),
            grants::redeem(FAMILY, wrong),
            Ask::of::<BackchannelRequest>(
                ("approve", REQUEST),
                |_| approve(vec![Requirement::live::<Session>(SESSION_ID)]),
                said,
            ),
            Ask::of::<BackchannelRequest>(("deny", REQUEST), |_| deny(false), said),
            grants::end_session(SESSION),
        ],
        requests: &[0, 0, 2, 3, 4],
        standing,
        landing,
    }
}

pub fn pending() -> Pending {
    let request = ApprovalRequest {
        account: ACCOUNT.to_owned(),
        wanted: grants::wanted(),
        binding_message: None,
        from: Device::default(),
        asked_at: NOW,
        expires_at: END,
    };
    Pending { code: code(), request, ping: Some("sealed".to_owned()), place: Some(0) }
}

/// A yes that rests on these facts.
pub fn approve(requirements: Vec<Requirement>) -> Command {
    Command::Approve(Box::new(Approval {
        id: "r".to_owned(),
        grant: Box::new(grant()),
        shown: Fingerprint::of(b"shown"),
        asserted: false,
        in_flow: false,
        requirements,
        mail: None,
    }))
}

pub fn deny(block: bool) -> Command {
    Command::Deny { account: ACCOUNT.to_owned(), why: Denial::ConsentRefused, block }
}

pub fn said(outcome: &Result<Reply, Refusal>) -> Said {
    match outcome {
        Ok(Reply::Begun) => "begun",
        Ok(Reply::Approved) => "approved",
        Ok(Reply::Denied) => "denied",
        Ok(_) => "another answer",
        Err(Refusal::Decided) => "decided before",
        Err(_) => "refused",
    }
}

pub fn word(request: &BackchannelRequest) -> Said {
    match request {
        BackchannelRequest::Unborn => "unborn",
        BackchannelRequest::Pending(_) => "pending",
        BackchannelRequest::Approved { .. } => "approved",
        BackchannelRequest::Denied { .. } => "denied",
    }
}

fn standing(view: &View<'_>) -> Option<&'static str> {
    if view.landed().map(|one| one.messages).sum::<u8>() > 1 {
        return Some(PINGED_TWICE);
    }
    // The rows of a request that is over are forgotten.
    if view.word(REQUEST) == NO_ROW {
        return None;
    }
    grants::judge_code(view, (REQUEST, FAMILY), (&["approve"], &["deny"]))
}

fn landing(view: &View<'_>, landing: &Landing) -> Option<&'static str> {
    let grants = matches!(landing.said, "approved" | "issued");
    (grants && view.word(SESSION) != "open").then_some(WITHOUT_SESSION)
}
