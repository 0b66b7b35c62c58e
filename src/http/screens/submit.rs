//! POST of a screen: takes one step of a flow, and leads to the page that follows from it.
//!
//! 1. the form names a flow, a step, and has the fields of that step;
//! 2. the step is taken as a program takes it, by the same code;
//! 3. what goes on is a redirect to the page of the flow, and a refusal is one as well, with its code:
//!    a page can be loaded again without sending the form once more;
//! 4. what is shown once is the answer itself: recovery codes, and the way back to the client.

use super::{
    Screen, account, brand, fields,
    leading::{path_of, to},
    offer, organization, pages, passkey_signals,
    preferences::Preferences,
    shell::Shell,
    stopping,
    trouble::{self, Caller},
    typed::TypedProfile,
};
use crate::{
    domain::Context,
    http::{
        answer::error::{Problem, RequestFailure},
        app::App,
        extract::{
            body,
            context::RequestContext,
            cookies::with_cookies,
            form::{self, Form},
            origin::Origin,
            request_source::{RequestSource, check_csrf},
        },
        flows::{
            FlowAnswer, OpenedFlow, StepOutcome, look,
            steps::{Step, StepRequest, Steps},
            ticket::LONGEST,
        },
        limits::request_permits::WorkPermit,
        routes,
    },
};
use axum::{
    Extension,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, request::Parts},
    response::Response,
};
use std::net::IpAddr;

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
    let source = RequestSource::of(headers, app.settings.cookies);
    let preferences = Preferences::of(&app, headers, &Form::default(), source.locale);
    let of_request = context.clone();
    let in_trouble = |problem: &Problem| {
        let (follows_mail, request_id) = (false, of_request.request_id());
        let caller = Caller { screen, headers, follows_mail, request_id };
        trouble::page(&Shell::new(&app, preferences, None), problem, &caller)
    };
    let (form, permit) = match read(&app, &head, body).await {
        Ok(read) => read,
        Err(problem) => return in_trouble(&problem),
    };
    if let Some(token) = stopping::token(screen, &form) {
        let shell = Shell::new(&app, preferences, None);
        return stopping::stop(&shell, (context, address), token).await;
    }
    if let Some(section) = account::Section::of_path(screen.path) {
        if form.get("begin").is_some() {
            let beginning =
                account::Beginning { app: &app, steps: &steps, section, context, address };
            let begun = Box::pin(beginning.begin(&form, headers)).await;
            return begun.unwrap_or_else(|problem| in_trouble(&problem));
        }
        if form.get("flow").is_none() {
            // The operation that it calls has a permit of its own.
            drop(permit);
            let shell = Shell::new(&app, preferences, None);
            let visit = account::Visit { section, head: &head, context, address };
            let taken = account::take(&shell, visit, &form).await;
            return taken.unwrap_or_else(|problem| in_trouble(&problem));
        }
    }
    if screen.path == routes::ORGANIZATION && form.get("flow").is_none() {
        let shell = Shell::new(&app, preferences, None);
        let taken = organization::take(&shell, context, &form, headers).await;
        return taken.unwrap_or_else(|problem| in_trouble(&problem));
    }
    let submitted = SubmittedForm { app: &app, steps: &steps, context, address, form: &form };
    match submitted.take(headers).await {
        Ok(taken) => follow(&app, preferences, taken, &form).await,
        Err(refused) => refuse(&app, screen, &form, &refused).await,
    }
}

/// Reads a form of a page of ours.
async fn read(app: &App, head: &Parts, body: Body) -> Result<(Form, WorkPermit), Problem> {
    check_csrf(app, &head.headers)?;
    if !body::is_of_type(&head.headers, "application/x-www-form-urlencoded") {
        return Err(RequestFailure::WrongMedia("the body must be that of a form").into());
    }
    let (body, permit) = form::arrived(head, body, app).await?;
    Ok((Form::parse(&body)?, permit))
}

/// A form that was sent.
struct SubmittedForm<'a> {
    app: &'a App,
    steps: &'a Steps,
    context: Context,
    address: IpAddr,
    form: &'a Form,
}

/// A form that was refused: the step that was, if there is such a step, and why.
struct FormRefusal {
    step: Option<&'static str>,
    problem: Problem,
}

impl SubmittedForm<'_> {
    /// Takes the step that the form names, and the one that the page has promised after it.
    async fn take(self, headers: &HeaderMap) -> Result<TakenStep, FormRefusal> {
        let (app, address) = (self.app, self.address);
        let refused = |step, problem| FormRefusal { step, problem };
        let named = self.steps.find(self.form.get("step").unwrap_or_default());
        let path = named.map(<dyn Step>::path);
        let flow = self.form.get("flow").unwrap_or_default().to_owned();
        let opened = OpenedFlow::of_page(app, self.context, flow, headers);
        let mut opened = opened.map_err(|problem| refused(path, problem))?;
        opened.offers_passkey = offer::is_due(app, headers, self.form);
        let named = named.ok_or_else(|| refused(None, Problem::NOT_FOUND))?;
        let request = StepRequest::new(app, &opened, address, fields::body(self.form));
        let taken = named.take(request).await.map_err(|problem| refused(path, problem))?;
        let (answer, leaves_to) = match taken {
            StepOutcome::Flow(answer) => (*answer, None),
            // The page shows what the flow holds, or leads to another provider.
            StepOutcome::Options(options) => {
                let seen = look(app, &opened.context, &opened.id, &opened.source).await;
                let document = seen.map_err(|problem| refused(path, problem))?;
                let to = options.get("redirect_to").and_then(|to| to.as_str().map(str::to_owned));
                (FlowAnswer { document, cookies: Vec::new() }, to)
            }
        };
        if leaves_to.is_some() {
            return Ok(TakenStep { answer, step: named.path(), leaves_to });
        }
        let then = self.form.get("then").filter(|name| answer.document.offers(name));
        let then = then.and_then(|name| self.steps.find(name));
        let Some(then) = then else {
            return Ok(TakenStep { answer, step: named.path(), leaves_to: None });
        };
        let request = StepRequest::new(app, &opened, address, fields::body(self.form));
        let taken = then.take(request).await;
        match taken.map_err(|problem| refused(Some(then.path()), problem))? {
            StepOutcome::Flow(last) => {
                let cookies = answer.cookies.into_iter().chain(last.cookies).collect();
                let answer = FlowAnswer { document: last.document, cookies };
                Ok(TakenStep { answer, step: then.path(), leaves_to: None })
            }
            StepOutcome::Options(_) => {
                Ok(TakenStep { answer, step: named.path(), leaves_to: None })
            }
        }
    }
}

/// The last step that was taken, and what came of it.
struct TakenStep {
    answer: FlowAnswer,
    step: &'static str,
    /// The address of another provider, to which the person goes.
    leaves_to: Option<String>,
}

/// Returns the way by which a person goes on to whom something was sent.
fn sent(step: &'static str) -> Option<&'static str> {
    step.strip_suffix("/send")
}

/// Leads to what follows from a step that was taken.
async fn follow(app: &App, preferences: Preferences, taken: TakenStep, form: &Form) -> Response {
    let TakenStep { answer: FlowAnswer { document, cookies }, step, leaves_to } = taken;
    let shell = Shell::new(app, preferences, document.ui_locales.as_deref());
    let shell = shell.of_brand(brand::of_page(app, &document).await);
    let signals = passkey_signals::of_flow(app, &document, &Form::default()).await;
    let shell = shell.telling(signals);
    let said_no = form.get("decision") == Some("deny");
    let page = if let Some(to) = leaves_to {
        let named = form.get("connection");
        let name = pages::name_of_connection(&document, named);
        pages::leave_to(&shell, name, &to)
    } else if let Some(page) = pages::shown_once(&shell, &document, said_no) {
        page
    } else if let Some(page) = to_invitation(form).filter(|_| document.kind == "sign_out") {
        page
    } else if let Some(address) = pages::goes_on_at(&document) {
        to(address, &[])
    } else {
        let mut query = vec![("flow", document.id.as_str())];
        query.extend(sent(step).map(|way| ("way", way)));
        to(path_of(&document.kind, document.state), &query)
    };
    let declined = offer::declined(app, step, &document);
    let cookies = cookies.into_iter().chain(declined);
    with_cookies(page, cookies)
}

/// Leads on to the invitation for which a person signs out.
fn to_invitation(form: &Form) -> Option<Response> {
    let flow = form.get("invitation").filter(|id| id.len() <= LONGEST)?;
    Some(to(routes::SIGN_UP, &[("invitation", flow)]))
}

/// Leads back to the page of the form, which says what was wrong.
async fn refuse(app: &App, screen: Screen, form: &Form, refused: &FormRefusal) -> Response {
    let FormRefusal { step, problem } = refused;
    // A session that could not be ended keeps no person from accepting.
    if let Some(page) = to_invitation(form).filter(|_| screen.path == routes::SIGN_OUT) {
        return page;
    }
    // The button of a page that was open for long: the person is asked anew.
    let late = ["flow_expired", "session_over"].contains(&problem.code);
    if late && screen.path == routes::SIGN_OUT {
        return to(routes::SIGN_OUT, &[]);
    }
    let wait = problem.retry_after.map(|wait| wait.seconds().to_string());
    let typed = TypedProfile::of(form).and_then(|typed| typed.seal(app, form.get("flow")?));
    // A program is not told; a browser may let the passkey go that it has just offered in vain.
    let unknown = match (*step, problem.code) {
        (Some("passkey"), "invalid_credentials") => passkey_signals::seal_unknown(app, form).await,
        _ => None,
    };
    let given = [
        // What is no id of ours leads to a new flow.
        ("flow", form.get("flow").filter(|id| id.len() <= LONGEST)),
        ("step", *step),
        ("problem", Some(problem.code)),
        ("wait", wait.as_deref()),
        ("typed", typed.as_deref()),
        ("unknown", unknown.as_deref()),
    ];
    let given: Vec<(&str, &str)> =
        given.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect();
    to(screen.path, &given)
}
