//! The attributes of a Group (RFC 7643 §4.2).

use super::{Attribute, Returned, Schema};

/// The longest `displayName` of a Group, in bytes.
pub(super) const MAX_DISPLAY_NAME: usize = 256;

pub(super) const SCHEMA: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:core:2.0:Group",
    name: "Group",
    description: "Group",
    attributes: ATTRIBUTES,
};

const ATTRIBUTES: &[Attribute] = &[
    // RFC 7643 §4.2 requires it in words; its JSON says otherwise.
    Attribute::text("displayName", "The name of this group that people read.")
        .required()
        .limited(MAX_DISPLAY_NAME),
    Attribute::complex("members", "The users in this group.", MEMBER).many(),
];

/// Groups in groups are not there, so the only type is `User`.
const MEMBER: &[Attribute] = &[
    Attribute::text("value", "The identifier of the member.").exact().immutable(),
    Attribute::reference("$ref", "The address of the member.").to(&["User"]).immutable(),
    Attribute::text("type", "The type of the member.").suggest(&["User"]).immutable(),
    // On request alone: it costs the read of each member.
    Attribute::text("display", "The name of the member.").read_only().returned(Returned::Request),
];
