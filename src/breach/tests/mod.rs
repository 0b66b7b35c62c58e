//! Lists of leaked passwords, good and hostile.

mod file;
mod range;

use super::{BreachCheck, Digest};
use crate::domain::password::Password;

fn password(text: &str) -> Password {
    Password::read(text).unwrap()
}

/// The hash of a password, as lists have it.
fn digits(text: &str) -> String {
    String::from_utf8(Digest::of(&password(text)).digits().to_vec()).unwrap()
}

#[tokio::test]
async fn without_a_list_no_password_has_leaked() {
    let off = BreachCheck::default();
    assert!(!off.is_on());
    assert!(!off.is_breached(&password("password")).await.unwrap());
}
