//! What an account says of its person: the standard claims of OIDC Core §5.1, checked when taken.

use super::{ClaimFault, ClaimProblem, shape::Shape};
use crate::domain::{client::is_language_tag, is_hidden};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const PHONE_NUMBER: &str = "phone_number";
const PHONE_NUMBER_VERIFIED: &str = "phone_number_verified";

/// Claims that a person proves, and does not say.
const PROVED: [&str; 4] = ["email", "email_verified", PHONE_NUMBER, PHONE_NUMBER_VERIFIED];

/// Every claim but `sub`, `email`, `email_verified` and `updated_at`, which are the account's own.
const CLAIMS: [(&str, Shape); 16] = [
    ("name", Shape::Text),
    ("given_name", Shape::Text),
    ("family_name", Shape::Text),
    ("middle_name", Shape::Text),
    ("nickname", Shape::Text),
    ("preferred_username", Shape::Text),
    ("profile", Shape::Url),
    ("picture", Shape::Url),
    ("website", Shape::Url),
    ("gender", Shape::Text),
    ("birthdate", Shape::Date),
    ("zoneinfo", Shape::TimeZone),
    ("locale", Shape::Language),
    (PHONE_NUMBER, Shape::PhoneNumber),
    (PHONE_NUMBER_VERIFIED, Shape::Flag),
    ("address", Shape::Address),
];

/// The claims of a person, by their names; `given_name#pt` says one in a language (§5.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Profile(BTreeMap<String, Value>);

impl Profile {
    /// Returns a claim as userinfo says it.
    pub fn claim(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns what the person is called, as far as they have said it.
    pub fn full_name(&self) -> String {
        let claim = |name| self.claim(name).and_then(Value::as_str);
        let names = [claim("given_name"), claim("family_name")];
        let joined = || names.into_iter().flatten().collect::<Vec<_>>().join(" ");
        claim("name").map_or_else(joined, str::to_owned)
    }

    /// Returns every claim that was made, in all its languages.
    pub fn claims(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The names of all the claims that there are.
    pub fn known_claims() -> impl Iterator<Item = &'static str> {
        CLAIMS.into_iter().map(|(name, _)| name)
    }

    /// Tells whether `name` is that of a claim, maybe in some language.
    pub fn is_known(name: &str) -> bool {
        find(name).is_some()
    }

    /// Returns the profile with `claims` replaced, or everything that is wrong with them. Other people read what
    /// a claim says, so nothing is hidden in it, whether it comes with a sign-up, from a file or from the person.
    pub(super) fn patch(&self, claims: &Map<String, Value>) -> Result<Self, Vec<ClaimFault>> {
        let mut next = self.clone();
        let mut faults = Vec::new();
        for (name, value) in claims {
            let read = match find(name) {
                Some((_, shape)) => shape.read(value),
                None => Err(ClaimProblem::Unknown),
            };
            let read = match read {
                Ok(_) if hides_something(value) => Err(ClaimProblem::HiddenCharacter),
                read => read,
            };
            match read {
                Ok(Some(value)) => drop(next.0.insert(name.clone(), value)),
                Ok(None) => drop(next.0.remove(name)),
                Err(problem) => faults.push(ClaimFault { claim: name.clone(), problem }),
            }
        }
        next.keep_proof_of(self, claims, &mut faults);
        if faults.is_empty() { Ok(next) } else { Err(faults) }
    }

    /// Returns the profile with what a person says of themselves, or everything that is wrong with it.
    ///
    /// What they prove is proved elsewhere. What it leads to cannot be changed on the way.
    pub(super) fn describe(&self, claims: &Map<String, Value>) -> Result<Self, Vec<ClaimFault>> {
        let faults: Vec<ClaimFault> = claims
            .iter()
            .filter_map(|(name, value)| {
                let problem = own_problem(name, value)?;
                Some(ClaimFault { claim: name.clone(), problem })
            })
            .collect();
        if faults.is_empty() { self.patch(claims) } else { Err(faults) }
    }

    /// Sets a number that was proved, or takes it away.
    pub(super) fn set_phone(&mut self, number: Option<&str>) {
        if let Some(number) = number {
            self.0.insert(PHONE_NUMBER.to_owned(), number.into());
            self.0.insert(PHONE_NUMBER_VERIFIED.to_owned(), true.into());
        } else {
            self.0.remove(PHONE_NUMBER);
            self.0.remove(PHONE_NUMBER_VERIFIED);
        }
    }

    /// What was proved of a number is not proved of another.
    fn keep_proof_of(
        &mut self,
        held: &Self,
        given: &Map<String, Value>,
        faults: &mut Vec<ClaimFault>,
    ) {
        let proved = self.claim(PHONE_NUMBER_VERIFIED) == Some(&Value::Bool(true));
        let said_now = given.contains_key(PHONE_NUMBER_VERIFIED);
        if self.claim(PHONE_NUMBER).is_none() && proved && said_now {
            let problem = ClaimProblem::NothingVerified;
            faults.push(ClaimFault { claim: PHONE_NUMBER_VERIFIED.to_owned(), problem });
        } else if self.claim(PHONE_NUMBER) != held.claim(PHONE_NUMBER) && !said_now {
            self.0.remove(PHONE_NUMBER_VERIFIED);
        }
    }

    /// Says of each claim whether it differs, in any language.
    pub(super) fn differing(&self, other: &Self) -> impl Iterator<Item = (&'static str, bool)> {
        let differs = |name: &&String| self.claim(name) != other.claim(name);
        let changed = self.0.keys().chain(other.0.keys()).filter(differs);
        let changed: Vec<&str> = changed.filter_map(|name| Some(find(name)?.0)).collect();
        CLAIMS.into_iter().map(move |(name, _)| (name, changed.contains(&name)))
    }
}

/// Returns a claim and the shape of its value; what people read may be said in a language.
fn find(name: &str) -> Option<(&'static str, Shape)> {
    let (base, tag) = match name.split_once('#') {
        Some((base, tag)) => (base, Some(tag)),
        None => (name, None),
    };
    let (claim, shape) = CLAIMS.into_iter().find(|(claim, _)| *claim == base)?;
    let for_people = matches!(shape, Shape::Text | Shape::Url | Shape::Address);
    tag.is_none_or(|tag| for_people && is_language_tag(tag)).then_some((claim, shape))
}

/// Returns what is wrong with a claim that a person makes of themselves, beside its shape.
fn own_problem(name: &str, value: &Value) -> Option<ClaimProblem> {
    if PROVED.contains(&name) {
        return Some(ClaimProblem::ProvedElsewhere);
    }
    let (_, shape) = find(name)?;
    let insecure = |text: &str| !text.trim().is_empty() && !text.starts_with("https://");
    let insecure = value.as_str().is_some_and(insecure);
    (shape == Shape::Url && insecure).then_some(ClaimProblem::NotHttps)
}

/// Tells whether the value of a claim contains what is not seen or turns text around.
pub fn hides_something(value: &Value) -> bool {
    let members = value.as_object().into_iter().flat_map(Map::values);
    members.chain([value]).filter_map(Value::as_str).any(has_hidden)
}

/// Tells whether a text contains what is not seen or turns it around. Line breaks are seen, and the
/// scripts from Arabic to Sinhala write some names with joiners between their letters.
fn has_hidden(text: &str) -> bool {
    let joined = |one: Option<char>| one.is_some_and(|one| ('\u{600}'..='\u{dff}').contains(&one));
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let joiner = matches!(letter, '\u{200c}' | '\u{200d}');
        let in_place = joiner && joined(before) && joined(letters.peek().copied());
        if is_hidden(letter) && !matches!(letter, '\r' | '\n') && !in_place {
            return true;
        }
        before = Some(letter);
    }
    false
}

#[cfg(test)]
mod tests;
