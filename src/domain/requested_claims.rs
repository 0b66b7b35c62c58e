//! What a client asks to be told of a person: by scopes, or claim by claim (OIDC Core §5.4, §5.5).

use super::{assurance::Acr, authority::Scopes};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The claims that each scope asks for (OIDC Core §5.4).
pub const SCOPE_CLAIMS: [(&str, &[&str]); 4] = [
    (
        "profile",
        &[
            "name",
            "family_name",
            "given_name",
            "middle_name",
            "nickname",
            "preferred_username",
            "profile",
            "picture",
            "website",
            "gender",
            "birthdate",
            "zoneinfo",
            "locale",
            "updated_at",
        ],
    ),
    ("email", &["email", "email_verified"]),
    ("address", &["address"]),
    ("phone", &["phone_number", "phone_number_verified"]),
];

/// Bytes of the parameter; it travels in addresses, and in the id of the flow.
pub const LONGEST: usize = 4_096;

/// The names of claims that were asked for one by one, beside those of scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedClaims {
    #[serde(rename = "u", default, skip_serializing_if = "Vec::is_empty")]
    pub userinfo: Vec<String>,
    #[serde(rename = "i", default, skip_serializing_if = "Vec::is_empty")]
    pub id_token: Vec<String>,
}

/// What the parameter `claims` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimsParameter {
    pub claims: RequestedClaims,
    /// The values of `acr` that were asked for, the best first.
    pub acr_values: Vec<Acr>,
    /// One of them must be reached, or nothing is granted (OIDC Core §5.5.1.1).
    pub acr_is_essential: bool,
    /// The subject that is meant (OIDC Core §5.5.1).
    pub subject: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the parameter claims is no JSON object as OIDC Core §5.5 has it")]
pub struct MalformedClaims;

impl RequestedClaims {
    pub fn is_empty(&self) -> bool {
        self.userinfo.is_empty() && self.id_token.is_empty()
    }

    /// Lists what is asked for and is in none of these scopes: what a person must be told of.
    pub fn beyond(&self, scopes: &Scopes) -> Vec<String> {
        let granted: Vec<&str> = of_scopes(scopes).collect();
        let all = self.userinfo.iter().chain(&self.id_token);
        let mut beyond: Vec<String> =
            all.filter(|name| !granted.contains(&name.as_str())).cloned().collect();
        beyond.sort_unstable();
        beyond.dedup();
        beyond
    }
}

/// Lists the claims that these scopes ask for.
pub fn of_scopes(scopes: &Scopes) -> impl Iterator<Item = &'static str> {
    let asked = SCOPE_CLAIMS.iter().filter(|(scope, _)| scopes.contains(scope));
    asked.flat_map(|(_, claims)| claims.iter().copied())
}

/// Lists every claim that a person can be asked about.
pub fn all() -> impl Iterator<Item = &'static str> {
    SCOPE_CLAIMS.iter().flat_map(|(_, claims)| claims.iter().copied())
}

impl ClaimsParameter {
    /// Reads the parameter. A claim that is not known is ignored (OIDC Core §5.5).
    pub fn parse(text: &str) -> Result<Self, MalformedClaims> {
        if text.len() > LONGEST {
            return Err(MalformedClaims);
        }
        let whole: Map<String, Value> = serde_json::from_str(text).map_err(|_| MalformedClaims)?;
        let member = |name: &str| match whole.get(name) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(claims)) => Ok(claims.clone()),
            Some(_) => Err(MalformedClaims),
        };
        let (userinfo, id_token) = (member("userinfo")?, member("id_token")?);
        let individual = |value: &Value| matches!(value, Value::Null | Value::Object(_));
        if !userinfo.values().chain(id_token.values()).all(individual) {
            return Err(MalformedClaims);
        }
        let mut parameter = Self {
            claims: RequestedClaims { userinfo: known(&userinfo), id_token: known(&id_token) },
            ..Self::default()
        };
        if let Some(Value::Object(acr)) = id_token.get("acr") {
            parameter.acr_values = values(acr).into_iter().filter_map(Acr::by_name).collect();
            let essential = acr.get("essential") == Some(&Value::Bool(true));
            parameter.acr_is_essential = essential && !values(acr).is_empty();
        }
        // The same subject is meant in both, or none can be right.
        for claims in [&id_token, &userinfo] {
            if let Some(Value::Object(subject)) = claims.get("sub")
                && let Some(value) = subject.get("value")
            {
                let value = value.as_str().ok_or(MalformedClaims)?.to_owned();
                if parameter.subject.as_ref().is_some_and(|other| *other != value) {
                    return Err(MalformedClaims);
                }
                parameter.subject = Some(value);
            }
        }
        Ok(parameter)
    }
}

fn known(claims: &Map<String, Value>) -> Vec<String> {
    all().filter(|name| claims.contains_key(*name)).map(str::to_owned).collect()
}

/// The `value`, or the `values`, of a claim that is asked for.
fn values(claim: &Map<String, Value>) -> Vec<&str> {
    let several = claim.get("values").and_then(Value::as_array);
    let several = several.into_iter().flatten();
    claim.get("value").into_iter().chain(several).filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: &Value) -> ClaimsParameter {
        ClaimsParameter::parse(&value.to_string()).unwrap()
    }

    #[test]
    fn what_is_known_is_asked_for_and_the_rest_ignored() {
        let asked = parse(&json!({
            "userinfo": { "name": { "essential": true }, "http://example.info/claims": null },
            "id_token": { "email": null, "auth_time": { "essential": true } },
            "other": { "name": null },
        }));
        assert_eq!(asked.claims.userinfo, ["name"]);
        assert_eq!(asked.claims.id_token, ["email"]);
        assert!(
            parse(&json!({})).claims.is_empty()
                && parse(&json!({ "userinfo": null })).claims.is_empty()
        );
    }

    #[test]
    fn an_essential_acr_must_be_reached_and_a_voluntary_one_need_not() {
        let acr = |acr: Value| parse(&json!({ "id_token": { "acr": acr } }));
        let essential = acr(json!({ "essential": true, "values": ["aal3", "urn:x", "aal2"] }));
        assert_eq!(
            (essential.acr_values, essential.acr_is_essential),
            (vec![Acr::Aal3, Acr::Aal2], true)
        );
        let voluntary = acr(json!({ "value": "aal2" }));
        assert_eq!((voluntary.acr_values, voluntary.acr_is_essential), (vec![Acr::Aal2], false));
        // Without a value every one will do; with an unknown one, none.
        assert!(!acr(json!({ "essential": true })).acr_is_essential);
        let unknown = acr(json!({ "essential": true, "value": "urn:x" }));
        assert!(unknown.acr_is_essential && unknown.acr_values.is_empty());
    }

    #[test]
    fn a_subject_is_meant_once() {
        let one = parse(&json!({ "id_token": { "sub": { "value": "ana" } } }));
        assert_eq!(one.subject.as_deref(), Some("ana"));
        let two = json!({ "id_token": { "sub": { "value": "ana" } }, "userinfo": { "sub": { "value": "b" } } });
        assert!(ClaimsParameter::parse(&two.to_string()).is_err());
    }

    #[test]
    fn what_is_no_request_for_claims_is_refused() {
        for bad in [
            "",
            "x",
            "[]",
            "1",
            "null",
            "{\"userinfo\":[]}",
            "{\"id_token\":{\"name\":true}}",
            "{\"id_token\":{\"sub\":{\"value\":1}}}",
        ] {
            assert_eq!(ClaimsParameter::parse(bad), Err(MalformedClaims), "{bad}");
        }
        let long = format!("{{\"userinfo\":{{\"{}\":null}}}}", "x".repeat(LONGEST));
        assert_eq!(ClaimsParameter::parse(&long), Err(MalformedClaims));
    }

    #[test]
    fn a_person_is_told_of_what_no_scope_covers() {
        let asked = parse(
            &json!({ "userinfo": { "name": null, "email": null }, "id_token": { "email": null } }),
        );
        let scopes = |text| Scopes::parse(text).unwrap();
        assert_eq!(asked.claims.beyond(&scopes("openid")), ["email", "name"]);
        assert_eq!(asked.claims.beyond(&scopes("openid profile")), ["email"]);
        assert!(asked.claims.beyond(&scopes("openid profile email")).is_empty());
    }
}
