//! How an organization is deleted (adr/0136): suspended at once, erased after thirty days.
//!
//! What it owns is erased by one node at a time, which has a lease, in several commits. The last one erases the
//! organization itself.

use super::{Command, Draft, Event, Known, Organization, Refusal};
use crate::domain::{Decision, Listing, Machine as _, Provisioned, Record, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The organizations that are to be erased, the one first whose turn is first.
pub const ORGANIZATION_DELETIONS: &str = "organization_deletions";

/// For so long the operator can take back an organization that was deleted.
pub const GRACE_PERIOD: Duration = Duration::from_hours(30 * 24);

/// For so long one node alone erases what an organization owns, from its last commit on.
pub const LEASE: Duration = Duration::from_mins(5);

/// When an organization is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    pub erase_at: Timestamp,
    /// Until then a node is at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leased_until: Option<Timestamp>,
}

impl Deletion {
    fn is_due(self, now: Timestamp) -> bool {
        self.erase_at <= now
    }

    fn is_leased(self, now: Timestamp) -> bool {
        self.leased_until.is_some_and(|until| now < until)
    }

    pub(super) fn listing(self) -> Listing {
        let next = self.leased_until.unwrap_or(self.erase_at);
        Listing::new(ORGANIZATION_DELETIONS, "", format!("{:015}", next.millis()))
    }
}

impl Known {
    fn record(&self, event: &'static str) -> Record {
        Record::new(event).in_organization(&*self.slug)
    }

    /// Returns its deletion, if its time has come.
    fn deletion_due(&self, now: Timestamp) -> Option<Deletion> {
        self.deletion.filter(|deletion| deletion.is_due(now))
    }
}

impl Organization {
    pub(super) fn request_deletion(&self, now: Timestamp) -> Decision<Self> {
        let held = match self {
            Self::Known(known) => known,
            Self::Unborn | Self::Erased { .. } => return Decision::refuse(Refusal::NotKnown),
        };
        if held.deletion.is_some() {
            return Decision::accept(Vec::new(), Provisioned::Unchanged);
        }
        // What is suspended is kept: it may be needed as evidence.
        if !held.enabled {
            return Decision::refuse(Refusal::Suspended);
        }
        let erase_at = now + GRACE_PERIOD;
        let deletion = Some(Deletion { erase_at, leased_until: None });
        let next = Known { enabled: false, deletion, ..held.clone() };
        let requested = next.record("organization.deletion_requested");
        let (requested, suspended) =
            (requested.with("until", erase_at.millis()), next.record("organization.suspended"));
        let outcome = Provisioned::Changed(vec!["enabled", "deletion"]);
        Decision::accept(vec![Event::Provisioned(next)], outcome)
            .recording(requested)
            .recording(suspended)
    }

    /// Enables an organization on the operator's word. No other takes a deletion back.
    pub(super) fn enable(&self, now: Timestamp) -> Decision<Self> {
        let held = match self {
            Self::Known(known) => known,
            Self::Unborn => return Decision::refuse(Refusal::NotKnown),
            Self::Erased { .. } => return Decision::refuse(Refusal::Erased),
        };
        if held.deletion_due(now).is_some() {
            return Decision::refuse(Refusal::ErasureDue);
        }
        let kept = Self::Known(Known { deletion: None, ..held.clone() });
        let draft = Draft { slug: held.slug.clone(), enabled: Some(true), ..Draft::default() };
        let decision = kept.decide(&Command::Provision(draft), now);
        match held.deletion {
            Some(_) => decision.recording(held.record("organization.deletion_cancelled")),
            None => decision,
        }
    }

    pub(super) fn begin_erasure(&self, now: Timestamp) -> Decision<Self> {
        let due = self.known().and_then(|held| held.deletion_due(now));
        match due.filter(|deletion| !deletion.is_leased(now)) {
            Some(_) => self.continue_erasure(now),
            None => Decision::refuse(Refusal::NotDue),
        }
    }

    pub(super) fn continue_erasure(&self, now: Timestamp) -> Decision<Self> {
        let held = self.known();
        let Some((held, due)) = held.and_then(|held| Some((held, held.deletion_due(now)?))) else {
            return Decision::refuse(Refusal::NotDue);
        };
        let deletion = Some(Deletion { leased_until: Some(now + LEASE), ..due });
        let next = Known { deletion, ..held.clone() };
        let outcome = Provisioned::Changed(vec!["deletion"]);
        Decision::accept(vec![Event::Provisioned(next)], outcome)
    }

    pub(super) fn erase(&self, now: Timestamp) -> Decision<Self> {
        match self.known().filter(|held| held.deletion_due(now).is_some()) {
            Some(held) => {
                let outcome = Provisioned::Changed(vec!["deletion"]);
                Decision::accept(vec![Event::Erased { at: now }], outcome)
                    .recording(held.record("organization.deleted"))
            }
            None => Decision::refuse(Refusal::NotDue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn ask(
        organization: &mut Organization,
        command: &Command,
        now: Timestamp,
    ) -> Result<Vec<&'static str>, Refusal> {
        let decision = organization.decide(command, now);
        for event in &decision.events {
            organization.apply(event);
        }
        let records = decision.effects.records.iter().map(|record| record.event).collect();
        decision.outcome.map(|_| records)
    }

    fn draft() -> Draft {
        Draft { slug: "acme".to_owned(), ..Draft::default() }
    }

    fn acme() -> Organization {
        let mut acme = Organization::default();
        let draft = Draft { name: Some("Acme Lda".to_owned()), ..draft() };
        ask(&mut acme, &Command::Provision(draft), NOW).unwrap();
        acme
    }

    fn deleted() -> Organization {
        let mut acme = acme();
        ask(&mut acme, &Command::RequestDeletion, NOW).unwrap();
        acme
    }

    fn lists(organization: &Organization) -> Vec<(&'static str, String)> {
        organization.listings().into_iter().map(|one| (one.list, one.rank)).collect()
    }

    #[test]
    fn a_deleted_organization_confers_nothing_at_once_and_accepts_no_change() {
        let mut acme = acme();
        let records = ask(&mut acme, &Command::RequestDeletion, NOW).unwrap();
        assert_eq!(records, ["organization.deletion_requested", "organization.suspended"]);
        assert_eq!(acme.live_until(), Timestamp::NEVER);
        let erase_at = NOW + GRACE_PERIOD;
        let rank = format!("{:015}", erase_at.millis());
        assert_eq!(lists(&acme)[1], (ORGANIZATION_DELETIONS, rank.clone()));
        let later = NOW + Duration::from_hours(24);
        assert_eq!(ask(&mut acme, &Command::RequestDeletion, later), Ok(vec![]), "once is enough");
        assert_eq!(lists(&acme)[1].1, rank, "asking again does not put it off");
        for change in [
            Draft { name: Some("Other".to_owned()), ..draft() },
            Draft { enabled: Some(true), ..draft() },
        ] {
            let refused = ask(&mut acme, &Command::Provision(change), NOW);
            assert_eq!(refused, Err(Refusal::Deleting), "no file takes it back");
        }
        let same = Draft { enabled: Some(false), ..draft() };
        assert_eq!(ask(&mut acme, &Command::Provision(same), NOW), Ok(vec![]));
        let text = serde_json::to_string(&acme).unwrap();
        assert_eq!(serde_json::from_str::<Organization>(&text).unwrap(), acme);
    }

    #[test]
    fn the_operator_takes_it_back_in_another_epoch_until_its_time_has_come() {
        let erase_at = NOW + GRACE_PERIOD;
        let mut acme = deleted();
        let mut late = acme.clone();
        let records = ask(&mut acme, &Command::Enable, erase_at - Duration::from_millis(1));
        let names =
            ["organization.changed", "organization.enabled", "organization.deletion_cancelled"];
        assert_eq!(records.unwrap(), names);
        let known = acme.known().unwrap();
        assert_eq!((known.enabled, known.epoch, known.deletion), (true, 1, None));
        assert_eq!(lists(&acme).len(), 1);
        for command in [Command::BeginErasure, Command::ContinueErasure, Command::Erase] {
            let much_later = erase_at + GRACE_PERIOD;
            assert_eq!(ask(&mut acme, &command, much_later), Err(Refusal::NotDue), "{command:?}");
        }
        assert_eq!(ask(&mut late, &Command::Enable, erase_at), Err(Refusal::ErasureDue));
        assert_eq!(ask(&mut Organization::Unborn, &Command::Enable, NOW), Err(Refusal::NotKnown));
    }

    #[test]
    fn what_the_operator_has_suspended_is_kept_and_enabled_as_before() {
        let mut acme = acme();
        let suspend = Command::Provision(Draft { enabled: Some(false), ..draft() });
        ask(&mut acme, &suspend, NOW).unwrap();
        let refused = ask(&mut acme, &Command::RequestDeletion, NOW);
        assert_eq!(refused, Err(Refusal::Suspended));
        let records = ask(&mut acme, &Command::Enable, NOW).unwrap();
        assert_eq!(records, ["organization.changed", "organization.enabled"]);
        assert_eq!(ask(&mut acme, &Command::Enable, NOW), Ok(vec![]));
    }

    #[test]
    fn one_node_erases_at_a_time_and_another_goes_on_when_its_lease_is_over() {
        let (mut acme, erase_at) = (deleted(), NOW + GRACE_PERIOD);
        let early = erase_at - Duration::from_millis(1);
        for command in [Command::BeginErasure, Command::ContinueErasure, Command::Erase] {
            assert_eq!(ask(&mut acme, &command, early), Err(Refusal::NotDue), "{command:?}");
        }
        assert_eq!(ask(&mut acme, &Command::BeginErasure, erase_at), Ok(vec![]));
        assert_eq!(ask(&mut acme, &Command::BeginErasure, erase_at), Err(Refusal::NotDue));
        let rank = format!("{:015}", (erase_at + LEASE).millis());
        assert_eq!(lists(&acme)[1].1, rank, "other nodes look at it later");
        let then = erase_at + Duration::from_mins(1);
        ask(&mut acme, &Command::ContinueErasure, then).unwrap();
        let refused = ask(&mut acme, &Command::BeginErasure, erase_at + LEASE);
        assert_eq!(refused, Err(Refusal::NotDue), "the first has gone on");
        ask(&mut acme, &Command::BeginErasure, then + LEASE).unwrap();
    }

    #[test]
    fn an_erased_organization_leaves_its_slug_which_is_not_used_again() {
        let (mut acme, erase_at) = (deleted(), NOW + GRACE_PERIOD);
        assert_eq!(ask(&mut acme, &Command::Erase, erase_at), Ok(vec!["organization.deleted"]));
        assert_eq!(acme, Organization::Erased { slug: "acme".to_owned(), at: erase_at });
        assert_eq!((acme.known(), acme.live_until()), (None, Timestamp::NEVER));
        assert_eq!((acme.forget_at(), lists(&acme)), (None, vec![]), "the row stays");
        let text = serde_json::to_string(&acme).unwrap();
        assert!(!text.contains("Lda"), "{text}");
        assert_eq!(serde_json::from_str::<Organization>(&text).unwrap(), acme);
        let again = ask(&mut acme, &Command::Provision(draft()), erase_at);
        assert_eq!((again, ask(&mut acme, &Command::Enable, erase_at)), {
            (Err(Refusal::Erased), Err(Refusal::Erased))
        });
        let refused = ask(&mut acme, &Command::RequestDeletion, erase_at);
        assert_eq!(refused, Err(Refusal::NotKnown));
        assert_eq!(ask(&mut acme, &Command::Erase, erase_at), Err(Refusal::NotDue));
        let widen = Command::WidenAdministrators(vec!["domains".to_owned()]);
        assert_eq!(ask(&mut acme, &widen, erase_at), Ok(vec![]));
    }
}
