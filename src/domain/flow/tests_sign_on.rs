//! When a flow offers single sign-on, and what it offers beside it.

use super::*;

const SSO: [&str; 2] = ["sso/options", "sso"];

/// The rules, with single sign-on served.
fn rules() -> Arc<Rules> {
    let step = |name, worth, roles| ProofStep { name, preparing: &[], worth, roles };
    let password = step("password", Worth::PASSWORD, &[Role::First]);
    let totp = step("totp", Worth::TOTP, &[Role::Second]);
    let sso = step("sso", Worth::SINGLE_SIGN_ON, &[]);
    Arc::new(Rules::new([password, totp, sso]).serving(SSO))
}

fn take(flow: &mut Flow, seed: &Seed, step: Step, sign_on: SignOnOffer) -> Decision<Flow> {
    let command = Command { rules: rules(), seed: seed.clone(), step, sign_on };
    let decision = flow.decide(&command, NOW);
    decision.events.iter().for_each(|event| flow.apply(event));
    decision
}

fn offers(flow: &Flow, seed: &Seed, sign_on: SignOnOffer) -> Vec<&'static str> {
    match flow.or_begun(seed) {
        Flow::Open(open) => open.offers(&rules(), sign_on),
        _ => Vec::new(),
    }
}

#[test]
fn it_is_offered_beside_the_accounts_own_credentials_or_alone_or_not_at_all() {
    let (seed, mut flow) = (seed(None), Flow::Unborn);
    for named in [false, true] {
        if named {
            take(&mut flow, &seed, identify(), SignOnOffer::Beside);
        }
        let own = offers(&flow, &seed, SignOnOffer::None);
        assert!(!own.is_empty() && !own.contains(&"sso"), "{own:?}");
        let beside = offers(&flow, &seed, SignOnOffer::Beside);
        assert_eq!(beside, own.iter().copied().chain(SSO).collect::<Vec<_>>());
        assert_eq!(offers(&flow, &seed, SignOnOffer::Only), SSO);
    }
}

#[test]
fn where_an_organization_requires_it_no_other_step_is_taken() {
    let (seed, mut flow) = (seed(None), Flow::Unborn);
    for step in [identify(), prove(None), wrong()] {
        let refused = take(&mut flow, &seed, step, SignOnOffer::Only);
        assert_eq!(refused.outcome.unwrap_err(), Refusal::NotNow);
    }
    assert_eq!(flow, Flow::Unborn);
}

#[test]
fn it_is_not_offered_after_a_proof_nor_by_kinds_that_change_the_account() {
    let password =
        |methods| Step::Prove { proved: proved("password", methods), material: material(None) };
    let (begun, mut flow) = (seed(None), Flow::Unborn);
    take(&mut flow, &begun, identify(), SignOnOffer::None);
    take(&mut flow, &begun, password(&[Method::Password, Method::Totp]), SignOnOffer::Beside);
    assert_eq!(stage(&flow), Some(Stage::SecondFactor));
    for offer in [SignOnOffer::Beside, SignOnOffer::Only] {
        assert_eq!(offers(&flow, &begun, offer), ["totp"], "{offer:?}");
    }
    for kind in ["step_up", "enroll_totp", "recovery", "sign_up", "verify_email", "sign_out"] {
        let seed = in_session(kind, Stage::Credential, None);
        for offer in [SignOnOffer::Beside, SignOnOffer::Only] {
            let offered = offers(&Flow::Unborn, &seed, offer);
            assert!(!offered.contains(&"sso"), "{kind} {offer:?}: {offered:?}");
        }
    }
}

#[test]
fn an_organization_that_wants_it_after_a_proof_is_offered_it_alone() {
    let mut seed = in_session("sign_in", Stage::Credential, Some(request()));
    seed.signed_in.as_mut().unwrap().sign_on = Some("acme".to_owned());
    assert_eq!(offers(&Flow::Unborn, &seed, SignOnOffer::Beside), SSO);
    assert_eq!(offers(&Flow::Unborn, &seed, SignOnOffer::Only), SSO);
    assert!(
        offers(&Flow::Unborn, &seed, SignOnOffer::None).is_empty(),
        "nothing else counts there"
    );
}

#[test]
fn an_installation_that_does_not_serve_it_offers_nothing_of_it() {
    let open = seed(None).open();
    for offer in [SignOnOffer::Beside, SignOnOffer::Only] {
        let offered = open.offers(&super::rules(), offer);
        assert!(!offered.contains(&"sso"), "{offered:?}");
    }
}
