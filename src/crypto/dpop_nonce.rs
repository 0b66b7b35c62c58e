//! Nonces of ours for the proofs of clients (RFC 9449 §8): a sealed time. Every node knows those of the others, and none is stored.

use super::{random::Dice, vault::Vault};
use crate::domain::Timestamp;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::time::Duration;

const PURPOSE: &str = "dpop nonce";

/// For how long one is good. Longer than a client works on one request, and shorter than its use is remembered.
const LIVES: Duration = Duration::from_mins(3);

/// Bytes of a text that is looked at.
const LONGEST: usize = 200;

/// Draws a nonce.
pub fn mint_dpop_nonce(vault: &Vault, now: Timestamp, dice: &dyn Dice) -> String {
    let over_at = (now + LIVES).millis().to_be_bytes();
    URL_SAFE_NO_PAD.encode(vault.seal(PURPOSE, b"", &over_at, dice))
}

/// Tells whether a text is a nonce of ours that is good now.
pub fn is_dpop_nonce(vault: &Vault, text: &str, now: Timestamp) -> bool {
    let opened = || {
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let opened = vault.open(PURPOSE, b"", &sealed).ok()?;
        let over_at: [u8; 8] = opened.expose().try_into().ok()?;
        Some(Timestamp::from_millis(i64::from_be_bytes(over_at)))
    };
    text.len() <= LONGEST && opened().is_some_and(|over_at| now < over_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{SecretKey, SystemDice};

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn vault(key: u8) -> Vault {
        Vault::new(SecretKey::new(&[key; 32]), Vec::new())
    }

    #[test]
    fn a_nonce_is_ours_and_good_for_three_minutes() {
        let vault = self::vault(1);
        let nonce = mint_dpop_nonce(&vault, NOW, &SystemDice);
        assert_ne!(nonce, mint_dpop_nonce(&vault, NOW, &SystemDice));
        // RFC 9449 §8.1: what a header and a claim can hold.
        assert!(nonce.len() <= LONGEST && nonce.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(is_dpop_nonce(&vault, &nonce, NOW + LIVES - Duration::from_millis(1)));
        assert!(!is_dpop_nonce(&vault, &nonce, NOW + LIVES));
        assert!(!is_dpop_nonce(&self::vault(2), &nonce, NOW), "another installation's");
        let long = nonce.repeat(3);
        for bad in ["", "a", "é", &nonce[1..], &long] {
            assert!(!is_dpop_nonce(&vault, bad, NOW), "{bad}");
        }
    }
}
