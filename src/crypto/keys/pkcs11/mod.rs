//! Signing keys in a token that speaks PKCS#11 (adr/0144): an HSM, a smart card, or software that acts as one.
//!
//! A key is made in the token and does not leave it; we hold its public half and ask the token for signatures. Whatever is
//! wrong with a token is a [`TokenProblem`], in words for the operator.
//!
//! | file | holds |
//! |---|---|
//! | `token` | the token and its keys; only in a build with the feature `pkcs11` |
//! | `absent` | the same of every other build: there is none |
//! | `connection` | the module, sessions and the PIN |
//! | `object` | what is read of a key, and how it signs |
//! | `threads` | on which the module is called |

#[cfg(not(feature = "pkcs11"))]
mod absent;
#[cfg(feature = "pkcs11")]
mod connection;
#[cfg(feature = "pkcs11")]
mod object;
#[cfg(feature = "pkcs11")]
mod threads;
#[cfg(feature = "pkcs11")]
mod token;

#[cfg(not(feature = "pkcs11"))]
pub use absent::Token;
#[cfg(feature = "pkcs11")]
pub use token::Token;

use std::path::PathBuf;

/// How a caller waits: on a thread that serves requests, so that others are served meanwhile. It is lent, for no runtime is
/// known here.
pub type Waiter = fn(wait: &mut dyn FnMut());

/// Which token, and how it is opened.
#[derive(Clone, Debug)]
pub struct TokenSettings {
    /// The library that speaks to it.
    pub module: PathBuf,
    /// Its label.
    pub label: String,
    /// The file that holds the PIN of its user.
    pub pin_file: PathBuf,
    pub waiting: Waiter,
}

/// What can be wrong with a token or a key in it; never quotes the PIN.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenProblem {
    #[error("this binary has no PKCS#11: build it with `--features pkcs11`")]
    NotBuilt,
    #[error("the PKCS#11 module cannot be loaded: {0}")]
    Module(String),
    #[error("there is no token named {wanted}; the module has {found}")]
    NoToken { wanted: String, found: String },
    #[error(
        "the PIN in keys.pkcs11_pin_file is wrong; it is not tried again before that file changes"
    )]
    WrongPin,
    #[error("the PIN is locked: the token's security officer must set it anew")]
    PinLocked,
    #[error(
        "one more wrong PIN would lock the token, and so none is tried: log in with the token's own tool, or have its \
         security officer set the PIN anew"
    )]
    FinalTry,
    #[error("the PIN file {0}")]
    PinFile(String),
    #[error("the PIN file is empty, or has more than one line")]
    UnusablePin,
    #[error("the token does not answer: {0}")]
    Away(String),
    #[error("the token refuses: {0}")]
    Refused(String),
    #[error("does not sign by {0}, for which it was made")]
    CannotSign(&'static str),
    #[error("can be taken out of the token: a key must be sensitive and not extractable")]
    Extractable,
    #[error("has no public half beside it in the token")]
    NoPublicHalf,
    #[error("the token makes no key for {0}")]
    Unable(&'static str),
}
