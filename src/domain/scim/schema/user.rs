//! The attributes of a User (RFC 7643 §4.1).
//!
//! `password` is not among them: it is never taken, and what a client sends of it is ignored.
//! `x509Certificates` is not among them either: certificates are of no use here and fill the document.

use super::{Attribute, MAX_IDENTIFIER, MAX_REFERENCE, Schema};

pub(super) const SCHEMA: Schema = Schema {
    id: "urn:ietf:params:scim:schemas:core:2.0:User",
    name: "User",
    description: "User Account",
    attributes: ATTRIBUTES,
};

const ATTRIBUTES: &[Attribute] = &[
    Attribute::text("userName", "The name that identifies this user to the client.")
        .required()
        .unique()
        .limited(MAX_IDENTIFIER),
    Attribute::complex("name", "The parts of the name of this user.", NAME),
    Attribute::text("displayName", "The name that is shown to others."),
    Attribute::text("nickName", "The casual name of this user."),
    Attribute::reference("profileUrl", "The page about this user.").to(&["external"]),
    Attribute::text("title", "The title of this user, such as \"Vice President\"."),
    Attribute::text("userType", "How this user relates to the organization, such as \"Employee\"."),
    Attribute::text("preferredLanguage", "The languages this user prefers, as Accept-Language."),
    Attribute::text("locale", "The locale for dates, currency and numbers."),
    Attribute::text("timezone", "The time zone, as the IANA database names it."),
    Attribute::boolean("active", "Whether this user may act. It is true where it is absent."),
    Attribute::complex("emails", "The mail addresses of this user.", EMAIL).many(),
    Attribute::complex("phoneNumbers", "The telephone numbers of this user.", PHONE_NUMBER).many(),
    Attribute::complex("ims", "The instant messaging addresses of this user.", IM).many(),
    Attribute::complex("photos", "The addresses of pictures of this user.", PHOTO).many(),
    Attribute::complex("addresses", "The postal addresses of this user.", ADDRESS).many(),
    Attribute::complex("groups", "The groups this user belongs to.", GROUP).many().read_only(),
    Attribute::complex("entitlements", "What this user is entitled to.", LABEL).many(),
    Attribute::complex("roles", "The roles of this user, as the client names them.", LABEL).many(),
];

const NAME: &[Attribute] = &[
    Attribute::text("formatted", "The whole name as it is shown."),
    Attribute::text("familyName", "The family name."),
    Attribute::text("givenName", "The given name."),
    Attribute::text("middleName", "The middle names."),
    Attribute::text("honorificPrefix", "A title before the name, such as \"Ms.\"."),
    Attribute::text("honorificSuffix", "A suffix after the name, such as \"III\"."),
];

const DISPLAY: Attribute = Attribute::text("display", "A name for this value that people read.");
const TYPE: Attribute = Attribute::text("type", "What this value is used for.");
const PRIMARY: Attribute =
    Attribute::boolean("primary", "Whether this is the preferred value. At most one value is.");

const EMAIL: &[Attribute] = &[
    Attribute::text("value", "The mail address."),
    DISPLAY,
    TYPE.suggest(&["work", "home", "other"]),
    PRIMARY,
];

const PHONE_NUMBER: &[Attribute] = &[
    Attribute::text("value", "The telephone number."),
    DISPLAY,
    TYPE.suggest(&["work", "home", "mobile", "fax", "pager", "other"]),
    PRIMARY,
];

const IM: &[Attribute] = &[
    Attribute::text("value", "The instant messaging address."),
    DISPLAY,
    TYPE.suggest(&["aim", "gtalk", "icq", "xmpp", "msn", "skype", "qq", "yahoo"]),
    PRIMARY,
];

const PHOTO: &[Attribute] = &[
    Attribute::reference("value", "The address of the picture.").to(&["external"]),
    DISPLAY,
    TYPE.suggest(&["photo", "thumbnail"]),
    PRIMARY,
];

const ADDRESS: &[Attribute] = &[
    Attribute::text("formatted", "The whole address as it is written on a letter.").lines(),
    Attribute::text("streetAddress", "Street, number and what else stands there.").lines(),
    Attribute::text("locality", "The city."),
    Attribute::text("region", "The state or region."),
    Attribute::text("postalCode", "The postal code."),
    Attribute::text("country", "The country."),
    TYPE.suggest(&["work", "home", "other"]),
    PRIMARY,
];

const GROUP: &[Attribute] = &[
    Attribute::text("value", "The identifier of the group.").exact().read_only(),
    Attribute::reference("$ref", "The address of the group.").to(&["Group"]).read_only(),
    Attribute::text("display", "The name of the group.").read_only(),
    Attribute::text("type", "How this user belongs to the group.")
        .suggest(&["direct", "indirect"])
        .read_only(),
];

const LABEL: &[Attribute] = &[
    // Some clients put a whole JSON text here.
    Attribute::text("value", "The value.").limited(MAX_REFERENCE),
    DISPLAY,
    TYPE,
    PRIMARY,
];
