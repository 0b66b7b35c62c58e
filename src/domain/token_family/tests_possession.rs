//! Codes and refresh tokens that are bound to a key.

use super::{
    tests::{NOW, ask, begin, fingerprint, redeem, refresh},
    *,
};
use crate::domain::{
    dpop::ProofUse,
    possession::{Confirmation, HeldKeys, Possession},
};
use std::time::Duration;

fn held(key: &str) -> HeldKeys {
    HeldKeys { key: Some(fingerprint(key)), certificate: None }
}

/// A public client that proves to hold a key.
fn by_key(key: &str, issuing: Issuing) -> Issuing {
    let bound = Some(Confirmation::Key(fingerprint(key)));
    let possession = Possession { held: held(key), bound, binds_refresh: true, proof: None };
    Issuing { possession, ..issuing }
}

fn confidential(issuing: Issuing) -> Issuing {
    let possession = Possession { binds_refresh: false, ..issuing.possession };
    Issuing { possession, ..issuing }
}

fn redeemed_by(key: &str) -> Command {
    let redeem = redeem();
    Command::Redeem(Box::new(Redeem { issuing: by_key(key, redeem.issuing.clone()), ..redeem }))
}

fn refreshed_by(key: Option<&str>, token: &str, next: &str) -> Command {
    let Refresh { token, issuing } = refresh(token, next);
    let issuing = match key {
        Some(key) => by_key(key, issuing),
        None => issuing,
    };
    Command::Refresh(Box::new(Refresh { token, issuing }))
}

/// A family whose code names a key.
fn pending_for(key: Option<&str>) -> TokenFamily {
    let mut family = TokenFamily::default();
    let begin = Begin { key: key.map(fingerprint), ..begin("openid invoices:read") };
    ask(&mut family, &Command::Begin(Box::new(begin)), NOW).unwrap();
    family
}

#[test]
fn a_code_that_names_a_key_is_redeemed_by_that_key_alone_and_is_not_spent_by_others() {
    let mut family = pending_for(Some("key"));
    let without = Command::Redeem(Box::new(redeem()));
    for stolen in [&without, &redeemed_by("other")] {
        assert_eq!(ask(&mut family, stolen, NOW), Err(Refusal::WrongKey));
    }
    assert!(ask(&mut family, &redeemed_by("key"), NOW).is_ok());
    assert!(ask(&mut pending_for(None), &redeemed_by("key"), NOW).is_ok());
}

#[test]
fn refresh_tokens_of_a_public_client_need_the_key_of_the_first() {
    let mut family = pending_for(None);
    ask(&mut family, &redeemed_by("key"), NOW).unwrap();
    for key in [None, Some("other")] {
        let stolen = refreshed_by(key, "r1", "r2");
        assert_eq!(ask(&mut family, &stolen, NOW), Err(Refusal::WrongKey));
    }
    ask(&mut family, &refreshed_by(Some("key"), "r1", "r2"), NOW).unwrap();
    // A thief without the key proves nothing by a spent token.
    for key in [None, Some("other")] {
        let stolen = refreshed_by(key, "r1", "r3");
        assert_eq!(ask(&mut family, &stolen, NOW), Err(Refusal::WrongKey));
    }
    ask(&mut family, &refreshed_by(Some("key"), "r2", "r3"), NOW).unwrap();
    let reused = refreshed_by(Some("key"), "r2", "r4");
    assert_eq!(ask(&mut family, &reused, NOW), Err(Refusal::Reused));
}

#[test]
fn refresh_tokens_of_a_confidential_client_follow_no_key() {
    let mut family = pending_for(None);
    let redeem = redeem();
    let issuing = confidential(by_key("key", redeem.issuing.clone()));
    ask(&mut family, &Command::Redeem(Box::new(Redeem { issuing, ..redeem })), NOW).unwrap();
    let Refresh { token, issuing } = refresh("r1", "r2");
    let issuing = confidential(by_key("other", issuing));
    assert!(ask(&mut family, &Command::Refresh(Box::new(Refresh { token, issuing })), NOW).is_ok());
}

#[test]
fn a_proof_is_used_up_by_the_commit_that_issues_and_by_no_other() {
    let mut family = pending_for(None);
    let proof = ProofUse { id: "proof".to_owned(), expires_at: NOW + Duration::from_mins(5) };
    let redeem = redeem();
    let possession = Possession { proof: Some(proof), ..Possession::default() };
    let issuing = Issuing { possession, ..redeem.issuing.clone() };
    let command = Command::Redeem(Box::new(Redeem { issuing, ..redeem }));
    let decision = family.decide(&command, NOW);
    let born: Vec<&str> = decision.effects.births.iter().map(|birth| &*birth.id).collect();
    assert_eq!(born, ["proof"]);
    ask(&mut family, &command, NOW).unwrap();
    // The same request again is answered as before, and uses nothing up.
    let again = family.decide(&command, NOW);
    assert!(again.effects.births.is_empty() && again.events.is_empty());
}
