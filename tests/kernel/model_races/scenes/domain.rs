//! Two organizations and one domain: the one holds it, whose record is missing; the other proves it. Two nodes
//! check it at once, the record may come back, and the organization may be suspended.

use crate::model_races::{
    asks::{Ask, By, Reading, Said},
    scene::{Entity, Landing, NO_ROW, Scene, View},
};
use porteiro::domain::{
    Decision, DomainName, Machine as _, Requirement, Timestamp,
    domain_claim::{
        Add, Command, DomainClaim, Event, Finding, LOST_AFTER_MISSING, LostBecause, Order, Refusal,
        Standing,
    },
    organization::{self, Organization},
};
use std::time::Duration;

/// A mistake in the rules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// A domain is lost at the first check that does not find its record.
    LostAtOnce,
    /// A check begins whether or not it is due.
    AlwaysDue,
    /// The organization is not asked for once more.
    OrganizationNotRequired,
}

const HOLDER: u8 = 0;
const OTHER: u8 = 1;
const ORGANIZATION: u8 = 2;

const ADDED: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const DAY: Duration = Duration::from_hours(24);

const CHECKED_MISSING: usize = 1;
const CHECKED_FOUND: usize = 3;

pub const HELD_TWICE: &str = "one organization alone holds a domain";
pub const LOST_EARLY: &str = "a domain is lost only after its record was missing for seven days";
pub const CHECKED_TWICE: &str = "of two nodes that see a check that is due, one asks DNS";
pub const WHILE_SUSPENDED: &str = "a suspended organization proves and removes nothing";
pub const PROOF_LOST: &str = "a domain that was proved to its owner stays proved";
pub const NOT_REMOVED: &str = "a domain that was removed confers nothing";

/// When its record was first missing.
fn missing_since() -> Timestamp {
    ADDED + Duration::from_hours(30)
}

pub fn scene(wrong: Option<Wrong>) -> Scene {
    let lost_at = missing_since() + LOST_AFTER_MISSING;
    Scene {
        entities: vec![
            Entity::of::<DomainClaim>("a", word).beginning_as(&missing()),
            Entity::of::<DomainClaim>("b", word).beginning_as(&pending("other", "b")),
            Entity::of::<Organization>("acme", |one| match one.known() {
                Some(known) if known.enabled => "enabled",
                _ => "suspended",
            })
            .beginning_as(&organization("acme")),
        ],
        fixed: &[],
        // It may not be lost yet; it may; a day later.
        instants: vec![lost_at - DAY, lost_at, lost_at + DAY],
        asks: vec![
            begin_check("check", wrong).then(|said| (said == "due").then_some(CHECKED_MISSING)),
            checked("missing", Finding::Missing, wrong),
            begin_check("check that finds it", wrong)
                .then(|said| (said == "due").then_some(CHECKED_FOUND)),
            checked("found", Finding::Found, wrong),
            order(("prove", HOLDER), Order::Verify(Finding::Found), wrong),
            Ask::of::<DomainClaim>(("prove elsewhere", OTHER), |_| prove_elsewhere(), said)
                .by(By::Commit(1)),
            Ask::of::<Organization>(("suspend", ORGANIZATION), |_| suspend(), |_| "suspended")
                .by(By::Commit(2)),
            order(("remove", HOLDER), Order::Remove, wrong),
        ],
        requests: &[0, 2, 4, 5, 6, 7],
        standing,
        landing,
    }
}

fn organization(slug: &str) -> Organization {
    let mut organization = Organization::default();
    let draft = organization::Draft { slug: slug.to_owned(), ..organization::Draft::default() };
    let decision = organization.decide(&organization::Command::Provision(draft), ADDED);
    decision.events.iter().for_each(|event| organization.apply(event));
    organization
}

fn home(slug: &str) -> organization::Known {
    organization(slug).known().unwrap().clone()
}

fn suspend() -> organization::Command {
    let (slug, enabled) = ("acme".to_owned(), Some(false));
    let draft = organization::Draft { slug, enabled, ..organization::Draft::default() };
    organization::Command::Provision(draft)
}

fn take(claim: &mut DomainClaim, command: &Command, now: Timestamp) {
    let decision = claim.decide(command, now);
    decision.outcome.unwrap();
    decision.events.iter().for_each(|event| claim.apply(event));
}

fn pending(slug: &str, id: &str) -> DomainClaim {
    let mut claim = DomainClaim::default();
    let domain = DomainName::parse("acme.test").unwrap();
    let add = Add { id: id.to_owned(), domain, place: 0, token: format!("token of {id}") };
    take(&mut claim, &Command::order(Order::Add(add), &home(slug)), ADDED);
    claim
}

/// A claim that was proved, and whose record is missing.
fn missing() -> DomainClaim {
    let mut claim = pending("acme", "a");
    let proved = Command::order(Order::Verify(Finding::Found), &home("acme"));
    take(&mut claim, &proved, ADDED);
    take(&mut claim, &Command::BeginCheck, missing_since());
    take(&mut claim, &Command::Checked(Finding::Missing), missing_since());
    assert_eq!(word(&claim), "verified");
    claim
}

fn prove_elsewhere() -> Command {
    Command::order(Order::Verify(Finding::Found), &home("other"))
}

/// An order of an administrator, whose organization must be as it was read.
fn order((name, of): (Said, u8), order: Order, wrong: Option<Wrong>) -> Ask {
    let command = move |reading: &Reading<'_>| {
        let home: Organization = serde_json::from_str(reading.facts[0].state.unwrap()).unwrap();
        Command::order(order.clone(), home.known().unwrap())
    };
    let bend = move |_: &DomainClaim, decision: Decision<DomainClaim>, reading: &Reading<'_>| {
        if wrong == Some(Wrong::OrganizationNotRequired) {
            return decision;
        }
        let version = reading.facts[0].version;
        decision.requiring(Requirement::unchanged::<Organization>("acme", version))
    };
    let ask = Ask::bent::<DomainClaim>((name, of), command, said, bend);
    ask.reading(&[ORGANIZATION]).by(By::Commit(1))
}

fn begin_check(name: Said, wrong: Option<Wrong>) -> Ask {
    let bend = move |claim: &DomainClaim,
                     decision: Decision<DomainClaim>,
                     reading: &Reading<'_>| {
        match (wrong, claim.known()) {
            (Some(Wrong::AlwaysDue), Some(known)) if known.is_verified() => {
                claim.decide(&Command::BeginCheck, reading.now + 3 * DAY)
            }
            _ => decision,
        }
    };
    let said = |outcome: &Result<(), Refusal>| match outcome {
        Ok(()) => "due",
        Err(_) => "not due",
    };
    let ask = Ask::bent::<DomainClaim>((name, HOLDER), |_| Command::BeginCheck, said, bend);
    ask.by(By::Commit(2))
}

fn checked(name: Said, finding: Finding, wrong: Option<Wrong>) -> Ask {
    let command = move |_: &Reading<'_>| Command::Checked(finding);
    let bend = move |claim: &DomainClaim,
                     decision: Decision<DomainClaim>,
                     reading: &Reading<'_>| {
        match (wrong, claim.known()) {
            (Some(Wrong::LostAtOnce), Some(known))
                if known.is_verified() && finding == Finding::Missing =>
            {
                let mut known = known.clone();
                known.standing = Standing::Lost { at: reading.now, because: LostBecause::Missing };
                Decision::accept(vec![Event::Redrawn(Box::new(known))], ())
            }
            _ => decision,
        }
    };
    let ask = Ask::bent::<DomainClaim>((name, HOLDER), command, said, bend);
    ask.by(By::Commit(2))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the other machines answer with more")]
fn said(outcome: &Result<(), Refusal>) -> Said {
    match outcome {
        Ok(()) => "done",
        Err(Refusal::Suspended) => "organization suspended",
        Err(_) => "refused",
    }
}

fn word(claim: &DomainClaim) -> Said {
    match claim {
        DomainClaim::Unborn => "unborn",
        DomainClaim::Known(known) => known.state(),
        DomainClaim::Removed { .. } => "removed",
    }
}

fn standing(view: &View<'_>) -> Option<&'static str> {
    let (holder, other) = (view.word(HOLDER), view.word(OTHER));
    if holder == "verified" && other == "verified" {
        return Some(HELD_TWICE);
    }
    if view.heard(3) == Some("done") && other != "verified" {
        return Some(PROOF_LOST);
    }
    if view.heard(5) == Some("done") && !matches!(holder, "removed" | NO_ROW) {
        return Some(NOT_REMOVED);
    }
    // What was committed, told again: since when the record is missing, and which checks began.
    let (mut since, mut may_be_lost, mut began) = (Some(missing_since()), false, Vec::new());
    let mut latest = 0;
    for one in view.landed() {
        if one.instant < latest {
            // A node whose clock is behind has set the next check to an earlier time: it may be due once more.
            began.clear();
        }
        latest = one.instant;
        match one.ask {
            "missing" => {
                let first = *since.get_or_insert(one.at);
                may_be_lost |= one.at.since(first) >= LOST_AFTER_MISSING;
            }
            "found" | "prove" => since = None,
            _ if one.said == "due" => {
                if began.contains(&one.instant) {
                    return Some(CHECKED_TWICE);
                }
                began.push(one.instant);
            }
            _ => {}
        }
    }
    (holder == "lost" && !may_be_lost).then_some(LOST_EARLY)
}

fn landing(view: &View<'_>, landing: &Landing) -> Option<&'static str> {
    let orders = matches!(landing.ask, "prove" | "remove");
    let enabled =
        landing.facts.iter().all(|fact| *fact == "enabled") && view.word(ORGANIZATION) == "enabled";
    (orders && landing.said == "done" && !enabled).then_some(WHILE_SUSPENDED)
}
