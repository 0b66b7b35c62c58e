//! Whether a password has leaked from another service, asked of a list that the operator names.
//!
//! Both kinds of lists are of SHA-1 hashes. The password never leaves this process: a server is told
//! the first five digits of its hash, which hundreds of leaked passwords share, and a file is read here.
//! A list that gives no answer is an error, and what follows from one is the caller's to decide.

mod digest;
mod file;
mod range;
#[cfg(test)]
mod tests;

pub use file::{FileFault, HashFile};
pub use range::{RangeFault, RangeServer};

use crate::domain::password::Password;
use digest::Digest;

/// Where leaked passwords are looked up.
#[derive(Default)]
pub enum BreachCheck {
    #[default]
    Off,
    Range(Box<RangeServer>),
    File(HashFile),
}

/// Why it is not known whether a password has leaked; says nothing of the password.
#[derive(Debug, thiserror::Error)]
pub enum BreachError {
    #[error("the server of leaked passwords gave no answer that can be used")]
    Range(#[from] RangeFault),
    #[error("the file of leaked passwords cannot be used")]
    File(#[from] FileFault),
}

impl BreachCheck {
    /// Tells whether a password is on the list.
    pub async fn is_breached(&self, password: &Password) -> Result<bool, BreachError> {
        match self {
            Self::Off => Ok(false),
            Self::Range(server) => Ok(server.has(&Digest::of(password)).await?),
            Self::File(file) => Ok(file.has(Digest::of(password)).await?),
        }
    }

    pub fn is_on(&self) -> bool {
        !matches!(self, Self::Off)
    }
}
