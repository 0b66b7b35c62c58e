//! The status of an account, whether it can be used: it is active, suspended, about to be deleted, or deleted.
//!
//! Each of these ends everything that rested on the account, for good: it begins another epoch.

use super::{Account, Command, Event, Known, Refusal, change::News};
use crate::domain::{Decision, Record, Timestamp, installation::SignOuts};
use std::time::Duration;

/// How long a person can change their mind who has asked for the account to be deleted.
pub const GRACE_PERIOD: Duration = Duration::from_hours(30 * 24);

/// The status of an account: whether it can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountStatus {
    Active,
    /// It confers nothing, accepts no change, and no person signs in to it.
    Suspended,
    /// It is erased then, unless the person signs in before.
    Deleting {
        until: Timestamp,
    },
}

impl Known {
    pub fn standing(&self) -> AccountStatus {
        match (self.suspended_at, self.erase_at) {
            (Some(_), _) => AccountStatus::Suspended,
            (None, Some(until)) => AccountStatus::Deleting { until },
            (None, None) => AccountStatus::Active,
        }
    }

    pub fn is_suspended(&self) -> bool {
        self.standing() == AccountStatus::Suspended
    }

    /// Tells whether its person may sign in now.
    pub fn admits(&self, now: Timestamp) -> bool {
        match self.standing() {
            AccountStatus::Active => true,
            AccountStatus::Suspended => false,
            AccountStatus::Deleting { until } => now < until,
        }
    }

    /// Returns the epoch in which its person acts: what they proved or granted in an earlier one has ended. No count of
    /// it ever falls, so their sum is the same only while all of them are.
    pub fn person_epoch(&self, sign_outs: SignOuts) -> u64 {
        self.own_epoch().saturating_add(sign_outs.everyone)
    }

    /// Returns the part of that epoch which the account itself keeps.
    pub(super) fn own_epoch(&self) -> u64 {
        self.epoch.saturating_add(self.signed_out)
    }

    /// Tells whether what was proved or granted in this epoch is worth anything now.
    pub fn honours(&self, epoch: u64, sign_outs: SignOuts, now: Timestamp) -> bool {
        self.person_epoch(sign_outs) == epoch && self.admits(now)
    }

    /// Returns when it is erased. What is suspended is kept: it may be needed as evidence.
    pub(super) fn erased_at(&self) -> Option<Timestamp> {
        self.erase_at.filter(|_| !self.is_suspended())
    }

    /// Decides a change of an account that is suspended.
    pub(super) fn change_while_suspended(
        &self,
        command: &Command,
        now: Timestamp,
    ) -> Decision<Account> {
        self.decided(match command {
            Command::Suspend | Command::EndSessions { .. } => Ok(None),
            Command::Enable => {
                // The person could not change their mind meanwhile.
                let erase_at = self.erase_at.map(|_| now + GRACE_PERIOD);
                Ok(Some((Event::Enabled { erase_at }, Some(Record::new("account.enabled")))))
            }
            _ => Err(Refusal::Suspended),
        })
    }

    /// Decides a change of an account that is not.
    pub(super) fn change_standing(&self, command: &Command, now: Timestamp) -> News {
        let news = |event, record| Ok(Some((event, Some(record))));
        match (command, self.erase_at) {
            (Command::Suspend, _) => {
                news(Event::Suspended { at: now }, Record::new("account.suspended"))
            }
            (Command::SignOutEverywhere, _) => {
                news(Event::SignedOutEverywhere, Record::new("account.sessions_ended"))
            }
            (Command::EndSessions { .. }, _) => {
                news(Event::SessionsEnded, Record::new("account.sessions_ended"))
            }
            (Command::RequestDeletion, None) => {
                let erase_at = now + GRACE_PERIOD;
                let record = Record::new("account.deletion_requested");
                let record = record.with("until", erase_at.millis());
                news(Event::DeletionRequested { erase_at }, record)
            }
            (Command::KeepAccount, Some(until)) if now < until => {
                news(Event::AccountKept, Record::new("account.deletion_cancelled"))
            }
            (Command::Erase, Some(until)) if now >= until => {
                news(Event::Erased { at: now }, Record::new("account.deleted"))
            }
            (Command::Erase, _) => Err(Refusal::NotDue),
            // It is enabled, is about to be deleted, or is not.
            _ => Ok(None),
        }
    }

    pub(super) fn apply_standing(&mut self, event: &Event) {
        match event {
            Event::Suspended { at } => self.suspended_at = Some(*at),
            Event::Enabled { erase_at } => (self.suspended_at, self.erase_at) = (None, *erase_at),
            Event::DeletionRequested { erase_at } => self.erase_at = Some(*erase_at),
            Event::AccountKept => self.erase_at = None,
            _ => {}
        }
        let ends = matches!(
            event,
            Event::Suspended { .. } | Event::SignedOutEverywhere | Event::DeletionRequested { .. }
        );
        if ends {
            self.epoch = self.epoch.saturating_add(1);
        }
        // It outlives a sign-out: a thief who holds a former address or a session can cause one.
        if ends && *event != Event::SignedOutEverywhere {
            self.recovery_link = None;
        }
        if *event == Event::SessionsEnded {
            self.signed_out = self.signed_out.saturating_add(1);
        }
        // What was proposed in a session ends with it.
        if ends || *event == Event::SessionsEnded {
            (self.proposed_email, self.proposed_phone) = (None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        DeliveryClass, DeliveryKey, Dispatch, Fingerprint, Machine as _,
        account::{Channel, Draft, PasswordHash, Proposed, Provisioned, Reach, Reply},
    };

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const NONE: SignOuts = SignOuts { everyone: 0, last: 0 };

    fn ask(account: &mut Account, command: &Command, now: Timestamp) -> Result<Reply, Refusal> {
        let decision = account.decide(command, now);
        for event in &decision.events {
            account.apply(event);
        }
        decision.outcome
    }

    fn message() -> Dispatch {
        let (topic, payload) = ("mail", crate::domain::Secret::new("{}"));
        let (class, key) = (DeliveryClass::Code, DeliveryKey::installation());
        Dispatch { topic, class, key, payload, expires_at: NOW }
    }

    fn draft() -> Draft {
        let (id, email) = ("ana".to_owned(), "ana@acme.test".to_owned());
        let password = Some(PasswordHash::new("hash"));
        Draft { id, email, password, ..Draft::default() }
    }

    fn ana() -> Account {
        let mut account = Account::default();
        ask(&mut account, &Command::Provision(draft()), NOW).unwrap();
        account
    }

    fn records(account: &Account, command: &Command, now: Timestamp) -> Vec<&'static str> {
        account.decide(command, now).effects.records.iter().map(|record| record.event).collect()
    }

    #[test]
    fn a_suspended_account_confers_nothing_and_accepts_no_change_but_to_be_enabled() {
        let mut account = ana();
        assert_eq!(account.live_until(), Timestamp::FOREVER);
        assert_eq!(records(&account, &Command::Suspend, NOW), ["account.suspended"]);
        ask(&mut account, &Command::Suspend, NOW).unwrap();
        assert_eq!(account.live_until(), Timestamp::NEVER);
        assert!(!account.known().unwrap().admits(NOW));
        assert_eq!(account.names().len(), 1, "its address is not free");
        let hash = PasswordHash::new("hash");
        let proposed = Proposed::new("eva@acme.test", Fingerprint::of(b"1"), NOW);
        let (channel, reach) = (Channel::Email, Reach::default());
        for refused in [
            Command::SetPassword(hash.clone()),
            Command::RemovePassword { reach },
            Command::VerifyEmail,
            Command::SignOutEverywhere,
            Command::RequestDeletion,
            Command::KeepAccount,
            Command::Erase,
            Command::Describe(serde_json::Map::new()),
            Command::UseTotp { step: 1 },
            Command::Propose { channel, proposed: Box::new(proposed), message: message() },
            Command::Prove { channel, code: Fingerprint::of(b"1") },
        ] {
            let outcome = ask(&mut account, &refused, NOW);
            assert_eq!(outcome, Err(Refusal::Suspended), "{refused:?}");
        }
        let rehash = Command::Rehash { from: hash.clone(), to: hash };
        assert_eq!(ask(&mut account, &rehash, NOW), Err(Refusal::OtherPassword));
        let other = Draft { email_verified: Some(true), ..draft() };
        let refused = ask(&mut account, &Command::Provision(other), NOW);
        assert_eq!(refused, Err(Refusal::Suspended));
        let same = ask(&mut account, &Command::Provision(draft()), NOW);
        assert_eq!(same, Ok(Reply::Provisioned(Provisioned::Unchanged)), "a file may name it");
        assert_eq!(records(&account, &Command::Suspend, NOW), [""; 0], "it is suspended once");
    }

    #[test]
    fn enabling_an_account_revives_nothing_that_was_issued_before() {
        let mut account = ana();
        assert!(account.known().unwrap().honours(0, NONE, NOW));
        ask(&mut account, &Command::Suspend, NOW).unwrap();
        assert_eq!(records(&account, &Command::Enable, NOW), ["account.enabled"]);
        ask(&mut account, &Command::Enable, NOW).unwrap();
        let known = account.known().unwrap();
        assert_eq!(
            (known.standing(), account.live_until()),
            (AccountStatus::Active, Timestamp::FOREVER)
        );
        assert!(!known.honours(0, NONE, NOW) && known.honours(1, NONE, NOW));
        assert_eq!(account.decide(&Command::Enable, NOW).events.len(), 0);
    }

    #[test]
    fn a_deleted_account_leaves_its_id_and_frees_its_address() {
        let mut account = ana();
        ask(&mut account, &Command::RequestDeletion, NOW).unwrap();
        let until = NOW + GRACE_PERIOD;
        assert_eq!(account.known().unwrap().standing(), AccountStatus::Deleting { until });
        assert_eq!((account.live_until(), account.listings().len()), (until, 2));
        assert!(!account.known().unwrap().honours(0, NONE, NOW), "everything has ended");
        assert!(account.known().unwrap().admits(NOW) && !account.known().unwrap().admits(until));
        assert_eq!(ask(&mut account, &Command::Erase, NOW), Err(Refusal::NotDue));
        let again = account.decide(&Command::RequestDeletion, NOW);
        assert_eq!(again.events.len(), 0, "asking again does not put it off");
        assert_eq!(account.decide(&Command::KeepAccount, until).events.len(), 0, "it is too late");
        assert_eq!(records(&account, &Command::Erase, until), ["account.deleted"]);
        ask(&mut account, &Command::Erase, until).unwrap();
        assert_eq!(account, Account::Deleted { id: "ana".to_owned(), at: until });
        let text = serde_json::to_string(&account).unwrap();
        assert!(!text.contains("acme") && !text.contains("hash"), "{text}");
        assert_eq!(serde_json::from_str::<Account>(&text).unwrap(), account);
        assert_eq!((account.names().len(), account.listings().len()), (0, 0));
        assert_eq!(account.live_until(), Timestamp::NEVER);
        for refused in [Command::Provision(draft()), Command::Enable, Command::VerifyEmail] {
            assert_eq!(ask(&mut account, &refused, until), Err(Refusal::Unknown), "{refused:?}");
        }
        assert_eq!(ask(&mut account, &Command::Erase, until), Ok(Reply::Used));
    }

    #[test]
    fn signing_in_keeps_an_account_and_suspending_it_keeps_it_for_longer() {
        let mut account = ana();
        ask(&mut account, &Command::RequestDeletion, NOW).unwrap();
        let mut kept = account.clone();
        assert_eq!(records(&kept, &Command::KeepAccount, NOW), ["account.deletion_cancelled"]);
        ask(&mut kept, &Command::KeepAccount, NOW).unwrap();
        assert_eq!(kept.known().unwrap().standing(), AccountStatus::Active);
        assert_eq!(ask(&mut kept, &Command::Erase, NOW + GRACE_PERIOD), Err(Refusal::NotDue));
        ask(&mut account, &Command::Suspend, NOW).unwrap();
        assert_eq!(account.listings().len(), 1, "it is not to be erased now");
        let late = NOW + GRACE_PERIOD + GRACE_PERIOD;
        assert_eq!(ask(&mut account, &Command::Erase, late), Err(Refusal::Suspended));
        ask(&mut account, &Command::Enable, late).unwrap();
        let until = late + GRACE_PERIOD;
        assert_eq!(account.known().unwrap().standing(), AccountStatus::Deleting { until });
    }

    #[test]
    fn an_operator_ends_the_sessions_of_a_person_and_not_what_rests_on_the_account_itself() {
        let mut account = ana();
        let end = Command::EndSessions { told: Vec::new() };
        assert_eq!(records(&account, &end, NOW), ["account.sessions_ended"]);
        ask(&mut account, &end, NOW).unwrap();
        let known = account.known().unwrap();
        assert_eq!((known.epoch, known.signed_out), (0, 1), "API keys rest on the first of them");
        assert!(!known.honours(0, NONE, NOW) && known.honours(1, NONE, NOW));
        let everyone = SignOuts { everyone: 4, last: 9 };
        assert!(!known.honours(1, everyone, NOW) && known.honours(5, everyone, NOW));
        ask(&mut account, &Command::Suspend, NOW).unwrap();
        assert_eq!(account.decide(&end, NOW).events.len(), 0, "all of them have ended");
    }

    #[test]
    fn a_sign_out_everywhere_leaves_the_link_of_an_operator_and_a_suspension_does_not() {
        let mut account = ana();
        let (token, stop) = (Fingerprint::of(b"token"), Fingerprint::of(b"stop"));
        ask(&mut account, &Command::IssueRecoveryLink { token, stop }, NOW).unwrap();
        for lasting in [Command::SignOutEverywhere, Command::EndSessions { told: Vec::new() }] {
            ask(&mut account, &lasting, NOW).unwrap();
            assert!(account.known().unwrap().is_recovered_by(token, NOW), "{lasting:?}");
        }
        ask(&mut account, &Command::Suspend, NOW).unwrap();
        ask(&mut account, &Command::Enable, NOW).unwrap();
        assert!(!account.known().unwrap().is_recovered_by(token, NOW));
    }

    #[test]
    fn what_a_person_asks_for_in_a_session_that_ends_meanwhile_changes_nothing() {
        let hash = || PasswordHash::new("thief");
        let acting = |epoch, everyone| {
            let command = Box::new(Command::SetPassword(hash()));
            Command::Acting { epoch, everyone, command }
        };
        let ends = [Command::SignOutEverywhere, Command::EndSessions { told: Vec::new() }];
        for end in ends {
            let mut account = ana();
            assert_eq!(ask(&mut account, &acting(0, 0), NOW), Ok(Reply::Used));
            ask(&mut account, &end, NOW).unwrap();
            assert_eq!(ask(&mut account, &acting(0, 0), NOW), Err(Refusal::OtherEpoch), "{end:?}");
            assert_eq!(ask(&mut account, &acting(1, 0), NOW), Ok(Reply::Used));
            assert_eq!(ask(&mut account, &acting(1, 1), NOW), Err(Refusal::OtherEpoch));
        }
        // A recovery voids what was proposed before it.
        let mut account = ana();
        let code = Fingerprint::of(b"1");
        let (channel, proposed) =
            (Channel::Email, Box::new(Proposed::new("e@evil.test", code, NOW + GRACE_PERIOD)));
        ask(&mut account, &Command::Propose { channel, proposed, message: message() }, NOW)
            .unwrap();
        let recover =
            Command::Recover { by: crate::domain::account::RecoveredBy::Mail, password_only: true };
        ask(&mut account, &recover, NOW).unwrap();
        assert!(account.known().unwrap().proposed_email.is_none());
        assert_eq!(
            ask(&mut account, &Command::Prove { channel, code }, NOW),
            Err(Refusal::WrongCode)
        );
    }

    #[test]
    fn a_row_of_an_older_binary_is_an_active_account() {
        let account = ana();
        let text = serde_json::to_string(&account).unwrap();
        assert!(!text.contains("suspended") && !text.contains("erase_at"), "{text}");
        assert_eq!(serde_json::from_str::<Account>(&text).unwrap(), account);
    }
}
