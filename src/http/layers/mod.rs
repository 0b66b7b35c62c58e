//! What stands around every endpoint: one small file each, stacked in `http::stack`.

pub mod deadline;
pub mod envelope;
pub mod host;
pub mod room;
