use super::*;
use crate::domain::{
    Device, Secret,
    assurance::{Level, Method},
    authority::{Audience, Scopes},
    authorization::{Choice, ConsentQuestion, RequestedGrant},
    authorization_details::Details,
    requested_claims::RequestedClaims,
};
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const END: Timestamp = Timestamp::from_millis(1_800_000_300_000);

fn code() -> Fingerprint {
    Fingerprint::of(b"auth_req_id")
}

fn request() -> ApprovalRequest {
    ApprovalRequest {
        account: "ana".to_owned(),
        wanted: RequestedGrant::plain("agent", "openid", Audience::Issuer),
        binding_message: Some("Pay".to_owned()),
        from: Device::default(),
        asked_at: NOW,
        expires_at: END,
    }
}

fn waiting() -> Pending {
    let ping = Some("sealed".to_owned());
    Pending { code: code(), request: request(), ping, place: Some(3) }
}

fn grant(client_id: &str, account: &str) -> Grant {
    Grant {
        sign_on: None,
        client_id: client_id.to_owned(),
        account: Some(account.to_owned()),
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
    let (account, client_id) = ("ana".to_owned(), "agent".to_owned());
    Decided { account, client_id, code: code(), expires_at: END }
}

fn approve(client_id: &str, account: &str) -> Command {
    Command::Approve(Box::new(Approval {
        id: "r".to_owned(),
        grant: Box::new(grant(client_id, account)),
        shown: Fingerprint::of(b"shown"),
        asserted: true,
        in_flow: false,
        requirements: Vec::new(),
        mail: None,
    }))
}

fn deny(account: &str) -> Command {
    Command::Deny { account: account.to_owned(), why: Denial::ConsentRefused, block: false }
}

fn poll(client_id: &str, code: Fingerprint) -> Command {
    Command::Poll(Poll { client_id: client_id.to_owned(), code })
}

fn states() -> [BackchannelRequest; 4] {
    [
        BackchannelRequest::Unborn,
        BackchannelRequest::Pending(Box::new(waiting())),
        BackchannelRequest::Approved { decided: decided(), in_flow_of: None },
        BackchannelRequest::Denied { decided: decided(), why: Denial::ConsentRefused },
    ]
}

fn commands() -> [Command; 9] {
    [
        Command::Begin { pending: Box::new(waiting()), message: None },
        approve("agent", "ana"),
        approve("other", "ana"),
        approve("agent", "bruno"),
        deny("ana"),
        deny("bruno"),
        poll("agent", code()),
        poll("other", code()),
        poll("agent", Fingerprint::of(b"another code")),
    ]
}

/// What the table says, for every state and every command, before and after the end.
#[test]
fn every_state_answers_every_command_as_the_table_says() {
    use PollRefusal::{Expired, Unknown, WrongClient};
    use Refusal::{Decided, NotPending, OtherPerson, Poll};
    let denied = || Err(Refusal::Poll(PollRefusal::Denied(Denial::ConsentRefused)));
    let none = || Err(NotPending);
    let over = || Err(Decided);
    let redeemable = || Ok(Reply::Polled(Polled::Redeemable { in_time: true }));
    let table: [[Result<Reply, Refusal>; 9]; 4] = [
        [
            Ok(Reply::Begun),
            none(),
            none(),
            none(),
            none(),
            none(),
            Err(Poll(Expired)),
            Err(Poll(Expired)),
            Err(Poll(Expired)),
        ],
        [
            none(),
            Ok(Reply::Approved),
            Err(Refusal::WrongClient),
            Err(OtherPerson),
            Ok(Reply::Denied),
            Err(OtherPerson),
            Ok(Reply::Polled(Polled::StillPending)),
            Err(Poll(WrongClient)),
            Err(Poll(Unknown)),
        ],
        [
            none(),
            over(),
            over(),
            over(),
            over(),
            over(),
            redeemable(),
            Err(Poll(WrongClient)),
            Err(Poll(Unknown)),
        ],
        [
            none(),
            over(),
            over(),
            over(),
            over(),
            over(),
            denied(),
            Err(Poll(WrongClient)),
            Err(Poll(Unknown)),
        ],
    ];
    for (state, row) in states().into_iter().zip(table) {
        for (command, expected) in commands().into_iter().zip(row) {
            let decision = state.decide(&command, NOW);
            assert_eq!(decision.outcome, expected, "{state:?} {command:?}");
            let changes = matches!(expected, Ok(Reply::Begun | Reply::Approved | Reply::Denied));
            assert_eq!(decision.events.len(), usize::from(changes), "{state:?} {command:?}");
            assert_eq!(decision.effects.write_nothing(), !changes, "{state:?} {command:?}");
            let late = state.decide(&command, END).outcome;
            let was_pending = matches!(state, BackchannelRequest::Pending(_));
            let expected = match (&command, expected) {
                (Command::Poll(_), Ok(Reply::Polled(Polled::StillPending))) => Err(Poll(Expired)),
                (_, Ok(Reply::Polled(Polled::Redeemable { .. }))) => {
                    Ok(Reply::Polled(Polled::Redeemable { in_time: false }))
                }
                (Command::Approve(_) | Command::Deny { .. }, _) if was_pending => Err(NotPending),
                (_, same) => same,
            };
            assert_eq!(late, expected, "late: {state:?} {command:?}");
        }
    }
}

#[test]
fn an_approval_bears_the_family_whose_code_is_the_auth_req_id_and_says_what_was_shown() {
    let pending = BackchannelRequest::Pending(Box::new(waiting()));
    let decision = pending.decide(&approve("agent", "ana"), NOW + Duration::from_mins(1));
    let [birth] = &decision.effects.births[..] else { panic!("one family") };
    assert_eq!((birth.kind, birth.id.as_str()), (TokenFamily::KIND, "r"));
    assert_eq!(birth.live_until, END, "it is redeemed while the auth_req_id lives");
    let [record] = &decision.effects.records[..] else { panic!("one record") };
    assert_eq!(record.event, "approval.given");
    assert_eq!(record.detail["shown"], String::from(Fingerprint::of(b"shown")));
    assert_eq!(record.detail["asserted"], true);
}

#[test]
fn a_decision_leaves_one_ping_for_a_client_that_wants_one() {
    let quiet = Pending { ping: None, ..waiting() };
    for (pending, pings) in [(waiting(), 1), (quiet, 0)] {
        let pending = BackchannelRequest::Pending(Box::new(pending));
        for command in [approve("agent", "ana"), deny("ana")] {
            let dispatches = pending.decide(&command, NOW).effects.dispatches;
            assert_eq!(dispatches.len(), pings);
            for dispatch in dispatches {
                assert_eq!((dispatch.topic, dispatch.expires_at), (CIBA_PING, END));
                let ping = Ping::read(&dispatch.payload).unwrap();
                assert_eq!((&*ping.client_id, &*ping.sealed), ("agent", "sealed"));
            }
        }
    }
    assert_eq!(Ping::read(&Secret::new("{}")), None);
}

#[test]
fn only_what_waits_is_listed_and_what_was_decided_keeps_no_request() {
    for state in states() {
        let listed = matches!(state, BackchannelRequest::Pending(_));
        assert_eq!(state.listings().len(), usize::from(listed));
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<BackchannelRequest>(&text).unwrap(), state);
        assert!(listed || !text.contains("Pay"), "{text}");
    }
    let mut request = BackchannelRequest::Pending(Box::new(waiting()));
    let Command::Approve(approval) = approve("agent", "ana") else { unreachable!() };
    let in_flow = Command::Approve(Box::new(Approval { in_flow: true, ..*approval }));
    for event in request.decide(&in_flow, NOW).events {
        request.apply(&event);
    }
    assert!(request.was_approved_in_flow_of("session"));
    assert!(!request.was_approved_in_flow_of("another"));
    assert_eq!(request.forget_at(), Some(END + CLOCK_SKEW));
}

#[test]
fn the_hash_of_what_was_shown_changes_with_each_part_of_it() {
    let question = ConsentQuestion::default();
    let plain = request().shown("r", &question);
    assert_eq!(plain, request().shown("r", &question));
    let choice = Choice { slug: "acme".to_owned(), name: "Acme".to_owned() };
    let elsewhere = ConsentQuestion { organization: Some(choice), ..ConsentQuestion::default() };
    let other = |change: fn(&mut ApprovalRequest)| {
        let mut request = request();
        change(&mut request);
        request.shown("r", &question)
    };
    for different in [
        request().shown("s", &question),
        request().shown("r", &elsewhere),
        other(|one| one.binding_message = None),
        other(|one| one.wanted.client_id = "other".to_owned()),
        other(|one| one.wanted.scopes = Scopes::parse("openid email").unwrap()),
        other(|one| one.expires_at = NOW),
    ] {
        assert_ne!(different, plain);
    }
}

#[test]
fn a_denial_blocks_the_client_only_where_the_person_says_so() {
    for block in [false, true] {
        let (account, why) = ("ana".to_owned(), Denial::ConsentRefused);
        let decision = BackchannelRequest::Pending(Box::new(waiting()))
            .decide(&Command::Deny { account, why, block }, NOW);
        let commanded: Vec<(&str, &str)> =
            decision.commands.iter().map(|one| (one.entity.kind, &*one.id)).collect();
        assert_eq!(commanded, if block { vec![("approval_block", "ana:agent")] } else { vec![] });
    }
}

#[test]
fn a_request_holds_its_place_until_it_is_decided_or_vacated_after_its_end() {
    let pending = BackchannelRequest::Pending(Box::new(waiting()));
    let name = Name::new(APPROVAL_PLACES, BackchannelRequest::place_name("ana", "agent", 3));
    assert_eq!(pending.names(), [name]);
    assert_eq!(pending.decide(&Command::Vacate, NOW).outcome, Err(Refusal::StillWaits));
    for (command, now) in
        [(approve("agent", "ana"), NOW), (deny("ana"), NOW), (Command::Vacate, END)]
    {
        let decision = pending.decide(&command, now);
        assert!(decision.outcome.is_ok());
        let mut next = pending.clone();
        for event in &decision.events {
            next.apply(event);
        }
        assert_eq!(next.names(), [], "{command:?}");
        assert!(next.decide(&Command::Vacate, END).events.is_empty(), "{command:?}");
    }
    let unborn = BackchannelRequest::Unborn.decide(&Command::Vacate, END).outcome;
    assert_eq!(unborn, Err(Refusal::NotPending));
    let free = BackchannelRequest::Pending(Box::new(Pending { place: None, ..waiting() }));
    assert_eq!(free.names(), [], "where they are not limited");
}
