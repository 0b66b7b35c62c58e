//! What stands around every endpoint: one small file each, stacked in `http::stack`.

pub mod admission;
pub mod cors;
pub mod envelope;
pub mod host;
