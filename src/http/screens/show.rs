//! GET of a screen: opens the flow that is named, or begins one, and draws it.

use super::{
    ACCOUNT, Screen, account, pages, preferences::Preferences, shell::Shell, stopping, trouble,
};
use crate::domain::Context;
use crate::http::{
    answer::error::Problem,
    app::App,
    extract::{
        context::RequestContext, cookies::with_cookie, form::Form, origin::Origin,
        request_source::RequestSource,
    },
    facts::session,
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
    if let Some(token) = stopping::token(screen, &query) {
        let shell = Shell::new(&app, &preferences, None).at(vec![("stop", token.to_owned())]);
        return stopping::ask(&shell, token, &query);
    }
    let permit = app.request_permits.work().map_err(Problem::from);
    let opened = match permit {
        Err(full) => Err(full),
        Ok(_permit) => {
            if screen == ACCOUNT && query.get("flow").is_none() {
                let shell = Shell::new(&app, &preferences, None).at(Vec::new());
                match account::draw(&shell, (context.clone(), address), &headers).await {
                    Ok(page) => return page,
                    // The page is a sign-in then, which ends here.
                    Err(problem) if problem.code == "session_required" => {}
                    Err(problem) => return trouble::page(&shell, screen, &problem, &headers),
                }
            }
            let asked = Asked { screen, query: &query };
            asked.open(&app, (context, address), source).await
        }
    };
    match opened {
        Ok(Opened::SignedOut) => {
            let shell = Shell::new(&app, &preferences, None).at(Vec::new());
            pages::signed_out(&shell)
        }
        Ok(Opened::Flow(document, cookies)) => {
            let shell = Shell::new(&app, &preferences, document.ui_locales.as_deref());
            let shell = shell.at(pages::parameters(&document, &query));
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

/// What is drawn.
enum Opened {
    Flow(Box<Document>, Vec<HeaderValue>),
    /// There is nothing to sign out of.
    SignedOut,
}

impl Asked<'_> {
    async fn open(
        self,
        app: &App,
        caller: (Context, IpAddr),
        mut source: RequestSource,
    ) -> Result<Opened, Problem> {
        if let Some(id) = self.query.get("flow") {
            let document = look(app, id, &source).await?;
            return Ok(Opened::Flow(Box::new(document), Vec::new()));
        }
        // A page that is opened by hand belongs to a browser, whatever it says of itself.
        source.is_browser = true;
        let token = self.query.get("token").map(str::to_owned);
        // The mail of an invitation leads to the screen on which accounts are made.
        let invited = self.screen.begins == "sign_up" && token.is_some();
        let kind = if invited { "invitation" } else { self.screen.begins };
        // In a session a code would be entered at once, and a wrong one counted: the page that asks for
        // it has it filled in instead. No link enters anything.
        let code = self.query.get("user_code");
        let user_code = match code {
            Some(code) if !session::is_open(app, &source).await => Some(code.to_owned()),
            _ => None,
        };
        let flow = self.query.get("from").map(str::to_owned);
        let wish = Wish { kind: kind.to_owned(), token, user_code, flow, ..Wish::default() };
        let begun = begin_one(app, caller.clone(), source.clone(), wish).await;
        let FlowAnswer { document, cookies } = match begun {
            Err(problem) if problem.code == "session_required" && kind == "sign_out" => {
                return Ok(Opened::SignedOut);
            }
            // What a person does in a session begins with a sign-in.
            Err(problem) if problem.code == "session_required" => {
                let wish = Wish { kind: "sign_in".to_owned(), ..Wish::default() };
                begin_one(app, caller, source, wish).await?
            }
            begun => begun?,
        };
        Ok(Opened::Flow(Box::new(document), cookies))
    }
}
