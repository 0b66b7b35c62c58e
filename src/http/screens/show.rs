//! GET of a screen: opens the flow that is named, or begins one, and draws it.

use super::{
    Screen, account, brand, initiated, organization,
    pages::{self, Beside, ReturningPerson},
    passkey_signals,
    preferences::Preferences,
    shell::Shell,
    stopping,
    trouble::{self, Caller},
};
use crate::{
    domain::Context,
    http::{
        answer::error::Problem,
        app::App,
        extract::{
            context::RequestContext, cookies::with_cookies, form::Form, origin::Origin,
            request_source::RequestSource,
        },
        flows::{Document, FlowAnswer, Wish, begin_one, callback_result, look},
        people::session::{self, Lookup},
        routes,
    },
};
use axum::{
    extract::{RawQuery, State},
    http::{HeaderValue, request::Parts},
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
    head: Parts,
) -> Response {
    let headers = &head.headers;
    // A page that is opened belongs to a browser, whatever it says of itself.
    let source = RequestSource::of(headers, app.settings.cookies).of_page();
    let query = Form::parse_noting(query.unwrap_or_default().as_bytes());
    let query = query.unwrap_or_default();
    let preferences = Preferences::of(&app, headers, &query, source.locale);
    if let Some(token) = stopping::token(screen, &query) {
        let shell = Shell::new(&app, preferences, None).at(vec![("stop", token.to_owned())]);
        return stopping::ask(&shell, token, &query);
    }
    let request_id = context.request_id();
    let in_trouble = |shell: &Shell<'_>, problem: &Problem| {
        let follows_mail = query.get("token").is_some();
        let caller = Caller { screen, headers, follows_mail, request_id };
        trouble::page(shell, problem, &caller)
    };
    if initiated::is_one(screen, &query) {
        let caller = initiated::Caller { context: context.clone(), address, head: &head };
        let begun = Box::pin(initiated::begin(&app, caller, &query, preferences)).await;
        return begun.unwrap_or_else(|problem| {
            in_trouble(&Shell::new(&app, preferences, None).at(Vec::new()), &problem)
        });
    }
    let section = account::Section::of_path(screen.path);
    // Each of the operations that it calls has a permit of its own.
    if let Some(section) = section.filter(|_| query.get("flow").is_none()) {
        let shell = Shell::new(&app, preferences, None).at(account::parameters(&query));
        let visit = account::Visit { section, head: &head, context: context.clone(), address };
        match Box::pin(account::draw(&shell, visit, &query)).await {
            Ok(page) => return page,
            // The page is a sign-in then.
            Err(problem) if problem.code == "session_required" => {}
            Err(problem) => return in_trouble(&shell, &problem),
        }
    }
    let permit = app.limits.request_permits.work(address).map_err(Problem::from);
    let opened = match permit {
        Err(full) => Err(full),
        Ok(_permit) => {
            if screen.path == routes::ORGANIZATION && query.get("flow").is_none() {
                let parameters = organization::parameters(&query);
                let shell = Shell::new(&app, preferences, None).at(parameters);
                let drawn = organization::draw(&shell, context.clone(), headers, &query);
                match Box::pin(drawn).await {
                    Ok(page) => return page,
                    Err(problem) if problem.code == "session_required" => {}
                    Err(problem) => return in_trouble(&shell, &problem),
                }
            }
            let asked = ScreenRequest { screen, query: &query };
            Box::pin(asked.open(&app, (context.clone(), address), source)).await
        }
    };
    match opened {
        Ok(ScreenContent::SignedOut) => {
            let shell = Shell::new(&app, preferences, None).at(Vec::new());
            pages::signed_out(&shell)
        }
        Ok(ScreenContent::Flow { document, mut cookies, beside }) => {
            let shell = Shell::new(&app, preferences, document.ui_locales.as_deref());
            let shell = shell.at(pages::parameters(&document, &query)).telling_sign_up().await;
            let shell = shell.of_brand(brand::of_page(&app, &document).await);
            let shell = shell.telling(passkey_signals::of_flow(&app, &document, &query).await);
            let page = match pages::after_callback(&shell, &document) {
                Some(page) => {
                    cookies.push(callback_result::forget(&app));
                    page
                }
                None => pages::draw(&shell, &document, &query, &beside).await,
            };
            with_cookies(page, cookies)
        }
        Err(problem) => {
            let shell = Shell::new(&app, preferences, None).at(Vec::new());
            in_trouble(&shell, &problem)
        }
    }
}

/// A browser's request for a screen.
struct ScreenRequest<'a> {
    screen: Screen,
    query: &'a Form,
}

/// What is drawn.
enum ScreenContent {
    Flow {
        document: Box<Document>,
        cookies: Vec<HeaderValue>,
        beside: Beside,
    },
    /// There is nothing to sign out of.
    SignedOut,
}

impl ScreenRequest<'_> {
    async fn open(
        self,
        app: &App,
        caller: (Context, IpAddr),
        source: RequestSource,
    ) -> Result<ScreenContent, Problem> {
        let nothing_to_end = self.screen.begins == "sign_out" && self.query.get("flow").is_none();
        let opened = Box::pin(self.flow(app, caller.clone(), source.clone())).await;
        let FlowAnswer { document, mut cookies } = match opened {
            Err(problem) if nothing_to_end && problem.code == "session_required" => {
                return Ok(ScreenContent::SignedOut);
            }
            opened => opened?,
        };
        // A person who leaves another flow to sign in again is another than the one whom it knows.
        let returning = match self.query.get("from") {
            Some(_) => None,
            None => ReturningPerson::of(app, &source, &document).await,
        };
        let ends = document.kind == "sign_out" && document.offers("confirm");
        let holds_others =
            ends && session::held(app, &caller.0, &source, Lookup::Recent).await?.len() > 1;
        let mut sign_out = None;
        if pages::is_for_another(&document) && session::is_open(app, &source).await {
            let wish = Wish { kind: "sign_out".to_owned(), ..Wish::default() };
            // The page is worth as much without it.
            if let Ok(leaving) = begin_one(app, caller, source, wish).await {
                cookies.extend(leaving.cookies);
                sign_out = Some(leaving.document.id);
            }
        }
        let beside = Beside { returning, sign_out, holds_others };
        Ok(ScreenContent::Flow { document: Box::new(document), cookies, beside })
    }

    async fn flow(
        &self,
        app: &App,
        caller: (Context, IpAddr),
        source: RequestSource,
    ) -> Result<FlowAnswer, Problem> {
        if let Some(id) = self.query.get("flow") {
            let document = look(app, &caller.0, id, &source).await?;
            return Ok(FlowAnswer { document, cookies: Vec::new() });
        }
        let given = |name: &str| self.query.get(name).map(str::to_owned);
        let (token, invitation) = (given("token"), given("invitation"));
        // The mail of an invitation leads to the screen on which accounts are made.
        let invited = token.is_some() || invitation.is_some();
        let invited = self.screen.begins == "sign_up" && invited;
        let kind = match self.screen.begins {
            _ if invited => "invitation",
            // Without the link of an alert there is nothing to report, and a recovery to begin.
            "report" if token.is_none() => "recovery",
            begins => begins,
        };
        // In a session a code would be entered at once, and a wrong one counted: the page that asks for
        // it has it filled in instead. No link enters anything.
        let code = self.query.get("user_code");
        let user_code = match code {
            Some(code) if !session::is_open(app, &source).await => Some(code.to_owned()),
            _ => None,
        };
        let flow = invitation.filter(|_| invited).or_else(|| given("from"));
        let select_account = self.query.get("prompt") == Some("select_account");
        let wish = Wish {
            kind: kind.to_owned(),
            token,
            user_code,
            approval: given("approval"),
            flow,
            select_account,
            organization: given("organization"),
            ..Wish::default()
        };
        match begin_one(app, caller.clone(), source.clone(), wish).await {
            // What a person does in a session begins with a sign-in; there is nothing to sign out of.
            Err(problem) if problem.code == "session_required" && kind != "sign_out" => {
                let wish = Wish { kind: "sign_in".to_owned(), ..Wish::default() };
                begin_one(app, caller, source, wish).await
            }
            begun => begun,
        }
    }
}
