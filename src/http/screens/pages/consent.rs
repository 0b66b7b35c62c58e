//! What a client asks a person for: in words, for which API, for which organization.

use super::FlowPage;
use crate::{
    domain::{Locale, authority::GRANTING_SCOPES},
    http::{flows::Document, screens::shell::Shell},
    wording::quotable,
};
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "flow/consent.html")]
struct ConsentPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    asked: ConsentRequest,
}

/// A request for consent, in words.
pub struct ConsentRequest {
    /// Of the API.
    pub resource: Option<String>,
    pub organization: Option<String>,
    pub roles: String,
    /// What it could do at the API.
    pub actions: Vec<Row>,
    /// What it could learn of the person.
    pub personal: Vec<Row>,
    /// It could give authority to others in the person's name.
    pub grants: bool,
}

/// One thing that is asked for: words first, its name after them.
pub struct Row {
    pub icon: &'static str,
    pub text: String,
    pub name: String,
}

impl ConsentRequest {
    pub fn of(page: &Shell<'_>, document: &Document) -> Self {
        let consent = document.consent.as_ref();
        let organization = document.organizations.first().map(|choice| quotable(&choice.name));
        let mut actions = Vec::new();
        let mut personal = Vec::new();
        for scope in &document.scopes {
            match personal_words(scope) {
                Some(("", _)) => {}
                Some((words, icon)) => {
                    personal.push(Row { icon, text: page.t(words), name: scope.clone() });
                }
                None => actions.push(action(page, scope)),
            }
        }
        for claim in consent.iter().flat_map(|consent| &consent.claims) {
            let claim = quotable(claim);
            let text = page.with("consent-claim", "claim", &claim);
            personal.push(Row { icon: "user", text, name: claim });
        }
        for detail in consent.iter().flat_map(|consent| &consent.authorization_details) {
            let text = match page.locale {
                Locale::English => detail.text.en.clone(),
                Locale::Portuguese => detail.text.pt.clone(),
            };
            actions.push(Row { icon: "file", text, name: detail.detail.kind().to_owned() });
        }
        let named = |consent: &crate::http::flows::ConsentTold| {
            let name = consent.resource_name.as_deref().map(quotable);
            name.filter(|name| !name.is_empty()).or_else(|| consent.resource.clone())
        };
        Self {
            resource: consent.and_then(named),
            organization,
            roles: consent.map(|consent| consent.roles.join(", ")).unwrap_or_default(),
            actions,
            personal,
            grants: document.scopes.iter().any(|scope| GRANTING_SCOPES.contains(&scope.as_str())),
        }
    }
}

/// Returns what a scope lets a client do or learn, in words; nothing is said of `openid` itself.
pub fn scope_words(page: &Shell<'_>, scope: &str) -> Option<String> {
    match personal_words(scope) {
        Some(("", _)) => None,
        Some((words, _)) => Some(page.t(words)),
        None => Some(action(page, scope).text),
    }
}

/// What a scope of OIDC lets a client learn; nothing is said of `openid` itself.
fn personal_words(scope: &str) -> Option<(&'static str, &'static str)> {
    Some(match scope {
        "openid" => ("", ""),
        "profile" => ("scope-profile", "user"),
        "email" => ("scope-email", "mail"),
        "phone" => ("scope-phone", "phone"),
        "address" => ("scope-address", "building"),
        "offline_access" => ("scope-offline-access", "clock"),
        "groups" => ("scope-groups", "user"),
        _ => return None,
    })
}

/// Words for a scope of an API: of what it is, and what is done with it.
fn action(page: &Shell<'_>, scope: &str) -> Row {
    let (what, action) = scope.split_once(':').unwrap_or((scope, ""));
    let (words, icon) = match action {
        "read" => ("action-read", "file"),
        "write" => ("action-write", "pen"),
        _ => ("action-other", "key"),
    };
    let what = if words == "action-other" { scope } else { what };
    Row { icon, text: page.with(words, "what", what), name: scope.to_owned() }
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let asked = ConsentRequest::of(page, flow.document);
    page.respond(StatusCode::OK, &ConsentPage { page, flow, asked })
}
