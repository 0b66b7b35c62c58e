//! What a provider's word on how it proved a person is worth.

use super::UpstreamPerson;
use crate::domain::assurance::Level;

/// Values of `acr` that say that two factors were proved.
const TWO_FACTORS: [&str; 3] = ["aal2", "phr", "phrh"];

/// The value of `amr` for several factors (RFC 8176 §2).
const SEVERAL_FACTORS: &str = "mfa";

/// Returns the level of a sign-in by a provider: one factor, unless its word counts. Nothing is aal3: we have
/// seen no key and no attestation.
pub fn believed_level(person: &UpstreamPerson, believe_acr: bool) -> Level {
    let says_two = person.acr.as_deref().is_some_and(|acr| TWO_FACTORS.contains(&acr));
    let says_several = person.amr.iter().any(|method| method == SEVERAL_FACTORS);
    if believe_acr && (says_two || says_several) { Level::Aal2 } else { Level::Aal1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(acr: Option<&str>, amr: &[&str], believe_acr: bool) -> Level {
        let person = UpstreamPerson {
            issuer: "https://login.acme.test".to_owned(),
            subject: "ana".to_owned(),
            session: None,
            email: None,
            email_verified: None,
            acr: acr.map(str::to_owned),
            amr: amr.iter().map(ToString::to_string).collect(),
            auth_time: None,
            claims: serde_json::Map::new(),
        };
        believed_level(&person, believe_acr)
    }

    #[test]
    fn a_provider_is_one_factor_unless_its_word_counts() {
        for acr in ["aal2", "phr", "phrh"] {
            assert_eq!(level(Some(acr), &[], true), Level::Aal2, "{acr}");
            assert_eq!(level(Some(acr), &["mfa"], false), Level::Aal1, "{acr}");
        }
        assert_eq!(level(None, &["pwd", "mfa"], true), Level::Aal2);
        assert_eq!(level(Some("1"), &["mfa"], true), Level::Aal2);
        assert_eq!(level(None, &["mfa"], false), Level::Aal1);
    }

    #[test]
    fn nothing_is_the_third_level_and_nothing_else_is_the_second() {
        for acr in ["aal3", "AAL2", "aal2 ", "urn:mace:incommon:iap:silver", "2", ""] {
            assert_eq!(level(Some(acr), &["hwk", "MFA", "mfa "], true), Level::Aal1, "{acr}");
        }
        assert_eq!(level(None, &[], true), Level::Aal1);
    }
}
