//! What pages tell password managers of a person and their passkeys (adr/0143).

use crate::{
    crypto::passkeys::{AccountSignal, Registrant},
    domain::account::Known,
    http::app::App,
};

/// Returns what is told of an account; nothing where the issuer has no passkeys. The account must have been read just
/// now: a password manager hides a passkey that is not named.
pub fn account_signal(app: &App, known: &Known) -> Option<AccountSignal> {
    let name = known.profile.full_name();
    let person = Registrant { account: &known.id, email: &known.email, display_name: &name };
    let held = known.credentials.passkeys().map(|(passkey, _)| passkey);
    app.crypto.passkeys.as_ref()?.account_signal(person, held)
}
