//! An organization as a provisioning file says it (adr/0136): what `porteiro apply` takes, without a secret.
//!
//! What a file cannot say stands in comments, or is left out. Each function writes one row, so that an organization
//! of any size is written in parts.

mod toml;

use super::{
    account::{self, AccountStatus},
    client::{AgentLimits, KnownClient, Profile},
    connection, domain_claim, membership,
    organization::{self, Role},
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
pub fn organization(known: &organization::Known) -> String {
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
        whole.push_str(&role(one));
    }
    whole.push_str(&brand(known));
    whole
}

fn role(role: &Role) -> String {
    let mut rows = Rows::of("\n[[organization.role]]");
    rows.text("name", &role.name);
    let permissions = role.permissions.iter().map(super::authority::Permission::as_str);
    rows.line(&format!("permissions = {}", texts(permissions)));
    if role.is_made_by_directory() {
        rows.text("made_by", MADE_BY_DIRECTORY);
    }
    rows.finish()
}

/// What a file says of a role that a directory made.
pub const MADE_BY_DIRECTORY: &str = "scim";

/// What a file says of a client that an organization made.
pub const MADE_BY_ORGANIZATION: &str = "organization";

fn brand(known: &organization::Known) -> String {
    let brand = &known.brand;
    if brand.is_plain() {
        return String::new();
    }
    let mut rows = Rows::of("\n[organization.brand]");
    if let Some(colour) = brand.colour {
        rows.text("colour", &colour.to_string());
    }
    if brand.logo.is_some() {
        rows.comment("logo = \"…\": the picture is not here; name its file");
    }
    if let Some(said) = &brand.text {
        rows.line(&format!("text = {{ en = {}, pt = {} }}", text(&said.en), text(&said.pt)));
    }
    rows.finish()
}

/// Writes a domain; where the file is applied it is pending until it is proved there.
pub fn domain(known: &domain_claim::Known) -> String {
    let mut rows = Rows::of("\n[[organization.domain]]");
    rows.line(&format!("domain = {} # {}", text(known.domain.as_str()), known.state()));
    rows.finish()
}

/// Writes a connection.
pub fn connection(known: &connection::Known) -> String {
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
    if !known.roles.is_empty() {
        let roles = serde_json::to_value(&known.roles).unwrap_or_default();
        rows.pair("roles", &roles);
    }
    rows.finish()
}

/// Writes a client of the organization. One that has a secret is written as a comment: without its secret it could not
/// be what it is, and must not become a public one.
pub fn client(known: &KnownClient) -> String {
    let mut rows = Rows::of("[[client]]");
    rows.text("client_id", &known.client_id);
    if known.secret.is_some() {
        rows.line("client_secret = \"…\"");
    }
    if let Some(slug) = &known.organization {
        rows.text("organization", slug);
    }
    if !known.roles.is_empty() {
        rows.line(&format!("roles = {}", texts(known.roles.iter().map(String::as_str))));
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
    if known.secret.is_none() {
        return format!("\n{}", rows.finish());
    }
    let mut why = Rows::default();
    why.line("");
    why.comment(
        "The secret of this client is not here: give it one, and take the signs of comments away.",
    );
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
/// A person who has left is not told of any more, nor one whose account is about to be deleted.
pub fn member(membership: &membership::Known, account: &account::Known) -> Option<String> {
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
    let roles = texts(membership.roles.iter().map(String::as_str));
    let slug = text(&membership.organization);
    rows.line(&format!("memberships = [{{ organization = {slug}, roles = {roles}{ended} }}]"));
    Some(rows.finish())
}
