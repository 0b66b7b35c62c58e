//! People: their sessions and memberships, what they are told, and what is sent to them.

pub mod account_reading;
pub mod alert_digests;
pub mod belonging;
pub mod ceilings;
pub mod ending;
pub mod inviter;
pub mod new_recovery_codes;
pub mod notice;
pub mod one_time_code;
pub mod passkey_signal;
pub mod report_link;
pub mod session;
