//! JSON of any shape, for tests.

use proptest::prelude::*;
use serde_json::Value;

const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/// Any JSON, with names that the schema has among others.
pub(super) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::String),
        prop::sample::select(vec!["true", "False", "work", "a@b.example", "2011-05-13T04:42:34Z"])
            .prop_map(Value::from),
    ];
    let names = prop::sample::select(vec![
        "userName",
        "USERNAME",
        "externalId",
        "name",
        "givenName",
        "emails",
        "value",
        "type",
        "primary",
        "active",
        "roles",
        "addresses",
        "formatted",
        "manager",
        "$ref",
        "meta",
        "groups",
        "title",
        "password",
        ENTERPRISE,
        "department",
        "shoe",
        "",
    ]);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((names.clone(), inner), 0..6).prop_map(|members| {
                Value::Object(
                    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
                )
            }),
        ]
    })
}
