//! The table of operations.

use super::{
    bulk,
    call::ScimCall,
    discovery, groups, listing,
    outcome::{Answer, Outcome},
    users,
};
use crate::{
    domain::{
        authority::PROVISION,
        scim::{
            error::ScimError,
            query::Query,
            schema::{GROUP, USER},
        },
    },
    http::{api::Verb, routes},
};
use std::{future::Future, pin::Pin};

/// The permission that every operation needs.
pub const PERMISSION: &str = PROVISION;

/// The name of the operation that does several.
pub const BULK: &str = "scimBulk";

type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// One operation of SCIM.
pub struct Operation {
    pub verb: Verb,
    pub path: &'static str,
    /// Its name in the security log.
    pub name: &'static str,
    pub summary: &'static str,
    /// It takes a body.
    pub takes_body: bool,
    pub handle: fn(ScimCall) -> Answering,
}

macro_rules! operations {
    ($($verb:ident $path:ident $name:literal $takes:literal $handler:path, $summary:literal;)*) => {
        &[$(Operation {
            verb: Verb::$verb,
            path: routes::$path,
            name: $name,
            summary: $summary,
            takes_body: $takes,
            handle: |call| Box::pin($handler(call)),
        }),*]
    };
}

/// Every operation; what is not here is not served.
pub static OPERATIONS: &[Operation] = operations! {
    Get SCIM_USERS "scimListUsers" false users::list, "Lists Users, which are the memberships.";
    Post SCIM_USERS "scimCreateUser" true users::create, "Makes a User: a member, or one who is asked to become one.";
    Post SCIM_USER_SEARCH "scimSearchUsers" true users::search, "Lists Users by a body instead of a query.";
    Get SCIM_USER "scimGetUser" false users::show, "Shows a User.";
    Put SCIM_USER "scimReplaceUser" true users::replace, "Replaces a User.";
    Patch SCIM_USER "scimPatchUser" true users::patch, "Changes attributes of a User.";
    Delete SCIM_USER "scimDeleteUser" false users::delete, "Deletes a User: the membership ends; the account stays.";
    Get SCIM_GROUPS "scimListGroups" false groups::list, "Lists Groups, which are the roles.";
    Post SCIM_GROUPS "scimCreateGroup" true groups::create, "Makes a Group: a role without permissions.";
    Post SCIM_GROUP_SEARCH "scimSearchGroups" true groups::search, "Lists Groups by a body instead of a query.";
    Get SCIM_GROUP "scimGetGroup" false groups::show, "Shows a Group.";
    Put SCIM_GROUP "scimReplaceGroup" true groups::replace, "Replaces a Group and its members.";
    Patch SCIM_GROUP "scimPatchGroup" true groups::patch, "Changes a Group, above all its members.";
    Delete SCIM_GROUP "scimDeleteGroup" false groups::delete, "Deletes a Group that SCIM made.";
    Post SCIM_BULK "scimBulk" true bulk::post, "Does several of these in one request.";
    Post SCIM_SEARCH "scimSearch" true search, "Lists Users and Groups by a body.";
    Get SCIM_REST "scimNothing" false nothing, "Is not there: 404, in the form of SCIM.";
    Get SCIM_ME "scimMe" false me, "Is not offered: 501.";
    Get SCIM_CONFIG "scimConfig" false discovery::config, "Says what is supported.";
    Get SCIM_SCHEMAS "scimSchemas" false discovery::schemas, "Lists the schemas.";
    Get SCIM_SCHEMA "scimSchema" false discovery::schema, "Shows a schema.";
    Get SCIM_TYPES "scimResourceTypes" false discovery::resource_types, "Lists the types of resources.";
    Get SCIM_TYPE "scimResourceType" false discovery::resource_type, "Shows a type of resource.";
};

async fn search(call: ScimCall) -> Answer {
    let of_users = Query::from_body(&call.body, &USER)?;
    let of_groups = Query::from_body(&call.body, &GROUP)?;
    listing::everything(&call, &of_users, &of_groups).await
}

async fn nothing(_call: ScimCall) -> Answer {
    Err(ScimError::not_found("there is nothing here").into())
}

/// RFC 7644 §3.11: a key speaks for no person.
async fn me(_call: ScimCall) -> Answer {
    Outcome::unsupported("/Me is not offered: a directory speaks for no person")
}
