//! The schemas that are served: which attributes a User and a Group have, and what holds for each.
//!
//! The tables below are the only place that says so. Documents, filters, patches and the `/Schemas`
//! endpoint are all read against them.

mod discovery;
mod document;
mod enterprise_user;
mod group;
mod user;

pub use document::{resource_type, resource_types, schema, schemas};

use std::fmt;

/// The type of an attribute (RFC 7643 §2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeType {
    String,
    Boolean,
    Integer,
    DateTime,
    Reference,
    Complex,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutability {
    ReadWrite,
    ReadOnly,
    /// Set when its value is made, never changed after that.
    Immutable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    Always,
    Default,
    Request,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uniqueness {
    None,
    Server,
}

/// The definition of one attribute or sub-attribute (RFC 7643 §7).
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the RFC defines an attribute by them")]
pub struct Attribute {
    pub name: &'static str,
    pub kind: AttributeType,
    pub multi_valued: bool,
    pub required: bool,
    pub case_exact: bool,
    pub mutability: Mutability,
    pub returned: Returned,
    pub uniqueness: Uniqueness,
    pub canonical_values: &'static [&'static str],
    pub reference_types: &'static [&'static str],
    pub sub_attributes: &'static [Attribute],
    pub description: &'static str,
    /// The most bytes that a text of it may have.
    pub max_length: usize,
    /// Whether a text of it may have several lines, as a postal address has.
    pub multi_line: bool,
}

/// The longest text of an attribute, in bytes, where its definition does not say otherwise.
pub const MAX_TEXT: usize = 1024;
/// The longest `userName` and `externalId`, in bytes; a mail address has at most 254.
pub const MAX_IDENTIFIER: usize = 254;
/// The longest address of a web page or a picture, in bytes.
pub const MAX_REFERENCE: usize = 2048;

#[derive(Clone, Copy)]
pub struct Schema {
    pub id: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub attributes: &'static [Attribute],
}

/// A kind of resource: where it is found, its schema and the extensions of it.
#[derive(Clone, Copy)]
pub struct ResourceType {
    pub name: &'static str,
    pub endpoint: &'static str,
    pub description: &'static str,
    pub schema: &'static Schema,
    pub extensions: &'static [&'static Schema],
}

pub static USER: ResourceType = ResourceType {
    name: "User",
    endpoint: "/Users",
    description: "User Account",
    schema: &user::SCHEMA,
    extensions: &[&enterprise_user::SCHEMA],
};

pub static GROUP: ResourceType = ResourceType {
    name: "Group",
    endpoint: "/Groups",
    description: "Group",
    schema: &group::SCHEMA,
    extensions: &[],
};

/// What every resource has (RFC 7643 §3.1). The `/Schemas` endpoint does not repeat it.
const COMMON: &[Attribute] = &[
    Attribute::reference("schemas", "The schemas of this resource.")
        .many()
        .required()
        .read_only()
        .returned(Returned::Always),
    Attribute::text("id", "The identifier that the server gave.")
        .exact()
        .read_only()
        .unique()
        .returned(Returned::Always),
    Attribute::text("externalId", "The identifier that the client gave.")
        .exact()
        .limited(MAX_IDENTIFIER),
    Attribute::complex("meta", "What the server knows about this resource.", META).read_only(),
];

const META: &[Attribute] = &[
    Attribute::text("resourceType", "The type of this resource.").exact().read_only(),
    Attribute::date_time("created", "When it was made.").read_only(),
    Attribute::date_time("lastModified", "When it was last changed.").read_only(),
    Attribute::reference("location", "The address of this resource.").read_only(),
    Attribute::text("version", "The version of this resource.").exact().read_only(),
];

impl Attribute {
    const fn new(name: &'static str, kind: AttributeType, description: &'static str) -> Self {
        Self {
            name,
            kind,
            multi_valued: false,
            required: false,
            case_exact: false,
            mutability: Mutability::ReadWrite,
            returned: Returned::Default,
            uniqueness: Uniqueness::None,
            canonical_values: &[],
            reference_types: &[],
            sub_attributes: &[],
            description,
            max_length: MAX_TEXT,
            multi_line: false,
        }
    }

    const fn text(name: &'static str, description: &'static str) -> Self {
        Self::new(name, AttributeType::String, description)
    }

    const fn boolean(name: &'static str, description: &'static str) -> Self {
        Self::new(name, AttributeType::Boolean, description)
    }

    const fn integer(name: &'static str, description: &'static str) -> Self {
        Self::new(name, AttributeType::Integer, description)
    }

    const fn date_time(name: &'static str, description: &'static str) -> Self {
        Self::new(name, AttributeType::DateTime, description)
    }

    const fn complex(
        name: &'static str,
        description: &'static str,
        sub_attributes: &'static [Attribute],
    ) -> Self {
        Self { sub_attributes, ..Self::new(name, AttributeType::Complex, description) }
    }

    /// An address; it may lead anywhere unless [`Attribute::to`] says to which resources.
    const fn reference(name: &'static str, description: &'static str) -> Self {
        Self {
            reference_types: &["uri"],
            case_exact: true,
            max_length: MAX_REFERENCE,
            ..Self::new(name, AttributeType::Reference, description)
        }
    }

    const fn to(self, reference_types: &'static [&'static str]) -> Self {
        Self { reference_types, ..self }
    }

    const fn many(self) -> Self {
        Self { multi_valued: true, ..self }
    }

    const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    const fn exact(self) -> Self {
        Self { case_exact: true, ..self }
    }

    const fn read_only(self) -> Self {
        Self { mutability: Mutability::ReadOnly, ..self }
    }

    const fn immutable(self) -> Self {
        Self { mutability: Mutability::Immutable, ..self }
    }

    const fn returned(self, returned: Returned) -> Self {
        Self { returned, ..self }
    }

    const fn unique(self) -> Self {
        Self { uniqueness: Uniqueness::Server, ..self }
    }

    const fn suggest(self, canonical_values: &'static [&'static str]) -> Self {
        Self { canonical_values, ..self }
    }

    const fn limited(self, max_length: usize) -> Self {
        Self { max_length, ..self }
    }

    const fn lines(self) -> Self {
        Self { multi_line: true, ..self }
    }

    pub fn is_read_only(&self) -> bool {
        self.mutability == Mutability::ReadOnly
    }

    pub fn is_complex(&self) -> bool {
        self.kind == AttributeType::Complex
    }

    /// Finds a sub-attribute by its name in any case.
    pub fn sub_attribute(&self, name: &str) -> Option<&'static Attribute> {
        self.sub_attributes.iter().find(|one| one.name.eq_ignore_ascii_case(name))
    }
}

impl Schema {
    /// Finds an attribute by its name in any case (RFC 7643 §2.1).
    pub fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        self.attributes.iter().find(|one| one.name.eq_ignore_ascii_case(name))
    }

    pub fn has_id(&self, urn: &str) -> bool {
        self.id.eq_ignore_ascii_case(urn)
    }
}

impl ResourceType {
    /// Finds an attribute of the schema itself or one that every resource has.
    pub fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        let common = || COMMON.iter().find(|one| one.name.eq_ignore_ascii_case(name));
        self.schema.attribute(name).or_else(common)
    }

    pub fn extension(&self, urn: &str) -> Option<&'static Schema> {
        self.extensions.iter().copied().find(|one| one.has_id(urn))
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Schema {}

impl PartialEq for ResourceType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ResourceType {}

// The tables are long and known; a name says which entry is meant.

impl fmt::Debug for Attribute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

impl fmt::Debug for ResourceType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}
