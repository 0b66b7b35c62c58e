//! Entities that handlers ask: commands go to the actor that owns each.

use crate::{
    actors::{self, StartError},
    domain::{
        access_token::AccessToken, account::Account, account_alerts::AccountAlerts,
        agent_allowance::AgentAllowance, api_key::ApiKey, approval_block::ApprovalBlock,
        backchannel_request::BackchannelRequest, client::Client, client_assertion::ClientAssertion,
        connection_trial::ConnectionTrial, consent::Consent, device_grant::DeviceGrant, flow::Flow,
        membership::Membership, session::Session, token_family::TokenFamily, trail::Trail,
    },
    system::System,
};

pub(in crate::http) struct Entities {
    pub access_tokens: actors::Entities<AccessToken>,
    pub account_alerts: actors::Entities<AccountAlerts>,
    pub accounts: actors::Entities<Account>,
    pub agent_allowances: actors::Entities<AgentAllowance>,
    pub api_keys: actors::Entities<ApiKey>,
    pub approval_blocks: actors::Entities<ApprovalBlock>,
    pub backchannel_requests: actors::Entities<BackchannelRequest>,
    pub client_assertions: actors::Entities<ClientAssertion>,
    pub clients: actors::Entities<Client>,
    pub connection_trials: actors::Entities<ConnectionTrial>,
    pub consents: actors::Entities<Consent>,
    pub device_grants: actors::Entities<DeviceGrant>,
    pub families: actors::Entities<TokenFamily>,
    pub flows: actors::Entities<Flow>,
    pub memberships: actors::Entities<Membership>,
    pub sessions: actors::Entities<Session>,
    /// What is written into the trail of an organization and changes nothing else.
    pub trails: actors::Entities<Trail>,
}

impl Entities {
    pub(super) async fn host(system: &System) -> Result<Self, StartError> {
        Ok(Self {
            access_tokens: system.host().await?,
            account_alerts: system.host().await?,
            accounts: system.host().await?,
            agent_allowances: system.host().await?,
            api_keys: system.host().await?,
            approval_blocks: system.host().await?,
            backchannel_requests: system.host().await?,
            client_assertions: system.host().await?,
            clients: system.host().await?,
            connection_trials: system.host().await?,
            consents: system.host().await?,
            device_grants: system.host().await?,
            families: system.host().await?,
            flows: system.host().await?,
            memberships: system.host().await?,
            sessions: system.host().await?,
            trails: system.host().await?,
        })
    }
}
