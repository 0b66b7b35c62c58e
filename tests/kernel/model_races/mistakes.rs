//! Mistakes of the kernel, the store and the rules that are planted one at a time: the checker must find each of them
//! to break the property that is named.

use super::{
    Cast, INSTANTS, LOSSES,
    checker::explore,
    rules::{Bug, Rules},
    scene::Scene,
    scenes::{
        approval, backchannel, device, device_flows, domain, flow,
        grants::{self, RedeemedWrongly},
        throttle,
    },
    world::Bounds,
};

/// A mistake: what it is called, in which scene with which requests, and what it breaks.
struct Mistake {
    name: &'static str,
    scene: Scene,
    cast: Cast,
    bug: Option<Bug>,
    property: &'static str,
}

/// A mistake of the rules, which is in the scene.
fn rule(name: &'static str, scene: Scene, cast: Cast, property: &'static str) -> Mistake {
    Mistake { name, scene, cast, bug: None, property }
}

/// A mistake of the kernel or the store.
fn kernel(bug: Bug, scene: Scene, cast: Cast, property: &'static str) -> Mistake {
    let name = match bug {
        Bug::LastWriterWins => "the last writer wins",
        Bug::RequirementsIgnored => "requirements are ignored",
        Bug::NamesNotUnique => "a name has two holders",
        Bug::TornCommit => "a commit is torn",
        Bug::AnsweredBeforeCommit => "callers are answered before the commit",
    };
    Mistake { name, scene, cast, bug: Some(bug), property }
}

/// Demands that each is found, and tells how.
fn find(mistakes: impl IntoIterator<Item = Mistake>) -> String {
    let found = mistakes.into_iter().map(|mistake| {
        let Mistake { name, scene, cast, bug, property } = mistake;
        let bounds = Bounds { losses: LOSSES, instants: INSTANTS };
        let explored = explore(&mut Rules::new(scene, bug), cast, bounds, Some(property));
        let Some(found) = explored.violation else {
            let worlds = explored.worlds;
            panic!("“{name}” was not found to break “{property}” in {worlds} worlds")
        };
        format!("{name} breaks: {}; after{}\n", found.property, found.trace)
    });
    found.collect()
}

#[test]
fn mistakes_about_throttles_are_found() {
    use throttle::{NOT_WRITTEN, TOO_MANY, Wrong, scene};
    let found = find([
        kernel(Bug::LastWriterWins, scene(None), &[0, 1, 2], TOO_MANY),
        kernel(Bug::AnsweredBeforeCommit, scene(None), &[0, 1, 2], NOT_WRITTEN),
        rule("nothing is charged", scene(Some(Wrong::NotCharged)), &[0, 1, 2], NOT_WRITTEN),
        rule("refunds are doubled", scene(Some(Wrong::RefundedTwice)), &[0, 1, 2, 4], TOO_MANY),
    ]);
    println!("{found}");
}

#[test]
fn mistakes_about_devices_are_found() {
    use device::{Wrong, scene};
    let redeemed = |wrongly| scene(Some(Wrong::Redeemed(wrongly)));
    let replayed = redeemed(RedeemedWrongly::ReplayOnlyRefused);
    let accepted = redeemed(RedeemedWrongly::SpentCodeAccepted);
    let late = redeemed(RedeemedWrongly::ExpiryIgnored);
    let again = scene(Some(Wrong::DecidedAgain));
    let found = find([
        kernel(Bug::LastWriterWins, scene(None), &[0, 2, 3], grants::TWO_DECISIONS),
        kernel(Bug::TornCommit, scene(None), &[0, 2, 3], grants::FAMILY_LOST),
        kernel(Bug::RequirementsIgnored, scene(None), &[0, 2, 4], grants::WITHOUT_SESSION),
        rule("what was decided is decided again", again, &[0, 2, 3], grants::TWO_DECISIONS),
        rule("a replay ends nothing", replayed, &[0, 1, 2], grants::LIVES_AFTER_REPLAY),
        rule("a spent code is accepted", accepted, &[0, 1, 2], grants::ISSUED_TWICE),
        rule("the expiry is ignored", late, &[0, 1, 2], grants::LATE),
    ]);
    println!("{found}");
}

#[test]
fn mistakes_about_two_flows_are_found() {
    use device_flows::{SAID_AND_NOT_DONE, Wrong, scene};
    let (forgotten, session) = (Wrong::DeviceForgotten, Wrong::SessionNotRequired);
    let (forgotten, session) = (scene(Some(forgotten)), scene(Some(session)));
    let found = find([
        kernel(Bug::LastWriterWins, scene(None), &[0, 2, 3], grants::TWO_DECISIONS),
        kernel(Bug::TornCommit, scene(None), &[0, 2, 3], SAID_AND_NOT_DONE),
        rule("the device is not commanded", forgotten, &[0, 2, 3], SAID_AND_NOT_DONE),
        rule("the session is not required", session, &[0, 2, 3], grants::WITHOUT_SESSION),
    ]);
    println!("{found}");
}

#[test]
fn mistakes_about_back_channels_are_found() {
    use backchannel::{PINGED_TWICE, scene};
    let replayed = scene(Some(RedeemedWrongly::ReplayOnlyRefused));
    let found = find([
        kernel(Bug::LastWriterWins, scene(None), &[0, 2, 3], PINGED_TWICE),
        kernel(Bug::RequirementsIgnored, scene(None), &[0, 2, 4], grants::WITHOUT_SESSION),
        kernel(Bug::AnsweredBeforeCommit, scene(None), &[0, 2, 3], grants::DECISION_LOST),
        rule("a replay ends nothing", replayed, &[0, 1, 2], grants::LIVES_AFTER_REPLAY),
    ]);
    println!("{found}");
}

#[test]
fn mistakes_about_approvals_are_found() {
    use approval::{BEYOND_ROLE, BLOCK_LOST, HALF, TWO_IN_ONE_PLACE, Wrong, scene};
    let again = scene(Some(Wrong::DecidedAgain));
    let unasked = scene(Some(Wrong::RoleNotRequired));
    let found = find([
        kernel(Bug::LastWriterWins, scene(None), &[0, 1, 3], grants::TWO_DECISIONS),
        kernel(Bug::TornCommit, scene(None), &[0, 2, 3], BLOCK_LOST),
        kernel(Bug::TornCommit, scene(None), &[0, 2, 3], HALF),
        kernel(Bug::NamesNotUnique, scene(None), &[0, 2, 4], TWO_IN_ONE_PLACE),
        kernel(Bug::RequirementsIgnored, scene(None), &[0, 2, 3], BEYOND_ROLE),
        rule("what was decided is decided again", again, &[0, 2, 3], grants::TWO_DECISIONS),
        rule("the role is not required", unasked, &[0, 2, 3], BEYOND_ROLE),
    ]);
    println!("{found}");
}

#[test]
fn mistakes_about_domains_are_found() {
    use domain::{
        CHECKED_TWICE, HELD_TWICE, LOST_EARLY, NOT_REMOVED, WHILE_SUSPENDED, Wrong, scene,
    };
    let early = scene(Some(Wrong::LostAtOnce));
    let due = scene(Some(Wrong::AlwaysDue));
    let unasked = scene(Some(Wrong::OrganizationNotRequired));
    let found = find([
        kernel(Bug::NamesNotUnique, scene(None), &[0, 1, 3], HELD_TWICE),
        kernel(Bug::LastWriterWins, scene(None), &[0, 3, 5], NOT_REMOVED),
        rule("a domain is lost at once", early, &[0, 1, 3], LOST_EARLY),
        rule("a check is always due", due, &[0, 1, 3], CHECKED_TWICE),
        rule("the organization is not required", unasked, &[2, 4, 5], WHILE_SUSPENDED),
    ]);
    println!("{found}");
}

#[test]
fn mistakes_about_flows_are_found() {
    use flow::{ENDED_TWICE, SIGN_IN_LOST, SUPERSEDED, Wrong, scene};
    let again = scene(Some(Wrong::OverGoneOnWith));
    let unasked = scene(Some(Wrong::AccountNotRequired));
    let late = scene(Some(Wrong::ExpiryIgnored));
    let found = find([
        kernel(Bug::LastWriterWins, scene(None), &[0, 1, 2], ENDED_TWICE),
        kernel(Bug::TornCommit, scene(None), &[0, 1, 2], SIGN_IN_LOST),
        rule("a flow goes on after its end", again, &[0, 1, 2], ENDED_TWICE),
        rule("the account is not required", unasked, &[0, 1, 3], SUPERSEDED),
        rule("the expiry is ignored", late, &[0, 1, 2], grants::LATE),
    ]);
    println!("{found}");
}
