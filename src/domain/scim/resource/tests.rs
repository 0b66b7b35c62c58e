use super::*;
use crate::domain::scim::{any_json::any_json, value::MAX_VALUES};
use proptest::prelude::*;

const CORE: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/// Reads a body with the schema of a User.
fn read(body: &Value) -> Result<User, ScimError> {
    let mut body = body.as_object().unwrap().clone();
    body.entry("schemas").or_insert_with(|| json!([CORE]));
    User::read(&body)
}

fn kept(body: &Value) -> Value {
    Value::Object(read(body).unwrap().attributes().clone())
}

fn refuse(body: &Value, scim_type: &str) {
    let why = read(body).expect_err(&body.to_string());
    assert_eq!((why.status, why.scim_type), (400, Some(scim_type)), "{body}: {why}");
}

#[test]
fn names_are_kept_as_the_schema_writes_them() {
    let body = json!({
        "SCHEMAS": [CORE.to_uppercase(), "urn:example:unknown"],
        "USERNAME": "ada",
        "Name": { "GIVENNAME": "Ada", "unknown": 1 },
        "EMAILS": [{ "VALUE": "ada@x.example", "Type": "work" }],
        ENTERPRISE.to_lowercase(): { "DEPARTMENT": "R&D" },
    });
    let user = User::read(body.as_object().unwrap()).unwrap();
    let expected = json!({
        "userName": "ada",
        "name": { "givenName": "Ada" },
        "emails": [{ "value": "ada@x.example", "type": "work" }],
        ENTERPRISE: { "department": "R&D" },
    });
    assert_eq!(Value::Object(user.attributes().clone()), expected);
}

#[test]
fn what_only_the_server_says_and_what_is_unknown_is_ignored() {
    let body = json!({
        "userName": "ada",
        "id": 5,
        "meta": "nonsense",
        "groups": [{ "value": "admins" }],
        "password": "hunter2",
        "x509Certificates": [{ "value": "MII" }],
        "shoeSize": 9,
        "urn:example:Shoes": { "size": 9 },
        ENTERPRISE: { "manager": { "value": "7", "displayName": "Bob" }, "shoeSize": 9 },
    });
    let expected = json!({ "userName": "ada", ENTERPRISE: { "manager": { "value": "7" } } });
    assert_eq!(kept(&body), expected);
    let text = serde_json::to_string(&read(&body).unwrap()).unwrap();
    assert!(!text.contains("hunter2"));
}

#[test]
fn the_schema_of_a_user_must_be_named() {
    for schemas in
        [json!([]), json!(null), json!(CORE), json!(["urn:x"]), json!([ENTERPRISE]), json!(5)]
    {
        refuse(&json!({ "schemas": schemas, "userName": "ada" }), "invalidSyntax");
    }
}

#[test]
fn the_habits_of_clients_are_taken() {
    let body = json!({
        "userName": "ada",
        "active": "False",
        "emails": { "value": "ada@x.example", "primary": "TRUE" },
        "roles": ["admin", { "value": "clerk" }, null],
        ENTERPRISE: { "manager": "7" },
    });
    let expected = json!({
        "userName": "ada",
        "active": false,
        "emails": [{ "value": "ada@x.example", "primary": true }],
        "roles": [{ "value": "admin" }, { "value": "clerk" }],
        ENTERPRISE: { "manager": { "value": "7" } },
    });
    assert_eq!(kept(&body), expected);
}

#[test]
fn null_and_what_is_empty_mean_absent() {
    let body = json!({
        "userName": "ada",
        "title": null,
        "emails": [],
        "phoneNumbers": [null, {}, { "unknown": 1 }],
        "name": {},
        ENTERPRISE: {},
    });
    assert_eq!(kept(&body), json!({ "userName": "ada" }));
    let none = json!({ "userName": "ada", "title": "", ENTERPRISE: null });
    assert_eq!(kept(&none), json!({ "userName": "ada", "title": "" }));
}

#[test]
fn values_of_another_type_are_refused() {
    for body in [
        json!({ "userName": 5 }),
        json!({ "userName": ["ada"] }),
        json!({ "userName": "ada", "title": 5 }),
        json!({ "userName": "ada", "title": true }),
        json!({ "userName": "ada", "active": "yes" }),
        json!({ "userName": "ada", "active": 1 }),
        json!({ "userName": "ada", "name": "Ada" }),
        json!({ "userName": "ada", "name": [{ "givenName": "Ada" }, { "givenName": "Bob" }] }),
        json!({ "userName": "ada", "emails": 5 }),
        json!({ "userName": "ada", "emails": [[]] }),
        json!({ "userName": "ada", "emails": [{ "value": 5 }] }),
        json!({ "userName": "ada", "emails": [{ "value": ["a"] }] }),
        json!({ "userName": "ada", "addresses": ["Main Street"] }),
        json!({ "userName": "ada", ENTERPRISE: "R&D" }),
        json!({ "userName": "ada", ENTERPRISE: { "employeeNumber": 701_984 } }),
    ] {
        refuse(&body, "invalidValue");
    }
}

#[test]
fn a_user_has_a_user_name() {
    for body in [
        json!({}),
        json!({ "userName": null }),
        json!({ "userName": "" }),
        json!({ "userName": " " }),
    ] {
        refuse(&body, "invalidValue");
    }
}

#[test]
fn an_attribute_is_given_once() {
    refuse(&json!({ "userName": "ada", "USERNAME": "bob" }), "invalidSyntax");
    refuse(
        &json!({ "userName": "ada", "name": { "givenName": "A", "givenname": "B" } }),
        "invalidSyntax",
    );
    refuse(
        &json!({ "userName": "ada", ENTERPRISE: { "division": "a" },
            ENTERPRISE.to_uppercase(): { "division": "b" } }),
        "invalidSyntax",
    );
    refuse(&json!({ "schemas": [CORE], "Schemas": [CORE], "userName": "ada" }), "invalidSyntax");
}

#[test]
fn at_most_one_value_is_primary_and_equal_values_are_one() {
    let two = json!([{ "value": "a", "primary": true }, { "value": "b", "primary": "True" }]);
    refuse(&json!({ "userName": "ada", "emails": two }), "invalidValue");
    let same = json!([{ "value": "a" }, { "value": "a" }, { "value": "a", "primary": false }]);
    let expected = json!([{ "value": "a" }, { "value": "a", "primary": false }]);
    assert_eq!(kept(&json!({ "userName": "ada", "emails": same }))["emails"], expected);
}

#[test]
fn texts_have_no_control_characters_but_an_address_has_lines() {
    for text in ["a\0", "a\u{7}", "a\nb", "\u{85}", "\u{1b}[0m"] {
        refuse(&json!({ "userName": text }), "invalidValue");
        refuse(&json!({ "userName": "ada", "emails": [{ "value": text }] }), "invalidValue");
    }
    let address = json!([{ "formatted": "100 Universal City Plaza\nHollywood", "type": "work" }]);
    assert_eq!(kept(&json!({ "userName": "a", "addresses": address }))["addresses"], address);
    let city = json!([{ "locality": "Holly\nwood" }]);
    refuse(&json!({ "userName": "a", "addresses": city }), "invalidValue");
    let nul = json!([{ "formatted": "Holly\0wood" }]);
    refuse(&json!({ "userName": "a", "addresses": nul }), "invalidValue");
}

#[test]
fn everything_has_a_bound() {
    refuse(&json!({ "userName": "a".repeat(255) }), "invalidValue");
    assert!(read(&json!({ "userName": "a".repeat(254) })).is_ok());
    refuse(&json!({ "userName": "a", "title": "é".repeat(513) }), "invalidValue");
    let many = |count: usize| (0..count).map(|n| json!({ "value": n.to_string() })).collect();
    let emails = |count: usize| json!({ "userName": "a", "emails": Value::Array(many(count)) });
    assert!(read(&emails(MAX_VALUES)).is_ok());
    refuse(&emails(MAX_VALUES + 1), "invalidValue");
    let mut wide = Map::new();
    wide.extend((0..300).map(|n| (format!("x{n}"), Value::Null)));
    refuse(&Value::Object(wide), "invalidSyntax");
    let long: Vec<Value> =
        (0..20).map(|n| json!({ "value": format!("{n}{}", "a".repeat(1000)) })).collect();
    let why = read(&json!({ "userName": "a", "emails": long })).unwrap_err();
    assert_eq!((why.status, why.scim_type), (413, None));
}

#[test]
fn the_address_is_the_primary_or_first_work_value_else_the_user_name() {
    let address = |emails: Value, user_name: &str| {
        let user = read(&json!({ "userName": user_name, "emails": emails })).unwrap();
        user.address().map(str::to_owned)
    };
    let work = json!({ "value": "w@x.example", "type": "Work" });
    let second = json!({ "value": "v@x.example", "type": "work" });
    let home = json!({ "value": "h@x.example", "type": "home" });
    let primary = json!({ "value": "p@x.example", "type": "home", "primary": true });
    let plain = json!({ "value": "q@x.example" });
    let own = |text: &str| Some(text.to_owned());
    assert_eq!(address(json!([home, work, primary]), "ada"), own("p@x.example"));
    assert_eq!(address(json!([home, work, second]), "ada"), own("w@x.example"));
    assert_eq!(address(json!([home, plain]), "ada"), own("q@x.example"));
    assert_eq!(address(json!([home]), "u@x.example"), own("u@x.example"));
    assert_eq!(address(json!([home]), "ada"), None);
    assert_eq!(
        address(json!([{ "value": "none", "primary": true }, work]), "ada"),
        own("w@x.example")
    );
    for name in ["@x", "a@", "a b@x", "a@b@c"] {
        assert_eq!(address(json!([]), name), None, "{name}");
    }
}

#[test]
fn single_attributes_are_read_from_what_is_kept() {
    let user = read(&json!({ "userName": "ada", "externalId": "7" })).unwrap();
    assert_eq!(
        (user.user_name(), user.external_id(), user.display_name()),
        ("ada", Some("7"), None)
    );
    assert!(user.is_active(), "a client that does not say so means yes");
    assert!(!read(&json!({ "userName": "a", "active": false })).unwrap().is_active());
    let text = serde_json::to_string(&user).unwrap();
    assert_eq!(serde_json::from_str::<User>(&text).unwrap(), user);
}

#[test]
fn a_shown_user_names_its_schemas_and_reads_back_as_it_was_sent() {
    let user = read(&json!({ "userName": "ada", ENTERPRISE: { "division": "x" } })).unwrap();
    let meta = Meta {
        created: "2024-01-01T00:00:00Z",
        last_modified: "2024-01-02T00:00:00Z",
        location: "https://id.example/scim/v2/Users/1",
        version: "W/\"1\"",
    };
    let shown = user.show("1", &meta);
    assert_eq!(shown["schemas"], json!([CORE, ENTERPRISE]));
    assert_eq!(shown["id"], "1");
    assert_eq!(shown["meta"]["resourceType"], "User");
    assert_eq!(shown["meta"]["location"], meta.location);
    assert_eq!(User::read(&shown).unwrap(), user);
    let plain = read(&json!({ "userName": "ada" })).unwrap().show("1", &meta);
    assert_eq!(plain["schemas"], json!([CORE]));
}

proptest! {
    #[test]
    fn any_document_is_kept_in_a_form_that_reads_as_itself_or_is_refused(body in any_json()) {
        if let Value::Object(mut body) = body {
            body.insert("schemas".to_owned(), json!([CORE]));
            body.entry("userName").or_insert(json!("ada"));
            if let Ok(user) = User::read(&body) {
                prop_assert_eq!(&User::check(user.attributes()).unwrap(), &user);
                prop_assert!(serde_json::to_vec(&user).unwrap().len() <= MAX_DOCUMENT);
                prop_assert!(!user.attributes().contains_key("password"));
            }
        }
    }
}
