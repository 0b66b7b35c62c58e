//! An organization as a provisioning file says it (adr/0136, adr/0152): what `porteiro apply` takes, without a secret.
//!
//! What a file cannot say stands in comments, or is left out: the file can be applied where there is nothing yet, and
//! makes no member or client more than it was. Each function writes one row, so that an organization of any size is written in
//! parts.

mod toml;

use super::{
    DomainName,
    account::{self, AccountStatus},
    authority::{Permission, Scopes, is_own_scope},
    client::{AgentLimits, KnownClient, Profile},
    connection, domain_claim, membership,
    organization::{self, Role},
    picture::Picture,
    reserved_names::ReservedNames,
    upstream::RoleMapping,
};
use toml::{Rows, text, texts};

/// What an organization sees of its members: not where they live, nor their telephone numbers.
pub const SEEN_BY_ORGANIZATIONS: [&str; 8] = [
    "name",
    "given_name",
    "family_name",
    "middle_name",
    "nickname",
    "preferred_username",
    "picture",
    "locale",
];

/// Writes the organization itself, with its roles and its brand.
///
/// `names` are those that are Porteiro's own in this installation.
pub fn organization(
    known: &organization::Known,
    logo: Option<&Picture>,
    names: &ReservedNames,
) -> String {
    let mut rows = Rows::default();
    rows.comment(
        "An organization, as `porteiro apply` takes it. No secret and no credential is in it.",
    );
    rows.comment("Left out: API keys, webhooks, invitations, what a directory says of its users, and the APIs");
    rows.comment("of the installation, which must be there where a client names their scopes.");
    rows.line("");
    rows.line("[[organization]]");
    rows.text("slug", &known.slug);
    rows.text("name", &known.name);
    if !known.enabled {
        rows.line("enabled = false");
    }
    if !known.required_acr.is_least() {
        rows.text("required_acr", known.required_acr.name());
    }
    rows.flag("impersonation", known.impersonation);
    let mut whole = rows.finish();
    for one in &known.roles {
        whole.push_str(&role(one, names));
    }
    whole.push_str(&brand(known, logo));
    whole
}

fn role(role: &Role, names: &ReservedNames) -> String {
    let mut rows = Rows::of("\n[[organization.role]]");
    rows.text("name", &role.name);
    // Under a name that is Porteiro's own elsewhere they would open what they do not open here.
    let is_of_installation = |one: &&Permission| {
        !one.may_stand_in_a_role() || (one.is_reserved() && !names.reserve(one))
    };
    let (left_out, written): (Vec<_>, Vec<_>) =
        role.permissions.iter().partition(is_of_installation);
    if !left_out.is_empty() {
        let left_out = texts(left_out.into_iter().map(Permission::as_str));
        rows.comment(&format!("left out, as belonging to the installation: {left_out}"));
    }
    let written = texts(written.into_iter().map(Permission::as_str));
    rows.line(&format!("permissions = {written}"));
    if role.is_made_by_directory() {
        rows.text("made_by", MADE_BY_DIRECTORY);
    }
    rows.finish()
}

/// What a file says of a role that a directory made.
pub const MADE_BY_DIRECTORY: &str = "scim";

/// What a file says of a client that an organization made.
pub const MADE_BY_ORGANIZATION: &str = "organization";

fn brand(known: &organization::Known, logo: Option<&Picture>) -> String {
    let brand = &known.brand;
    if brand.is_plain() {
        return String::new();
    }
    let mut rows = Rows::of("\n[organization.brand]");
    if let Some(colour) = brand.colour {
        rows.text("colour", &colour.to_string());
    }
    if let Some(facts) = &brand.logo {
        match logo.filter(|picture| picture.facts == *facts) {
            Some(picture) => rows.text("logo", &picture.data_url()),
            // It has changed since the organization was read.
            None => rows.comment("logo = \"…\": the picture is not here; name its file"),
        }
    }
    if let Some(said) = &brand.text {
        rows.line(&format!("text = {{ en = {}, pt = {} }}", text(&said.en), text(&said.pt)));
    }
    rows.finish()
}

/// Writes a domain; where the file is applied it is pending until it is proved there.
pub fn domain(known: &domain_claim::Known) -> String {
    let domain = known.domain.as_str();
    if let Err(why) = DomainName::parse(domain) {
        // It was none when it was added.
        let mut rows = Rows::of("");
        rows.comment(&format!("domain = {}: {why}", text(domain)));
        return rows.finish();
    }
    let mut rows = Rows::of("\n[[organization.domain]]");
    rows.line(&format!("domain = {} # {}", text(domain), known.state()));
    rows.finish()
}

/// Writes a connection of the organization; of its mappings those to roles that are there.
pub fn connection(known: &connection::Known, home: &organization::Known) -> String {
    let mut rows = Rows::of("\n[[organization.connection]]");
    rows.text("name", &known.name);
    rows.text("kind", known.kind.name());
    rows.text("issuer", known.issuer.as_str());
    rows.text("client_id", &known.client_id);
    if known.secret.is_some() {
        rows.comment("client_secret_file = \"…\": the secret is not here; name a file that has it");
    }
    rows.flag("required", known.required);
    rows.flag("believe_acr", known.believe_acr);
    rows.flag("scim_subject", known.scim_subject);
    if let Some(company) = &known.company {
        rows.text("company", company);
    }
    let mappings = known.roles.iter().filter(|mapping| home.has_role(&mapping.role));
    let mappings: Vec<&RoleMapping> = mappings.collect();
    if !mappings.is_empty() {
        rows.pair("roles", &serde_json::to_value(&mappings).unwrap_or_default());
    }
    rows.finish()
}

/// Says why a client cannot stand in the file as it is, if it cannot.
fn why_commented_out(known: &KnownClient, names: &ReservedNames) -> Option<&'static str> {
    if known.secret.is_some() {
        // Without it the client could not be what it is, and must not become a public one.
        return Some(
            "The secret of this client is not here: give it one, and take the signs of comments away.",
        );
    }
    let metadata = &known.metadata;
    // What cannot be read as scopes was never taken.
    let scopes = metadata.scope.as_deref().and_then(|text| Scopes::parse(text).ok());
    let is_ours = |scope: &str| {
        let name = scope.split(':').next().unwrap_or_default();
        is_own_scope(scope) && names.is_open(name)
    };
    let names_apis = scopes.unwrap_or_default().of_apis().any(|scope| !is_ours(scope))
        || !metadata.authorization_details_types.is_empty()
        || !known.introspects.is_empty();
    // With less than that it would be another client, and with no scope at all it would be more.
    names_apis.then_some(
        "This client names APIs of the installation: declare them, and take the signs of comments away.",
    )
}

/// Writes a client of the organization. One that cannot be made where there is nothing yet is written as a comment.
pub fn client(known: &KnownClient, home: &organization::Known, names: &ReservedNames) -> String {
    let mut rows = Rows::of("[[client]]");
    rows.text("client_id", &known.client_id);
    if known.secret.is_some() {
        rows.line("client_secret = \"…\"");
    }
    if let Some(slug) = &known.organization {
        rows.text("organization", slug);
    }
    let roles = known.roles.iter().map(String::as_str);
    let roles: Vec<&str> = roles.filter(|role| home.has_role(role)).collect();
    if !roles.is_empty() {
        rows.line(&format!("roles = {}", texts(roles)));
    }
    if known.members_only {
        rows.text("made_by", MADE_BY_ORGANIZATION);
    }
    if known.suspended {
        rows.line("enabled = false");
    }
    rows.flag("trusted", known.trusted);
    rows.flag("claims_in_id_token", known.claims_in_id_token);
    if let Some(profile) = known.require_profile {
        let named = Profile::NAMES.into_iter().find(|(_, one)| *one == profile);
        rows.text("require_profile", named.map_or("", |(name, _)| name));
    }
    if !known.introspects.is_empty() {
        rows.line(&format!(
            "introspects = {}",
            texts(known.introspects.iter().map(String::as_str))
        ));
    }
    if let Some(may_act) = &known.may_act {
        rows.text("may_act", may_act);
    }
    for (name, value) in known.metadata.members() {
        rows.pair(&name, &value);
    }
    if let Some(limits) = &known.leash {
        agent(&mut rows, limits);
    }
    let Some(said) = why_commented_out(known, names) else { return format!("\n{}", rows.finish()) };
    let mut why = Rows::of("");
    why.comment(said);
    why.finish() + &rows.commented_out()
}

fn agent(rows: &mut Rows, limits: &AgentLimits) {
    rows.line("[client.agent]");
    rows.text("purpose", &limits.purpose);
    if let Some(owner) = &limits.owner {
        rows.text("owner", owner);
    }
    if let Some(end) = limits.expires_at {
        rows.text("expires_at", &end.rfc3339());
    }
    for limit in &limits.limits {
        rows.line("[[client.agent.limit]]");
        rows.text("type", &limit.kind);
        rows.text("member", &limit.member);
        rows.text("per_day", &limit.per_day.to_string());
        if let Some(unit) = &limit.unit {
            rows.text("unit", &unit.member);
            rows.text("of", &unit.is);
        }
    }
}

/// Writes the account of a member, as the organization may see it, with this membership alone.
///
/// A person who has left is not told of any more, nor one whose account is about to be deleted. Roles that are gone
/// confer nothing, and those that single sign-on has mapped are mapped again when the person signs in: neither is
/// written.
pub fn member(
    membership: &membership::Known,
    account: &account::Known,
    home: &organization::Known,
) -> Option<String> {
    let is_deleting = matches!(account.standing(), AccountStatus::Deleting { .. });
    if membership.left || is_deleting {
        return None;
    }
    let mut rows = Rows::of("\n[[account]]");
    rows.text("email", &account.email);
    rows.flag("email_verified", account.email_verified);
    if account.is_suspended() {
        rows.line("enabled = false");
    }
    if membership.enabled {
        for (name, value) in account.tell(&SEEN_BY_ORGANIZATIONS) {
            rows.pair(&name, &value);
        }
    }
    let ended = if membership.enabled { "" } else { ", enabled = false" };
    let roles = membership.roles_besides_mapped();
    let roles = texts(roles.iter().map(String::as_str).filter(|role| home.has_role(role)));
    let slug = text(&membership.organization);
    rows.line(&format!("memberships = [{{ organization = {slug}, roles = {roles}{ended} }}]"));
    Some(rows.finish())
}

#[cfg(test)]
mod tests;
