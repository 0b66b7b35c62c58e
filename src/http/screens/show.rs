//! GET of a screen: opens the flow that is named, or begins one, and draws it.

use super::{
    Screen, brand,
    pages::{self, Returning},
    preferences::Preferences,
    shell::Shell,
    trouble::{self, Caller},
};
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
    // A page that is opened belongs to a browser, whatever it says of itself.
    let source = RequestSource::of(&headers, app.cookies).of_page();
    let query = Form::parse_noting(query.unwrap_or_default().as_bytes());
    let query = query.unwrap_or_default();
    let preferences = Preferences::of(&app, &headers, &query, source.locale);
    let permit = app.request_permits.work().map_err(Problem::from);
    let opened = match permit {
        Err(full) => Err(full),
        Ok(_permit) => {
            let asked = Asked { screen, query: &query };
            asked.open(&app, (context.clone(), address), source).await
        }
    };
    match opened {
        Ok(Opened { document, cookies, returning }) => {
            let shell = Shell::new(&app, &preferences, document.ui_locales.as_deref());
            let shell = shell.at(pages::parameters(&document, &query));
            let shell = shell.of_brand(brand::of_page(&app, &document).await);
            let page = pages::draw(&shell, &document, &query, returning).await;
            cookies.into_iter().fold(page, |page, cookie| with_cookie(page, Some(cookie)))
        }
        Err(problem) => {
            let shell = Shell::new(&app, &preferences, None).at(Vec::new());
            let caller = Caller {
                screen,
                headers: &headers,
                follows_mail: query.get("token").is_some(),
                request_id: context.request_id(),
            };
            trouble::page(&shell, &problem, &caller)
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
    returning: Option<Returning>,
}

impl Asked<'_> {
    async fn open(
        self,
        app: &App,
        caller: (Context, IpAddr),
        source: RequestSource,
    ) -> Result<Opened, Problem> {
        let FlowAnswer { document, cookies } = self.flow(app, caller, source.clone()).await?;
        let returning = Returning::of(app, &source, &document).await;
        Ok(Opened { document, cookies, returning })
    }

    async fn flow(
        &self,
        app: &App,
        caller: (Context, IpAddr),
        source: RequestSource,
    ) -> Result<FlowAnswer, Problem> {
        if let Some(id) = self.query.get("flow") {
            return Ok(FlowAnswer { document: look(app, id, &source).await?, cookies: Vec::new() });
        }
        let given = |name: &str| self.query.get(name).map(str::to_owned);
        let token = given("token");
        // The mail of an invitation leads to the screen on which accounts are made.
        let invited = self.screen.begins == "sign_up" && token.is_some();
        let kind = if invited { "invitation" } else { self.screen.begins }.to_owned();
        let (user_code, flow) = (given("user_code"), given("from"));
        let wish = Wish { kind, token, user_code, flow, ..Wish::default() };
        match begin_one(app, caller.clone(), source.clone(), wish).await {
            // What a person does in a session begins with a sign-in.
            Err(problem) if problem.code == "session_required" => {
                let wish = Wish { kind: "sign_in".to_owned(), ..Wish::default() };
                begin_one(app, caller, source, wish).await
            }
            begun => begun,
        }
    }
}
