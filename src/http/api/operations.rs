//! The table of operations.

use super::{
    accounts, activity, audit, clients, connection_trials, connections, delegations, deletion,
    domains, export, impersonation, invitations, keys, members,
    operation::{Operation, Verb},
    organizations, roles, webhooks,
};
use crate::{
    domain::trail::Entry,
    http::{
        flows::sign_on::trial::{TrialBeginning, TrialReport},
        grants::delegation_tree::Branch,
        routes,
    },
};

macro_rules! handled {
    ($handler:path) => {
        |call| Box::pin($handler(call))
    };
}

const BY_ROLE: [(&str, &str); 3] = [
    ("email", "Of the account with this address alone."),
    ("role", "Of those who hold this role."),
    ("enabled", "`true` or `false`."),
];

/// Every operation; what is not here is not served.
pub static OPERATIONS: &[Operation] = {
    use Verb::{Delete, Get, Patch, Post, Put};
    &[
        Operation::new(
            (Get, routes::API_ORGANIZATIONS),
            "listOrganizations",
            "organizations:read",
            "The organization that the caller speaks for; all of them for a holder of organizations:administer.",
            handled!(organizations::list),
        )
        .lists::<organizations::Organization>(&[]),
        Operation::new(
            (Post, routes::API_ORGANIZATIONS),
            "createOrganization",
            "organizations:administer",
            "Makes an organization.",
            handled!(organizations::create),
        )
        .takes::<organizations::NewOrganization>()
        .gives::<organizations::Organization>(201),
        Operation::new(
            (Get, routes::API_ORGANIZATION),
            "getOrganization",
            "organizations:read",
            "Shows the organization.",
            handled!(organizations::show),
        )
        .gives::<organizations::Organization>(200),
        Operation::new(
            (Patch, routes::API_ORGANIZATION),
            "changeOrganization",
            "organizations:write",
            "Changes the organization; what is not given stays as it is.",
            handled!(organizations::change),
        )
        .takes::<organizations::OrganizationChange>()
        .gives::<organizations::Organization>(200)
        .at_version()
        .reaches_across(),
        Operation::new(
            (Delete, routes::API_ORGANIZATION),
            "deleteOrganization",
            "organizations:write",
            "Deletes the organization: it is suspended at once and erased after 30 days, in which the operator can take it back. A person with two factors does it, and says why in X-Reason.",
            handled!(deletion::delete),
        )
        .gives::<deletion::DeletedOrganization>(202)
        .with_reason(),
        Operation::new(
            (Get, routes::API_ORGANIZATION_EXPORT),
            "exportOrganization",
            "organizations:write",
            "The organization as a provisioning file: roles, domains, connections, members and clients, without a secret.",
            handled!(deletion::export),
        )
        .in_media(deletion::TOML),
        Operation::new(
            (Get, routes::API_ROLES),
            "listRoles",
            "roles:read",
            "Lists the roles and what they confer.",
            handled!(roles::list),
        )
        .lists::<roles::Role>(&[]),
        Operation::new(
            (Get, routes::API_ROLE),
            "getRole",
            "roles:read",
            "Shows a role.",
            handled!(roles::show),
        )
        .gives::<roles::Role>(200),
        Operation::new(
            (Put, routes::API_ROLE),
            "putRole",
            "roles:write",
            "Makes a role, or replaces what it confers. The caller must hold every permission in it.",
            handled!(roles::put),
        )
        .takes::<roles::RolePermissions>()
        .gives::<roles::Role>(200)
        .at_version()
        .may_make(),
        Operation::new(
            (Delete, routes::API_ROLE),
            "deleteRole",
            "roles:write",
            "Removes a role; members who held it lose what it conferred at once.",
            handled!(roles::delete),
        )
        .gives_nothing()
        .at_version(),
        Operation::new(
            (Get, routes::API_MEMBERS),
            "listMembers",
            "memberships:read",
            "Lists the memberships, ended ones among them.",
            handled!(members::list),
        )
        .lists::<members::Member>(&BY_ROLE),
        Operation::new(
            (Get, routes::API_MEMBER),
            "getMember",
            "memberships:read",
            "Shows a membership.",
            handled!(members::show),
        )
        .gives::<members::Member>(200),
        Operation::new(
            (Patch, routes::API_MEMBER),
            "changeMember",
            "memberships:write",
            "Changes the roles of a member, ends the membership or begins it again. The caller must hold everything that added roles confer.",
            handled!(members::change),
        )
        .takes::<members::MemberChange>()
        .gives::<members::Member>(200)
        .at_version(),
        Operation::new(
            (Post, routes::API_IMPERSONATION),
            "impersonateMember",
            "accounts:write",
            "Issues a token to act as a member, where the organization allows it. The caller must hold everything that the member holds; the token names the caller in `act`.",
            handled!(impersonation::begin),
        )
        .takes::<impersonation::Wanted>()
        .gives::<impersonation::Impersonation>(201)
        .in_person()
        .at_aal2(),
        Operation::new(
            (Get, routes::API_INVITATIONS),
            "listInvitations",
            "memberships:read",
            "Lists the invitations that can still be accepted.",
            handled!(invitations::list),
        )
        .lists::<invitations::Invitation>(&[]),
        Operation::new(
            (Post, routes::API_INVITATIONS),
            "createInvitation",
            "memberships:write",
            "Invites the holder of an address by mail. The caller must hold everything that the roles confer.",
            handled!(invitations::create),
        )
        .takes::<invitations::NewInvitation>()
        .gives::<invitations::Invitation>(201)
        .in_person(),
        Operation::new(
            (Delete, routes::API_INVITATION),
            "withdrawInvitation",
            "memberships:write",
            "Withdraws an invitation.",
            handled!(invitations::withdraw),
        )
        .gives_nothing(),
        Operation::new(
            (Get, routes::API_CLIENTS),
            "listClients",
            "clients:read",
            "Lists the clients of the organization.",
            handled!(clients::list),
        )
        .lists::<clients::Client>(&[]),
        Operation::new(
            (Post, routes::API_CLIENTS),
            "createClient",
            "clients:write",
            "Makes a client of the organization, which serves its members only. A secret is shown in this answer alone.",
            handled!(clients::create),
        )
        .takes::<clients::NewClient>()
        .gives::<clients::Client>(201)
        .in_person(),
        Operation::new(
            (Get, routes::API_CLIENT),
            "getClient",
            "clients:read",
            "Shows a client.",
            handled!(clients::show),
        )
        .gives::<clients::Client>(200),
        Operation::new(
            (Patch, routes::API_CLIENT),
            "changeClient",
            "clients:write",
            "Changes a client; what is not given stays as it is. The caller must hold everything that added roles confer. To change how it proves itself, where it is answered or to let it ask for more, the caller must hold everything that its roles confer, in person or by a key.",
            handled!(clients::change),
        )
        .takes::<clients::ClientChange>()
        .gives::<clients::Client>(200)
        .at_version(),
        Operation::new(
            (Delete, routes::API_CLIENT),
            "deleteClient",
            "clients:write",
            "Deletes a client; what was issued to it is good no more.",
            handled!(clients::delete),
        )
        .gives_nothing()
        .at_version(),
        Operation::new(
            (Post, routes::API_CLIENT_SECRET),
            "rotateClientSecret",
            "clients:write",
            "Gives a client another secret, shown in this answer alone; the former may be good for a day yet. The caller must hold everything that its roles confer.",
            handled!(clients::rotate),
        )
        .may_take::<clients::ClientSecretRotation>()
        .gives::<clients::Client>(200)
        .in_person()
        .at_version(),
        Operation::new(
            (Get, routes::API_DELEGATIONS),
            "listDelegations",
            "clients:read",
            "Lists what a client holds for others in the organization now, and what stands above it.",
            handled!(delegations::list),
        )
        .lists::<delegations::Delegation>(&[]),
        Operation::new(
            (Delete, routes::API_DELEGATION),
            "endDelegation",
            "clients:write",
            "Ends what a client holds for another, and everything below it.",
            handled!(delegations::end),
        )
        .gives_nothing(),
        Operation::new(
            (Get, routes::API_DELEGATION_TREE),
            "listDelegationTrees",
            "clients:read",
            "Shows what a client holds for others in the organization now as trees: what it came from, and what others hold through it. A page is of what the client holds.",
            handled!(delegations::trees),
        )
        .lists::<Branch>(&[]),
        Operation::new(
            (Get, routes::API_CLIENT_ACTIVITY),
            "listClientActivity",
            "audit:read",
            "Lists what the trail says of a client and of what it did for others, the newest first. A page may be short, or empty, and still be followed by another.",
            handled!(activity::list),
        )
        .lists::<Entry>(&audit::FILTERS),
        Operation::new(
            (Get, routes::API_KEYS),
            "listApiKeys",
            "apikeys:read",
            "Lists the API keys, revoked ones for thirty days more.",
            handled!(keys::list),
        )
        .lists::<keys::ApiKey>(&[]),
        Operation::new(
            (Post, routes::API_KEYS),
            "createApiKey",
            "apikeys:write",
            "Makes an API key, shown in this answer alone. The caller must hold every permission in it, and stands behind it.",
            handled!(keys::create),
        )
        .takes::<keys::NewApiKey>()
        .gives::<keys::ApiKey>(201)
        .in_person(),
        Operation::new(
            (Get, routes::API_KEY),
            "getApiKey",
            "apikeys:read",
            "Shows an API key.",
            handled!(keys::show),
        )
        .gives::<keys::ApiKey>(200),
        Operation::new(
            (Delete, routes::API_KEY),
            "revokeApiKey",
            "apikeys:write",
            "Revokes an API key.",
            handled!(keys::revoke),
        )
        .gives_nothing(),
        Operation::new(
            (Post, routes::API_KEY_ROTATE),
            "rotateApiKey",
            "apikeys:write",
            "Gives an API key another secret, shown in this answer alone; the former may be good for some time yet.",
            handled!(keys::rotate),
        )
        .may_take::<keys::Rotation>()
        .in_person()
        .gives::<keys::ApiKey>(200),
        Operation::new(
            (Get, routes::API_ACCOUNTS),
            "listAccounts",
            "accounts:read",
            "Lists the accounts of members.",
            handled!(accounts::list),
        )
        .lists::<accounts::Account>(&[("email", "The account with this address alone.")]),
        Operation::new(
            (Get, routes::API_ACCOUNT),
            "getAccount",
            "accounts:read",
            "Shows the account of a member.",
            handled!(accounts::show),
        )
        .gives::<accounts::Account>(200),
        Operation::new(
            (Get, routes::API_AUDIT),
            "listAuditTrail",
            "audit:read",
            "Lists what happened in the organization, the newest first.",
            handled!(audit::list),
        )
        .lists::<Entry>(&audit::FILTERS),
        Operation::new(
            (Get, routes::API_AUDIT_EXPORT),
            "exportAuditTrail",
            "audit:read",
            "Exports what happened in the organization as lines of JSON, the newest first.",
            handled!(export::get),
        )
        .exports::<Entry>(&audit::FILTERS),
        Operation::new(
            (Get, routes::API_WEBHOOKS),
            "listWebhooks",
            "audit:read",
            "Lists the endpoints that the trail is sent to.",
            handled!(webhooks::list),
        )
        .lists::<webhooks::Webhook>(&[]),
        Operation::new(
            (Post, routes::API_WEBHOOKS),
            "createWebhook",
            "audit:write",
            "Makes an endpoint, which is sent the trail from now on. Its secret is shown in this answer alone. The caller needs audit:read as well.",
            handled!(webhooks::create),
        )
        .takes::<webhooks::NewWebhook>()
        .gives::<webhooks::Webhook>(201)
        .in_person(),
        Operation::new(
            (Get, routes::API_WEBHOOK),
            "getWebhook",
            "audit:read",
            "Shows an endpoint.",
            handled!(webhooks::show),
        )
        .gives::<webhooks::Webhook>(200),
        Operation::new(
            (Patch, routes::API_WEBHOOK),
            "changeWebhook",
            "audit:write",
            "Changes an endpoint, disables it or enables it again; what is not given stays as it is. The caller needs audit:read as well.",
            handled!(webhooks::change),
        )
        .takes::<webhooks::WebhookChange>()
        .gives::<webhooks::Webhook>(200)
        .in_person()
        .at_version(),
        Operation::new(
            (Delete, routes::API_WEBHOOK),
            "deleteWebhook",
            "audit:write",
            "Deletes an endpoint; what waits for it is not sent.",
            handled!(webhooks::delete),
        )
        .gives_nothing()
        .at_version(),
        Operation::new(
            (Post, routes::API_WEBHOOK_ROTATE),
            "rotateWebhookSecret",
            "audit:write",
            "Gives an endpoint another secret, shown in this answer alone; the former may sign as well for some time yet. The caller needs audit:read as well.",
            handled!(webhooks::rotate),
        )
        .may_take::<webhooks::SecretRotation>()
        .gives::<webhooks::Webhook>(200)
        .in_person(),
        Operation::new(
            (Post, routes::API_WEBHOOK_TEST),
            "testWebhook",
            "audit:write",
            "Sends an endpoint a message of the type webhook.test. The caller needs audit:read as well.",
            handled!(webhooks::test),
        )
        .gives_nothing(),
        Operation::new(
            (Get, routes::API_DOMAINS),
            "listDomains",
            "domains:read",
            "Lists the domains of the organization, by name: those it has proved, and those it is yet to prove.",
            handled!(domains::list),
        )
        .lists::<domains::Domain>(&[]),
        Operation::new(
            (Post, routes::API_DOMAINS),
            "addDomain",
            "domains:write",
            "Adds a domain, which is pending until it is proved by the record in this answer.",
            handled!(domains::add),
        )
        .takes::<domains::NewDomain>()
        .gives::<domains::Domain>(201),
        Operation::new(
            (Get, routes::API_DOMAIN),
            "getDomain",
            "domains:read",
            "Shows a domain.",
            handled!(domains::show),
        )
        .gives::<domains::Domain>(200),
        Operation::new(
            (Delete, routes::API_DOMAIN),
            "removeDomain",
            "domains:write",
            "Removes a domain; it vouches for no address any more.",
            handled!(domains::remove),
        )
        .gives_nothing()
        .at_version(),
        Operation::new(
            (Post, routes::API_DOMAIN_VERIFY),
            "verifyDomain",
            "domains:write",
            "Asks DNS for the record. The domain is verified where it is there and no other organization holds the domain.",
            handled!(domains::verify),
        )
        .gives::<domains::Domain>(200),
        Operation::new(
            (Get, routes::API_CONNECTIONS),
            "listConnections",
            "connections:read",
            "Lists the providers by which members sign in, by name.",
            handled!(connections::list),
        )
        .lists::<connections::Connection>(&[]),
        Operation::new(
            (Post, routes::API_CONNECTIONS),
            "createConnection",
            "connections:write",
            "Connects a provider. Only a member does this, in person and with two factors proved.",
            handled!(connections::create),
        )
        .takes::<connections::NewConnection>()
        .gives::<connections::Connection>(201),
        Operation::new(
            (Get, routes::API_CONNECTION),
            "getConnection",
            "connections:read",
            "Shows a connection; never its secret.",
            handled!(connections::show),
        )
        .gives::<connections::Connection>(200),
        Operation::new(
            (Patch, routes::API_CONNECTION),
            "changeConnection",
            "connections:write",
            "Changes a connection. What it believes, a member changes in person, with two factors proved. Another client_id or secret ends what rests on the connection.",
            handled!(connections::change),
        )
        .takes::<connections::ConnectionChange>()
        .gives::<connections::Connection>(200)
        .at_version(),
        Operation::new(
            (Delete, routes::API_CONNECTION),
            "deleteConnection",
            "connections:write",
            "Deletes a connection and forgets its identities; what rests on it ends.",
            handled!(connections::delete),
        )
        .gives_nothing()
        .at_version(),
        Operation::new(
            (Post, routes::API_CONNECTION_TEST),
            "testConnection",
            "connections:write",
            "Begins a trial, which signs in no person. The browser of the person who begins it goes to redirect_to.",
            handled!(connection_trials::begin),
        )
        .gives::<TrialBeginning>(201),
        Operation::new(
            (Get, routes::API_CONNECTION_TEST),
            "getConnectionTest",
            "connections:write",
            "Shows each message of the last trial, without codes, tokens and secrets, and what it would have become.",
            handled!(connection_trials::show),
        )
        .gives::<TrialReport>(200),
    ]
};
