//! The users of an Auth0 tenant: a JSON object a line, or one array of them.
//!
//! | of a user | becomes |
//! |---|---|
//! | `email`, `email_verified` | the address |
//! | `name`, `given_name`, `family_name`, `nickname`, `picture`, `locale`, `username`, `phone_number` | the standard claims |
//! | `passwordHash` | the password: bcrypt |
//! | `custom_password_hash` of bcrypt, Argon2, PBKDF2 or scrypt | the password |
//!
//! Metadata and identities are not taken over. A user that is blocked becomes a suspended account.

use super::{
    imported_person::{Entries, EntryOutcome, ImportedPerson, NumberedEntries, put},
    people::{ExportedUser, People, judge, not_json},
    phc::{checked, decoded, encoded},
    repeats::{REPEATED, repeated},
};
use crate::{config::Complaint, provisioning::table::excerpt};
use data_encoding::HEXLOWER_PERMISSIVE;
use serde::Deserialize;

#[derive(Deserialize)]
struct User {
    email: Option<String>,
    email_verified: Option<bool>,
    name: Option<String>,
    given_name: Option<String>,
    family_name: Option<String>,
    nickname: Option<String>,
    picture: Option<String>,
    locale: Option<String>,
    username: Option<String>,
    phone_number: Option<String>,
    #[serde(alias = "phone_number_verified")]
    phone_verified: Option<bool>,
    blocked: Option<bool>,
    #[serde(rename = "passwordHash", alias = "password_hash")]
    password_hash: Option<String>,
    custom_password_hash: Option<CustomHash>,
}

/// A hash as the tenant has got it from elsewhere itself.
#[derive(Deserialize)]
struct CustomHash {
    algorithm: String,
    hash: EncodedValue,
    salt: Option<EncodedValue>,
    password: Option<PasswordEncoding>,
    /// scrypt: how often, how large, how many.
    cost: Option<u64>,
    #[serde(rename = "blockSize")]
    block_size: Option<u64>,
    #[serde(rename = "parallelization")]
    lanes: Option<u64>,
}

#[derive(Deserialize)]
struct EncodedValue {
    value: String,
    encoding: Option<String>,
}

#[derive(Deserialize)]
struct PasswordEncoding {
    encoding: Option<String>,
}

pub(super) fn read(text: &str) -> Result<(NumberedEntries, Entries), Vec<Complaint>> {
    if text.trim_start().starts_with('[') {
        if let Some(line) = repeated(text) {
            return Err(vec![Complaint::new(line, REPEATED)]);
        }
        let users: People<User> = serde_json::from_str(text).map_err(|error| not_json(&error))?;
        return Ok(((1..).zip(users.judged).collect(), Entries::Users));
    }
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let judged = lines.map(|(line, place)| {
        if repeated(line).is_some() {
            return (place, Err(vec![REPEATED.to_owned()]));
        }
        let read = serde_json::from_str(line).map_err(|_| vec!["is not JSON".to_owned()]);
        (place, read.and_then(judge::<User>))
    });
    Ok((judged.collect(), Entries::Lines))
}

impl ExportedUser for User {
    fn found(self) -> EntryOutcome {
        let mut wrong = Vec::new();
        let (email_verified, suspended) = (self.email_verified, self.blocked == Some(true));
        let mut found = ImportedPerson { email_verified, suspended, ..ImportedPerson::default() };
        match self.email.filter(|email| !email.is_empty()) {
            Some(email) => found.email = email,
            None => wrong.push("has no e-mail address".to_owned()),
        }
        // Where no name was given, the tenant says the address instead.
        let name = self.name.filter(|name| *name != found.email);
        for (claim, text) in [
            ("name", name),
            ("given_name", self.given_name),
            ("family_name", self.family_name),
            ("nickname", self.nickname),
            ("picture", self.picture),
            ("locale", self.locale),
            ("preferred_username", self.username),
            ("phone_number", self.phone_number),
        ] {
            put(&mut found.claims, claim, text);
        }
        if let (Some(verified), true) =
            (self.phone_verified, found.claims.contains_key("phone_number"))
        {
            found.claims.insert("phone_number_verified".to_owned(), verified.into());
        }
        let password = match (self.password_hash, self.custom_password_hash) {
            (Some(_), Some(_)) => Some(Err("has more than one password".to_owned())),
            (Some(hash), None) => Some(checked(hash)),
            (None, Some(custom)) => Some(custom.phc()),
            (None, None) => None,
        };
        match password {
            Some(Ok(phc)) => found.password = Some(phc),
            Some(Err(why)) => wrong.push(why),
            None => {}
        }
        if wrong.is_empty() { Ok(Some(found)) } else { Err(wrong) }
    }
}

impl CustomHash {
    fn phc(self) -> Result<String, String> {
        let encoding = self.password.and_then(|password| password.encoding);
        if encoding.is_some_and(|encoding| encoding != "utf8") {
            return Err("has a hash of a password that is not in UTF-8".to_owned());
        }
        match (&*self.algorithm, &self.salt) {
            // PHC strings, which hold their salt.
            ("argon2" | "bcrypt" | "pbkdf2", None) => checked(self.hash.value),
            ("argon2" | "bcrypt" | "pbkdf2", Some(_)) => {
                Err("has a `salt` beside a hash that holds one".to_owned())
            }
            ("scrypt", Some(salt)) => {
                const UNREAD: &str = "has a hash of scrypt that cannot be read";
                let (salt, output) = (salt.bytes().ok_or(UNREAD)?, self.hash.bytes());
                let output = output.ok_or(UNREAD)?;
                let cost = self.cost.unwrap_or(16_384);
                if !cost.is_power_of_two() {
                    return Err(UNREAD.to_owned());
                }
                let (cost, blocks) = (cost.ilog2(), self.block_size.unwrap_or(8));
                let (lanes, salt, output) =
                    (self.lanes.unwrap_or(1), encoded(&salt), encoded(&output));
                checked(format!("$scrypt$ln={cost},r={blocks},p={lanes}${salt}${output}"))
            }
            (other, _) => {
                let other = excerpt(other);
                Err(format!("has a password hash of the algorithm `{other}`, which is not taken"))
            }
        }
    }
}

impl EncodedValue {
    fn bytes(&self) -> Option<Vec<u8>> {
        match self.encoding.as_deref() {
            None | Some("utf8") => Some(self.value.clone().into_bytes()),
            Some("hex") => HEXLOWER_PERMISSIVE.decode(self.value.as_bytes()).ok(),
            Some("base64") => decoded(&self.value),
            Some(_) => None,
        }
    }
}
