//! The shapes that Entra and Okta send.

use super::*;

#[test]
fn entra_disables_a_user_with_a_boolean_or_a_text() {
    for value in [json!(false), json!("False"), json!("false")] {
        let operation = json!({ "op": "Replace", "path": "active", "value": value });
        assert_eq!(patch(&ada(), &json!([operation]))["active"], false);
    }
    assert_eq!(
        patch(&ada(), &json!([{ "op": "replace", "value": { "active": false } }]))["active"],
        false
    );
}

#[test]
fn entra_sets_a_value_that_is_not_there_yet() {
    let phone = json!([{ "op": "Add", "path": "phoneNumbers[type eq \"mobile\"].value", "value": "+1 555" }]);
    let expected = json!([{ "type": "mobile", "value": "+1 555" }]);
    let (next, _) = try_patch(&ada(), &phone).unwrap();
    assert_eq!(next.attributes()["phoneNumbers"], expected);
    assert!(!try_patch(&next, &phone).unwrap().1, "the second time it is there");
    let changed = json!([{ "op": "Replace", "path": "phoneNumbers[type eq \"mobile\"].value", "value": "+2" }]);
    assert_eq!(
        patch(&next, &changed)["phoneNumbers"],
        json!([{ "type": "mobile", "value": "+2" }])
    );
    let replace = json!([{ "op": "Replace", "path": "addresses[type eq \"work\"].formatted", "value": "A\nB" }]);
    assert_eq!(
        patch(&ada(), &replace)["addresses"],
        json!([{ "type": "work", "formatted": "A\nB" }])
    );
    let whole =
        json!([{ "op": "add", "path": "ims[type eq \"xmpp\"]", "value": { "value": "ada@x" } }]);
    assert_eq!(patch(&ada(), &whole)["ims"], json!([{ "type": "xmpp", "value": "ada@x" }]));
}

#[test]
fn entra_gives_and_takes_the_one_primary_role() {
    let give =
        json!([{ "op": "Add", "path": "roles[primary eq \"True\"].value", "value": "admin" }]);
    let (with, _) = try_patch(&ada(), &give).unwrap();
    assert_eq!(with.attributes()["roles"], json!([{ "primary": true, "value": "admin" }]));
    let other =
        json!([{ "op": "Replace", "path": "roles[primary eq \"True\"].value", "value": "clerk" }]);
    assert_eq!(patch(&with, &other)["roles"], json!([{ "primary": true, "value": "clerk" }]));
    let take = json!([{ "op": "Remove", "path": "roles", "value": [{ "value": "ADMIN" }] }]);
    assert_eq!(patch(&with, &take).get("roles"), None);
}

#[test]
fn entra_names_what_to_remove_in_the_value() {
    let before = user(json!({ "userName": "a", "roles": [
        { "value": "admin", "type": "x" }, { "value": "clerk" }, { "value": "boss" },
    ] }));
    let take = |value: Value| {
        let operation = json!({ "op": "Remove", "path": "roles", "value": value });
        patch(&before, &json!([operation]))["roles"].clone()
    };
    let rest = json!([{ "value": "boss" }]);
    assert_eq!(take(json!([{ "value": "admin" }, { "value": "clerk" }])), rest);
    assert_eq!(take(json!(["admin", "clerk"])), rest);
    assert_eq!(take(json!([])), before.attributes()["roles"], "an empty list removes none");
    assert_eq!(take(json!([{ "value": "clerk", "type": "y" }])), before.attributes()["roles"]);
}

#[test]
fn entra_sends_paths_as_the_names_of_members() {
    let next = patch(
        &ada(),
        &json!([{ "op": "Replace", "value": {
            "displayName": "Ada King",
            "name.givenName": "Augusta",
            "emails[type eq \"work\"].value": "augusta@x.example",
            "emails[type eq \"other\"].value": "other@x.example",
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department": "Sales",
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager": "9",
        } }]),
    );
    assert_eq!(next["displayName"], "Ada King");
    assert_eq!(next["name"], json!({ "givenName": "Augusta", "familyName": "King" }));
    assert_eq!(next["emails"][0]["value"], "augusta@x.example");
    assert_eq!(next["emails"][2], json!({ "type": "other", "value": "other@x.example" }));
    assert_eq!(next[ENTERPRISE], json!({ "department": "Sales", "manager": { "value": "9" } }));
}

#[test]
fn entra_changes_many_attributes_one_by_one() {
    let next = patch(
        &ada(),
        &json!([
            { "op": "Add", "path": "externalId", "value": "6c75de36" },
            { "op": "Replace", "path": "emails[type eq \"work\"].value", "value": "new@x.example" },
            { "op": "Replace", "path": "name.familyName", "value": "Byron" },
            { "op": "Add", "path": format!("{ENTERPRISE}:manager"), "value": "8" },
            { "op": "Remove", "path": format!("{ENTERPRISE}:department") },
        ]),
    );
    assert_eq!(next["externalId"], "6c75de36");
    let work = json!({ "value": "new@x.example", "type": "work", "primary": true });
    assert_eq!(next["emails"][0], work);
    assert_eq!(next[ENTERPRISE], json!({ "manager": { "value": "8" } }));
}

#[test]
fn entra_sends_the_one_manager_in_an_array() {
    let path = format!("{ENTERPRISE}:manager");
    let given = json!([{ "$ref": "../Users/8", "value": "8" }]);
    let expected = json!({ "value": "8", "$ref": "../Users/8" });
    for operation in [
        json!({ "op": "Add", "path": path, "value": given }),
        json!({ "op": "Replace", "path": "manager", "value": given }),
        json!({ "op": "Replace", "value": { path.as_str(): given } }),
        json!({ "op": "Add", "path": ENTERPRISE, "value": { "manager": given } }),
        json!({ "op": "Add", "value": { ENTERPRISE: { "manager": given } } }),
    ] {
        assert_eq!(patch(&ada(), &json!([operation]))[ENTERPRISE]["manager"], expected);
    }
    let without_address = json!([{ "$ref": null, "value": "9" }]);
    let add = json!([{ "op": "Add", "path": path, "value": without_address }]);
    assert_eq!(patch(&ada(), &add)[ENTERPRISE]["manager"], json!({ "value": "9" }));
    let texts = json!([{ "op": "Add", "path": path, "value": ["9"] }]);
    assert_eq!(patch(&ada(), &texts)[ENTERPRISE]["manager"], json!({ "value": "9" }));
    let none = json!([{ "op": "Replace", "path": path, "value": [] }]);
    assert_eq!(patch(&ada(), &none)[ENTERPRISE].get("manager"), None);
    let made = user(json!({ "userName": "a", ENTERPRISE: { "manager": given } }));
    assert_eq!(made.attributes()[ENTERPRISE]["manager"], expected);
    // Of two it would be a guess.
    let two = json!([{ "op": "Add", "path": path, "value": [{ "value": "8" }, { "value": "9" }] }]);
    refuse(&two, "invalidValue");
}

#[test]
fn okta_sends_an_extension_and_a_password_without_a_path() {
    let next = patch(
        &ada(),
        &json!([{ "op": "replace", "value": {
            "schemas": [CORE],
            "id": "whatever",
            "password": "hunter2",
            "active": true,
            ENTERPRISE: { "department": "Legal" },
        } }]),
    );
    assert_eq!(next[ENTERPRISE]["department"], "Legal");
    assert_eq!(next[ENTERPRISE]["manager"]["value"], "7");
    assert!(!Value::Object(next).to_string().contains("hunter2"));
}

#[test]
fn a_password_is_taken_and_forgotten() {
    for path in ["password", "PASSWORD"] {
        let operation = json!({ "op": "replace", "path": path, "value": "hunter2" });
        let (next, changed) = try_patch(&ada(), &json!([operation])).unwrap();
        assert!(!changed);
        assert_eq!(next, ada());
    }
}
