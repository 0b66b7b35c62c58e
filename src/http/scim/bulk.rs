//! `/Bulk` (RFC 7644 §3.7): several operations in one request, each a commit of its own.

use super::{
    call::{ScimCall, is_conflict},
    groups,
    operation::BULK,
    outcome::{Answer, Outcome},
    users,
};
use crate::{
    domain::scim::bulk::{Bulk, BulkOperation, BulkRefusal, BulkResult, Endpoint, Method},
    http::{answer::scim::ScimRefusal, api::Tries},
};

pub async fn post(mut call: ScimCall) -> Answer {
    let mut bulk = Bulk::read(&call.body)?;
    while let Some(operation) = bulk.take_next() {
        let place = operation.place;
        let result = match carry_out(&mut call, operation).await {
            Ok(outcome) => outcome.into_result(),
            Err(ScimRefusal { error, .. }) => BulkResult::failure(&error),
        };
        bulk.report(place, result);
        note_refusals(&call, &mut bulk).await;
    }
    // Of those that were refused before they were begun.
    note_refusals(&call, &mut bulk).await;
    Ok(Outcome::of(bulk.response(&call.base)))
}

/// Notes what was refused, each as the operation that it would be by itself.
async fn note_refusals(call: &ScimCall, bulk: &mut Bulk) {
    for BulkRefusal { operation, error } in bulk.take_refusals() {
        let name = operation.map_or(BULK, |(method, of)| operation_name(method, of));
        // What was done is answered all the same; that it could not be noted is in the program's own log.
        let _noted = call.note_refusal(name, &error).await;
    }
}

/// Returns the name of an operation in the security log.
fn operation_name(method: Method, endpoint: Endpoint) -> &'static str {
    match (endpoint, method) {
        (Endpoint::Users, Method::Post) => "scimCreateUser",
        (Endpoint::Users, Method::Put) => "scimReplaceUser",
        (Endpoint::Users, Method::Patch) => "scimPatchUser",
        (Endpoint::Users, Method::Delete) => "scimDeleteUser",
        (Endpoint::Groups, Method::Post) => "scimCreateGroup",
        (Endpoint::Groups, Method::Put) => "scimReplaceGroup",
        (Endpoint::Groups, Method::Patch) => "scimPatchGroup",
        (Endpoint::Groups, Method::Delete) => "scimDeleteGroup",
    }
}

async fn carry_out(call: &mut ScimCall, operation: BulkOperation) -> Answer {
    let BulkOperation { method, endpoint, id, version, data, .. } = operation;
    let mut part = call.part(id.as_deref(), version.as_deref(), data.unwrap_or_default())?;
    let mut tries = Tries::start();
    loop {
        let answer = one(part.clone(), method, endpoint).await;
        if !tries.go_on_if(is_conflict(&answer)) {
            return answer;
        }
        // It is decided again on what is true now, by a caller who is still let in.
        call.renew().await?;
        part.caller = call.caller.clone();
    }
}

async fn one(call: ScimCall, method: Method, endpoint: Endpoint) -> Answer {
    // Boxed: each is as large as a request of its own.
    match (endpoint, method) {
        (Endpoint::Users, Method::Post) => Box::pin(users::create(call)).await,
        (Endpoint::Users, Method::Put) => Box::pin(users::replace(call)).await,
        (Endpoint::Users, Method::Patch) => Box::pin(users::patch(call)).await,
        (Endpoint::Users, Method::Delete) => Box::pin(users::delete(call)).await,
        (Endpoint::Groups, Method::Post) => Box::pin(groups::create(call)).await,
        (Endpoint::Groups, Method::Put) => Box::pin(groups::replace(call)).await,
        (Endpoint::Groups, Method::Patch) => Box::pin(groups::patch(call)).await,
        (Endpoint::Groups, Method::Delete) => Box::pin(groups::delete(call)).await,
    }
}
