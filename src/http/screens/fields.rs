//! The fields of a form, as the body of a step.

use crate::http::extract::form::Form;
use serde_json::{Map, Value};

/// What a form says beside the body of its step.
const OWN: [&str; 5] = ["flow", "step", "then", "passkeys", "invitation"];

/// Returns the body of the step: text as text, and what a browser's authenticator answered as JSON.
///
/// A field that was left empty was not given.
pub fn body(form: &Form) -> Map<String, Value> {
    let given = form.pairs().filter(|(name, value)| !OWN.contains(name) && !value.is_empty());
    let member = |(name, value): (&str, &str)| {
        let value = match name {
            // What is not JSON is refused as any other body that is not of the right shape.
            "credential" => serde_json::from_str(value).unwrap_or(Value::Null),
            _ => value.into(),
        };
        (name.to_owned(), value)
    };
    given.map(member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_become_members() {
        let form =
            b"flow=flw_x&step=password&password=a+b&given_name=&credential=%7B%22id%22%3A1%7D";
        let body = body(&Form::parse(form).unwrap());
        let expected = json!({ "password": "a b", "credential": { "id": 1 } });
        assert_eq!(Value::Object(body), expected);
    }

    #[test]
    fn a_credential_that_is_no_json_is_none() {
        let body = body(&Form::parse(b"credential=%7B").unwrap());
        assert_eq!(Value::Object(body), json!({ "credential": null }));
    }
}
