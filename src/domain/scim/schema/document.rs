//! What `/Schemas` and `/ResourceTypes` answer, made from the tables.

use super::{
    Attribute, AttributeType, GROUP, Mutability, ResourceType, Returned, Schema, USER, Uniqueness,
    discovery, enterprise_user, group, user,
};
use serde_json::{Map, Value, json};

const SCHEMAS: [&Schema; 6] = [
    &user::SCHEMA,
    &enterprise_user::SCHEMA,
    &group::SCHEMA,
    discovery::SCHEMAS[0],
    discovery::SCHEMAS[1],
    discovery::SCHEMAS[2],
];

/// Returns every schema, for a list. `base` is the address of the SCIM service, without a slash at
/// its end.
pub fn schemas(base: &str) -> Vec<Value> {
    SCHEMAS.iter().map(|schema| describe_schema(schema, base)).collect()
}

/// Returns the schema with this URN, in any case.
pub fn schema(base: &str, id: &str) -> Option<Value> {
    let found = SCHEMAS.iter().find(|schema| schema.has_id(id));
    found.map(|schema| describe_schema(schema, base))
}

/// Returns every resource type, for a list.
pub fn resource_types(base: &str) -> Vec<Value> {
    [&USER, &GROUP].map(|one| describe_resource_type(one, base)).to_vec()
}

/// Returns the resource type with this name.
pub fn resource_type(base: &str, name: &str) -> Option<Value> {
    let found = [&USER, &GROUP].into_iter().find(|one| one.name == name);
    found.map(|one| describe_resource_type(one, base))
}

fn describe_resource_type(one: &ResourceType, base: &str) -> Value {
    let extensions: Vec<Value> = one
        .extensions
        .iter()
        .map(|schema| json!({ "schema": schema.id, "required": false }))
        .collect();
    json!({
        "schemas": [discovery::RESOURCE_TYPE.id],
        "id": one.name,
        "name": one.name,
        "description": one.description,
        "endpoint": one.endpoint,
        "schema": one.schema.id,
        "schemaExtensions": extensions,
        "meta": {
            "resourceType": "ResourceType",
            "location": format!("{base}/ResourceTypes/{}", one.name),
        },
    })
}

fn describe_schema(schema: &Schema, base: &str) -> Value {
    let attributes: Vec<Value> = schema.attributes.iter().map(describe_attribute).collect();
    json!({
        "schemas": [discovery::SCHEMA.id],
        "id": schema.id,
        "name": schema.name,
        "description": schema.description,
        "attributes": attributes,
        "meta": {
            "resourceType": "Schema",
            "location": format!("{base}/Schemas/{}", schema.id),
        },
    })
}

fn describe_attribute(attribute: &Attribute) -> Value {
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
    put("name", attribute.name.into());
    put("type", attribute.kind.name().into());
    put("multiValued", attribute.multi_valued.into());
    put("description", attribute.description.into());
    put("required", attribute.required.into());
    put("caseExact", attribute.case_exact.into());
    put("mutability", attribute.mutability.name().into());
    put("returned", attribute.returned.name().into());
    put("uniqueness", attribute.uniqueness.name().into());
    if !attribute.canonical_values.is_empty() {
        put("canonicalValues", attribute.canonical_values.into());
    }
    if !attribute.reference_types.is_empty() {
        put("referenceTypes", attribute.reference_types.into());
    }
    if attribute.is_complex() {
        put("subAttributes", attribute.sub_attributes.iter().map(describe_attribute).collect());
    }
    Value::Object(members)
}

impl AttributeType {
    fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::DateTime => "dateTime",
            Self::Reference => "reference",
            Self::Complex => "complex",
        }
    }
}

impl Mutability {
    fn name(self) -> &'static str {
        match self {
            Self::ReadWrite => "readWrite",
            Self::ReadOnly => "readOnly",
            Self::Immutable => "immutable",
        }
    }
}

impl Returned {
    fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Default => "default",
            Self::Request => "request",
        }
    }
}

impl Uniqueness {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Server => "server",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://id.example/scim/v2";

    fn attribute<'a>(schema: &'a Value, name: &str) -> &'a Value {
        let attributes = schema["attributes"].as_array().unwrap();
        attributes.iter().find(|one| one["name"] == name).unwrap()
    }

    #[test]
    fn every_schema_is_found_by_its_urn_in_any_case() {
        assert_eq!(schemas(BASE).len(), 6);
        for one in schemas(BASE) {
            let id = one["id"].as_str().unwrap();
            assert_eq!(schema(BASE, &id.to_uppercase()).unwrap(), one);
            assert_eq!(one["meta"]["location"], format!("{BASE}/Schemas/{id}"));
        }
        assert_eq!(schema(BASE, "urn:none"), None);
    }

    #[test]
    fn the_user_name_is_required_and_unique_and_a_password_is_not_there() {
        let user = schema(BASE, USER.schema.id).unwrap();
        let user_name = attribute(&user, "userName");
        assert_eq!(user_name["required"], true);
        assert_eq!(user_name["uniqueness"], "server");
        assert_eq!(user_name["caseExact"], false);
        assert_eq!(attribute(&user, "groups")["mutability"], "readOnly");
        let names = user["attributes"].as_array().unwrap();
        assert!(names.iter().all(|one| one["name"] != "password"));
    }

    #[test]
    fn no_two_attributes_of_one_schema_differ_by_case_alone() {
        fn check(attributes: &[Attribute]) {
            for (place, one) in attributes.iter().enumerate() {
                let rest = &attributes[place + 1..];
                assert!(rest.iter().all(|other| !other.name.eq_ignore_ascii_case(one.name)));
                assert_eq!(one.is_complex(), !one.sub_attributes.is_empty(), "{}", one.name);
                check(one.sub_attributes);
            }
        }
        for schema in SCHEMAS {
            check(schema.attributes);
        }
    }

    #[test]
    fn resource_types_name_their_schema_and_its_extensions() {
        let user = resource_type(BASE, "User").unwrap();
        assert_eq!(user["endpoint"], "/Users");
        assert_eq!(user["schema"], USER.schema.id);
        let extension = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
        assert_eq!(user["schemaExtensions"], json!([{ "schema": extension, "required": false }]));
        assert_eq!(resource_type(BASE, "Group").unwrap()["schemaExtensions"], json!([]));
        assert_eq!(resource_type(BASE, "user"), None);
        assert_eq!(resource_types(BASE).len(), 2);
    }
}
