//! What a person changes of their own account: its credentials, and whether its address was proved.

use super::{Account, Command, Event, Known, RecoveredBy, Refusal, Removed, Reply};
use crate::domain::{Decision, Record, Timestamp};

/// What a change comes to: an event and what is written of it, nothing, or a refusal.
pub(super) type News = Result<Option<(Event, Option<Record>)>, Refusal>;

impl Known {
    /// Decides a change of an account that is known.
    pub(super) fn change(&self, command: &Command, now: Timestamp) -> Decision<Account> {
        let decided = match command {
            // Their own rules are in `decide`: they look at an account that may not be known.
            Command::Provision(_)
            | Command::Create(_)
            | Command::UseTotp { .. }
            | Command::Rehash { .. }
            | Command::Telling { .. }
            | Command::Acting { .. }
            | Command::Renewing { .. } => Err(Refusal::Exists),
            Command::Describe(claims) => self.describe(claims, now),
            Command::Propose { channel, proposed, message } => {
                let news = Ok(Some(Self::propose(*channel, proposed)));
                return self.decided(news).dispatching(message.clone());
            }
            Command::Prove { channel, code } => {
                let Some(address) = self.proved_by(*channel, *code, now) else {
                    return self.refuse_proof(*channel);
                };
                Ok(Some(Self::prove(*channel, address, now)))
            }
            Command::RemovePhone { reach } => self.remove_phone(reach, now),
            Command::Suspend
            | Command::Enable
            | Command::SignOutEverywhere
            | Command::RequestDeletion
            | Command::KeepAccount
            | Command::Erase => self.change_standing(command, now),
            Command::EndSessions { told } => {
                let ended = self.decided(self.change_standing(command, now));
                return told.iter().fold(ended, |ended, one| ended.dispatching(one.dispatch(now)));
            }
            Command::VerifyEmail => {
                let news = (!self.email_verified).then(|| {
                    (Event::EmailVerified { at: now }, Some(Record::new("account.email_verified")))
                });
                Ok(news)
            }
            Command::SetPassword(hash) => {
                let set = Event::PasswordSet { hash: hash.clone(), at: now };
                Ok(Some((set, Some(Record::new("credential.password_set")))))
            }
            Command::EnrolTotp { secret, step } => {
                let enrolled = Event::TotpEnrolled { secret: secret.clone(), step: *step, at: now };
                Ok(Some((enrolled, Some(Record::new("credential.totp_enrolled")))))
            }
            Command::RemoveTotp if self.credentials.totp().is_none() => Err(Refusal::NoTotp),
            Command::RemoveTotp => {
                Ok(Some((Event::TotpRemoved, Some(Record::new("credential.totp_removed")))))
            }
            Command::RemovePassword { reach } => self.remove_password(reach),
            // The person may have them on paper: they are not made void unasked.
            Command::IssueRecoveryCodes(_) if self.credentials.has_recovery_codes() => {
                Err(Refusal::RecoveryCodesLeft)
            }
            Command::SetRecoveryCodes(codes) | Command::IssueRecoveryCodes(codes) => {
                let set = Event::RecoveryCodesSet { codes: codes.clone(), at: now };
                Ok(Some((set, Some(Record::new("credential.recovery_codes_set")))))
            }
            Command::UseRecoveryCode(code) => {
                if self.credentials.may_use_recovery_code(code) {
                    let used = Event::RecoveryCodeUsed(code.clone());
                    Ok(Some((used, Some(Record::new("credential.recovery_code_used")))))
                } else {
                    Err(Refusal::RecoveryCodeSpent)
                }
            }
            Command::Recover { by, password_only } => self.recover(*by, *password_only, now),
            Command::IssueRecoveryLink { token, stop } => {
                Ok(Some(Self::issue_link(*token, *stop, now)))
            }
            Command::StopRecoveryLink { stop } => self.stop_link(*stop, now),
            Command::VoidWhatIsOut => {
                Ok(self.has_something_out().then_some((Event::OutVoided, None)))
            }
            Command::SetAdministration(given) => {
                let event = if *given {
                    "account.administration_granted"
                } else {
                    "account.administration_revoked"
                };
                let news = || (Event::AdministrationSet(*given), Some(Record::new(event)));
                Ok((*given != self.administers).then(news))
            }
            Command::AddPasskey(_)
            | Command::UsePasskey(_)
            | Command::RenamePasskey { .. }
            | Command::RemovePasskey { .. } => self.change_passkey(command, now),
        };
        let left = command.reach().and_then(|reach| self.way_that_is_left(reach));
        left.into_iter().fold(self.decided(decided), Decision::requiring)
    }

    /// Puts together what was decided.
    pub(super) fn decided(&self, decided: News) -> Decision<Account> {
        match decided {
            Err(refusal) => Decision::refuse(refusal),
            Ok(None) => Decision::accept(Vec::new(), Reply::Used),
            Ok(Some((event, record))) => {
                let decision = Decision::accept(vec![event], Reply::Used);
                match record {
                    Some(record) => decision.recording(record.with("account", self.id.as_str())),
                    None => decision,
                }
            }
        }
    }

    /// Mail is no factor: alone it changes nothing but the password of an account that has a second
    /// one. The link of an operator replaces everything.
    fn recover(&self, by: RecoveredBy, password_only: bool, now: Timestamp) -> News {
        let strong = self.credentials.reach_aal2();
        let record = Record::new("account.recovered").with("by", by.name());
        let saved_code = match by {
            RecoveredBy::Mail => false,
            RecoveredBy::MailAndCode => true,
            RecoveredBy::Link(token) => {
                let good = self.is_recovered_by(token, now);
                let credentials = good.then_some(Removed::All).ok_or(Refusal::NoRecoveryLink)?;
                return Ok(Some((Event::Recovered { credentials, at: now }, Some(record))));
            }
        };
        let credentials = match (strong, saved_code, password_only) {
            (false, ..) | (true, true, _) => Removed::Replaced,
            (true, false, true) => Removed::Nothing,
            (true, false, false) => return Err(Refusal::SecondFactorStays),
        };
        Ok(Some((Event::Recovered { credentials, at: now }, Some(record))))
    }

    fn change_passkey(&self, command: &Command, now: Timestamp) -> News {
        let known =
            |id: &str| self.credentials.passkey(id).map(|_| ()).ok_or(Refusal::NoSuchPasskey);
        let record = |event, id: &str| Some(Record::new(event).with("passkey", id));
        match command {
            Command::AddPasskey(passkey) if self.credentials.may_add_passkey(passkey) => {
                let record = record("credential.passkey_added", &passkey.id);
                Ok(Some((Event::PasskeyAdded { passkey: passkey.clone(), at: now }, record)))
            }
            Command::UsePasskey(used) => {
                known(&used.id)?;
                // Only what may be an attack is written down; each sign-in has a record of its own.
                let record = used.counter_regressed.then(|| {
                    Record::new("credential.passkey_counter_regressed")
                        .with("passkey", used.id.as_str())
                });
                Ok(Some((Event::PasskeyUsed { used: used.clone(), at: now }, record)))
            }
            Command::RenamePasskey { id, name } => {
                known(id)?;
                let record = record("credential.passkey_renamed", id);
                Ok(Some((Event::PasskeyRenamed { id: id.clone(), name: name.clone() }, record)))
            }
            Command::RemovePasskey { id, reach } => {
                known(id)?;
                self.leaves_a_way_in(reach)?;
                let record = record("credential.passkey_removed", id);
                Ok(Some((Event::PasskeyRemoved { id: id.clone() }, record)))
            }
            _ => Err(Refusal::PasskeyRefused),
        }
    }

    pub(super) fn apply(&mut self, event: &Event) {
        let credentials = &mut self.credentials;
        match event {
            Event::Provisioned(known) => *self = (**known).clone(),
            Event::TotpUsed { step } => credentials.use_totp(*step),
            Event::Rehashed(hash) => credentials.rehash(hash),
            Event::EmailVerified { at } => (self.email_verified, self.updated_at) = (true, *at),
            Event::PasswordSet { hash, at } => credentials.set_password(hash.clone(), *at),
            Event::TotpEnrolled { secret, step, at } => {
                credentials.set_totp(secret.clone(), *step, *at);
            }
            Event::TotpRemoved => credentials.remove_totp(),
            Event::PasskeyAdded { passkey, at } => {
                credentials.add(super::CredentialKind::Passkey(passkey.clone()), *at);
            }
            Event::PasskeyUsed { used, at } => credentials.use_passkey(used, *at),
            Event::PasskeyRenamed { id, name } => credentials.rename_passkey(id, name),
            Event::PasskeyRemoved { id } => credentials.remove_passkey(id),
            Event::RecoveryCodesSet { codes, at } => {
                credentials.set_recovery_codes(codes.clone(), *at);
            }
            Event::RecoveryCodeUsed(code) => credentials.use_recovery_code(code),
            Event::Recovered { credentials: removed, at } => {
                (self.epoch, self.updated_at) = (self.epoch.saturating_add(1), *at);
                self.recovery_link = None;
                // What was proposed in a session ends with it.
                (self.proposed_email, self.proposed_phone) = (None, None);
                match removed {
                    Removed::All => credentials.clear(),
                    Removed::Replaced => credentials.replace(),
                    Removed::Nothing => {}
                }
            }
            Event::PasswordRemoved => credentials.remove_password(),
            Event::Described { profile, at } => {
                (self.profile, self.updated_at) = (profile.clone(), *at);
            }
            Event::Proposed { .. }
            | Event::ProofWrong(_)
            | Event::Proved { .. }
            | Event::PhoneRemoved { .. } => self.apply_address(event),
            Event::Suspended { .. }
            | Event::Enabled { .. }
            | Event::SignedOutEverywhere
            | Event::SessionsEnded
            | Event::DeletionRequested { .. }
            | Event::AccountKept
            | Event::Erased { .. } => self.apply_standing(event),
            Event::RecoveryLinkIssued(link) => self.recovery_link = Some(*link),
            Event::RecoveryLinkStopped => self.recovery_link = None,
            Event::OutVoided => {
                self.recovery_link = None;
                (self.proposed_email, self.proposed_phone) = (None, None);
            }
            Event::AdministrationSet(given) => self.administers = *given,
        }
    }
}
