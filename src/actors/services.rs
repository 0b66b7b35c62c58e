//! What every actor is given.

use crate::{
    crypto::{Dice, SharedVault},
    domain::Clock,
    store::Store,
};
use std::sync::Arc;

/// The store, the clock, random numbers and the vault.
pub struct Services {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub dice: Arc<dyn Dice>,
    pub vault: SharedVault,
}
