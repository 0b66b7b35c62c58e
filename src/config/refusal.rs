//! Why a configuration is not accepted, in words for the operator.

use super::Origin;
use std::fmt;

/// One reason, on one line; never quotes a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The setting it is about, where it is about one.
    pub setting: Option<&'static str>,
    /// Where the value was given, where one was.
    pub origin: Option<Origin>,
    pub text: String,
}

impl Refusal {
    /// About a setting, wherever it was given.
    pub(super) fn of(setting: &'static str, text: impl Into<String>) -> Self {
        Self { setting: Some(setting), origin: None, text: text.into() }
    }

    /// About a place in the sources that names no setting.
    pub(super) fn at(origin: Origin, text: impl Into<String>) -> Self {
        Self { setting: None, origin: Some(origin), text: text.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.setting, &self.origin) {
            (Some(setting), Some(origin)) => write!(f, "{setting} ({origin}): ")?,
            (Some(setting), None) => write!(f, "{setting}: ")?,
            (None, Some(origin)) => write!(f, "{origin}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for Refusal {}
