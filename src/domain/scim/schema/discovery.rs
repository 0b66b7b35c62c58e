//! The schemas of what the discovery endpoints answer (RFC 7643 §5, §6, §7).

use super::{Attribute, Schema};

/// Their `meta` and `id` are common attributes, as of any resource.
pub(super) const SCHEMAS: [&Schema; 3] = [&SERVICE_PROVIDER_CONFIG, &RESOURCE_TYPE, &SCHEMA];

pub(super) const SCHEMA: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:core:2.0:Schema",
    name: "Schema",
    description: "The definition of a schema",
    attributes: &[
        Attribute::text("name", "The name of the schema.").required().read_only(),
        Attribute::text("description", "What the schema is for.").read_only(),
        Attribute::complex("attributes", "The attributes of the schema.", ATTRIBUTE_WITH_PARTS)
            .many()
            .required()
            .read_only(),
    ],
};

pub(super) const RESOURCE_TYPE: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:core:2.0:ResourceType",
    name: "ResourceType",
    description: "A kind of resource and where it is found",
    attributes: &[
        Attribute::text("name", "The name of the resource type.").exact().required().read_only(),
        Attribute::text("description", "What the resource type is for.").read_only(),
        Attribute::reference("endpoint", "Its path below the base address.").required().read_only(),
        Attribute::reference("schema", "The schema of the resource.").required().read_only(),
        Attribute::complex("schemaExtensions", "The extensions of it.", EXTENSION)
            .many()
            .read_only(),
    ],
};

const EXTENSION: &[Attribute] = &[
    Attribute::reference("schema", "The schema of the extension.").required().read_only(),
    Attribute::boolean("required", "Whether a resource must have it.").required().read_only(),
];

const NAME: Attribute = Attribute::text("name", "The name of the attribute.").exact().read_only();
const TYPE: Attribute = Attribute::text("type", "The type of its values.")
    .suggest(&[
        "string",
        "complex",
        "boolean",
        "decimal",
        "integer",
        "dateTime",
        "reference",
        "binary",
    ])
    .read_only();
const MULTI_VALUED: Attribute =
    Attribute::boolean("multiValued", "Whether it may have several values.").read_only();
const DESCRIPTION: Attribute = Attribute::text("description", "What the attribute is.").read_only();
const REQUIRED: Attribute = Attribute::boolean("required", "Whether it must be given.").read_only();
const CANONICAL_VALUES: Attribute =
    Attribute::text("canonicalValues", "The usual values.").exact().many().read_only();
const CASE_EXACT: Attribute =
    Attribute::boolean("caseExact", "Whether upper and lower case differ.").read_only();
const MUTABILITY: Attribute = Attribute::text("mutability", "When it may be written.")
    .exact()
    .suggest(&["readOnly", "readWrite", "immutable", "writeOnly"])
    .read_only();
const RETURNED: Attribute = Attribute::text("returned", "When it is returned.")
    .exact()
    .suggest(&["always", "never", "default", "request"])
    .read_only();
const UNIQUENESS: Attribute = Attribute::text("uniqueness", "Where its value is unique.")
    .exact()
    .suggest(&["none", "server", "global"])
    .read_only();
const REFERENCE_TYPES: Attribute =
    Attribute::text("referenceTypes", "What it may refer to.").exact().many().read_only();

const ATTRIBUTE: &[Attribute] = &[
    NAME,
    TYPE,
    MULTI_VALUED,
    DESCRIPTION,
    REQUIRED,
    CANONICAL_VALUES,
    CASE_EXACT,
    MUTABILITY,
    RETURNED,
    UNIQUENESS,
    REFERENCE_TYPES,
];

/// Parts have no parts of their own.
const PARTS: Attribute =
    Attribute::complex("subAttributes", "The attributes of a complex attribute.", ATTRIBUTE)
        .many()
        .read_only();

const ATTRIBUTE_WITH_PARTS: &[Attribute] = &{
    let mut all = [PARTS; ATTRIBUTE.len() + 1];
    all.split_at_mut(ATTRIBUTE.len()).0.copy_from_slice(ATTRIBUTE);
    all
};

const SERVICE_PROVIDER_CONFIG: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig",
    name: "ServiceProviderConfig",
    description: "What this server supports",
    attributes: &[
        Attribute::reference("documentationUri", "The page with help for people.")
            .to(&["external"])
            .read_only(),
        Attribute::complex("patch", "Changes of parts of a resource.", SUPPORT)
            .required()
            .read_only(),
        Attribute::complex("bulk", "Many operations in one request.", BULK).required().read_only(),
        Attribute::complex("filter", "Filters.", FILTER).required().read_only(),
        Attribute::complex("changePassword", "Changes of the password.", SUPPORT)
            .required()
            .read_only(),
        Attribute::complex("sort", "Sorted lists.", SUPPORT).required().read_only(),
        Attribute::complex("etag", "Versions of resources.", SUPPORT).required().read_only(),
        Attribute::complex("pagination", "How long lists are read.", PAGINATION).read_only(),
        Attribute::complex("authenticationSchemes", "How clients authenticate.", AUTHENTICATION)
            .many()
            .required()
            .read_only(),
    ],
};

const SUPPORTED: Attribute =
    Attribute::boolean("supported", "Whether it is supported.").required().read_only();

const SUPPORT: &[Attribute] = &[SUPPORTED];

const BULK: &[Attribute] = &[
    SUPPORTED,
    Attribute::integer("maxOperations", "The most operations in one request.")
        .required()
        .read_only(),
    Attribute::integer("maxPayloadSize", "The most bytes in one request.").required().read_only(),
];

const FILTER: &[Attribute] = &[
    SUPPORTED,
    Attribute::integer("maxResults", "The most resources in one answer.").required().read_only(),
];

/// RFC 9865 §4.
const PAGINATION: &[Attribute] = &[
    Attribute::boolean("cursor", "Whether pages follow a cursor.").required().read_only(),
    Attribute::boolean("index", "Whether pages follow an index.").required().read_only(),
    Attribute::text("defaultPaginationMethod", "What is used where a client names neither.")
        .suggest(&["cursor", "index"])
        .read_only(),
    Attribute::integer("defaultPageSize", "How many resources are on a page.").read_only(),
    Attribute::integer("maxPageSize", "The most resources on a page.").read_only(),
    Attribute::integer("cursorTimeout", "How many seconds a cursor is good for.").read_only(),
];

const AUTHENTICATION: &[Attribute] = &[
    Attribute::text("type", "The kind of authentication.").required().read_only(),
    Attribute::text("name", "Its name.").required().read_only(),
    Attribute::text("description", "What it is.").required().read_only(),
    Attribute::reference("specUri", "Its specification.").to(&["external"]).read_only(),
    Attribute::reference("documentationUri", "Help about it.").to(&["external"]).read_only(),
    Attribute::boolean("primary", "Whether it is the preferred one.").read_only(),
];
