//! Which roles a provider's claims give.

use super::{
    claims::{LONGEST_TEXT, is_text},
    person::{LONGEST_NAME, is_fact},
};
use crate::domain::organization::is_role_name;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// How many mappings a connection may have.
const MOST_MAPPINGS: usize = 200;

/// A role for those whose claim is a value, or a list that has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleMapping {
    pub claim: String,
    pub value: String,
    pub role: String,
}

/// Why mappings cannot stand; reads on from "the mapping".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingFault {
    #[error("is one of more than {MOST_MAPPINGS}")]
    TooMany,
    #[error("names a claim that no role can rest on: `{0}`")]
    Claim(String),
    #[error("has a value that is empty, too long or not printable")]
    Value,
    #[error("names a role that cannot be one: `{0}`")]
    Role(String),
}

/// Judges the mappings of a connection that is being made; whether the roles exist is for others to say.
pub fn check_mappings(mappings: &[RoleMapping]) -> Result<(), MappingFault> {
    if mappings.len() > MOST_MAPPINGS {
        return Err(MappingFault::TooMany);
    }
    for RoleMapping { claim, value, role } in mappings {
        // What says who the token is for, or which address it asserts, says nothing of what a person may do.
        if !is_text(claim, LONGEST_NAME) || !is_fact(claim) {
            return Err(MappingFault::Claim(claim.chars().take(LONGEST_NAME).collect()));
        }
        if !is_text(value, LONGEST_TEXT) {
            return Err(MappingFault::Value);
        }
        if !is_role_name(role) {
            return Err(MappingFault::Role(role.chars().take(LONGEST_NAME).collect()));
        }
    }
    Ok(())
}

/// Returns the roles that claims give. A text is compared as a whole, and never split; what lies inside objects is
/// not looked at.
pub fn mapped_roles<'a>(
    mappings: &'a [RoleMapping],
    claims: &Map<String, Value>,
) -> BTreeSet<&'a str> {
    let fits = |mapping: &&RoleMapping| match claims.get(&mapping.claim) {
        Some(Value::String(text)) => *text == mapping.value,
        Some(Value::Array(entries)) => entries.iter().any(|entry| *entry == mapping.value),
        _ => false,
    };
    mappings.iter().filter(fits).map(|mapping| mapping.role.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn mapping(claim: &str, value: &str, role: &str) -> RoleMapping {
        RoleMapping { claim: claim.to_owned(), value: value.to_owned(), role: role.to_owned() }
    }

    #[test]
    fn a_text_or_a_member_of_a_list_gives_a_role() {
        let mappings = [
            mapping("groups", "finance", "manager"),
            mapping("groups", "staff", "clerk"),
            mapping("department", "Sales", "clerk"),
            mapping("department", "Legal", "lawyer"),
        ];
        let roles = |claims: Value| mapped_roles(&mappings, claims.as_object().unwrap());
        let both = roles(json!({ "groups": ["staff", "finance"], "department": "Sales" }));
        assert_eq!(both.into_iter().collect::<Vec<_>>(), ["clerk", "manager"]);
        assert_eq!(roles(json!({ "groups": "finance" })).len(), 1);
        for none in [
            json!({}),
            json!({ "groups": [] }),
            json!({ "groups": "finance staff" }),
            json!({ "groups": ["Finance", "finance ", "fin"] }),
            json!({ "groups": [["finance"]] }),
            json!({ "groups": { "finance": true } }),
            json!({ "realm_access": { "groups": ["finance"] } }),
            json!({ "Groups": ["finance"] }),
        ] {
            assert!(roles(none.clone()).is_empty(), "{none}");
        }
    }

    #[test]
    fn mappings_are_few_and_rest_on_facts() {
        let fault = |one: RoleMapping| check_mappings(&[one]).unwrap_err();
        assert_eq!(check_mappings(&[mapping("groups", "finance", "manager")]), Ok(()));
        assert_eq!(check_mappings(&[mapping("https://acme.test/role", "é", "a-b_c")]), Ok(()));
        for claim in ["", "sub", "email", "email_verified", "aud", "acr", "nonce", "a\n"] {
            let judged = fault(mapping(claim, "x", "manager"));
            assert_eq!(judged, MappingFault::Claim(claim.to_owned()));
        }
        assert_eq!(fault(mapping("groups", "", "manager")), MappingFault::Value);
        assert_eq!(fault(mapping("groups", "x", "No!")), MappingFault::Role("No!".to_owned()));
        let many = vec![mapping("groups", "finance", "manager"); MOST_MAPPINGS + 1];
        assert_eq!(check_mappings(&many), Err(MappingFault::TooMany));
        let unknown = r#"{"claim":"a","value":"b","role":"c","more":1}"#;
        assert!(serde_json::from_str::<RoleMapping>(unknown).is_err());
    }
}
