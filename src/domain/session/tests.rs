//! Sessions: their time, their tokens, and what clients hear of their end.

use super::*;
use crate::domain::{
    assurance::{Level, Worth},
    logout::SessionEnded,
};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const DAY: Duration = Duration::from_hours(24);

fn person(account: &str, at: Timestamp) -> Person {
    let evidence = Evidence::of(Worth::PASSWORD.given(at));
    Person { account: account.to_owned(), epoch: 0, evidence }
}

fn session() -> Session {
    let (person, token) = (person("ana", NOW), Fingerprint::of(b"token"));
    let device = Device::default();
    Session::begun(
        Begin { person, token, idle: 7 * DAY, ceiling: 30 * DAY, device, told: None },
        NOW,
    )
}

fn ask(session: &mut Session, command: &Command, now: Timestamp) -> Result<(), Refusal> {
    let decision = session.decide(command, now);
    for event in &decision.events {
        session.apply(event);
    }
    decision.outcome
}

#[test]
fn a_session_slides_with_use_up_to_its_ceiling() {
    let mut session = session();
    assert_eq!(session.live_until(), NOW + 7 * DAY);
    for day in 1..30 {
        assert_eq!(ask(&mut session, &Command::Touch, NOW + day * DAY), Ok(()), "day {day}");
    }
    assert_eq!(session.live_until(), NOW + 30 * DAY, "regardless of activity");
    assert_eq!(ask(&mut session, &Command::Touch, NOW + 30 * DAY), Err(Refusal::Over));
    assert!(session.opened_by(Fingerprint::of(b"token"), NOW + 30 * DAY).is_none());
}

#[test]
fn a_session_unused_for_its_idle_time_is_over() {
    let mut session = session();
    assert!(session.opened_by(Fingerprint::of(b"token"), NOW + 7 * DAY - DAY / 2).is_some());
    assert_eq!(ask(&mut session, &Command::Touch, NOW + 7 * DAY), Err(Refusal::Over));
}

#[test]
fn use_is_written_down_once_in_a_while() {
    let session = session();
    let soon = session.decide(&Command::Touch, NOW + Duration::from_mins(4));
    assert!(soon.events.is_empty() && soon.outcome.is_ok());
    let later = session.decide(&Command::Touch, NOW + Duration::from_mins(5));
    assert_eq!(later.events, [Event::Seen { at: NOW + Duration::from_mins(5) }]);
}

#[test]
fn only_its_token_opens_a_session_and_a_renewal_changes_it() {
    let mut session = session();
    assert!(session.opened_by(Fingerprint::of(b"other"), NOW).is_none());
    let (later, token) = (NOW + DAY, Fingerprint::of(b"new"));
    let renew = Command::Renew { person: person("ana", later), token, former: None };
    assert_eq!(ask(&mut session, &renew, later), Ok(()));
    assert!(session.opened_by(Fingerprint::of(b"token"), later).is_none());
    let open = session.opened_by(token, later).unwrap();
    assert_eq!(open.person_at(later).evidence.last(), Some(later));
    let foreign = Command::Renew { person: person("eve", later), token, former: None };
    assert_eq!(ask(&mut session, &foreign, later), Err(Refusal::OtherAccount));
}

#[test]
fn only_its_account_sees_a_session_and_only_while_it_lasts() {
    let mut session = session();
    assert!(session.owned_by("ana", NOW).is_some_and(|open| open.created_at() == NOW));
    assert!(session.owned_by("eve", NOW).is_none());
    assert!(session.owned_by("ana", NOW + 7 * DAY).is_none(), "it has expired");
    assert_eq!(ask(&mut session, &Command::End, NOW), Ok(()));
    assert!(session.owned_by("ana", NOW).is_none(), "it was ended");
}

#[test]
fn an_ended_session_keeps_nothing_of_where_it_began_and_the_newest_is_listed_first() {
    let device =
        Device { user_agent: Some("curl/8".to_owned()), network: Some("::/48".to_owned()) };
    let begun = |now| {
        let (person, token) = (person("ana", now), Fingerprint::of(b"token"));
        let (idle, ceiling, device) = (DAY, DAY, device.clone());
        Session::begun(Begin { person, token, idle, ceiling, device, told: None }, now)
    };
    let (mut older, newer) = (begun(NOW), begun(NOW + DAY));
    assert!(newer.listings()[0].rank < older.listings()[0].rank);
    assert!(serde_json::to_string(&older).unwrap().contains("curl/8"));
    assert_eq!(ask(&mut older, &Command::End, NOW), Ok(()));
    assert!(!serde_json::to_string(&older).unwrap().contains("curl/8"));
}

#[test]
fn an_ended_session_confers_nothing_and_stays_ended() {
    let mut session = session();
    assert_eq!(ask(&mut session, &Command::End, NOW), Ok(()));
    assert_eq!(session.live_until(), Timestamp::NEVER);
    assert_eq!(ask(&mut session, &Command::Touch, NOW), Err(Refusal::Over));
    assert_eq!(ask(&mut session, &Command::End, NOW), Ok(()));
    assert!(session.opened_by(Fingerprint::of(b"token"), NOW).is_none());
}

#[test]
fn two_factors_count_as_one_after_an_hour_without_use() {
    let mut person = person("ana", NOW);
    person.evidence = person.evidence.and(Worth::TOTP.given(NOW));
    let token = Fingerprint::of(b"token");
    let device = Device::default();
    let begin = Begin { person, token, idle: 7 * DAY, ceiling: 30 * DAY, device, told: None };
    let mut session = Session::begun(begin, NOW);
    let level = |session: &Session, now| {
        session.opened_by(token, now).unwrap().person_at(now).evidence.level(now)
    };
    let hour = Duration::from_hours(1);
    let used = NOW + hour / 2;
    assert_eq!(ask(&mut session, &Command::Touch, used), Ok(()));
    assert_eq!(level(&session, used + hour / 2), Some(Level::Aal2));
    assert_eq!(level(&session, used + hour), Some(Level::Aal1));
    assert_eq!(ask(&mut session, &Command::Touch, used + hour), Ok(()));
    assert_eq!(level(&session, used + hour), Some(Level::Aal1), "use does not bring it back");
}

fn sign_into(client_id: &str) -> Command {
    Command::SignInto { session: "sid".to_owned(), client_id: client_id.to_owned() }
}

#[test]
fn every_client_that_is_told_hears_once_that_the_session_has_ended() {
    let mut session = session();
    for client in ["web", "app", "web"] {
        assert_eq!(ask(&mut session, &sign_into(client), NOW), Ok(()));
    }
    let known = session.owned_by("ana", NOW).unwrap();
    assert!(known.tells("web") && known.tells("app") && !known.tells("other"));
    let again = session.decide(&sign_into("web"), NOW);
    assert!(again.events.is_empty() && again.effects.dispatches.is_empty());
    let ended = session.decide(&Command::End, NOW + DAY);
    let heard: Vec<SessionEnded> = ended
        .effects
        .dispatches
        .iter()
        .map(|dispatch| {
            assert_eq!(dispatch.expires_at, NOW + DAY + SessionEnded::WORTH_TELLING);
            SessionEnded::read(&dispatch.payload).unwrap()
        })
        .collect();
    let to = |client: &str| SessionEnded {
        client_id: client.to_owned(),
        account: "ana".to_owned(),
        session: "sid".to_owned(),
    };
    assert_eq!(heard, [to("web"), to("app")]);
    assert_eq!(ask(&mut session, &Command::End, NOW), Ok(()));
    let twice = session.decide(&Command::End, NOW);
    assert!(twice.effects.dispatches.is_empty(), "it has ended already");
}

#[test]
fn a_session_that_is_renewed_or_used_tells_the_same_clients_and_one_that_is_over_none_more() {
    let mut session = session();
    assert_eq!(ask(&mut session, &sign_into("web"), NOW), Ok(()));
    let renew =
        Command::Renew { person: person("ana", NOW), token: Fingerprint::of(b"new"), former: None };
    assert_eq!(ask(&mut session, &renew, NOW + DAY), Ok(()));
    assert!(session.owned_by("ana", NOW + DAY).unwrap().tells("web"));
    assert_eq!(ask(&mut session, &sign_into("app"), NOW + 40 * DAY), Err(Refusal::Over));
    assert_eq!(ask(&mut session, &Command::End, NOW + DAY), Ok(()));
    assert_eq!(ask(&mut session, &sign_into("app"), NOW + DAY), Err(Refusal::Over));
}

#[test]
fn a_session_keeps_only_so_many_clients() {
    let mut session = session();
    for number in 0..=MOST_TOLD {
        assert_eq!(ask(&mut session, &sign_into(&format!("c{number}")), NOW), Ok(()));
    }
    let known = session.owned_by("ana", NOW).unwrap();
    assert!(!known.tells("c0") && known.tells("c1") && known.tells(&format!("c{MOST_TOLD}")));
}
