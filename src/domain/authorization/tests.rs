use super::*;
use crate::domain::{
    Timestamp,
    assurance::{Evidence, Worth},
    authority::{Audience, Permission, Scopes},
    authorization_details::{Details, SubsetRules, Texts},
    consent::Terms,
    resource::DetailType,
};
use std::time::Duration;

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

pub(super) fn request(scope: &str) -> RequestedGrant {
    let api = Scopes::parse(scope).unwrap().of_apis().next().is_some();
    let audience = if api { Audience::Resource("api".to_owned()) } else { Audience::Issuer };
    RequestedGrant::plain("app", scope, audience)
}

pub(super) fn member(slug: &str, enabled: bool) -> MembershipChoice {
    let read = Permission::parse("invoices:read").unwrap();
    MembershipChoice {
        required_connections: Vec::new(),
        membership: Some(format!("{slug}-membership")),
        organization: slug.to_owned(),
        name: slug.to_uppercase(),
        enabled,
        epoch: 3,
        signed_out: 0,
        roles: vec!["reader".to_owned()],
        permissions: [&read].into_iter().collect(),
        required: Acr::Aal1,
        requirements: vec![],
    }
}

pub(super) fn facts(memberships: Vec<MembershipChoice>) -> AuthorizationFacts {
    let offered = vec!["invoices:read".to_owned(), "invoices:write".to_owned()];
    let consent = ConsentRule::FirstParty;
    let resource = Some(api());
    let (hears_of_logout, requirements) = (false, vec![]);
    AuthorizationFacts {
        ceiling: None,
        resource,
        offered,
        types: Vec::new(),
        memberships,
        members_of: None,
        consent,
        consent_epoch: 0,
        remembers: None,
        hears_of_logout,
        requirements,
    }
}

fn api() -> ResourceChoice {
    ResourceChoice { identifier: "api".to_owned(), name: Some("Invoices".to_owned()) }
}

fn person() -> Person {
    let evidence = Evidence::of(Worth::PASSWORD.given(NOW));
    Person { account: "ana".to_owned(), epoch: 0, evidence }
}

fn settle(
    request: &RequestedGrant,
    facts: &AuthorizationFacts,
    said: PersonAnswers<'_>,
) -> Settled {
    let subject = Subject { person: &person(), session: "session", now: NOW };
    request.settle(subject, facts, said)
}

/// Returns the organization that was granted for.
fn organization(settled: Settled) -> Option<String> {
    match settled {
        Settled::Granted { grant, .. } => grant.membership.map(|one| one.organization),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_that_an_organization_has_made_serves_its_members_only() {
    let of_acme = |memberships| AuthorizationFacts {
        members_of: Some("acme".to_owned()),
        ..facts(memberships)
    };
    let both = of_acme(vec![member("acme", true), member("other", true)]);
    let settled = settle(&request("openid"), &both, PersonAnswers::default());
    assert_eq!(organization(settled), Some("acme".into()), "without a choice");
    let denied = Settled::Denied(Denial::NotAMember);
    for memberships in [vec![], vec![member("other", true)], vec![member("acme", false)]] {
        let settled = settle(&request("openid"), &of_acme(memberships), PersonAnswers::default());
        assert_eq!(settled, denied);
    }
    let elsewhere = RequestedGrant { organization: Some("other".into()), ..request("openid") };
    assert_eq!(settle(&elsewhere, &both, PersonAnswers::default()), denied);
}

#[test]
fn tokens_speak_for_the_only_organization_or_the_one_asked_for() {
    let one = facts(vec![member("acme", true)]);
    let two = facts(vec![member("acme", true), member("other", true)]);
    assert_eq!(
        organization(settle(&request("openid"), &one, PersonAnswers::default())),
        Some("acme".into())
    );
    let named = RequestedGrant { organization: Some("other".to_owned()), ..request("openid") };
    assert_eq!(organization(settle(&named, &two, PersonAnswers::default())), Some("other".into()));
    let Settled::ChooseOrganization(choices) =
        settle(&request("openid"), &two, PersonAnswers::default())
    else {
        panic!("there are two");
    };
    assert_eq!(choices.iter().map(|one| &*one.slug).collect::<Vec<_>>(), ["acme", "other"]);
    let said = PersonAnswers { organization: Some("acme"), ..PersonAnswers::default() };
    assert_eq!(organization(settle(&request("openid"), &two, said)), Some("acme".into()));
    assert_eq!(
        organization(settle(&request("openid"), &facts(vec![]), PersonAnswers::default())),
        None
    );
}

#[test]
fn a_choice_never_overrules_what_the_client_asked_for() {
    let two = facts(vec![member("acme", true), member("other", true)]);
    let named = RequestedGrant { organization: Some("other".to_owned()), ..request("openid") };
    let said = PersonAnswers { organization: Some("acme"), allowed: Allowed::For(Some("acme")) };
    assert_eq!(organization(settle(&named, &two, said)), Some("other".into()));
}

#[test]
fn an_organization_that_is_not_theirs_or_is_suspended_denies() {
    let denied = Settled::Denied(Denial::NotAMember);
    let acme = facts(vec![member("acme", true), member("gone", false)]);
    for slug in ["other", "gone"] {
        let named = RequestedGrant { organization: Some(slug.to_owned()), ..request("openid") };
        assert_eq!(settle(&named, &acme, PersonAnswers::default()), denied, "{slug}");
    }
    let only = facts(vec![member("gone", false)]);
    assert_eq!(settle(&request("openid"), &only, PersonAnswers::default()), denied, "the only one");
}

#[test]
fn what_roles_or_registration_do_not_cover_is_refused_whole() {
    let acme = facts(vec![member("acme", true)]);
    let too_much = |scope: &str| Settled::Denied(Denial::TooMuch { scope: Some(scope.to_owned()) });
    let asked = request("openid invoices:read invoices:write");
    assert_eq!(settle(&asked, &acme, PersonAnswers::default()), too_much("invoices:write"));
    let nowhere = facts(vec![]);
    let asked = request("invoices:read");
    assert_eq!(settle(&asked, &nowhere, PersonAnswers::default()), too_much("invoices:read"));
    let ceiling = Some(Scopes::parse("openid").unwrap());
    let registered = AuthorizationFacts { ceiling, ..acme };
    assert_eq!(settle(&asked, &registered, PersonAnswers::default()), too_much("invoices:read"));
}

#[test]
fn consent_is_asked_until_it_is_given_and_again_when_anything_grows() {
    let given = |scope| {
        let (scopes, audiences) = (Scopes::parse(scope).unwrap(), vec![Audience::Issuer]);
        ConsentRule::Remembered(Some(Terms { scopes, audiences, claims: Vec::new() }))
    };
    let with = |consent| AuthorizationFacts { consent, ..facts(vec![]) };
    let asked = request("openid email");
    let allowed = PersonAnswers { organization: None, allowed: Allowed::For(None) };
    for (rule, asks) in [
        (ConsentRule::FirstParty, false),
        (ConsentRule::Remembered(None), true),
        (given("openid"), true),
        (given("email openid profile"), false),
        (ConsentRule::Always, true),
    ] {
        let facts = with(rule.clone());
        let settled = settle(&asked, &facts, PersonAnswers::default());
        assert_eq!(matches!(settled, Settled::AskConsent(_)), asks, "{rule:?}");
        assert!(matches!(settle(&asked, &facts, allowed), Settled::Granted { .. }));
    }
    let again = RequestedGrant { prompt: Prompt { consent: true, ..Prompt::default() }, ..asked };
    let settled = settle(&again, &with(given("openid email")), PersonAnswers::default());
    assert!(matches!(settled, Settled::AskConsent(_)), "{settled:?}");
}

#[test]
fn consent_for_one_organization_says_nothing_of_another() {
    let asked = request("openid");
    let rule = ConsentRule::Always;
    let at = |slug| AuthorizationFacts { consent: rule.clone(), ..facts(vec![member(slug, true)]) };
    let said = PersonAnswers { organization: None, allowed: Allowed::For(Some("acme")) };
    assert!(matches!(settle(&asked, &at("acme"), said), Settled::Granted { .. }));
    let Settled::AskConsent(question) = settle(&asked, &at("other"), said) else {
        panic!("they have moved");
    };
    assert_eq!(question.organization.map(|choice| choice.slug).as_deref(), Some("other"));
}

#[test]
fn a_person_is_shown_the_api_the_organization_and_the_roles_that_tokens_will_carry() {
    let facts =
        AuthorizationFacts { consent: ConsentRule::Always, ..facts(vec![member("acme", true)]) };
    for (scope, roles) in [("openid invoices:read", &["reader"][..]), ("openid", &[])] {
        let asked =
            RequestedGrant { audience: Audience::Resource("api".to_owned()), ..request(scope) };
        let Settled::AskConsent(question) = settle(&asked, &facts, PersonAnswers::default()) else {
            panic!("it is always asked");
        };
        assert_eq!(question.resource, Some(api()), "{scope}");
        assert_eq!(question.organization.unwrap().name, "ACME");
        assert_eq!(question.roles, roles, "{scope}");
    }
}

#[test]
fn consent_is_asked_before_a_choice_of_organization_is_told_to_a_silent_client() {
    let several = facts(vec![member("acme", true), member("other", true)]);
    let prompt = Prompt { none: true, ..Prompt::default() };
    let silent = RequestedGrant { prompt, ..request("openid") };
    let third_party = AuthorizationFacts { consent: ConsentRule::Remembered(None), ..several };
    let settled = settle(&silent, &third_party, PersonAnswers::default());
    assert_eq!(settled, Settled::AskConsent(Box::new(third_party.question(None, &silent))));
    let own = AuthorizationFacts { consent: ConsentRule::FirstParty, ..third_party };
    let settled = settle(&silent, &own, PersonAnswers::default());
    assert!(matches!(settled, Settled::ChooseOrganization(_)), "{settled:?}");
}

#[test]
fn a_client_does_not_learn_in_silence_where_a_person_belongs() {
    let silent = Prompt { none: true, ..Prompt::default() };
    let rule = ConsentRule::Remembered(None);
    let acme = AuthorizationFacts { consent: rule, ..facts(vec![member("acme", true)]) };
    let ask = |organization: Option<&str>, scope| {
        let organization = organization.map(str::to_owned);
        let asked = RequestedGrant { prompt: silent, organization, ..request(scope) };
        settle(&asked, &acme, PersonAnswers::default())
    };
    for (organization, scope) in
        [(Some("acme"), "openid"), (Some("other"), "openid"), (None, "invoices:write")]
    {
        let settled = ask(organization, scope);
        assert!(matches!(settled, Settled::AskConsent(_)), "{organization:?} {scope}: {settled:?}");
    }
}

#[test]
fn a_sign_in_that_is_too_old_is_asked_for_again() {
    let aged = |max_age| RequestedGrant { max_age, ..request("openid") };
    let hour = NOW + Duration::from_hours(1);
    for (max_age, fresh) in
        [(None, false), (Some(3_600), false), (Some(3_599), true), (Some(0), true)]
    {
        assert_eq!(aged(max_age).wants_fresh_sign_in(&person(), hour), fresh, "{max_age:?}");
    }
    assert!(aged(Some(0)).wants_fresh_sign_in(&person(), NOW));
    let login = Prompt { login: true, ..Prompt::default() };
    assert!(
        RequestedGrant { prompt: login, ..request("openid") }.wants_fresh_sign_in(&person(), NOW)
    );
}

#[test]
fn what_the_organization_requires_is_proved_before_anything_is_granted_or_asked() {
    let strict = |required| {
        let acme = MembershipChoice { required, ..member("acme", true) };
        facts(vec![acme, member("other", true)])
    };
    let acme = PersonAnswers { organization: Some("acme"), ..PersonAnswers::default() };
    let other = PersonAnswers { organization: Some("other"), ..PersonAnswers::default() };
    let asked = request("openid invoices:read");
    for required in [Acr::Aal2, Acr::Aal3, Acr::Phr, Acr::Phrh] {
        let facts = strict(required);
        assert_eq!(settle(&asked, &facts, acme), Settled::ProveMore(required));
        // Of another organization nothing more is required.
        assert_eq!(organization(settle(&asked, &facts, other)).as_deref(), Some("other"));
        let third = AuthorizationFacts { consent: ConsentRule::Remembered(None), ..facts.clone() };
        assert_eq!(settle(&asked, &third, acme), Settled::ProveMore(required));
        // In silence a client that has no consent hears that, and nothing of the organization.
        let prompt = Prompt { none: true, ..Prompt::default() };
        let silent =
            RequestedGrant { prompt, organization: Some("acme".to_owned()), ..asked.clone() };
        let settled = settle(&silent, &third, PersonAnswers::default());
        assert!(matches!(settled, Settled::AskConsent(_)), "{settled:?}");
        // More than is held there is refused, whatever would be proved.
        let wide = settle(&request("openid invoices:write"), &facts, acme);
        assert!(matches!(wide, Settled::Denied(Denial::TooMuch { .. })), "{wide:?}");
        let key = Evidence::of(Worth::ATTESTED_PASSKEY.given(NOW));
        let person = Person { evidence: key, ..person() };
        let subject = Subject { person: &person, session: "session", now: NOW };
        let granted = asked.settle(subject, &facts, acme);
        assert_eq!(organization(granted).as_deref(), Some("acme"));
    }
    let settled = settle(&asked, &strict(Acr::Aal1), acme);
    assert_eq!(organization(settled).as_deref(), Some("acme"));
}

/// A payment that a holder of the permission may grant.
fn payment(permission: Option<&str>, irreversible: bool) -> DetailType {
    DetailType {
        name: "payment".to_owned(),
        schema: serde_json::json!({ "required": ["amount"] }),
        permission: permission.map(|text| Permission::parse(text).unwrap()),
        irreversible,
        subset: SubsetRules::default(),
        text: Texts { en: Some("Pay {amount}".to_owned()), pt: None },
    }
}

fn in_detail(text: &str) -> RequestedGrant {
    let details = Details::parse(text).unwrap();
    let audience = Audience::Resource("api".to_owned());
    RequestedGrant { audience, details, ..request("openid") }
}

#[test]
fn details_are_granted_by_those_who_hold_what_their_type_demands() {
    let acme = |kind| AuthorizationFacts { types: vec![kind], ..facts(vec![member("acme", true)]) };
    let asked = in_detail("[{\"type\":\"payment\",\"amount\":1}]");
    let settled =
        settle(&asked, &acme(payment(Some("invoices:read"), false)), PersonAnswers::default());
    let Settled::Granted { grant, .. } = settled else { panic!("{settled:?}") };
    assert_eq!(grant.details, asked.details);
    let lacking = acme(payment(Some("invoices:write"), false));
    let denied = settle(&asked, &lacking, PersonAnswers::default());
    assert_eq!(denied, Settled::Denied(Denial::DetailsNotHeld));
    let nowhere = AuthorizationFacts { memberships: vec![], ..lacking };
    let denied = settle(&asked, &nowhere, PersonAnswers::default());
    assert_eq!(denied, Settled::Denied(Denial::DetailsNotHeld));
    // The type is gone, or admits something else now.
    let gone = facts(vec![member("acme", true)]);
    let bad = in_detail("[{\"type\":\"payment\"}]");
    for (asked, facts) in [(&asked, gone), (&bad, acme(payment(None, false)))] {
        let denied = settle(asked, &facts, PersonAnswers::default());
        assert_eq!(denied, Settled::Denied(Denial::DetailsNotOffered));
    }
    // Without a demand of its type a person grants it who holds nothing there.
    let free = AuthorizationFacts { types: vec![payment(None, false)], ..facts(vec![]) };
    let settled = settle(&asked, &free, PersonAnswers::default());
    assert!(matches!(settled, Settled::Granted { .. }), "{settled:?}");
}

#[test]
fn details_are_consented_to_each_time_and_irreversible_ones_by_two_factors() {
    let asked = in_detail("[{\"type\":\"payment\",\"amount\":1}]");
    let with = |consent, irreversible| {
        let types = vec![payment(None, irreversible)];
        AuthorizationFacts { types, consent, ..facts(vec![]) }
    };
    let terms = Terms {
        scopes: Scopes::parse("openid").unwrap(),
        audiences: vec![asked.audience.clone()],
        claims: vec![],
    };
    let given = ConsentRule::Remembered(Some(terms));
    let settled = settle(&asked, &with(given.clone(), false), PersonAnswers::default());
    let Settled::AskConsent(question) = settled else { panic!("{settled:?}") };
    assert_eq!(question.details[0].text.en, "Pay 1");
    assert_eq!(question.details[0].text.pt, "payment: amount 1");
    let allowed = PersonAnswers { organization: None, allowed: Allowed::For(None) };
    let settled = settle(&asked, &with(given.clone(), false), allowed);
    assert!(matches!(settled, Settled::Granted { .. }), "{settled:?}");
    for (rule, said) in [(ConsentRule::FirstParty, PersonAnswers::default()), (given, allowed)] {
        let facts = with(rule, true);
        assert_eq!(settle(&asked, &facts, said), Settled::ProveMore(Acr::Aal2));
        let passkey = Evidence::of(Worth::ATTESTED_PASSKEY.given(NOW));
        let person = Person { evidence: passkey, ..person() };
        let subject = Subject { person: &person, session: "session", now: NOW };
        let settled = asked.settle(subject, &facts, said);
        assert!(matches!(settled, Settled::Granted { .. }), "{settled:?}");
    }
}
