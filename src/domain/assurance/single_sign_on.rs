//! Proofs by single sign-on: where they count, and what they rest on (adr/0135).
//!
//! A proof by the provider of an organization counts for that organization alone. It is kept beside the account's own
//! proofs, so that what looks at a person's evidence without naming an organization does not see it. A code of an
//! authenticator application that follows such a proof, and no other, counts where that proof does.

use super::{Evidence, Factor, Level, Method, Proof, Worth};
use crate::domain::{Timestamp, epoch::is_first};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a proof by single sign-on rests on, and where it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SingleSignOn {
    /// The slug of the organization for which alone it counts; `None`: it is the account's own credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// The id of the connection.
    pub connection: String,
    /// The id of the upstream session, which ends when the provider says so.
    pub session: String,
    /// The id of the external identity, which ends when it is unlinked.
    pub identity: String,
    /// The epoch of the connection then; it moves on when the connection has another client.
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
}

impl Worth {
    /// One factor, whatever the provider asked for.
    pub const SINGLE_SIGN_ON: Self =
        Self { method: Method::SingleSignOn, factors: &[Factor::Knowledge] };

    /// The provider has asked for two, and the organization believes it.
    pub const BELIEVED_SIGN_ON: Self =
        Self { method: Method::SingleSignOn, factors: &[Factor::Possession, Factor::Knowledge] };
}

impl Proof {
    /// Says what it rests on.
    pub fn through(self, sign_on: SingleSignOn) -> Self {
        Self { sign_on: Some(Box::new(sign_on)), ..self }
    }

    /// Says when the person has proved it there. A clock that is ahead of ours makes no proof of the future.
    pub fn proved_there_at(self, at: Option<Timestamp>) -> Self {
        Self { auth_time: at.map(|at| at.min(self.at)), ..self }
    }

    /// Returns when the person has proved it, here or at the provider.
    pub(super) fn proved_at(&self) -> Timestamp {
        self.auth_time.unwrap_or(self.at)
    }

    /// Tells whether it is known when the person has proved it: a provider need not say so.
    fn has_known_age(&self) -> bool {
        self.method != Method::SingleSignOn || self.auth_time.is_some()
    }

    /// Returns the organization for which alone it counts.
    pub fn only_for(&self) -> Option<&str> {
        self.sign_on.as_ref().and_then(|sign_on| sign_on.organization.as_deref())
    }
}

impl Evidence {
    /// Returns what the proofs are that count in an organization, or outside of any: the account's own, and those by
    /// that organization's single sign-on.
    pub fn at(&self, organization: Option<&str>, now: Timestamp) -> Self {
        let is_there = |proof: &&Proof| organization.is_some() && proof.only_for() == organization;
        let scoped: Vec<Proof> = self.scoped.iter().filter(is_there).cloned().collect();
        let own = Self { scoped: Vec::new(), scoped_lapsed: false, ..self.clone() };
        if scoped.is_empty() {
            return own;
        }
        let proofs = self.proofs.iter().chain(&scoped).cloned().collect();
        let lapsed = self.lapsed || self.scoped_lapsed;
        let together = Self { proofs, lapsed, ..own.clone() };
        let scoped = Self { proofs: scoped, lapsed: self.scoped_lapsed, ..Self::default() };
        // Where one of the two has lapsed, the other may still be worth more by itself.
        let others = [scoped, own];
        others.into_iter().fold(together, |best, other| {
            if other.level(now) > best.level(now) { other } else { best }
        })
    }

    /// Returns the highest level that was reached anywhere: to show it, never to decide by it.
    pub fn shown_level(&self, now: Timestamp) -> Option<Level> {
        let scopes = self.scoped.iter().map(Proof::only_for);
        scopes.chain([None]).filter_map(|scope| self.at(scope, now).level(now)).max()
    }

    /// Returns the level that was reached where the last proof counts.
    pub fn level_of_last(&self, now: Timestamp) -> Option<Level> {
        let all = self.proofs.iter().chain(&self.scoped);
        let last = all.max_by_key(|proof| proof.at)?;
        self.at(last.only_for(), now).level(now)
    }

    /// Returns when anything was proved last, wherever it counts.
    pub fn last_anywhere(&self) -> Option<Timestamp> {
        self.proofs.iter().chain(&self.scoped).map(Proof::proved_at).max()
    }

    /// Tells whether the person has proved anything within this time. What a provider says without a time may be of any age.
    pub fn is_proved_within(&self, age: Duration, now: Timestamp) -> bool {
        let known = self.proofs.iter().filter(|proof| proof.has_known_age());
        known.map(Proof::proved_at).max().is_some_and(|at| now.since(at) <= age)
    }

    /// Tells whether there is no proof of the account's own.
    pub fn is_only_scoped(&self) -> bool {
        self.proofs.is_empty() && !self.scoped.is_empty()
    }

    /// Tells whether a person with these proofs may see and decide what is of this organization, or of none: one who came by
    /// an organization's provider alone has nothing to do with others (adr/0148).
    pub fn reaches(&self, organization: Option<&str>) -> bool {
        let is_there = |proof: &Proof| proof.only_for() == organization;
        !self.is_only_scoped() || organization.is_some() && self.scoped.iter().any(is_there)
    }

    /// Returns the organization for which alone a second factor would count now.
    pub fn second_factor_only_for(&self) -> Option<&str> {
        self.last_scoped().filter(|_| self.is_only_scoped()).and_then(Proof::only_for)
    }

    fn last_scoped(&self) -> Option<&Proof> {
        self.scoped.iter().max_by_key(|proof| proof.at)
    }

    /// Returns these proofs with those of others that count for one organization alone.
    pub fn with_scoped_of(&self, others: &Self) -> Self {
        others.scoped.iter().fold(self.clone(), |all, proof| all.and_scoped(proof.clone()))
    }

    /// Lists what proofs by single sign-on rest on.
    pub fn sign_ons(&self) -> impl Iterator<Item = &SingleSignOn> {
        let all = self.proofs.iter().filter(|proof| !proof.void).chain(&self.scoped);
        all.filter_map(|proof| proof.sign_on.as_deref())
    }

    /// Returns the single sign-on by which the person has come to an organization, the last of them.
    pub fn sign_on_at(&self, organization: &str) -> Option<&SingleSignOn> {
        let there = self.scoped.iter().filter(|proof| proof.only_for() == Some(organization));
        there.max_by_key(|proof| proof.at).and_then(|proof| proof.sign_on.as_deref())
    }

    /// Returns the single sign-on by which the person came last, wherever it counts.
    pub fn last_sign_on(&self) -> Option<&SingleSignOn> {
        let all = self.proofs.iter().filter(|proof| !proof.void).chain(&self.scoped);
        let by_another = all.filter(|proof| proof.sign_on.is_some());
        by_another.max_by_key(|proof| proof.at).and_then(|proof| proof.sign_on.as_deref())
    }

    /// Returns the single sign-on that the account's own proofs rest on alone: beside it there is a second factor at
    /// most.
    pub fn only_sign_on(&self) -> Option<&SingleSignOn> {
        let good = || self.proofs.iter().filter(|proof| !proof.void);
        let only = good().all(|proof| proof.sign_on.is_some() || is_second(proof));
        good().filter(|_| only).find_map(|proof| proof.sign_on.as_deref())
    }

    /// Returns it without the proofs whose single sign-on is over. A second factor that has come after such a proof and
    /// no other is gone with it: a code by itself opens no account.
    pub fn without_sign_ons(mut self, is_over: impl Fn(&SingleSignOn) -> bool) -> Self {
        let over = |proof: &Proof| proof.sign_on.as_deref().is_some_and(&is_over);
        self.scoped.retain(|proof| !over(proof));
        let before = self.proofs.len();
        self.proofs.retain(|proof| !over(proof));
        if self.proofs.len() < before && self.proofs.iter().all(is_second) {
            self.proofs.clear();
        }
        self
    }

    /// Takes a proof that counts for one organization alone.
    pub(super) fn and_scoped(&self, proof: Proof) -> Self {
        let mut next = self.clone();
        next.scoped_lapsed &= proof.factors.is_empty();
        let same = |former: &&mut Proof| {
            former.method == proof.method && former.only_for() == proof.only_for()
        };
        match next.scoped.iter_mut().find(same) {
            Some(former) => *former = proof,
            None => next.scoped.push(proof),
        }
        next
    }

    /// Says where a proof counts: a second factor after single sign-on alone counts where that does.
    pub fn placed(&self, proof: Proof) -> Proof {
        match self.last_scoped().and_then(|last| last.sign_on.clone()) {
            Some(sign_on) if is_second(&proof) && self.is_only_scoped() => proof.through(*sign_on),
            _ => proof,
        }
    }
}

/// Tells whether a proof stands beside another, and by itself opens no account.
fn is_second(proof: &Proof) -> bool {
    matches!(proof.method, Method::Totp | Method::RecoveryCode)
}

#[cfg(test)]
mod tests {
    use super::{super::Acr, *};
    use std::time::Duration;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn sign_on(organization: Option<&str>) -> SingleSignOn {
        SingleSignOn {
            organization: organization.map(str::to_owned),
            connection: "c".to_owned(),
            session: "s".to_owned(),
            identity: "i".to_owned(),
            epoch: 0,
        }
    }

    fn at_acme(worth: Worth) -> Evidence {
        Evidence::of(worth.given(NOW).through(sign_on(Some("acme"))))
    }

    #[test]
    fn a_sign_on_counts_for_its_organization_and_nowhere_else() {
        for worth in [Worth::SINGLE_SIGN_ON, Worth::BELIEVED_SIGN_ON] {
            let evidence = at_acme(worth);
            assert_eq!((evidence.level(NOW), evidence.last()), (None, None));
            assert!(!Acr::Aal1.is_met_by(&evidence, NOW) && !evidence.is_fresh(Level::Aal1, NOW));
            assert!(evidence.methods().is_empty());
            for elsewhere in [None, Some("globex"), Some("")] {
                assert_eq!(evidence.at(elsewhere, NOW).level(NOW), None, "{elsewhere:?}");
            }
            assert!(evidence.at(Some("acme"), NOW).level(NOW).is_some());
            let text = serde_json::to_string(&evidence).unwrap();
            assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), evidence);
        }
        let level = |worth| at_acme(worth).at(Some("acme"), NOW).level(NOW);
        assert_eq!(level(Worth::SINGLE_SIGN_ON), Some(Level::Aal1));
        assert_eq!(level(Worth::BELIEVED_SIGN_ON), Some(Level::Aal2), "and nothing is aal3");
    }

    #[test]
    fn a_code_after_a_sign_on_alone_counts_where_that_does() {
        let evidence = at_acme(Worth::SINGLE_SIGN_ON).and(Worth::TOTP.given(NOW));
        assert_eq!(evidence.level(NOW), None, "a code by itself opens no account");
        assert_eq!(evidence.at(Some("acme"), NOW).level(NOW), Some(Level::Aal2));
        assert_eq!(evidence.at(Some("globex"), NOW).level(NOW), None);
        let own = Evidence::of(Worth::PASSWORD.given(NOW)).and(Worth::TOTP.given(NOW));
        assert_eq!(own.level(NOW), Some(Level::Aal2));
        let both = own.and_scoped(Worth::SINGLE_SIGN_ON.given(NOW).through(sign_on(Some("acme"))));
        assert_eq!(both.level(NOW), Some(Level::Aal2));
    }

    #[test]
    fn the_accounts_own_proofs_count_everywhere_beside_it() {
        let own = Evidence::of(Worth::PASSWORD.given(NOW));
        let both = own.and(Worth::SINGLE_SIGN_ON.given(NOW).through(sign_on(Some("acme"))));
        assert_eq!(both.level(NOW), Some(Level::Aal1));
        assert_eq!(both.at(Some("acme"), NOW).level(NOW), Some(Level::Aal1), "one factor twice");
        let with_passkey = both.and(Worth::PASSKEY.given(NOW));
        assert_eq!(with_passkey.at(Some("globex"), NOW).level(NOW), Some(Level::Aal2));
    }

    #[test]
    fn a_sign_on_brings_no_lapsed_factor_of_the_account_back() {
        let own = Evidence::of(Worth::PASSWORD.given(NOW)).and(Worth::TOTP.given(NOW));
        let hour = NOW + Duration::from_hours(1);
        let lapsed = own.after_use(NOW, hour);
        let again = lapsed.and(Worth::BELIEVED_SIGN_ON.given(hour).through(sign_on(Some("acme"))));
        assert_eq!(again.level(hour), Some(Level::Aal1));
        assert_eq!(again.at(Some("acme"), hour).level(hour), Some(Level::Aal2));
        let later = again.after_use(hour, hour + Duration::from_hours(1));
        assert_eq!(later.at(Some("acme"), hour).level(hour), Some(Level::Aal1));
    }

    #[test]
    fn one_of_no_organization_is_the_accounts_own_and_changes_no_credential() {
        let evidence = Evidence::of(Worth::SINGLE_SIGN_ON.given(NOW).through(sign_on(None)));
        assert_eq!(evidence.level(NOW), Some(Level::Aal1));
        assert!(!evidence.is_fresh(Level::Aal1, NOW));
        let with_code = evidence.and(Worth::TOTP.given(NOW));
        for evidence in [evidence.clone(), with_code.clone()] {
            assert_eq!(evidence.only_sign_on(), Some(&sign_on(None)));
            let over = evidence.without_sign_ons(|_| true);
            assert_eq!((over.last_anywhere(), over.level(NOW)), (None, None), "nothing is left");
        }
        let with_password = with_code.and(Worth::PASSWORD.given(NOW));
        assert_eq!(with_password.only_sign_on(), None);
        let left = with_password.without_sign_ons(|_| true);
        assert_eq!(left.level(NOW), Some(Level::Aal2), "it did not rest on that alone");
    }

    #[test]
    fn who_came_by_one_provider_reaches_its_organization_and_nothing_else() {
        let alone = at_acme(Worth::BELIEVED_SIGN_ON);
        for evidence in [alone.clone(), alone.and(Worth::TOTP.given(NOW))] {
            assert!(evidence.reaches(Some("acme")));
            assert!(!evidence.reaches(Some("globex")) && !evidence.reaches(None));
            assert_eq!(evidence.second_factor_only_for(), Some("acme"));
        }
        let own = alone.and(Worth::PASSWORD.given(NOW));
        let social = Evidence::of(Worth::SINGLE_SIGN_ON.given(NOW).through(sign_on(None)));
        for evidence in [own, social, Evidence::of(Worth::PASSWORD.given(NOW))] {
            assert!(evidence.reaches(Some("globex")) && evidence.reaches(None));
            assert_eq!(evidence.second_factor_only_for(), None);
        }
    }

    #[test]
    fn a_proof_at_a_provider_is_as_old_as_it_says_and_of_unknown_age_where_it_says_nothing() {
        let day = Duration::from_hours(24);
        let said = |at| {
            let proof = Worth::SINGLE_SIGN_ON.given(NOW).through(sign_on(None));
            Evidence::of(proof.proved_there_at(at))
        };
        let (early, unknown) = (said(Some(NOW - Duration::from_mins(5))), said(None));
        assert_eq!(early.last(), Some(NOW - Duration::from_mins(5)));
        assert!(early.is_proved_within(Duration::from_mins(5), NOW));
        assert!(!early.is_proved_within(Duration::from_mins(4), NOW));
        assert!(!unknown.is_proved_within(day, NOW));
        assert_eq!(said(Some(NOW + day)).last(), Some(NOW), "a clock may be ahead");
        assert!(early.level(NOW).is_some() && said(Some(NOW - day)).level(NOW) == early.level(NOW));
        let text = serde_json::to_string(&early).unwrap();
        assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), early);
    }

    #[test]
    fn what_a_provider_says_comes_beside_what_the_account_proved() {
        let own = Evidence::of(Worth::PASSWORD.given(NOW)).and(Worth::TOTP.given(NOW));
        let both = own.with_scoped_of(&at_acme(Worth::SINGLE_SIGN_ON));
        assert_eq!(both.at(None, NOW), own);
        assert!(both.sign_on_at("acme").is_some());
    }

    #[test]
    fn what_is_over_counts_no_more() {
        let evidence = at_acme(Worth::BELIEVED_SIGN_ON).and(Worth::PASSWORD.given(NOW));
        let kept = evidence.clone().without_sign_ons(|one| one.session == "other");
        assert_eq!(kept, evidence);
        let over = evidence.without_sign_ons(|one| one.session == "s");
        assert_eq!(over.at(Some("acme"), NOW).level(NOW), Some(Level::Aal1));
        assert!(over.sign_on_at("acme").is_none());
    }
}
