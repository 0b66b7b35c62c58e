//! The values that a person typed into a form that was refused: they are filled in again.
//!
//! They travel in the address of the page, sealed to the account and the form: no name is in a log, and
//! no link that another person made fills anything in. Codes and passwords are not kept.

use super::acts::Act;
use crate::http::{app::App, extract::form::Form};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::collections::BTreeMap;

const PURPOSE: &str = "typed on a page of the account";

/// More is not kept: it must fit into an address.
const LONGEST: usize = 3_000;

/// The values of fields, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormValues(BTreeMap<String, String>);

impl FormValues {
    /// Reads what a form says that may be filled in again.
    pub fn of(act: &Act, form: &Form) -> Self {
        let kept = act.fields.iter().filter(|field| field.kind.is_kept());
        let value = |name: &str| form.pairs().find(|(known, _)| *known == name);
        let given = kept.filter_map(|field| value(field.name));
        Self(given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Seals it for the form of an account; none where there is nothing, or too much.
    pub fn seal(&self, app: &App, account: &str, act: &Act) -> Option<String> {
        let typed = serde_json::to_vec(&self.0).ok()?;
        if self.0.is_empty() || typed.len() > LONGEST {
            return None;
        }
        let sealed = app.crypto.vault.now().seal(PURPOSE, &bound(account, act), &typed, &*app.dice);
        Some(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Opens what was sealed for this form; nothing, where it is anything else.
    pub fn open(app: &App, account: &str, act: &Act, sealed: &str) -> Option<Self> {
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let sealed = Some(sealed).filter(|sealed| sealed.len() <= 2 * LONGEST)?;
        let typed = app.crypto.vault.now().open(PURPOSE, &bound(account, act), &sealed).ok()?;
        serde_json::from_slice(typed.expose()).ok().map(Self)
    }
}

fn bound(account: &str, act: &Act) -> Vec<u8> {
    [account, act.name].join(" ").into_bytes()
}
