//! The pages of the logout endpoint: plain, and without scripts. With screens the same is said in their
//! look.

use crate::http::{
    answer::{
        error::OAuthError, error::Problem, html::escape, never_stored,
        response_summary::ResponseSummary,
    },
    flows::ticket::SignOutTarget,
    routes,
};
use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

/// A form of these pages is sent to us alone.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// Asks whether to sign out; the answer is bound to this browser by the id of the flow.
pub fn confirmation(flow: &str) -> Response {
    let told = ResponseSummary::SignOut { flow: flow.to_owned() };
    let (action, flow) = (routes::LOGOUT, escape(flow));
    let shown = page(
        "Sign out",
        "",
        &format!(
            "<p>Do you want to sign out? If you did not ask for this, close this page.</p>\n\
             <form method=\"post\" action=\"{action}\">\n\
             <input type=\"hidden\" name=\"flow\" value=\"{flow}\">\n\
             <button type=\"submit\">Sign out</button>\n</form>\n"
        ),
    );
    telling(shown, told)
}

/// Says that the person is signed out, with a link to where they may go.
pub fn signed_out(leaving: Option<&SignOutTarget>) -> Response {
    let told = ResponseSummary::SignedOut { to: target(leaving), moves_on: false };
    telling(page("You are signed out", "", &link(leaving)), told)
}

/// The same, and goes on by itself: browsers hold a redirect after a form to `form-action`.
pub fn signed_out_and_on(leaving: Option<&SignOutTarget>) -> Response {
    let on = leaving.map(|leaving| {
        let to = escape(&leaving.redirect_to);
        format!("<meta http-equiv=\"refresh\" content=\"0;url={to}\">")
    });
    let told = ResponseSummary::SignedOut { to: target(leaving), moves_on: leaving.is_some() };
    telling(page("You are signed out", &on.unwrap_or_default(), &link(leaving)), told)
}

fn target(leaving: Option<&SignOutTarget>) -> Option<String> {
    leaving.map(|leaving| leaving.redirect_to.clone())
}

fn telling(mut page: Response, told: ResponseSummary) -> Response {
    page.extensions_mut().insert(told);
    page
}

fn link(leaving: Option<&SignOutTarget>) -> String {
    let Some(leaving) = leaving else { return "<p>You can close this page.</p>\n".to_owned() };
    format!("<p><a href=\"{}\">Return to the application</a></p>\n", escape(&leaving.redirect_to))
}

/// Shows a refusal to a person.
pub fn refused(error: OAuthError) -> Response {
    let text = format!(
        "<p>The application that sent you here made a mistake: {}.</p>\n",
        error.description
    );
    let shown = page("You are still signed in", "", &text);
    let told = ResponseSummary::StillSignedIn { description: error.description };
    telling(worded(error.into_response(), shown), told)
}

/// Shows to a person that their answer could not be taken.
pub fn not_confirmed(problem: Problem) -> Response {
    let text = format!("<p>This could not be done: {}.</p>\n", problem.detail);
    let shown = page("You are still signed in", "", &text);
    let told = ResponseSummary::StillSignedIn { description: problem.detail };
    telling(worded(problem.into_response(), shown), told)
}

/// Gives an answer the words of a page.
fn worded(answer: Response, page: Response) -> Response {
    let (mut head, _) = answer.into_parts();
    let (words, body) = page.into_parts();
    for name in [header::CONTENT_TYPE, header::CONTENT_SECURITY_POLICY] {
        if let Some(value) = words.headers.get(&name) {
            head.headers.insert(name, value.clone());
        }
    }
    Response::from_parts(head, body)
}

fn page(title: &str, head: &str, text: &str) -> Response {
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <title>{title}</title>{head}</head>\n<body>\n<h1>{title}</h1>\n{text}</body>\n</html>\n"
    );
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let headers = [(header::CONTENT_TYPE, html), (header::CONTENT_SECURITY_POLICY, POLICY)];
    let mut response = (headers, page).into_response();
    never_stored(&mut response);
    response
}
