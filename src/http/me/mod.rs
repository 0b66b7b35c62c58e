//! What a person who is signed in sees and changes of their own: contract §4 and §6.
//!
//! The section `me` of the table of endpoints (`routes`) says which operations there are, and what each does.
//!
//! The caller is known by its session alone ([`caller`]); what belongs to another account is answered as
//! what does not exist. A change of credentials or addresses, an export and a deletion need a fresh proof ([`step_up`]).

mod addresses;
mod approval_history;
mod approvals;
mod caller;
mod change;
mod connections;
mod consents;
mod delegations;
mod deletion;
mod export;
mod history;
mod identities;
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
pub use connections::list as linkable_connections;
pub use consents::{delete as withdraw_consent, list as consents};
pub use delegations::{delete as end_delegation, list as delegations};
pub use deletion::delete as delete_account;
pub use export::get as export;
pub use history::list as history;
pub use identities::{delete as unlink_identity, list as identities};
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
    routing::{MethodFilter, MethodRouter},
};
use page::{Cursor, Items};

/// Serves the section `me` of the table of endpoints.
macro_rules! served {
    (standards $standards:tt flows $flows:tt me { $($name:ident $path:literal { $(
        $method:ident $handler:path: $operation:literal, $status:literal, $flags:tt, $summary:literal;
    )+ })* } $($rest:tt)*) => {
        /// Returns what serves a path under `/me`, for the router and for pages of ours that call it.
        pub fn methods(path: &str) -> MethodRouter<App> {
            match path {
                $($path => MethodRouter::new()$(.on(MethodFilter::$method, $handler))+,)*
                _ => MethodRouter::new(),
            }
        }
    };
}

routes::endpoints!(served);

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
