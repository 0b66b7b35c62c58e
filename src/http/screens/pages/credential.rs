//! How a person proves who they are: one way a page, and the others as links.

use super::{FlowPage, code};
use crate::http::screens::shell::Shell;
use askama::Template;
use axum::{http::StatusCode, response::Response};

/// The ways that have a page, in the order in which one is chosen for the person.
const WAYS: [&str; 7] =
    ["password", "totp", "email_code", "sms_code", "magic_link", "passkey", "recovery_code"];

/// Another way to go on.
pub struct OtherWay {
    pub label: String,
    pub icon: &'static str,
    /// The step that the button takes, where something is sent first.
    pub sends: Option<&'static str>,
    /// Where the link leads, where nothing is.
    pub href: String,
    /// The connection, where another provider says who the person is.
    pub connection: Option<String>,
    pub needs_script: bool,
}

#[derive(Template)]
#[template(path = "flow/password.html")]
struct PasswordPage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    ways: Vec<OtherWay>,
}

#[derive(Template)]
#[template(path = "flow/choose.html")]
struct ChoosePage<'a> {
    page: &'a Shell<'a>,
    flow: &'a FlowPage<'a>,
    title: String,
    /// A passkey is offered: it is the button, and the others are beside it.
    passkey: bool,
    ways: Vec<OtherWay>,
}

pub fn draw(page: &Shell<'_>, flow: &FlowPage<'_>) -> Response {
    let named = flow.way.as_deref().map(|way| way.trim_end_matches("/send"));
    let named = named.filter(|way| WAYS.contains(way) && flow.offers(way));
    // What was saved for bad days is asked for where nothing else is offered.
    let saved = |way: &str| way == "recovery_code" && flow.offers("passkey");
    let ready = |way: &&str| {
        // A code that was not sent cannot be asked for.
        let sent = flow.offers(&format!("{way}/send"));
        flow.offers(way) && !sent && *way != "passkey" && !saved(way)
    };
    // What cannot be taken back is signed by a passkey: a password alone leads back here.
    let signs = flow.approves() && flow.offers("passkey");
    let usual = if signs { None } else { WAYS.into_iter().find(ready) };
    let way = named.or(usual).unwrap_or_default();
    let ways = others(page, flow, way);
    match way {
        "password" => page.respond(StatusCode::OK, &PasswordPage { page, flow, ways }),
        "email_code" | "sms_code" | "totp" | "recovery_code" | "magic_link" => {
            code::draw(page, flow, way, ways)
        }
        _ => {
            let title = match flow.document.state {
                "second_factor" => "second-factor-title",
                "proof" => "proof-title",
                _ => "prove-title",
            };
            let (title, passkey) = (page.t(title), flow.offers("passkey"));
            let ways = if passkey { others(page, flow, "passkey") } else { ways };
            page.respond(StatusCode::OK, &ChoosePage { page, flow, title, passkey, ways })
        }
    }
}

/// Lists the ways that the flow offers beside this one.
pub fn others(page: &Shell<'_>, flow: &FlowPage<'_>, way: &str) -> Vec<OtherWay> {
    let all = [
        ("passkey", "way-passkey", "passkey", None),
        ("password", "way-password", "key", None),
        ("totp", "way-totp", "phone", None),
        ("email_code", "way-email-code", "mail", Some("email_code/send")),
        ("magic_link", "way-magic-link", "mail", Some("magic_link/send")),
        ("sms_code", "way-sms-code", "phone", Some("sms_code/send")),
        ("recovery_code", "way-recovery-code", "key", None),
    ];
    let offered = all.into_iter().filter(|(name, ..)| *name != way && flow.offers(name));
    let offered = offered.map(|(name, label, icon, sends)| OtherWay {
        label: page.t(label),
        icon,
        sends,
        href: flow.by_way(name),
        connection: None,
        needs_script: name == "passkey",
    });
    let connections = flow.document.connections.iter().filter(|_| way != "sso");
    let connections = connections.map(|connection| OtherWay {
        label: page.with("sign-in-with", "name", &connection.name),
        icon: "building",
        sends: Some("sso/options"),
        href: String::new(),
        connection: Some(connection.id.clone()),
        needs_script: false,
    });
    offered.chain(connections).collect()
}
