//! What is being waited for, step by step.

use super::*;
use crate::http::transport::{
    house::{House, Plan, Stage},
    pulse::{Advice, Awaiting, Pulse, UnderWay, Version::*},
};

fn pulse() -> (Arc<House>, Arc<Pulse>) {
    let house = Arc::new(House::build(Plan {
        router: Router::new(),
        tls: None,
        limits: ConnectionLimits::default(),
        dice: Arc::new(SystemDice),
        places: 1,
    }));
    (house.clone(), Arc::new(Pulse::new(house)))
}

#[test]
fn the_first_byte_of_a_fresh_connection_does_not_begin_its_time_anew() {
    let (_, pulse) = pulse();
    pulse.hear();
    assert_eq!((pulse.changes(), pulse.awaiting(Http1)), (0, Awaiting::Head));
}

#[test]
fn a_request_goes_round_and_each_step_counts() {
    let (house, pulse) = pulse();
    let mut changes = 0;
    let mut stands = |awaiting: Awaiting, at_rest: bool| {
        assert_eq!((pulse.awaiting(Http1), pulse.is_at_rest()), (awaiting, at_rest));
        assert!(std::mem::replace(&mut changes, pulse.changes()) < pulse.changes());
    };
    for _ in 0..2 {
        pulse.hear();
        let request = UnderWay::begin(&pulse);
        stands(Awaiting::Answer, false);
        assert_eq!(house.tally.report().requests_under_way, 1);
        drop(request);
        stands(Awaiting::Request, false);
        pulse.flushed();
        stands(Awaiting::Request, true);
        pulse.hear();
        stands(Awaiting::Head, true);
    }
    assert_eq!(house.tally.report().requests_under_way, 0);
}

#[test]
fn what_comes_before_the_answer_is_flushed_begins_no_head() {
    let (_, pulse) = pulse();
    let request = UnderWay::begin(&pulse);
    pulse.hear();
    pulse.flushed();
    drop(request);
    pulse.hear();
    pulse.flushed();
    assert_eq!(pulse.awaiting(Http1), Awaiting::Request);
}

#[test]
fn bytes_of_http2_are_not_taken_for_a_head() {
    let (_, pulse) = pulse();
    drop(UnderWay::begin(&pulse));
    pulse.hear();
    assert_eq!(pulse.awaiting(Http2), Awaiting::Request);
}

/// What has happened so far.
type Life<'a> = &'a dyn Fn(&Arc<Pulse>);

#[test]
fn a_drain_advises_by_what_a_connection_has_done() {
    let silent = |_: &Arc<Pulse>| {};
    let heard = |pulse: &Arc<Pulse>| pulse.hear();
    let used = |pulse: &Arc<Pulse>| {
        drop(UnderWay::begin(pulse));
        pulse.flushed();
    };
    let half = |pulse: &Arc<Pulse>| {
        used(pulse);
        pulse.hear();
    };
    let lives: [(Life, _); 4] = [
        (&silent, [Advice::Stay, Advice::Finish, Advice::Stay, Advice::Drop]),
        (&heard, [Advice::Stay, Advice::Finish, Advice::Stay, Advice::Finish]),
        (&used, [Advice::Stay, Advice::Finish, Advice::Finish, Advice::Finish]),
        (&half, [Advice::Stay, Advice::Stay, Advice::Finish, Advice::Finish]),
    ];
    for (life, [duck1, emptying1, duck2, emptying2]) in lives {
        let (_, pulse) = pulse();
        life(&pulse);
        for version in [Http1, Http2] {
            assert_eq!(pulse.advice(Stage::Open, version), Advice::Stay);
        }
        for stage in [Stage::LameDuck, Stage::Shut] {
            assert_eq!(pulse.advice(stage, Http1), duck1);
            assert_eq!(pulse.advice(stage, Http2), duck2);
        }
        assert_eq!(pulse.advice(Stage::Emptying, Http1), emptying1);
        assert_eq!(pulse.advice(Stage::Emptying, Http2), emptying2);
    }
}
