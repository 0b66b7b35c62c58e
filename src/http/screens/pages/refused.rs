//! What was wrong with a form, in words: from the code that the redirect carries, never from its text.

use crate::http::{extract::form::Form, screens::shell::Shell};

/// What was wrong with a form.
pub struct RefusalNotice {
    /// The step that was refused.
    pub step: String,
    pub text: String,
}

impl RefusalNotice {
    pub fn of(page: &Shell<'_>, query: &Form) -> Option<Self> {
        let (code, step) = (query.get("problem")?, query.get("step").unwrap_or_default());
        let text = match (code, step) {
            ("too_many_requests", _) => {
                let seconds = query.get("wait").and_then(|wait| wait.parse().ok());
                let minutes = seconds.unwrap_or(60_u32).div_ceil(60).clamp(1, 24 * 60);
                page.count("too-many-tries", minutes)
            }
            _ => page.t(name(code, step)),
        };
        Some(Self { step: step.to_owned(), text })
    }
}

fn name(code: &str, step: &str) -> &'static str {
    match (code, step) {
        ("invalid_credentials", "email_code") => "wrong-email-code",
        ("invalid_credentials", "sms_code") => "wrong-sms-code",
        ("invalid_credentials", "totp")
        | ("invalid_request", "email_code" | "sms_code" | "totp") => "wrong-totp",
        ("invalid_credentials" | "invalid_request", "recovery_code") => "wrong-recovery-code",
        ("invalid_credentials", "magic_link") => "wrong-link",
        ("invalid_credentials", "passkey" | "passkey/create") => "wrong-passkey",
        // The script fills it in.
        ("invalid_request", "passkey" | "passkey/create") => "passkey-needs-script",
        ("invalid_credentials", _) => "wrong-password",
        ("invalid_request", "identifier") => "wrong-identifier",
        ("invalid_request", "profile") => "wrong-profile",
        ("invalid_request", "user_code") | ("user_code_not_valid", _) => "wrong-user-code",
        ("invalid_request", _) => "field-missing",
        ("sso_refused", _) => "sso-refused",
        ("upstream_unavailable", _) => "sso-unavailable",
        ("account_not_vouched", _) => "account-not-vouched",
        ("identity_not_linked", _) => "identity-not-linked",
        ("membership_disabled", _) => "membership-disabled",
        ("password_refused", _) => "password-refused",
        ("passkey_refused", _) => "passkey-refused",
        ("email_taken", _) => "email-taken",
        ("identity_already_linked", _) => "identity-already-linked",
        ("connection_changed", _) => "begin-again",
        ("report_not_valid", _) => "report-spent",
        ("proof_of_work_required", _) => "work-needs-script",
        ("account_changed" | "temporarily_unavailable", _) => "try-again",
        ("step_not_available" | "account_not_held", _) => "not-now",
        _ => "not-taken",
    }
}
