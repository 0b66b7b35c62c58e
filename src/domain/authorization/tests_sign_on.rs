//! What a request comes to for a person who came by single sign-on (adr/0135).

use super::{
    tests::{NOW, facts, member, request},
    *,
};
use crate::domain::assurance::{Evidence, SingleSignOn, Worth};

fn came_by(connection: &str, worth: Worth) -> Person {
    let sign_on = SingleSignOn {
        organization: Some("acme".to_owned()),
        connection: connection.to_owned(),
        session: "upstream".to_owned(),
        identity: "identity".to_owned(),
        epoch: 2,
    };
    let evidence = Evidence::of(worth.given(NOW).through(sign_on));
    Person { account: "ana".to_owned(), epoch: 1, evidence }
}

fn with_password(person: &Person) -> Person {
    let evidence = person.evidence.and(Worth::PASSWORD.given(NOW));
    Person { evidence, ..person.clone() }
}

fn settle(person: &Person, wanted: Option<&str>, facts: &AuthorizationFacts) -> Settled {
    let organization = wanted.map(str::to_owned);
    let request = RequestedGrant { organization, ..request("openid") };
    let subject = Subject { person, session: "session", now: NOW };
    request.settle(subject, facts, PersonAnswers::default())
}

fn both() -> AuthorizationFacts {
    facts(vec![member("acme", true), member("globex", true)])
}

#[test]
fn it_grants_for_its_organization_and_names_what_the_grant_rests_on() {
    let person = came_by("c", Worth::SINGLE_SIGN_ON);
    let Settled::Granted { grant, .. } = settle(&person, Some("acme"), &both()) else {
        panic!("it counts there");
    };
    assert_eq!(grant.sign_on.as_ref().map(|one| &*one.session), Some("upstream"));
    assert_eq!(grant.epoch, 3, "one of the account, two of the connection");
    let live: Vec<&str> = grant.ancestors().iter().map(Requirement::kind).collect::<Vec<_>>();
    for kind in ["connection", "external_identity", "upstream_session"] {
        assert!(live.contains(&kind), "{live:?}");
    }
    assert!(grant.methods.iter().all(|method| method.names().is_empty()), "`amr` is left out");
}

#[test]
fn it_grants_nothing_for_another_organization_or_for_none_however_sure_the_provider_was() {
    for worth in [Worth::SINGLE_SIGN_ON, Worth::BELIEVED_SIGN_ON] {
        let person = came_by("c", worth);
        let asked_for_more = Settled::ProveMore(Acr::Aal1);
        assert_eq!(settle(&person, Some("globex"), &both()), asked_for_more);
        assert_eq!(settle(&person, None, &facts(vec![])), asked_for_more, "without `org`");
        let own = with_password(&person);
        let Settled::Granted { grant, .. } = settle(&own, Some("globex"), &both()) else {
            panic!("the account's own credential counts everywhere");
        };
        assert!(grant.sign_on.is_none() && grant.level == crate::domain::assurance::Level::Aal1);
    }
}

#[test]
fn an_organization_that_requires_one_takes_no_other_way() {
    let mut requiring = member("acme", true);
    requiring.required_connections = vec!["c".to_owned()];
    let facts = facts(vec![requiring, member("globex", true)]);
    let wanted = Settled::SignOn("acme".to_owned());
    let own = Person {
        evidence: Evidence::of(Worth::PASSKEY.given(NOW)),
        ..came_by("c", Worth::SINGLE_SIGN_ON)
    };
    assert_eq!(settle(&own, Some("acme"), &facts), wanted);
    let other = came_by("another", Worth::BELIEVED_SIGN_ON);
    assert_eq!(settle(&other, Some("acme"), &facts), wanted);
    let right = came_by("c", Worth::SINGLE_SIGN_ON);
    assert!(matches!(settle(&right, Some("acme"), &facts), Settled::Granted { .. }));
    assert!(matches!(settle(&own, Some("globex"), &facts), Settled::Granted { .. }));
}

#[test]
fn what_the_organization_requires_beside_it_is_asked_for() {
    let mut sure = member("acme", true);
    sure.required = Acr::Aal2;
    let facts = facts(vec![sure]);
    let once = came_by("c", Worth::SINGLE_SIGN_ON);
    assert_eq!(settle(&once, Some("acme"), &facts), Settled::ProveMore(Acr::Aal2));
    let believed = came_by("c", Worth::BELIEVED_SIGN_ON);
    assert!(matches!(settle(&believed, Some("acme"), &facts), Settled::Granted { .. }));
    let evidence = once.evidence.and(Worth::TOTP.given(NOW));
    let with_code = Person { evidence, ..once };
    assert!(matches!(settle(&with_code, Some("acme"), &facts), Settled::Granted { .. }));
}
