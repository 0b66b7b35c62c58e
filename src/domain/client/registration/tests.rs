//! A client from its registration to its first use, or to its end.

use super::*;
use crate::domain::{
    Machine as _,
    client::{Command, Draft, FieldProblem, Wrong},
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
    let secret = metadata.asks_for_secret().then(|| Fingerprint::of(b"a secret"));
    let token = Fingerprint::of(b"a token");
    Registrant { client_id: "drawn".to_owned(), metadata, secret, token }
}

fn take(client: &mut Client, command: &Command) -> Result<Provisioned, Refusal> {
    let decision = client.decide(command, NOW);
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
    let members = read(json!({ "redirect_uris": ["https://a.example/cb"] })).unwrap().members();
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
        "require_profile": "fapi2", "registration": { "used": true },
        "software_statement": "ey.ey.x", "unheard_of": [1],
    }));
    let mut client = Client::default();
    take(&mut client, &Command::Register(Box::new(asked))).unwrap();
    let known = client.known().unwrap();
    assert_eq!(known.client_id, "drawn");
    assert!(!known.trusted && known.organization.is_none() && known.roles.is_empty());
    assert!(known.introspects.is_empty() && known.require_profile.is_none());
    assert!(known.is_awaited());
    assert_eq!(known.secret, Some(Fingerprint::of(b"a secret")));
    assert_eq!(known.metadata.members().len(), 5);
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
fn a_secret_is_given_to_whoever_authenticates_by_one_and_to_nobody_else() {
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

#[test]
fn a_client_that_nobody_used_is_forgotten_after_thirty_days() {
    let mut client = registered();
    let end = NOW + Duration::from_hours(720);
    assert_eq!(client.forget_at(), Some(end));
    let first = client.decide(&Command::Use, NOW);
    assert_eq!((first.events.len(), first.effects.write_nothing()), (1, true));
    assert!(matches!(take(&mut client, &Command::Use), Ok(Provisioned::Changed(_))));
    assert_eq!(client.forget_at(), None);
    let later = client.decide(&Command::Use, end);
    assert!(later.events.is_empty() && later.effects.write_nothing(), "only the first is a commit");
    assert_eq!(Client::default().decide(&Command::Use, NOW).outcome, Err(Refusal::NoSuchClient));
}

#[test]
fn a_client_that_an_operator_provisions_is_kept() {
    let mut client = registered();
    let draft = Draft { client_id: "drawn".to_owned(), ..Draft::default() };
    let provision = Command::Provision { draft: Box::new(draft), home: None };
    let outcome = take(&mut client, &provision);
    assert_eq!(outcome, Ok(Provisioned::Changed(vec!["registration"])));
    assert_eq!(client.forget_at(), None);
    assert_eq!(take(&mut client, &provision), Ok(Provisioned::Unchanged));
    assert!(client.known().unwrap().registration.is_some(), "its token still works");
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
    assert!(!older.known().unwrap().is_awaited());
    assert_eq!(older.forget_at(), None);
}
