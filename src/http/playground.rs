//! `GET /playground`: a client inside a page, for people who try a development server.
//!
//! The page asks for tokens as any application does, shows what it sends and what comes back, and
//! checks it (`assets/playground.js`). It is served under `dev` alone, and only with screens.

use super::{
    answer::error::Problem,
    app::App,
    extract::{form::Form, origin::Origin, request_source::RequestSource},
    routes,
    screens::{assets::Asset, preferences::Preferences, shell::Shell},
};
use askama::Template;
use axum::{
    extract::{Path, RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use std::sync::LazyLock;

/// What `porteiro dev` begins with, where the client of the page comes from.
const DEMO: &str = include_str!("../cli/demo.toml");
const CLIENT: &str = "playground";
/// The API of the demo, whose scope the page may ask for.
const DEMO_API: &str = "https://api.demo.test/invoices";
/// An account of the demo that is a member of an organization.
const DEMO_ACCOUNT: &str = "ana@demo.test";

static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let script = include_str!("../../assets/playground.js");
    Asset::new("playground", "js", "text/javascript; charset=utf-8", script).below("/playground/")
});

#[derive(Template)]
#[template(path = "dev/playground.html")]
struct PlaygroundPage<'a> {
    page: &'a Shell<'a>,
    script: &'static str,
    client: Option<ClientFound>,
    demo_account: &'static str,
    demo_api: &'static str,
    /// What an older folder lacks.
    missing: String,
}

/// The client of the page.
struct ClientFound {
    id: &'static str,
    /// Whether people come back to the page when they have signed out: exactly this address is
    /// registered, its port included.
    comes_back: bool,
}

pub async fn get(
    State(app): State<App>,
    Origin(address): Origin,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let _permit = app.limits.request_permits.work(address)?;
    let preferences = preferences(&app, query, &headers).1;
    let page = &Shell::new(&app, preferences, None).at(Vec::new());
    let client = found(&app).await?;
    let missing = client_of_demo().replace("{port}", port(&app.issuer));
    let drawn = PlaygroundPage {
        page,
        script: script(),
        client,
        demo_account: DEMO_ACCOUNT,
        demo_api: DEMO_API,
        missing,
    };
    Ok(page.respond(StatusCode::OK, &drawn))
}

/// The script of the pages of a development server.
pub async fn file(Path(file): Path<String>) -> Response {
    let named = SCRIPT.path.strip_prefix("/playground/") == Some(&*file);
    if named { SCRIPT.answer() } else { Problem::NOT_FOUND.into_response() }
}

/// Returns the address of the script.
pub fn script() -> &'static str {
    &SCRIPT.path
}

/// Reads what a page of a development server is asked for, and in which language and theme.
///
/// A query that cannot be read is none.
pub fn preferences(app: &App, query: Option<String>, headers: &HeaderMap) -> (Form, Preferences) {
    let query = Form::parse_noting(query.unwrap_or_default().as_bytes()).unwrap_or_default();
    let accepted = RequestSource::of(headers, app.settings.cookies).locale;
    let preferences = Preferences::of(app, headers, &query, accepted);
    (query, preferences)
}

async fn found(app: &App) -> Result<Option<ClientFound>, Problem> {
    let seen = app.views.clients.look(CLIENT).await.map_err(|error| {
        tracing::warn!(%error, "the client of the playground could not be read");
        Problem::UNAVAILABLE
    })?;
    let own = format!("{}{}", app.issuer, routes::PLAYGROUND);
    let client = seen.machine.known().filter(|client| client.has_redirect_uri(&own));
    Ok(client.map(|client| ClientFound {
        id: CLIENT,
        comes_back: client.has_post_logout_redirect_uri(&own),
    }))
}

/// Returns the lines of the demo that make the client.
fn client_of_demo() -> &'static str {
    let at = DEMO.find("[[client]]\nclient_id = \"playground\"").unwrap_or_default();
    DEMO[at..].split("\n\n").next().unwrap_or_default()
}

fn port(issuer: &str) -> &str {
    issuer.rsplit(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::screens::assets::assets;

    #[test]
    fn an_older_folder_is_told_the_lines_of_the_demo() {
        let lines = client_of_demo();
        assert!(lines.starts_with("[[client]]\nclient_id = \"playground\"\n"), "{lines}");
        assert!(lines.contains("http://localhost:{port}/playground"), "{lines}");
        assert_eq!(lines.matches("[[").count(), 1, "{lines}");
        assert!(DEMO.contains(&format!("email = \"{DEMO_ACCOUNT}\"")));
        assert!(DEMO.contains(&format!("identifier = \"{DEMO_API}\"")));
    }

    #[test]
    fn the_script_is_small_and_names_no_other_host() {
        let script = include_str!("../../assets/playground.js");
        let style = assets().style.size() + assets().script.size() + assets().icons.size();
        assert!(script.len() + style < 48_000, "{} {style}", script.len());
        assert!(!script.contains("http:") && !script.contains("https:"));
    }
}
