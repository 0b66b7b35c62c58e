//! What a person who is signed in sees and changes of their own: contract §4 and §6.
//!
//! | method and path | what |
//! |---|---|
//! | `GET /me` | the account: claims, level of the session, which credentials there are |
//! | `PATCH /me` | what the person says of themselves |
//! | `DELETE /me` | the account is deleted after a grace period |
//! | `POST /me/email`, `/me/phone` · `POST …/confirm` · `DELETE /me/phone` | another address, once it is proved |
//! | `PUT`, `DELETE /me/password` | sets, changes or removes it |
//! | `GET`, `DELETE /me/sessions` · `DELETE /me/sessions/{id}` | where the person is signed in; ends all or one |
//! | `GET /me/passkeys` · `PATCH`, `DELETE /me/passkeys/{id}` | passkeys; names or removes one |
//! | `POST /me/recovery-codes` · `DELETE /me/totp` | a new set of codes; no authenticator application any more |
//! | `GET /me/consents` · `DELETE /me/consents/{id}` | clients that act for the person; ends one |
//! | `GET /me/delegations` · `DELETE /me/delegations/{id}` | what clients hold now, as a tree; ends a link and all below it |
//! | `GET /me/approvals` · `POST /me/approvals/{id}` | what clients ask of the person by a back channel; approves or denies it |
//! | `GET /me/blocked-clients` · `DELETE /me/blocked-clients/{id}` | clients that may ask no more; lifts it |
//! | `GET /me/organizations` · `DELETE /me/organizations/{slug}` | where the person is a member; leaves one |
//! | `GET /me/history` · `GET /me/export` | what happened to the account; everything that is held of the person |
//!
//! The caller is known by its session alone ([`caller`]); what belongs to another account is answered as
//! what does not exist. A change of credentials or addresses, an export and a deletion need a fresh proof ([`step_up`]).

mod addresses;
mod approval_history;
mod approvals;
mod caller;
mod change;
mod consents;
mod delegations;
mod deletion;
mod export;
mod history;
mod organizations;
mod overview;
mod page;
mod passkeys;
mod password;
mod profile;
mod renewal;
mod second_factor;
mod sessions;
mod step_up;

pub use addresses::{confirm_email, confirm_phone, propose_email, propose_phone, remove_phone};
pub use approvals::{
    blocked as blocked_clients, decide as decide_approval, list as approvals,
    unblock as unblock_client,
};
pub use caller::Caller;
pub use consents::{delete as withdraw_consent, list as consents};
pub use delegations::{delete as end_delegation, list as delegations};
pub use deletion::delete as delete_account;
pub use export::get as export;
pub use history::list as history;
pub use organizations::{delete as leave_organization, list as organizations};
pub use overview::get as overview;
pub use passkeys::{delete as remove_passkey, list as passkeys, patch as rename_passkey};
pub use password::{delete as remove_password, put as set_password};
pub use profile::patch as describe;
pub use second_factor::{make_recovery_codes, remove_totp};
pub use sessions::{delete as end_session, delete_all as end_sessions, list as sessions};
pub use step_up::{begin as begin_step_up, is_fresh};

use super::{answer::error::Problem, app::App, routes};
use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
    routing::{MethodRouter, delete, get, post, put},
};
use page::{Cursor, Items};

/// Returns what serves a path under `/me`, for the router and for pages of ours that call it.
pub fn methods(path: &str) -> MethodRouter<App> {
    match path {
        routes::ME => get(overview).patch(describe).delete(delete_account),
        routes::MY_SESSIONS => get(sessions).delete(end_sessions),
        routes::MY_SESSION => delete(end_session),
        routes::MY_PASSKEYS => get(passkeys),
        routes::MY_RECOVERY_CODES => post(make_recovery_codes),
        routes::MY_TOTP => delete(remove_totp),
        routes::MY_PASSWORD => put(set_password).delete(remove_password),
        routes::MY_EMAIL => post(propose_email),
        routes::MY_EMAIL_CONFIRMED => post(confirm_email),
        routes::MY_PHONE => post(propose_phone).delete(remove_phone),
        routes::MY_PHONE_CONFIRMED => post(confirm_phone),
        routes::MY_APPROVALS => get(approvals),
        routes::MY_APPROVAL => post(decide_approval),
        routes::MY_BLOCKED_CLIENTS => get(blocked_clients),
        routes::MY_BLOCKED_CLIENT => delete(unblock_client),
        routes::MY_CONSENTS => get(consents),
        routes::MY_CONSENT => delete(withdraw_consent),
        routes::MY_DELEGATIONS => get(delegations),
        routes::MY_DELEGATION => delete(end_delegation),
        routes::MY_ORGANIZATIONS => get(organizations),
        routes::MY_ORGANIZATION => delete(leave_organization),
        routes::MY_HISTORY => get(history),
        routes::MY_EXPORT => get(export),
        routes::MY_PASSKEY => delete(remove_passkey).patch(rename_passkey),
        _ => MethodRouter::new(),
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
