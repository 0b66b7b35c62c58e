//! Epochs: what ended with an organization or a membership does not come back with it (adr/0038).
//!
//! The epoch counts how often it was enabled again. A grant, and every token of it, names the epoch in
//! which it began; where the two differ, it has ended. A count needs no clock: nodes' clocks differ.

/// Returns the epoch after a step from enabled or not to enabled or not.
pub(super) fn next_epoch(epoch: u64, (was, is): (bool, bool)) -> u64 {
    if is && !was { epoch.saturating_add(1) } else { epoch }
}

/// Tells whether it is the epoch that everything begins with, which is not written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn is_first(epoch: &u64) -> bool {
    *epoch == 0
}
