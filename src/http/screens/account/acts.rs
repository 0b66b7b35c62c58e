//! What a person does on their pages: one row for each form, with the operation under `/me` that does it.
//!
//! An act with a question has a page of its own, which asks for what is needed or whether it is meant.
//! Where the operation wants a fresh proof, that page comes after it.

use super::{ask::Operation, section::Section};
use crate::http::routes;
use axum::http::Method;

/// A form, and what it does.
#[derive(Debug, PartialEq, Eq)]
pub struct Act {
    /// Its name in forms and addresses.
    pub name: &'static str,
    pub section: Section,
    operation: Operation,
    /// What its body is made of.
    pub fields: &'static [Field],
    /// Whether the operation wants a fresh proof.
    pub fresh: bool,
    /// What the page asks that comes before it.
    pub question: Option<Question>,
}

/// The words of a page that comes before an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    pub title: &'static str,
    pub text: &'static str,
    pub button: &'static str,
    /// Something is lost by it.
    pub danger: bool,
}

/// A field of a form, by the name of the member that it fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    /// The sentence that it is called by.
    pub label: &'static str,
    pub hint: Option<&'static str>,
    pub kind: Kind,
    pub autocomplete: &'static str,
}

/// How a field is filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Email,
    Phone,
    Url,
    Language,
    Code,
    Password,
    /// A box: checked or not.
    Tick,
}

impl Kind {
    /// Whether what was typed may be filled in again.
    pub const fn is_kept(self) -> bool {
        !matches!(self, Self::Code | Self::Password)
    }

    /// Its name in templates, which is the type of an input where there is one.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Email => "email",
            Self::Phone => "tel",
            Self::Url => "url",
            Self::Language => "language",
            Self::Code => "code",
            Self::Password => "password",
            Self::Tick => "tick",
        }
    }
}

const fn field(name: &'static str, label: &'static str, kind: Kind) -> Field {
    Field { name, label, hint: None, kind, autocomplete: "off" }
}

impl Field {
    const fn filled_by(self, autocomplete: &'static str) -> Self {
        Self { autocomplete, ..self }
    }

    const fn hinting(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

/// What a person says of themselves.
pub const PROFILE: [Field; 8] = [
    field("given_name", "given-name", Kind::Text).filled_by("given-name"),
    field("family_name", "family-name", Kind::Text).filled_by("family-name"),
    field("name", "full-name", Kind::Text).filled_by("name").hinting("full-name-hint"),
    field("nickname", "nickname", Kind::Text).filled_by("nickname"),
    field("locale", "language", Kind::Language),
    field("zoneinfo", "time-zone", Kind::Text).hinting("time-zone-hint"),
    field("birthdate", "birthdate", Kind::Text).filled_by("bday").hinting("birthdate-hint"),
    field("website", "website", Kind::Url).filled_by("url"),
];

const CODE: [Field; 1] = [field("code", "code-label", Kind::Code)];

const fn asks(title: &'static str, text: &'static str, button: &'static str) -> Question {
    Question { title, text, button, danger: false }
}

const fn warns(title: &'static str, text: &'static str, button: &'static str) -> Question {
    Question { title, text, button, danger: true }
}

const fn act(
    name: &'static str,
    section: Section,
    operation: Operation,
    fields: &'static [Field],
) -> Act {
    Act { name, section, operation, fields, fresh: false, question: None }
}

impl Act {
    /// The same, which wants a fresh proof.
    const fn fresh(mut self) -> Self {
        self.fresh = true;
        self
    }

    /// The same, after a page that asks.
    const fn after(mut self, question: Question) -> Self {
        self.question = Some(question);
        self
    }

    pub fn operation(&self) -> Operation {
        self.operation.clone()
    }

    /// Finds an act of a section.
    pub fn find(section: Section, name: &str) -> Option<&'static Self> {
        ACTS.iter().find(|act| act.section == section && act.name == name)
    }
}

/// Every act.
pub static ACTS: [Act; 20] = [
    act("describe", Section::Profile, (Method::PATCH, routes::ME), &PROFILE),
    act(
        "new_email",
        Section::Profile,
        (Method::POST, routes::MY_EMAIL),
        &[field("email", "email", Kind::Email).filled_by("email")],
    )
    .fresh()
    .after(asks("new-email", "new-email-text", "send-code")),
    act("confirm_email", Section::Profile, (Method::POST, routes::MY_EMAIL_CONFIRMED), &CODE)
        .after(asks("confirm-email", "confirm-text", "continue")),
    act(
        "new_phone",
        Section::Profile,
        (Method::POST, routes::MY_PHONE),
        &[field("phone_number", "phone-number", Kind::Phone)
            .filled_by("tel")
            .hinting("phone-hint")],
    )
    .fresh()
    .after(asks("new-phone", "new-phone-text", "send-code")),
    act("confirm_phone", Section::Profile, (Method::POST, routes::MY_PHONE_CONFIRMED), &CODE)
        .after(asks("confirm-phone", "confirm-text", "continue")),
    act("remove_phone", Section::Profile, (Method::DELETE, routes::MY_PHONE), &[])
        .fresh()
        .after(warns("remove-phone", "remove-phone-text", "remove")),
    act(
        "rename_passkey",
        Section::Security,
        (Method::PATCH, routes::MY_PASSKEY),
        &[field("name", "name", Kind::Text)],
    )
    .fresh()
    .after(asks("rename-passkey", "rename-passkey-text", "org-save")),
    act("remove_passkey", Section::Security, (Method::DELETE, routes::MY_PASSKEY), &[])
        .fresh()
        .after(warns("remove-passkey", "remove-passkey-text", "remove")),
    act("unlink", Section::Security, (Method::DELETE, routes::MY_IDENTITY), &[])
        .fresh()
        .after(warns("unlink-title", "unlink-text", "unlink")),
    act("remove_totp", Section::Security, (Method::DELETE, routes::MY_TOTP), &[])
        .fresh()
        .after(warns("remove-totp", "remove-totp-text", "remove")),
    act("new_codes", Section::Security, (Method::POST, routes::MY_RECOVERY_CODES), &[])
        .fresh()
        .after(asks("new-codes", "new-codes-text", "make-codes")),
    act(
        "set_password",
        Section::Security,
        (Method::PUT, routes::MY_PASSWORD),
        &[
            field("password", "new-password", Kind::Password).filled_by("new-password"),
            field("keep_sessions", "keep-sessions", Kind::Tick),
        ],
    )
    .fresh()
    .after(asks("new-password-title", "set-password-text", "save-password")),
    act("remove_password", Section::Security, (Method::DELETE, routes::MY_PASSWORD), &[])
        .fresh()
        .after(warns("remove-password", "remove-password-text", "remove")),
    act("end_session", Section::Sessions, (Method::DELETE, routes::MY_SESSION), &[]),
    act("end_sessions", Section::Sessions, (Method::DELETE, routes::MY_SESSIONS), &[])
        .after(warns("end-sessions", "end-sessions-text", "end-sessions-button")),
    act("withdraw", Section::Applications, (Method::DELETE, routes::MY_CONSENT), &[]),
    act("unblock", Section::Applications, (Method::DELETE, routes::MY_BLOCKED_CLIENT), &[]),
    act("end_delegation", Section::Applications, (Method::DELETE, routes::MY_DELEGATION), &[]),
    act("leave", Section::Organizations, (Method::DELETE, routes::MY_ORGANIZATION), &[])
        .after(warns("leave-title", "leave-text", "leave")),
    act("delete", Section::Data, (Method::DELETE, routes::ME), &[]).fresh().after(warns(
        "delete-title",
        "delete-text",
        "delete-button",
    )),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_is_found_in_its_section_alone_and_names_are_given_once() {
        for (number, act) in ACTS.iter().enumerate() {
            assert_eq!(Act::find(act.section, act.name), Some(act));
            assert!(!ACTS[..number].iter().any(|other| other.name == act.name), "{}", act.name);
        }
        assert_eq!(Act::find(Section::Profile, "delete"), None);
        assert_eq!(Act::find(Section::Data, ""), None);
    }

    #[test]
    fn neither_a_code_nor_a_password_is_filled_in_again() {
        let fields = ACTS.iter().flat_map(|act| act.fields);
        let lost: Vec<&str> =
            fields.filter(|field| !field.kind.is_kept()).map(|field| field.name).collect();
        assert_eq!(lost, ["code", "code", "password"]);
    }
}
