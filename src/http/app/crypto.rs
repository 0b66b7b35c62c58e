//! Keys, sealing, hashing and passkeys.

use crate::{
    actors::{KeySnapshot, hashing::HashingPool},
    crypto::{PairwiseSubjects, SharedVault, StatementIssuers, VerifiedTokens, passkeys::Passkeys},
    http::{new_password::NewPasswords, reading::read_token::ReadToken},
};
use std::sync::Arc;
use tokio::sync::watch;

pub(in crate::http) struct Crypto {
    pub hashing: Arc<HashingPool>,
    /// The keys that sign and verify tokens.
    pub keys: watch::Receiver<KeySnapshot>,
    pub new_passwords: NewPasswords,
    pub(super) pairwise: PairwiseSubjects,
    /// `None` where the issuer's host is an IP address.
    pub passkeys: Option<Passkeys>,
    /// Whose software statements count.
    pub statement_issuers: Option<Arc<StatementIssuers>>,
    pub vault: SharedVault,
    pub(super) verified_tokens: VerifiedTokens<ReadToken>,
}
