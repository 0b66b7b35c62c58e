use super::*;

#[test]
fn a_refused_patch_changes_nothing() {
    let mut user = ada();
    let body = json!({ "schemas": [PATCH_OP], "Operations": [
        { "op": "replace", "path": "title", "value": "Countess" },
        { "op": "replace", "path": "emails[type eq \"fax\"]", "value": { "value": "x" } },
    ] });
    let patch = Patch::read(body.as_object().unwrap(), &USER).unwrap();
    assert_eq!(patch.apply(&mut user).unwrap_err().scim_type, Some("noTarget"));
    assert_eq!(user, ada());
}

#[test]
fn a_malformed_body_is_refused() {
    let read = |body: Value| Patch::read(body.as_object().unwrap(), &USER).map(|_| ());
    for body in [
        json!({}),
        json!({ "Operations": [] }),
        json!({ "schemas": [CORE], "Operations": [] }),
        json!({ "schemas": [PATCH_OP] }),
        json!({ "schemas": [PATCH_OP], "Operations": {} }),
        json!({ "schemas": [PATCH_OP], "Operations": [5] }),
        json!({ "schemas": [PATCH_OP], "Operations": [], "operations": [] }),
        json!({ "schemas": [PATCH_OP], "Operations": [{}] }),
        json!({ "schemas": [PATCH_OP], "Operations": [{ "op": "move", "path": "title" }] }),
        json!({ "schemas": [PATCH_OP], "Operations": [{ "op": 5, "path": "title" }] }),
        json!({ "schemas": [PATCH_OP], "Operations": [{ "op": "add", "path": 5, "value": 1 }] }),
        json!({ "schemas": [PATCH_OP], "Operations": [{ "op": "add", "Op": "add", "path": "title" }] }),
    ] {
        let why = read(body.clone()).expect_err(&body.to_string());
        assert_eq!((why.status, why.scim_type), (400, Some("invalidSyntax")), "{body}");
    }
    assert!(read(json!({ "SCHEMAS": [PATCH_OP.to_lowercase()], "operations": [] })).is_ok());
}

#[test]
fn what_only_the_server_writes_is_refused_in_a_path_and_ignored_without_one() {
    for path in [
        "id",
        "meta",
        "meta.created",
        "groups",
        "schemas",
        "groups[value eq \"a\"]",
        "groups[value eq \"a\"].display",
        "manager.displayName",
    ] {
        refuse(&json!([{ "op": "replace", "path": path, "value": "x" }]), "mutability");
        refuse(&json!([{ "op": "remove", "path": path }]), "mutability");
    }
    let value = json!({ "id": "x", "meta": {}, "groups": [], "schemas": [], "manager.displayName": "x",
        "shoeSize": 9, "no name": 1, "": 2, "urn:x:y": {} });
    assert!(!try_patch(&ada(), &json!([{ "op": "replace", "value": value }])).unwrap().1);
}

#[test]
fn a_path_to_no_attribute_is_refused() {
    let long = "a".repeat(100_000);
    for path in [
        "shoeSize",
        "name.shoe",
        "emails[type eq \"work\"].shoe",
        "urn:x:User:title",
        " ",
        "title.",
        "title]",
        "title x",
        "a b",
        "name[givenName pr]",
        "title[value pr]",
        "emails.value[type pr]",
        "emails[type pr].value.x",
        "emails[type pr]x",
        "emails[type pr].urn:x:value",
        "\0",
        "é",
        &long,
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User[department pr]",
    ] {
        refuse(&json!([{ "op": "replace", "path": path, "value": "x" }]), "invalidPath");
    }
}

#[test]
fn a_path_with_a_malformed_condition_is_refused() {
    let deep = format!("emails[{}", "(".repeat(1000));
    for path in [
        "emails[",
        "emails[]",
        "emails[type]",
        "emails[type eq]",
        "emails[type eq \"work\"",
        "emails[primary gt true]",
        "emails[emails[type pr]]",
        &deep,
    ] {
        refuse(&json!([{ "op": "replace", "path": path, "value": "x" }]), "invalidFilter");
        if path.contains('[') {
            refuse(&json!([{ "op": "replace", "value": { path: "x" } }]), "invalidFilter");
        }
    }
}

#[test]
fn a_remove_without_a_path_has_no_target() {
    refuse(&json!([{ "op": "remove" }]), "noTarget");
    refuse(&json!([{ "op": "remove", "path": "", "value": { "title": "x" } }]), "noTarget");
}

#[test]
fn a_value_that_cannot_be_kept_is_refused() {
    for operation in [
        json!({ "op": "replace", "path": "userName", "value": "" }),
        json!({ "op": "replace", "path": "userName", "value": 5 }),
        json!({ "op": "add", "path": "title" }),
        json!({ "op": "add" }),
        json!({ "op": "add", "value": "x" }),
        json!({ "op": "add", "value": [{ "title": "x" }] }),
        json!({ "op": "replace", "path": "active", "value": "maybe" }),
        json!({ "op": "replace", "path": "name", "value": "Ada" }),
        json!({ "op": "replace", "path": "title", "value": "a\0b" }),
        json!({ "op": "replace", "path": "emails[type eq \"work\"]", "value": [1, 2] }),
        json!({ "op": "replace", "path": "emails[type eq \"work\"].value", "value": {} }),
        json!({ "op": "replace", "path": ENTERPRISE, "value": "x" }),
        json!({ "op": "replace", "path": "userName", "value": "a".repeat(300) }),
    ] {
        refuse(&json!([operation]), "invalidValue");
    }
}

#[test]
fn a_required_attribute_is_not_left_without_a_value() {
    let required = USER.schema.attributes.iter().filter(|attribute| attribute.required);
    let names: Vec<&str> = required.map(|attribute| attribute.name).collect();
    assert_eq!(names, ["userName"]);
    for path in [names[0], "USERNAME", "urn:ietf:params:scim:schemas:core:2.0:User:userName"] {
        refuse(&json!([{ "op": "remove", "path": path }]), "mutability");
        refuse(&json!([{ "op": "remove", "path": path, "value": "ada" }]), "mutability");
        refuse(&json!([{ "op": "replace", "path": path, "value": null }]), "mutability");
        refuse(&json!([{ "op": "replace", "value": { path: null } }]), "mutability");
        // Nor between two operations.
        let again = json!({ "op": "add", "path": path, "value": "ada" });
        refuse(&json!([{ "op": "remove", "path": path }, again]), "mutability");
    }
}

#[test]
fn what_a_patch_works_on_is_bounded_at_each_operation() {
    // Much that is put in and taken out again would be looked at by everything in between.
    let much: Vec<Value> =
        (0..MAX_VALUES).map(|n| json!({ "value": format!("{n}{}", "x".repeat(900)) })).collect();
    let in_and_out = json!([
        { "op": "replace", "path": "roles", "value": much },
        { "op": "remove", "path": "roles" },
    ]);
    assert_eq!(try_patch(&ada(), &in_and_out).unwrap_err().status, 413);
    let wide = vec!["value co \"x\""; 100].join(" or ");
    let remove = json!({ "op": "remove", "path": format!("emails[{wide}]") });
    let times = |count: usize| Value::Array(vec![remove.clone(); count]);
    assert!(try_patch(&ada(), &times(MAX_COMPARISONS / 100)).is_ok());
    assert_eq!(try_patch(&ada(), &times(MAX_COMPARISONS / 100 + 1)).unwrap_err().status, 413);
}

#[test]
fn a_label_makes_no_value() {
    for (path, value) in [
        ("emails[type eq \"fax\"].primary", json!(true)),
        ("emails[type eq \"fax\"].display", json!("x")),
        ("emails[value eq \"new@x.example\"].type", json!("work")),
    ] {
        refuse(&json!([{ "op": "replace", "path": path, "value": value }]), "noTarget");
        refuse(&json!([{ "op": "add", "path": path, "value": value }]), "noTarget");
    }
}

#[test]
fn a_condition_that_no_value_can_be_made_from_has_no_target() {
    for path in [
        "emails[value co \"zz\"].display",
        "emails[type ne null and value eq \"zz\"].display",
        "emails[not (type pr)].display",
        "emails[type eq \"a\" and type eq \"b\"].display",
        "emails[type eq \"fax\" or type eq \"pager\"].value",
        "emails[shoe eq \"x\"].value",
        "emails[type eq 5].value",
    ] {
        refuse(&json!([{ "op": "replace", "path": path, "value": "x" }]), "noTarget");
        refuse(&json!([{ "op": "add", "path": path, "value": "x" }]), "noTarget");
    }
    let whole = json!({ "value": "x" });
    refuse(
        &json!([{ "op": "replace", "path": "emails[type eq \"fax\"]", "value": whole }]),
        "noTarget",
    );
}

#[test]
fn everything_has_a_bound() {
    let many =
        |count: usize| vec![json!({ "op": "replace", "path": "title", "value": "x" }); count];
    assert!(try_patch(&ada(), &Value::Array(many(MAX_OPERATIONS))).is_ok());
    let why = try_patch(&ada(), &Value::Array(many(MAX_OPERATIONS + 1))).unwrap_err();
    assert_eq!(why.status, 413);
    let add =
        |n: usize| json!({ "op": "add", "path": "emails", "value": { "value": n.to_string() } });
    let fill: Vec<Value> = (0..MAX_VALUES - 2).map(add).collect();
    assert!(try_patch(&ada(), &Value::Array(fill)).is_ok());
    let over: Vec<Value> = (0..MAX_VALUES).map(add).collect();
    refuse(&Value::Array(over), "invalidValue");
    let long = |n: usize| json!({ "op": "add", "path": "roles", "value": format!("{n}{}", "x".repeat(1000)) });
    let why = try_patch(&ada(), &(0..20).map(long).collect()).unwrap_err();
    assert_eq!(why.status, 413);
    let wide: Map<String, Value> = (0..300).map(|n| (format!("x{n}"), Value::Null)).collect();
    refuse(&json!([{ "op": "add", "value": wide }]), "invalidSyntax");
}
