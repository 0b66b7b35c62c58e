//! The declarative file that `porteiro apply` takes, as it is read.
//!
//! Whatever is wrong is a [`Complaint`](crate::config::Complaint) with its line, and all of them are
//! given at once.

mod clients;
mod file;
mod lines;
mod organizations;
mod resources;
mod table;

pub use file::{File, LARGEST_FILE, MOST_ENTITIES};
pub use lines::{Declared, Lines};

#[cfg(test)]
mod tests;
