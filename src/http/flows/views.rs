//! What a flow shows beside its steps: a device, an invitation, organizations.

use crate::{
    actors::HydrateError,
    domain::{
        authorization::{Choice, RequestedGrant, reached},
        flow::{ApprovalAsked, EnteredDevice, Flow, Invited, Seed},
        person::Person,
    },
    http::{
        app::App,
        authorization::{request_facts::FactsReader, user_codes},
        clients,
        time::rfc3339,
    },
};
use serde::Serialize;
use zeroize::Zeroizing;

/// Where a device asked from (RFC 8628 §5.4): a person who did not start it there says no.
#[derive(Serialize)]
pub struct RequestedFrom {
    /// What the device shows, to be compared (RFC 8628 §3.3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_code: Option<Zeroizing<String>>,
    /// Its network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// When its code ends.
    pub expires_at: String,
}

impl RequestedFrom {
    pub fn of(app: &App, device: &EnteredDevice) -> Self {
        let from = device.request.from.clone();
        let code = device.code.as_deref().map(|sealed| user_codes::opened(app, sealed));
        Self {
            user_code: code.filter(|code| !code.is_empty()).map(|code| user_codes::shown(&code)),
            address: from.network,
            user_agent: from.user_agent,
            expires_at: rfc3339(device.request.expires_at),
        }
    }
}

/// What a client asks a person to approve, beside what tokens would say.
#[derive(Serialize)]
pub struct ApprovalView {
    /// Of the request.
    pub id: String,
    /// What the client shows as well, to be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding_message: Option<String>,
    pub expires_at: String,
}

impl ApprovalView {
    pub fn of(asked: &ApprovalAsked) -> Self {
        Self {
            id: asked.id.clone(),
            binding_message: asked.request.binding_message.clone(),
            expires_at: rfc3339(asked.request.expires_at),
        }
    }
}

/// Returns the request that a person is shown in a flow, while it waits.
pub async fn approval(
    app: &App,
    seed: &Seed,
    flow: &Flow,
) -> Result<Option<ApprovalAsked>, HydrateError> {
    let said = match flow {
        Flow::Open(open) => open.approval.as_deref(),
        Flow::Unborn => seed.approval.as_ref().and_then(|sought| sought.said.as_deref()),
        Flow::Over(_) => None,
    };
    let Some(said) = said else { return Ok(None) };
    let seen = app.views.backchannel_requests.peek(&said.id).await?;
    let pending = seen.machine.pending(app.clock.now());
    let asked = |request| ApprovalAsked { id: said.id.clone(), request };
    Ok(pending.map(|pending| asked(pending.request.clone())))
}

/// An identity of another provider that a person is about to link.
#[derive(Serialize)]
pub struct IdentityView {
    pub connection: ConnectionName,
    pub subject: String,
    /// What the provider calls the person; it proves nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// A connection, as the person knows it.
#[derive(Serialize)]
pub struct ConnectionName {
    pub id: String,
    pub name: String,
}

impl IdentityView {
    pub async fn of(app: &App, flow: &Flow) -> Result<Option<Self>, HydrateError> {
        let Flow::Open(open) = flow else { return Ok(None) };
        let Some(link) = &open.link else { return Ok(None) };
        let seen = app.views.connections.look(&link.connection).await?;
        let name = seen.machine.known().map(|known| known.name.clone()).unwrap_or_default();
        let connection = ConnectionName { id: link.connection.clone(), name };
        let (subject, email) = (link.subject.clone(), link.email.clone());
        Ok(Some(Self { connection, subject, email }))
    }
}

/// What a person is invited to.
#[derive(Serialize)]
pub struct InvitationView {
    pub organization: Choice,
    /// The address that was invited.
    pub email: String,
}

impl InvitationView {
    pub fn of(invited: &Invited) -> Option<Self> {
        let organization = invited.organization.clone()?;
        Some(Self { organization, email: invited.email.clone() })
    }
}

/// The organizations of a person who chooses one.
#[derive(Default)]
pub struct Organizations {
    pub choices: Vec<Choice>,
    pub suspended: Vec<Choice>,
}

/// Lists the organizations of a person who chooses one now.
pub async fn organizations(
    app: &App,
    wanted: &RequestedGrant,
    person: &Person,
) -> Result<Organizations, HydrateError> {
    let seen = clients::find_in_flow(app, &wanted.client_id, false).await?;
    let Some(client) = seen.machine.known() else { return Ok(Organizations::default()) };
    let (client_version, account) = (seen.version, person.account.as_str());
    // What was suspended a moment ago is not offered.
    let (redirect_uri, chosen, anew) = (None, None, true);
    let reader =
        FactsReader { app, client, client_version, wanted, redirect_uri, account, chosen, anew };
    let (choices, suspended) = reader.choices().await?;
    Ok(Organizations { choices: reached(choices, person), suspended: reached(suspended, person) })
}
