//! Where a value came from.

use serde::{Serialize, Serializer};
use std::{fmt, path::PathBuf};

/// The layer that gave the value, lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// The defaults of `porteiro dev`.
    Dev,
    /// The line is counted from 1; 0 is the file as a whole.
    File {
        path: PathBuf,
        line: usize,
    },
    Environment {
        variable: String,
    },
    Flag {
        flag: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Dev => f.write_str("porteiro dev"),
            Self::File { path, line: 0 } => write!(f, "{}", path.display()),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment { variable } => f.write_str(variable),
            Self::Flag { flag } => f.write_str(flag),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
