//! The attributes that the enterprise extension adds to a User (RFC 7643 §4.3).

use super::{Attribute, Schema};

pub(super) const SCHEMA: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
    name: "EnterpriseUser",
    description: "Enterprise User",
    attributes: ATTRIBUTES,
};

const ATTRIBUTES: &[Attribute] = &[
    Attribute::text("employeeNumber", "The number or code of this employee."),
    Attribute::text("costCenter", "The cost center."),
    Attribute::text("organization", "The organization."),
    Attribute::text("division", "The division."),
    Attribute::text("department", "The department."),
    Attribute::complex("manager", "The manager of this user.", MANAGER),
];

const MANAGER: &[Attribute] = &[
    Attribute::text("value", "The identifier of the manager.").exact(),
    Attribute::reference("$ref", "The address of the manager.").to(&["User"]),
    Attribute::text("displayName", "The name of the manager.").read_only(),
];
