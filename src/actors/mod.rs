//! Who does the work: one owner for each thing that changes or runs.

pub mod hashing;
