//! What the value of a claim must look like (OIDC Core §5.1).

use super::ClaimProblem;
use crate::domain::client::is_language_tag;
use serde_json::{Map, Value};
use time::Month;
use url::Url;

const LONGEST_TEXT: usize = 255;
const LONGEST_URL: usize = 2_048;
const LONGEST_LINES: usize = 1_000;
const LONGEST_ZONE: usize = 64;

/// The members of a postal address (OIDC Core §5.1.1).
pub const ADDRESS_MEMBERS: [&str; 6] =
    ["formatted", "street_address", "locality", "region", "postal_code", "country"];

/// The form of a claim's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Url,
    Date,
    Language,
    TimeZone,
    PhoneNumber,
    Flag,
    Address,
}

impl Shape {
    /// Returns the value as it is kept; `None` where it says that there is none.
    pub(super) fn read(self, value: &Value) -> Result<Option<Value>, ClaimProblem> {
        match (self, value) {
            (_, Value::Null) => Ok(None),
            (Self::Flag, Value::Bool(_)) => Ok(Some(value.clone())),
            (Self::Flag, _) => Err(ClaimProblem::NotFlag),
            (Self::Address, Value::Object(members)) => {
                let address = address(members)?;
                Ok((!address.is_empty()).then_some(Value::Object(address)))
            }
            (Self::Address, _) => Err(ClaimProblem::NotTable),
            (_, Value::String(text)) if text.trim().is_empty() => Ok(None),
            (_, Value::String(text)) => self.check(text).map(|()| Some(value.clone())),
            _ => Err(ClaimProblem::NotText),
        }
    }

    fn check(self, text: &str) -> Result<(), ClaimProblem> {
        let most = if self == Self::Url { LONGEST_URL } else { LONGEST_TEXT };
        check_line(text, most)?;
        let (sound, problem) = match self {
            Self::Text | Self::Flag | Self::Address => return Ok(()),
            Self::Url => (is_url(text), ClaimProblem::NotUrl),
            Self::Date => (is_date(text), ClaimProblem::NotDate),
            Self::Language => (is_language_tag(text), ClaimProblem::NotLanguage),
            Self::TimeZone => (is_time_zone(text), ClaimProblem::NotTimeZone),
            Self::PhoneNumber => (is_phone_number(text), ClaimProblem::NotPhoneNumber),
        };
        if sound { Ok(()) } else { Err(problem) }
    }
}

fn check_line(text: &str, most: usize) -> Result<(), ClaimProblem> {
    if text.chars().count() > most {
        return Err(ClaimProblem::TooLong { most });
    }
    if text.chars().any(char::is_control) {
        return Err(ClaimProblem::ControlCharacter);
    }
    Ok(())
}

/// Returns the members that say something.
fn address(members: &Map<String, Value>) -> Result<Map<String, Value>, ClaimProblem> {
    let mut kept = Map::new();
    for (name, value) in members {
        let text = value.as_str().filter(|_| ADDRESS_MEMBERS.contains(&name.as_str()));
        let text = text.ok_or(ClaimProblem::NotAddress)?;
        // An address for a label has lines (OIDC Core §5.1.1).
        check_line(&text.replace("\r\n", " ").replace('\n', " "), LONGEST_LINES)?;
        if !text.trim().is_empty() {
            kept.insert(name.clone(), value.clone());
        }
    }
    Ok(kept)
}

/// Whether a browser and a reader see the same place in it.
fn is_url(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\\\"<>`{}|^".contains(&byte);
    let begins = |scheme: &str| text.get(..scheme.len()).is_some_and(|head| head == scheme);
    let sound = |url: Url| {
        url.host_str().is_some_and(|host| !host.is_empty())
            && url.username().is_empty()
            && url.password().is_none()
    };
    text.bytes().all(plain)
        && (begins("https://") || begins("http://"))
        && Url::parse(text).is_ok_and(sound)
}

fn is_date(text: &str) -> bool {
    let number = |digits: &str| -> Option<u32> {
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let parts: Vec<&str> = text.split('-').collect();
    match parts[..] {
        [year] => year.len() == 4 && year != "0000" && number(year).is_some(),
        [year, month, day] => {
            let lengths = (year.len(), month.len(), day.len()) == (4, 2, 2);
            let parts = (number(year), number(month), number(day));
            let (Some(year), Some(month), Some(day)) = parts else { return false };
            lengths && (1..=days_in(year, month)).contains(&day)
        }
        _ => false,
    }
}

/// How many days a month has; none where there is no such month.
fn days_in(year: u32, month: u32) -> u32 {
    let month = u8::try_from(month).ok().and_then(|month| Month::try_from(month).ok());
    let year = i32::try_from(year).ok();
    // The year 0000 stands for none, and is a leap year: a birthday may be the last of February.
    month.zip(year).map_or(0, |(month, year)| month.length(year).into())
}

/// Whether it could stand in the tz database: which zones there are changes every year.
fn is_time_zone(text: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte);
    text.len() <= LONGEST_ZONE
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.split('/').all(|part| !part.is_empty() && part.bytes().all(of_name))
}

/// E.164: `+`, then the country, which does not begin with 0, then the rest of up to 15 digits.
pub fn is_phone_number(text: &str) -> bool {
    let Some(digits) = text.strip_prefix('+') else { return false };
    (2..=15).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0')
}
