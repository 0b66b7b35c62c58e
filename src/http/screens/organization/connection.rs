//! A connection as the page shows it, and as its forms send it.

use super::section_view::quoted;
use crate::http::extract::form::Form;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
pub struct Connection {
    pub id: String,
    #[serde(deserialize_with = "quoted")]
    pub name: String,
    pub issuer: String,
    pub client_id: String,
    authentication: String,
    pub required: bool,
    pub believe_acr: bool,
    pub scim_subject: bool,
    pub company: Option<String>,
    roles: Vec<Mapping>,
    pub redirect_uri: String,
    pub backchannel_logout_uri: String,
    pub initiate_login_uri: String,
    pub jwks_uri: Option<String>,
    pub created_at: String,
    #[serde(skip)]
    pub href: String,
}

#[derive(Deserialize)]
struct Mapping {
    claim: String,
    value: String,
    role: String,
}

/// The last trial of a connection.
#[derive(Deserialize)]
pub struct Trial {
    pub begun_at: String,
    pub messages: Vec<Message>,
    pub outcome: Option<Outcome>,
}

/// A message of a trial.
#[derive(Deserialize)]
pub struct Message {
    pub kind: String,
    pub method: String,
    pub url: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
pub struct Outcome {
    pub result: String,
    #[serde(default)]
    pub detail: Option<String>,
    #[serde(default)]
    pub subject: Option<String>,
    #[serde(default)]
    pub email: Option<String>,
    #[serde(default)]
    pub acr: Option<String>,
    pub roles: Vec<String>,
}

impl Message {
    /// All that was said, for the one who wants to see it.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(&self.rest).unwrap_or_default()
    }
}

impl Outcome {
    /// The sentence for what would have become of it.
    pub fn sentence(&self) -> &'static str {
        match &*self.result {
            "signed_in" => "org-trial-signed-in",
            "account_created" => "org-trial-created",
            "account_not_vouched" => "org-trial-not-vouched",
            "identity_not_linked" => "org-trial-not-linked",
            "membership_disabled" => "org-trial-disabled",
            "upstream_unavailable" => "org-trial-unavailable",
            _ => "org-trial-refused",
        }
    }

    pub fn icon(&self) -> &'static str {
        if self.is_good() { "check" } else { "alert" }
    }

    /// Whether a person would have been let in.
    pub fn is_good(&self) -> bool {
        ["signed_in", "account_created"].contains(&&*self.result)
    }
}

impl Connection {
    pub fn has_secret(&self) -> bool {
        self.authentication == "client_secret"
    }

    /// The mappings as a form shows them: one on a line.
    pub fn mappings(&self) -> String {
        let line = |Mapping { claim, value, role }: &Mapping| format!("{claim} {value} {role}");
        self.roles.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// What a form of a new connection gives.
pub fn new(form: &Form) -> Value {
    let mut body = Map::from_iter([("kind".to_owned(), json!("oidc"))]);
    for name in ["name", "issuer", "client_id", "client_secret", "company"] {
        body.extend(given(form, name).map(|text| (name.to_owned(), text.into())));
    }
    body.into()
}

/// What a form changes of a connection: whether it is required, or all the rest.
pub fn change(form: &Form) -> Value {
    if let Some(required) = form.get("required") {
        return json!({ "required": required == "true" });
    }
    let ticked = |name: &str| form.get(name).is_some();
    let mappings = form.get("mappings").unwrap_or_default().lines();
    let mappings: Vec<Value> = mappings.filter_map(mapping).collect();
    let mut body = json!({
        "name": form.get("name").unwrap_or_default(),
        "client_id": form.get("client_id").unwrap_or_default(),
        "believe_acr": ticked("believe_acr"),
        "scim_subject": ticked("scim_subject"),
        "company": given(form, "company"),
        "roles": mappings,
    });
    // An empty field leaves the secret that is there.
    match given(form, "client_secret") {
        Some(secret) => body["client_secret"] = secret.into(),
        None if ticked("by_keys") => body["client_secret"] = Value::Null,
        None => {}
    }
    body
}

fn given<'a>(form: &'a Form, name: &str) -> Option<&'a str> {
    form.get(name).map(str::trim).filter(|text| !text.is_empty())
}

/// Reads a line: the claim, the value, which may have spaces, and the role. What is missing stays empty, and is refused
/// by its field.
fn mapping(line: &str) -> Option<Value> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let (claim, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (value, role) = rest.rsplit_once(char::is_whitespace).unwrap_or((rest, ""));
    Some(json!({ "claim": claim, "value": value.trim(), "role": role }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_come_as_lines_whose_values_may_have_spaces() {
        let form = b"name=E&client_id=c&company=&mappings=%0Agroups++Domain+Users+clerk%0D%0Ahd+x&by_keys=on";
        let body = change(&Form::parse(form).unwrap());
        let expected = json!([
            { "claim": "groups", "value": "Domain Users", "role": "clerk" },
            { "claim": "hd", "value": "x", "role": "" },
        ]);
        assert_eq!(body["roles"], expected);
        assert_eq!((&body["company"], &body["client_secret"]), (&Value::Null, &Value::Null));
        let kept = change(&Form::parse(b"name=E&client_id=c&client_secret=").unwrap());
        assert!(kept.get("client_secret").is_none(), "{kept}");
        let required = change(&Form::parse(b"required=true&name=E").unwrap());
        assert_eq!(required, json!({ "required": true }));
    }
}
