//! POST of a screen: takes one step of a flow, and leads to the page that follows from it.
//!
//! 1. the form names a flow, a step, and has the fields of that step;
//! 2. the step is taken as a program takes it, by the same code;
//! 3. what goes on is a redirect to the page of the flow, and a refusal is one as well, with its code:
//!    a page can be loaded again without sending the form once more;
//! 4. what is shown once is the answer itself: recovery codes, and the way back to the client.

use super::{
    ACCOUNT, Screen, account, fields, pages, path_of, preferences::Preferences, shell::Shell,
    stopping, trouble,
};
use crate::{
    domain::Context,
    http::{
        answer::{error::Problem, redirect::see_other},
        app::App,
        extract::{
            context::RequestContext,
            cookies::with_cookie,
            form::{self, Form},
            origin::Origin,
            request_source::{RequestSource, refuse_foreign_pages},
        },
        flows::{
            FlowAnswer, Opened, Taken, look,
            steps::{StepRequest, Steps},
        },
        routes,
    },
};
use axum::{
    Extension,
    extract::{Request, State},
    http::HeaderMap,
    response::{IntoResponse as _, Response},
};
use serde_json::Map;
use std::net::IpAddr;
use url::form_urlencoded;

/// Takes the form of the screen at a path.
pub async fn post(
    screen: Screen,
    State(app): State<App>,
    Extension(steps): Extension<Steps>,
    RequestContext(context): RequestContext,
    Origin(address): Origin,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let headers = &head.headers;
    let source = RequestSource::of(headers, app.cookies);
    let preferences = Preferences::of(&app, headers, &Form::default(), source.locale);
    let read = async {
        refuse_foreign_pages(&app, headers)?;
        let (body, permit) = form::arrived(&head, body, &app).await?;
        Ok::<_, Problem>((Form::parse(&body)?, permit))
    };
    let (form, _permit) = match read.await {
        Ok(read) => read,
        Err(problem) => {
            let shell = Shell::new(&app, &preferences, None);
            return trouble::page(&shell, screen, &problem, headers);
        }
    };
    if let Some(token) = stopping::token(screen, &form) {
        let shell = Shell::new(&app, &preferences, None);
        return stopping::stop(&shell, (context, address), token).await;
    }
    if screen == ACCOUNT && form.get("begin").is_some() {
        let beginning = account::Beginning { app: &app, steps: &steps, context, address };
        return beginning.begin(&form, headers).await.unwrap_or_else(|problem| {
            let shell = Shell::new(&app, &preferences, None);
            trouble::page(&shell, screen, &problem, headers)
        });
    }
    let submitted = Submitted { app: &app, steps: &steps, context, address, form: &form };
    match submitted.take(headers).await {
        Ok(taken) => follow(&app, &preferences, taken).await,
        Err(problem) => refuse(screen, &form, &problem),
    }
}

/// A form that was sent.
struct Submitted<'a> {
    app: &'a App,
    steps: &'a Steps,
    context: Context,
    address: IpAddr,
    form: &'a Form,
}

impl Submitted<'_> {
    /// Takes the step that the form names, and the one that the page has promised after it.
    async fn take(self, headers: &HeaderMap) -> Result<Followed, Problem> {
        let (app, address) = (self.app, self.address);
        let flow = self.form.get("flow").unwrap_or_default().to_owned();
        let opened = Opened::of(app, self.context, flow, headers)?;
        let step = |name: &str| self.steps.find(name).ok_or(Problem::NOT_FOUND);
        let named = step(self.form.get("step").unwrap_or_default())?;
        let request = StepRequest::new(app, &opened, address, fields::body(self.form));
        let answer = match named.take(request).await? {
            Taken::Flow(answer) => *answer,
            // The page shows what the flow holds.
            Taken::Options(_) => {
                let document = look(app, &opened.id, &opened.source).await?;
                FlowAnswer { document, cookies: Vec::new() }
            }
        };
        let way = sent(named.path());
        let offers = |name: &&str| answer.document.steps.iter().any(|step| step.name == *name);
        let Some(then) = self.form.get("then").filter(offers) else {
            return Ok(Followed { answer, way });
        };
        let then = step(then)?;
        match then.take(StepRequest::new(app, &opened, address, Map::new())).await? {
            Taken::Flow(last) => {
                let cookies = answer.cookies.into_iter().chain(last.cookies).collect();
                let answer = FlowAnswer { document: last.document, cookies };
                Ok(Followed { answer, way: sent(then.path()) })
            }
            Taken::Options(_) => Ok(Followed { answer, way }),
        }
    }
}

/// A step that was taken, and by which of several ways the person goes on.
struct Followed {
    answer: FlowAnswer,
    way: Option<&'static str>,
}

/// Returns the way by which a person goes on to whom something was sent.
fn sent(step: &'static str) -> Option<&'static str> {
    step.strip_suffix("/send")
}

/// Leads to what follows from a step that was taken.
async fn follow(app: &App, preferences: &Preferences, taken: Followed) -> Response {
    let Followed { answer: FlowAnswer { document, cookies }, way } = taken;
    let shell = Shell::new(app, preferences, document.ui_locales.as_deref());
    let page = if let Some(page) = pages::shown_once(&shell, &document).await {
        page
    } else if pages::ends_at_account(&document) {
        to(routes::ACCOUNT, &[])
    } else {
        let mut query = vec![("flow", document.id.as_str())];
        query.extend(way.map(|way| ("way", way)));
        to(path_of(&document.kind, document.state), &query)
    };
    cookies.into_iter().fold(page, |page: Response, cookie| with_cookie(page, Some(cookie)))
}

/// Leads back to the page of the form, which says what was wrong.
fn refuse(screen: Screen, form: &Form, problem: &Problem) -> Response {
    // The button of a page that was open for long: the person is asked anew.
    let late = ["flow_expired", "session_over"].contains(&problem.code);
    if late && screen.path == routes::SIGN_OUT {
        return to(routes::SIGN_OUT, &[]);
    }
    let wait = problem.retry_after.map(|wait| wait.seconds().to_string());
    let given = [
        ("flow", form.get("flow")),
        ("step", form.get("step")),
        ("problem", Some(problem.code)),
        ("wait", wait.as_deref()),
    ];
    let given: Vec<(&str, &str)> =
        given.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect();
    to(screen.path, &given)
}

pub fn to(path: &str, query: &[(&str, &str)]) -> Response {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    let query = pairs.extend_pairs(query).finish();
    let address = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
    see_other(&address).unwrap_or_else(|error| error.into_response())
}
