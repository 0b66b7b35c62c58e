//! A client from its registration to its first use, or to its end.

use super::*;
use crate::domain::{
    Machine as _,
    client::{CLIENTS, Command, Draft, FieldProblem, UNUSED_CLIENTS, Wrong},
};
use serde_json::json;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn read(members: Value) -> Result<ClientMetadata, Vec<FieldFault>> {
    let Value::Object(members) = members else { panic!("an object is needed") };
    ClientMetadata::to_register(&members)
}

fn faulty(members: Value) -> Vec<String> {
    read(members).unwrap_err().into_iter().map(|fault| fault.field).collect()
}

fn registrant(members: Value) -> Registrant {
    let metadata = read(members).unwrap();
    let secret = metadata.may_use_secret().then(|| Fingerprint::of(b"a secret"));
    let token = Fingerprint::of(b"a token");
    let client_id = "drawn".to_owned();
    let statement = None;
    Registrant { client_id, metadata, secret, token, statement, kept_for: KEPT_UNUSED }
}

fn take(client: &mut Client, command: &Command) -> Result<Provisioned, Refusal> {
    take_at(client, command, NOW)
}

fn take_at(client: &mut Client, command: &Command, now: Timestamp) -> Result<Provisioned, Refusal> {
    let decision = client.decide(command, now);
    for event in &decision.events {
        client.apply(event);
    }
    decision.outcome
}

fn registered() -> Client {
    let mut client = Client::default();
    let asked = registrant(json!({ "redirect_uris": ["https://app.example.com/cb"] }));
    assert_eq!(take(&mut client, &Command::Register(Box::new(asked))), Ok(Provisioned::Created));
    client
}

#[test]
fn what_was_left_unsaid_is_said() {
    let metadata = read(json!({ "redirect_uris": ["https://a.example/cb"] })).unwrap();
    let members = metadata.registered_members();
    let said = json!({
        "redirect_uris": ["https://a.example/cb"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "client_secret_basic",
        "id_token_signed_response_alg": "RS256",
    });
    assert_eq!(Value::Object(members), said);
}

#[test]
fn what_was_said_stays_and_responses_follow_the_grants() {
    let machine = read(json!({
        "grant_types": ["client_credentials"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "client_secret_post",
        "id_token_signed_response_alg": "ES256",
        "application_type": "native",
    }));
    let members = machine.unwrap().members();
    assert_eq!(members["grant_types"], json!(["client_credentials"]));
    assert_eq!(members["response_types"], json!([]));
    assert_eq!(members["token_endpoint_auth_method"], "client_secret_post");
    assert_eq!(members["id_token_signed_response_alg"], "ES256");
    assert_eq!(members["application_type"], "native");
    let codes = json!({ "redirect_uris": ["https://a.example/"], "response_types": [] });
    assert_eq!(read(codes).unwrap().response_types, Some(vec![ResponseType::Code]));
}

#[test]
fn nothing_that_an_operator_says_of_a_client_is_heeded() {
    let asked = registrant(json!({
        "redirect_uris": ["https://a.example/cb"],
        "client_id": "mine", "client_secret": "mine", "trusted": true, "organization": "acme",
        "roles": ["manager"], "introspects": ["https://api.example.com/"],
        "require_profile": "fapi2", "registration": { "adopted": true },
        "software_statement": "ey.ey.x", "unheard_of": [1],
    }));
    let mut client = Client::default();
    take(&mut client, &Command::Register(Box::new(asked))).unwrap();
    let known = client.known().unwrap();
    assert_eq!(known.client_id, "drawn");
    assert!(!known.trusted && known.organization.is_none() && known.roles.is_empty());
    assert!(known.introspects.is_empty() && known.require_profile.is_none());
    assert!(known.is_self_registered() && known.is_unused());
    assert_eq!(known.secret, Some(Fingerprint::of(b"a secret")));
    assert_eq!(known.metadata.members().len(), 4);
}

#[test]
fn what_cannot_stand_is_refused_by_its_field() {
    for (members, field) in [
        (json!({}), "redirect_uris"),
        (json!({ "redirect_uris": [] }), "redirect_uris"),
        (json!({ "redirect_uris": ["http://a.example/cb"] }), "redirect_uris"),
        (json!({ "redirect_uris": ["a.b:/cb"], "application_type": "web" }), "redirect_uris"),
        (json!({ "grant_types": ["password"] }), "grant_types"),
        (json!({ "grant_types": "client_credentials" }), "grant_types"),
        (
            json!({ "grant_types": ["client_credentials"], "token_endpoint_auth_method": "none" }),
            "grant_types",
        ),
        (
            json!({ "redirect_uris": ["https://a.example/"], "response_types": ["token"] }),
            "response_types",
        ),
        (
            json!({ "grant_types": [], "token_endpoint_auth_method": "client_secret_jwt" }),
            "token_endpoint_auth_method",
        ),
    ] {
        assert_eq!(faulty(members.clone()), [field], "{members}");
    }
    let native_only =
        FieldProblem::Contains { value: "a.b:/cb".to_owned(), wrong: Wrong::NativeOnly };
    let web = json!({ "redirect_uris": ["a.b:/cb"], "application_type": "web" });
    assert_eq!(read(web).unwrap_err()[0].problem, native_only);
}

#[test]
fn a_secret_is_given_to_a_client_that_authenticates_by_one_and_to_no_other() {
    let mut asked = registrant(json!({ "redirect_uris": ["https://a.example/"] }));
    asked.secret = None;
    let without = take(&mut Client::default(), &Command::Register(Box::new(asked)));
    assert_eq!(without, Err(Refusal::SecretMissing));
    let public =
        json!({ "redirect_uris": ["http://127.0.0.1/"], "token_endpoint_auth_method": "none" });
    let mut asked = registrant(public);
    assert_eq!(asked.secret, None);
    asked.secret = Some(Fingerprint::of(b"a secret"));
    let with = take(&mut Client::default(), &Command::Register(Box::new(asked)));
    assert_eq!(with, Err(Refusal::SecretUseless));
}

#[test]
fn an_id_that_is_taken_is_not_registered_again() {
    let mut client = registered();
    let before = client.clone();
    let again = Command::Register(Box::new(registrant(json!({ "grant_types": [] }))));
    assert_eq!(take(&mut client, &again), Err(Refusal::Exists));
    assert_eq!(client, before);
}

const DAYS: Duration = Duration::from_hours(24);

fn used(by: UsedBy, kept_for: Duration) -> Command {
    Command::Use(Usage { by, kept_for })
}

#[test]
fn a_client_that_was_never_used_is_forgotten_after_the_time_it_was_given() {
    let client = registered();
    assert_eq!(client.forget_at(), Some(NOW + KEPT_UNUSED));
    let unknown = Client::default().decide(&used(UsedBy::Person, DAYS), NOW);
    assert_eq!(unknown.outcome, Err(Refusal::NoSuchClient));
}

#[test]
fn every_use_postpones_the_end_and_none_prevents_it() {
    let mut client = registered();
    let itself = used(UsedBy::Itself, 30 * DAYS);
    take_at(&mut client, &itself, NOW + 20 * DAYS).unwrap();
    assert_eq!(client.forget_at(), Some(NOW + 50 * DAYS), "one token makes no client permanent");
    take_at(&mut client, &used(UsedBy::Person, 90 * DAYS), NOW + 21 * DAYS).unwrap();
    assert_eq!(client.forget_at(), Some(NOW + 111 * DAYS));
    take_at(&mut client, &itself, NOW + 22 * DAYS).unwrap();
    assert_eq!(client.forget_at(), Some(NOW + 111 * DAYS), "and shortens nothing");
}

#[test]
fn a_use_is_noted_once_a_day_at_most() {
    let mut client = registered();
    let itself = used(UsedBy::Itself, 30 * DAYS);
    let first = client.decide(&itself, NOW);
    assert_eq!((first.events.len(), first.effects.write_nothing()), (1, true));
    assert!(matches!(take(&mut client, &itself), Ok(Provisioned::Changed(_))));
    let soon = client.decide(&itself, NOW + DAYS - Duration::from_millis(1));
    assert!(soon.events.is_empty() && soon.effects.write_nothing());
    assert_eq!(client.decide(&itself, NOW + DAYS).events.len(), 1);
    // The first person is noted at once: the client does not count as unused any more.
    let person = used(UsedBy::Person, 90 * DAYS);
    assert!(matches!(take(&mut client, &person), Ok(Provisioned::Changed(_))));
    assert_eq!(take(&mut client, &person), Ok(Provisioned::Unchanged));
}

#[test]
fn a_client_is_listed_as_unused_until_a_person_has_used_it() {
    let mut client = registered();
    let lists = |client: &Client| -> Vec<&'static str> {
        client.listings().into_iter().map(|listing| listing.list).collect()
    };
    assert_eq!(lists(&client), [CLIENTS, UNUSED_CLIENTS]);
    take(&mut client, &used(UsedBy::Itself, DAYS)).unwrap();
    assert_eq!(lists(&client), [CLIENTS, UNUSED_CLIENTS]);
    take(&mut client, &used(UsedBy::Person, DAYS)).unwrap();
    assert_eq!(lists(&client), [CLIENTS]);
}

#[test]
fn a_client_that_an_operator_provisions_is_kept() {
    let mut client = registered();
    assert!(client.known().unwrap().is_self_registered());
    let draft = Draft { client_id: "drawn".to_owned(), ..Draft::default() };
    let provision = Command::Provision { draft: Box::new(draft), home: None };
    let outcome = take(&mut client, &provision);
    assert_eq!(outcome, Ok(Provisioned::Changed(vec!["registration"])));
    assert_eq!(client.forget_at(), None);
    assert_eq!(take(&mut client, &provision), Ok(Provisioned::Unchanged));
    let known = client.known().unwrap();
    assert!(known.registration.is_some(), "its token still works");
    assert!(!known.is_self_registered(), "it is the operator's now");
    let used = used(UsedBy::Person, DAYS);
    assert_eq!(take(&mut client, &used), Ok(Provisioned::Unchanged));
}

#[test]
fn a_client_that_named_no_method_presents_its_secret_either_way_and_another_as_it_said() {
    let methods = |members: Value| {
        let mut client = Client::default();
        take(&mut client, &Command::Register(Box::new(registrant(members)))).unwrap();
        let known = client.known().unwrap().clone();
        let ways = AuthMethod::ALL.iter().filter(|method| known.authenticates_by(**method));
        (ways.map(|way| way.name()).collect::<Vec<_>>(), known.metadata.registered_members())
    };
    let mut asked = json!({ "redirect_uris": ["https://a.example/cb"] });
    let (ways, told) = methods(asked.clone());
    assert_eq!(ways, ["client_secret_basic", "client_secret_post"]);
    assert_eq!(told["token_endpoint_auth_method"], "client_secret_basic");
    for named in ["client_secret_basic", "client_secret_post", "none"] {
        asked["token_endpoint_auth_method"] = named.into();
        let (ways, told) = methods(asked.clone());
        assert_eq!(ways, [named]);
        assert_eq!(told["token_endpoint_auth_method"], named);
    }
}

#[test]
fn a_client_registers_eight_kilobytes_of_metadata_and_no_more() {
    let asked = |characters: usize| {
        let uris: Vec<String> = (0..10)
            .map(|n| format!("https://a.example/{n}{}", "x".repeat(characters / 10)))
            .collect();
        read(json!({ "redirect_uris": uris, "ignored": "x".repeat(50_000) }))
    };
    assert!(asked(7_500).is_ok());
    let faults = asked(8_500).unwrap_err();
    assert_eq!(faults[0].problem, FieldProblem::TooLarge { most: MOST_METADATA });
}

#[test]
fn a_registration_is_stored_as_hashes_and_what_was_stored_before_it_is_read() {
    let client = registered();
    let stored = serde_json::to_string(&client).unwrap();
    assert!(!stored.contains("a token") && !stored.contains("a secret"));
    assert_eq!(serde_json::from_str::<Client>(&stored).unwrap(), client);
    let older = json!({ "Known": {
        "client_id": "billing", "metadata": {}, "secret": null, "organization": null, "roles": [],
        "trusted": false, "require_profile": null, "introspects": [],
    } });
    let older: Client = serde_json::from_value(older).unwrap();
    assert!(!older.known().unwrap().is_self_registered());
    assert_eq!(older.forget_at(), None);
    let mut earlier = serde_json::to_value(&client).unwrap();
    let registration = &mut earlier["Known"]["registration"];
    for name in ["used_at", "used_by_person", "kept_until", "adopted"] {
        registration.as_object_mut().unwrap().remove(name);
    }
    registration["used"] = true.into();
    let earlier: Client = serde_json::from_value(earlier).unwrap();
    assert_eq!(earlier.forget_at(), Some(NOW + KEPT_UNUSED));
}
