//! What organizations require of people, in flows.

use super::*;
use crate::domain::authorization::Denial;

/// Facts of one organization that requires something.
fn requiring(required: Acr) -> AuthorizationFacts {
    let acme = MembershipChoice { required, ..place("acme") };
    AuthorizationFacts { memberships: vec![acme], ..facts(&[], ConsentRule::FirstParty) }
}

#[test]
fn what_the_organization_requires_is_asked_for_once_it_is_known() {
    let seed = seed(Some(request()));
    let both = AuthorizationFacts {
        memberships: vec![place("other"), requiring(Acr::Aal2).memberships.remove(0)],
        ..facts(&[], ConsentRule::FirstParty)
    };
    let methods = &[Method::Password, Method::Passkey][..];
    let mut flow = Flow::Unborn;
    take(&mut flow, &seed, identify());
    let material_of = |facts: &AuthorizationFacts| material(Some(facts.clone()));
    let password =
        || Step::Prove { proved: proved("password", methods), material: material_of(&both) };
    take(&mut flow, &seed, password());
    let Flow::Open(open) = &flow else { panic!("{flow:?}") };
    assert_eq!(open.stage, Stage::Organization);
    take(&mut flow, &seed, choose("acme", both.clone()));
    let Flow::Open(open) = &flow else { panic!("{flow:?}") };
    assert_eq!((open.stage, open.required(&rules())), (Stage::Credential, Level::Aal2));
    assert!(open.offers(&rules(), SignOnOffer::None).contains(&"passkey"));
    // The same factor again is not more.
    take(&mut flow, &seed, password());
    let Flow::Open(open) = &flow else { panic!("{flow:?}") };
    assert_eq!(open.stage, Stage::Credential);
    let passkey = Step::Prove { proved: proved("passkey", methods), material: material_of(&both) };
    let granted = granted(&take(&mut flow, &seed, passkey)).unwrap();
    assert_eq!((granted.organization(), granted.level), (Some("acme"), Level::Aal2));
}

#[test]
fn what_the_account_cannot_prove_is_refused_and_not_asked_for() {
    let seed = seed(Some(request()));
    for (required, methods) in [
        (Acr::Aal2, &[Method::Password][..]),
        (Acr::Phr, &[Method::Password, Method::Totp]),
        (Acr::Aal3, &[Method::Password, Method::Passkey]),
        // It was attested, and no attestation counts here.
        (Acr::Phrh, &[Method::Password, Method::Passkey, Method::AttestedPasskey]),
    ] {
        let mut flow = Flow::Unborn;
        take(&mut flow, &seed, identify());
        let given = || material(Some(requiring(required)));
        let prove = |step| Step::Prove { proved: proved(step, methods), material: given() };
        take(&mut flow, &seed, prove("password"));
        if let Flow::Open(open) = &flow
            && open.stage == Stage::SecondFactor
        {
            take(&mut flow, &seed, prove("totp"));
        }
        let Flow::Over(over) = &flow else { panic!("{required:?}: {flow:?}") };
        assert_eq!(over.denial, Some(Denial::NotSureEnough));
    }
}

#[test]
fn a_person_who_signed_in_before_is_asked_for_what_the_organization_requires() {
    let mut seed = in_session("sign_in", Stage::Organization, Some(request()));
    let signed_in = seed.signed_in.as_mut().unwrap();
    (signed_in.question, signed_in.methods) = (None, Vec::new());
    let strict = AuthorizationFacts {
        memberships: vec![place("other"), requiring(Acr::Aal2).memberships.remove(0)],
        ..facts(&[], ConsentRule::FirstParty)
    };
    let methods = vec![Method::Password, Method::Totp];
    let material = Box::new(Material { methods, ..*material(Some(strict)) });
    let mut flow = Flow::Unborn;
    take(&mut flow, &seed, Step::Choose { organization: "acme".to_owned(), material });
    let Flow::Open(open) = &flow else { panic!("{flow:?}") };
    assert_eq!(open.stage, Stage::SecondFactor, "the password of the session counts");
}
