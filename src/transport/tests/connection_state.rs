//! What is being waited for, step by step.

use super::*;
use crate::transport::{
    connection_state::{Advice, AwaitedEvent, ConnectionState, PendingRequest, Version::*},
    shared::{Plan, ServerState, Stage},
};

fn connection_state() -> (Arc<ServerState>, Arc<ConnectionState>) {
    let shared = Arc::new(ServerState::build(Plan {
        limits: ConnectionLimits::default(),
        addresses: Arc::default(),
        dice: Arc::new(SystemDice),
    }));
    (shared.clone(), Arc::new(ConnectionState::new(shared)))
}

#[test]
fn the_first_byte_of_a_fresh_connection_does_not_begin_its_time_anew() {
    let (_, connection_state) = connection_state();
    connection_state.hear();
    assert_eq!(
        (connection_state.changes(), connection_state.awaiting(Http1)),
        (0, AwaitedEvent::Head)
    );
}

#[test]
fn a_request_goes_round_and_each_step_counts() {
    let (shared, connection_state) = connection_state();
    let mut changes = 0;
    let mut stands = |awaiting: AwaitedEvent, at_rest: bool| {
        assert_eq!(
            (connection_state.awaiting(Http1), connection_state.is_at_rest()),
            (awaiting, at_rest)
        );
        assert!(
            std::mem::replace(&mut changes, connection_state.changes())
                < connection_state.changes()
        );
    };
    for _ in 0..2 {
        connection_state.hear();
        let request = PendingRequest::begin(&connection_state, Http1, 100);
        stands(AwaitedEvent::Answer, false);
        assert_eq!(shared.tally.report(0).requests_under_way, 1);
        drop(request);
        stands(AwaitedEvent::Request, false);
        connection_state.flushed();
        stands(AwaitedEvent::Request, true);
        connection_state.hear();
        stands(AwaitedEvent::Head, true);
    }
    assert_eq!(shared.tally.report(0).requests_under_way, 0);
}

#[test]
fn what_comes_before_the_answer_is_flushed_begins_no_head() {
    let (_, connection_state) = connection_state();
    let request = PendingRequest::begin(&connection_state, Http1, 100);
    connection_state.hear();
    connection_state.flushed();
    drop(request);
    connection_state.hear();
    connection_state.flushed();
    assert_eq!(connection_state.awaiting(Http1), AwaitedEvent::Request);
}

#[test]
fn bytes_of_http2_are_not_taken_for_a_head() {
    let (_, connection_state) = connection_state();
    drop(PendingRequest::begin(&connection_state, Http1, 100));
    connection_state.hear();
    assert_eq!(connection_state.awaiting(Http2), AwaitedEvent::Request);
}

#[test]
fn a_request_is_charged_until_its_answer_is_flushed() {
    let (shared, connection_state) = connection_state();
    let mut request = PendingRequest::begin(&connection_state, Http1, 1_000);
    let begun = shared.owed();
    assert!(begun >= 1_000, "{begun}");
    request.answer(500);
    assert_eq!(shared.owed(), begun, "the answer takes the place of the request");
    request.answer(20_000);
    assert_eq!(shared.owed(), begun + 19_000);
    connection_state.flushed();
    assert_eq!(connection_state.owes(), begun + 19_000, "it has not been handed over");
    drop(request);
    assert_eq!(shared.owed(), begun + 19_000);
    connection_state.flushed();
    assert_eq!((connection_state.owes(), shared.owed()), (0, 0));
    let request = PendingRequest::begin(&connection_state, Http2, 1).go_with_body();
    connection_state.flushed();
    drop(request);
    assert_eq!((connection_state.owes(), shared.owed()), (0, 0), "a body is flushed before");
    drop(PendingRequest::begin(&connection_state, Http2, 1));
    assert!(shared.owed() > 0, "a head is not");
    drop(connection_state);
    assert_eq!(shared.owed(), 0, "a connection that has ended owes nothing");
}

#[test]
fn a_connection_makes_room_only_when_it_is_idle() {
    for (version, advice) in [(Http1, Advice::Drop), (Http2, Advice::MakeRoom)] {
        let (_, connection_state) = connection_state();
        let request = PendingRequest::begin(&connection_state, version, 1);
        connection_state.close_if_idle();
        assert!(!connection_state.is_idle());
        assert_eq!(connection_state.advice(Stage::Open, version), Advice::Stay);
        assert!(request.must_close(), "and its client is told");
        drop(request);
        assert_eq!(connection_state.advice(Stage::Open, version), Advice::Stay);
        connection_state.flushed();
        assert_eq!(connection_state.advice(Stage::Open, version), advice);
        connection_state.cut_off();
        assert_eq!(connection_state.advice(Stage::Open, version), Advice::Drop);
    }
}

/// What has happened so far.
type Life<'a> = &'a dyn Fn(&Arc<ConnectionState>);

#[test]
fn a_drain_advises_by_what_a_connection_has_done() {
    let silent = |_: &Arc<ConnectionState>| {};
    let heard = |connection_state: &Arc<ConnectionState>| connection_state.hear();
    let used = |connection_state: &Arc<ConnectionState>| {
        drop(PendingRequest::begin(connection_state, Http1, 100));
        connection_state.flushed();
    };
    let half = |connection_state: &Arc<ConnectionState>| {
        used(connection_state);
        connection_state.hear();
    };
    let lives: [(Life, _); 4] = [
        (&silent, [Advice::Stay, Advice::Finish, Advice::Stay, Advice::Drop]),
        (&heard, [Advice::Stay, Advice::Finish, Advice::Stay, Advice::Finish]),
        (&used, [Advice::Stay, Advice::Finish, Advice::Finish, Advice::Finish]),
        (&half, [Advice::Stay, Advice::Stay, Advice::Finish, Advice::Finish]),
    ];
    for (life, [duck1, emptying1, duck2, emptying2]) in lives {
        let (_, connection_state) = connection_state();
        life(&connection_state);
        for version in [Http1, Http2] {
            assert_eq!(connection_state.advice(Stage::Open, version), Advice::Stay);
        }
        for stage in [Stage::LameDuck, Stage::Shut] {
            assert_eq!(connection_state.advice(stage, Http1), duck1);
            assert_eq!(connection_state.advice(stage, Http2), duck2);
        }
        assert_eq!(connection_state.advice(Stage::Emptying, Http1), emptying1);
        assert_eq!(connection_state.advice(Stage::Emptying, Http2), emptying2);
    }
}
