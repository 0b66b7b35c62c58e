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
}

#[test]
fn a_wish_is_met_by_its_level_and_for_phishing_by_a_passkey() {
    let both = Evidence::of(Worth::PASSWORD.given(NOW)).and(Worth::TOTP.given(NOW));
    let passkey = Evidence::of(Worth::PASSKEY.given(NOW));
    for (acr, by_both, by_passkey) in [
        (Acr::Aal1, true, true),
        (Acr::Aal2, true, true),
        (Acr::Phr, false, true),
        (Acr::Phrh, false, true),
    ] {
        assert_eq!(acr.is_met_by(&both, NOW), by_both, "{acr:?}");
        assert_eq!(acr.is_met_by(&passkey, NOW), by_passkey, "{acr:?}");
        assert!(!acr.is_met_by(&Evidence::default(), NOW), "{acr:?}");
    }
    // A passkey of yesterday and two other factors of today resist nothing.
    let day = NOW + AAL2_LIVES;
    let later = passkey.and(Worth::PASSWORD.given(day)).and(Worth::TOTP.given(day));
    assert!(Acr::Aal2.is_met_by(&later, day) && !Acr::Phr.is_met_by(&later, day));
}

#[test]
fn what_an_account_can_reach_follows_from_what_it_has() {
    use Method::{EmailCode, Passkey, Password, RecoveryCode, Totp};
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
        assert_eq!(Acr::Phrh.is_reachable_by(methods), phr, "{methods:?}");
    }
}
