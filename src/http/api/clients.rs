//! `/api/organizations/{organization}/clients`: the clients of the organization.
//!
//! A client that is made here carries its organization, is never trusted and serves its members only
//! (contract section 5). Clients that the operator has provisioned are shown and not changed: they may
//! serve other organizations as well.

use super::{
    admission::IN_PERSON,
    agent::{self, Agent},
    call::{Answer, Call, gone, shown},
    caller::SUSPENDED,
    change::{Change, NOT_HELD},
    page::PageRequest,
};
use crate::{
    crypto::{draw_id_at, draw_text},
    domain::{
        Fingerprint,
        client::{
            Client as Machine, ClientMetadata, Command, DEFAULT_GRANTS, Draft, FieldFault,
            KEPT_AFTER_PERSON, KnownClient, ORGANIZATION_CLIENTS, Refusal, Removal, SecretRotation,
        },
        organization,
    },
    http::{
        answer::error::Problem,
        oauth::register::{check_metadata, draw_secret},
        time::rfc3339,
    },
};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;
use utoipa::ToSchema;

/// A client.
#[derive(Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the names of the standard")]
pub struct Client {
    client_id: String,
    /// Shown in the answer that made it, and never again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_secret: Option<String>,
    /// Until when the secret before is good as well, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    former_secret_until: Option<String>,
    /// The roles that it holds in its own name.
    roles: Vec<String>,
    /// The operator has provisioned it: it is not changed here.
    provisioned: bool,
    /// The operator has suspended it: it gets nothing.
    suspended: bool,
    /// Every ID token tells the claims of its scopes.
    claims_in_id_token: bool,
    /// What it is held to where it acts for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    agent: Option<Agent>,
    /// Client metadata by the standard names (RFC 7591 §2).
    #[serde(flatten)]
    metadata: Map<String, Value>,
}

/// A client that is to be made: client metadata by the standard names (RFC 7591 §2), and its roles.
#[derive(ToSchema)]
#[expect(dead_code, reason = "read member by member: it stands for the document alone")]
pub struct NewClient {
    #[schema(nullable = false)]
    client_name: Option<String>,
    #[schema(nullable = false)]
    redirect_uris: Option<Vec<String>>,
    /// `authorization_code` and `refresh_token`, unless it is said.
    #[schema(nullable = false)]
    grant_types: Option<Vec<String>>,
    #[schema(nullable = false)]
    token_endpoint_auth_method: Option<String>,
    #[schema(nullable = false)]
    scope: Option<String>,
    /// The roles that it is to hold in its own name.
    #[schema(nullable = false)]
    roles: Option<Vec<String>>,
    /// Every ID token is to tell the claims of its scopes, for libraries that read nothing else.
    #[schema(nullable = false)]
    claims_in_id_token: Option<bool>,
    /// What it is held to where it acts for others.
    agent: Option<Agent>,
}

/// What is to change of a client: client metadata by the standard names, and its roles; null removes a
/// member.
#[derive(ToSchema)]
#[expect(dead_code, reason = "read member by member: it stands for the document alone")]
pub struct ClientChange {
    client_name: Option<String>,
    redirect_uris: Option<Vec<String>>,
    scope: Option<String>,
    /// Replaces the roles that it holds in its own name.
    #[schema(nullable = false)]
    roles: Option<Vec<String>>,
    #[schema(nullable = false)]
    claims_in_id_token: Option<bool>,
    /// What it is held to where it acts for others: members that are given replace those held, and only
    /// narrow.
    #[schema(nullable = false)]
    agent: Option<AgentChange>,
}

/// What is to change of what a client is held to; a member that is not given stays.
#[derive(ToSchema)]
#[expect(dead_code, reason = "read member by member: it stands for the document alone")]
pub struct AgentChange {
    #[schema(nullable = false)]
    purpose: Option<String>,
    owner: Option<String>,
    #[schema(nullable = false)]
    expires_at: Option<String>,
    #[schema(nullable = false)]
    limits: Option<Vec<agent::Limit>>,
}

/// How the secret of a client is rotated.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientSecretRotation {
    /// For how many seconds the former secret is good yet, 86400 at most; none unless it is said.
    #[serde(default)]
    #[schema(maximum = 86_400)]
    overlap: u32,
}

const NO_SECRET: Problem =
    Problem::new(StatusCode::CONFLICT, "no_secret", "the client authenticates without a secret");

const OF_OPERATOR: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "client_of_operator",
    "the operator has provisioned this client: it is not changed here",
);

const CLIENT_SUSPENDED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "client_suspended",
    "the operator has suspended this client: it accepts no change",
);

impl Client {
    fn of(call: &Call, known: &KnownClient, client_secret: Option<String>) -> Self {
        let former = known.former_secret(call.app.clock.now());
        Self {
            client_id: known.client_id.clone(),
            client_secret,
            former_secret_until: former.map(|former| rfc3339(former.good_until)),
            roles: known.roles.clone(),
            provisioned: !known.members_only,
            suspended: known.suspended,
            claims_in_id_token: known.claims_in_id_token,
            agent: known.leash.as_ref().map(Agent::of),
            metadata: known.metadata.members(),
        }
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = PageRequest::of(&call, ORGANIZATION_CLIENTS)?;
    let (slug, after) = (&call.caller.organization, asked.after_rank());
    let page =
        call.app.views.clients.page(ORGANIZATION_CLIENTS, slug, after, asked.bound()).await?;
    let last = asked.last(&page);
    let known = page.iter().filter_map(|(_, one)| one.machine.held());
    Ok(asked.answer(known.map(|known| Client::of(&call, known, None)).collect(), last))
}

pub async fn show(call: Call) -> Answer {
    let seen = call.app.views.clients.look_anew(call.param("client_id")).await?;
    let known = seen.machine.held().filter(|known| is_of(known, &call.caller.organization));
    let known = known.ok_or(Problem::NOT_FOUND)?;
    Ok(shown(StatusCode::OK, seen.version, &Client::of(&call, known, None)))
}

pub async fn create(mut call: Call) -> Answer {
    let ClientBody { mut members, roles, claims_in_id_token } = split(call.members())?;
    let leash = agent::take(&mut members, None)?;
    members.entry("grant_types").or_insert(Value::Null);
    name_grants(&mut members);
    let roles = roles.unwrap_or_default();
    let metadata = ClientMetadata::default().patch(&members).map_err(|faults| wrong(&faults))?;
    check_metadata(&call.app, &metadata, &members).await?;
    let mut change = call.begin().await?;
    change.grants_roles(&roles, "#/roles")?;
    let client_id = draw_id_at(&*call.app.dice, call.app.clock.now());
    let secret = metadata.may_use_secret().then(|| draw_secret(&call.app));
    let draft = Draft {
        client_id: client_id.clone(),
        metadata: members,
        secret: secret.as_deref().map(|secret| Fingerprint::of(secret.as_bytes())),
        organization: Some(call.caller.organization.clone()),
        roles: Some(roles),
        members_only: Some(true),
        claims_in_id_token,
        leash,
        ..Draft::default()
    };
    provision(&mut change, draft).await?;
    change.finish().await?;
    answer(&call, StatusCode::CREATED, &client_id, secret).await
}

pub async fn change(mut call: Call) -> Answer {
    let ClientBody { mut members, roles, claims_in_id_token } = split(call.members())?;
    name_grants(&mut members);
    let client_id = call.param("client_id").to_owned();
    let mut change = call.begin().await?;
    let known = own(&call, &mut change, &client_id).await?;
    let leash = agent::take(&mut members, known.leash.as_ref())?;
    let metadata = known.metadata.patch(&members).map_err(|faults| wrong(&faults))?;
    if known.changes_control(&metadata) {
        controls(&call, &change, &known)?;
    }
    check_metadata(&call.app, &metadata, &members).await?;
    if let Some(roles) = &roles {
        let added: Vec<String> =
            roles.iter().filter(|role| !known.roles.contains(role)).cloned().collect();
        change.grants_roles(&added, "#/roles")?;
    }
    // A client that turns to a method with a secret is given one.
    let needs = metadata.may_use_secret() && known.secret.is_none();
    let secret = needs.then(|| draw_secret(&call.app));
    let draft = Draft {
        client_id: client_id.clone(),
        metadata: members,
        secret: secret.as_deref().map(|secret| Fingerprint::of(secret.as_bytes())),
        roles,
        claims_in_id_token,
        leash,
        ..Draft::default()
    };
    provision(&mut change, draft).await?;
    change.finish().await?;
    answer(&call, StatusCode::OK, &client_id, secret).await
}

pub async fn rotate(mut call: Call) -> Answer {
    let ClientSecretRotation { overlap } = call.body()?;
    let client_id = call.param("client_id").to_owned();
    let mut change = call.begin().await?;
    let known = own(&call, &mut change, &client_id).await?;
    controls(&call, &change, &known)?;
    let secret = draw_secret(&call.app);
    let rotation = SecretRotation {
        secret: Fingerprint::of(secret.as_bytes()),
        overlap: Duration::from_secs(overlap.into()),
    };
    let command = Command::RotateSecret(rotation);
    let decided = change.commit.decide::<Machine>(&client_id, &command).await?;
    decided.map_err(|refusal| refused(&refusal))?;
    change.finish().await?;
    answer(&call, StatusCode::OK, &client_id, Some(secret)).await
}

pub async fn delete(call: Call) -> Answer {
    let client_id = call.param("client_id").to_owned();
    let mut change = call.begin().await?;
    own(&call, &mut change, &client_id).await?;
    let removal = Removal {
        by_operator: false,
        seal: Fingerprint::of(draw_text(&*call.app.dice, 32).as_bytes()),
        kept_for: KEPT_AFTER_PERSON.max(call.app.settings.lifetimes.refresh_ceiling),
    };
    let decided = change.commit.decide::<Machine>(&client_id, &Command::Remove(removal)).await?;
    decided.map_err(|refusal| refused(&refusal))?;
    change.finish().await?;
    call.app.views.clients.forget(&client_id);
    Ok(gone())
}

fn is_of(known: &KnownClient, slug: &str) -> bool {
    known.organization.as_deref() == Some(slug)
}

/// Finds a client that may be changed here, at the version that the caller has seen.
async fn own(call: &Call, change: &mut Change, id: &str) -> Result<KnownClient, Problem> {
    let known = change.commit.look::<Machine>(id).await?.held().cloned();
    let known = known.filter(|known| is_of(known, &call.caller.organization));
    let known = known.ok_or(Problem::NOT_FOUND)?;
    if !known.members_only {
        return Err(OF_OPERATOR);
    }
    if known.suspended {
        return Err(CLIENT_SUSPENDED);
    }
    change.expect::<Machine>(call, id).await?;
    Ok(known)
}

/// Refuses a caller who would control the client and does not hold everything that its roles confer
/// (adr/0109).
fn controls(call: &Call, change: &Change, known: &KnownClient) -> Result<(), Problem> {
    if call.caller.is_delegate() {
        return Err(IN_PERSON);
    }
    // Administration looks after an organization; it is not what the organization's clients may do.
    if call.caller.is_administrator() && !known.roles.is_empty() {
        return Err(NOT_HELD);
    }
    change.grants(change.authority.home.confers(&known.roles).iter())
}

async fn provision(change: &mut Change, draft: Draft) -> Result<(), Problem> {
    let id = draft.client_id.clone();
    let home: Option<organization::Known> = Some(change.authority.home.clone());
    let command = Command::Provision { draft: Box::new(draft), home };
    let decided = change.commit.decide::<Machine>(&id, &command).await?;
    decided.map(drop).map_err(|refusal| refused(&refusal))
}

async fn answer(call: &Call, status: StatusCode, id: &str, secret: Option<String>) -> Answer {
    let seen = call.app.views.clients.look_anew(id).await?;
    let known = seen.machine.held().ok_or(Problem::NOT_FOUND)?;
    Ok(shown(status, seen.version, &Client::of(call, known, secret)))
}

/// The members of a body: client metadata, and what is ours.
struct ClientBody {
    members: Map<String, Value>,
    roles: Option<Vec<String>>,
    claims_in_id_token: Option<bool>,
}

/// Takes what is ours out of the members of a body.
fn split(mut members: Map<String, Value>) -> Result<ClientBody, Problem> {
    const MOST: usize = 100;
    let wrong = || Problem::wrong_member("#/roles", "is an array of at most 100 role names");
    let roles = match members.remove("roles") {
        None => None,
        Some(Value::Array(list)) if list.len() <= MOST => {
            let texts = list.into_iter().map(|role| role.as_str().map(str::to_owned));
            Some(texts.collect::<Option<Vec<String>>>().ok_or_else(wrong)?)
        }
        Some(_) => return Err(wrong()),
    };
    let claims_in_id_token = match members.remove("claims_in_id_token") {
        None => None,
        Some(Value::Bool(tells)) => Some(tells),
        Some(_) => return Err(Problem::wrong_member("#/claims_in_id_token", "is true or false")),
    };
    Ok(ClientBody { members, roles, claims_in_id_token })
}

/// Names the grants of a client that are to be the default: the answer says which they are.
fn name_grants(members: &mut Map<String, Value>) {
    if let Some(grants) = members.get_mut("grant_types").filter(|grants| grants.is_null()) {
        *grants = DEFAULT_GRANTS.iter().map(|grant| Value::from(grant.name())).collect();
    }
}

/// Words the first fault of a client's metadata.
fn wrong(faults: &[FieldFault]) -> Problem {
    let Some(fault) = faults.first() else { return Problem::NOT_FOUND };
    // The name is the caller's own; a pointer that is no text of ours is cut.
    let printable = |one: char| one.is_ascii_alphanumeric() || "_#-".contains(one);
    let name: String = fault.field.chars().filter(|one| printable(*one)).take(64).collect();
    Problem::wrong_member(format!("#/{name}"), fault.problem.to_string())
}

fn refused(refusal: &Refusal) -> Problem {
    match refusal {
        Refusal::Metadata(faults) => wrong(faults),
        Refusal::Suspended(_) => SUSPENDED,
        Refusal::NoSecret => NO_SECRET,
        Refusal::Overlap => Problem::wrong_member("#/overlap", refusal.to_string()),
        Refusal::NoSuchRole(_) | Refusal::RolesNowhere => {
            Problem::wrong_member("#/roles", "holds a role that the organization does not have")
        }
        Refusal::SecretMissing | Refusal::SecretUseless | Refusal::PublicMachine => {
            Problem::wrong_member("#/token_endpoint_auth_method", refusal.to_string())
        }
        _ => Problem::NOT_FOUND,
    }
}
