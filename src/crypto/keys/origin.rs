//! Where a key comes from.

use serde::{Deserialize, Serialize};

/// The command that made a key; what `porteiro dev` made is refused in production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Dev,
    Generate,
}
