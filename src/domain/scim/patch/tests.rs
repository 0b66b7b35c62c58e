use super::*;
use crate::domain::scim::{
    any_json::any_json, resource::MAX_DOCUMENT, schema::USER, value::MAX_VALUES,
};
use proptest::prelude::*;
use serde_json::json;

mod refusals;
mod vendors;

const CORE: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

fn user(mut attributes: Value) -> User {
    attributes["schemas"] = json!([CORE]);
    User::read(attributes.as_object().unwrap()).unwrap()
}

fn ada() -> User {
    user(json!({
        "userName": "ada",
        "name": { "givenName": "Ada", "familyName": "King" },
        "active": true,
        "emails": [
            { "value": "ada@x.example", "type": "work", "primary": true },
            { "value": "ada@home.example", "type": "home" },
        ],
        ENTERPRISE: { "department": "R&D", "manager": { "value": "7", "$ref": "../Users/7" } },
    }))
}

fn try_patch(user: &User, operations: &Value) -> Result<(User, bool), ScimError> {
    let body = json!({ "schemas": [PATCH_OP], "Operations": operations });
    let mut copy = user.clone();
    let changed = Patch::read(body.as_object().unwrap(), &USER)?.apply(&mut copy)?;
    assert_eq!(changed, copy != *user);
    Ok((copy, changed))
}

fn patch(user: &User, operations: &Value) -> Map<String, Value> {
    let (next, _) = try_patch(user, operations).unwrap_or_else(|why| panic!("{operations}: {why}"));
    next.attributes().clone()
}

fn refuse(operations: &Value, scim_type: &str) {
    let before = ada();
    let why = try_patch(&before, operations).expect_err(&operations.to_string());
    assert_eq!((why.status, why.scim_type), (400, Some(scim_type)), "{operations}: {why}");
}

#[test]
fn a_value_without_a_path_is_merged() {
    let next = patch(
        &ada(),
        &json!([{ "op": "add", "value": {
            "emails": [{ "value": "babs@jensen.example", "type": "other" }],
            "nickName": "Babs",
            "name": { "middleName": "Augusta" },
        } }]),
    );
    assert_eq!(next["nickName"], "Babs");
    assert_eq!(next["emails"].as_array().unwrap().len(), 3);
    let name = json!({ "givenName": "Ada", "familyName": "King", "middleName": "Augusta" });
    assert_eq!(next["name"], name);
}

#[test]
fn replacing_a_multi_valued_attribute_replaces_all_its_values() {
    let emails = json!([{ "value": "new@x.example", "type": "work", "primary": true }]);
    for operation in [
        json!({ "op": "replace", "path": "emails", "value": emails }),
        json!({ "op": "replace", "value": { "emails": emails } }),
        json!({ "op": "replace", "path": "emails", "value": emails[0] }),
    ] {
        assert_eq!(patch(&ada(), &json!([operation]))["emails"], emails);
    }
}

#[test]
fn values_that_match_are_changed_and_others_are_not() {
    let address =
        json!({ "type": "work", "streetAddress": "911 Universal City Plaza", "country": "US" });
    let before = user(json!({ "userName": "a", "addresses": [
        { "type": "work", "locality": "Hollywood" },
        { "type": "home", "locality": "Home" },
    ] }));
    let replace =
        json!([{ "op": "replace", "path": "addresses[type eq \"work\"]", "value": address }]);
    let next = patch(&before, &replace);
    assert_eq!(next["addresses"], json!([address, { "type": "home", "locality": "Home" }]));
    let street = json!([{ "op": "replace", "path": "addresses[type eq \"work\"].streetAddress",
        "value": "1010 Broadway Ave" }]);
    let expected =
        json!({ "type": "work", "locality": "Hollywood", "streetAddress": "1010 Broadway Ave" });
    assert_eq!(patch(&before, &street)["addresses"][0], expected);
    let add = json!([{ "op": "add", "path": "addresses[type eq \"home\"]", "value": { "country": "BR" } }]);
    let expected = json!({ "type": "home", "locality": "Home", "country": "BR" });
    assert_eq!(patch(&before, &add)["addresses"][1], expected);
}

#[test]
fn values_that_match_are_removed() {
    let remove = |path: &str| patch(&ada(), &json!([{ "op": "remove", "path": path }]));
    let home = json!([{ "value": "ada@home.example", "type": "home" }]);
    assert_eq!(remove("emails[type eq \"work\" and value ew \"x.example\"]")["emails"], home);
    assert_eq!(remove("emails[type pr]").get("emails"), None);
    assert_eq!(remove("emails").get("emails"), None);
    assert_eq!(remove("emails[type eq \"work\"].primary")["emails"][0].get("primary"), None);
    assert_eq!(remove("emails.type")["emails"][1], json!({ "value": "ada@home.example" }));
    assert_eq!(remove("name.givenName")["name"], json!({ "familyName": "King" }));
    assert_eq!(remove("name").get("name"), None);
    assert_eq!(remove(ENTERPRISE).get(ENTERPRISE), None);
    let rest = json!({ "manager": { "value": "7", "$ref": "../Users/7" } });
    assert_eq!(remove(&format!("{ENTERPRISE}:department"))[ENTERPRISE], rest);
}

#[test]
fn what_is_left_empty_is_absent() {
    let before = user(json!({
        "userName": "a", "name": { "givenName": "A" }, "emails": [{ "value": "x" }],
        ENTERPRISE: { "division": "d" },
    }));
    let next = patch(
        &before,
        &json!([
            { "op": "remove", "path": "name.givenName" },
            { "op": "remove", "path": "emails.value" },
            { "op": "remove", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:division" },
        ]),
    );
    assert_eq!(Value::Object(next), json!({ "userName": "a" }));
}

#[test]
fn removing_what_is_absent_changes_nothing() {
    for path in
        ["title", "name.middleName", "ims", "ims[type eq \"x\"]", "emails[type eq \"x\"].value"]
    {
        let (_, changed) = try_patch(&ada(), &json!([{ "op": "remove", "path": path }])).unwrap();
        assert!(!changed, "{path}");
    }
}

#[test]
fn replacing_with_null_or_nothing_removes_and_adding_it_changes_nothing() {
    for value in [json!(null), json!([])] {
        let replace = json!([{ "op": "replace", "path": "emails", "value": value }]);
        assert_eq!(patch(&ada(), &replace).get("emails"), None);
        let add = json!([{ "op": "add", "path": "emails", "value": value }]);
        assert!(!try_patch(&ada(), &add).unwrap().1);
    }
    let part =
        json!([{ "op": "replace", "path": "emails[type eq \"work\"].primary", "value": null }]);
    assert_eq!(patch(&ada(), &part)["emails"][0].get("primary"), None);
    let pathless = json!([{ "op": "replace", "value": { "active": null, ENTERPRISE: null } }]);
    let next = patch(&ada(), &pathless);
    assert_eq!((next.get("active"), next.get(ENTERPRISE)), (None, None));
}

#[test]
fn a_value_that_is_there_is_not_added_again() {
    let again = json!([{ "op": "add", "path": "emails", "value": [
        { "type": "home", "value": "ada@home.example" },
        { "value": "ada@x.example", "type": "work" },
    ] }]);
    assert!(!try_patch(&ada(), &again).unwrap().1);
}

#[test]
fn a_new_primary_value_takes_it_from_the_old_one() {
    let primaries = |next: &Map<String, Value>| {
        let emails = next["emails"].as_array().unwrap().clone();
        emails.iter().map(|email| email["primary"].as_bool()).collect::<Vec<_>>()
    };
    let new = json!({ "value": "n@x.example", "primary": true });
    let added = patch(&ada(), &json!([{ "op": "add", "path": "emails", "value": [new] }]));
    assert_eq!(primaries(&added), [Some(false), None, Some(true)]);
    let set =
        json!([{ "op": "replace", "path": "emails[type eq \"home\"].primary", "value": "True" }]);
    assert_eq!(primaries(&patch(&ada(), &set)), [Some(false), Some(true)]);
    let known = json!({ "value": "ada@home.example", "type": "home", "primary": true });
    let again = patch(&ada(), &json!([{ "op": "add", "path": "emails", "value": known }]));
    assert_eq!(primaries(&again), [Some(false), Some(true)]);
    let both = json!([{ "op": "replace", "path": "emails[type pr].primary", "value": true }]);
    refuse(&both, "invalidValue");
    refuse(&json!([{ "op": "add", "path": "emails.primary", "value": true }]), "invalidValue");
    let other = json!({ "value": "o@x.example", "primary": true });
    refuse(&json!([{ "op": "add", "path": "emails", "value": [new, other] }]), "invalidValue");
}

#[test]
fn a_path_may_carry_the_urn_of_its_schema() {
    let next = patch(
        &ada(),
        &json!([
            { "op": "replace", "path": format!("{CORE}:name.familyName"), "value": "Lovelace" },
            { "op": "add", "path": format!("{ENTERPRISE}:employeeNumber"), "value": "1" },
            { "op": "replace", "path": format!("{CORE}:emails[type eq \"work\"].value"), "value": "w" },
            { "op": "add", "path": ENTERPRISE.to_uppercase(), "value": { "division": "d", "no": 1 } },
        ]),
    );
    assert_eq!(next["name"]["familyName"], "Lovelace");
    assert_eq!(next["emails"][0]["value"], "w");
    let extension = &next[ENTERPRISE];
    assert_eq!((&extension["employeeNumber"], &extension["division"]), (&json!("1"), &json!("d")));
    assert_eq!(extension["department"], "R&D");
}

#[test]
fn another_manager_does_not_keep_the_address_of_the_first() {
    let manager =
        |operation: Value| patch(&ada(), &json!([operation]))[ENTERPRISE]["manager"].clone();
    let path = format!("{ENTERPRISE}:manager");
    let expected = json!({ "value": "8" });
    for value in [json!("8"), json!({ "value": "8" }), json!({ "value": "8", "displayName": "B" })]
    {
        assert_eq!(manager(json!({ "op": "replace", "path": path, "value": value })), expected);
    }
    let part = format!("{path}.value");
    assert_eq!(manager(json!({ "op": "replace", "path": part, "value": "8" })), expected);
    let same = manager(json!({ "op": "replace", "path": part, "value": "7" }));
    assert_eq!(same, json!({ "value": "7", "$ref": "../Users/7" }));
    let address = format!("{path}.$ref");
    let moved = manager(json!({ "op": "replace", "path": address, "value": "../Users/9" }));
    assert_eq!(moved["$ref"], "../Users/9");
}

#[test]
fn operations_are_applied_in_their_order() {
    let next = patch(
        &ada(),
        &json!([
            { "op": "remove", "path": "title" },
            { "op": "add", "path": "title", "value": "a" },
            { "op": "replace", "path": "title", "value": "b" },
            { "op": "replace", "path": "userName", "value": "bob" },
        ]),
    );
    assert_eq!((&next["userName"], &next["title"]), (&json!("bob"), &json!("b")));
}

/// Operations with paths of all kinds and values of any kind.
fn operations() -> impl Strategy<Value = Value> {
    let verbs = prop::sample::select(vec!["add", "Replace", "REMOVE"]);
    let paths = prop::option::of(prop::sample::select(vec![
        "title",
        "userName",
        "active",
        "name",
        "name.givenName",
        "emails",
        "emails.value",
        "emails.primary",
        "emails[type eq \"work\"]",
        "emails[type eq \"work\"].value",
        "emails[primary eq true].type",
        "roles",
        "addresses[type eq \"home\"].formatted",
        ENTERPRISE,
        "manager",
        "manager.value",
    ]));
    let email = (
        any::<bool>(),
        prop::sample::select(vec!["a", "b"]),
        prop::sample::select(vec!["work", "home"]),
    )
        .prop_map(
            |(primary, value, kind)| json!({ "value": value, "type": kind, "primary": primary }),
        );
    let value = prop_oneof![any_json(), email];
    let operation = (verbs, paths, value).prop_map(|(verb, path, value)| {
        let mut operation = json!({ "op": verb, "value": value });
        if let Some(path) = path {
            operation["path"] = path.into();
        }
        operation
    });
    prop::collection::vec(operation, 0..5).prop_map(Value::Array)
}

proptest! {
    #[test]
    fn what_a_patch_leaves_is_in_the_kept_form_and_within_bounds(operations in operations()) {
        if let Ok((next, _)) = try_patch(&ada(), &operations) {
            prop_assert_eq!(&User::check(next.attributes()).unwrap(), &next);
            prop_assert!(serde_json::to_vec(&next).unwrap().len() <= MAX_DOCUMENT);
        }
    }

    #[test]
    fn the_same_values_added_twice_are_there_once(values in prop::collection::vec(any_json(), 1..4)) {
        let paths = ["emails", "roles", "name", "title", "active", "manager"];
        let add = |(path, value): (&&str, &Value)| json!({ "op": "add", "path": path, "value": value });
        let operations: Value = paths.iter().zip(values.iter().cycle()).map(add).collect();
        if let Ok((once, _)) = try_patch(&ada(), &operations) {
            prop_assert_eq!(try_patch(&once, &operations).unwrap(), (once, false));
        }
    }

    #[test]
    fn one_operation_applied_twice_is_as_if_applied_once(operations in operations()) {
        // A value path may no longer match what it has changed itself.
        let is_plain = |operation: &Value| {
            operation["path"].as_str().is_none_or(|path| !path.contains('['))
        };
        let first = operations.get(0).filter(|operation| is_plain(operation)).cloned();
        if let Some(Ok((once, _))) = first.clone().map(|first| try_patch(&ada(), &json!([first])))
            && let Some(first) = first
        {
            prop_assert_eq!(try_patch(&once, &json!([first])).unwrap(), (once, false));
        }
    }

    #[test]
    fn reading_any_path_never_panics(text in any::<String>()) {
        let _ = Path::parse(&text, &USER);
    }

    #[test]
    fn reading_any_body_never_panics(body in any_json()) {
        let body = json!({ "schemas": [PATCH_OP], "Operations": body });
        let _ = Patch::read(body.as_object().unwrap(), &USER);
    }
}
