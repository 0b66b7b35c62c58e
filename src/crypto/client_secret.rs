//! The secret by which a provider knows our client, as it is kept.

use super::{Dice, UnsealError, Vault};
use crate::domain::{
    Fingerprint, Secret,
    account::SealedSecret,
    connection::{ClientSecret, Known},
};

const PURPOSE: &str = "connection secret";
const MARK: &str = "connection secret mark";

/// Seals the secret of a connection.
pub fn seal_client_secret(
    vault: &Vault,
    connection: &str,
    secret: &Secret,
    dice: &dyn Dice,
) -> ClientSecret {
    let context = connection.as_bytes();
    let sealed = vault.seal(PURPOSE, context, secret.expose(), dice);
    let mark = vault.lasting_mac_key(MARK).tag(&[context, secret.expose()]);
    ClientSecret { sealed: SealedSecret::new(sealed), mark: Fingerprint::of(&mark) }
}

/// Opens the secret of a connection, if it has one.
pub fn open_client_secret(vault: &Vault, known: &Known) -> Result<Option<Secret>, UnsealError> {
    let Some(secret) = &known.secret else { return Ok(None) };
    vault.open(PURPOSE, known.id.as_bytes(), secret.sealed.expose()).map(Some)
}
