//! The parts of `/account`, each a page of its own.

use crate::http::routes;

/// A part of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Profile,
    Security,
    Sessions,
    Applications,
    Organizations,
    History,
    Data,
}

impl Section {
    pub const ALL: [Self; 7] = [
        Self::Profile,
        Self::Security,
        Self::Sessions,
        Self::Applications,
        Self::Organizations,
        Self::History,
        Self::Data,
    ];

    pub const fn path(self) -> &'static str {
        match self {
            Self::Profile => routes::ACCOUNT,
            Self::Security => routes::ACCOUNT_SECURITY,
            Self::Sessions => routes::ACCOUNT_SESSIONS,
            Self::Applications => routes::ACCOUNT_APPLICATIONS,
            Self::Organizations => routes::ACCOUNT_ORGANIZATIONS,
            Self::History => routes::ACCOUNT_HISTORY,
            Self::Data => routes::ACCOUNT_DATA,
        }
    }

    pub fn of_path(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.path() == path)
    }

    /// The sentence that it is called by, and its icon.
    pub const fn label(self) -> (&'static str, &'static str) {
        match self {
            Self::Profile => ("profile", "user"),
            Self::Security => ("ways-in", "shield"),
            Self::Sessions => ("nav-sessions", "laptop"),
            Self::Applications => ("org-clients", "apps"),
            Self::Organizations => ("my-organizations", "building"),
            Self::History => ("my-history", "list"),
            Self::Data => ("my-data", "file"),
        }
    }
}
