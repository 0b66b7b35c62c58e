//! Fields of a form as they are drawn: filled in with what is held, or with what was typed last.

use super::{
    super::shell::Shell,
    acts::{Field, Kind},
    form_notice::FormNotice,
    form_values::FormValues,
};
use crate::domain::Locale;
use std::fmt::Write as _;

/// A field as it is drawn.
pub struct FieldShown {
    pub name: &'static str,
    pub label: String,
    pub hint: Option<String>,
    pub kind: &'static str,
    pub autocomplete: &'static str,
    pub value: String,
    pub error: Option<String>,
    /// The first of a page that only asks has the focus.
    pub is_first: bool,
    /// Values and what they are called, where one is chosen.
    pub choices: Vec<(String, String)>,
}

impl FieldShown {
    /// Draws a field that holds a value, unless another was typed.
    pub fn of(
        page: &Shell<'_>,
        field: &Field,
        held: &str,
        (kept, said): (Option<&FormValues>, Option<&FormNotice>),
    ) -> Self {
        let typed = kept.and_then(|kept| kept.get(field.name));
        let value = typed.unwrap_or(held).to_owned();
        let said = said.filter(|said| said.field == Some(field.name));
        let hint = match field.kind {
            Kind::Password => Some(page.count("password-hint", page.password_length())),
            _ => field.hint.map(|hint| page.t(hint)),
        };
        Self {
            name: field.name,
            label: page.t(field.label),
            hint,
            kind: field.kind.name(),
            autocomplete: field.autocomplete,
            choices: if field.kind == Kind::Language {
                languages(page, &value)
            } else {
                Vec::new()
            },
            value,
            error: said.map(|said| said.text.clone()),
            is_first: false,
        }
    }
}

impl FieldShown {
    /// Returns the attributes that say what is wrong with it and where it is explained; its name is ours.
    pub fn described(&self) -> String {
        let hint = self.hint.as_ref().map(|_| format!("{}-hint", self.name));
        let error = self.error.as_ref().map(|_| "error".to_owned());
        let mut attributes = String::new();
        if error.is_some() {
            attributes.push_str(" aria-invalid=\"true\"");
        }
        if error.is_some() || self.is_first {
            attributes.push_str(" autofocus");
        }
        let by: Vec<String> = error.into_iter().chain(hint).collect();
        if !by.is_empty() {
            let _ = write!(attributes, " aria-describedby=\"{}\"", by.join(" "));
        }
        attributes
    }
}

/// The languages that can be chosen: ours, and the one that is held.
fn languages(page: &Shell<'_>, held: &str) -> Vec<(String, String)> {
    let mut choices = vec![(String::new(), page.t("no-language"))];
    let ours = page.languages().into_iter();
    choices.extend(ours.map(|one| (one.tag.to_owned(), one.name.to_owned())));
    let is_ours = Locale::ALL.iter().any(|locale| locale.tag() == held);
    if !held.is_empty() && !is_ours {
        choices.push((held.to_owned(), held.to_owned()));
    }
    choices
}
