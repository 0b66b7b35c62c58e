//! The management API (contract §4 and §5): one table of operations, and one guard before all of them.
//!
//! Each operation says which permission it needs; the guard ([`call`]) lets a caller in whose token or key
//! has it in the organization of the path, and no handler is reached without it. The router and the
//! OpenAPI document are made of the same table ([`operations`]), so that neither can forget one. Pages of
//! ours call the same operations for a person in a session ([`in_session`]).
//!
//! | refused | answer |
//! |---|---|
//! | no token, or none that is good for `{issuer}/api` | 401 `invalid_token` |
//! | the person has proved less than the organization requires | 401 `insufficient_user_authentication` |
//! | another organization | 403 `other_organization` |
//! | a credential is asked for with a token that is held for another party | 403 `delegation_refused` |
//! | the permission is not held, or would be passed on without being held | 403 `permission_required`, `permission_not_held` |
//! | a use of `organizations:administer` without a reason | 400 `reason_required` |
//! | a change without `If-Match`, or at another version | 428 `precondition_required`, 412 `precondition_failed` |

mod accounts;
mod activity;
mod admission;
mod agent;
mod audit;
mod call;
mod caller;
mod change;
mod clients;
mod connection_trials;
mod connections;
mod credential;
mod delegations;
mod deletion;
mod denied;
mod described;
mod domains;
mod export;
mod impersonation;
mod in_session;
mod invitations;
mod keys;
mod members;
mod openapi;
mod operation;
mod operations;
mod organizations;
mod page;
mod parts;
mod presented;
mod roles;
mod tries;
mod webhooks;
mod words;

pub use admission::{IN_PERSON, PERMISSION_REQUIRED, administered, note_refusal, reason};
pub use call::PageCall;
pub use caller::{Authority, Caller, Holder, SUSPENDED};
pub use change::EXISTS;
pub use denied::AccessDenial;
pub use in_session::MemberInSession;
pub use openapi::get as openapi;
pub use operation::{Operation, Verb};
pub use operations::OPERATIONS;
pub use presented::PresentedCredential;
pub use tries::Tries;

use super::app::App;
use axum::{
    extract::{RawPathParams, Request, State},
    response::Response,
    routing::MethodRouter,
};

/// Serves every operation of a path.
pub fn methods(path: &'static str) -> MethodRouter<App> {
    let of_path = OPERATIONS.iter().filter(|operation| operation.path == path);
    serve_each(of_path.map(|operation| (operation.verb, operation)), call::serve)
}

/// Serves operations of one path, each by its verb.
pub fn serve_each<O: Sync, F: Future<Output = Response> + Send + 'static>(
    operations: impl Iterator<Item = (Verb, &'static O)>,
    serve: fn(&'static O, App, RawPathParams, Request) -> F,
) -> MethodRouter<App> {
    operations.fold(MethodRouter::new(), |methods, (verb, operation)| {
        let serve = move |State(app): State<App>, params: RawPathParams, request: Request| {
            serve(operation, app, params, request)
        };
        methods.on(verb.filter(), serve)
    })
}

/// Lists method, path and summary of everything in the OpenAPI document.
pub fn summaries() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let others = described::operations().map(|one| (one.method, one.path, one.summary));
    others.chain(OPERATIONS.iter().map(|one| (one.verb.name(), one.path, one.summary)))
}
