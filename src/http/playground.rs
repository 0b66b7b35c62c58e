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
/// Where the scripts are.
const FOLDER: &str = "/playground/";

/// The scripts of the pages of a development server. Those that others import come first.
struct Scripts {
    client: Asset,
    stolen: Asset,
    page: Asset,
    mailbox: Asset,
    /// That of a page which has got hold of a token, in a frame of its own.
    another_page: Asset,
}

static SCRIPTS: LazyLock<Scripts> = LazyLock::new(Scripts::new);

impl Scripts {
    fn new() -> Self {
        let named = |name: &str, script: &str| {
            Asset::new(name, "js", "text/javascript; charset=utf-8", script).below(FOLDER)
        };
        // A script imports another by its path, with the hash.
        let importing = |script: &str, imported: &[(&str, &Asset)]| {
            imported.iter().fold(script.to_owned(), |script, (name, asset)| {
                script.replace(&format!("\"./{name}.js\""), &format!("\"{}\"", asset.path))
            })
        };
        let client = named("client", include_str!("../../assets/playground_client.js"));
        let of_client = [("playground_client", &client)];
        let stolen = include_str!("../../assets/playground_stolen.js");
        let stolen = named("stolen", &importing(stolen, &of_client));
        let another_page = include_str!("../../assets/another_page.js");
        let another_page = named("another-page", &importing(another_page, &of_client));
        let page = include_str!("../../assets/playground.js");
        let imported = [of_client[0], ("playground_stolen", &stolen)];
        let page = named("playground", &importing(page, &imported));
        let mailbox = named("mailbox", include_str!("../../assets/mailbox.js"));
        Self { client, stolen, page, mailbox, another_page }
    }

    fn all(&self) -> [&Asset; 5] {
        let Self { client, stolen, page, mailbox, another_page } = self;
        [client, stolen, page, mailbox, another_page]
    }
}

#[derive(Template)]
#[template(path = "dev/playground.html")]
struct PlaygroundPage<'a> {
    page: &'a Shell<'a>,
    script: &'static str,
    another_page: &'static str,
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
    let page = &Shell::new(&app, preferences, None).at(Vec::new()).telling_sign_up().await;
    let client = found(&app).await?;
    let missing = client_of_demo().replace("{port}", port(&app.issuer));
    let drawn = PlaygroundPage {
        page,
        script: &SCRIPTS.page.path,
        another_page: &SCRIPTS.another_page.path,
        client,
        demo_account: DEMO_ACCOUNT,
        demo_api: DEMO_API,
        missing,
    };
    Ok(page.respond(StatusCode::OK, &drawn))
}

/// A script of the pages of a development server.
pub async fn file(Path(file): Path<String>) -> Response {
    let named = |asset: &&&Asset| asset.path.strip_prefix(FOLDER) == Some(&*file);
    let found = SCRIPTS.all().iter().find(named).copied();
    found.map_or_else(|| Problem::NOT_FOUND.into_response(), Asset::answer)
}

/// Returns the address of the script of the mailbox.
pub fn mailbox_script() -> &'static str {
    &SCRIPTS.mailbox.path
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
    fn the_scripts_are_small_and_name_no_other_host() {
        let own: usize = SCRIPTS.all().iter().map(|script| script.size()).sum();
        let style = assets().style.size() + assets().script.size() + assets().icons.size();
        assert!(own + style < 57_000, "{own} {style}");
        for script in SCRIPTS.all() {
            let text = std::str::from_utf8(script.content()).unwrap();
            assert!(!text.contains("http:") && !text.contains("https:"), "{}", script.path);
        }
    }

    #[test]
    fn scripts_import_what_is_served() {
        let paths = SCRIPTS.all().map(|script| script.path.as_str());
        let mut imports = 0;
        for script in SCRIPTS.all() {
            let text = std::str::from_utf8(script.content()).unwrap();
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let path = line.split('"').nth(1).unwrap();
                assert!(paths.contains(&path), "{line}");
                imports += 1;
            }
        }
        assert_eq!(imports, 4);
    }
}
