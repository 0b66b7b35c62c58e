//! What can be wrong with the keys folder, in words for the operator who must mend it.

use super::pkcs11::TokenProblem;
use crate::domain::signing_keys::SigningAlgorithm;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A file or folder, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct Fault {
    pub path: PathBuf,
    pub problem: Problem,
}

impl Fault {
    pub(super) fn new(path: &Path, problem: Problem) -> Self {
        Self { path: path.to_owned(), problem }
    }
}

/// What is wrong; never quotes the file, for whatever is in it may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("{}", unreadable(*.0))]
    Unreadable(ErrorKind),
    #[error("there is no folder of that name: run `porteiro keys generate`")]
    NoFolder,
    #[error("is not a folder")]
    NotAFolder,
    #[error("is neither a file nor a folder")]
    NotAFile,
    #[error("is a folder others can write to (mode {mode:04o}, 0700 is right)")]
    FolderOpenToOthers { mode: u32 },
    #[error("is readable by others or writable by them (mode {mode:04o}, 0600 is right)")]
    FileOpenToOthers { mode: u32 },
    #[error("belongs to user {uid}, neither to the user Porteiro runs as nor to root")]
    ForeignOwner { uid: u32 },
    #[error("is larger than any key: over 64 KiB")]
    TooLarge,
    #[error("is neither a private JWK nor a private key in PEM")]
    NotAKey,
    #[error("holds several PEM blocks, one key a file is right")]
    SeveralBlocks,
    #[error("is protected by a passphrase, which a server cannot be asked for")]
    Encrypted,
    #[error("lacks the JWK member `{0}`")]
    MissingMember(&'static str),
    #[error("has a malformed JWK member `{0}`")]
    MalformedMember(&'static str),
    #[error("is of an unsupported key type; RSA, EC and OKP sign, oct is for the secret key")]
    UnsupportedKeyType,
    #[error("is on an unsupported curve; P-256 and Ed25519 are supported")]
    UnsupportedCurve,
    #[error("is for an unsupported algorithm; RS256, PS256, ES256 and EdDSA are supported")]
    UnsupportedAlgorithm,
    #[error("is for another use; `sig` signs, `porteiro-secret` marks the secret key")]
    UnsupportedUse,
    #[error("is a weak key: RSA of {bits} bits, 2048 is the least")]
    WeakModulus { bits: usize },
    #[error("is a weak key: its RSA exponent is under 65537")]
    WeakExponent,
    #[error("is RSA of {bits} bits, 8192 is the most")]
    OversizedModulus { bits: usize },
    #[error("does not hold together: its public and private parts form no key")]
    Inconsistent,
    #[error("is the same key as {}", .other.display())]
    Duplicate { other: PathBuf },
    #[error("was made by `porteiro dev` and is not for production")]
    MadeByDev,
    #[error("a usable secret key is missing")]
    NoSecretKey,
    #[error("a usable signing key for {0} is missing")]
    NoSigningKey(SigningAlgorithm),
    #[error("{0}")]
    Token(TokenProblem),
}

fn unreadable(kind: ErrorKind) -> String {
    match kind {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        other => format!("cannot be read ({other})"),
    }
}
