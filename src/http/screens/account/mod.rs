//! `/account`: what a person sees and changes of their own, on a few pages with one navigation.
//!
//! No rule is here: what is shown and what is done are the operations under `/me`, called for the browser
//! that asks ([`ask`], adr/0086). Without a session each page is a sign-in. With `?flow=ID` it draws that
//! flow, as every screen does: credentials are added on these paths.
//!
//! | file | holds |
//! |---|---|
//! | [`section`] | the pages and their paths |
//! | [`acts`] | what can be done: one row for each form |
//! | [`ask`] | how an operation is called |
//! | [`section_view`] | what a page shows |
//! | [`doing`] | the page that comes before an act |
//! | [`forms`] | what follows from a form |
//! | [`fields`], [`form_values`], [`form_notice`] | fields, what was typed, and what was wrong with it |
//! | [`beginning`] | forms that begin a flow |
//! | [`device`] | what devices are called |

mod acts;
mod ask;
mod beginning;
mod device;
mod doing;
mod fields;
mod form_notice;
mod form_values;
mod forms;
mod section;
mod section_view;

pub use beginning::Beginning;
pub use forms::take;
pub use section::Section;

use super::{organization, passkey_signals, proving::prove, shell::Shell};
use crate::{
    domain::Context,
    http::{
        answer::error::Problem,
        extract::{cookies::with_cookies, form::Form},
        flows::{FlowAnswer, Wish, begin_one},
        me::Caller,
        routes,
    },
    wording::quotable,
};
use acts::Act;
use ask::{OperationRequest, Operations};
use askama::Template;
use axum::{
    http::{Method, StatusCode, request::Parts},
    response::Response,
};
use form_notice::FormNotice;
use form_values::FormValues;
use section_view::{AccountSectionRequest, Person, SectionView};
use std::net::IpAddr;
use url::form_urlencoded;

/// A request for a page here, or a form of one.
pub struct Visit<'a> {
    pub section: Section,
    pub head: &'a Parts,
    pub context: Context,
    pub address: IpAddr,
}

/// A section in the navigation.
struct Tab {
    label: String,
    icon: &'static str,
    href: &'static str,
    is_current: bool,
}

#[derive(Template)]
#[template(path = "account/page.html")]
struct AccountPage<'a> {
    page: &'a Shell<'a>,
    title: String,
    /// What the person is called; their address where they have said nothing.
    name: String,
    person: &'a Person,
    tabs: Vec<Tab>,
    /// That what was sent last is done.
    done: bool,
    /// What was wrong, where it belongs to no field.
    alert: Option<&'a str>,
    shown: SectionView,
    /// The flow by which the button signs out; a link leads to one where none could begin.
    sign_out: Option<String>,
    /// What the page tells the password manager of its browser, as JSON.
    signals: Option<String>,
}

/// Lists the parameters by which a page can be asked for again.
pub fn parameters(query: &Form) -> Vec<(&'static str, String)> {
    let names = ["do", "id", "cursor", "typed"].into_iter();
    names.filter_map(|name| Some((name, query.get(name)?.to_owned()))).collect()
}

/// Returns the address of a page here.
fn address(section: Section, pairs: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    if query.is_empty() { section.path().to_owned() } else { format!("{}?{query}", section.path()) }
}

/// A way back that is longer goes without what was typed: it travels in the id of a flow.
const LONGEST_BACK: usize = 4_000;

/// Returns the address that a flow comes back to.
fn way_back(section: Section, pairs: &[(&str, &str)]) -> String {
    let untyped: Vec<_> = pairs.iter().copied().filter(|(name, _)| *name != "typed").collect();
    let ways = [address(section, pairs), address(section, &untyped)];
    let fitting = ways.into_iter().find(|way| way.len() <= LONGEST_BACK);
    fitting.unwrap_or_else(|| section.path().to_owned())
}

/// Draws a page, if the request comes with a session.
pub async fn draw(page: &Shell<'_>, visit: Visit<'_>, query: &Form) -> Result<Response, Problem> {
    let (app, section) = (page.app, visit.section);
    let caller = Caller::of(app, visit.context, &Method::GET, &visit.head.headers).await?;
    let operations = Operations { app, head: visit.head };
    if section == Section::Data && query.get("export").is_some() {
        return export(page, &operations, caller).await;
    }
    let known = caller.known(app).await?;
    let person: Person = operations.read(routes::ME, String::new()).await?;
    let asked = query.get("do").and_then(|name| Act::find(section, name));
    let form = asked.or_else(|| Act::find(section, "describe"));
    let typed = query.get("typed");
    let kept = form.and_then(|act| FormValues::open(app, &known.id, act, typed?));
    let said = FormNotice::of(page, form, query);
    let (kept, said) = (kept.as_ref(), said.as_ref());
    let asking = AccountSectionRequest { page, operations, person: &person, query, kept, said };
    if let Some(act) = asked.filter(|act| act.question.is_some()) {
        return doing::draw(&asking, act, (caller, &known)).await;
    }
    let shown = asking.load(section).await?;
    let belongings = caller.belongings(app).await?;
    let mut tabs: Vec<Tab> = Section::ALL.into_iter().map(|one| tab(page, one, section)).collect();
    if organization::has_section(app, &caller, &belongings) {
        let (label, href) = (page.t("manage-organization"), routes::ORGANIZATION);
        tabs.push(Tab { label, icon: "pen", href, is_current: false });
    }
    let name = Some(quotable(&known.profile.full_name())).filter(|name| !name.is_empty());
    let (sign_out, cookies) = match section {
        Section::Profile => Box::pin(leaving(page, caller, visit.address)).await,
        _ => (None, Vec::new()),
    };
    // Where passkeys come and go, and where the person says what they are called.
    let tells = matches!(section, Section::Profile | Section::Security);
    let signals = passkey_signals::of_account(app, &known).filter(|_| tells);
    let drawn = AccountPage {
        page,
        title: page.t(if section == Section::Profile {
            "account-title"
        } else {
            section.label().0
        }),
        name: name.unwrap_or_else(|| known.email.clone()),
        person: &person,
        tabs,
        done: query.get("done").is_some() && said.is_none(),
        alert: said.filter(|said| said.field.is_none()).map(|said| &*said.text),
        shown,
        sign_out,
        signals,
    };
    Ok(with_cookies(page.respond(StatusCode::OK, &drawn), cookies))
}

fn tab(page: &Shell<'_>, section: Section, current: Section) -> Tab {
    let (label, icon) = section.label();
    Tab { label: page.t(label), icon, href: section.path(), is_current: section == current }
}

/// Begins the flow by which a button signs out; the page is worth as much without it.
async fn leaving(
    page: &Shell<'_>,
    caller: Caller,
    address: IpAddr,
) -> (Option<String>, Vec<axum::http::HeaderValue>) {
    let wish = Wish { kind: "sign_out".to_owned(), ..Wish::default() };
    let source = caller.source.of_page();
    match begin_one(page.app, (caller.context, address), source, wish).await {
        Ok(FlowAnswer { document, cookies }) => (Some(document.id), cookies),
        Err(_) => (None, Vec::new()),
    }
}

/// Hands over everything that is held of the person, after a fresh proof.
async fn export(
    page: &Shell<'_>,
    operations: &Operations<'_>,
    caller: Caller,
) -> Result<Response, Problem> {
    let answer =
        operations.send((Method::GET, routes::MY_EXPORT), OperationRequest::default()).await;
    match answer.status() {
        StatusCode::FORBIDDEN => prove(page.app, caller, address(Section::Data, &[])).await,
        status if status.is_success() => Ok(answer),
        _ => Err(Problem::UNAVAILABLE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_back_is_never_long() {
        let section = Section::Profile;
        let pairs = [("do", "new_email"), ("typed", "abc")];
        assert_eq!(way_back(section, &pairs), "/account?do=new_email&typed=abc");
        let long = "a".repeat(LONGEST_BACK);
        let typed = [("do", "new_email"), ("typed", &*long)];
        assert_eq!(way_back(section, &typed), "/account?do=new_email");
        assert_eq!(way_back(section, &[("id", &long)]), "/account");
    }
}
