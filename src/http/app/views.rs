//! Views: entities as they were a second ago at most, and lists and names of them.

use crate::{
    actors::{NameView, View},
    domain::{
        account::Account,
        api_key::ApiKey,
        approval_block::ApprovalBlock,
        backchannel_request::BackchannelRequest,
        brand::logo::Logo,
        client::Client,
        connection::Connection,
        consent::Consent,
        device_grant::DeviceGrant,
        flow::Flow,
        invitation::Invitation,
        membership::Membership,
        organization::Organization,
        pushed_request::PushedRequest,
        reserved_names::ReservedNames,
        resource::{DETAIL_OWNERS, Resource, SCOPE_OWNERS},
        session::Session,
        token_family::TokenFamily,
        webhook::Webhook,
    },
    system::System,
};

pub(in crate::http) struct Views {
    pub accounts: View<Account>,
    pub api_keys: View<ApiKey>,
    pub approval_blocks: View<ApprovalBlock>,
    pub backchannel_requests: View<BackchannelRequest>,
    pub brand_logos: View<Logo>,
    pub clients: View<Client>,
    pub connections: View<Connection>,
    pub consents: View<Consent>,
    pub detail_owners: NameView,
    pub device_grants: View<DeviceGrant>,
    pub families: View<TokenFamily>,
    pub flows: View<Flow>,
    pub invitations: View<Invitation>,
    pub memberships: View<Membership>,
    pub organizations: View<Organization>,
    pub pushed_requests: View<PushedRequest>,
    pub reserved_names: View<ReservedNames>,
    pub resources: View<Resource>,
    pub scope_owners: NameView,
    pub sessions: View<Session>,
    pub webhooks: View<Webhook>,
}

impl Views {
    pub(super) fn of(system: &System) -> Self {
        Self {
            accounts: system.view(),
            api_keys: system.view(),
            approval_blocks: system.view(),
            backchannel_requests: system.view(),
            brand_logos: system.view(),
            clients: system.view(),
            connections: system.view(),
            consents: system.view(),
            detail_owners: system.names(DETAIL_OWNERS),
            device_grants: system.view(),
            families: system.view(),
            flows: system.view(),
            invitations: system.view(),
            memberships: system.view(),
            organizations: system.view(),
            pushed_requests: system.view(),
            reserved_names: system.view(),
            resources: system.view(),
            scope_owners: system.names(SCOPE_OWNERS),
            sessions: system.view(),
            webhooks: system.view(),
        }
    }
}
