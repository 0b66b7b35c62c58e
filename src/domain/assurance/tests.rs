use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

#[test]
fn the_level_follows_from_the_factors() {
    assert_eq!(Evidence::default().level(NOW), None);
    let proved = Evidence::of(Worth::PASSWORD.given(NOW));
    assert_eq!((proved.level(NOW), proved.last()), (Some(Level::Aal1), Some(NOW)));
    assert_eq!(proved.methods(), [Method::Password]);
    let twice = proved.and(Worth::PASSWORD.given(NOW));
    assert_eq!((twice.level(NOW), twice.methods().len()), (Some(Level::Aal1), 1));
    let both = proved.and(Worth::TOTP.given(NOW));
    assert_eq!(both.level(NOW), Some(Level::Aal2));
    assert_eq!(both.methods(), [Method::Password, Method::Totp]);
}

#[test]
fn one_proof_may_be_worth_two_factors_or_none() {
    let two = &[Factor::Possession, Factor::Knowledge];
    let passkey = Worth { method: Method::Totp, factors: two };
    assert_eq!(Evidence::of(passkey.given(NOW)).level(NOW), Some(Level::Aal2));
    let none = Worth { method: Method::Totp, factors: &[] };
    let added = Evidence::of(Worth::PASSWORD.given(NOW)).and(none.given(NOW));
    assert_eq!(added.level(NOW), Some(Level::Aal1));
}

#[test]
fn two_factors_lapse_after_a_day_or_an_hour_unused_until_the_next_proof() {
    let both = Evidence::of(Worth::PASSWORD.given(NOW)).and(Worth::TOTP.given(NOW));
    let day = NOW + AAL2_LIVES;
    assert_eq!(both.level(day - Duration::from_millis(1)), Some(Level::Aal2));
    assert_eq!(both.level(day), Some(Level::Aal1));
    let hour = NOW + AAL2_IDLE;
    let used = both.after_use(NOW, hour - Duration::from_millis(1));
    assert_eq!(used.level(hour), Some(Level::Aal2));
    let unused = both.after_use(NOW, hour);
    assert_eq!(unused.level(hour), Some(Level::Aal1));
    let later = unused.after_use(hour, hour + Duration::from_secs(1));
    assert_eq!(later.level(hour), Some(Level::Aal1), "use does not bring it back");
    assert_eq!(later.and(Worth::TOTP.given(hour)).level(hour), Some(Level::Aal2));
    let mailed = later.and(Worth::EMAIL_CODE.given(hour));
    assert_eq!(mailed.level(hour), Some(Level::Aal1), "mail brings no factor back");
}

#[test]
fn a_factor_lapses_by_its_own_age() {
    let both = Evidence::of(Worth::PASSWORD.given(NOW)).and(Worth::TOTP.given(NOW));
    let day = NOW + AAL2_LIVES;
    let password = both.and(Worth::PASSWORD.given(day));
    assert_eq!(password.level(day), Some(Level::Aal1), "the code is a day old");
    assert!(password.proves(Factor::Knowledge, day));
    assert!(!password.proves(Factor::Possession, day));
    assert_eq!(password.methods(), [Method::Password, Method::Totp], "in the order of before");
    assert_eq!(password.and(Worth::TOTP.given(day)).level(day), Some(Level::Aal2));
    assert_eq!(password.proofs.len(), 2, "a session does not grow with every proof");
}

#[test]
fn only_what_was_proved_a_moment_ago_is_fresh() {
    let moment = Duration::from_millis(1);
    let password = Evidence::of(Worth::PASSWORD.given(NOW));
    let late = NOW + FRESH_FOR;
    assert!(password.is_fresh(Level::Aal1, late));
    assert!(!password.is_fresh(Level::Aal1, late + moment));
    assert!(!password.is_fresh(Level::Aal2, NOW));
    let both = password.and(Worth::TOTP.given(NOW + moment));
    assert!(both.is_fresh(Level::Aal2, late));
    assert!(!both.is_fresh(Level::Aal2, late + moment), "the password is too old");
    let again = both.and(Worth::PASSWORD.given(late + moment));
    assert!(again.is_fresh(Level::Aal2, late + moment));
    assert!(!again.is_fresh(Level::Aal2, late + 2 * moment), "so is the code by now");
    assert!(!Evidence::default().is_fresh(Level::Aal1, NOW));
}

#[test]
fn what_a_token_says_lapses_as_well() {
    let day = NOW + AAL2_LIVES;
    assert_eq!(Level::Aal2.lapsed(NOW, day - Duration::from_millis(1)), Level::Aal2);
    assert_eq!(Level::Aal2.lapsed(NOW, day), Level::Aal1);
    assert_eq!(Level::Aal1.lapsed(NOW, day), Level::Aal1);
    let half = NOW + AAL3_LIVES;
    assert_eq!(Level::Aal3.lapsed(NOW, half - Duration::from_millis(1)), Level::Aal3);
    assert_eq!(Level::Aal3.lapsed(NOW, half), Level::Aal2);
    assert_eq!(Level::Aal3.lapsed(NOW, day), Level::Aal1);
}

#[test]
fn only_hardware_that_was_attested_is_the_highest_level() {
    for worth in Worth::ALL {
        let level = Evidence::of(worth.given(NOW)).level(NOW);
        let is_highest = level == Some(Level::Aal3);
        assert_eq!(is_highest, worth == Worth::ATTESTED_PASSKEY, "{worth:?}");
    }
    let rest = Worth::ALL.into_iter().filter(|worth| *worth != Worth::ATTESTED_PASSKEY);
    let all = rest.fold(Evidence::default(), |all, worth| all.and(worth.given(NOW)));
    assert_eq!(all.level(NOW), Some(Level::Aal2), "nothing else adds up to it");
}

#[test]
fn the_highest_level_lapses_after_twelve_hours_and_a_quarter_of_an_hour_unused() {
    let key = Evidence::of(Worth::ATTESTED_PASSKEY.given(NOW));
    let (instant, half) = (Duration::from_millis(1), NOW + AAL3_LIVES);
    assert_eq!(key.level(half - instant), Some(Level::Aal3));
    assert_eq!(key.level(half), Some(Level::Aal2));
    let later = NOW + AAL3_IDLE;
    assert_eq!(key.after_use(NOW, later - instant).level(later), Some(Level::Aal3));
    let unused = key.after_use(NOW, later);
    assert_eq!(unused.level(later), Some(Level::Aal2));
    assert_eq!(unused.after_use(later, later).level(later), Some(Level::Aal2), "it stays so");
    let text = serde_json::to_string(&unused).unwrap();
    assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), unused);
    for worth in Worth::ALL {
        let again = unused.and(worth.given(later)).level(later);
        let is_highest = again == Some(Level::Aal3);
        assert_eq!(is_highest, worth == Worth::ATTESTED_PASSKEY, "the key alone: {worth:?}");
    }
    // Of others nothing of this is kept.
    let passkey = Evidence::of(Worth::PASSKEY.given(NOW));
    assert_eq!(passkey.after_use(NOW, later), passkey);
}

#[test]
fn a_wish_is_met_by_its_level_and_for_phishing_by_a_passkey() {
    let both = Evidence::of(Worth::PASSWORD.given(NOW)).and(Worth::TOTP.given(NOW));
    let passkey = Evidence::of(Worth::PASSKEY.given(NOW));
    let bound = Evidence::of(Worth::DEVICE_PASSKEY.given(NOW));
    let attested = Evidence::of(Worth::ATTESTED_PASSKEY.given(NOW));
    for (acr, by_both, by_passkey) in [
        (Acr::Aal1, true, true),
        (Acr::Aal2, true, true),
        (Acr::Aal3, false, false),
        (Acr::Phr, false, true),
        (Acr::Phrh, false, false),
    ] {
        assert_eq!(acr.is_met_by(&both, NOW), by_both, "{acr:?}");
        assert_eq!(acr.is_met_by(&passkey, NOW), by_passkey, "{acr:?}");
        assert_eq!(acr.is_met_by(&bound, NOW), by_passkey, "{acr:?}");
        assert!(acr.is_met_by(&attested, NOW), "{acr:?}");
        assert!(!acr.is_met_by(&Evidence::default(), NOW), "{acr:?}");
    }
    // A passkey of yesterday and two other factors of today resist nothing.
    let day = NOW + AAL2_LIVES;
    let later = passkey.and(Worth::PASSWORD.given(day)).and(Worth::TOTP.given(day));
    assert!(Acr::Aal2.is_met_by(&later, day) && !Acr::Phr.is_met_by(&later, day));
    let half = NOW + AAL3_LIVES;
    assert!(Acr::Phrh.is_met_by(&attested, half) && !Acr::Aal3.is_met_by(&attested, half));
}

#[test]
fn what_an_account_can_reach_follows_from_what_it_has() {
    use Method::{AttestedPasskey, EmailCode, Passkey, Password, RecoveryCode, Totp};
    for (methods, aal2, phr) in [
        (&[][..], false, false),
        (&[Password], false, false),
        (&[Totp], false, false),
        (&[Totp, EmailCode], false, false),
        (&[Totp, RecoveryCode], false, false),
        (&[Password, Totp], true, false),
        (&[Password, RecoveryCode], true, false),
        (&[Passkey], true, true),
    ] {
        assert!(Acr::Aal1.is_reachable_by(methods));
        assert_eq!(Acr::Aal2.is_reachable_by(methods), aal2, "{methods:?}");
        assert_eq!(Acr::Phr.is_reachable_by(methods), phr, "{methods:?}");
        for hardware in [Acr::Aal3, Acr::Phrh] {
            assert!(!hardware.is_reachable_by(methods), "{methods:?}");
            let attested = [methods, &[Passkey, AttestedPasskey]].concat();
            assert!(hardware.is_reachable_by(&attested), "{attested:?}");
            assert_eq!(hardware.within(&attested), Some(hardware));
        }
        // Any passkey is a part of what is asked; of a level there are no parts.
        assert_eq!(Acr::Phrh.within(methods), phr.then_some(Acr::Phr), "{methods:?}");
        assert_eq!(Acr::Aal3.within(methods), None, "{methods:?}");
    }
}
