use super::*;
use crate::domain::{
    assurance::{Level, Method},
    authority::{Audience, Scopes},
    authorization_details::Details,
    requested_claims::RequestedClaims,
};
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const END: Timestamp = Timestamp::from_millis(1_800_000_600_000);

fn code() -> Fingerprint {
    Fingerprint::of(b"device code")
}

fn request() -> DeviceRequest {
    DeviceRequest {
        wanted: RequestedGrant::plain("tv", "openid", Audience::Issuer),
        from: Device::default(),
        expires_at: END,
    }
}

fn waiting() -> Pending {
    Pending { code: code(), user_code: "hashed".to_owned(), request: request() }
}

fn grant(client_id: &str) -> Grant {
    Grant {
        sign_on: None,
        client_id: client_id.to_owned(),
        account: Some("ana".to_owned()),
        epoch: 0,
        session: Some("session".to_owned()),
        parents: Vec::new(),
        membership: None,
        audience: Audience::Issuer,
        scopes: Scopes::parse("openid").unwrap(),
        details: Details::default(),
        claims: RequestedClaims::default(),
        authenticated_at: NOW,
        level: Level::Aal1,
        methods: vec![Method::Password],
        delegation: None,
    }
}

fn decided() -> Decided {
    Decided { client_id: "tv".to_owned(), code: code(), expires_at: END }
}

fn approve(client_id: &str) -> Command {
    Command::Approve { id: "g".to_owned(), grant: Box::new(grant(client_id)) }
}

fn deny() -> Command {
    Command::Deny { account: "ana".to_owned(), why: Denial::ConsentRefused }
}

fn poll(client_id: &str, code: Fingerprint) -> Command {
    Command::Poll(Poll { client_id: client_id.to_owned(), code })
}

/// Every state, and the commands of which there is a right and a wrong form.
fn states() -> [DeviceGrant; 4] {
    [
        DeviceGrant::Unborn,
        DeviceGrant::Pending(Box::new(waiting())),
        DeviceGrant::Approved(decided()),
        DeviceGrant::Denied { decided: decided(), why: Denial::ConsentRefused },
    ]
}

fn commands() -> [Command; 8] {
    [
        Command::Begin(Box::new(waiting())),
        Command::Show,
        approve("tv"),
        approve("other"),
        deny(),
        poll("tv", code()),
        poll("other", code()),
        poll("tv", Fingerprint::of(b"another code")),
    ]
}

/// What the table says, for every state and every command, before and after the end of the code.
#[test]
fn every_state_answers_every_command_as_the_table_says() {
    use PollRefusal::{Expired, Unknown, WrongClient};
    use Refusal::{NotPending, Poll};
    let denied = || Err(Refusal::Poll(PollRefusal::Denied(Denial::ConsentRefused)));
    let shown = || Ok(Reply::Shown(Box::new(request())));
    let begun = [Err(NotPending), Err(NotPending), Err(NotPending), Err(NotPending)];
    let table: [[Result<Reply, Refusal>; 8]; 4] = [
        [
            Ok(Reply::Begun),
            Err(NotPending),
            Err(NotPending),
            Err(NotPending),
            Err(NotPending),
            Err(Poll(Expired)),
            Err(Poll(Expired)),
            Err(Poll(Expired)),
        ],
        [
            Err(NotPending),
            shown(),
            Ok(Reply::Approved),
            Err(Refusal::WrongClient),
            Ok(Reply::Denied),
            Ok(Reply::Polled(Polled::StillPending)),
            Err(Poll(WrongClient)),
            Err(Poll(Unknown)),
        ],
        [
            &[Err(NotPending)][..],
            &begun,
            &[
                Ok(Reply::Polled(Polled::Redeemable { in_time: true })),
                Err(Poll(WrongClient)),
                Err(Poll(Unknown)),
            ],
        ]
        .concat()
        .try_into()
        .unwrap(),
        [&[Err(NotPending)][..], &begun, &[denied(), Err(Poll(WrongClient)), Err(Poll(Unknown))]]
            .concat()
            .try_into()
            .unwrap(),
    ];
    for (state, row) in states().into_iter().zip(table) {
        for (command, expected) in commands().into_iter().zip(row) {
            let decision = state.decide(&command, NOW);
            assert_eq!(decision.outcome, expected, "{state:?} {command:?}");
            let changes = matches!(expected, Ok(Reply::Begun | Reply::Approved | Reply::Denied));
            assert_eq!(decision.events.len(), usize::from(changes), "{state:?} {command:?}");
            assert_eq!(decision.effects.write_nothing(), {
                !matches!(expected, Ok(Reply::Approved | Reply::Denied))
            });
            // After its end a pending grant is as good as none; what was decided stays decided.
            let late = state.decide(&command, END).outcome;
            let is_pending = matches!(state, DeviceGrant::Pending(_));
            let expected = match (&command, expected) {
                (Command::Poll(_), Ok(Reply::Polled(Polled::StillPending))) => Err(Poll(Expired)),
                (_, Ok(Reply::Polled(Polled::Redeemable { .. }))) => {
                    Ok(Reply::Polled(Polled::Redeemable { in_time: false }))
                }
                (Command::Show | Command::Approve { .. } | Command::Deny { .. }, _)
                    if is_pending =>
                {
                    Err(NotPending)
                }
                (_, same) => same,
            };
            assert_eq!(late, expected, "late: {state:?} {command:?}");
        }
    }
}

fn after(command: &Command) -> DeviceGrant {
    let mut grant = DeviceGrant::Pending(Box::new(waiting()));
    for event in grant.decide(command, NOW).events {
        grant.apply(&event);
    }
    grant
}

#[test]
fn an_approval_bears_the_family_whose_code_is_the_device_code() {
    let pending = DeviceGrant::Pending(Box::new(waiting()));
    let decision = pending.decide(&approve("tv"), NOW + Duration::from_mins(1));
    let [birth] = &decision.effects.births[..] else { panic!("one family") };
    assert_eq!((birth.kind, birth.id.as_str()), (TokenFamily::KIND, "g"));
    assert_eq!(birth.live_until, END, "it is redeemed while the device code lives");
    let family: TokenFamily = serde_json::from_str(&birth.state).unwrap();
    assert_eq!(family.grant(), Some(&grant("tv")));
    assert_eq!(decision.effects.records[0].event, "device.approved");
    assert_eq!(after(&approve("tv")), DeviceGrant::Approved(decided()));
}

#[test]
fn what_was_decided_keeps_no_request_and_frees_its_user_code() {
    let pending = DeviceGrant::Pending(Box::new(waiting()));
    assert_eq!(pending.names(), [Name::new(USER_CODES, "hashed")]);
    assert_eq!((pending.live_until(), pending.forget_at()), (END, Some(END + CLOCK_SKEW)));
    for command in [approve("tv"), deny()] {
        let grant = after(&command);
        assert_eq!((grant.names(), grant.live_until()), (Vec::new(), Timestamp::NEVER));
        assert_eq!(grant.forget_at(), Some(END + CLOCK_SKEW));
        // What was decided is not decided again, by either.
        for again in [approve("tv"), deny()] {
            let refused = grant.decide(&again, NOW);
            assert_eq!(refused.outcome, Err(Refusal::NotPending));
            assert!(refused.events.is_empty() && refused.effects.births.is_empty());
        }
    }
    for state in states() {
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<DeviceGrant>(&text).unwrap(), state);
    }
}

#[test]
fn a_user_code_is_read_as_people_write_it() {
    for same in ["BCDF-GHJK", "bcdfghjk", " bcdf ghjk\n", "b-c-d-f-g-h-j-k", "BCDF–GHJK"] {
        assert_eq!(normalise_user_code(same).as_deref(), Some("BCDFGHJK"), "{same}");
    }
    let long = "B".repeat(100_000);
    for bad in
        ["", "BCDF-GHJ", "BCDF-GHJKL", "ACDF-GHJK", "BCDF.GHJK", "0CDFGHJK", "ßCDFGHJK", &long]
    {
        assert_eq!(normalise_user_code(bad), None, "{bad:.20}");
    }
}
