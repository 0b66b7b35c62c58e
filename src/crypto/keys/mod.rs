//! The keys folder: one private key a file, as JWK or PEM, readable by its owner only.
//!
//! [`Generator`] makes keys, [`Folder`] loads all of them or names every [`Fault`] at once. A
//! signing key is known by the thumbprint of its public half (RFC 7638), a secret key by a
//! fingerprint derived from it; a `kid` in a file is for people and is not believed. Signing keys may lie in a token instead
//! ([`pkcs11`]); [`KeySources`] says where all of them lie.

mod file;
mod folder;
mod generate;
mod jwk;
mod origin;
mod pem;
pub mod pkcs11;
mod problem;
mod sources;

pub use file::rsa_strength;
pub use folder::{DevKeys, Folder, SecretKeyFile, SigningKeyFile, read_private};
pub use generate::{GenerateError, GeneratedKey, Generator, Purpose};
pub use origin::Origin;
pub use pem::read_pem;
pub use problem::{Fault, Problem};
pub use sources::KeySources;
