//! Accounts from the export files of other servers, for `porteiro account import`.
//!
//! A file is read into what [`File`] holds, and goes the way of every provisioning file from there: one
//! plan, the same rules, but a commit for each batch of people ([`batches`]). Each entry of the export that cannot be taken is complained of by
//! its number, all in one pass. What a complaint says names members and never repeats what they hold.

mod auth0;
pub(super) mod batches;
mod imported_person;
mod keycloak;
mod people;
mod phc;
mod repeats;
#[cfg(test)]
mod tests;

use super::{
    accounts::{PasswordEntry, Person},
    file::{File, MOST_ENTITIES},
    lines::{Declaration, Lines},
    table::excerpt,
};
use crate::{
    config::Complaint,
    domain::account::{self, ClaimProblem, PasswordHash, normalise_email},
};
use imported_person::{Entries, EntryOutcome, ImportedPerson};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// How many bytes such a file may have.
pub const LARGEST_IMPORT: u64 = 64 * 1024 * 1024;

/// Which server wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The `[[account]]` tables of a provisioning file.
    Porteiro,
    /// A realm, or a file of its users.
    Keycloak,
    /// A user a line, or one array of them.
    Auth0,
}

/// An export that was read.
#[derive(Debug)]
pub struct Import {
    pub file: File,
    /// What was not taken over, by the entry it belongs to.
    pub left_out: Vec<Complaint>,
    entries: Entries,
}

impl Import {
    /// Reads an export, or says everything that is wrong with it.
    pub fn parse(text: &str, format: Format) -> Result<Self, Vec<Complaint>> {
        let (judged, entries) = match format {
            Format::Porteiro => return Self::of_accounts(text),
            Format::Keycloak => (keycloak::read(text)?, Entries::Users),
            Format::Auth0 => auth0::read(text)?,
        };
        let mut gathering = PeopleCollector::default();
        for (place, judged) in judged {
            gathering.take(place, judged);
        }
        let PeopleCollector { accounts, left_out, complaints, .. } = gathering;
        let file = File { accounts, ..File::default() };
        let import = Self { file, left_out, entries };
        if !complaints.is_empty() {
            return Err(import.named(complaints));
        }
        if import.file.is_empty() {
            return Err(vec![Complaint::new(0, "has no users")]);
        }
        let left_out = import.named(import.left_out.clone());
        Ok(Self { left_out, ..import })
    }

    fn of_accounts(text: &str) -> Result<Self, Vec<Complaint>> {
        let file = File::parse(text)?;
        if file.accounts.len() < file.len() {
            let wrong = "declares more than accounts: `porteiro apply` takes it";
            return Err(vec![Complaint::new(0, wrong)]);
        }
        Ok(Self { file, left_out: Vec::new(), entries: Entries::Lines })
    }

    /// Names the entry of each complaint as the file counts them.
    pub fn named(&self, complaints: Vec<Complaint>) -> Vec<Complaint> {
        let name = |Complaint { line, text }| match (self.entries, line) {
            (Entries::Lines, _) | (_, 0) => Complaint { line, text },
            (Entries::Users, user) => Complaint::new(0, format!("user {user}: {text}")),
        };
        complaints.into_iter().map(name).collect()
    }
}

#[derive(Default)]
struct PeopleCollector {
    accounts: Vec<Declaration<Person>>,
    left_out: Vec<Complaint>,
    complaints: Vec<Complaint>,
    first: HashMap<String, usize>,
}

impl PeopleCollector {
    fn take(&mut self, place: usize, judged: EntryOutcome) {
        match judged {
            Ok(None) => {}
            Ok(Some(found)) => self.person(place, found),
            Err(wrong) => {
                let said = wrong.into_iter().map(|text| Complaint::new(place, text));
                self.complaints.extend(said);
            }
        }
    }

    fn person(&mut self, place: usize, found: ImportedPerson) {
        let ImportedPerson { email, email_verified, claims, password, totp, suspended, left_out } =
            found;
        let Some(address) = normalise_email(&email) else {
            let text = format!("`email` {}", account::Refusal::Email);
            return self.complaints.push(Complaint::new(place, text));
        };
        if let Some(before) = self.first.insert(address.clone(), place) {
            let address = excerpt(&address);
            let text = format!("the address `{address}` is that of entry {before} too");
            self.complaints.push(Complaint::new(place, text));
        }
        if self.accounts.len() == MOST_ENTITIES {
            let text = format!("there are more than {MOST_ENTITIES} users");
            return self.complaints.push(Complaint::new(place, text));
        }
        let left_out = left_out.into_iter().map(|text| Complaint::new(place, text));
        self.left_out.extend(left_out);
        // An entry of thousands keeps no other person out.
        let (hidden, claims): (Map<String, Value>, Map<String, Value>) =
            claims.into_iter().partition(|(_, value)| account::hides_something(value));
        self.left_out.extend(hidden.keys().map(|claim| {
            let text = format!("`{claim}` {} and is left out", ClaimProblem::HiddenCharacter);
            Complaint::new(place, text)
        }));
        let email = email.trim().to_owned();
        let draft = account::Draft { email, email_verified, claims, ..account::Draft::default() };
        let person = Person {
            address,
            draft,
            password: password.map(|phc| PasswordEntry::Hashed(PasswordHash::new(phc))),
            totp_secret: totp,
            memberships: None,
            suspended,
            enables: false,
        };
        self.accounts.push(Declaration { draft: person, lines: Lines::new(place) });
    }
}
