//! The notice of a refused form on its page: from its code and its field, which come in the address of the page.

use super::{super::shell::Shell, acts::Act};
use crate::http::extract::form::Form;

/// A notice: what was wrong with a form, and with which field, if it was one.
pub struct FormNotice {
    pub text: String,
    pub field: Option<&'static str>,
}

impl FormNotice {
    /// Reads what was wrong with the form that was sent last, if it was of this act.
    pub fn of(page: &Shell<'_>, act: Option<&Act>, query: &Form) -> Option<Self> {
        let code = query.get("problem")?;
        let pointer = query.get("field").unwrap_or_default().trim_start_matches(['#', '/']);
        let named = |name: &str| {
            let mut fields = act.into_iter().flat_map(|act| act.fields);
            fields.find(|field| field.name == name).map(|field| field.name)
        };
        let field = match code {
            "wrong_code" => named("code"),
            "password_refused" => named("password"),
            _ => named(pointer),
        };
        let text = match code {
            "too_many_requests" => {
                let seconds = query.get("wait").and_then(|wait| wait.parse().ok());
                let minutes = seconds.unwrap_or(60_u32).div_ceil(60).clamp(1, 24 * 60);
                page.count("wait-minutes", minutes)
            }
            code => page.t(sentence(code, field.is_some())),
        };
        Some(Self { text, field })
    }
}

fn sentence(code: &str, has_field: bool) -> &'static str {
    match code {
        "invalid_request" if has_field => "wrong-field",
        "wrong_code" => "wrong-proof",
        "password_refused" => "password-refused",
        "last_way_in" => "last-way-in",
        "last_administrator" => "last-administrator",
        "organization_suspended" => "leave-suspended",
        "second_factor_required" => "codes-need-factor",
        "email_taken" => "address-taken",
        "channel_unavailable" => "no-channel",
        "not_found" => "org-gone",
        "outcome_unknown" => "outcome-unknown",
        _ => "not-taken",
    }
}
