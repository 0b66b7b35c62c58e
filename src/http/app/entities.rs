//! Entities that handlers ask: commands go to the actor that owns each.

use crate::{
    actors::{Entities as Asked, StartError},
    domain::{
        access_token::AccessToken, account::Account, agent_allowance::AgentAllowance,
        api_key::ApiKey, approval_block::ApprovalBlock, backchannel_request::BackchannelRequest,
        client::Client, client_assertion::ClientAssertion, consent::Consent,
        device_grant::DeviceGrant, flow::Flow, membership::Membership, session::Session,
        token_family::TokenFamily, trail::Trail,
    },
    system::System,
};

pub(in crate::http) struct Entities {
    pub access_tokens: Asked<AccessToken>,
    pub accounts: Asked<Account>,
    pub agent_allowances: Asked<AgentAllowance>,
    pub api_keys: Asked<ApiKey>,
    pub approval_blocks: Asked<ApprovalBlock>,
    pub backchannel_requests: Asked<BackchannelRequest>,
    pub client_assertions: Asked<ClientAssertion>,
    pub clients: Asked<Client>,
    pub consents: Asked<Consent>,
    pub device_grants: Asked<DeviceGrant>,
    pub families: Asked<TokenFamily>,
    pub flows: Asked<Flow>,
    pub memberships: Asked<Membership>,
    pub sessions: Asked<Session>,
    /// What is written into the trail of an organization and changes nothing else.
    pub trails: Asked<Trail>,
}

impl Entities {
    pub(super) async fn host(system: &System) -> Result<Self, StartError> {
        Ok(Self {
            access_tokens: system.host().await?,
            accounts: system.host().await?,
            agent_allowances: system.host().await?,
            api_keys: system.host().await?,
            approval_blocks: system.host().await?,
            backchannel_requests: system.host().await?,
            client_assertions: system.host().await?,
            clients: system.host().await?,
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
