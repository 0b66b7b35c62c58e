//! What a client learns before it begins (RFC 7644 §4).

use super::{
    call::ScimCall,
    group_members::MOST_CHANGED,
    outcome::{Answer, Outcome},
};
use crate::{
    domain::scim::{
        bulk::MAX_BULK_OPERATIONS,
        error::ScimError,
        list_response::{Position, list_response},
        query::MAX_COUNT,
        schema,
    },
    http::extract::json::LARGEST_SCIM,
};
use serde_json::{Value, json};

const CONFIG: &str = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig";

pub async fn config(call: ScimCall) -> Answer {
    let supported = json!({ "supported": true });
    Ok(Outcome::of(json!({
        "schemas": [CONFIG],
        "patch": supported,
        "bulk": {
            "supported": true,
            "maxOperations": MAX_BULK_OPERATIONS,
            "maxPayloadSize": LARGEST_SCIM,
        },
        "filter": { "supported": true, "maxResults": MAX_COUNT },
        "changePassword": { "supported": false },
        "sort": supported,
        "etag": supported,
        // RFC 9865 §4.
        "pagination": {
            "cursor": true,
            "index": true,
            "defaultPaginationMethod": "index",
            "defaultPageSize": MAX_COUNT,
            "maxPageSize": MAX_COUNT,
        },
        "authenticationSchemes": [{
            "type": "oauthbearertoken",
            "name": "Bearer",
            "description": format!(
                "an API key, or an access token with scim:provision; \
                 a request names at most {MOST_CHANGED} members"
            ),
            "specUri": "https://www.rfc-editor.org/info/rfc6750",
            "primary": true,
        }],
        "meta": {
            "resourceType": "ServiceProviderConfig",
            "location": format!("{}/ServiceProviderConfig", call.base),
        },
    })))
}

pub async fn schemas(call: ScimCall) -> Answer {
    whole(&call, schema::schemas(&call.base))
}

pub async fn schema(call: ScimCall) -> Answer {
    found(schema::schema(&call.base, call.param("id")))
}

pub async fn resource_types(call: ScimCall) -> Answer {
    whole(&call, schema::resource_types(&call.base))
}

pub async fn resource_type(call: ScimCall) -> Answer {
    found(schema::resource_type(&call.base, call.param("id")))
}

/// Answers with a whole list. RFC 7644 §4: a filter on it is refused with 403.
fn whole(call: &ScimCall, resources: Vec<Value>) -> Answer {
    if call.query().iter().any(|(name, _)| name.eq_ignore_ascii_case("filter")) {
        return Err(ScimError::plain(403, "this list is not filtered").into());
    }
    let total = resources.len() as u64;
    Ok(Outcome::of(list_response(resources, Some(total), &Position::Index(1))))
}

fn found(resource: Option<Value>) -> Answer {
    let missing = || ScimError::not_found("there is nothing here");
    Ok(Outcome::of(resource.ok_or_else(missing)?))
}
