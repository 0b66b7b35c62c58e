use super::*;
use crate::domain::scim::any_json::any_json;
use proptest::prelude::*;
use serde_json::json;

const CORE: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
const PATCH_OP: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

fn read(body: Value) -> Result<Group, ScimError> {
    let Value::Object(mut body) = body else { panic!("no object") };
    body.entry("schemas").or_insert_with(|| json!([CORE]));
    Group::read(&body, 3)
}

fn changes(operations: Value) -> Result<Vec<GroupChange>, ScimError> {
    let mut body = json!({ "schemas": [PATCH_OP] });
    body["Operations"] = operations;
    GroupChange::read(body.as_object().unwrap(), 3)
}

fn change(operation: Value) -> GroupChange {
    let shown = operation.to_string();
    let mut all = changes(Value::Array(vec![operation])).expect(&shown);
    assert_eq!(all.len(), 1, "{shown}");
    all.remove(0)
}

fn refuse(operation: Value, scim_type: &str) {
    let shown = operation.to_string();
    let why = changes(Value::Array(vec![operation])).expect_err(&shown);
    assert_eq!((why.status, why.scim_type), (400, Some(scim_type)), "{shown}: {why}");
}

fn ids(all: &[&str]) -> Vec<String> {
    all.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn a_group_is_read_with_each_member_once() {
    let group = read(json!({
        "DisplayName": "Ops",
        "externalId": "e",
        "id": "ignored",
        "members": [{ "value": "b", "display": "Bob", "$ref": "../Users/b" }, "a", { "VALUE": "b" }],
    }));
    let expected = Group {
        display_name: "Ops".to_owned(),
        external_id: Some("e".to_owned()),
        members: ids(&["b", "a"]),
    };
    assert_eq!(group.unwrap(), expected);
    let plain = read(json!({ "displayName": "Ops", "members": null, "externalId": null })).unwrap();
    assert_eq!((plain.external_id, plain.members), (None, Vec::new()));
    let single = read(json!({ "displayName": "Ops", "members": { "value": "a" } })).unwrap();
    assert_eq!(single.members, ids(&["a"]));
}

#[test]
fn a_malformed_group_is_refused() {
    for (body, scim_type) in [
        (json!({}), "invalidValue"),
        (json!({ "displayName": " " }), "invalidValue"),
        (json!({ "displayName": 5 }), "invalidValue"),
        (json!({ "displayName": "a\0" }), "invalidValue"),
        (json!({ "displayName": "a".repeat(257) }), "invalidValue"),
        (json!({ "displayName": "Ops", "externalId": 5 }), "invalidValue"),
        (json!({ "displayName": "Ops", "members": [{}] }), "invalidValue"),
        (json!({ "displayName": "Ops", "members": [{ "value": 5 }] }), "invalidValue"),
        (json!({ "displayName": "Ops", "members": [5] }), "invalidValue"),
        (json!({ "displayName": "Ops", "members": [""] }), "invalidValue"),
        (json!({ "displayName": "Ops", "members": ["a\n"] }), "invalidValue"),
        (json!({ "displayName": "Ops", "members": ["a".repeat(300)] }), "invalidValue"),
        (json!({ "displayName": "Ops", "DISPLAYNAME": "x" }), "invalidSyntax"),
        (json!({ "displayName": "Ops", "schemas": [PATCH_OP] }), "invalidSyntax"),
    ] {
        let why = read(body.clone()).expect_err(&body.to_string());
        assert_eq!((why.status, why.scim_type), (400, Some(scim_type)), "{body}: {why}");
    }
}

#[test]
fn more_members_than_a_request_may_name_are_too_large() {
    let why = read(json!({ "displayName": "Ops", "members": ["a", "b", "c", "d"] })).unwrap_err();
    assert_eq!(why.status, 413);
    assert!(why.detail.contains('3'), "{why}");
    let add = |id: &[&str]| json!({ "op": "add", "path": "members", "value": id });
    assert_eq!(changes(json!([add(&["a", "b"]), add(&["c"])])).unwrap().len(), 2);
    assert_eq!(changes(json!([add(&["a", "b"]), add(&["c", "d"])])).unwrap_err().status, 413);
    let remove = json!({ "op": "remove",
        "path": "members[value eq \"a\" or value eq \"b\" or value eq \"c\" or value eq \"d\"]" });
    assert_eq!(changes(json!([remove])).unwrap_err().status, 413);
}

#[test]
fn members_are_added_in_every_form_that_clients_send() {
    let expected = GroupChange::AddMembers(ids(&["a", "b"]));
    for operation in [
        json!({ "op": "Add", "path": "members", "value": [{ "value": "a" }, { "value": "b" }] }),
        json!({ "op": "add", "path": "MEMBERS", "value": ["a", "b", "a"] }),
        json!({ "op": "add", "value": { "members": [{ "value": "a" }, { "value": "b", "type": "User" }] } }),
        json!({ "op": "add", "path": format!("{CORE}:members"), "value": ["a", "b"] }),
    ] {
        assert_eq!(change(operation), expected);
    }
    let single = json!({ "op": "add", "path": "members", "value": { "$ref": null, "value": "a" } });
    assert_eq!(change(single), GroupChange::AddMembers(ids(&["a"])));
}

#[test]
fn members_are_removed_in_every_form_that_clients_send() {
    let one = GroupChange::RemoveMembers(ids(&["a"]));
    assert_eq!(change(json!({ "op": "Remove", "path": "members[value eq \"a\"]" })), one);
    let entra =
        json!({ "op": "Remove", "path": "members", "value": [{ "$ref": null, "value": "a" }] });
    assert_eq!(change(entra), one);
    let two = json!({ "op": "remove", "path": "members[value eq \"a\" or (value eq \"b\")]" });
    assert_eq!(change(two), GroupChange::RemoveMembers(ids(&["a", "b"])));
    assert_eq!(change(json!({ "op": "remove", "path": "members" })), GroupChange::RemoveAllMembers);
    let none = json!({ "op": "remove", "path": "members", "value": [] });
    assert_eq!(change(none), GroupChange::RemoveMembers(Vec::new()), "an empty list removes none");
}

#[test]
fn members_are_replaced_as_a_whole() {
    let replace =
        |value: Value| change(json!({ "op": "replace", "path": "members", "value": value }));
    assert_eq!(replace(json!([{ "value": "a" }])), GroupChange::ReplaceMembers(ids(&["a"])));
    assert_eq!(replace(json!([])), GroupChange::ReplaceMembers(Vec::new()));
    assert_eq!(replace(Value::Null), GroupChange::RemoveAllMembers);
}

#[test]
fn the_names_of_a_group_are_changed_with_and_without_a_path() {
    let name = GroupChange::DisplayName("Ops".to_owned());
    assert_eq!(change(json!({ "op": "replace", "path": "displayName", "value": "Ops" })), name);
    // Okta sends the identifier of the group along.
    let okta = json!({ "op": "replace", "value": { "id": "g", "displayName": "Ops" } });
    assert_eq!(change(okta), name);
    let external =
        |value: Value| change(json!({ "op": "replace", "path": "externalId", "value": value }));
    assert_eq!(external(json!("e")), GroupChange::ExternalId(Some("e".to_owned())));
    assert_eq!(external(Value::Null), GroupChange::ExternalId(None));
    let removed = json!({ "op": "remove", "path": "externalId" });
    assert_eq!(change(removed), GroupChange::ExternalId(None));
}

#[test]
fn changes_keep_their_order() {
    let all = changes(json!([
        { "op": "remove", "path": "members" },
        { "op": "add", "path": "members", "value": ["a"] },
        { "op": "replace", "value": { "unknown": 1, "displayName": "Ops" } },
    ]));
    let expected = vec![
        GroupChange::RemoveAllMembers,
        GroupChange::AddMembers(ids(&["a"])),
        GroupChange::DisplayName("Ops".to_owned()),
    ];
    assert_eq!(all.unwrap(), expected);
    assert_eq!(changes(json!([])).unwrap(), Vec::new());
}

#[test]
fn what_cannot_be_asked_of_a_group_is_refused() {
    for filter in ["type eq \"User\"", "display co \"x\"", "value sw \"a\"", "not (value eq \"a\")"]
    {
        refuse(json!({ "op": "remove", "path": format!("members[{filter}]") }), "invalidFilter");
    }
    let both = "members[value eq \"a\" and type eq \"User\"]";
    refuse(json!({ "op": "remove", "path": both }), "invalidFilter");
    refuse(json!({ "op": "remove", "path": "members[value eq \"a\"" }), "invalidFilter");
    let value = json!({ "value": "b" });
    refuse(
        json!({ "op": "replace", "path": "members[value eq \"a\"]", "value": value }),
        "mutability",
    );
    refuse(json!({ "op": "remove", "path": "members[value eq \"a\"].value" }), "mutability");
    refuse(json!({ "op": "replace", "path": "members.value", "value": "x" }), "mutability");
    refuse(json!({ "op": "replace", "path": "members.display", "value": "x" }), "mutability");
    refuse(json!({ "op": "replace", "path": "id", "value": "x" }), "mutability");
    refuse(json!({ "op": "replace", "path": "userName", "value": "x" }), "invalidPath");
    refuse(json!({ "op": "remove", "path": "displayName" }), "mutability");
    refuse(json!({ "op": "replace", "path": "displayName", "value": "" }), "invalidValue");
    refuse(json!({ "op": "replace", "path": "displayName", "value": null }), "mutability");
    refuse(json!({ "op": "replace", "value": { "displayName": null } }), "mutability");
    refuse(json!({ "op": "remove" }), "noTarget");
    refuse(json!({ "op": "add", "path": "members" }), "invalidValue");
    refuse(json!({ "op": "add", "value": ["a"] }), "invalidValue");
    refuse(
        json!({ "op": "add", "path": "members", "value": [{ "display": "x" }] }),
        "invalidValue",
    );
}

#[test]
fn a_shown_group_names_its_schema() {
    let meta = Meta { created: "c", last_modified: "l", location: "o", version: "v" };
    let shown = Group::show("Ops", Some("e"), "g", &meta);
    assert_eq!(shown["schemas"], json!([CORE]));
    assert_eq!((&shown["displayName"], &shown["externalId"]), (&json!("Ops"), &json!("e")));
    assert_eq!(shown["meta"]["resourceType"], "Group");
    assert_eq!(Group::show("Ops", None, "g", &meta).get("externalId"), None);
}

proptest! {
    #[test]
    fn any_body_is_read_or_refused(
        body in any_json(),
        path in prop::option::of(prop::sample::select(vec!["members", "displayName", "members[value eq \"a\"]"])),
        op in prop::sample::select(vec!["add", "Replace", "remove"]),
    ) {
        if let Value::Object(body) = &body {
            let mut body = body.clone();
            body.insert("schemas".to_owned(), json!([CORE]));
            let _ = Group::read(&body, 2);
        }
        let mut operation = json!({ "op": op, "value": body });
        if let Some(path) = path {
            operation["path"] = path.into();
        }
        let _ = changes(json!([operation]));
    }
}
