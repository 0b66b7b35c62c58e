//! Tests of the configuration, a file for each of its nouns.

mod documents;
mod files;
