//! Grants: what a token, an API key or a grant is worth now, and which API it is for.

pub mod added_claims;
pub mod api_key;
pub mod delegation;
pub mod delegation_tree;
pub mod family;
pub mod limits;
pub mod live_grant;
pub mod target;
pub mod token_validity;
