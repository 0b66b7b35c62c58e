//! What is asked for in a flow, by a browser, by a device or by a back channel, and what decides about it.

use super::{ending::AnsweredStep, opened::OpenedFlow, problems::CLIENT_CHANGED};
use crate::{
    domain::{
        authorization::{AuthorizationFacts, Request},
        client::KnownClient,
        flow::{ApprovalAsked, EnteredDevice},
    },
    http::{
        answer::error::Problem,
        app::App,
        authorization::{
            approval,
            request_facts::{FactsReader, client_of},
        },
        clients,
    },
};

/// What is asked for in a flow.
pub(super) enum DecidedRequest<'a> {
    Nothing,
    /// A code, by a browser.
    Code(&'a Request),
    Device(&'a EnteredDevice),
    /// An approval, by a back channel.
    Approval(&'a ApprovalAsked),
}

impl<'a> DecidedRequest<'a> {
    pub(super) fn of(
        opened: &'a OpenedFlow,
        device: Option<&'a EnteredDevice>,
        approval: Option<&'a ApprovalAsked>,
    ) -> Self {
        match (approval, device, &opened.seed.request) {
            (Some(asked), _, _) => Self::Approval(asked),
            (None, Some(device), _) => Self::Device(device),
            (None, None, Some(request)) => Self::Code(request),
            (None, None, None) => Self::Nothing,
        }
    }

    /// The client that asks.
    pub(super) fn client_id(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Code(request) => Some(&request.wanted.client_id),
            Self::Device(device) => Some(&device.request.wanted.client_id),
            Self::Approval(asked) => Some(&asked.request.wanted.client_id),
        }
    }

    /// Looks up what decides about it; the client must still be one that may ask for it.
    pub(super) async fn facts(
        &self,
        app: &App,
        opened: &OpenedFlow,
        asking: &AnsweredStep<'_>,
        anew: bool,
    ) -> Result<Option<AuthorizationFacts>, Problem> {
        let (wanted, seen, redirect_uri) = match self {
            Self::Nothing => return Ok(None),
            Self::Approval(asked) => return Ok(Some(approval::facts(app, asked, anew).await?)),
            Self::Code(request) => {
                let seen = client_of(app, request, anew).await?.ok_or(CLIENT_CHANGED)?;
                (&request.wanted, seen, Some(&*request.reply_to.redirect_uri))
            }
            Self::Device(device) => {
                let wanted = &device.request.wanted;
                let seen = clients::find_in_flow(app, &wanted.client_id, anew).await?;
                let may_ask = seen.machine.known().map(KnownClient::may_ask_by_device);
                may_ask.and_then(Result::ok).ok_or(CLIENT_CHANGED)?;
                (wanted, seen, None)
            }
        };
        let client = seen.machine.known().ok_or(CLIENT_CHANGED)?;
        let client_version = seen.version;
        let AnsweredStep { account, chosen, .. } = *asking;
        // It may have been chosen in a step before: consent is looked up for that very organization.
        let before = match chosen {
            None if wanted.organization.is_none() => {
                opened.look(app).await.ok().and_then(|open| open.chosen)
            }
            _ => None,
        };
        let chosen = chosen.or(before.as_deref());
        let reader = FactsReader {
            app,
            client,
            client_version,
            wanted,
            redirect_uri,
            account,
            chosen,
            anew,
        };
        Ok(Some(Box::pin(reader.gather()).await?))
    }
}
