//! What counts of a person's proofs in an organization whose people were signed out (adr/0140).
//!
//! A proof notes how many sign-outs there had been when it was given. No clock is compared.

use super::{Evidence, Proof};

impl Proof {
    /// Says how many sign-outs there have been.
    pub fn after(self, sign_outs: u64) -> Self {
        Self { sign_outs, ..self }
    }
}

impl Evidence {
    /// Returns what was proved since the sign-out of this number, as far as it counts in the organization. What was
    /// proved for other organizations alone stays.
    pub fn since_sign_out(mut self, organization: &str, number: u64) -> Self {
        self.proofs.retain(|proof| proof.sign_outs >= number);
        let is_elsewhere = |proof: &Proof| proof.only_for() != Some(organization);
        self.scoped.retain(|proof| proof.sign_outs >= number || is_elsewhere(proof));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Level, SingleSignOn, Worth},
        *,
    };
    use crate::domain::Timestamp;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn through(worth: Worth, organization: &str) -> Proof {
        worth.given(NOW).through(SingleSignOn {
            organization: Some(organization.to_owned()),
            connection: "c".to_owned(),
            session: "s".to_owned(),
            identity: "i".to_owned(),
            epoch: 0,
        })
    }

    #[test]
    fn a_proof_counts_after_the_sign_out_that_it_was_given_after() {
        let evidence = Evidence::of(Worth::PASSWORD.given(NOW).after(2));
        for (number, counts) in [(0, true), (1, true), (2, true), (3, false)] {
            let left = evidence.clone().since_sign_out("acme", number);
            assert_eq!(left.level(NOW).is_some(), counts, "{number}");
        }
        let text = serde_json::to_string(&evidence).unwrap();
        assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), evidence);
    }

    #[test]
    fn of_two_factors_the_older_one_counts_no_more() {
        let both = Evidence::of(Worth::PASSWORD.given(NOW)).and(Worth::TOTP.given(NOW).after(1));
        assert_eq!(both.level(NOW), Some(Level::Aal2));
        let left = both.since_sign_out("acme", 1);
        assert_eq!(left.level(NOW), Some(Level::Aal1));
        let again = left.and(Worth::PASSWORD.given(NOW).after(1));
        assert_eq!(again.level(NOW), Some(Level::Aal2));
    }

    #[test]
    fn what_was_proved_for_another_organization_alone_stays() {
        let evidence = Evidence::of(through(Worth::SINGLE_SIGN_ON, "acme"))
            .and(through(Worth::SINGLE_SIGN_ON, "globex"));
        let left = evidence.since_sign_out("acme", 1);
        assert!(left.sign_on_at("acme").is_none() && left.sign_on_at("globex").is_some());
    }
}
