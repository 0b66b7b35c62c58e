//! What is looked up before a machine decides, with the versions that the commit then requires.

pub mod added_claims;
pub mod api_key;
pub mod approval;
pub mod approval_notice;
pub mod authorization;
pub mod belonging;
pub mod ceilings;
pub mod client_keys;
pub mod delegation;
pub mod delegation_tree;
pub mod ending;
pub mod family;
pub mod inviter;
pub mod limits;
pub mod live_grant;
pub mod new_password;
pub mod new_recovery_codes;
pub mod notice;
pub mod one_time_code;
pub mod read_token;
pub mod reading;
pub mod session;
pub mod target;
pub mod token_validity;
pub mod tries;
pub mod user_codes;
