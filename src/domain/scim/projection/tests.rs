use super::*;
use crate::domain::scim::{
    any_json::any_json,
    schema::{GROUP, USER},
};
use proptest::prelude::*;
use serde_json::json;

const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

fn document() -> Map<String, Value> {
    let document = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "id": "1",
        "userName": "ada",
        "name": { "givenName": "Ada", "familyName": "King" },
        "emails": [{ "value": "a", "type": "work" }, { "value": "b" }],
        "meta": { "resourceType": "User", "location": "l" },
        ENTERPRISE: { "department": "R&D", "manager": { "value": "7" } },
    });
    document.as_object().unwrap().clone()
}

fn shown(attributes: &[&str], excluded: &[&str]) -> Value {
    let projection = Projection::read(attributes, excluded, &USER).unwrap();
    let mut shown = projection.apply(document());
    assert!(shown.remove("schemas").is_some() && shown.remove("id").is_some());
    Value::Object(shown)
}

#[test]
fn without_parameters_everything_is_shown() {
    assert_eq!(Projection::default_of(&USER).apply(document()), document());
    assert_eq!(Projection::read(&[], &[], &USER).unwrap().apply(document()), document());
}

#[test]
fn what_is_asked_for_is_shown_with_what_is_always_shown() {
    assert_eq!(shown(&["USERNAME"], &[]), json!({ "userName": "ada" }));
    assert_eq!(shown(&["name.givenName"], &[]), json!({ "name": { "givenName": "Ada" } }));
    let both = json!({ "name": { "givenName": "Ada", "familyName": "King" } });
    assert_eq!(shown(&["name.givenName", "name"], &[]), both);
    assert_eq!(shown(&["emails.type"], &[]), json!({ "emails": [{ "type": "work" }] }));
    assert_eq!(
        shown(&["meta"], &[]),
        json!({ "meta": { "resourceType": "User", "location": "l" } })
    );
    let department = format!("{ENTERPRISE}:department");
    assert_eq!(shown(&[&department], &[]), json!({ ENTERPRISE: { "department": "R&D" } }));
    assert_eq!(shown(&[ENTERPRISE], &[])[ENTERPRISE], document()[ENTERPRISE]);
    let core = "urn:ietf:params:scim:schemas:core:2.0:User:userName";
    assert_eq!(shown(&[core, "shoeSize", "", "a b"], &[]), json!({ "userName": "ada" }));
    assert_eq!(shown(&["shoeSize"], &[]), json!({}));
}

#[test]
fn what_is_excluded_is_left_out_unless_it_is_always_shown() {
    let names = |value: &Value| {
        let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names
    };
    assert_eq!(
        names(&shown(&[], &["emails", "meta", "id", "schemas", ENTERPRISE])),
        ["name", "userName"]
    );
    let rest = shown(&[], &["name.givenName", "emails.value"]);
    assert_eq!(rest["name"], json!({ "familyName": "King" }));
    assert_eq!(rest["emails"], json!([{ "type": "work" }]));
    let rest = shown(&[], &["manager"]);
    assert_eq!(rest[ENTERPRISE], json!({ "department": "R&D" }));
}

#[test]
fn the_parameters_of_an_address_are_read() {
    let read = |pairs: &[(&str, &str)]| Projection::from_pairs(pairs, &USER);
    let projection = read(&[("Attributes", "userName, ,name.givenName"), ("x", "y")]).unwrap();
    assert!(projection.wants("name.givenName") && !projection.wants("name.familyName"));
    assert_eq!(read(&[("attributes", "")]).unwrap(), Projection::default_of(&USER));
    assert!(!read(&[("excludedAttributes", "emails")]).unwrap().wants("emails"));
    assert!(read(&[("attributes", "name"), ("attributes", "title")]).is_err());
}

#[test]
fn both_parameters_together_are_refused() {
    let why = Projection::read(&["userName"], &["emails"], &USER).unwrap_err();
    assert_eq!((why.status, why.scim_type), (400, Some("invalidValue")));
    let many = vec!["userName"; MAX_NAMES + 1];
    assert!(Projection::read(&many, &[], &USER).is_err());
}

#[test]
fn a_costly_attribute_is_wanted_only_where_it_is_shown() {
    let wants = |attributes: &[&str], excluded: &[&str], path: &str| {
        Projection::read(attributes, excluded, &GROUP).unwrap().wants(path)
    };
    assert!(wants(&[], &[], "members"));
    assert!(!wants(&[], &["members"], "members"));
    assert!(wants(&[], &["members.value"], "members"));
    assert!(!wants(&["displayName"], &[], "members"));
    assert!(wants(&["Members.value"], &[], "members"));
    assert!(wants(&["displayName"], &[], "id"));
    assert!(!wants(&[], &[], "shoeSize"));
}

#[test]
fn the_name_of_a_member_is_shown_on_request_alone() {
    let wants = |attributes: &[&str]| {
        Projection::read(attributes, &[], &GROUP).unwrap().wants("members.display")
    };
    assert!(!wants(&[]));
    assert!(!wants(&["members"]));
    assert!(wants(&["members.display"]));
    let group = json!({ "id": "g", "members": [{ "value": "u", "display": "Ada" }] });
    let group = group.as_object().unwrap();
    let shown = |attributes: &[&str]| {
        let projection = Projection::read(attributes, &[], &GROUP).unwrap();
        projection.apply(group.clone())["members"].clone()
    };
    assert_eq!(shown(&[]), json!([{ "value": "u" }]));
    assert_eq!(shown(&["members.display"]), json!([{ "display": "Ada" }]));
    assert_eq!(shown(&["members", "members.display"]), group["members"]);
}

proptest! {
    #[test]
    fn any_document_is_shown_in_part(document in any_json(), name in any::<String>()) {
        if let Value::Object(document) = document {
            for projection in [
                Projection::read(&[&name, "emails.value"], &[], &USER),
                Projection::read(&[], &[&name, "emails.value", "name"], &USER),
            ] {
                let shown = projection.unwrap().apply(document.clone());
                prop_assert!(shown.keys().all(|name| document.contains_key(name)));
            }
        }
    }
}
