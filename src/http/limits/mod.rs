//! Rate limits and load limits: how much callers may do at once, how often, and against whom.

pub mod attempts;
pub mod client_failures;
pub mod headroom;
pub mod pace;
pub mod polls;
pub mod refusals;
pub mod registrations;
pub mod request_permits;
pub mod scans;
pub mod scim_bounds;
pub mod user_code_guesses;

pub use super::purpose;
