//! Pages of flows: which one is drawn for a document, and what they share.

mod approval;
mod choose_account;
mod client;
mod code;
mod consent;
mod credential;
mod device;
mod enrol;
mod link;
mod linking;
mod organization;
mod other_person;
mod over;
mod profile;
mod refused;
mod report;
mod returning;
mod sign_in;
mod sign_on;
mod sign_out;
mod totp_enrolment;
mod upgrade;
mod verify_email;

use super::{
    leading::{path_of, to},
    shell::Shell,
    typed::TypedProfile,
};
use crate::http::{extract::form::Form, flows::Document, routes};
use axum::response::Response;
pub use client::initials;
pub use consent::scope_words;
pub use over::{codes, leave_to, say, say_so};
pub use returning::ReturningPerson;
pub use sign_out::signed_out;

use client::ClientShown;
use refused::RefusalNotice;

/// What every page of a flow shows.
pub struct FlowPage<'a> {
    pub document: &'a Document,
    pub client: Option<ClientShown>,
    /// What was wrong with the form that was sent last.
    pub refused: Option<RefusalNotice>,
    /// Who signed in here last, as this browser says.
    pub returning: Option<&'a ReturningPerson>,
    /// By which of several ways the person wants to go on.
    way: Option<String>,
    token: Option<String>,
    /// The code of a device that a link brought, as it came.
    user_code: Option<String>,
    /// What was typed into a form that was refused.
    typed: Option<TypedProfile>,
    /// The flow by which the person can sign out first.
    sign_out: Option<&'a str>,
    /// The browser holds other sessions than the one that would end.
    pub holds_others: bool,
}

/// What a page shows beside the document of its flow.
#[derive(Default)]
pub struct Beside {
    /// Who signed in here last, as this browser says.
    pub returning: Option<ReturningPerson>,
    /// The flow by which a person can sign out who is signed in as another than the flow is for.
    pub sign_out: Option<String>,
    /// The browser holds other sessions than the one that would end.
    pub holds_others: bool,
}

impl<'a> FlowPage<'a> {
    fn new(
        page: &Shell<'_>,
        document: &'a Document,
        query: &Form,
        Beside { returning, sign_out, holds_others }: &'a Beside,
    ) -> Self {
        let typed =
            query.get("typed").and_then(|typed| TypedProfile::open(page.app, &document.id, typed));
        let refused = RefusalNotice::of(page, query);
        let way = query.get("way").map(str::to_owned);
        Self {
            document,
            client: document
                .client
                .as_ref()
                .map(|client| ClientShown::of(client, page.locale).with_logo(page.app, client)),
            way: way.or_else(|| refused.as_ref().map(|refused| refused.step.clone())),
            refused,
            returning: returning.as_ref(),
            typed,
            sign_out: sign_out.as_deref(),
            holds_others: *holds_others,
            // Without a flow it is what the flow has begun with.
            token: query.get("token").filter(|_| query.get("flow").is_some()).map(str::to_owned),
            user_code: query.get("user_code").map(str::to_owned),
        }
    }

    /// Where forms are sent to.
    pub fn action(&self) -> &'static str {
        path_of(&self.document.kind, self.document.state)
    }

    pub fn offers(&self, step: &str) -> bool {
        self.document.offers(step)
    }

    /// What was wrong with this step, if it was that one.
    pub fn error(&self, step: &str) -> Option<&str> {
        self.refused.as_ref().filter(|refused| refused.step == step).map(|one| one.text.as_str())
    }

    /// What was wrong, where it belongs to no field of this page.
    pub fn other_error(&self, steps: &[&str]) -> Option<&str> {
        let refused = self.refused.as_ref();
        refused.filter(|refused| !steps.contains(&&*refused.step)).map(|one| one.text.as_str())
    }

    /// The address of this flow's page by another way.
    pub fn by_way(&self, way: &str) -> String {
        format!("{}?flow={}&way={way}", self.action(), self.document.id)
    }

    /// Tells whether nothing was sent that could be asked for.
    fn is_unsent(&self) -> bool {
        let failed = |refused: &RefusalNotice| refused.step.ends_with("/send");
        self.way.is_none() || self.refused.as_ref().is_some_and(failed)
    }

    /// What the person is invited to join.
    pub fn joins(&self) -> Option<&str> {
        self.document.invitation.as_ref().map(|invitation| &*invitation.organization.name)
    }

    /// The address at which what a client asks for goes on in a new flow: as another person, one who makes
    /// an account first, or one who recovers theirs.
    pub fn anew(&self, path: &str) -> String {
        anew(self.document, path)
    }

    /// The address at which another person signs in, and goes on to the client.
    pub fn as_another(&self) -> String {
        format!("{}?from={}&way=identifier", routes::SIGN_IN, self.document.id)
    }

    /// Tells whether the person gets a new way into an account that they could not use, or that another person used.
    pub fn recovers(&self) -> bool {
        recovers(self.document)
    }

    /// The page of ours that the person comes back to.
    pub fn back(&self) -> &str {
        back(self.document)
    }

    /// Tells whether the person proves enough for a request that they have said yes to.
    pub fn approves(&self) -> bool {
        self.document.approval.is_some() && self.document.state != "confirm"
    }

    /// What comes next on the way to a decision.
    pub fn next_of_approval(&self) -> &'static str {
        if self.approves() { "approve-proved-next" } else { "approve-next" }
    }

    /// What they have said yes to, while they prove enough for it.
    pub fn approved(&self, page: &Shell<'_>) -> Option<consent::ConsentRequest> {
        self.approves().then(|| consent::ConsentRequest::of(page, self.document))
    }

    /// Who the person says they are.
    pub fn identifier(&self) -> &str {
        let hint = self.document.login_hint.as_deref();
        self.document.identifier.as_deref().or(hint).unwrap_or_default()
    }
}

/// Lists the parameters by which a page can be asked for again.
pub fn parameters(document: &Document, query: &Form) -> Vec<(&'static str, String)> {
    let flow = [("flow", document.id.clone())];
    // After a refusal it is the way of the step that was refused.
    let refused = query.get("step").filter(|_| query.get("problem").is_some());
    let way = query.get("way").or(refused).map(|way| ("way", way.to_owned()));
    let token = query.get("token").filter(|_| query.get("flow").is_some());
    let code = query.get("user_code").map(|code| ("user_code", code.to_owned()));
    let token = token.map(|token| ("token", token.to_owned()));
    let typed = query.get("typed").map(|typed| ("typed", typed.to_owned()));
    flow.into_iter().chain(way).chain(token).chain(code).chain(typed).collect()
}

/// Draws the page that a flow has come to.
pub async fn draw(
    page: &Shell<'_>,
    document: &Document,
    query: &Form,
    beside: &Beside,
) -> Response {
    let flow = FlowPage::new(page, document, query, beside);
    if approval::is_void(&flow, query) {
        return approval::void(page);
    }
    let enrols = ["new_password", "passkey/create", "totp/options", "skip"];
    if flow.token.is_some() && flow.offers("magic_link") {
        return link::draw(page, &flow);
    }
    // A person who is another than the page thinks says who they are.
    if flow.way.as_deref() == Some("identifier") && flow.offers("identifier") {
        return sign_in::draw(page, &flow);
    }
    if sign_on::is_first(&flow) {
        return sign_on::draw(page, &flow);
    }
    match document.state {
        "identify" if !document.accounts.is_empty() => choose_account::draw(page, &flow),
        "identify" => sign_in::draw(page, &flow),
        "credential" if upgrade::is_offer(&flow) => upgrade::draw(page, &flow),
        "credential" if enrols.into_iter().any(|step| flow.offers(step)) => {
            enrol::draw(page, &flow).await
        }
        // Until it is proved, another address can be said.
        "proof" if flow.way.as_deref() == Some("profile") && flow.offers("profile") => {
            profile::draw(page, &flow)
        }
        "proof" if document.kind == "verify_email" && flow.is_unsent() => {
            verify_email::draw(page, &flow)
        }
        "credential" | "second_factor" | "proof" => credential::draw(page, &flow),
        "profile" => profile::draw(page, &flow),
        "organization" => organization::draw(page, &flow),
        "consent" => consent::draw(page, &flow),
        "confirm" if document.kind == "device" => device::draw(page, &flow),
        "confirm" if document.kind == "approval" => approval::draw(page, &flow),
        "confirm" if document.kind == "link" => linking::draw(page, &flow),
        "confirm" if document.kind == "report" => report::draw(page, &flow),
        "confirm" => sign_out::draw(page, &flow),
        "failed" if is_for_another(document) => other_person::draw(page, &flow),
        _ => over::draw(page, &flow),
    }
}

/// Draws what is shown once, with the answer to a form: recovery codes, and the way back to a client.
pub fn shown_once(page: &Shell<'_>, document: &Document, said_no: bool) -> Option<Response> {
    let result = document.result.as_ref()?;
    if !result.recovery_codes.is_empty() {
        return Some(over::recovery_codes(page, document, result));
    }
    result.redirect_to.as_ref().map(|to| over::move_on(page, document, to, said_no))
}

/// Leads on from a flow that has ended at the callback of a provider: back to the client, or to the page that follows.
pub fn after_callback(page: &Shell<'_>, document: &Document) -> Option<Response> {
    if !document.is_from_callback {
        return None;
    }
    let page = shown_once(page, document, false);
    page.or_else(|| goes_on_at(document).map(|address| to(address, &[])))
}

/// Returns what a connection that the person has chosen is called; the only one, where none was named.
pub fn name_of_connection<'a>(document: &'a Document, chosen: Option<&str>) -> &'a str {
    let mut all = document.connections.iter();
    let found = all.find(|one| chosen.is_none_or(|chosen| one.id == chosen));
    found.map_or("", |one| &one.name)
}

/// Tells whether another person has signed in than the one who is invited.
pub fn is_for_another(document: &Document) -> bool {
    document.is_for_another && document.invitation.is_some()
}

/// Returns the page on which the person goes on: they are signed in, and no client waits.
pub fn goes_on_at(document: &Document) -> Option<&str> {
    let elsewhere = ["sign_out", "device", "approval"].contains(&&*document.kind);
    (document.state == "done" && !elsewhere && !recovers(document)).then(|| back(document))
}

/// Tells whether a flow is a recovery, or goes on as one.
fn recovers(document: &Document) -> bool {
    ["recovery", "report"].contains(&&*document.kind)
}

/// The page on which the flow was begun; the account, where none is known.
pub fn back(document: &Document) -> &str {
    document.back.as_deref().unwrap_or(routes::ACCOUNT)
}

/// Where a person goes on when a flow is over, and no client waits.
fn after(document: &Document) -> String {
    match document.state {
        "done" if recovers(document) => anew(document, routes::SIGN_IN),
        "done" => back(document).to_owned(),
        state => format!("{}?flow={}", path_of(&document.kind, state), document.id),
    }
}

/// The address at which what a client asks for in this flow goes on in a new one, if one does.
fn anew(document: &Document, path: &str) -> String {
    match document.client {
        Some(_) => format!("{path}?from={}", document.id),
        None => path.to_owned(),
    }
}
