//! A link by which an operator lets a person recover their account: one at most, for a day, for once.

use super::{Event, Known, Refusal};
use crate::domain::{Fingerprint, Record, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a link can be used.
pub const RECOVERY_LINK_LIFETIME: Duration = Duration::from_hours(24);

/// What is kept of a link. It goes with the next recovery, by whatever way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryLink {
    /// Of the token in it.
    pub token: Fingerprint,
    /// Of the token that voids it.
    pub stop: Fingerprint,
    pub expires_at: Timestamp,
}

/// What a person has proved who recovers an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveredBy {
    /// Mail to the account's address.
    Mail,
    /// Mail, and a recovery code that they had saved.
    MailAndCode,
    /// The link of an operator; of its token.
    Link(Fingerprint),
}

impl RecoveredBy {
    /// Says it in the security log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::MailAndCode => "mail and recovery code",
            Self::Link(_) => "operator",
        }
    }
}

/// An event, and what is written of it.
type News = (Event, Option<Record>);

impl Known {
    /// Tells whether this token lets a person recover the account now.
    pub fn is_recovered_by(&self, token: Fingerprint, now: Timestamp) -> bool {
        self.link(now).is_some_and(|link| link.token == token)
    }

    /// Tells whether a link or a code of the account was sent that may still be used.
    pub fn has_something_out(&self) -> bool {
        self.recovery_link.is_some()
            || self.proposed_email.is_some()
            || self.proposed_phone.is_some()
    }

    fn link(&self, now: Timestamp) -> Option<&RecoveryLink> {
        self.recovery_link.as_ref().filter(|link| now < link.expires_at)
    }

    /// Keeps a link; the former, if there is one, is void.
    pub(super) fn issue_link(token: Fingerprint, stop: Fingerprint, now: Timestamp) -> News {
        let link = RecoveryLink { token, stop, expires_at: now + RECOVERY_LINK_LIFETIME };
        let record = Record::new("account.recovery_issued");
        (Event::RecoveryLinkIssued(link), Some(record))
    }

    /// Voids the link whose stopping token this is.
    pub(super) fn stop_link(
        &self,
        stop: Fingerprint,
        now: Timestamp,
    ) -> Result<Option<News>, Refusal> {
        match self.link(now) {
            Some(link) if link.stop == stop => {
                Ok(Some((Event::RecoveryLinkStopped, Some(Record::new("recovery.stopped")))))
            }
            _ => Err(Refusal::NoRecoveryLink),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Machine as _,
        account::{Account, Command, Draft, PasswordHash, RecoveryCodes, Reply, SealedSecret},
    };

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn token(text: &str) -> Fingerprint {
        Fingerprint::of(text.as_bytes())
    }

    fn ask(account: &mut Account, command: &Command, now: Timestamp) -> Result<Reply, Refusal> {
        let decision = account.decide(command, now);
        for event in &decision.events {
            account.apply(event);
        }
        decision.outcome
    }

    /// An account that has everything, and a link.
    fn with_link() -> Account {
        let mut account = Account::default();
        let draft = Draft {
            id: "ana".to_owned(),
            email: "ana@acme.test".to_owned(),
            password: Some(PasswordHash::new("hash")),
            totp: Some(SealedSecret::new(*b"sealed")),
            ..Draft::default()
        };
        ask(&mut account, &Command::Provision(draft), NOW).unwrap();
        let codes = RecoveryCodes { salt: "s".to_owned(), hashes: vec![PasswordHash::new("one")] };
        ask(&mut account, &Command::SetRecoveryCodes(codes), NOW).unwrap();
        issue(&mut account, "first");
        account
    }

    fn issue(account: &mut Account, text: &str) {
        let stop = token(&format!("stop {text}"));
        let command = Command::IssueRecoveryLink { token: token(text), stop };
        ask(account, &command, NOW).unwrap();
    }

    fn recover(text: &str) -> Command {
        Command::Recover { by: RecoveredBy::Link(token(text)), password_only: false }
    }

    #[test]
    fn a_link_is_good_for_once_and_for_a_day_and_replaces_everything() {
        let mut account = with_link();
        let late = ask(&mut account.clone(), &recover("first"), NOW + RECOVERY_LINK_LIFETIME);
        assert_eq!(late, Err(Refusal::NoRecoveryLink));
        assert_eq!(ask(&mut account, &recover("other"), NOW), Err(Refusal::NoRecoveryLink));
        ask(&mut account, &recover("first"), NOW).unwrap();
        let known = account.known().unwrap();
        assert!(known.credentials.methods().is_empty(), "saved codes go too");
        assert_eq!((known.epoch, known.recovery_link), (1, None));
        assert_eq!(ask(&mut account, &recover("first"), NOW), Err(Refusal::NoRecoveryLink));
    }

    #[test]
    fn a_link_that_was_replaced_or_stopped_is_void_and_so_is_one_of_a_former_epoch() {
        let mut account = with_link();
        issue(&mut account, "second");
        assert!(!account.known().unwrap().is_recovered_by(token("first"), NOW));
        let replaced = ask(&mut account.clone(), &recover("first"), NOW);
        assert_eq!(replaced, Err(Refusal::NoRecoveryLink));
        assert!(account.known().unwrap().is_recovered_by(token("second"), NOW));
        let stop = |text| Command::StopRecoveryLink { stop: token(text) };
        for wrong in ["second", "stop first"] {
            let refused = ask(&mut account, &stop(wrong), NOW);
            assert_eq!(refused, Err(Refusal::NoRecoveryLink), "{wrong}");
        }
        let mut by_mail = account.clone();
        let mail = Command::Recover { by: RecoveredBy::Mail, password_only: true };
        ask(&mut by_mail, &mail, NOW).unwrap();
        assert_eq!(ask(&mut by_mail, &recover("second"), NOW), Err(Refusal::NoRecoveryLink));
        ask(&mut account, &stop("stop second"), NOW).unwrap();
        assert_eq!(ask(&mut account, &recover("second"), NOW), Err(Refusal::NoRecoveryLink));
        assert_eq!(ask(&mut account, &stop("stop second"), NOW), Err(Refusal::NoRecoveryLink));
    }

    #[test]
    fn what_is_out_of_an_account_of_a_backup_is_void_and_nothing_else_changes() {
        let mut account = with_link();
        assert!(account.known().unwrap().has_something_out());
        let before = account.known().unwrap().clone();
        ask(&mut account, &Command::VoidWhatIsOut, NOW).unwrap();
        let known = account.known().unwrap();
        assert!(!known.has_something_out());
        assert_eq!((known.epoch, &known.credentials), (before.epoch, &before.credentials));
        assert_eq!(ask(&mut account, &recover("first"), NOW), Err(Refusal::NoRecoveryLink));
        let again = account.decide(&Command::VoidWhatIsOut, NOW);
        assert!(again.outcome.is_ok() && again.events.is_empty());
    }

    #[test]
    fn a_link_is_kept_with_the_account() {
        let account = with_link();
        let text = serde_json::to_string(&account).unwrap();
        assert_eq!(serde_json::from_str::<Account>(&text).unwrap(), account);
        assert!(!text.contains("first"), "{text}");
    }
}
