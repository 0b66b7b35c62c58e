//! How much callers may do: at once, how often, and against whom.

pub mod attempts;
pub mod pace;
pub mod purpose;
pub mod request_permits;
