//! What stands around every endpoint: one small file each, put together in `around`.

pub mod admission;
pub mod around;
pub mod cors;
pub mod envelope;
