//! The authenticators of an account, as proofs name them.

use super::Known;
use crate::domain::assurance::{AuthenticatorId, Authenticators, Method};

impl Known {
    /// Lists every authenticator by which its person can prove anything now.
    pub fn authenticators(&self) -> Authenticators {
        let held = &self.credentials;
        let singles = [
            (Method::Password, held.password_since()),
            (Method::Totp, held.totp_since()),
            (Method::RecoveryCode, held.recovery_codes_since()),
        ];
        let mailbox = Some(AuthenticatorId::mailbox(&self.normalised_email()));
        let sent = Authenticators::default()
            .with(Method::EmailCode, mailbox)
            .with(Method::MagicLink, mailbox)
            .with(Method::SmsCode, self.verified_phone().map(AuthenticatorId::phone));
        let credential = |method| move |set_at| AuthenticatorId::credential(method, set_at);
        let all = singles
            .into_iter()
            .fold(sent, |all, (method, set_at)| all.with(method, set_at.map(credential(method))));
        let passkeys = held.passkeys();
        let link = self.recovery_link.map(|link| AuthenticatorId::recovery_link(link.token));
        all.with_named(passkeys.map(|(one, at)| AuthenticatorId::passkey(&one.id, at)))
            .with_named(link)
    }

    /// Names the passkey of this credential id.
    pub fn passkey_authenticator(&self, id: &str) -> Option<AuthenticatorId> {
        let mut passkeys = self.credentials.passkeys();
        let (passkey, added_at) = passkeys.find(|(passkey, _)| passkey.id == id)?;
        Some(AuthenticatorId::passkey(&passkey.id, added_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Fingerprint, Machine as _, Timestamp,
        account::{
            Account, Channel, Command, Draft, Passkey, PasskeyUse, PasswordHash, Proposed, Reach,
            RecoveryCodes, SealedSecret,
        },
    };
    use serde_json::{Value, json};
    use std::time::Duration;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const REACH: Reach = Reach { mail: true, sms: true, identity: None };

    fn ask(account: &mut Account, command: &Command) {
        let decision = account.decide(command, NOW);
        decision.outcome.unwrap();
        decision.events.iter().for_each(|event| account.apply(event));
    }

    fn code() -> Fingerprint {
        Fingerprint::of(b"code")
    }

    fn move_to(account: &mut Account, channel: Channel, address: &str) {
        let proposed = Box::new(Proposed::new(address, code(), NOW + Duration::from_secs(1)));
        let payload = crate::domain::Secret::new("{}");
        let (class, key) =
            (crate::domain::DeliveryClass::Code, crate::domain::DeliveryKey::installation());
        let (topic, expires_at) = ("mail", NOW);
        let message = crate::domain::Dispatch { topic, class, key, payload, expires_at };
        ask(account, &Command::Propose { channel, proposed, message });
        ask(account, &Command::Prove { channel, code: code() });
    }

    fn passkey(id: &str) -> Command {
        Command::AddPasskey(Box::new(Passkey {
            id: id.to_owned(),
            name: "Key".to_owned(),
            verifier: json!({}),
            backup_eligible: false,
            backed_up: false,
            attested: false,
            last_used_at: None,
        }))
    }

    fn codes(salt: &str) -> Command {
        let hashes = vec![PasswordHash::new("one"), PasswordHash::new("two")];
        Command::SetRecoveryCodes(RecoveryCodes { salt: salt.to_owned(), hashes })
    }

    fn totp() -> Command {
        Command::EnrolTotp { secret: SealedSecret::new(*b"sealed"), step: 1 }
    }

    /// An account that has one of each.
    fn ana() -> Account {
        let mut account = Account::default();
        let draft = Draft {
            id: "ana".to_owned(),
            email: "Ana@Acme.test".to_owned(),
            password: Some(PasswordHash::new("hash")),
            ..Draft::default()
        };
        ask(&mut account, &Command::Provision(draft));
        for command in [totp(), passkey("key"), passkey("other"), codes("salt")] {
            ask(&mut account, &command);
        }
        move_to(&mut account, Channel::Phone, "+351910000000");
        let stop = Fingerprint::of(b"stop");
        ask(&mut account, &Command::IssueRecoveryLink { token: code(), stop });
        account
    }

    fn listed(account: &Account) -> Authenticators {
        account.known().unwrap().authenticators()
    }

    /// Every authenticator, by name.
    fn all(account: &Account) -> Vec<(&'static str, AuthenticatorId)> {
        let (known, held) = (account.known().unwrap(), listed(account));
        let single = |name, method| (name, held.of(method).unwrap());
        vec![
            single("password", Method::Password),
            single("totp", Method::Totp),
            single("codes", Method::RecoveryCode),
            single("mailbox", Method::EmailCode),
            single("mailbox", Method::MagicLink),
            single("phone", Method::SmsCode),
            ("key", known.passkey_authenticator("key").unwrap()),
            ("other", known.passkey_authenticator("other").unwrap()),
            ("link", AuthenticatorId::recovery_link(code())),
        ]
    }

    /// Lists the authenticators that are gone after a command.
    fn gone(change: impl FnOnce(&mut Account)) -> Vec<&'static str> {
        let before = ana();
        let mut after = before.clone();
        change(&mut after);
        let mut gone: Vec<&str> = all(&before)
            .into_iter()
            .filter(|(_, id)| !listed(&after).contains(*id))
            .map(|(name, _)| name)
            .collect();
        gone.dedup();
        gone
    }

    #[test]
    fn a_change_ends_the_authenticator_that_it_changes_and_no_other() {
        let after = |command: Command| gone(move |account| ask(account, &command));
        let new = || PasswordHash::new("new");
        assert_eq!(after(Command::SetPassword(new())), ["password"]);
        assert_eq!(after(Command::RemovePassword { reach: REACH }), ["password"]);
        assert_eq!(after(Command::RemoveTotp), ["totp"]);
        assert_eq!(after(totp()), ["totp"]);
        assert_eq!(after(codes("other salt")), ["codes"]);
        assert_eq!(after(Command::RemovePasskey { id: "key".to_owned(), reach: REACH }), ["key"]);
        assert_eq!(after(Command::RemovePhone { reach: REACH }), ["phone"]);
        assert_eq!(gone(|one| move_to(one, Channel::Phone, "+351910000001")), ["phone"]);
        assert_eq!(
            gone(|one| move_to(one, Channel::Email, "ana@new.test")),
            ["mailbox", "link"],
            "the link was handed to the holder of the former address"
        );
        let stop = Fingerprint::of(b"stop");
        assert_eq!(after(Command::StopRecoveryLink { stop }), ["link"]);
        assert_eq!(
            gone(|one| {
                ask(one, &Command::RemovePasskey { id: "key".to_owned(), reach: REACH });
                let later = one.decide(&passkey("key"), NOW + Duration::from_secs(1));
                later.events.iter().for_each(|event| one.apply(event));
            }),
            ["key"],
            "the same key, added again"
        );
    }

    #[test]
    fn what_has_nothing_to_do_with_it_ends_none() {
        let said = json!({ "given_name": "Ana", "locale": "pt" });
        let Value::Object(said) = said else { unreachable!() };
        let used = PasskeyUse {
            id: "key".to_owned(),
            verifier: Some(json!({ "counter": 2 })),
            backed_up: true,
            counter_regressed: false,
        };
        let name = "Laptop".to_owned();
        let (from, to) = (PasswordHash::new("hash"), PasswordHash::new("as hashed today"));
        for command in [
            Command::Describe(said),
            passkey("third"),
            Command::UsePasskey(used),
            Command::RenamePasskey { id: "key".to_owned(), name },
            Command::UseTotp { step: 7 },
            Command::UseRecoveryCode(PasswordHash::new("one")),
            Command::Rehash { from, to },
            Command::VerifyEmail,
            Command::SetAdministration(true),
        ] {
            let text = format!("{command:?}");
            assert_eq!(gone(move |account| ask(account, &command)), [""; 0], "{text}");
        }
        assert_eq!(gone(|one| move_to(one, Channel::Email, "ANA@acme.test")), ["link"]);
    }
}
