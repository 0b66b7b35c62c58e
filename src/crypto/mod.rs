//! Randomness, the keys folder, signatures, and sealing of what must be read back.
//!
//! Everything rests on the keys folder ([`keys`]): its signing keys become [`Signer`]s, its secret
//! keys a [`Vault`], from which every symmetric key is derived for one purpose each. Nothing here
//! draws by itself: randomness is given as [`Dice`].

mod api_key;
mod base32;
mod client_authorities;
mod client_certificate;
mod client_keys;
mod client_secret;
mod dpop_nonce;
mod jws;
pub mod keys;
mod local_key;
mod mac;
mod opaque;
mod pairwise;
pub mod passkeys;
pub mod password;
mod proof;
mod pseudonym;
mod random;
mod recovery_codes;
mod secret_key;
mod shared_vault;
mod signer;
mod statements;
mod totp;
mod vault;
mod verified_tokens;
mod verifier;
mod webhook;

pub use api_key::{API_KEY_PREFIX, PresentedKey, mint_api_key, read_api_key};
pub use base32::{decode_base32, encode_base32};
pub use client_authorities::{AuthoritiesFault, ClientAuthorities, UntrustedCertificate};
pub use client_certificate::{CertificateFault, ClientCertificate, UnfitCertificate, check_size};
pub use client_keys::{ClientEvidence, ClientKeys, UnverifiedSignature};
pub use client_secret::{open_client_secret, seal_client_secret};
pub use dpop_nonce::{is_dpop_nonce, mint_dpop_nonce};
pub use jws::{Jws, JwsFault};
pub use mac::MacKey;
pub use opaque::{
    GenuineToken, MintedToken, OpaqueKind, draw_id, draw_id_at, id_of_uuid, uuid_of_id,
};
pub use pairwise::PairwiseSubjects;
pub use proof::{ProofFault, SignedProof};
pub use pseudonym::Pseudonyms;
use random::uuid_text;
pub use random::{Dice, SystemDice, draw, draw_client_secret, draw_text, draw_uuid};
pub use recovery_codes::{RecoveryCode, draw_recovery_codes, hash_recovery_codes};
pub use secret_key::SecretKey;
pub use shared_vault::SharedVault;
pub use signer::{KeyError, PublicParts, SignError, Signer, SigningKey};
pub use statements::{BadIssuers, BadStatement, StatementIssuers};
pub use totp::{TotpEnrolment, draw_totp_secret, matching_step};
pub use vault::{UnsealError, Vault};
pub use verified_tokens::VerifiedTokens;
pub use verifier::{ForeignToken, Verifiers};
pub use webhook::{draw_webhook_secret, sign_webhook, webhook_secret_text};
