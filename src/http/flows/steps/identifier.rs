//! `identifier`: who a person says they are. No account is looked up: nothing can be learnt here.

use super::{Step, StepRequest, Taking};
use crate::{domain::flow::Step as Command, http::limits::purpose::Purpose};
use serde::Deserialize;

/// The longest e-mail address has 254 characters.
const LONGEST: usize = 254;

pub struct Identifier;

#[derive(Deserialize)]
struct Body {
    identifier: TypedIdentifier,
}

/// What a person types; bounded, and without control characters.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct TypedIdentifier(String);

impl TryFrom<String> for TypedIdentifier {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let text = text.trim();
        if text.is_empty() || text.len() > LONGEST {
            return Err("has 1 to 254 characters");
        }
        if text.chars().any(char::is_control) {
            return Err("contains a control character");
        }
        Ok(Self(text.to_owned()))
    }
}

impl Step for Identifier {
    fn path(&self) -> &'static str {
        "identifier"
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { identifier: TypedIdentifier(identifier) } = request.body()?;
            request.charge(Purpose::Flow)?;
            request.ask(Command::Identify { identifier }).await
        })
    }
}
