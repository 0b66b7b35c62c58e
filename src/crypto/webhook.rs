//! Secrets and signatures of webhooks, as Standard Webhooks has them.

use super::random::{Dice, draw};
use crate::domain::{Secret, Timestamp};
use aws_lc_rs::hmac;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use zeroize::Zeroizing;

/// What a secret begins with, so that leak scanners recognise it.
const PREFIX: &str = "whsec_";

/// The standard wants 24 to 64 bytes.
const SECRET: usize = 32;

/// Draws the secret of an endpoint.
pub fn draw_webhook_secret(dice: &dyn Dice) -> Secret {
    Secret::new(*Zeroizing::new(draw::<SECRET>(dice)))
}

/// Writes a secret for the owner of an endpoint.
pub fn webhook_secret_text(secret: &Secret) -> Zeroizing<String> {
    let text = Zeroizing::new(BASE64_STANDARD.encode(secret.expose()));
    Zeroizing::new(format!("{PREFIX}{}", *text))
}

/// Signs a message that is sent at this time.
pub fn sign_webhook(secret: &Secret, id: &str, at: Timestamp, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose());
    let signed = format!("{id}.{}.{body}", at.seconds());
    let tag = hmac::sign(&key, signed.as_bytes());
    format!("v1,{}", BASE64_STANDARD.encode(tag.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::SystemDice;

    #[test]
    fn the_example_of_the_libraries_of_the_standard_is_signed_as_they_sign_it() {
        let secret = BASE64_STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let at = Timestamp::from_seconds(1_614_265_330);
        let signed = sign_webhook(
            &Secret::new(secret),
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            at,
            "{\"test\": 2432232314}",
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_drawn_anew_and_shown_as_the_standard_has_it() {
        let [one, other] = [draw_webhook_secret(&SystemDice), draw_webhook_secret(&SystemDice)];
        assert_ne!(one, other);
        let text = webhook_secret_text(&one);
        let bytes = BASE64_STANDARD.decode(text.strip_prefix("whsec_").unwrap()).unwrap();
        assert_eq!(bytes, one.expose());
    }
}
