//! What the holder of a registration token can do, and what no other caller can.

use super::*;
use crate::domain::{
    Machine as _,
    client::{Command, Draft, KEPT_UNUSED, Registrant, UNUSED_CLIENTS, Usage, UsedBy},
};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const KEPT: Duration = Duration::from_hours(90 * 24);

fn print(text: &str) -> Fingerprint {
    Fingerprint::of(text.as_bytes())
}

fn metadata(members: Value) -> ClientMetadata {
    let Value::Object(members) = members else { panic!("an object is needed") };
    ClientMetadata::to_register(&members).unwrap()
}

fn plain() -> Value {
    json!({ "redirect_uris": ["https://app.example.com/cb"], "client_name": "First" })
}

fn take(client: &mut Client, command: &Command) -> Result<Provisioned, Refusal> {
    let decision = client.decide(command, NOW);
    assert_eq!(decision.events.len(), decision.effects.records.len(), "each is recorded");
    for event in &decision.events {
        client.apply(event);
    }
    decision.outcome
}

fn registered(members: Value) -> Client {
    let metadata = metadata(members);
    let secret = metadata.may_use_secret().then(|| print("secret 1"));
    let (client_id, token) = ("drawn".to_owned(), print("token 1"));
    let (statement, kept_for) = (Some("a statement".to_owned()), KEPT_UNUSED);
    let registrant = Registrant { client_id, metadata, secret, token, statement, kept_for };
    let mut client = Client::default();
    take(&mut client, &Command::Register(Box::new(registrant))).unwrap();
    client
}

fn replacement(members: Value) -> Replacement {
    Replacement {
        presented: print("token 1"),
        token: print("token 2"),
        metadata: metadata(members),
        statement: None,
        repeated: None,
        secret: print("secret 2"),
    }
}

fn replace(client: &mut Client, replacement: &Replacement) -> Result<Provisioned, Refusal> {
    take(client, &Command::Replace(Box::new(replacement.clone())))
}

fn delete(client: &mut Client, token: &str) -> Result<Provisioned, Refusal> {
    take(client, &Command::Delete(Deletion { presented: print(token), kept_for: KEPT }))
}

#[test]
fn a_replacement_replaces_everything_and_the_token() {
    let mut client = registered(plain());
    let before = client.known().unwrap().clone();
    let next = replacement(json!({ "redirect_uris": ["https://app.example.com/other"] }));
    let changed = replace(&mut client, &next).unwrap();
    let fields = vec!["redirect_uris", "client_name", "client_secret", "registration"];
    assert_eq!(changed, Provisioned::Changed(fields));
    let known = client.known().unwrap();
    assert_eq!(known.metadata.client_name, None, "what is left out is gone");
    assert_eq!(known.secret, Some(print("secret 2")), "another is issued");
    let former = known.former_secret(NOW).unwrap();
    assert_eq!((Some(former.secret), former.good_until), (before.secret, NOW + SECRET_OVERLAP));
    let (now, then) = (known.registration.as_ref().unwrap(), before.registration.unwrap());
    assert_eq!((now.token, now.registered_at), (print("token 2"), then.registered_at));
    assert_eq!(now.kept_until, then.kept_until, "it is kept no longer for that");
    assert_eq!((&now.statement, then.statement.is_some()), (&None, true), "it was left out");
    assert_eq!(replace(&mut client, &next), Ok(Provisioned::Unchanged), "the same once more");
    let late = Replacement { token: print("token 3"), ..next };
    assert_eq!(replace(&mut client, &late), Err(Refusal::WrongToken), "the first one won");
}

#[test]
fn a_secret_goes_and_comes_with_the_method() {
    let mut client = registered(plain());
    let mut public = plain();
    public["token_endpoint_auth_method"] = "none".into();
    replace(&mut client, &replacement(public)).unwrap();
    assert_eq!(client.known().unwrap().secret, None);
    let again = Replacement {
        presented: print("token 2"),
        token: print("token 3"),
        ..replacement(plain())
    };
    replace(&mut client, &again).unwrap();
    assert_eq!(client.known().unwrap().secret, Some(print("secret 2")));
}

#[test]
fn a_secret_that_is_repeated_must_be_the_present_one() {
    for (members, repeated, taken) in [
        (plain(), "secret 1", true),
        (plain(), "secret 2", false),
        (
            json!({ "redirect_uris": ["https://a.example/"], "token_endpoint_auth_method": "none" }),
            "secret 1",
            false,
        ),
    ] {
        let mut client = registered(members);
        let before = client.clone();
        let next = Replacement { repeated: Some(print(repeated)), ..replacement(plain()) };
        let outcome = replace(&mut client, &next);
        assert_eq!(outcome.is_ok(), taken, "{outcome:?}");
        assert!(taken || (client == before && outcome == Err(Refusal::WrongSecret)));
        let (now, then) = (client.known().unwrap(), before.known().unwrap());
        assert_eq!((now.secret, now.former), (then.secret, None), "what is repeated stays");
    }
}

#[test]
fn no_other_token_changes_or_deletes_anything() {
    let mut client = registered(plain());
    let before = client.clone();
    let foreign = Replacement { presented: print("token 0"), ..replacement(plain()) };
    assert_eq!(replace(&mut client, &foreign), Err(Refusal::WrongToken));
    assert_eq!(delete(&mut client, "token 0"), Err(Refusal::WrongToken));
    assert_eq!(client, before);
    let mut none = Client::default();
    assert_eq!(replace(&mut none, &replacement(plain())), Err(Refusal::NoSuchClient));
    assert_eq!(delete(&mut none, "token 1"), Err(Refusal::NoSuchClient));
    let mut provisioned = Client::default();
    let draft = Draft { client_id: "own".to_owned(), ..Draft::default() };
    let provision = Command::Provision { draft: Box::new(draft), home: None };
    take(&mut provisioned, &provision).unwrap();
    assert_eq!(replace(&mut provisioned, &replacement(plain())), Err(Refusal::WrongToken));
    assert_eq!(delete(&mut provisioned, "token 1"), Err(Refusal::WrongToken));
}

#[test]
fn a_client_that_an_operator_has_provisioned_is_the_operators() {
    let mut client = registered(plain());
    let draft = Draft { client_id: "drawn".to_owned(), trusted: Some(true), ..Draft::default() };
    take(&mut client, &Command::Provision { draft: Box::new(draft), home: None }).unwrap();
    assert_eq!(replace(&mut client, &replacement(plain())), Err(Refusal::OfOperator));
    assert_eq!(delete(&mut client, "token 1"), Err(Refusal::OfOperator));
    assert_eq!(client.live_until(), Timestamp::FOREVER);
}

#[test]
fn a_deleted_client_confers_nothing_and_its_id_stays_taken() {
    let mut client = registered(plain());
    let used = Usage { by: UsedBy::Person, kept_for: KEPT };
    for event in &client.decide(&Command::Use(used), NOW).events {
        client.apply(event);
    }
    assert_eq!(delete(&mut client, "token 1"), Ok(Provisioned::Changed(vec!["registration"])));
    assert_eq!((client.known(), client.live_until()), (None, Timestamp::NEVER));
    assert_eq!(client.forget_at(), Some(NOW + KEPT));
    assert!(client.listings().is_empty());
    let stored = serde_json::to_string(&client).unwrap();
    assert!(!stored.contains("example.com"), "nothing is left of what it said");
    assert_eq!(serde_json::from_str::<Client>(&stored).unwrap(), client);
    assert_eq!(delete(&mut client, "token 1"), Ok(Provisioned::Unchanged), "the same once more");
    assert_eq!(delete(&mut client, "token 0"), Err(Refusal::Deleted));
    assert_eq!(replace(&mut client, &replacement(plain())), Err(Refusal::NoSuchClient));
    assert_eq!(take(&mut client, &Command::Use(used)), Err(Refusal::NoSuchClient));
    let draft = Draft { client_id: "drawn".to_owned(), ..Draft::default() };
    let provision = Command::Provision { draft: Box::new(draft), home: None };
    assert_eq!(take(&mut client, &provision), Err(Refusal::Deleted));
    let registrant = Registrant {
        client_id: "drawn".to_owned(),
        metadata: metadata(plain()),
        secret: Some(print("secret 1")),
        token: print("token 1"),
        statement: None,
        kept_for: KEPT_UNUSED,
    };
    let register = Command::Register(Box::new(registrant));
    assert_eq!(take(&mut client, &register), Err(Refusal::Exists));
}

#[test]
fn one_that_no_person_has_used_still_counts_among_those_after_its_end() {
    let mut client = registered(plain());
    delete(&mut client, "token 1").unwrap();
    let lists: Vec<_> = client.listings().into_iter().map(|listing| listing.list).collect();
    assert_eq!(lists, [UNUSED_CLIENTS]);
    assert_eq!(client.forget_at(), Some(NOW + KEPT_UNUSED_AMONG_MANY));
}

#[test]
fn a_suspended_client_is_not_there_accepts_no_change_and_begins_another_epoch() {
    let mut client = registered(plain());
    let before = client.held().unwrap().clone();
    let turn = |client: &mut Client, command: Command| {
        let decision = client.decide(&command, NOW);
        for event in &decision.events {
            client.apply(event);
        }
        let recorded: Vec<_> = decision.effects.records.iter().map(|one| one.event).collect();
        (decision.outcome.unwrap(), recorded)
    };
    let suspended = Provisioned::Changed(vec!["suspended"]);
    assert_eq!(turn(&mut client, Command::Suspend), (suspended.clone(), vec!["client.suspended"]));
    assert_eq!((client.known(), client.live_until()), (None, Timestamp::NEVER));
    assert_eq!(turn(&mut client, Command::Suspend), (Provisioned::Unchanged, vec![]));
    let text = serde_json::to_string(&client).unwrap();
    assert_eq!(serde_json::from_str::<Client>(&text).unwrap(), client);
    let removal = |by_operator| {
        let (seal, kept_for) =
            (before.registration.as_ref().unwrap().token, KEPT_UNUSED_AMONG_MANY);
        Command::Remove(Removal { by_operator, seal, kept_for })
    };
    assert!(client.decide(&removal(false), NOW).outcome.is_err());
    assert!(client.decide(&removal(true), NOW).outcome.is_ok());
    assert_eq!(turn(&mut client, Command::Enable), (suspended, vec!["client.enabled"]));
    assert_eq!(client.known().unwrap().epoch, before.epoch + 1);
    assert_eq!(turn(&mut client, Command::Enable), (Provisioned::Unchanged, vec![]));
    assert!(Client::default().decide(&Command::Suspend, NOW).outcome.is_err());
}
