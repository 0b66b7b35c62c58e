//! `[[client]]`: its metadata by the standard names, and what an operator says beside it.

use super::{
    agent_limits,
    lines::{Declaration, Lines},
    table::{Reading, Table},
};
use crate::{
    config::{DocumentValue, Section},
    domain::{
        Fingerprint,
        client::{AgentLimits, Bond, ClientMetadata, Draft, Profile, Refusal},
        export::MADE_BY_ORGANIZATION,
        signing_keys::SigningAlgorithm,
    },
};
use serde_json::Value;

const MOST_KEYS: usize = 1_000;
const SHORTEST_SECRET: usize = 32;
const LONGEST_SECRET: usize = 512;

/// The fields that say how we sign for a client.
const SIGNED_BY_US: [&str; 4] = [
    "id_token_signed_response_alg",
    "userinfo_signed_response_alg",
    "introspection_signed_response_alg",
    "authorization_signed_response_alg",
];

/// The lists whose members must each be found again.
const ROLES: &str = "roles";
pub(super) const INTROSPECTS: &str = "introspects";

pub(super) fn read(section: Section, reading: &mut Reading) -> Option<Declaration<Draft>> {
    if section.keys().nth(MOST_KEYS).is_some() {
        reading.complain(section.line(), format!("`client` has more than {MOST_KEYS} keys"));
        return None;
    }
    let mut table = Table::new("client", section, reading);
    table.demand(&["client_id"]);
    let client_id = table.text("client_id");
    if let Some(DocumentValue { value, line }) = &client_id {
        table.reading.once("client", value, *line);
    }
    let texts =
        |list: Vec<DocumentValue<String>>| list.into_iter().map(|text| text.value).collect();
    let enabled = table.flag("enabled");
    let mut draft = Draft {
        secret: secret(&mut table),
        organization: table.text("organization").map(|slug| slug.value),
        roles: table.texts(ROLES).map(texts),
        trusted: table.flag("trusted"),
        members_only: table.made_by(MADE_BY_ORGANIZATION).then_some(true),
        claims_in_id_token: table.flag("claims_in_id_token"),
        require_profile: profile(&mut table),
        introspects: table.texts(INTROSPECTS).map(texts),
        may_act: table.text("may_act").map(|one| one.value),
        leash: agent(&mut table),
        ..Draft::default()
    };
    for name in table.keys().into_iter().filter(|name| ClientMetadata::is_known(name)) {
        if let Some(DocumentValue { value, .. }) = table.json(&name) {
            // TOML has no null: an empty ceiling is how one is lifted.
            let lifted = name == "scope" && value.as_str() == Some("");
            draft.metadata.insert(name, if lifted { Value::Null } else { value });
        }
    }
    if !table.keys().is_empty() {
        // Asked for, though they are not there: what the others may have been meant to be.
        for name in ClientMetadata::known_fields() {
            table.json(name);
        }
    }
    let lines = table.finish();
    draft.client_id = client_id?.value;
    let enabled = enabled.map(|enabled| (draft.client_id.clone(), enabled));
    reading.clients_enabled.extend(enabled);
    Some(Declaration { draft, lines })
}

/// Lists the algorithms by which a draft wants to be signed for; an unknown one is refused elsewhere.
pub(super) fn algorithms(
    draft: &Draft,
) -> impl Iterator<Item = (&'static str, SigningAlgorithm)> + '_ {
    SIGNED_BY_US.into_iter().filter_map(|field| {
        let name = draft.metadata.get(field)?.as_str()?;
        Some((field, SigningAlgorithm::by_name(name)?))
    })
}

/// Reads what an agent is let do.
fn agent(table: &mut Table<'_>) -> Option<AgentLimits> {
    let section = table.table("agent")?;
    agent_limits::read(section, table.reading)
}

/// Reads a secret and keeps its fingerprint alone.
fn secret(table: &mut Table<'_>) -> Option<Fingerprint> {
    const KEY: &str = "client_secret";
    let DocumentValue { value, line } = table.text(KEY)?;
    let wrong = if value.chars().any(char::is_control) {
        "contains a control character".to_owned()
    } else {
        match value.chars().count() {
            ..SHORTEST_SECRET => format!("must have at least {SHORTEST_SECRET} characters"),
            SHORTEST_SECRET..=LONGEST_SECRET => return Some(Fingerprint::of(value.as_bytes())),
            _ => format!("must have at most {LONGEST_SECRET} characters"),
        }
    };
    table.complain_of(KEY, line, &wrong);
    None
}

/// Reads the profile a client is bound to; an empty text binds it to none.
fn profile(table: &mut Table<'_>) -> Option<Bond> {
    const KEY: &str = "require_profile";
    let DocumentValue { value, line } = table.text(KEY)?;
    if value.is_empty() {
        return Some(Bond::Free);
    }
    let profile = Profile::by_name(&value).map(Bond::To);
    if profile.is_none() {
        let names = Profile::NAMES.map(|(name, _)| name).join(", ");
        table.complain_of(KEY, line, &format!("must be one of {names}"));
    }
    profile
}

/// What was refused in words, each with its line.
pub(super) fn said(refusal: &Refusal, lines: &Lines) -> Vec<(usize, String)> {
    let line = match refusal {
        Refusal::Metadata(faults) => {
            let said = faults.iter().map(|fault| (lines.of_field(&fault.field), fault.to_string()));
            return said.collect();
        }
        Refusal::ClientId
        | Refusal::Exists
        | Refusal::NoSuchClient
        | Refusal::Deleted
        | Refusal::ClientSuspended
        | Refusal::OfOperator
        | Refusal::WrongToken => lines.of_field("client_id"),
        Refusal::NoSuchOrganization(_) | Refusal::Suspended(_) | Refusal::OtherOrganization => {
            lines.of_field("organization")
        }
        Refusal::NoSuchRole(role) => lines.of_member(ROLES, role),
        Refusal::TrustedByMembers => lines.of_field("trusted"),
        Refusal::RolesNowhere => lines.of_field(ROLES),
        Refusal::SecretMissing => lines.of_field("token_endpoint_auth_method"),
        Refusal::SecretUseless | Refusal::WrongSecret | Refusal::NoSecret | Refusal::Overlap => {
            lines.of_field("client_secret")
        }
        Refusal::PublicMachine => lines.of_field("grant_types"),
    };
    vec![(line, refusal.to_string())]
}
