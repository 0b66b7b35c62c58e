//! `[[account]]`: a person's address, claims by their standard names, credentials and memberships.

use super::{
    lines::{Declaration, Lines},
    table::{Reading, Table},
};
use crate::{
    config::{DocumentValue, Section},
    crypto::{decode_base32, password},
    domain::{
        Secret, Timestamp,
        account::{self, ADDRESS_MEMBERS, PasswordHash, Profile, Refusal, normalise_email},
        membership,
        password::Password,
    },
};
use serde_json::{Map, Value};
use std::{collections::HashMap, ops::RangeInclusive, time::Duration};

const MOST_KEYS: usize = 1_000;
/// How long the secret of an authenticator app may be, in bytes.
pub(super) const TOTP_LENGTHS: RangeInclusive<usize> = 10..=64;

pub(super) const MEMBERSHIPS: &str = "memberships";
/// The list in which a role of a membership is found again, as `organization:role`.
const ROLES: &str = "memberships.roles";

/// What a file says of one person.
#[derive(Debug)]
pub struct Person {
    /// The address under which the account is found.
    pub address: String,
    /// Without the id and the credentials, which only an account that is created needs.
    pub draft: account::Draft,
    pub password: Option<PasswordEntry>,
    pub totp_secret: Option<Secret>,
    /// All that there are to be; where it is `None` they stay.
    pub memberships: Option<Vec<MembershipEntry>>,
    /// It must not be usable: an export says that it was not where it comes from.
    pub suspended: bool,
    /// It must be usable.
    pub enables: bool,
}

/// A password as a file gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordEntry {
    Clear(Password),
    Hashed(PasswordHash),
}

/// What a person is to be in an organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MembershipEntry {
    pub organization: String,
    pub roles: Vec<String>,
    /// An ended one is kept with its roles.
    pub enabled: bool,
}

pub(super) fn read(section: Section, reading: &mut Reading) -> Option<Declaration<Person>> {
    if section.keys().nth(MOST_KEYS).is_some() {
        reading.complain(section.line(), format!("`account` has more than {MOST_KEYS} keys"));
        return None;
    }
    let mut table = Table::new("account", section, reading);
    table.demand(&["email"]);
    let email = email(&mut table);
    let email_verified = table.flag("email_verified");
    let enabled = table.flag("enabled");
    let password = password(&mut table);
    let totp_secret = totp_secret(&mut table);
    let sections = table.tables(MEMBERSHIPS);
    let memberships = sections.map(|sections| memberships(sections, &mut table));
    let updated_at = table
        .number("updated_at")
        .map(|number| Timestamp::NEVER + Duration::from_secs(number.value));
    let claims = claims(&mut table);
    let lines = table.finish();
    let (email, address) = email?;
    let draft =
        account::Draft { email, email_verified, claims, updated_at, ..account::Draft::default() };
    let (suspended, enables) = (enabled == Some(false), enabled == Some(true));
    let person = Person { address, draft, password, totp_secret, memberships, suspended, enables };
    Some(Declaration { draft: person, lines })
}

/// Reads an address as it is written and as it is found.
fn email(table: &mut Table<'_>) -> Option<(String, String)> {
    let DocumentValue { value, line } = table.text("email")?;
    if let Some(address) = normalise_email(&value) {
        table.reading.once("account", &address, line);
        return Some((value.trim().to_owned(), address));
    }
    table.complain_of("email", line, &Refusal::Email.to_string());
    None
}

fn claims(table: &mut Table<'_>) -> Map<String, Value> {
    let mut claims = Map::new();
    for name in table.keys().into_iter().filter(|name| Profile::is_known(name)) {
        let value = match name.split('#').next() {
            Some("address") => postal_address(&name, table),
            _ => table.json(&name).map(|value| value.value),
        };
        claims.extend(value.map(|value| (name, value)));
    }
    if !table.keys().is_empty() {
        // Asked for, though they are not there: what the others may have been meant to be.
        for name in Profile::known_claims() {
            table.json(name);
        }
    }
    claims
}

fn postal_address(name: &str, table: &mut Table<'_>) -> Option<Value> {
    let section = table.table(name)?;
    let mut inner = Table::new("account.address", section, table.reading);
    let mut address = Map::new();
    for member in ADDRESS_MEMBERS {
        let text = inner.text(member);
        address.extend(text.map(|text| (member.to_owned(), text.value.into())));
    }
    inner.finish();
    Some(Value::Object(address))
}

/// Reads a password, in clear or hashed; no complaint repeats any of it.
fn password(table: &mut Table<'_>) -> Option<PasswordEntry> {
    const KEY: &str = "password";
    let DocumentValue { value, line } = table.text(KEY)?;
    let wrong = if is_hash(&value) {
        match password::check(&value) {
            Ok(()) => return Some(PasswordEntry::Hashed(PasswordHash::new(value))),
            Err(why) => format!("looks like a hash that cannot be used: {why}"),
        }
    } else {
        match Password::read(&value) {
            Ok(password) => return Some(PasswordEntry::Clear(password)),
            Err(fault) => fault.to_string(),
        }
    };
    table.complain_of(KEY, line, &wrong);
    None
}

/// Tells whether a text has the form in which hashes are written, `$name$…$…`.
///
/// A hash of an unknown kind must not become a person's password.
fn is_hash(text: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let named = |rest: &str| {
        let (name, rest) = rest.split_once('$')?;
        (!name.is_empty() && name.bytes().all(of_name)).then_some(rest.contains('$'))
    };
    text.starts_with("$argon2") || text.strip_prefix('$').and_then(named).unwrap_or(false)
}

fn totp_secret(table: &mut Table<'_>) -> Option<Secret> {
    const KEY: &str = "totp_secret";
    let DocumentValue { value, line } = table.text(KEY)?;
    let wrong = match decode_base32(&value) {
        Some(secret) if TOTP_LENGTHS.contains(&secret.expose().len()) => return Some(secret),
        Some(_) => format!(
            "must have {} to {} bytes once decoded",
            TOTP_LENGTHS.start(),
            TOTP_LENGTHS.end()
        ),
        None => "must be base32: A-Z and 2-7".to_owned(),
    };
    table.complain_of(KEY, line, &wrong);
    None
}

fn memberships(sections: Vec<Section>, account: &mut Table<'_>) -> Vec<MembershipEntry> {
    let mut entries = Vec::with_capacity(sections.len());
    let mut named = HashMap::new();
    for section in sections {
        let mut table = Table::new("account.memberships", section, account.reading);
        table.demand(&["organization"]);
        let organization = table.text("organization");
        let roles = table.texts("roles").unwrap_or_default();
        let enabled = table.flag("enabled").unwrap_or(true);
        table.finish();
        let Some(DocumentValue { value: organization, line }) = organization else { continue };
        if let Some(before) = named.insert(organization.clone(), line) {
            let wrong = format!("is the organization of line {before} too");
            account.complain_of("memberships.organization", line, &wrong);
        }
        account.note_member(MEMBERSHIPS, &organization, line);
        for role in &roles {
            account.note_member(ROLES, &role_of(&organization, &role.value), role.line);
        }
        let roles = roles.into_iter().map(|role| role.value).collect();
        entries.push(MembershipEntry { organization, roles, enabled });
    }
    entries
}

fn role_of(organization: &str, role: &str) -> String {
    format!("{organization}:{role}")
}

/// Says in words what was refused, each with its line.
pub(super) fn said(refusal: &Refusal, lines: &Lines) -> Vec<(usize, String)> {
    match refusal {
        Refusal::Claims(faults) => {
            let said = faults.iter().map(|fault| (lines.of_field(&fault.claim), fault.to_string()));
            said.collect()
        }
        other => vec![(lines.of_field("email"), other.to_string())],
    }
}

/// Says in words what was refused of a membership, with its line.
pub(super) fn said_of_membership(refusal: &membership::Refusal, lines: &Lines) -> (usize, String) {
    let line = match refusal {
        membership::Refusal::NoSuchOrganization(slug) | membership::Refusal::Suspended(slug) => {
            lines.of_member(MEMBERSHIPS, slug)
        }
        membership::Refusal::NoSuchRole { organization, role } => {
            lines.of_member(ROLES, &role_of(organization, role))
        }
        membership::Refusal::OtherPair
        | membership::Refusal::Left
        | membership::Refusal::OtherState => lines.of_field(MEMBERSHIPS),
    };
    (line, refusal.to_string())
}
