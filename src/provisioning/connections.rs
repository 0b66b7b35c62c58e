//! `[[organization.connection]]` and `[[connection]]`: providers by which people sign in, and what is wrong with those there are.

use super::{
    lines::{Declaration, Lines},
    lists::Entries,
    table::{Reading, Table, excerpt},
    warnings::Warning,
};
use crate::{
    actors::HydrateError,
    config::{DocumentValue, Section},
    crypto::{Vault, open_client_secret},
    domain::{
        Machine as _, Secret,
        connection::{self, CONNECTIONS, Connection, Draft, LONGEST_SECRET, Refusal},
        domain_claim::{DOMAINS, DomainClaim, Standing},
        organization::{self, ORGANIZATIONS, Organization},
        upstream::{Issuer, Kind, RoleMapping},
    },
    store::Store,
};

/// The list in which the role of a mapping is found again.
pub(super) const ROLES: &str = "roles";

const SECRET_FILE: &str = "client_secret_file";

/// A connection that a file declares; it is known by its organization and its name.
#[derive(Debug)]
pub struct ConnectionEntry {
    /// The slug.
    pub organization: Option<String>,
    pub name: String,
    /// Without an id and a secret.
    pub draft: Draft,
    pub secret: Option<Secret>,
}

/// Reads the connections of an organization.
pub(super) fn read_of_organization(
    sections: Vec<Section>,
    slug: Option<&str>,
    reading: &mut Reading,
) {
    for section in sections {
        let table = Table::new("organization.connection", section, reading);
        // What is wrong with the organization has been said.
        let entry = entry(table, slug);
        reading.connections.extend(entry.filter(|_| slug.is_some()));
    }
}

/// Reads a connection of no organization.
pub(super) fn read(
    section: Section,
    reading: &mut Reading,
) -> Option<Declaration<ConnectionEntry>> {
    entry(Table::new("connection", section, reading), None)
}

fn entry(mut table: Table<'_>, slug: Option<&str>) -> Option<Declaration<ConnectionEntry>> {
    table.demand(&["name", "kind"]);
    let name = table.text("name");
    let kind = kind(&mut table);
    let issuer = table.text("issuer").map(|issuer| issuer.value);
    let usual = kind.and_then(Kind::usual_issuer).map(str::to_owned);
    let secret = secret(&mut table);
    let sections = table.tables(ROLES);
    let roles = sections.map(|sections| roles(sections, &mut table));
    let draft = Draft {
        id: String::new(),
        organization: slug.map(str::to_owned),
        name: name.as_ref().map(|name| name.value.clone()),
        kind,
        issuer: issuer.or(usual),
        client_id: table.text("client_id").map(|client_id| client_id.value),
        secret: None,
        required: table.flag("required"),
        believe_acr: table.flag("believe_acr"),
        scim_subject: table.flag("scim_subject"),
        company: table.text("company").map(|company| Some(company.value)),
        roles,
    };
    let Some(DocumentValue { value: name, line }) = name else {
        table.finish();
        return None;
    };
    let place = slug.map_or_else(|| name.clone(), |slug| format!("{name} of {slug}"));
    table.reading.once("connection", &place, line);
    let lines = table.finish();
    let organization = slug.map(str::to_owned);
    Some(Declaration { draft: ConnectionEntry { organization, name, draft, secret }, lines })
}

fn kind(table: &mut Table<'_>) -> Option<Kind> {
    let DocumentValue { value, line } = table.text("kind")?;
    let kind = Kind::by_name(&value);
    match (kind, value.as_str()) {
        (Some(_), _) => {}
        (None, "saml") => table.complain_of("kind", line, "`saml` is not in this version yet"),
        (None, _) => table.complain_of("kind", line, "must be one of oidc, github"),
    }
    kind
}

/// Reads the file that is named, as it is now; a line feed at its end is no part of the secret.
fn secret(table: &mut Table<'_>) -> Option<Secret> {
    let named = table.text(SECRET_FILE)?;
    table.named_file(SECRET_FILE, named, LONGEST_SECRET, |bytes| match bytes.trim_ascii_end() {
        [] => Err("is empty".to_owned()),
        text if text.contains(&0) || std::str::from_utf8(text).is_err() => {
            Err("is no text".to_owned())
        }
        text => Ok(Secret::new(text)),
    })
}

fn roles(sections: Vec<Section>, connection: &mut Table<'_>) -> Vec<RoleMapping> {
    let mut roles = Vec::with_capacity(sections.len());
    for section in sections {
        let mut table = Table::new("organization.connection.roles", section, connection.reading);
        table.demand(&["claim", "value", "role"]);
        let (claim, value) = (table.text("claim"), table.text("value"));
        let role = table.text("role");
        table.finish();
        let (Some(claim), Some(value), Some(role)) = (claim, value, role) else { continue };
        connection.note_member(ROLES, &role.value, role.line);
        roles.push(RoleMapping { claim: claim.value, value: value.value, role: role.value });
    }
    roles
}

/// What was refused in words, with its line.
pub(super) fn said(refusal: &Refusal, lines: &Lines) -> (usize, String) {
    (lines.of_field(refusal.field()), refusal.to_string())
}

/// What a plan and `doctor` call a connection.
const CONNECTION: &str = Connection::KIND;

/// How many providers `doctor` asks.
const ASKED: usize = 10;

/// The connections of an installation, as `doctor` sees them.
#[derive(Default)]
pub struct ConnectionSurvey {
    pub warnings: Vec<Warning>,
    /// Some of their providers, which can be asked: the name of the connection and of its organization, and the issuer.
    pub providers: Vec<(String, Issuer)>,
    /// How many more there are.
    pub unasked: usize,
}

impl ConnectionSurvey {
    /// Looks at the connections of all organizations and of none, until there are so many warnings.
    pub async fn read(store: &Store, vault: &Vault, most: usize) -> Result<Self, HydrateError> {
        let mut survey = Self::default();
        survey.look_at(store, vault, None).await?;
        let mut homes = Entries::<Organization>::in_store(store, ORGANIZATIONS, "");
        while let Some((_, home)) = homes.next().await?.filter(|_| survey.warnings.len() < most) {
            // Of one that is suspended none signs in.
            if let Some(home) = home.known().filter(|home| home.enabled) {
                survey.look_at(store, vault, Some(home)).await?;
            }
        }
        survey.warnings.truncate(most);
        Ok(survey)
    }

    /// Looks at the connections of an organization, or of none.
    async fn look_at(
        &mut self,
        store: &Store,
        vault: &Vault,
        home: Option<&organization::Known>,
    ) -> Result<(), HydrateError> {
        let slug = home.map_or("", |home| home.slug.as_str());
        let mut connections = Entries::<Connection>::in_store(store, CONNECTIONS, slug);
        let mut any = false;
        while let Some((_, connection)) = connections.next().await? {
            let Some(known) = connection.known() else { continue };
            any = true;
            let id = named(known);
            match (known.kind, self.providers.len() < ASKED) {
                (Kind::Oidc, true) => self.providers.push((id.clone(), known.issuer.clone())),
                (Kind::Oidc, false) => self.unasked += 1,
                (Kind::GitHub, _) => {}
            }
            if let Err(why) = open_client_secret(vault, known) {
                let text =
                    format!("has a secret that cannot be opened: {why}. Give it another one");
                self.warn(&id, text);
            }
            if let Err(why) = known.check_company() {
                self.warn(&id, format!("signs in no person as it is: {why}"));
            }
            let roles = known.roles.iter().map(|mapping| &mapping.role);
            for role in roles.filter(|role| home.is_some_and(|home| !home.has_role(role))) {
                let text = format!(
                    "maps to the role `{}`, which `{slug}` has not: make the role, or take the \
                     mapping away",
                    excerpt(role)
                );
                self.warn(&id, text);
            }
        }
        if let Some(home) = home.filter(|_| any)
            && !has_verified_domain(store, &home.slug).await?
        {
            let text =
                "has single sign-on and no verified domain: new people do not appear by themselves";
            let (kind, id) = (Organization::KIND, home.slug.clone());
            self.warnings.push(Warning { kind, id, text: text.to_owned() });
        }
        Ok(())
    }

    fn warn(&mut self, id: &str, text: String) {
        self.warnings.push(Warning { kind: CONNECTION, id: id.to_owned(), text });
    }
}

/// What people know a connection by: several organizations may call theirs the same.
fn named(known: &connection::Known) -> String {
    let name = excerpt(&known.name);
    match &known.organization {
        Some(slug) => format!("{name} of {slug}"),
        None => name,
    }
}

async fn has_verified_domain(store: &Store, slug: &str) -> Result<bool, HydrateError> {
    let mut claims = Entries::<DomainClaim>::in_store(store, DOMAINS, slug);
    while let Some((_, claim)) = claims.next().await? {
        let standing = claim.known().map(|known| &known.standing);
        if matches!(standing, Some(Standing::Verified(_))) {
            return Ok(true);
        }
    }
    Ok(false)
}
