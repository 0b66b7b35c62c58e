//! A password that a person chooses: judged, looked up among leaked ones, hashed; in one call.
//!
//! 1. it is read into the form in which passwords are hashed;
//! 2. the policy judges it, by its length, the block list and the words around the account;
//! 3. it is looked up among leaked passwords, if the operator has named a list. A list that gives no
//!    answer refuses no password: it is logged and counted (adr/0054);
//! 4. it is hashed in the pool.

use crate::{
    actors::hashing::{HashingError, HashingPool},
    breach::BreachCheck,
    crypto::{Dice, draw},
    domain::{
        account::{Known, PasswordHash},
        password::{Context, Fault, Password, Policy},
    },
    http::{
        answer::error::Problem,
        options::PasswordOptions,
        vitals::{BreachOutcome, Vitals},
    },
};
use serde_json::Value;
use std::{fmt::Write as _, sync::Arc};

/// The name of the product, which is no secret either.
const PRODUCT: &str = "Porteiro";

/// Where a body has the password.
const POINTER: &str = "#/password";

/// The way to every new password.
pub struct NewPasswords {
    policy: Policy,
    breach_check: BreachCheck,
    /// The words of the installation.
    context: Context,
    hashing: Arc<HashingPool>,
    dice: Arc<dyn Dice>,
    vitals: Arc<Vitals>,
}

/// What is known of the person who chooses; whatever is not known is empty.
#[derive(Clone, Debug, Default)]
pub struct About<'a> {
    pub email: &'a str,
    pub given_name: &'a str,
    pub family_name: &'a str,
    /// Other names of theirs, and of their organizations.
    pub names: Vec<&'a str>,
}

impl<'a> About<'a> {
    /// What an account says of its person.
    pub fn account(known: &'a Known) -> Self {
        let claim = |name| known.profile.claim(name).and_then(Value::as_str).unwrap_or_default();
        Self {
            email: &known.email,
            given_name: claim("given_name"),
            family_name: claim("family_name"),
            names: ["name", "nickname", "preferred_username"].map(claim).to_vec(),
        }
    }

    fn add_to(&self, context: Context) -> Context {
        let person = context.with_email(self.email).with_person(self.given_name, self.family_name);
        self.names.iter().fold(person, |context, name| context.with(name))
    }
}

/// The dependencies of a new password: what it is hashed with, and what counts what became of it.
pub struct PasswordDependencies {
    pub hashing: Arc<HashingPool>,
    pub dice: Arc<dyn Dice>,
    pub vitals: Arc<Vitals>,
}

impl NewPasswords {
    /// Takes passwords for the installation of this issuer.
    pub fn new(issuer: &str, options: PasswordOptions, means: PasswordDependencies) -> Self {
        let PasswordOptions { policy, breach_check } = options;
        let PasswordDependencies { hashing, dice, vitals } = means;
        let url = url::Url::parse(issuer).ok();
        let host = url.as_ref().and_then(url::Url::host_str).unwrap_or_default();
        let context = Context::default().with(PRODUCT).with_host(host);
        Self { policy, breach_check, context, hashing, dice, vitals }
    }

    /// How many characters a password has at least.
    pub fn min_length(&self) -> usize {
        self.policy.min_length()
    }

    /// Returns the hash of a password that may be chosen, or says what is wrong with it.
    pub async fn choose(&self, text: &str, about: &About<'_>) -> Result<PasswordHash, Problem> {
        let password = Password::read(text).map_err(refused)?;
        let context = about.add_to(self.context.clone());
        self.policy.check(&password, &context).map_err(refused)?;
        if self.is_breached(&password).await {
            return Err(refused(Fault::Breached));
        }
        let hashed = self.hashing.hash(password, draw(&*self.dice)).await;
        hashed.map(PasswordHash::new).map_err(|error| {
            if error != HashingError::Busy {
                tracing::error!(%error, "a password could not be hashed");
            }
            Problem::UNAVAILABLE
        })
    }

    async fn is_breached(&self, password: &Password) -> bool {
        if !self.breach_check.is_on() {
            return false;
        }
        let looked = match self.breach_check.is_breached(password).await {
            Ok(true) => BreachOutcome::Breached,
            Ok(false) => BreachOutcome::Unknown,
            Err(error) => {
                let why = causes(&error);
                tracing::warn!(why, "a new password was not looked up among leaked ones");
                BreachOutcome::Failed
            }
        };
        self.vitals.looked_up(looked);
        looked == BreachOutcome::Breached
    }
}

/// Words what is wrong with a password, as a body with a wrong member is refused.
fn refused(fault: Fault) -> Problem {
    let detail = "this password cannot be chosen: look at errors";
    let problem = Problem::wrong_member(POINTER, fault.to_string());
    Problem { code: "password_refused", detail, ..problem }
}

/// Writes an error and what caused it.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
