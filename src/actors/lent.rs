//! What is lent to every actor.

use crate::{
    crypto::{Dice, SharedVault},
    domain::Clock,
    store::Store,
};
use std::sync::Arc;

/// The means of every entity: truth, time, chance and secrecy.
pub struct Lent {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub dice: Arc<dyn Dice>,
    pub vault: SharedVault,
}
