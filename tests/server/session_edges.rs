//! Sessions at the edges of their time, to the millisecond, and while the clock jumps (ASVS 7.3).

use crate::{me::get_in, support::TestServer};
use std::time::Duration;

const ANA: &str = "ana@acme.test";
const MILLISECOND: Duration = Duration::from_millis(1);
const DAY: Duration = Duration::from_hours(24);
const IDLE: Duration = Duration::from_hours(7 * 24);

/// Turns the time of day back.
fn turn_back(server: &TestServer, by: Duration) {
    server.clock.shift(-i64::try_from(by.as_millis()).unwrap());
}

/// Tells whether a session is open on both nodes, which must agree.
async fn is_open(nodes: [&TestServer; 2], session: &str) -> bool {
    let one = get_in(nodes[0], session, "/me").await.status.as_u16();
    let other = get_in(nodes[1], session, "/me").await.status.as_u16();
    assert_eq!(one, other, "the nodes agree");
    assert!([200, 401].contains(&one), "{one}");
    one == 200
}

#[tokio::test]
async fn a_session_ends_at_the_millisecond_of_its_idle_time_and_of_its_ceiling() {
    let one = TestServer::open().await;
    let other = one.beside(crate::support::TestOptions::default()).await;
    let nodes = [&one, &other];
    let (used, unused) = (one.sign_in(ANA).await, one.sign_in(ANA).await);
    one.clock.advance(IDLE.saturating_sub(MILLISECOND));
    assert!(is_open(nodes, &used).await, "one millisecond before it has been unused for too long");
    one.clock.advance(MILLISECOND);
    assert!(!is_open(nodes, &unused).await, "seven days without use");
    assert!(is_open(nodes, &used).await, "use has moved its end on");
    // From use to use it comes as far as its ceiling, and no further. The use of this millisecond was not written.
    turn_back(&one, MILLISECOND);
    for number in 2..=4 {
        one.clock.advance(IDLE.saturating_sub(MILLISECOND));
        assert!(is_open(nodes, &used).await, "use {number}");
    }
    one.clock.advance(2 * DAY + 3 * MILLISECOND);
    assert!(is_open(nodes, &used).await, "one millisecond before thirty days");
    one.clock.advance(MILLISECOND);
    assert!(!is_open(nodes, &used).await, "thirty days whatever happens");
    let code = one.authorize_in(&used, "web", &[("prompt", "none")]).await;
    assert!(code.text().contains("login_required"), "{code:?}");
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn a_clock_that_jumps_lengthens_no_session_beyond_its_ceiling_and_ends_none_for_good() {
    let one = TestServer::open().await;
    let other = one.beside(crate::support::TestOptions::default()).await;
    let nodes = [&one, &other];
    let session = one.sign_in(ANA).await;
    // Backwards, before the session began.
    turn_back(&one, DAY);
    assert!(is_open(nodes, &session).await);
    one.clock.advance(DAY);
    // Forwards beyond the window: it is over for as long as the clock says so, and nothing is written.
    one.clock.advance(IDLE);
    assert!(!is_open(nodes, &session).await);
    turn_back(&one, IDLE);
    assert!(is_open(nodes, &session).await);
    // Forwards within the window, with use, and back: its end has moved on with the use, and the ceiling has not.
    for _ in 0..5 {
        one.clock.advance(6 * DAY);
        assert!(is_open(nodes, &session).await);
        turn_back(&one, DAY);
        assert!(is_open(nodes, &session).await);
    }
    // By now it is the 25th day.
    one.clock.advance((5 * DAY).saturating_sub(MILLISECOND));
    assert!(is_open(nodes, &session).await, "one millisecond before thirty days");
    one.clock.advance(MILLISECOND);
    assert!(!is_open(nodes, &session).await, "thirty days whatever the clock has done");
    one.stop().await;
    other.stop().await;
}
