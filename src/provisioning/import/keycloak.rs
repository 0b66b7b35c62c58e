//! The users of a Keycloak realm: the export of a realm, or the files of users beside it.
//!
//! | of a user | becomes |
//! |---|---|
//! | `email`, or a `username` that is an address | the address; verified only if `emailVerified` says so of `email` |
//! | `firstName`, `lastName`, `username` | `given_name`, `family_name`, `preferred_username` |
//! | `attributes` of the name of a standard claim, with one value | the claim |
//! | the credential `password` of PBKDF2 or Argon2 | the password |
//! | the credential `otp`, as authenticator applications have it | the authenticator application |
//! | `serviceAccountClientId` | nothing: it is a client |
//!
//! Passkeys and codes of other kinds are left out, and it is said. Roles and groups have no place in an
//! account. A user that is disabled becomes a suspended account.

use super::{
    imported_person::{EntryOutcome, ImportedPerson, NumberedEntries, put},
    people::{ExportedUser, People, not_json},
    phc::{checked, decoded, encoded, pbkdf2},
    repeats::{REPEATED, repeated},
};
use crate::{
    config::Complaint,
    crypto::decode_base32,
    domain::{
        Secret,
        account::{Profile, normalise_email},
    },
    provisioning::{accounts::TOTP_LENGTHS, table::excerpt},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashMap;

#[derive(Deserialize)]
struct Realm {
    users: Option<People<User>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct User {
    username: Option<String>,
    email: Option<String>,
    email_verified: Option<bool>,
    enabled: Option<bool>,
    first_name: Option<String>,
    last_name: Option<String>,
    service_account_client_id: Option<String>,
    attributes: Option<HashMap<String, Vec<String>>>,
    credentials: Option<Vec<Credential>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Credential {
    r#type: String,
    /// JSON within a text.
    secret_data: Option<String>,
    #[serde(rename = "credentialData")]
    data: Option<String>,
}

#[derive(Deserialize)]
struct SecretData {
    value: String,
    salt: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PasswordData {
    hash_iterations: u64,
    algorithm: String,
    #[serde(default)]
    additional_parameters: HashMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OtpData {
    sub_type: String,
    digits: u64,
    period: u64,
    algorithm: String,
    secret_encoding: Option<String>,
}

pub(super) fn read(text: &str) -> Result<NumberedEntries, Vec<Complaint>> {
    if let Some(line) = repeated(text) {
        return Err(vec![Complaint::new(line, REPEATED)]);
    }
    let realm: Realm = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    let Some(users) = realm.users else {
        return Err(vec![Complaint::new(0, "has no `users`: it was exported without them")]);
    };
    Ok((1..).zip(users.judged).collect())
}

impl ExportedUser for User {
    fn found(self) -> EntryOutcome {
        if self.service_account_client_id.is_some() {
            return Ok(None);
        }
        let mut wrong = Vec::new();
        let suspended = self.enabled == Some(false);
        let mut found = ImportedPerson { suspended, ..ImportedPerson::default() };
        let username = self.username.filter(|name| !name.is_empty());
        let by_name = || username.clone().filter(|name| normalise_email(name).is_some());
        match self.email.filter(|email| !email.is_empty()) {
            Some(email) => (found.email, found.email_verified) = (email, self.email_verified),
            None => match by_name() {
                Some(email) => found.email = email,
                None => wrong.push("has no e-mail address".to_owned()),
            },
        }
        attributes(self.attributes.unwrap_or_default(), &mut found.claims);
        put(&mut found.claims, "given_name", self.first_name);
        put(&mut found.claims, "family_name", self.last_name);
        let is_address = username.as_deref().is_some_and(|name| name.contains('@'));
        put(&mut found.claims, "preferred_username", username.filter(|_| !is_address));
        for credential in self.credentials.unwrap_or_default() {
            credential.taken_into(&mut found, &mut wrong);
        }
        if wrong.is_empty() { Ok(Some(found)) } else { Err(wrong) }
    }
}

/// Takes over attributes that are standard claims of one text; others are the realm's own.
fn attributes(attributes: HashMap<String, Vec<String>>, claims: &mut Map<String, Value>) {
    for (name, mut values) in attributes {
        let (Some(value), true) = (values.pop(), values.is_empty()) else { continue };
        match &*name {
            "address" | "updated_at" => {}
            "phone_number_verified" => {
                let flag = value.parse().ok();
                claims.extend(flag.map(|flag: bool| (name, flag.into())));
            }
            _ if Profile::is_known(&name) => put(claims, &name, Some(value)),
            _ => {}
        }
    }
}

impl Credential {
    fn taken_into(self, found: &mut ImportedPerson, wrong: &mut Vec<String>) {
        match &*self.r#type {
            "password" if found.password.is_some() => {
                wrong.push("has more than one password".to_owned());
            }
            "password" => match self.password() {
                Ok(phc) => found.password = Some(phc),
                Err(why) => wrong.push(why),
            },
            "otp" | "totp" if found.totp.is_none() => match self.otp() {
                Some(secret) => found.totp = Some(secret),
                None => found.left_out.push("its one-time codes are left out".to_owned()),
            },
            // Those before, by which Keycloak keeps people from going back.
            "password-history" => {}
            other => {
                let other = excerpt(other);
                found.left_out.push(format!("a credential of type `{other}` is left out"));
            }
        }
    }

    /// Reads both halves, which are JSON within texts.
    fn halves<D: for<'de> Deserialize<'de>>(&self) -> Option<(SecretData, D)> {
        let (secret, data) = (self.secret_data.as_deref()?, self.data.as_deref()?);
        if repeated(secret).or(repeated(data)).is_some() {
            return None;
        }
        Some((serde_json::from_str(secret).ok()?, serde_json::from_str(data).ok()?))
    }

    fn password(&self) -> Result<String, String> {
        const UNREAD: &str = "has a password whose `secretData` or `credentialData` cannot be read";
        let (secret, data) = self.halves::<PasswordData>().ok_or(UNREAD)?;
        let salt = secret.salt.as_deref().and_then(decoded).ok_or(UNREAD)?;
        let output = decoded(&secret.value).ok_or(UNREAD)?;
        let passes = data.hash_iterations;
        let phc = match &*data.algorithm {
            "pbkdf2" => pbkdf2("sha1", passes, &salt, &output),
            "pbkdf2-sha256" => pbkdf2("sha256", passes, &salt, &output),
            "pbkdf2-sha512" => pbkdf2("sha512", passes, &salt, &output),
            "argon2" => data.argon2(&salt, &output).ok_or(UNREAD)?,
            other => {
                let other = excerpt(other);
                return Err(format!("has a password hash of the unknown algorithm `{other}`"));
            }
        };
        checked(phc)
    }

    /// Reads the secret of one-time codes, if they are what authenticator applications make.
    fn otp(&self) -> Option<Secret> {
        let (secret, data) = self.halves::<OtpData>()?;
        let usual = data.sub_type == "totp"
            && (data.digits, data.period) == (6, 30)
            && data.algorithm == "HmacSHA1";
        let secret = match data.secret_encoding.as_deref() {
            None => Some(Secret::new(secret.value)),
            Some("BASE32") => decode_base32(&secret.value),
            Some(_) => None,
        };
        secret.filter(|secret| usual && TOTP_LENGTHS.contains(&secret.expose().len()))
    }
}

impl PasswordData {
    fn argon2(&self, salt: &[u8], output: &[u8]) -> Option<String> {
        let one = |name: &str| match self.additional_parameters.get(name).map(Vec::as_slice) {
            Some([value]) => Some(value.as_str()),
            _ => None,
        };
        let kind = one("type").filter(|kind| ["id", "i", "d"].contains(kind))?;
        let version = match one("version")? {
            "1.3" => 19,
            "1.0" => 16,
            _ => return None,
        };
        let memory: u64 = one("memory")?.parse().ok()?;
        let lanes: u64 = one("parallelism")?.parse().ok()?;
        let (passes, salt, output) = (self.hash_iterations, encoded(salt), encoded(output));
        Some(format!("$argon2{kind}$v={version}$m={memory},t={passes},p={lanes}${salt}${output}"))
    }
}
