//! What a page says of a problem: its code and its field, which come in the address of the page.

use super::super::shell::Shell;
use crate::http::{answer::error::Problem, extract::form::Form};

/// The sentence that a field is called by; fields of the address begin with a question mark.
fn field(name: &str) -> Option<&'static str> {
    Some(match name.trim_start_matches(['#', '/', '?']).split('/').next()? {
        "roles" => "org-held-roles",
        "permissions" => "org-permissions",
        "name" => "name",
        "email" => "email",
        "expires_at" => "org-key-end",
        "overlap" => "org-overlap",
        "since" => "org-from",
        "until" => "org-before",
        "domain" => "org-domain-name",
        "issuer" => "org-issuer",
        "client_id" => "org-client-id",
        "client_secret" => "org-client-secret",
        "company" => "org-company",
        "confirmation" => "org-delete-confirm",
        _ => return None,
    })
}

/// Says what was wrong with the form that was sent last, if anything was.
pub fn alert(page: &Shell<'_>, query: &Form) -> Option<String> {
    query.get("problem").map(|code| word(page, code, query.get("field").unwrap_or_default()))
}

/// Says why a section cannot be shown.
pub fn problem(page: &Shell<'_>, problem: &Problem) -> String {
    let pointer = problem.member.as_ref().map(|member| member.pointer.as_str());
    word(page, problem.code, pointer.unwrap_or_default())
}

fn word(page: &Shell<'_>, code: &str, pointer: &str) -> String {
    match code {
        "invalid_request" => match field(pointer) {
            Some(label) => page.with("org-wrong-field", "field", &page.t(label)),
            None => page.t("not-taken"),
        },
        "permission_not_held" => page.t("org-not-held"),
        "permission_required" => page.t("org-not-allowed"),
        "precondition_failed" | "precondition_required" | "conflict" => page.t("org-changed-since"),
        "exists" => page.t("org-exists"),
        "mail_not_configured" => page.t("org-no-mail"),
        "not_found" => page.t("org-gone"),
        "record_missing" => page.t("org-record-missing"),
        "dns_unanswered" => page.t("org-dns-unanswered"),
        "domain_held" => page.t("org-domain-held"),
        "too_many_domains" => page.t("org-many-domains"),
        "too_many_connections" => page.t("org-many-connections"),
        "step_up_required" => page.t("org-two-factors"),
        "reason_required" => page.with("org-wrong-field", "field", &page.t("org-delete-reason")),
        _ => page.t("not-taken"),
    }
}
