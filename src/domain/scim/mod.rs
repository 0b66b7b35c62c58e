//! SCIM 2.0 (RFC 7643, 7644, 9865): what clients send and what they are answered, as pure functions.
//!
//! Nothing here reads a store or a clock. The caller gives the complete document of a resource, with
//! its `id` and `meta`, and keeps what is read.

#[cfg(test)]
mod any_json;
pub mod attribute_path;
pub mod bulk;
pub mod date_time;
pub mod error;
pub mod filter;
pub mod group;
pub mod list_response;
pub mod message;
pub mod patch;
pub mod projection;
pub mod query;
pub mod resource;
pub mod schema;
pub mod value;
