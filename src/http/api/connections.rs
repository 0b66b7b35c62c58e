//! `/api/organizations/{organization}/connections`: the providers by which members sign in (adr/0135).

use super::{
    admission::PERSON_REQUIRED,
    call::{Answer, Call, gone, shown},
    caller::SUSPENDED,
    change::{Change as Changing, NOT_HELD},
    page::PageRequest,
};
use crate::{
    actors::Bound,
    crypto::{draw_uuid, seal_client_secret},
    domain::{
        Secret,
        connection::{
            CONNECTIONS, ClientSecret, Command, Connection as Machine, Draft, Known,
            LONGEST_SECRET, MOST_CONNECTIONS, Refusal,
        },
        organization::{self, Organization},
        upstream::{Kind, RoleMapping},
    },
    http::{answer::error::Problem, app::App, routes, time::rfc3339},
};
use axum::http::StatusCode;
use serde::{Deserialize, Deserializer, Serialize};
use url::form_urlencoded;
use utoipa::ToSchema;
use zeroize::Zeroizing;

/// A provider by which members of the organization sign in.
#[derive(Serialize, ToSchema)]
pub struct Connection {
    id: String,
    name: String,
    /// `oidc`.
    kind: &'static str,
    issuer: String,
    client_id: String,
    /// How our client proves itself: `client_secret` or `private_key_jwt`.
    authentication: &'static str,
    /// Members come to the organization in no other way.
    required: bool,
    /// What the provider says of two factors counts.
    believe_acr: bool,
    /// Of an account that SCIM made, the `externalId` it came with is the subject here.
    scim_subject: bool,
    /// Which company a person must be of, where the issuer serves many.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    company: Option<String>,
    roles: Vec<ConnectionRole>,
    /// To be registered at the provider: where it sends the browser back to.
    redirect_uri: String,
    /// May be registered at the provider: where it tells of a logout.
    backchannel_logout_uri: String,
    /// May be registered at the provider: where a sign-in begins at its wish.
    initiate_login_uri: String,
    /// The keys of our client, where it has no secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    jwks_uri: Option<String>,
    created_at: String,
}

/// A role for those of whom the provider says so.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionRole {
    /// The claim whose text is the value, or whose list has it.
    claim: String,
    value: String,
    role: String,
}

/// A provider that is to be connected.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewConnection {
    name: String,
    /// `oidc`; `saml` where this server can.
    kind: String,
    /// Required for `oidc`, and never changed.
    #[serde(default)]
    #[schema(nullable = false)]
    issuer: Option<String>,
    /// Required for `oidc`.
    #[serde(default)]
    #[schema(nullable = false)]
    client_id: Option<String>,
    /// Never shown again. Without one our client proves itself by our key set.
    #[serde(default)]
    #[schema(value_type = Option<String>, nullable = false)]
    client_secret: Option<Zeroizing<String>>,
    /// For `saml`.
    #[serde(default)]
    #[schema(nullable = false)]
    metadata: Option<String>,
    /// For `saml`.
    #[serde(default)]
    #[schema(nullable = false)]
    metadata_url: Option<String>,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    believe_acr: bool,
    #[serde(default)]
    scim_subject: bool,
    #[serde(default)]
    #[schema(nullable = false)]
    company: Option<String>,
    #[serde(default)]
    roles: Vec<ConnectionRole>,
}

/// What is to change of a connection; what is not given stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionChange {
    #[serde(default)]
    #[schema(nullable = false)]
    name: Option<String>,
    /// Never changes: another one is refused.
    #[serde(default)]
    #[schema(nullable = false)]
    kind: Option<String>,
    /// Never changes: another one is refused.
    #[serde(default)]
    #[schema(nullable = false)]
    issuer: Option<String>,
    #[serde(default)]
    #[schema(nullable = false)]
    client_id: Option<String>,
    /// `null`: our client proves itself by our key set from now on.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    client_secret: Patch<Zeroizing<String>>,
    #[serde(default)]
    #[schema(nullable = false)]
    required: Option<bool>,
    #[serde(default)]
    #[schema(nullable = false)]
    believe_acr: Option<bool>,
    #[serde(default)]
    #[schema(nullable = false)]
    scim_subject: Option<bool>,
    /// `null`: no company is asked for.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    company: Patch<String>,
    /// Replaces the mappings.
    #[serde(default)]
    #[schema(nullable = false)]
    roles: Option<Vec<ConnectionRole>>,
}

/// What becomes of a member: it stays where it is not given, and `null` removes it (RFC 7396).
#[derive(Default)]
enum Patch<T> {
    #[default]
    Keep,
    Remove,
    Replace(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let given = Option::deserialize(from)?;
        Ok(given.map_or(Self::Remove, Self::Replace))
    }
}

const KIND_UNAVAILABLE: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "kind_unavailable",
    "this server cannot connect providers of this kind",
);

const IMMUTABLE: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "immutable",
    "kind and issuer of a connection never change: make another one",
);

const TOO_MANY: Problem = Problem::new(
    StatusCode::CONFLICT,
    "too_many_connections",
    "an organization has fifty connections at most: delete one first",
);

impl Connection {
    fn of(app: &App, known: &Known) -> Self {
        let by_keys = known.secret.is_none();
        let address = |path| routes::of_connection(&app.issuer, path, &known.id);
        let begin = form_urlencoded::Serializer::new(String::new())
            .append_pair("connection", &known.id)
            .finish();
        let roles = known
            .roles
            .iter()
            .cloned()
            .map(|RoleMapping { claim, value, role }| ConnectionRole { claim, value, role });
        Self {
            id: known.id.clone(),
            name: known.name.clone(),
            kind: known.kind.name(),
            issuer: known.issuer.as_str().to_owned(),
            client_id: known.client_id.clone(),
            authentication: if by_keys { "private_key_jwt" } else { "client_secret" },
            required: known.required,
            believe_acr: known.believe_acr,
            scim_subject: known.scim_subject,
            company: known.company.clone(),
            roles: roles.collect(),
            redirect_uri: address(routes::SSO_CALLBACK),
            backchannel_logout_uri: address(routes::SSO_LOGOUT),
            initiate_login_uri: format!("{}{}?{begin}", app.issuer, routes::SIGN_IN),
            jwks_uri: by_keys.then(|| format!("{}{}", app.issuer, routes::JWKS)),
            created_at: rfc3339(known.created_at),
        }
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = PageRequest::of(&call, CONNECTIONS)?;
    let (slug, after) = (&call.caller.organization, asked.after_rank());
    let page = call.app.views.connections.page(CONNECTIONS, slug, after, asked.bound()).await?;
    let last = asked.last(&page);
    let known = page.iter().filter_map(|(_, one)| one.machine.known());
    Ok(asked.answer(known.map(|known| Connection::of(&call.app, known)).collect(), last))
}

pub async fn show(call: Call) -> Answer {
    answer(&call, StatusCode::OK, call.param("connection")).await
}

pub async fn create(mut call: Call) -> Answer {
    let body: NewConnection = call.body()?;
    let kind = read_kind(&body.kind)?;
    for (member, text) in [("metadata", &body.metadata), ("metadata_url", &body.metadata_url)] {
        if text.is_some() {
            return Err(Problem::wrong_member(format!("#/{member}"), "is for SAML"));
        }
    }
    demand_administrator(&call)?;
    let id = draw_uuid(&*call.app.dice);
    let draft = Draft {
        organization: Some(call.caller.organization.clone()),
        name: Some(body.name),
        kind: Some(kind),
        issuer: body.issuer,
        client_id: body.client_id,
        secret: Some(body.client_secret.map(|text| sealed(&call.app, &id, &text)).transpose()?),
        required: Some(body.required),
        believe_acr: Some(body.believe_acr),
        scim_subject: Some(body.scim_subject),
        company: Some(body.company),
        roles: Some(mappings(body.roles)),
        id: id.clone(),
    };
    let mut changing = call.begin().await?;
    demand_room(&call).await?;
    provision(&mut changing, &id, draft).await?;
    // Of two callers who find the last place, the second looks again.
    changing.commit.touch::<Organization>(&call.caller.organization).await?;
    changing.finish().await?;
    answer(&call, StatusCode::CREATED, &id).await
}

pub async fn change(mut call: Call) -> Answer {
    let body: ConnectionChange = call.body()?;
    let id = call.param("connection").to_owned();
    let mut changing = call.begin().await?;
    let held = own(&call, changing.commit.look::<Machine>(&id).await?.known())?.clone();
    changing.expect::<Machine>(&call, &id).await?;
    let draft = Draft {
        id: id.clone(),
        organization: Some(call.caller.organization.clone()),
        name: body.name,
        kind: body.kind.as_deref().map(read_kind).transpose().map_err(|_| IMMUTABLE)?,
        issuer: body.issuer,
        client_id: body.client_id,
        secret: match body.client_secret {
            Patch::Keep => None,
            Patch::Remove => Some(None),
            Patch::Replace(text) => Some(Some(sealed(&call.app, &id, &text)?)),
        },
        required: body.required,
        believe_acr: body.believe_acr,
        scim_subject: body.scim_subject,
        company: match body.company {
            Patch::Keep => None,
            Patch::Remove => Some(None),
            Patch::Replace(company) => Some(Some(company)),
        },
        roles: body.roles.map(mappings),
    };
    if draft.changes_belief(&held) {
        demand_administrator(&call)?;
    }
    provision(&mut changing, &id, draft).await?;
    changing.finish().await?;
    call.app.views.connections.forget(&id);
    answer(&call, StatusCode::OK, &id).await
}

pub async fn delete(call: Call) -> Answer {
    let id = call.param("connection").to_owned();
    let mut changing = call.begin().await?;
    own(&call, changing.commit.look::<Machine>(&id).await?.known())?;
    changing.expect::<Machine>(&call, &id).await?;
    decide(&mut changing, &id, Command::Remove).await?;
    require(&mut changing, &id, false).await?;
    changing.finish().await?;
    call.app.views.connections.forget(&id);
    Ok(gone())
}

/// Refuses every caller but a member in person who has proved two factors: to look after an organization from outside
/// is not enough.
fn demand_administrator(call: &Call) -> Result<(), Problem> {
    call.demand_person_at_aal2()?;
    if call.caller.is_administrator() { Err(PERSON_REQUIRED) } else { Ok(()) }
}

/// Insists that a connection is one of the caller's organization.
pub fn own<'a>(call: &Call, known: Option<&'a Known>) -> Result<&'a Known, Problem> {
    let slug = &call.caller.organization;
    known.filter(|one| one.organization.as_ref() == Some(slug)).ok_or(Problem::NOT_FOUND)
}

async fn demand_room(call: &Call) -> Result<(), Problem> {
    let (slug, bound) = (&call.caller.organization, Bound::new(MOST_CONNECTIONS));
    let list = call.app.views.connections.page(CONNECTIONS, slug, ("", ""), bound).await?;
    if list.len() < MOST_CONNECTIONS as usize { Ok(()) } else { Err(TOO_MANY) }
}

fn read_kind(text: &str) -> Result<Kind, Problem> {
    match text {
        "oidc" => Ok(Kind::Oidc),
        "saml" => Err(KIND_UNAVAILABLE),
        _ => Err(Problem::wrong_member("#/kind", "is `oidc`, or `saml` where this server can")),
    }
}

fn mappings(roles: Vec<ConnectionRole>) -> Vec<RoleMapping> {
    let mapping = |ConnectionRole { claim, value, role }| RoleMapping { claim, value, role };
    roles.into_iter().map(mapping).collect()
}

fn sealed(app: &App, id: &str, text: &str) -> Result<ClientSecret, Problem> {
    if text.is_empty() || text.len() > LONGEST_SECRET || text.contains('\0') {
        return Err(Problem::wrong_member("#/client_secret", "is empty, too long, or no text"));
    }
    let secret = Secret::new(text.as_bytes());
    Ok(seal_client_secret(&app.crypto.vault.now(), id, &secret, &*app.dice))
}

/// Decides on a connection, and on whether its organization requires it.
async fn provision(changing: &mut Changing, id: &str, draft: Draft) -> Result<(), Problem> {
    let home = &changing.authority.home;
    let unknown = |mapping: &RoleMapping| !home.has_role(&mapping.role);
    if let Some(place) = draft.roles.iter().flatten().position(unknown) {
        let pointer = format!("#/roles/{place}/role");
        return Err(Problem::wrong_member(pointer, "is no role of the organization"));
    }
    decide(changing, id, Command::Provision(Box::new(draft))).await?;
    let known = changing.commit.look::<Machine>(id).await?.known();
    let required = known.is_some_and(|known| known.required);
    require(changing, id, required).await
}

/// Has the organization require a connection, or require it no more.
async fn require(changing: &mut Changing, id: &str, required: bool) -> Result<(), Problem> {
    let home = &changing.authority.home;
    let Some(draft) = home.requiring(id, required) else { return Ok(()) };
    let slug = home.slug.clone();
    let command = organization::Command::Provision(draft);
    let decided = changing.commit.decide::<Organization>(&slug, &command).await?;
    decided.map(drop).map_err(|refusal| match refusal {
        organization::Refusal::Suspended => SUSPENDED,
        _ => NOT_HELD,
    })
}

async fn decide(changing: &mut Changing, id: &str, command: Command) -> Result<(), Problem> {
    let decided = changing.commit.decide::<Machine>(id, &command).await?;
    decided.map(drop).map_err(|refusal| match refusal {
        Refusal::Unknown => Problem::NOT_FOUND,
        Refusal::Immutable("issuer" | "kind") => IMMUTABLE,
        Refusal::Missing(field) => Problem::wrong_member(format!("#/{field}"), "is missing"),
        refusal => Problem::wrong_member(format!("#/{}", refusal.field()), refusal.to_string()),
    })
}

async fn answer(call: &Call, status: StatusCode, id: &str) -> Answer {
    let seen = call.app.views.connections.look_anew(id).await?;
    let known = own(call, seen.machine.known())?;
    Ok(shown(status, seen.version, &Connection::of(&call.app, known)))
}
