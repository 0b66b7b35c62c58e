use super::*;
use crate::domain::organization::{Organization, Role};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const DAY: Duration = Duration::from_hours(24);

fn home(slug: &str) -> organization::Known {
    let draft = organization::Draft {
        slug: slug.to_owned(),
        roles: Some(vec![Role { name: "clerk".to_owned(), ..Role::default() }]),
        ..organization::Draft::default()
    };
    let mut organization = Organization::default();
    let decision = organization.decide(&organization::Command::Provision(draft), NOW);
    decision.events.iter().for_each(|event| organization.apply(event));
    organization.known().unwrap().clone()
}

fn act(
    claim: &mut DomainClaim,
    command: &Command,
    now: Timestamp,
) -> Result<Vec<&'static str>, Refusal> {
    let decision = claim.decide(command, now);
    decision.events.iter().for_each(|event| claim.apply(event));
    let events = decision.effects.records.iter().map(|record| record.event).collect();
    decision.outcome.map(|()| events)
}

fn order(
    claim: &mut DomainClaim,
    order: Order,
    now: Timestamp,
) -> Result<Vec<&'static str>, Refusal> {
    act(claim, &Command::order(order, &home("acme")), now)
}

fn check(claim: &mut DomainClaim, finding: Finding, now: Timestamp) -> Vec<&'static str> {
    act(claim, &Command::Checked(finding), now).unwrap()
}

fn add(id: &str) -> Order {
    let domain = DomainName::parse("acme.test").unwrap();
    Order::Add(Add { id: id.to_owned(), domain, place: 3, token: format!("token-of-{id}") })
}

fn pending() -> DomainClaim {
    let mut claim = DomainClaim::default();
    assert_eq!(order(&mut claim, add("d1"), NOW), Ok(vec!["domain.added"]));
    claim
}

fn verified() -> DomainClaim {
    let mut claim = pending();
    let proved = order(&mut claim, Order::Verify(Finding::Found), NOW);
    assert_eq!(proved, Ok(vec!["domain.verified"]));
    claim
}

fn state(claim: &DomainClaim) -> &'static str {
    claim.known().unwrap().state()
}

fn holds(claim: &DomainClaim) -> bool {
    claim.names().contains(&Name::new(VERIFIED_DOMAINS, "acme.test"))
}

#[test]
fn a_domain_is_pending_until_its_record_is_found_and_vouches_for_nothing() {
    let mut claim = pending();
    assert_eq!((state(&claim), holds(&claim)), ("pending", false));
    assert_eq!(claim.live_until(), Timestamp::NEVER);
    assert_eq!(claim.listings().len(), 1, "it is not checked");
    let missing = order(&mut claim, Order::Verify(Finding::Missing), NOW);
    assert_eq!(missing, Err(Refusal::RecordMissing));
    let unanswered = order(&mut claim, Order::Verify(Finding::Unanswered), NOW);
    assert_eq!(unanswered, Err(Refusal::Unanswered));
    assert_eq!(check(&mut claim, Finding::Found, NOW), [""; 0], "a check proves nothing");
    assert_eq!(state(&claim), "pending");
    order(&mut claim, Order::Verify(Finding::Found), NOW).unwrap();
    assert_eq!((state(&claim), holds(&claim)), ("verified", true));
    assert_eq!(claim.live_until(), Timestamp::FOREVER);
    let text = serde_json::to_string(&claim).unwrap();
    assert_eq!(serde_json::from_str::<DomainClaim>(&text).unwrap(), claim);
}

#[test]
fn a_record_proves_its_own_claim_word_for_word_and_no_other() {
    let claim = pending();
    let known = claim.known().unwrap();
    assert_eq!(known.value(), "porteiro-domain-verification=token-of-d1");
    assert_eq!(known.domain.challenge(), "_porteiro-challenge.acme.test");
    let proved = |records: &[&str]| known.is_proved_by(records.iter().map(|one| one.as_bytes()));
    assert!(proved(&["v=spf1 -all", "porteiro-domain-verification=token-of-d1"]));
    for other in [
        "porteiro-domain-verification=token-of-d2",
        "porteiro-domain-verification=token-of-d1 ",
        "porteiro-domain-verification=token-of-d",
        "PORTEIRO-DOMAIN-VERIFICATION=token-of-d1",
        "token-of-d1",
        "",
    ] {
        assert!(!proved(&[other]), "{other:?}");
    }
    assert!(!proved(&[]));
}

#[test]
fn a_record_that_is_missing_for_a_week_loses_the_domain_and_not_before() {
    let mut claim = verified();
    assert_eq!(check(&mut claim, Finding::Missing, NOW + DAY), ["domain.record_missing"]);
    assert!(holds(&claim));
    assert_eq!(check(&mut claim, Finding::Missing, NOW + 2 * DAY), [""; 0]);
    let almost = NOW + DAY + LOST_AFTER_MISSING - Duration::from_millis(1);
    check(&mut claim, Finding::Missing, almost);
    assert_eq!((state(&claim), holds(&claim)), ("verified", true));
    // What DNS does not say does not count as missing.
    check(&mut claim, Finding::Unanswered, NOW + DAY + LOST_AFTER_MISSING);
    assert!(holds(&claim));
    let lost = check(&mut claim, Finding::Missing, NOW + DAY + LOST_AFTER_MISSING);
    assert_eq!(lost, ["domain.lost"]);
    assert_eq!((state(&claim), holds(&claim)), ("lost", false));
    assert_eq!((claim.live_until(), claim.listings().len()), (Timestamp::NEVER, 1));
    let Standing::Lost { because, .. } = claim.known().unwrap().standing else { panic!() };
    assert_eq!(because.name(), "record_missing");
    // A check that comes late brings nothing back; who asks does.
    assert_eq!(check(&mut claim, Finding::Found, NOW + 9 * DAY), [""; 0]);
    assert!(!holds(&claim));
    let again = order(&mut claim, Order::Verify(Finding::Found), NOW + 9 * DAY);
    assert_eq!((again, holds(&claim)), (Ok(vec!["domain.verified"]), true));
}

#[test]
fn a_record_that_is_found_in_between_begins_the_week_anew() {
    for by_person in [false, true] {
        let mut claim = verified();
        check(&mut claim, Finding::Missing, NOW + DAY);
        let at = NOW + 7 * DAY;
        let back = if by_person {
            order(&mut claim, Order::Verify(Finding::Found), at).unwrap()
        } else {
            check(&mut claim, Finding::Found, at)
        };
        assert_eq!(back, ["domain.record_found"]);
        check(&mut claim, Finding::Missing, NOW + 9 * DAY);
        check(&mut claim, Finding::Missing, NOW + 15 * DAY);
        assert!(holds(&claim));
        assert_eq!(check(&mut claim, Finding::Missing, NOW + 16 * DAY), ["domain.lost"]);
    }
}

#[test]
fn silence_loses_a_domain_after_a_month_and_a_bad_first_answer_never() {
    let mut claim = verified();
    // A node that has not run for a year finds nothing: it begins to count then.
    let late = NOW + 365 * DAY;
    check(&mut claim, Finding::Missing, late);
    assert!(holds(&claim));
    let mut claim = verified();
    assert_eq!(check(&mut claim, Finding::Unanswered, late), [""; 0]);
    check(&mut claim, Finding::Unanswered, late + 29 * DAY);
    assert!(holds(&claim));
    assert_eq!(check(&mut claim, Finding::Unanswered, late + 30 * DAY), ["domain.lost"]);
    let Standing::Lost { because, .. } = claim.known().unwrap().standing else { panic!() };
    assert_eq!(because.name(), "dns_unanswered");
    // Missing once, and silent from then on: the longer bound holds.
    let mut claim = verified();
    check(&mut claim, Finding::Missing, late);
    check(&mut claim, Finding::Unanswered, late + 29 * DAY);
    assert!(holds(&claim));
    check(&mut claim, Finding::Unanswered, late + 30 * DAY);
    assert!(!holds(&claim));
}

#[test]
fn a_check_is_begun_once_when_it_is_due_and_more_often_while_the_record_is_missing() {
    let mut claim = verified();
    let due = |claim: &DomainClaim| claim.known().unwrap().next_check().unwrap();
    let first = due(&claim);
    assert!((20..28).contains(&(first.since(NOW).as_secs() / 3_600)), "{first:?}");
    let early = first - Duration::from_millis(1);
    assert_eq!(act(&mut claim, &Command::BeginCheck, early), Err(Refusal::NotDue));
    assert_eq!(act(&mut claim, &Command::BeginCheck, first), Ok(Vec::new()));
    assert_eq!(act(&mut claim, &Command::BeginCheck, first), Err(Refusal::NotDue), "once");
    assert_eq!(due(&claim).since(first), first.since(NOW));
    let ranks: Vec<String> = claim.listings().into_iter().map(|one| one.rank).collect();
    assert_eq!(ranks[1], format!("{:015}", due(&claim).millis()));
    // Nothing has changed: nothing is written.
    assert!(claim.decide(&Command::Checked(Finding::Found), first).events.is_empty());
    check(&mut claim, Finding::Missing, first);
    assert_eq!(due(&claim).since(first), Duration::from_hours(6));
    assert!(claim.decide(&Command::Checked(Finding::Missing), first + DAY).events.is_empty());
    let next = due(&claim);
    act(&mut claim, &Command::BeginCheck, next).unwrap();
    assert_eq!(due(&claim).since(next), Duration::from_hours(6));
    assert_eq!(act(&mut pending(), &Command::BeginCheck, NOW + 9 * DAY), Err(Refusal::NotDue));
}

#[test]
fn checks_of_many_domains_are_spread() {
    let pauses = (0..200).map(|n| {
        let mut claim = DomainClaim::default();
        let id = format!("01890a5d-ac96-774b-bcce-b302099a{n:04x}");
        order(&mut claim, add(&id), NOW).unwrap();
        order(&mut claim, Order::Verify(Finding::Found), NOW).unwrap();
        claim.known().unwrap().next_check().unwrap().since(NOW).as_secs() / 3_600
    });
    let hours: std::collections::BTreeSet<u64> = pauses.collect();
    assert_eq!(hours, (20..28).collect());
}

#[test]
fn a_suspended_organization_changes_nothing_and_another_knows_nothing_of_it() {
    let suspended = organization::Known { enabled: false, ..home("acme") };
    for wanted in [Order::Verify(Finding::Found), Order::Remove, add("d2")] {
        for mut claim in [pending(), verified(), DomainClaim::default()] {
            let command = Command::order(wanted.clone(), &suspended);
            assert_eq!(act(&mut claim, &command, NOW), Err(Refusal::Suspended));
        }
    }
    for wanted in [Order::Verify(Finding::Found), Order::Remove] {
        let command = Command::order(wanted, &home("other"));
        assert_eq!(act(&mut pending(), &command, NOW), Err(Refusal::NotKnown));
    }
    let mut held = verified();
    assert_eq!(check(&mut held, Finding::Missing, NOW + DAY), ["domain.record_missing"]);
}

#[test]
fn what_was_removed_is_free_and_does_not_come_back() {
    let mut claim = verified();
    assert_eq!(claim.names().len(), 3);
    assert_eq!(order(&mut claim, Order::Remove, NOW), Ok(vec!["domain.removed"]));
    assert_eq!((claim.names().len(), claim.listings().len()), (0, 0));
    assert!(claim.forget_at().is_some());
    let again = order(&mut claim, Order::Verify(Finding::Found), NOW);
    assert_eq!(again, Err(Refusal::NotKnown));
    assert_eq!(order(&mut claim, add("d1"), NOW), Err(Refusal::Exists));
    assert_eq!(check(&mut claim, Finding::Found, NOW), [""; 0]);
    assert_eq!(order(&mut pending(), add("d1"), NOW), Err(Refusal::Exists));
}
