use super::*;
use proptest::prelude::*;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn take(throttle: &mut Throttle, command: &Command, now: Timestamp) -> Result<(), Refusal> {
    let decision = throttle.decide(command, now);
    let committed = !decision.events.is_empty() || !decision.effects.write_nothing();
    assert!(decision.outcome.is_ok() || !committed, "a refusal commits nothing");
    decision.events.iter().for_each(|event| throttle.apply(event));
    decision.outcome.map(drop)
}

fn charge(throttle: &mut Throttle, pace: Pace, now: Timestamp) -> Result<(), Refusal> {
    take(throttle, &Command::Charge { pace }, now)
}

/// A throttle that has been charged so many times, all of them at `NOW`.
fn charged(times: u32) -> Throttle {
    let mut throttle = Throttle::default();
    for _ in 0..times {
        charge(&mut throttle, Pace::unhurried(), NOW).unwrap();
    }
    throttle
}

fn refused_until(after: Duration) -> Result<(), Refusal> {
    Err(Refusal::TooMany { retry_at: NOW + after })
}

#[test]
fn ten_attempts_are_granted_at_once_and_then_one_every_thirty_seconds() {
    let (mut throttle, pace) = (Throttle::default(), Pace::default());
    for _ in 0..10 {
        assert_eq!(charge(&mut throttle, pace, NOW), Ok(()));
    }
    assert_eq!(charge(&mut throttle, pace, NOW), refused_until(pace.refill));
    let early = NOW + Duration::from_millis(29_999);
    assert_eq!(charge(&mut throttle, pace, early), refused_until(pace.refill));
    assert_eq!(charge(&mut throttle, pace, NOW + pace.refill), Ok(()));
    assert_eq!(charge(&mut throttle, pace, NOW + pace.refill), refused_until(pace.refill * 2));
}

#[test]
fn an_attempt_that_was_right_sets_everything_back() {
    let (mut throttle, pace) = (charged(99), Pace::default());
    assert_eq!(take(&mut throttle, &Command::Clear, NOW), Ok(()));
    assert_eq!(throttle, Throttle::default());
    assert_eq!(throttle.forget_at(), Some(Timestamp::NEVER));
    assert_eq!(charge(&mut throttle, pace, NOW), Ok(()));
}

#[test]
fn nothing_to_clear_commits_nothing() {
    let unlock = Command::Unlock { account: "a".to_owned(), authenticator: PASSWORD };
    for command in [Command::Clear, unlock] {
        let decision = Throttle::default().decide(&command, NOW);
        assert!(decision.events.is_empty() && decision.effects.write_nothing());
    }
}

#[test]
fn an_operator_unlocks_what_is_exhausted_and_it_is_recorded() {
    let (mut throttle, pace) = (charged(100), Pace::default());
    assert!(charge(&mut throttle, pace, NOW).is_err());
    let unlock = Command::Unlock { account: "a".to_owned(), authenticator: PASSWORD };
    let decision = throttle.decide(&unlock, NOW);
    let record = Record::new("throttle.unlocked");
    let record = record.with("account", "a").with("authenticator", "password");
    assert_eq!(decision.effects.records, [record.with("failures", 100)]);
    assert_eq!(decision.outcome, Ok(100));
    decision.events.iter().for_each(|event| throttle.apply(event));
    assert_eq!(charge(&mut throttle, pace, NOW), Ok(()));
}

#[test]
fn the_right_to_try_again_does_not_forget_failures() {
    let (mut throttle, pace) = (Throttle::default(), Pace::default());
    let mut now = NOW;
    for _ in 0..100 {
        now = now + Duration::from_hours(24);
        assert_eq!(charge(&mut throttle, pace, now), Ok(()));
    }
    let retry_at = now + MEMORY;
    now = now + Duration::from_mins(59);
    assert_eq!(charge(&mut throttle, pace, now), Err(Refusal::TooMany { retry_at }));
}

#[test]
fn an_attempt_that_was_not_made_is_given_back() {
    let (mut throttle, pace) = (Throttle::default(), Pace::default());
    while charge(&mut throttle, pace, NOW).is_ok() {}
    let decision = throttle.decide(&Command::Refund { pace }, NOW);
    decision.events.iter().for_each(|event| throttle.apply(event));
    assert_eq!(charge(&mut throttle, pace, NOW), Ok(()));
    assert!(charge(&mut throttle, pace, NOW).is_err(), "that one alone");
    assert!(Throttle::default().decide(&Command::Refund { pace }, NOW).events.is_empty());
}

#[test]
fn an_exhausted_throttle_is_cleared_or_forgotten_and_nothing_else() {
    let (mut throttle, pace) = (charged(100), Pace::default());
    for pace in [pace, Pace::unhurried()] {
        let late = NOW + Duration::from_hours(29 * 24);
        assert_eq!(charge(&mut throttle, pace, late), refused_until(MEMORY));
    }
    assert_eq!(charge(&mut throttle, pace, NOW + MEMORY), Ok(()));
}

#[test]
fn it_is_recorded_once_that_a_throttle_is_exhausted() {
    let command = Command::Charge { pace: Pace::unhurried() };
    let records = |throttle: &Throttle, now| throttle.decide(&command, now).effects.records;
    assert!(records(&charged(98), NOW).is_empty());
    let last = records(&charged(99), NOW);
    assert_eq!(last, [Record::new("throttle.exhausted").with("failures", 100)]);
    assert!(records(&charged(100), NOW + MEMORY).is_empty());
}

#[test]
fn failures_are_forgotten_after_thirty_days_without_an_attempt() {
    let (mut throttle, pace) = (charged(100), Pace::default());
    let forgotten = NOW + MEMORY;
    assert_eq!(throttle.forget_at(), Some(forgotten));
    for _ in 0..10 {
        assert_eq!(charge(&mut throttle, pace, forgotten), Ok(()));
    }
    assert_eq!(throttle, {
        let full_at = forgotten + pace.refill * 10;
        let day_full_at = Timestamp::NEVER;
        Throttle::Charged(Attempts { failures: 10, last_at: forgotten, full_at, day_full_at })
    });
}

#[test]
fn a_ceiling_of_a_day_holds_beside_the_pace() {
    let day = Some(Rate { burst: 4, refill: Duration::from_hours(6) });
    let pace = Pace { burst: 2, refill: Duration::from_secs(1), most_failures: u32::MAX, day };
    let (mut throttle, mut now, mut granted) = (Throttle::default(), NOW, 0);
    let text = serde_json::to_string(&charged(1)).unwrap();
    assert!(!text.contains("day"), "{text}");
    while now < NOW + Duration::from_hours(24) {
        granted += u32::from(charge(&mut throttle, pace, now).is_ok());
        now = now + Duration::from_mins(1);
    }
    assert_eq!(granted, 7, "four, and one more every six hours of the day");
    let Err(Refusal::TooMany { retry_at }) = charge(&mut throttle, pace, now) else {
        assert_eq!(charge(&mut throttle, pace, now + Duration::from_hours(6)), Ok(()));
        return;
    };
    assert_eq!(charge(&mut throttle, pace, retry_at), Ok(()));
    let text = serde_json::to_string(&throttle).unwrap();
    assert_eq!(serde_json::from_str::<Throttle>(&text).unwrap(), throttle);
}

#[test]
fn a_clock_that_was_set_back_gives_nothing_back() {
    let (mut throttle, pace) = (Throttle::default(), Pace::default());
    for _ in 0..10 {
        charge(&mut throttle, pace, NOW).unwrap();
    }
    assert_eq!(charge(&mut throttle, pace, NOW - pace.refill), refused_until(pace.refill));
}

#[test]
fn a_pace_beyond_all_bounds_does_not_panic() {
    let (burst, refill) = (u32::MAX, Duration::MAX);
    let day = Some(Rate { burst, refill });
    let pace = Pace { burst, refill, most_failures: u32::MAX, day };
    let mut throttle = Throttle::default();
    assert_eq!(charge(&mut throttle, pace, NOW), Ok(()));
    let none = Pace { burst: 0, ..Pace::default() };
    assert_eq!(charge(&mut Throttle::default(), none, NOW), refused_until(none.refill));
}

proptest! {
    #[test]
    fn in_no_window_are_more_attempts_granted_than_its_pace_allows(
        burst in 1..20_u32,
        refill in 1..50_u32,
        gaps in prop::collection::vec(prop_oneof![Just(0), 0..60_u64], 1..200),
    ) {
        let day = Some(Rate { burst: 3 * burst, refill: Duration::from_millis(2) });
        let refill_time = Duration::from_millis(refill.into());
        let pace = Pace { burst, refill: refill_time, most_failures: 500, day };
        let (mut throttle, mut now) = (Throttle::default(), NOW);
        let mut granted: Vec<Timestamp> = Vec::new();
        for gap in gaps {
            now = now + Duration::from_millis(gap);
            match charge(&mut throttle, pace, now) {
                Ok(()) => granted.push(now),
                Err(Refusal::TooMany { retry_at }) => {
                    prop_assert!(retry_at > now);
                    prop_assert_eq!(charge(&mut throttle.clone(), pace, retry_at), Ok(()));
                }
            }
        }
        for (first, from) in granted.iter().enumerate() {
            for (count, to) in (1..).zip(&granted[first..]) {
                let window = to.since(*from).as_millis();
                prop_assert!(count <= u128::from(burst) + window / u128::from(refill));
                prop_assert!(count <= u128::from(3 * burst) + window / 2);
            }
        }
    }
}
