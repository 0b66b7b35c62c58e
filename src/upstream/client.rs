//! What we are to a provider: a client with an id, and a way to show that it is us.

use crate::{
    crypto::{Signer, keys::read_pem},
    domain::{
        Secret,
        signing_keys::SigningAlgorithm,
        upstream::{Issuer, Kind},
    },
};
use std::{fmt, sync::Arc};

/// A client at a provider, as a connection has it.
#[derive(Clone, Debug)]
pub struct UpstreamClient {
    pub kind: Kind,
    pub issuer: Issuer,
    pub client_id: String,
    pub authentication: Authentication,
    pub redirect_uri: String,
    /// What `hd` or `tid` must be.
    pub company: Option<String>,
    /// None: those that are usual there.
    pub scopes: Vec<String>,
}

/// By what a client shows at the token endpoint who it is.
#[derive(Clone)]
pub enum Authentication {
    /// A secret that the provider gave out.
    Secret(Secret),
    /// Our own keys, which the provider finds in our key set; the first whose algorithm it accepts signs.
    PrivateKeyJwt(Vec<Arc<Signer>>),
    /// A key that Apple gave out, of which secrets are made.
    AppleKey(AppleKey),
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secret(_) => "Secret(…)",
            Self::PrivateKeyJwt(_) => "PrivateKeyJwt(…)",
            Self::AppleKey(_) => "AppleKey(…)",
        })
    }
}

/// The private key of a team at Apple.
#[derive(Clone)]
pub struct AppleKey {
    pub(super) team_id: String,
    pub(super) signer: Arc<Signer>,
}

/// Why a text is no key of Apple's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is not a private key for ES256 in PEM, as Apple's .p8 files are, after team_id and key_id"
)]
pub struct AppleKeyFault;

impl AppleKey {
    /// Reads what an Apple connection has as its client secret: the lines `team_id = …` and `key_id = …`, and the text of
    /// the `.p8` file after them (adr/0139). `None` where it is no PEM: then it is a secret as others are.
    pub fn of_secret(secret: &Secret) -> Option<Result<Self, AppleKeyFault>> {
        let text = std::str::from_utf8(secret.expose()).ok()?;
        let (before, pem) = text.split_at(text.find("-----BEGIN")?);
        let named = |name: &str| {
            let mut lines = before.lines().filter_map(|line| line.split_once('='));
            let found = lines.find(|(key, _)| key.trim() == name);
            found
                .map(|(_, value)| value.trim().trim_matches('"'))
                .filter(|value| is_apple_id(value))
        };
        let (Some(team_id), Some(key_id)) = (named("team_id"), named("key_id")) else {
            return Some(Err(AppleKeyFault));
        };
        Some(Self::read(team_id, key_id, &Secret::new(pem)))
    }

    /// Reads a `.p8` file as Apple hands it out once.
    pub fn read(team_id: &str, key_id: &str, pem: &Secret) -> Result<Self, AppleKeyFault> {
        let text = std::str::from_utf8(pem.expose()).map_err(|_| AppleKeyFault)?;
        let signer = read_pem(text).map_err(|_| AppleKeyFault)?;
        if signer.algorithm() != SigningAlgorithm::Es256 {
            return Err(AppleKeyFault);
        }
        Ok(Self { team_id: team_id.to_owned(), signer: Arc::new(signer.named(key_id)) })
    }
}

/// Tells whether this can be the id of a team or key at Apple.
fn is_apple_id(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
