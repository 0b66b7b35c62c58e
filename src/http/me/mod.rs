//! What a person who is signed in sees and changes of their own: contract §4 and §6.
//!
//! | method and path | what |
//! |---|---|
//! | `GET /me` | the account: claims, level of the session, which credentials there are |
//! | `GET /me/sessions` · `DELETE /me/sessions/{id}` | where the person is signed in; ends one |
//! | `GET /me/passkeys` · `PATCH`, `DELETE /me/passkeys/{id}` | passkeys; names or removes one |
//! | `POST /me/recovery-codes` · `DELETE /me/totp` | a new set of codes; no authenticator application any more |
//!
//! The caller is known by its session alone ([`caller`]); what belongs to another account is answered as
//! what does not exist. A change of credentials needs a fresh proof ([`step_up`]).

mod caller;
mod overview;
mod passkeys;
mod second_factor;
mod sessions;
mod step_up;

pub use caller::Caller;
pub use overview::{Overview, get as overview};
pub use passkeys::{
    Passkey, delete as remove_passkey, list as passkeys, of_account as passkeys_of,
    patch as rename_passkey,
};
pub use second_factor::{make_recovery_codes, remove_totp};
pub use sessions::{delete as end_session, list as sessions};
pub use step_up::{begin as begin_step_up, is_fresh};

use super::{
    answer::{error::Problem, private_json},
    app::App,
};
use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// A list, as every list under `/me` is shown.
#[derive(Serialize)]
pub struct Items<T> {
    items: Vec<T>,
}

impl<T: Serialize> IntoResponse for Items<T> {
    fn into_response(self) -> Response {
        private_json(&self)
    }
}

/// The id of an entry in an address; what is not text is the id of none.
pub struct EntryId(String);

impl FromRequestParts<App> for EntryId {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, app: &App) -> Result<Self, Problem> {
        let id = Path::from_request_parts(head, app).await;
        id.map(|Path(id)| Self(id)).map_err(|_| Problem::NOT_FOUND)
    }
}

impl EntryId {
    /// Returns it, if it can be an id of ours of at most this length.
    fn read(self, longest: usize) -> Result<String, Problem> {
        Some(self.0).filter(|id| is_id(id, longest)).ok_or(Problem::NOT_FOUND)
    }
}

/// Tells whether this can be an id of ours: base64url, and not longer than the longest.
///
/// What cannot is not looked up: a database could not even be asked about some of it.
fn is_id(text: &str, longest: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=longest).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_an_id_is_not_looked_up() {
        assert!(is_id("AZaz09-_", 8));
        for bad in ["", "AZaz09-_x", "a\0", "a/b", "é", "a b", "a%", "a="] {
            assert!(!is_id(bad, 8), "{bad:?}");
        }
    }
}
