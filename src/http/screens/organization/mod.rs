//! `/organization`: what a member sees and changes of their organization, section by section.
//!
//! No rule is here: each section is an operation of the management API, which the person calls as a
//! member in a session (adr/0082). What the operation answers is drawn, and what it refuses is said.

mod client;
mod connection;
mod domain;
mod forms;
mod said;
mod scim;
mod section_view;

pub use forms::take;

use super::{proving::prove, shell::Shell};
use crate::{
    domain::{Context, organization::is_slug},
    http::{
        answer::error::Problem,
        api::MemberInSession,
        app::App,
        extract::form::Form,
        me::{Caller, is_fresh},
        people::belonging::Belonging,
        routes,
    },
    wording::quotable,
};
use askama::Template;
use axum::{
    http::{HeaderMap, Method, StatusCode},
    response::Response,
};
use section_view::{LoadedSection, SectionRequest, SectionView};
use url::form_urlencoded;

/// A part of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Members,
    Invitations,
    Roles,
    Keys,
    Scim,
    Clients,
    Domains,
    Connections,
    Trail,
    Data,
}

impl Section {
    const ALL: [Self; 10] = [
        Self::Members,
        Self::Invitations,
        Self::Roles,
        Self::Keys,
        Self::Scim,
        Self::Clients,
        Self::Domains,
        Self::Connections,
        Self::Trail,
        Self::Data,
    ];

    /// Its name in an address.
    const fn name(self) -> &'static str {
        match self {
            Self::Members => "members",
            Self::Invitations => "invitations",
            Self::Roles => "roles",
            Self::Keys => "keys",
            Self::Scim => "scim",
            Self::Clients => "clients",
            Self::Domains => "domains",
            Self::Connections => "connections",
            Self::Trail => "trail",
            Self::Data => "data",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.name() == name)
    }

    /// The sentence that it is called by, and its icon.
    const fn label(self) -> (&'static str, &'static str) {
        match self {
            Self::Members => ("org-members", "user"),
            Self::Invitations => ("org-invitations", "mail"),
            Self::Roles => ("org-roles", "shield"),
            Self::Keys => ("org-keys", "key"),
            Self::Scim => ("org-scim", "user"),
            Self::Clients => ("org-clients", "apps"),
            Self::Domains => ("org-domains", "building"),
            Self::Connections => ("org-connections", "shield"),
            Self::Trail => ("org-trail", "list"),
            Self::Data => ("org-data", "file"),
        }
    }

    /// The operation that it shows.
    const fn lists(self) -> &'static str {
        match self {
            Self::Members => "listMembers",
            Self::Invitations => "listInvitations",
            Self::Roles => "listRoles",
            Self::Keys | Self::Scim => "listApiKeys",
            Self::Clients => "listClients",
            Self::Domains => "listDomains",
            Self::Connections => "listConnections",
            Self::Trail => "listAuditTrail",
            Self::Data => "exportOrganization",
        }
    }

    /// The operation whose permission its forms need.
    const fn changes(self) -> Option<&'static str> {
        match self {
            Self::Members => Some("changeMember"),
            Self::Invitations => Some("createInvitation"),
            Self::Roles => Some("putRole"),
            Self::Keys | Self::Scim => Some("createApiKey"),
            Self::Clients => Some("endDelegation"),
            Self::Domains => Some("addDomain"),
            Self::Connections => Some("createConnection"),
            Self::Trail => None,
            Self::Data => Some("deleteOrganization"),
        }
    }
}

/// The parameters by which a page of a section can be asked for again.
const PARAMETERS: [&str; 8] =
    ["organization", "section", "id", "cursor", "email", "event", "since", "until"];

/// Lists the parameters by which the page can be asked for again.
pub fn parameters(query: &Form) -> Vec<(&'static str, String)> {
    let given = |name: &'static str| Some((name, query.get(name)?.to_owned()));
    PARAMETERS.into_iter().filter_map(given).collect()
}

/// Returns the address of a page here.
fn href(pairs: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("{}?{query}", routes::ORGANIZATION)
}

/// An organization as a person is told of it.
struct OrganizationLink {
    name: String,
    href: String,
    enabled: bool,
}

impl OrganizationLink {
    fn of(Belonging { organization, .. }: &Belonging) -> Self {
        let name = quotable(&organization.name);
        Self {
            name: if name.is_empty() { organization.slug.clone() } else { name },
            href: href(&[("organization", &organization.slug)]),
            enabled: organization.enabled,
        }
    }
}

/// Which organization: several, none, or one that is suspended.
#[derive(Template)]
#[template(path = "organization/choice.html")]
struct ChoicePage<'a> {
    page: &'a Shell<'a>,
    title: String,
    text: Option<String>,
    choices: Vec<OrganizationLink>,
}

/// A section in the navigation.
struct Tab {
    label: String,
    icon: &'static str,
    href: String,
    is_current: bool,
}

#[derive(Template)]
#[template(path = "organization/page.html")]
struct OrganizationPage<'a> {
    page: &'a Shell<'a>,
    name: String,
    slug: &'a str,
    /// The name of the section; none where nothing is held.
    section: &'static str,
    title: String,
    /// Whether the person belongs to others as well.
    several: bool,
    tabs: Vec<Tab>,
    /// That what was sent last is done.
    done: Option<String>,
    alert: Option<String>,
    /// Why the person is asked to prove once more who they are.
    proof: Option<String>,
    /// The entry that is shown, which they come back to.
    id: Option<&'a str>,
    /// Whether the forms are there.
    may_change: bool,
    shown: SectionView,
    /// The section without what was asked for in it.
    all: String,
    is_part: bool,
    next: Option<String>,
}

/// Draws the page, if the request comes with a session.
pub async fn draw(
    page: &Shell<'_>,
    context: Context,
    headers: &HeaderMap,
    query: &Form,
) -> Result<Response, Problem> {
    let app = page.app;
    let caller = Caller::of(app, context, &Method::GET, headers).await?;
    if let Some(slug) = query.get("organization").filter(|slug| is_slug(slug))
        && !caller.reaches(Some(slug))
    {
        // The same for one to which they do not belong.
        return prove(app, caller, href(&[("organization", slug)])).await;
    }
    let belongings = caller.belongings(app).await?;
    let belonging = match (query.get("organization"), &*belongings) {
        (Some(slug), all) => all.iter().find(|one| one.organization.slug == slug),
        (None, [only]) => Some(only),
        (None, _) => return Ok(choose(page, &belongings)),
    };
    // The same for one that does not exist.
    let belonging = belonging.ok_or(Problem::NOT_FOUND)?;
    let member = MemberInSession::of(app, caller.context.clone(), &caller.present, belonging);
    let member = match member {
        Err(problem) if problem.code == "organization_suspended" => {
            return Ok(suspended(page, belonging));
        }
        member => member?,
    };
    let held: Vec<Section> =
        Section::ALL.into_iter().filter(|section| member.may(section.lists())).collect();
    let asked = query.get("section").and_then(Section::of_name);
    let slug = &*belonging.organization.slug;
    let known = caller.known(app).await?;
    let fresh = is_fresh(app, &caller, &known);
    let mut drawn = OrganizationPage {
        page,
        name: OrganizationLink::of(belonging).name,
        slug,
        section: "",
        title: page.t("org-title"),
        several: belongings.len() > 1,
        tabs: tabs(page, slug, &held, asked.or(held.first().copied())),
        done: query.get("done").map(|_| page.t("org-done")),
        alert: said::alert(page, query),
        proof: None,
        id: query.get("id"),
        may_change: false,
        shown: SectionView::Nothing,
        all: String::new(),
        is_part: false,
        next: None,
    };
    let Some(section) = asked.or(held.first().copied()) else {
        return Ok(page.respond(StatusCode::OK, &drawn));
    };
    // Of clients one alone has a form.
    let has_forms = section != Section::Clients || query.get("id").is_some();
    let may_write = has_forms && section.changes().is_some_and(|operation| member.may(operation));
    drawn.section = section.name();
    drawn.title = page.t(section.label().0);
    drawn.all = href(&[("organization", slug), ("section", section.name())]);
    drawn.is_part = ["id", "cursor"].iter().any(|name| query.get(name).is_some());
    drawn.may_change = may_write && fresh;
    let asked =
        SectionRequest { page, member: &member, slug, section, query, changes: drawn.may_change };
    if query.get("export").is_some() {
        match section {
            Section::Trail => return asked.export_trail().await,
            Section::Data => return asked.export_organization().await,
            _ => {}
        }
    }
    let status = match asked.load().await {
        Ok(LoadedSection { shown, next }) => {
            (drawn.shown, drawn.next) = (shown, next);
            drawn.proof = (may_write && !fresh).then(|| page.t("org-prove-text"));
            StatusCode::OK
        }
        Err(problem) if problem.code == "insufficient_user_authentication" => {
            drawn.proof = Some(page.t("org-weak-text"));
            drawn.tabs.clear();
            StatusCode::OK
        }
        Err(problem) => {
            drawn.alert = Some(said::problem(page, &problem));
            problem.status
        }
    };
    Ok(page.respond(status, &drawn))
}

/// Tells whether a person finds anything to look after in one of these organizations.
pub fn has_section(app: &App, caller: &Caller, belongings: &[Belonging]) -> bool {
    let held = |belonging: &Belonging| {
        let context = caller.context.clone();
        let member = MemberInSession::of(app, context, &caller.present, belonging);
        member.is_ok_and(|member| Section::ALL.iter().any(|one| member.may(one.lists())))
    };
    belongings.iter().any(held)
}

fn tabs(page: &Shell<'_>, slug: &str, held: &[Section], current: Option<Section>) -> Vec<Tab> {
    let tab = |section: &Section| Tab {
        label: page.t(section.label().0),
        icon: section.label().1,
        href: href(&[("organization", slug), ("section", section.name())]),
        is_current: Some(*section) == current,
    };
    held.iter().map(tab).collect()
}

fn choose(page: &Shell<'_>, belongings: &[Belonging]) -> Response {
    let text = belongings.is_empty().then(|| page.t("organization-none"));
    let choices = belongings.iter().map(OrganizationLink::of).collect();
    let drawn = ChoicePage { page, title: page.t("org-choose"), text, choices };
    page.respond(StatusCode::OK, &drawn)
}

/// Says that an organization is suspended, and offers nothing.
fn suspended(page: &Shell<'_>, belonging: &Belonging) -> Response {
    let text = Some(page.with("org-suspended-text", "host", &page.host()));
    let choices = vec![OrganizationLink::of(belonging)];
    let drawn = ChoicePage { page, title: page.t("suspended-title"), text, choices };
    page.respond(StatusCode::OK, &drawn)
}
