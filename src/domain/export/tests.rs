use super::*;
use crate::domain::{
    Machine as _, Timestamp,
    account::Account,
    client::{self, Client},
    domain_claim::{Add, Command as DomainCommand, DomainClaim, Order},
    organization::Organization,
    picture::Picture,
};
use serde_json::{Map, Value, json};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn home() -> organization::Known {
    let permissions = |texts: &[&str]| {
        texts.iter().map(|text| Permission::parse(text).unwrap()).collect::<Vec<_>>()
    };
    let role = |name: &str, held: &[&str]| Role {
        name: name.to_owned(),
        permissions: permissions(held),
        group: None,
    };
    let draft = organization::Draft {
        slug: "acme".to_owned(),
        roles: Some(vec![role("clerk", &["invoices:read"]), role("keeper", &["domains:read"])]),
        ..organization::Draft::default()
    };
    let mut acme = Organization::default();
    let decision = acme.decide(&organization::Command::Provision(draft), NOW);
    decision.events.iter().for_each(|event| acme.apply(event));
    acme.known().unwrap().clone()
}

fn known_client(metadata: &Value, change: impl FnOnce(&mut client::Draft)) -> KnownClient {
    let metadata: Map<String, Value> = metadata.as_object().unwrap().clone();
    let mut draft = client::Draft {
        client_id: "kiosk".to_owned(),
        metadata,
        organization: Some("acme".to_owned()),
        ..client::Draft::default()
    };
    change(&mut draft);
    let provision = client::Command::Provision { draft: Box::new(draft), home: Some(home()) };
    let mut client = Client::default();
    let decision = client.decide(&provision, NOW);
    assert!(decision.outcome.is_ok(), "{:?}", decision.outcome);
    decision.events.iter().for_each(|event| client.apply(event));
    client.held().unwrap().clone()
}

#[test]
fn permissions_of_the_installation_are_left_out_of_roles() {
    let mut acme = home();
    let before = organization(&acme, None, &ReservedNames::all_open());
    assert!(before.contains("permissions = [\"domains:read\"]"), "{before}");
    acme.roles[0].permissions.push(Permission::parse("installation:read").unwrap());
    let written = organization(&acme, None, &ReservedNames::all_open());
    assert!(written.contains("permissions = [\"invoices:read\"]"), "{written}");
    assert!(
        written.contains("# left out, as belonging to the installation: [\"installation:read\"]")
    );
    // A name that an API of the operator's has here would open our own API elsewhere.
    let written = organization(&acme, None, &ReservedNames::default());
    assert!(written.contains("[\"domains:read\"]\npermissions = []"), "{written}");
}

#[test]
fn the_logo_is_in_the_file_unless_another_has_come_meanwhile() {
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 96 24\"></svg>";
    let picture = Picture::of_any(svg.as_bytes().to_vec()).unwrap();
    let mut acme = home();
    acme.brand.logo = Some(picture.facts.clone());
    let written = organization(&acme, Some(&picture), &ReservedNames::all_open());
    let read: ::toml::Table = ::toml::from_str(&written).unwrap();
    let logo = read["organization"][0]["brand"]["logo"].as_str().unwrap();
    assert_eq!(Picture::of_data_url(logo), Ok(picture.clone()));
    let svg = svg.replace("96", "48");
    let other = Picture::of_any(svg.into_bytes()).unwrap();
    for changed in [Some(&other), None] {
        let written = organization(&acme, changed, &ReservedNames::all_open());
        assert!(written.contains("\n# logo = ") && !written.contains("data:"), "{written}");
    }
}

#[test]
fn a_domain_that_has_become_a_public_suffix_is_a_comment() {
    let written = |domain: &str| {
        let add = Add {
            id: "d1".to_owned(),
            domain: serde_json::from_value(json!(domain)).unwrap(),
            place: 0,
            token: "t".to_owned(),
        };
        let add = DomainCommand::order(Order::Add(add), &home());
        let mut claim = DomainClaim::default();
        claim.decide(&add, NOW).events.iter().for_each(|event| claim.apply(event));
        self::domain(claim.known().unwrap())
    };
    assert_eq!(
        written("acme.test"),
        "\n[[organization.domain]]\ndomain = \"acme.test\" # pending\n"
    );
    let comment = written("github.io");
    assert!(comment.starts_with("\n# domain = \"github.io\": is a public suffix"), "{comment}");
    assert_eq!(comment.lines().count(), 2);
}

#[test]
fn roles_that_are_gone_or_mapped_are_not_written() {
    let draft = account::Draft {
        id: "a1".to_owned(),
        email: "ana@acme.test".to_owned(),
        ..account::Draft::default()
    };
    let mut ana = Account::default();
    let decision = ana.decide(&account::Command::Provision(draft), NOW);
    decision.events.iter().for_each(|event| ana.apply(event));
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let membership = membership::Known {
        id: "m1".to_owned(),
        account: "a1".to_owned(),
        organization: "acme".to_owned(),
        roles: names(&["gone", "clerk", "keeper"]),
        enabled: true,
        created_at: NOW,
        epoch: 0,
        left: false,
        mapped: names(&["keeper"]),
        entry: None,
    };
    let written = member(&membership, ana.known().unwrap(), &home()).unwrap();
    let expected = "memberships = [{ organization = \"acme\", roles = [\"clerk\"] }]";
    assert!(written.contains(expected), "{written}");
}

#[test]
fn a_client_that_cannot_be_made_where_there_is_nothing_is_a_comment() {
    let public = |scope: &str| {
        json!({ "redirect_uris": ["https://kiosk.test/cb"], "token_endpoint_auth_method": "none",
                "grant_types": ["authorization_code"], "scope": scope })
    };
    let written = |known: &KnownClient, names: &ReservedNames| client(known, &home(), names);
    let open = ReservedNames::all_open();
    let is_comment = |text: &str| ::toml::from_str::<::toml::Table>(text).unwrap().is_empty();
    let own = known_client(&public("openid accounts:read domains:read"), |_| {});
    let text = written(&own, &open);
    assert!(!is_comment(&text) && text.contains("scope = \"openid accounts:read domains:read\""));
    let text = written(&own, &ReservedNames::default());
    assert!(is_comment(&text), "an API of the operator's has that scope here: {text}");
    let of_api = known_client(&public("openid invoices:read"), |_| {});
    let introspecting = known_client(&json!({}), |draft| {
        draft.secret = None;
        draft.metadata.insert("token_endpoint_auth_method".to_owned(), json!("tls_client_auth"));
        let subject = json!("CN=kiosk");
        draft.metadata.insert("tls_client_auth_subject_dn".to_owned(), subject);
        draft.introspects = Some(vec!["https://api.acme.test".to_owned()]);
    });
    for known in [of_api, introspecting] {
        let text = written(&known, &open);
        assert!(is_comment(&text) && text.contains("declare them"), "{text}");
        // It is whole once the signs are taken away.
        let bare: String = text
            .lines()
            .skip(2)
            .fold(String::new(), |all, line| all + line.strip_prefix("# ").unwrap_or(line) + "\n");
        let read: ::toml::Table = ::toml::from_str(&bare).unwrap();
        assert_eq!(read["client"][0]["client_id"].as_str(), Some("kiosk"), "{bare}");
    }
    let mut holding = own.clone();
    holding.roles = vec!["gone".to_owned(), "clerk".to_owned()];
    assert!(written(&holding, &open).contains("roles = [\"clerk\"]"));
}
