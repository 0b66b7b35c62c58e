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
    let refresh = refresh(token, next);
    let issuing = match key {
        Some(key) => by_key(key, refresh.issuing.clone()),
        None => refresh.issuing.clone(),
    };
    Command::Refresh(Box::new(Refresh { issuing, ..refresh }))
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
    let refresh = refresh("r1", "r2");
    let issuing = confidential(by_key("other", refresh.issuing.clone()));
    assert!(
        ask(&mut family, &Command::Refresh(Box::new(Refresh { issuing, ..refresh })), NOW).is_ok()
    );
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

#[test]
fn a_token_that_stays_is_used_again_for_longer_and_a_former_one_ends_nothing() {
    let stay = |token: &str, next: &str| {
        Command::Refresh(Box::new(Refresh { rotates: false, ..refresh(token, next) }))
    };
    let mut family = pending_for(None);
    ask(&mut family, &Command::Redeem(Box::new(redeem())), NOW).unwrap();
    let until = |family: &TokenFamily| match family {
        TokenFamily::Alive(alive) => alive.refresh.unwrap().expires_at,
        _ => panic!("it lives"),
    };
    let first = until(&family);
    for step in 1..4 {
        let later = NOW + std::time::Duration::from_secs(60 * step);
        assert!(ask(&mut family, &stay("r1", &format!("r{}", step + 1)), later).is_ok());
        assert!(until(&family) > first);
    }
    // The client was made to rotate, and then not: what it held before is no sign of a thief.
    ask(&mut family, &Command::Refresh(Box::new(refresh("r1", "r9"))), NOW).unwrap();
    assert_eq!(ask(&mut family, &stay("r1", "r10"), NOW), Err(Refusal::Unknown));
    assert!(ask(&mut family, &stay("r9", "r10"), NOW).is_ok());
    let reused = ask(&mut family, &Command::Refresh(Box::new(refresh("r1", "r11"))), NOW);
    assert_eq!(reused, Err(Refusal::Reused));
}

#[test]
fn a_code_is_no_older_than_the_rules_of_its_client_allow() {
    let longest = Some(std::time::Duration::from_secs(10));
    let command = Command::Redeem(Box::new(Redeem { longest, ..redeem() }));
    let late = NOW + std::time::Duration::from_secs(10);
    assert_eq!(ask(&mut pending_for(None), &command, late), Err(Refusal::Expired));
    assert!(ask(&mut pending_for(None), &command, NOW).is_ok());
}
