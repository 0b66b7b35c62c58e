//! SCIM 2.0 of one organization (RFC 7643, 7644, 9865; contract §7, adr/0133): its directory provisions memberships.
//!
//! One table of operations ([`OPERATIONS`]) and one guard before all of them ([`call`]), as in the management API. A
//! User is a membership, a Group is a role. What clients send and read is `domain::scim`; here it meets the machines.
//!
//! | refused | answer |
//! |---|---|
//! | no credential, or none that is good here | 401 |
//! | another organization, no `scim:provision`, a token that is held for another party | 403 |
//! | `userName`, `externalId` or an address that another User has | 409 `uniqueness` |
//! | another version than `If-Match` names | 412 |
//! | more members, operations or bytes than the documentation names | 413 |

mod bulk;
mod call;
mod discovery;
mod filtered;
mod group_list;
mod group_members;
mod group_view;
mod groups;
mod invitation_worker;
mod invite;
mod listing;
mod operation;
mod outcome;
mod turns;
mod user_change;
mod user_view;
mod users;
mod version;

pub use invitation_worker::inviting;

use super::{api::serve_each, app::App};
use axum::routing::MethodRouter;
use operation::OPERATIONS;

/// Serves every operation of a path.
pub fn methods(path: &'static str) -> MethodRouter<App> {
    let of_path = OPERATIONS.iter().filter(|operation| operation.path == path);
    serve_each(of_path.map(|operation| (operation.verb, operation)), call::serve)
}

/// Lists method, path and summary of every operation.
pub fn summaries() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    OPERATIONS.iter().map(|one| (one.verb.name(), one.path, one.summary))
}
