//! GET of a screen: opens the flow that is named, or begins one, and draws it.

use super::{Screen, brand, pages, preferences::Preferences, shell::Shell, trouble};
use crate::domain::Context;
use crate::http::{
    answer::error::Problem,
    app::App,
    extract::{
        context::RequestContext, cookies::with_cookie, form::Form, origin::Origin,
        request_source::RequestSource,
    },
    flows::{Document, FlowAnswer, Wish, begin_one, look},
};
use axum::{
    extract::{RawQuery, State},
    http::{HeaderMap, HeaderValue},
    response::Response,
};
use std::net::IpAddr;

/// Draws the screen at a path.
pub async fn get(
    screen: Screen,
    State(app): State<App>,
    RequestContext(context): RequestContext,
    Origin(address): Origin,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let source = RequestSource::of(&headers, app.cookies);
    let query = Form::parse_noting(query.unwrap_or_default().as_bytes());
    let query = query.unwrap_or_default();
    let preferences = Preferences::of(&app, &headers, &query, source.locale);
    let permit = app.request_permits.work().map_err(Problem::from);
    let opened = match permit {
        Err(full) => Err(full),
        Ok(_permit) => {
            let asked = Asked { screen, query: &query };
            asked.open(&app, (context, address), source).await
        }
    };
    match opened {
        Ok(Opened { document, cookies }) => {
            let shell = Shell::new(&app, &preferences, document.ui_locales.as_deref());
            let shell = shell.at(pages::parameters(&document, &query));
            let shell = shell.of_brand(brand::of_page(&app, &document).await);
            let page = pages::draw(&shell, &document, &query).await;
            cookies.into_iter().fold(page, |page, cookie| with_cookie(page, Some(cookie)))
        }
        Err(problem) => {
            let shell = Shell::new(&app, &preferences, None).at(Vec::new());
            trouble::page(&shell, screen, &problem, &headers)
        }
    }
}

/// What a browser asks for.
struct Asked<'a> {
    screen: Screen,
    query: &'a Form,
}

/// A flow that is drawn.
struct Opened {
    document: Document,
    cookies: Vec<HeaderValue>,
}

impl Asked<'_> {
    async fn open(
        self,
        app: &App,
        caller: (Context, IpAddr),
        mut source: RequestSource,
    ) -> Result<Opened, Problem> {
        if let Some(id) = self.query.get("flow") {
            return Ok(Opened { document: look(app, id, &source).await?, cookies: Vec::new() });
        }
        // A page that is opened by hand belongs to a browser, whatever it says of itself.
        source.is_browser = true;
        let token = self.query.get("token").map(str::to_owned);
        // The mail of an invitation leads to the screen on which accounts are made.
        let invited = self.screen.begins == "sign_up" && token.is_some();
        let kind = if invited { "invitation" } else { self.screen.begins };
        let user_code = self.query.get("user_code").map(str::to_owned);
        let wish = Wish { kind: kind.to_owned(), token, user_code, ..Wish::default() };
        let begun = begin_one(app, caller.clone(), source.clone(), wish).await;
        let FlowAnswer { document, cookies } = match begun {
            // What a person does in a session begins with a sign-in.
            Err(problem) if problem.code == "session_required" => {
                let wish = Wish { kind: "sign_in".to_owned(), ..Wish::default() };
                begin_one(app, caller, source, wish).await?
            }
            begun => begun?,
        };
        Ok(Opened { document, cookies })
    }
}
