//! Addresses that a person wants to use, which are used only once they are proved; and what is left to
//! sign in by when something is removed.

use super::{Account, Event, Known, Refusal, change::News};
use crate::domain::{
    Decision, Fingerprint, Record, Requirement, Timestamp, assurance::Method,
    external_identity::ExternalIdentity,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How many wrong codes make a code void.
pub const MOST_WRONG_CODES: u32 = 5;

/// By what a person is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Email,
    Phone,
}

/// An address that is not proved yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposed {
    /// As it was written.
    address: String,
    /// Of the keyed tag of the code that was sent there. One that no code has, where the address
    /// belongs to another account.
    code: Fingerprint,
    expires_at: Timestamp,
    #[serde(default)]
    wrong: u32,
}

impl Proposed {
    pub fn new(address: impl Into<String>, code: Fingerprint, expires_at: Timestamp) -> Self {
        Self { address: address.into(), code, expires_at, wrong: 0 }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }
}

/// By what an installation lets people sign in beside their credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// A code or link to the account's address.
    pub mail: bool,
    /// A code to a phone number that was proved.
    pub sms: bool,
    /// The id of an identity of no organization that is linked to the account, and stays.
    pub identity: Option<String>,
}

impl Known {
    /// Returns the phone number that the person has proved to be theirs.
    pub fn verified_phone(&self) -> Option<&str> {
        let verified = self.profile.claim("phone_number_verified").and_then(Value::as_bool);
        let number = self.profile.claim("phone_number").filter(|_| verified == Some(true));
        number.and_then(Value::as_str)
    }

    /// Lists the methods by which the person can prove who they are, beside mail. A number that was proved is one
    /// of them where the account has neither a passkey nor an authenticator application: a restricted
    /// authenticator never stands in for a better one (NIST SP 800-63B-4 §3.1.3.3).
    pub fn methods(&self) -> Vec<Method> {
        let mut methods = self.credentials.methods();
        if self.verified_phone().is_some() && !self.credentials.reach_aal2() {
            methods.push(Method::SmsCode);
        }
        methods
    }

    /// Counts the ways in: what proves by itself who the person is. An authenticator application and
    /// recovery codes stand beside one, and are none.
    fn ways_in(&self, reach: &Reach) -> usize {
        let password = usize::from(self.credentials.password().is_some());
        let sms = usize::from(reach.sms && self.verified_phone().is_some());
        let beside = usize::from(reach.mail) + usize::from(reach.identity.is_some());
        password + self.credentials.passkeys().count() + beside + sms
    }

    /// Tells whether the person can sign in at all.
    pub fn has_way_in(&self, reach: &Reach) -> bool {
        self.ways_in(reach) > 0
    }

    /// Returns what must be so where a way in is removed because an identity is left.
    pub(super) fn way_that_is_left(&self, reach: &Reach) -> Option<Requirement> {
        let without = Reach { identity: None, ..reach.clone() };
        let identity = reach.identity.as_deref().filter(|_| self.ways_in(&without) <= 1);
        identity.map(Requirement::live::<ExternalIdentity>)
    }

    /// Refuses to remove one of the ways in where it is the last.
    pub(super) fn leaves_a_way_in(&self, reach: &Reach) -> Result<(), Refusal> {
        if self.ways_in(reach) > 1 { Ok(()) } else { Err(Refusal::LastWayIn) }
    }

    pub(super) fn remove_password(&self, reach: &Reach) -> News {
        if self.credentials.password().is_none() {
            return Err(Refusal::NoPassword);
        }
        self.leaves_a_way_in(reach)?;
        let record = Record::new("credential.password_removed");
        Ok(Some((Event::PasswordRemoved, Some(record))))
    }

    /// Takes what a person says of themselves.
    pub(super) fn describe(&self, claims: &Map<String, Value>, now: Timestamp) -> News {
        let profile = self.profile.describe(claims).map_err(Refusal::Claims)?;
        let differs: Vec<&str> = profile
            .differing(&self.profile)
            .filter_map(|(name, differs)| differs.then_some(name))
            .collect();
        if differs.is_empty() {
            return Ok(None);
        }
        let record = Record::new("account.changed").with("fields", differs.join(" "));
        Ok(Some((Event::Described { profile, at: now }, Some(record))))
    }

    pub(super) fn propose(channel: Channel, proposed: &Proposed) -> (Event, Option<Record>) {
        let record = match channel {
            Channel::Email => Record::new("account.email_proposed"),
            Channel::Phone => Record::new("account.phone_proposed"),
        };
        (Event::Proposed { channel, proposed: Box::new(proposed.clone()) }, Some(record))
    }

    pub fn proposed(&self, channel: Channel) -> Option<&Proposed> {
        match channel {
            Channel::Email => self.proposed_email.as_deref(),
            Channel::Phone => self.proposed_phone.as_deref(),
        }
    }

    /// Returns the address that this code proves.
    pub(super) fn proved_by(
        &self,
        channel: Channel,
        code: Fingerprint,
        now: Timestamp,
    ) -> Option<String> {
        let proposed = self.proposed(channel)?;
        let right = proposed.code == code && now < proposed.expires_at;
        right.then(|| proposed.address.clone())
    }

    pub(super) fn prove(
        channel: Channel,
        address: String,
        now: Timestamp,
    ) -> (Event, Option<Record>) {
        let record = match channel {
            Channel::Email => Record::new("account.email_changed"),
            Channel::Phone => Record::new("account.phone_changed"),
        };
        (Event::Proved { channel, address, at: now }, Some(record))
    }

    /// Counts a wrong code, where one is out.
    pub(super) fn refuse_proof(&self, channel: Channel) -> Decision<Account> {
        if self.proposed(channel).is_none() {
            return Decision::refuse(Refusal::WrongCode);
        }
        let record = Record::new("account.proof_failed").with("account", self.id.as_str());
        Decision::refuse_and_record(vec![Event::ProofWrong(channel)], Refusal::WrongCode)
            .recording(record)
    }

    pub(super) fn remove_phone(&self, reach: &Reach, now: Timestamp) -> News {
        if self.profile.claim("phone_number").is_none() {
            return Err(Refusal::NoPhone);
        }
        if self.verified_phone().is_some() && reach.sms {
            self.leaves_a_way_in(reach)?;
        }
        let record = Record::new("account.phone_removed");
        Ok(Some((Event::PhoneRemoved { at: now }, Some(record))))
    }

    pub(super) fn apply_address(&mut self, event: &Event) {
        match event {
            Event::Proposed { channel, proposed } => {
                *self.slot(*channel) = Some(proposed.clone());
            }
            Event::ProofWrong(channel) => {
                let slot = self.slot(*channel);
                if let Some(proposed) = slot {
                    proposed.wrong += 1;
                    if proposed.wrong >= MOST_WRONG_CODES {
                        *slot = None;
                    }
                }
            }
            Event::Proved { channel, address, at } => {
                *self.slot(*channel) = None;
                self.updated_at = *at;
                match channel {
                    Channel::Email => {
                        (self.email, self.email_verified) = (address.clone(), true);
                        // It was handed to the holder of the former address.
                        self.recovery_link = None;
                    }
                    Channel::Phone => self.profile.set_phone(Some(address)),
                }
            }
            Event::PhoneRemoved { at } => {
                self.profile.set_phone(None);
                (self.proposed_phone, self.updated_at) = (None, *at);
            }
            _ => {}
        }
    }

    fn slot(&mut self, channel: Channel) -> &mut Option<Box<Proposed>> {
        match channel {
            Channel::Email => &mut self.proposed_email,
            Channel::Phone => &mut self.proposed_phone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        DeliveryClass, DeliveryKey, Dispatch, Machine as _, Secret,
        account::{Command, Draft, Passkey, PasswordHash, Reply},
    };
    use serde_json::json;
    use std::time::Duration;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const LATER: Timestamp = Timestamp::from_millis(1_800_000_600_000);
    const MAIL: Reach = Reach { mail: true, sms: false, identity: None };
    const NEITHER: Reach = Reach { mail: false, sms: false, identity: None };

    fn ask(account: &mut Account, command: &Command, now: Timestamp) -> Result<Reply, Refusal> {
        let decision = account.decide(command, now);
        for event in &decision.events {
            account.apply(event);
        }
        decision.outcome
    }

    fn ana() -> Account {
        let mut account = Account::default();
        let (id, email) = ("ana".to_owned(), "ana@acme.test".to_owned());
        let password = Some(PasswordHash::new("hash"));
        let draft = Draft { id, email, password, ..Draft::default() };
        ask(&mut account, &Command::Provision(draft), NOW).unwrap();
        account
    }

    fn code(text: &str) -> Fingerprint {
        Fingerprint::of(text.as_bytes())
    }

    fn propose(account: &mut Account, channel: Channel, address: &str) {
        let proposed = Box::new(Proposed::new(address, code("right"), LATER));
        let (class, key) = (DeliveryClass::Code, DeliveryKey::installation());
        let (payload, expires_at) = (Secret::new("{}"), LATER);
        let message = Dispatch { topic: "mail", class, key, payload, expires_at };
        let propose = Command::Propose { channel, proposed, message };
        assert_eq!(account.decide(&propose, NOW).effects.dispatches.len(), 1);
        ask(account, &propose, NOW).unwrap();
    }

    fn prove(
        account: &mut Account,
        channel: Channel,
        text: &str,
        now: Timestamp,
    ) -> Result<Reply, Refusal> {
        ask(account, &Command::Prove { channel, code: code(text) }, now)
    }

    #[test]
    fn an_address_is_used_once_it_is_proved_and_not_before() {
        let mut account = ana();
        let none = prove(&mut account, Channel::Email, "right", NOW);
        assert_eq!(none, Err(Refusal::WrongCode));
        propose(&mut account, Channel::Email, "Ana@New.test");
        assert_eq!(account.names()[0].name, "ana@acme.test");
        let other = prove(&mut account, Channel::Phone, "right", NOW);
        assert_eq!(other, Err(Refusal::WrongCode), "of another channel");
        let late = prove(&mut account.clone(), Channel::Email, "right", LATER);
        assert_eq!(late, Err(Refusal::WrongCode));
        prove(&mut account, Channel::Email, "right", NOW).unwrap();
        let known = account.known().unwrap();
        assert_eq!((known.email.as_str(), known.email_verified), ("Ana@New.test", true));
        assert_eq!(account.names()[0].name, "ana@new.test", "the former one is free");
        let again = prove(&mut account, Channel::Email, "right", NOW);
        assert_eq!(again, Err(Refusal::WrongCode), "a code works once");
    }

    #[test]
    fn a_number_is_a_second_factor_where_the_account_has_no_better_one() {
        let mut account = ana();
        let methods = |account: &Account| account.known().unwrap().methods();
        assert_eq!(methods(&account), [Method::Password]);
        propose(&mut account, Channel::Phone, "+351910000000");
        assert_eq!(methods(&account), [Method::Password], "it is not proved");
        prove(&mut account, Channel::Phone, "right", NOW).unwrap();
        assert_eq!(methods(&account), [Method::Password, Method::SmsCode]);
        let secret = crate::domain::account::SealedSecret::new(*b"sealed");
        ask(&mut account, &Command::EnrolTotp { secret, step: 1 }, NOW).unwrap();
        assert_eq!(methods(&account), [Method::Password, Method::Totp]);
    }

    #[test]
    fn wrong_codes_are_counted_and_make_a_code_void() {
        let mut account = ana();
        propose(&mut account, Channel::Phone, "+351910000000");
        for number in 1..MOST_WRONG_CODES {
            let refused = prove(&mut account, Channel::Phone, "wrong", NOW);
            assert_eq!(refused, Err(Refusal::WrongCode), "{number}");
        }
        let mut lucky = account.clone();
        prove(&mut lucky, Channel::Phone, "right", NOW).unwrap();
        let known = lucky.known().unwrap();
        assert_eq!(known.verified_phone(), Some("+351910000000"));
        prove(&mut account, Channel::Phone, "wrong", NOW).unwrap_err();
        let void = prove(&mut account, Channel::Phone, "right", NOW);
        assert_eq!(void, Err(Refusal::WrongCode));
        let text = serde_json::to_string(&lucky).unwrap();
        assert_eq!(serde_json::from_str::<Account>(&text).unwrap(), lucky);
    }

    #[test]
    fn the_last_way_in_stays() {
        let mut account = ana();
        let remove = |reach| Command::RemovePassword { reach };
        assert_eq!(ask(&mut account, &remove(NEITHER), NOW), Err(Refusal::LastWayIn));
        let mut by_mail = account.clone();
        ask(&mut by_mail, &remove(MAIL), NOW).unwrap();
        assert_eq!(ask(&mut by_mail, &remove(MAIL), NOW), Err(Refusal::NoPassword));
        let passkey = Box::new(Passkey {
            id: "key".to_owned(),
            name: "Key".to_owned(),
            verifier: json!({}),
            backup_eligible: false,
            backed_up: false,
            attested: false,
            last_used_at: None,
        });
        ask(&mut account, &Command::AddPasskey(passkey), NOW).unwrap();
        ask(&mut account, &remove(NEITHER), NOW).unwrap();
        let last = Command::RemovePasskey { id: "key".to_owned(), reach: NEITHER };
        assert_eq!(ask(&mut account, &last, NOW), Err(Refusal::LastWayIn));
        propose(&mut account, Channel::Phone, "+351910000000");
        prove(&mut account, Channel::Phone, "right", NOW).unwrap();
        let sms = Reach { sms: true, ..NEITHER };
        let with_phone = Command::RemovePasskey { id: "key".to_owned(), reach: sms.clone() };
        ask(&mut account.clone(), &with_phone, NOW).unwrap();
        assert_eq!(ask(&mut account, &last, NOW), Err(Refusal::LastWayIn), "no SMS is sent");
        ask(&mut account, &with_phone, NOW).unwrap();
        let phone = Command::RemovePhone { reach: sms };
        assert_eq!(ask(&mut account, &phone, NOW), Err(Refusal::LastWayIn));
        ask(&mut account, &Command::RemovePhone { reach: MAIL }, NOW).unwrap();
        assert_eq!(ask(&mut account, &phone, NOW), Err(Refusal::NoPhone));
    }

    #[test]
    fn an_identity_of_no_organization_is_a_way_in_while_it_is_linked() {
        let account = ana();
        let remove = |identity: Option<&str>| {
            let reach = Reach { identity: identity.map(str::to_owned), ..NEITHER };
            account.decide(&Command::RemovePassword { reach }, NOW)
        };
        assert_eq!(remove(None).outcome, Err(Refusal::LastWayIn));
        let removed = remove(Some("google"));
        assert!(removed.outcome.is_ok());
        let linked = Requirement::live::<ExternalIdentity>("google");
        assert!(removed.effects.requirements.contains(&linked));
        let known = account.known().unwrap();
        let reach = Reach { identity: Some("google".to_owned()), ..MAIL };
        assert_eq!(known.way_that_is_left(&reach), None, "mail is left as well");
        assert!(known.has_way_in(&NEITHER));
    }

    fn describe(account: &mut Account, claims: Value) -> Result<Reply, Refusal> {
        let Value::Object(claims) = claims else { panic!("an object is needed") };
        ask(account, &Command::Describe(claims), NOW + Duration::from_secs(1))
    }

    #[test]
    fn people_say_what_they_are_called_and_do_not_say_what_is_proved() {
        let mut account = ana();
        let said = json!({ "given_name": "Аня", "name#pt": "Ana", "birthdate": "1990-02-28" });
        describe(&mut account, said).unwrap();
        assert_eq!(account.known().unwrap().claim("given_name"), Some(json!("Аня")));
        describe(&mut account, json!({ "name": "می\u{200c}خواهم" })).unwrap();
        let unchanged = json!({ "given_name": "Аня", "nickname": "" });
        let Value::Object(unchanged) = unchanged else { unreachable!() };
        assert!(account.decide(&Command::Describe(unchanged), NOW).events.is_empty());
        for (claim, value) in [
            ("email", json!("eva@acme.test")),
            ("email_verified", json!(true)),
            ("phone_number", json!("+351910000000")),
            ("phone_number_verified", json!(true)),
            ("updated_at", json!(1)),
            ("sub", json!("eva")),
            ("role", json!("administrator")),
            ("given_name", json!(1)),
            ("given_name", json!("Ana\u{202e}")),
            ("nickname", json!("a\u{200b}na")),
            ("name", json!("Ana\u{7}")),
            ("picture", json!("http://acme.test/ana.png")),
            ("website", json!("javascript:alert(1)")),
            ("birthdate", json!("1990-02-30")),
            ("address", json!({ "country": "P\u{2066}T" })),
        ] {
            let refused = describe(&mut account, json!({ claim: value }));
            let Err(Refusal::Claims(faults)) = refused else { panic!("{claim} {value}") };
            assert_eq!((faults.len(), faults[0].claim.as_str()), (1, claim));
        }
    }
}
