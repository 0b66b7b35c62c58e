//! A connection through its life.

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn draft() -> Draft {
    Draft {
        id: "c".to_owned(),
        organization: Some("acme".to_owned()),
        name: Some("Acme Entra".to_owned()),
        kind: Some(Kind::Oidc),
        issuer: Some("https://login.acme.test".to_owned()),
        client_id: Some("porteiro".to_owned()),
        ..Draft::default()
    }
}

fn change() -> Draft {
    Draft { organization: Some("acme".to_owned()), ..Draft::default() }
}

fn provision(connection: &mut Connection, draft: Draft) -> Result<Provisioned, Refusal> {
    decide(connection, &Command::Provision(Box::new(draft)))
}

fn decide(connection: &mut Connection, command: &Command) -> Result<Provisioned, Refusal> {
    let decision = connection.decide(command, NOW);
    decision.events.iter().for_each(|event| connection.apply(event));
    let text = serde_json::to_string(connection).unwrap();
    assert_eq!(serde_json::from_str::<Connection>(&text).unwrap(), *connection);
    decision.outcome
}

fn acme() -> Connection {
    let mut connection = Connection::default();
    assert_eq!(provision(&mut connection, draft()), Ok(Provisioned::Created));
    connection
}

#[test]
fn it_has_one_name_and_one_issuer_within_its_organization() {
    let connection = acme();
    let names = connection.names();
    assert_eq!(names[0], Name::new(CONNECTION_NAMES, "acme Acme Entra"));
    assert_eq!(names[1], Name::new(CONNECTION_ISSUERS, "acme https://login.acme.test"));
    assert_eq!(connection.listings(), [Listing::new(CONNECTIONS, "acme", "Acme Entra")]);
}

#[test]
fn another_client_begins_an_epoch_and_nothing_else_does() {
    let mut connection = acme();
    let mut epoch_after = |draft: Draft| {
        provision(&mut connection, draft).unwrap();
        connection.known().unwrap().epoch
    };
    let roles = vec![RoleMapping {
        claim: "groups".to_owned(),
        value: "finance".to_owned(),
        role: "manager".to_owned(),
    }];
    assert_eq!(epoch_after(Draft { required: Some(true), roles: Some(roles), ..change() }), 0);
    assert_eq!(epoch_after(Draft { client_id: Some("porteiro".to_owned()), ..change() }), 0);
    assert_eq!(epoch_after(Draft { client_id: Some("other".to_owned()), ..change() }), 1);
    let secret = |sealed: &str, mark: &[u8]| {
        let (sealed, mark) = (SealedSecret::new(sealed), Fingerprint::of(mark));
        Draft { secret: Some(Some(ClientSecret { sealed, mark })), ..change() }
    };
    assert_eq!(epoch_after(secret("sealed", b"one")), 2);
    assert_eq!(epoch_after(secret("sealed again", b"one")), 2, "it is the same secret");
    assert_eq!(epoch_after(secret("sealed", b"other")), 3);
    assert_eq!(epoch_after(change()), 3, "what is not said stays, the secret too");
    assert_eq!(epoch_after(Draft { secret: Some(None), ..change() }), 4);
}

#[test]
fn what_it_is_known_by_never_changes() {
    let other = "https://evil.test".to_owned();
    let elsewhere = Draft { organization: Some("globex".to_owned()), ..Draft::default() };
    for (changed, field) in [
        (Draft { issuer: Some(other), ..change() }, "issuer"),
        (elsewhere, "organization"),
        (Draft::default(), "organization"),
    ] {
        let refused = provision(&mut acme(), changed);
        assert_eq!(refused, Err(Refusal::Immutable(field)));
    }
}

#[test]
fn what_is_missing_or_malformed_is_named() {
    let refused = |draft: Draft| provision(&mut Connection::default(), draft).unwrap_err();
    assert_eq!(refused(Draft { name: None, ..draft() }), Refusal::Missing("name"));
    assert_eq!(refused(Draft { issuer: None, ..draft() }), Refusal::Missing("issuer"));
    assert_eq!(refused(Draft { client_id: None, ..draft() }), Refusal::Missing("client_id"));
    assert_eq!(refused(Draft { kind: None, ..draft() }), Refusal::Missing("kind"));
    for bad in ["", "  ", "a\0b", "a\u{202e}b", &"é".repeat(101)] {
        let draft = Draft { name: Some(bad.to_owned()), ..draft() };
        assert_eq!(refused(draft), Refusal::Malformed("name"), "{bad:?}");
    }
    assert_eq!(refused(Draft { kind: Some(Kind::GitHub), ..draft() }), Refusal::KindOutside);
    let outside = Draft { organization: None, required: Some(true), ..draft() };
    assert_eq!(refused(outside), Refusal::OnlyInOrganization("required"));
    let mapping = RoleMapping { claim: "c".into(), value: "v".into(), role: "r".into() };
    let many = Draft { roles: Some(vec![mapping; 10_000]), ..draft() };
    assert_eq!(refused(many), Refusal::Mapping(MappingFault::TooMany));
    let everyone = "https://login.microsoftonline.com/common/v2.0".to_owned();
    let everyone = refused(Draft { issuer: Some(everyone), ..draft() });
    assert_eq!(everyone, Refusal::Company(CompanyFault::EveryTenant));
    let google = Draft { issuer: Some("https://accounts.google.com".to_owned()), ..draft() };
    assert_eq!(refused(google), Refusal::Company(CompanyFault::Required));
    for bad in ["http://login.acme.test", "login.acme.test", "https://u@login.acme.test"] {
        let refused = refused(Draft { issuer: Some(bad.to_owned()), ..draft() });
        assert!(matches!(refused, Refusal::Issuer(_)), "{bad}");
    }
}

#[test]
fn a_removed_one_stays_removed_and_frees_its_names() {
    let mut connection = acme();
    assert!(decide(&mut connection, &Command::Remove).is_ok());
    let left: Vec<_> = connection.listings().into_iter().map(|listing| listing.list).collect();
    assert!(connection.names().is_empty() && left == [REMOVED_CONNECTIONS], "{left:?}");
    assert_eq!((connection.live_until(), connection.forget_at()), (Timestamp::NEVER, None));
    assert_eq!(provision(&mut connection, draft()), Err(Refusal::Unknown));
    assert_eq!(decide(&mut connection, &Command::Remove), Err(Refusal::Unknown));
    assert_eq!(decide(&mut acme(), &Command::Purged), Err(Refusal::Unknown), "it is there");
    assert!(decide(&mut connection, &Command::Purged).is_ok());
    assert!(connection.listings().is_empty() && connection.forget_at().is_some());
}
