//! What a proof was given by: an authenticator of an account, as it was then.
//!
//! A proof is worth something only while its authenticator is still what it was (adr/0104). A password, an
//! authenticator application, a passkey and a set of recovery codes are named by the time at which they
//! were set; a code or a link by the address or number that it went to.

use super::{Evidence, Method, Proof};
use crate::domain::{Fingerprint, Timestamp};
use serde::{Deserialize, Serialize};

/// Names an authenticator as it was set: another one in its place has another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AuthenticatorId(Fingerprint);

impl AuthenticatorId {
    /// A credential of which an account has one at most, by the time at which it was set.
    pub fn credential(method: Method, set_at: Timestamp) -> Self {
        Self::of(&format!("{method:?} {}", set_at.millis()))
    }

    /// A passkey, by its credential id and the time at which it was added.
    pub fn passkey(id: &str, added_at: Timestamp) -> Self {
        Self::of(&format!("passkey {} {id}", added_at.millis()))
    }

    /// A normalised e-mail address.
    pub fn mailbox(address: &str) -> Self {
        Self::of(&format!("mailbox {address}"))
    }

    /// A phone number that was proved.
    pub fn phone(number: &str) -> Self {
        Self::of(&format!("phone {number}"))
    }

    /// The link of an operator, by its token.
    pub fn recovery_link(token: Fingerprint) -> Self {
        Self::of(&format!("recovery link {}", String::from(token)))
    }

    fn of(text: &str) -> Self {
        Self(Fingerprint::of(text.as_bytes()))
    }
}

/// Every authenticator of an account, as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authenticators(Vec<(Option<Method>, AuthenticatorId)>);

impl Authenticators {
    /// Adds the only one by which this method proves anything.
    pub fn with(mut self, method: Method, id: Option<AuthenticatorId>) -> Self {
        self.0.extend(id.map(|id| (Some(method), id)));
        self
    }

    /// Adds those that a proof names itself.
    pub fn with_named(mut self, ids: impl IntoIterator<Item = AuthenticatorId>) -> Self {
        self.0.extend(ids.into_iter().map(|id| (None, id)));
        self
    }

    /// Returns the only one by which this method proves anything.
    pub fn of(&self, method: Method) -> Option<AuthenticatorId> {
        self.0.iter().find(|(of, _)| *of == Some(method)).map(|(_, id)| *id)
    }

    pub fn contains(&self, id: AuthenticatorId) -> bool {
        self.0.iter().any(|(_, held)| *held == id)
    }
}

impl Proof {
    /// Says by which authenticator it was given.
    pub fn by(self, authenticator: Option<AuthenticatorId>) -> Self {
        Self { by: authenticator, ..self }
    }

    /// Tells whether its authenticator is still there. Proofs that older binaries wrote name none.
    fn rests_on(&self, authenticators: &Authenticators) -> bool {
        self.by.is_none_or(|id| authenticators.contains(id))
    }
}

impl Evidence {
    /// Tells whether every proof that counts was given by an authenticator that is still there.
    pub fn rests_on(&self, authenticators: &Authenticators) -> bool {
        let mut own = self.proofs.iter().chain(&self.scoped);
        own.all(|proof| proof.void || proof.rests_on(authenticators))
    }

    /// Returns the same evidence after the person has put another authenticator in the place of the one by which
    /// they proved it: what was proved by the former, and still counts, goes on by the new one.
    pub fn carried_over(mut self, method: Method, to: Option<AuthenticatorId>) -> Self {
        for proof in self.proofs.iter_mut().filter(|proof| proof.method == method && !proof.void) {
            proof.by = to.or(proof.by);
        }
        self
    }

    /// Returns what it is worth with these authenticators: a proof whose authenticator is gone counts no
    /// more. That the person signed in, and when, stays true.
    pub fn weighed(mut self, authenticators: &Authenticators) -> Self {
        for proof in &mut self.proofs {
            proof.void |= !proof.rests_on(authenticators);
        }
        self.scoped.retain(|proof| proof.rests_on(authenticators));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Acr, FRESH_FOR, Level, Worth},
        *,
    };

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const LATER: Timestamp = Timestamp::from_millis(1_800_000_000_001);

    fn password(set_at: Timestamp) -> AuthenticatorId {
        AuthenticatorId::credential(Method::Password, set_at)
    }

    fn account(set_at: Timestamp) -> Authenticators {
        let totp = AuthenticatorId::credential(Method::Totp, NOW);
        let held = Authenticators::default().with(Method::Password, Some(password(set_at)));
        held.with(Method::Totp, Some(totp)).with_named([AuthenticatorId::passkey("key", NOW)])
    }

    fn both() -> Evidence {
        let held = account(NOW);
        let given = |worth: Worth| worth.given(NOW).by(held.of(worth.method));
        Evidence::of(given(Worth::PASSWORD)).and(given(Worth::TOTP))
    }

    #[test]
    fn another_authenticator_in_its_place_has_another_id() {
        assert_ne!(password(NOW), password(LATER));
        assert_ne!(password(NOW), AuthenticatorId::credential(Method::Totp, NOW));
        assert_ne!(AuthenticatorId::passkey("a", NOW), AuthenticatorId::passkey("b", NOW));
        assert_ne!(AuthenticatorId::passkey("a", NOW), AuthenticatorId::passkey("a", LATER));
        assert_ne!(AuthenticatorId::mailbox("+1"), AuthenticatorId::phone("+1"));
        assert_eq!(account(NOW).of(Method::Passkey), None, "a proof names its passkey itself");
    }

    #[test]
    fn a_proof_counts_while_its_authenticator_is_there() {
        let (evidence, changed) = (both(), account(LATER));
        assert!(evidence.rests_on(&account(NOW)) && !evidence.rests_on(&changed));
        assert_eq!(evidence.clone().weighed(&account(NOW)), evidence);
        let weighed = evidence.weighed(&changed);
        assert_eq!(weighed.level(NOW), Some(Level::Aal1));
        assert!(!weighed.proves(super::super::Factor::Knowledge, NOW));
        assert!(weighed.is_fresh(Level::Aal1, NOW), "the code is fresh");
        assert_eq!((weighed.methods(), weighed.last()), (vec![Method::Totp], Some(NOW)));
        assert!(weighed.rests_on(&changed), "it is weighed once");
        let again = weighed.and(Worth::PASSWORD.given(LATER).by(Some(password(LATER))));
        assert_eq!(again.level(LATER), Some(Level::Aal2), "a new proof takes its place");
    }

    #[test]
    fn what_a_person_replaces_themselves_is_carried_over_and_what_was_void_is_not() {
        let (held, other) = (both(), Some(password(LATER)));
        let over = held.clone().carried_over(Method::Password, other);
        assert!(over.rests_on(&account(LATER)));
        assert_eq!((over.level(NOW), over.last()), (Some(Level::Aal2), Some(NOW)), "no new proof");
        let void = held.weighed(&Authenticators::default());
        let void = void.carried_over(Method::Password, other);
        assert_eq!(void.level(NOW), Some(Level::Aal1));
    }

    #[test]
    fn of_a_person_whose_authenticators_are_all_gone_is_known_that_they_signed_in() {
        let passkey = Worth::PASSKEY.given(NOW).by(Some(AuthenticatorId::passkey("key", NOW)));
        let evidence = Evidence::of(passkey);
        assert!(Acr::Phr.is_met_by(&evidence, NOW));
        let gone = evidence.weighed(&Authenticators::default());
        assert_eq!((gone.level(NOW), gone.last()), (Some(Level::Aal1), Some(NOW)));
        assert!(!Acr::Phr.is_met_by(&gone, NOW) && !gone.is_fresh(Level::Aal1, NOW + FRESH_FOR));
        assert!(!gone.is_fresh(Level::Aal1, NOW), "no credential is changed on the word of one");
        assert_eq!(gone.methods(), [Method::Passkey]);
    }

    #[test]
    fn a_proof_of_an_older_binary_names_no_authenticator() {
        let text = r#"{"proofs":[{"method":"pwd","factors":["knowledge"],"at":1800000000000}]}"#;
        let older: Evidence = serde_json::from_str(text).unwrap();
        assert_eq!(older, Evidence::of(Worth::PASSWORD.given(NOW)));
        assert_eq!(serde_json::to_string(&older).unwrap(), text);
        assert!(older.rests_on(&Authenticators::default()));
        let text = serde_json::to_string(&both().weighed(&account(LATER))).unwrap();
        let read: Evidence = serde_json::from_str(&text).unwrap();
        assert_eq!(read, both().weighed(&account(LATER)));
    }
}
