//! Verified domains are checked again and again, by one of several nodes, and lost when their record is gone
//! (adr/0131).

use crate::{
    domains::{ACME, CHALLENGE, OTHER, Scene, add, events, options, scene, verify},
    person::text,
    shared::eventually,
    support::TestOptions,
    zone_server::Zone,
};
use hickory_resolver::proto::op::ResponseCode;
use serde_json::json;
use std::time::Duration;

const DAY: Duration = Duration::from_hours(24);

#[tokio::test]
async fn a_record_that_is_gone_for_a_week_loses_the_domain_and_one_that_comes_back_does_not() {
    let scene = scene().await;
    let (rita, otto) = (scene.rita().await, scene.otto().await);
    let acme = scene.prove(&rita, ACME, "acme.test").await;
    let kept = scene.prove(&rita, ACME, "kept.test").await;
    let asked = || scene.zone.asked_for(CHALLENGE);
    // Nothing is asked before its time.
    let before = asked();
    scene.server.clock.advance(Duration::from_hours(19));
    scene.server.quiet().await;
    assert_eq!(asked(), before);

    let challenge_of_kept = "_porteiro-challenge.kept.test";
    let pass = async |time: Duration| {
        let counts = [CHALLENGE, challenge_of_kept].map(|name| scene.zone.asked_for(name));
        scene.server.clock.advance(time);
        eventually("both are checked", async || {
            let now = [CHALLENGE, challenge_of_kept].map(|name| scene.zone.asked_for(name));
            now[0] > counts[0] && now[1] > counts[1]
        })
        .await;
        scene.server.quiet().await;
    };
    scene.zone.take_away(CHALLENGE);
    scene.zone.take_away(challenge_of_kept);
    pass(9 * Duration::from_hours(1)).await;
    let rita = scene.rita().await;
    let shown = rita.get(&format!("{ACME}/{}", text(&acme["id"]))).await.json();
    assert_eq!(shown["state"], "verified");
    assert!(shown["missing_since"].is_string(), "{shown}");
    assert_eq!(scene.vouches("acme.test").await.as_deref(), Some("acme"));

    pass(6 * DAY).await;
    assert_eq!(scene.vouches("acme.test").await.as_deref(), Some("acme"), "not yet");
    scene.publish(&kept);
    pass(DAY / 2).await;
    // The week of one is over; that of the other begins anew when its record is gone again.
    scene.zone.take_away(challenge_of_kept);
    pass(2 * DAY).await;
    let rita = scene.rita().await;
    let shown = rita.get(&format!("{ACME}/{}", text(&acme["id"]))).await.json();
    assert_eq!(
        (&shown["state"], &shown["lost_because"]),
        (&json!("lost"), &json!("record_missing"))
    );
    assert_eq!(scene.vouches("acme.test").await, None);
    assert_eq!(scene.vouches("kept.test").await.as_deref(), Some("acme"));
    let said = events(&rita, "acme").await;
    let count = |event: &str| said.iter().filter(|one| *one == event).count();
    assert_eq!((count("domain.lost"), count("domain.record_missing")), (1, 3), "{said:?}");
    assert_eq!(count("domain.record_found"), 1, "{said:?}");

    // It is free for others, and comes back where none has taken it.
    scene.publish(&acme);
    assert_eq!(verify(&rita, ACME, &acme).await.status, 200);
    let theirs = add(&scene.otto().await, OTHER, "acme.test").await;
    scene.publish(&theirs);
    verify(&scene.otto().await, OTHER, &theirs).await.problem(409, "domain_held");
    drop(otto);
}

#[tokio::test]
async fn silence_of_dns_keeps_a_domain_for_a_month_and_not_for_ever() {
    let scene = scene().await;
    let rita = scene.rita().await;
    scene.prove(&rita, ACME, "acme.test").await;
    scene.zone.put(CHALLENGE, Zone::Refusing(ResponseCode::ServFail));
    let pass = async |time: Duration| {
        let before = scene.zone.asked_for(CHALLENGE);
        scene.server.clock.advance(time);
        eventually("it is checked", async || scene.zone.asked_for(CHALLENGE) > before).await;
        scene.server.quiet().await;
    };
    pass(2 * DAY).await;
    pass(29 * DAY).await;
    assert_eq!(scene.vouches("acme.test").await.as_deref(), Some("acme"));
    pass(DAY).await;
    assert_eq!(scene.vouches("acme.test").await, None);
    let lost = scene.rita().await.get(ACME).await.json();
    assert_eq!(lost["items"][0]["lost_because"], "dns_unanswered");
}

#[tokio::test]
async fn of_several_nodes_one_asks_and_a_node_that_starts_later_goes_on() {
    let scene = scene().await;
    let rita = scene.rita().await;
    scene.prove(&rita, ACME, "acme.test").await;
    let second = scene.server.beside(options(&scene.zone)).await;
    let third = scene.server.beside(options(&scene.zone)).await;
    let asked = || scene.zone.asked_for(CHALLENGE);
    for _ in 0..5 {
        let before = asked();
        scene.server.clock.advance(2 * DAY);
        eventually("it is checked", async || asked() > before).await;
        for node in [&scene.server, &second, &third] {
            node.quiet().await;
        }
        assert_eq!(asked(), before + 1, "by one of three");
    }
    // What was due while no node ran is checked by the next.
    let before = asked();
    let Scene { server, zone } = scene;
    for node in [second, third] {
        node.stop().await;
    }
    let clock = server.clock.clone();
    let last = server.beside(TestOptions { domains_every: DAY, ..options(&zone) }).await;
    server.stop().await;
    clock.advance(2 * DAY);
    let next = last.beside(options(&zone)).await;
    eventually("it is checked", async || zone.asked_for(CHALLENGE) > before).await;
    next.stop().await;
    last.stop().await;
}
