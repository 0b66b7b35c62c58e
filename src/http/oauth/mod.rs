//! The endpoints of OAuth 2.1: one file each.

pub mod authorize;
pub mod ciba;
pub mod device;
pub mod form_post;
pub mod introspect;
pub mod jwks;
pub mod logout;
pub mod metadata;
pub mod par;
pub mod protected_resource;
pub mod register;
pub mod revoke;
pub mod sso;
pub mod token;
pub mod userinfo;
