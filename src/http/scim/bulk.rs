//! `/Bulk` (RFC 7644 §3.7): several operations in one request, each a commit of its own.

use super::{
    call::{ScimCall, is_conflict},
    groups,
    outcome::{Answer, Outcome},
    users,
};
use crate::{
    domain::scim::bulk::{Bulk, BulkOperation, BulkResult, Endpoint, Method},
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
    }
    Ok(Outcome::of(bulk.response()))
}

async fn carry_out(call: &mut ScimCall, operation: BulkOperation) -> Answer {
    let BulkOperation { method, endpoint, id, version, data, .. } = operation;
    let mut part = call.part(id.as_deref(), version.as_deref(), data.unwrap_or_default());
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
