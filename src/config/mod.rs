//! What the operator has decided: one typed configuration, and where each value came from.

mod complaint;
mod document;
mod file;
mod section;
mod suggestion;

pub use complaint::Complaint;
pub use document::{Document, Located};
pub use file::read_text;
pub use section::Section;

#[cfg(test)]
mod tests;
